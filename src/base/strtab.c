// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strtab.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"

#define CHUNK_BYTES (64 * 1024)

struct strtab {
	VEC(char *) chunks;	   /* memory that the strings live in */
	VEC(const char *) strings; /* what the hash index points into */
	struct hashmap index;
	size_t chunk_free; /* bytes left in the last chunk */
	size_t bytes, max_bytes;
};

struct probe {
	const struct strtab *st;
	const char *s;
	size_t len;
};

struct strtab *strtab__new(size_t max_bytes)
{
	struct strtab *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->max_bytes = max_bytes;
	vec_init(&st->chunks, SIZE_MAX);
	vec_init(&st->strings, HASHMAP_NONE - 1);
	hashmap__init(&st->index, HASHMAP_NONE - 1);
	return st;
}

void strtab__free(struct strtab *st)
{
	if (!st)
		return;
	vec_for_each(&st->chunks, chunk)
		free(*chunk);
	vec_done(&st->chunks);
	vec_done(&st->strings);
	hashmap__done(&st->index);
	free(st);
}

static bool same_string(const void *ctx, uint32_t i)
{
	const struct probe *p = ctx;
	const char *have = p->st->strings.data[i];

	return !strncmp(have, p->s, p->len) && !have[p->len];
}

/* Room for `size` bytes; a string larger than a chunk gets a chunk of its own. */
static char *take(struct strtab *st, size_t size)
{
	size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	char *chunk;

	if (size > st->chunk_free) {
		chunk = malloc(chunk_size);
		if (!chunk)
			return NULL;
		if (vec_push(&st->chunks, chunk)) {
			free(chunk);
			return NULL;
		}
		st->chunk_free = chunk_size;
	} else {
		chunk = st->chunks.data[st->chunks.len - 1];
		chunk += CHUNK_BYTES - st->chunk_free;
	}
	st->chunk_free -= size;
	/* What is left of an oversized chunk can't be found from its start: leave it. */
	if (chunk_size > CHUNK_BYTES)
		st->chunk_free = 0;
	return chunk;
}

int strtab__intern(struct strtab *st, const char *s, size_t len, const char **ret)
{
	struct probe probe = { .st = st, .s = s, .len = strnlen(s, len) };
	uint64_t hash = hash_bytes(s, probe.len);
	uint32_t i = hashmap__find(&st->index, hash, same_string, &probe);
	char *copy;
	int err;

	if (i != HASHMAP_NONE) {
		*ret = st->strings.data[i];
		return 0;
	}
	if (probe.len > st->max_bytes - st->bytes)
		return -E2BIG;
	err = vec_reserve(&st->strings, st->strings.len + 1);
	if (err)
		return err;
	copy = take(st, probe.len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, s, probe.len);
	copy[probe.len] = '\0';
	err = hashmap__add(&st->index, hash, st->strings.len);
	if (err)
		return err;
	st->strings.data[st->strings.len++] = copy;
	st->bytes += probe.len;
	*ret = copy;
	return 0;
}

size_t strtab__bytes(const struct strtab *st)
{
	return st->bytes;
}
