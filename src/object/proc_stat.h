/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/stat: what tells a process from another that had its id before, and its parent. */
#ifndef EBOLT_OBJECT_PROC_STAT_H
#define EBOLT_OBJECT_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	pid_t ppid;
	uint64_t start_ticks; /* since boot, 10 ms each */
};

/* False where the text is not such a line. */
bool proc_stat__parse(const char *text, size_t len, struct proc_stat *ret);

/* Of a process now. 0; -ESRCH: there is none; -EBADMSG; or another negative errno. */
int proc_stat__read(pid_t pid, struct proc_stat *ret);

#endif
