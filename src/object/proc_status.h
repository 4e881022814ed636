/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/status: whose files a process's may be, and its id where it runs. */
#ifndef EBOLT_OBJECT_PROC_STATUS_H
#define EBOLT_OBJECT_PROC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_status {
	uint32_t uids[4];   /* real, effective, saved, of the file system; in our user namespace */
	uint32_t inner_pid; /* in the innermost pid namespace */
};

/* False where a line is missing or makes no sense. */
bool proc_status__parse(const char *text, size_t len, struct proc_status *ret);

/* Of a process now. 0; -ESRCH: there is none; -EBADMSG; or another negative errno. */
int proc_status__read(pid_t pid, struct proc_status *ret);

#endif
