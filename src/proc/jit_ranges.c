// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_MAX (1u << 24)

/* Where a range is, or would be. chunk == chunks.len: behind all. */
struct place {
	size_t chunk;
	uint32_t at;
};

struct jit_ranges *jit_ranges__new(struct jit_pool *pool)
{
	struct jit_ranges *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return NULL;
	rs->pool = pool;
	rs->refs = 1;
	vec_init(&rs->chunks, CHUNKS_MAX);
	return rs;
}

struct jit_ranges *jit_ranges__clone(const struct jit_ranges *from)
{
	struct jit_ranges *rs = jit_ranges__new(from->pool);

	if (!rs || vec_reserve(&rs->chunks, from->chunks.len + 1))
		goto fail;
	vec_for_each(&from->chunks, chunk) {
		struct jit_chunk *copy = malloc(sizeof(*copy));

		if (!copy)
			goto fail;
		memcpy(copy, *chunk, sizeof(*copy));
		for (uint32_t i = 0; i < copy->len; i++)
			jit_func__get(copy->ranges[i].func);
		vec_push(&rs->chunks, copy);
		rs->len += copy->len;
		rs->pool->pieces += copy->len;
	}
	return rs;
fail:
	jit_ranges__put(rs);
	return NULL;
}

void jit_ranges__put(struct jit_ranges *rs)
{
	if (!rs || --rs->refs)
		return;
	vec_for_each(&rs->chunks, chunk) {
		for (uint32_t i = 0; i < (*chunk)->len; i++)
			jit_func__put(rs->pool, (*chunk)->ranges[i].func);
		free(*chunk);
	}
	rs->pool->pieces -= rs->len;
	vec_done(&rs->chunks);
	free(rs);
}

/* The first range that ends after addr. */
static struct place first_after(const struct jit_ranges *rs, uint64_t addr)
{
	size_t lo = 0, hi = rs->chunks.len;
	const struct jit_chunk *c;
	struct place p;

