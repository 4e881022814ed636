/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc states of processes, at bounded rates: the parts of process.h for process.c only. */
#ifndef EBOLT_PROC_PROCESS_READ_H
#define EBOLT_PROC_PROCESS_READ_H

#include "object/proc_stat.h"
#include "proc/process.h"

/* Whether a process has this id now, and isn't only waited for by its parent. */
bool process_read__living(uint32_t pid, struct proc_stat *ret);
/* Whether it is this one. */
bool process_read__lives(uint32_t pid, uint64_t start_ticks);

/* Takes one of so many a second; false where none is left. */
bool process_budget__spend(struct process_budget *b, uint64_t now, uint64_t per_sec);

/*
 * To be called after mappings were added, at `time` (ns). Nothing tells of munmap(). Who maps at
 * ever new places would fill the table: when there are twice as many as were there the last
 * time, /proc is asked which still are, once a second at most. Those are forgotten that weren't the
 * last time either, unless that was just now: samples in them may still be to come.
 */
void process_read__prune(struct process_table *t, struct process *p, uint64_t time);

#endif
