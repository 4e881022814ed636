/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What process.c tells of processes to proc/jit_files.h. All do nothing without a jit_files. */
#ifndef EBOLT_PROC_PROCESS_JIT_H
#define EBOLT_PROC_PROCESS_JIT_H

#include "proc/process.h"

/* A mapping record that was read, before its turn. p: what is known of the process, or NULL. */
void process_jit__foresee(struct process_table *t, const struct process *p, uint32_t pid,
			  const struct mapping *m);
/* It has this mapping. */
void process_jit__mapped(struct process_table *t, struct process *p, const struct mapping *m);
/* It has all these mappings. was: what it was before it was read again, which ends; or NULL. */
void process_jit__read(struct process_table *t, struct process *p, struct process *was);
void process_jit__forked(struct process_table *t, struct process *p, const struct process *parent,
			 uint64_t time);
/* It is gone, or runs another image. */
void process_jit__ended(struct process *p);
/* By an exec: the process goes on as another image. */
void process_jit__replaced(struct process *p);

#endif
