/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc states of processes, at bounded rates: the parts of process.h for process.c only. */
#ifndef EBOLT_PROC_PROCESS_READ_H
#define EBOLT_PROC_PROCESS_READ_H

#include "proc/process.h"

/* The start time of what runs under this id now; 0: nothing does. */
uint64_t process_read__start_ticks(uint32_t pid);

/* Takes one of so many a second; false where none is left. */
bool process_budget__spend(struct process_budget *b, uint64_t now, uint64_t per_sec);

/*
 * Nothing tells of munmap(). Who maps at ever new places would fill the table: every time that
 * there are twice as many as were left the last time, those are forgotten that aren't in /proc any
 * more, but for the ones that may have been there at the time of a sample that is still to come.
 */
void process_read__prune(struct process_table *t, struct process *p, uint64_t time);

#endif
