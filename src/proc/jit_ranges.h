/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which function is where: ranges that don't overlap, by address, each a piece of a function.
 *
 * Runtimes have hundreds of thousands of them, and put new ones anywhere. So they are kept in
 * chunks, small enough to make room in, behind a list of chunks, small enough to search.
 */
#ifndef EBOLT_PROC_JIT_RANGES_H
#define EBOLT_PROC_JIT_RANGES_H

#include "proc/jit_pool.h"

#define JIT_CHUNK_RANGES 128
/*
 * So many pieces of newer code may lie in an older function that comes late; of one with more only
 * the beginning is kept, lest a writer keep us busy.
 */
#define JIT_GAPS_MAX 1024

struct jit_range {
	uint64_t start, end;
	struct jit_func *func; /* a reference */
};

struct jit_chunk {
	uint32_t len;
	struct jit_range ranges[JIT_CHUNK_RANGES];
};

struct jit_ranges {
	struct jit_pool *pool; /* borrowed */
	VEC(struct jit_chunk *) chunks;
	size_t len;
	uint32_t refs; /* codes that share them: changed only while there is one */
};

struct jit_ranges *jit_ranges__new(struct jit_pool *pool);	     /* NULL for want of memory */
struct jit_ranges *jit_ranges__clone(const struct jit_ranges *from); /* as above */
void jit_ranges__put(struct jit_ranges *rs);			     /* one reference less */

/* The range that holds addr, or NULL. Borrowed until the next change. */
const struct jit_range *jit_ranges__find(const struct jit_ranges *rs, uint64_t addr);

/*
 * Lays a function over what is older than it. 0, -ENOMEM or -E2BIG (JIT_GAPS_MAX), and then only a
 * part of it may be there.
 */
int jit_ranges__paint(struct jit_ranges *rs, struct jit_func *func);
/* Takes away all pieces of a function. */
void jit_ranges__erase(struct jit_ranges *rs, const struct jit_func *func);
/* Forgets about n pieces: those no sample was in first, and of these the oldest. Returns how many.
 */
size_t jit_ranges__evict(struct jit_ranges *rs, size_t n);

#endif
