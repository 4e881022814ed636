/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of one process, for process.c. See process.h for look-ups. */
#ifndef EBOLT_PROC_MAPPINGS_H
#define EBOLT_PROC_MAPPINGS_H

#include "proc/process.h"

/* Adds a mapping over whatever it overlaps. 0, -E2BIG or -ENOMEM, and then nothing changed. */
int mappings__cover(struct process *p, const struct mapping *m);
/*
 * Adds the parts of a mapping where there is none. 0, -E2BIG or -ENOMEM, and then maybe some of
 * them. *ret_added: any.
 */
int mappings__fill(struct process *p, const struct mapping *m, bool *ret_added);
/* Makes a gap of [start, end). 0, -E2BIG or -ENOMEM, and then nothing changed. */
int mappings__cut(struct process *p, uint64_t start, uint64_t end);
/* Cuts off what lies outside [start, end), which it overlaps. */
void mappings__clip(struct mapping *m, uint64_t start, uint64_t end);
/* The first mapping that ends after addr, or NULL. Borrowed until the next change. */
const struct mapping *process__next(const struct process *p, uint64_t addr);
/* Is exactly this mapping there? */
bool mappings__has(const struct process *p, const struct mapping *m);
/* Do the two share a mapping? Two images of one process don't, unless both were placed alike. */
bool mappings__share(const struct process *a, const struct process *b);
/* Where exactly this mapping is: takes over its time. */
void mappings__renew(struct process *p, const struct mapping *m);
/*
 * `now` was read at read_at (ns): marks those that lie nowhere over a mapping of it as gone, and
 * forgets those that have been so since before gone_before (ns). True: any.
 */
bool mappings__sweep(struct process *p, const struct process *now, uint64_t read_at,
		     uint64_t gone_before);
/* Adds those of from's mappings that overlap [start, end). 0, -E2BIG or -ENOMEM. */
int mappings__copy_range(struct process *to, const struct process *from, uint64_t start,
			 uint64_t end);
/* Replaces to's mappings by a copy of from's. 0, -E2BIG or -ENOMEM. */
int mappings__copy(struct process *to, const struct process *from);

#endif
