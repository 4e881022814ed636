/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table behind process.h: places, look-ups by pid, eviction. For process*.c only. */
#ifndef EBOLT_PROC_PROCESS_TABLE_H
#define EBOLT_PROC_PROCESS_TABLE_H

#include "base/clock.h"
#include "proc/process.h"

/* struct process.losses of one whose beginning was not seen. */
#define STALE UINT64_MAX
/* So many mappings of a process are never too many. */
#define PRUNE_MIN 1024
/* ns; /proc/PID/maps of one process is not read more often for an uncovered address. */
#define REREAD_WAIT_MIN (NSEC_PER_SEC / 20)

/* NULL: it isn't there. Borrowed until it is dropped, by the adding of another too. */
struct process *process_table__known(const struct process_table *t, uint32_t pid);

/* One that isn't there. NULL: there was no room, which was counted. Others may be evicted. */
struct process *process_table__add(struct process_table *t, uint32_t pid);

/* Takes it out of the table, for the caller to free. NULL: it isn't there. */
struct process *process_table__take_out(struct process_table *t, uint32_t pid);
void process_table__drop(struct process_table *t, uint32_t pid);

/* One that was taken out, or NULL. */
void process__free(struct process *p);

#endif
