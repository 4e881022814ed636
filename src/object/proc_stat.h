/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/stat: what tells a process from another that had its id before, its parent, its end. */
#ifndef EBOLT_OBJECT_PROC_STAT_H
#define EBOLT_OBJECT_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state;	/* of the leader: 'R', 'S', ..., 'Z' or 'X' where it has exited */
	uint32_t flags; /* of the leader: PF_* */
	pid_t ppid;
	uint64_t threads;     /* also the leader that has exited and waits; 0: it was ending */
	uint64_t start_ticks; /* since boot, 10 ms each */
};

/* Whether the leader exits or has: the process lives on while it has other threads. */
bool proc_stat__leader_exits(const struct proc_stat *st);

/* Whether all threads have exited: what is left waits for its parent, and is still in /proc. */
bool proc_stat__is_dead(const struct proc_stat *st);

/* False where the text is not such a line. */
bool proc_stat__parse(const char *text, size_t len, struct proc_stat *ret);

/* Of a process now. 0; -ESRCH: there is none; -EBADMSG; or another negative errno. */
int proc_stat__read(pid_t pid, struct proc_stat *ret);

#endif
