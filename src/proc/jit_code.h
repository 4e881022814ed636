/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code a JIT runtime had where, at the time reached.
 *
 * A runtime says of each function when it was written where. Addresses are used again: what comes
 * later lies over what was there, whole or in part. Records and samples come in about the same
 * order, so one state is enough, as in the process table: the records up to the time of the latest
 * look-up are applied, those after it wait their turn. A look-up goes forward in time; one of an
 * earlier time than was reached finds what is there.
 *
 *	jit_code__load(code, &load)...		in any order, of any time
 *	jit_code__lookup(code, time, addr, &hit)	times that don't fall
 *
 * The rules. Of the functions that cover an address, that with the latest time up to the sample's
 * holds; the order of arrival decides between equal times. Where there is none, the earliest of
 * those to come holds, as a late one. What moves leaves nothing behind, and keeps its identity.
 * Lines only ever add to a function that is there.
 *
 * Memory. Functions that are covered entirely are forgotten at once. All processes together have a
 * bound, the pool's; when it is reached, the one that has the most forgets its oldest functions,
 * those first that no sample was in. Names are kept once for all.
 */
#ifndef EBOLT_PROC_JIT_CODE_H
#define EBOLT_PROC_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_POOL_FUNCS 200000	   /* functions, in use and waiting, of all processes */
#define JIT_POOL_BYTES (16u << 20) /* bytes of names and lines, of all processes */
#define JIT_NAME_MAX   4096	   /* bytes; longer names are cut */

struct jit_pool_stats {
	uint64_t loads, moves, tables; /* taken */
	uint64_t bad_loads;	       /* empty, or not in user space: ignored */
	uint64_t moves_unknown;	       /* of what isn't there: ignored */
	uint64_t moves_resized;	       /* state another size: that of the load is right */
	uint64_t tables_dropped;       /* lines outside of their function, or for want of room */
	uint64_t evicted;	       /* functions forgotten to make room */
	uint64_t dropped;	       /* functions not taken: no memory, or spread over too many */
};

struct jit_pool;
struct jit_code;

/* Bounds; 0: the default above. keep_lines: else jit_code__lines() does nothing. */
struct jit_pool_opts {
	size_t max_funcs, max_bytes;
	bool keep_lines;
};

struct jit_pool *jit_pool__new(const struct jit_pool_opts *opts); /* NULL for want of memory */
void jit_pool__free(struct jit_pool *pool);			  /* after all its codes */
const struct jit_pool_stats *jit_pool__stats(const struct jit_pool *pool);
size_t jit_pool__funcs(const struct jit_pool *pool); /* functions kept now */
size_t jit_pool__bytes(const struct jit_pool *pool); /* bytes of names and lines kept now */

/* The code of one process (or file). NULL for want of memory. */
struct jit_code *jit_code__new(struct jit_pool *pool);
void jit_code__free(struct jit_code *code);

/*
 * A child's: all that the parent has up to `time` (ns), the child's beginning. Costs nothing until
 * one of the two changes. NULL for want of memory.
 */
struct jit_code *jit_code__fork(const struct jit_code *code, uint64_t time);

struct jit_load {
	uint64_t time;	/* CLOCK_MONOTONIC ns; 0: unknown, valid from the beginning */
	uint64_t known; /* ns; when it was certainly there (of a file without times: read) */
	uint64_t addr, size, index;
	const char *name; /* name_len bytes; borrowed for the call. May be empty. */
	size_t name_len;
};

struct jit_move {
	uint64_t time;
	uint64_t from, to;
	uint64_t size; /* as stated; 0: not */
	uint64_t index;
};

struct jit_line {
	uint64_t addr; /* as written */
	uint32_t line;
	const char *file; /* file_len bytes; borrowed for the call */
	size_t file_len;
};

/* These never fail: what can't be kept is counted. */
void jit_code__load(struct jit_code *code, const struct jit_load *load);
void jit_code__move(struct jit_code *code, const struct jit_move *move);
/*
 * The lines of the function at addr, the latest or the next to be loaded there. A table with an
 * address outside of the function is dropped. Addresses may lie 0x40 too high, as some runtimes
 * write them, for all tables of the code or for none.
 */
void jit_code__lines(struct jit_code *code, uint64_t addr, const struct jit_line *lines, size_t nr);

/* No look-up of an earlier time will come: what waited for it is applied. */
void jit_code__advance(struct jit_code *code, uint64_t time);

struct jit_hit {
	const char *name; /* NUL-terminated, borrowed until the next call that changes something */
	uint64_t start;	  /* of the function: addr - start is the offset in it */
	uint64_t known;	  /* as in the load */
	bool late;	  /* it was loaded after `time` only */
	const char *file; /* as name; NULL: no line is known */
	uint32_t line;
};

/* False: nothing covers addr. */
bool jit_code__lookup(struct jit_code *code, uint64_t time, uint64_t addr, struct jit_hit *ret);

/* Changes whenever what a look-up gives may have changed; never the same in another code. */
uint64_t jit_code__version(const struct jit_code *code);

#endif
