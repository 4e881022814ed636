/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_open(2), for which the C library has no wrapper. */
#ifndef EBOLT_COLLECT_PERF_EVENT_H
#define EBOLT_COLLECT_PERF_EVENT_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/perf_event.h>

/* -1 and errno on failure, like the system call. */
static inline int perf_event__open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

#endif
