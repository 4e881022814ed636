/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the codes of all processes share, for jit_code.c and its parts: names, functions and line
 * tables, each kept once, counted by its references and gone with the last.
 */
#ifndef EBOLT_PROC_JIT_POOL_H
#define EBOLT_PROC_JIT_POOL_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "proc/jit_code.h"

#define JIT_POOL_CODES_MAX (1u << 18)

struct jit_name {
	uint32_t refs, place; /* index into jit_pool.names */
	uint32_t len;
	uint64_t hash;
	char text[]; /* NUL-terminated */
};

/*
 * What the functions and lines of one code take: the one that takes the most makes room. Outlives
 * the code, as what a child inherited does.
 */
struct jit_account {
	uint32_t refs;
	size_t bytes;
};

struct jit_table_line {
	uint64_t addr;
	uint32_t line;
	struct jit_name *file;
};

/* Where the code at each address comes from, by address. */
struct jit_table {
	uint32_t refs, nr;
	struct jit_account *account;
	uint64_t base; /* of the function, that the addresses mean */
	struct jit_table_line lines[];
};

struct jit_func {
	uint32_t refs; /* ranges and events that hold it */
	bool hit;      /* a sample was in it */
	uint64_t start, end;
	uint64_t index;
	uint64_t time, seq; /* which holds, of two: that with the greater of these */
	uint64_t known;
	struct jit_account *account;
	struct jit_name *name;
	struct jit_table *table; /* or NULL */
};

struct jit_pool {
	size_t max_funcs, max_bytes, bytes;
	size_t pieces; /* ranges and events of all codes: no fewer than there are functions */
	bool keep_lines;
	uint64_t last_seq, last_version;
	VEC(struct jit_name *) names; /* NULL: a free place */
	VEC(uint32_t) free_places;
	struct hashmap name_index;
	VEC(struct jit_code *) codes;
	struct jit_pool_stats stats;
};

/* The name, kept once more. NULL for want of memory; who asks has made room for its bytes. */
struct jit_name *jit_name__intern(struct jit_pool *pool, const char *text, size_t len);
struct jit_name *jit_name__get(struct jit_name *name);
void jit_name__put(struct jit_pool *pool, struct jit_name *name);

struct jit_account *jit_account__new(void); /* NULL for want of memory */
void jit_account__put(struct jit_account *account);

/*
 * The lines, sorted, of the function at base. NULL for want of memory or room, or where there are
 * none.
 */
struct jit_table *jit_table__new(struct jit_pool *pool, struct jit_account *account, uint64_t base,
				 const struct jit_line *lines, size_t nr);
struct jit_table *jit_table__get(struct jit_table *table);
void jit_table__put(struct jit_pool *pool, struct jit_table *table);
/* Do all addresses lie in a function that ends at `end`, but for what they may be too high by? */
bool jit_table__fits(const struct jit_table *table, uint64_t end);
/* The last line at or before addr, which means what the table's addresses mean; or NULL. */
const struct jit_table_line *jit_table__find(const struct jit_table *table, uint64_t addr);

/* With references of its own to all that `from` has. NULL for want of memory. */
struct jit_func *jit_func__new(const struct jit_func *from);
struct jit_func *jit_func__get(struct jit_func *func);
void jit_func__put(struct jit_pool *pool, struct jit_func *func);

static inline bool jit_func__is_newer(const struct jit_func *a, const struct jit_func *b)
{
	return a->time != b->time ? a->time > b->time : a->seq > b->seq;
}

#endif
