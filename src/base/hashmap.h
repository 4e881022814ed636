/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash index over objects that live elsewhere (usually in a vec): it stores (hash, index)
 * pairs, the caller compares. So one table serves every key type, and an object that grows or
 * moves needs no change here.
 *
 *	i = hashmap__find(&m, hash, eq, ctx);	an index for which eq(ctx, index), or HASHMAP_NONE
 *	err = hashmap__add(&m, hash, index);	the caller has checked that it is not there
 *	hashmap__remove(&m, hash, index);
 *
 * Open addressing with linear probing; at most 3/4 full; removal shifts back, so there are no
 * tombstones.
 */
#ifndef EBOLT_BASE_HASHMAP_H
#define EBOLT_BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHMAP_NONE UINT32_MAX

struct hashmap_slot {
	uint32_t hash;
	uint32_t index; /* HASHMAP_NONE: free */
};

struct hashmap {
	struct hashmap_slot *slots;
	size_t nr_slots; /* 0 or a power of two */
	size_t len, max;
};

/* A function type, not a data type: the one kind of typedef in use. */
typedef bool hashmap_eq_fn(const void *ctx, uint32_t index);

void hashmap__init(struct hashmap *m, size_t max);
void hashmap__done(struct hashmap *m);
void hashmap__clear(struct hashmap *m); /* empties it and keeps the memory */
uint32_t hashmap__find(const struct hashmap *m, uint64_t hash, hashmap_eq_fn *eq, const void *ctx);
int hashmap__add(struct hashmap *m, uint64_t hash, uint32_t index); /* 0, -E2BIG, -ENOMEM */
bool hashmap__remove(struct hashmap *m, uint64_t hash, uint32_t index);

#endif