	/* No chunk is empty. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		c = rs->chunks.data[mid];
		if (c->ranges[c->len - 1].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	p = (struct place){ .chunk = lo };
	if (lo == rs->chunks.len)
		return p;
	c = rs->chunks.data[lo];
	for (lo = 0, hi = c->len - 1; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->ranges[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	p.at = lo;
	return p;
}

static struct jit_range *range_at(const struct jit_ranges *rs, struct place p)
{
	return p.chunk < rs->chunks.len ? &rs->chunks.data[p.chunk]->ranges[p.at] : NULL;
}

static struct jit_range *range_before(const struct jit_ranges *rs, struct place p)
{
	if (p.at)
		p.at--;
	else if (p.chunk)
		p.at = rs->chunks.data[--p.chunk]->len - 1;
	else
		return NULL;
	return range_at(rs, p);
}

const struct jit_range *jit_ranges__find(const struct jit_ranges *rs, uint64_t addr)
{
	const struct jit_range *r = range_at(rs, first_after(rs, addr));

	return r && r->start <= addr ? r : NULL;
}

/* Makes a new chunk of the upper half of a full one, or the first. */
static int split(struct jit_ranges *rs, struct place *p)
{
	struct jit_chunk *old = NULL, *upper;
	int err = vec_reserve(&rs->chunks, rs->chunks.len + 1);

	if (err)
		return err;
	upper = malloc(sizeof(*upper));
	if (!upper)
		return -ENOMEM;
	upper->len = 0;
	if (!rs->chunks.len) {
		*p = (struct place){ 0 };
		return vec_push(&rs->chunks, upper);
	}
	old = rs->chunks.data[p->chunk];
	/* What is only ever added behind leaves full chunks. */
	old->len = p->at == JIT_CHUNK_RANGES ? JIT_CHUNK_RANGES : JIT_CHUNK_RANGES / 2;
	upper->len = JIT_CHUNK_RANGES - old->len;
	memcpy(upper->ranges, old->ranges + old->len, upper->len * sizeof(*upper->ranges));
	vec_insert(&rs->chunks, p->chunk + 1, upper);
	if (p->at > old->len || (p->at == old->len && !upper->len))
		*p = (struct place){ .chunk = p->chunk + 1, .at = p->at - old->len };
	return 0;
}

/* Takes a reference to the function. */
static int insert(struct jit_ranges *rs, struct place p, struct jit_range r)
{
	struct jit_chunk *c;

	/* Behind all is at the end of the last. */
	if (p.chunk == rs->chunks.len && p.chunk)
		p = (struct place){ p.chunk - 1, rs->chunks.data[p.chunk - 1]->len };
	if (!rs->chunks.len || rs->chunks.data[p.chunk]->len == JIT_CHUNK_RANGES) {
		int err = split(rs, &p);

		if (err)
			return err;
	}
	c = rs->chunks.data[p.chunk];
	memmove(&c->ranges[p.at + 1], &c->ranges[p.at], (c->len - p.at) * sizeof(r));
	c->ranges[p.at] = r;
	c->len++;
	rs->len++;
	rs->pool->pieces++;
	jit_func__get(r.func);
	return 0;
}

static void remove_at(struct jit_ranges *rs, struct place p)
{
	struct jit_chunk *c = rs->chunks.data[p.chunk];
	struct jit_func *func = c->ranges[p.at].func;

	memmove(&c->ranges[p.at], &c->ranges[p.at + 1], (c->len - p.at - 1) * sizeof(*c->ranges));
	if (!--c->len) {
		free(c);
		vec_remove(&rs->chunks, p.chunk, 1);
	}
	rs->len--;
	rs->pool->pieces--;
	jit_func__put(rs->pool, func);
}

/* [start, end) lies in a gap. */
static int fill(struct jit_ranges *rs, uint64_t start, uint64_t end, struct jit_func *func)
{
	struct place p = first_after(rs, start);
	struct jit_range *before = range_before(rs, p);

	if (before && before->func == func && before->end == start) {
		before->end = end;
		return 0;
	}
	return insert(rs, p, (struct jit_range){ start, end, func });
}

/* Takes [from, to) out of the range at p, which holds `from`. */
static int cut(struct jit_ranges *rs, struct place p, uint64_t from, uint64_t to)
{
	struct jit_range *r = range_at(rs, p);
	struct jit_range tail = { .start = to, .end = r->end, .func = r->func };

	if (r->start == from && r->end <= to) {
		remove_at(rs, p);
		return 0;
	}
	if (r->start == from) {
		r->start = to;
		return 0;
	}
	r->end = from;
	return tail.end > to ? insert(rs, first_after(rs, from), tail) : 0;
}

int jit_ranges__paint(struct jit_ranges *rs, struct jit_func *func)
{
	uint64_t at = func->start, end = func->end;
	unsigned int newer = 0;
	int err = 0;

	while (!err && at < end) {
		struct place p = first_after(rs, at);
		const struct jit_range *r = range_at(rs, p);

		if (!r || r->start > at) {
			uint64_t to = r && r->start < end ? r->start : end;

			err = fill(rs, at, to, func);
			at = to;
		} else if (jit_func__is_newer(r->func, func)) {
			if (newer++ == JIT_GAPS_MAX)
				return -E2BIG;
			at = r->end;
		} else {
			err = cut(rs, p, at, end);
		}
	}
	return err;
}

void jit_ranges__erase(struct jit_ranges *rs, const struct jit_func *func)
{
	uint64_t at = func->start, end = func->end;

	while (at < end) {
		struct place p = first_after(rs, at);
		const struct jit_range *r = range_at(rs, p);

		if (!r || r->start >= end)
			return;
		at = r->end;
		if (r->func == func)
			remove_at(rs, p);
	}
}

struct age {
	bool hit;
	uint64_t time, seq;
};

static int by_age(const void *a, const void *b)
{
	const struct age *x = a, *y = b;

	if (x->hit != y->hit)
		return x->hit ? 1 : -1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static struct age age_of(const struct jit_func *f)
{
	return (struct age){ .hit = f->hit, .time = f->time, .seq = f->seq };
}

size_t jit_ranges__evict(struct jit_ranges *rs, size_t n)
{
	struct age *ages = n && n <= rs->len ? malloc(rs->len * sizeof(*ages)) : NULL;
	size_t nr = 0, kept_chunks = 0, before = rs->len;
	struct age last;

	if (!ages)
		return 0;
	vec_for_each(&rs->chunks, c)
		for (uint32_t i = 0; i < (*c)->len; i++)
			ages[nr++] = age_of((*c)->ranges[i].func);
	qsort(ages, nr, sizeof(*ages), by_age);
	last = ages[n - 1];
	free(ages);
	vec_for_each(&rs->chunks, c) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < (*c)->len; i++) {
			struct jit_range *r = &(*c)->ranges[i];
			struct age age = age_of(r->func);

			if (by_age(&age, &last) > 0)
				(*c)->ranges[kept++] = *r;
			else
				jit_func__put(rs->pool, r->func);
		}
		rs->len -= (*c)->len - kept;
		(*c)->len = kept;
		if (kept)
			rs->chunks.data[kept_chunks++] = *c;
		else
			free(*c);
	}
	rs->chunks.len = kept_chunks;
	rs->pool->pieces -= before - rs->len;
	return before - rs->len;
}
