/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads as a way to a process: /proc/PID is that of the leader, and when the leader exits before
 * other threads its maps, map_files, root and mem are empty. /proc/TID of a thread has them.
 */
#ifndef EBOLT_PROC_PROC_TASK_H
#define EBOLT_PROC_PROC_TASK_H

#include <stdint.h>

/*
 * A thread of the process that has its memory, the leader if it does. 0: there is none (the process
 * is gone, or of the kernel).
 */
uint32_t proc_task__with_memory(uint32_t pid);

#endif
