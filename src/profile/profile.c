// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"

/* Of one write: all stacks that may be held, each with the most frames that a stack can have. */
#define SPILL_BYTES_MAX (1ull << 30)

struct profile *profile__new(const struct profile_opts *opts)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->opts = *opts;
	p->strings = strtab__new(PROFILE_STRINGS_MAX);
	if (!p->strings) {
		free(p);
		return NULL;
	}
	vec_init(&p->frames, PROFILE_FRAMES_MAX);
	vec_init(&p->stacks, PROFILE_STACKS_MAX);
	vec_init(&p->stack_frames, PROFILE_STACK_FRAMES_MAX);
	hashmap__init(&p->frame_index, PROFILE_FRAMES_MAX);
	hashmap__init(&p->stack_index, PROFILE_STACKS_MAX);
	spill__init(&p->spill);
	if (!p->opts.stacks_held)
		p->opts.stacks_held = PROFILE_STACKS_HELD;
	return p;
}

void profile__free(struct profile *p)
{
	if (!p)
		return;
	vec_done(&p->frames);
	vec_done(&p->stacks);
	vec_done(&p->stack_frames);
	hashmap__done(&p->frame_index);
	hashmap__done(&p->stack_index);
	strtab__free(p->strings);
	spill__done(&p->spill);
	free(p);
}

struct frame_probe {
	const struct profile *p;
	const struct frame *f;
};

static bool same_frame(const void *ctx, uint32_t i)
{
	const struct frame_probe *probe = ctx;
	const struct frame *a = &probe->p->frames.data[i], *b = probe->f;

	return a->off == b->off && a->kind == b->kind && a->reason == b->reason &&
	       a->dso == b->dso && a->name == b->name && a->named_kernel == b->named_kernel &&
	       a->named_jit == b->named_jit && a->mapped == b->mapped;
}

static uint64_t hash_of_frame(const struct frame *f)
{
	return hash_combine(hash_u64(f->off ^ (uintptr_t)f->name),
			    (uint64_t)f->dso << 16 | f->kind << 8 | f->reason | f->mapped);
}

static uint32_t find_frame(const struct profile *p, const struct frame *f, uint64_t hash)
{
	struct frame_probe probe = { .p = p, .f = f };

	return hashmap__find(&p->frame_index, hash, same_frame, &probe);
}

bool profile__find_frame(const struct profile *p, const struct frame *f, uint32_t *ret)
{
	*ret = find_frame(p, f, hash_of_frame(f));
	return *ret != HASHMAP_NONE;
}

int profile__frame(struct profile *p, const struct frame *f, uint32_t *ret)
{
	uint64_t hash = hash_of_frame(f);
	uint32_t i = find_frame(p, f, hash);
	int err;

	if (i != HASHMAP_NONE) {
		*ret = i;
		return 0;
	}
	err = vec_reserve(&p->frames, p->frames.len + 1);
	if (!err)
		err = hashmap__add(&p->frame_index, hash, p->frames.len);
	if (err)
		return err;
	*ret = p->frames.len;
	return vec_push(&p->frames, *f);
}

void profile__set_frame(struct profile *p, uint32_t i, const struct frame *f)
{
	struct frame_probe probe = { .p = p, .f = f };

	hashmap__remove(&p->frame_index, hash_of_frame(&p->frames.data[i]), i);
	p->frames.data[i] = *f;
	/* Two frames may be equal then. Only the one in the index gets further stacks. */
	if (hashmap__find(&p->frame_index, hash_of_frame(f), same_frame, &probe) == HASHMAP_NONE)
		hashmap__add(&p->frame_index, hash_of_frame(f), i);
}

struct stack_probe {
	const struct profile *p;
	const struct stack *key;
	const uint32_t *frames;
	size_t comm_len;
};

/* The key's comm isn't interned when it is looked for: a known stack costs no look-up of it. */
static bool same_stack(const void *ctx, uint32_t i)
{
	const struct stack_probe *probe = ctx;
	const struct stack *a = &probe->p->stacks.data[i], *b = probe->key;

	return a->nr_kernel == b->nr_kernel && a->nr_user == b->nr_user && a->flags == b->flags &&
	       a->pid == b->pid && a->tid == b->tid && !strcmp(a->comm, b->comm) &&
	       !memcmp(profile__stack_frames(probe->p, a), probe->frames,
		       sizeof(*probe->frames) * (a->nr_kernel + a->nr_user));
}

static uint64_t hash_stack(const struct stack *s, size_t comm_len, const uint32_t *frames)
{
	uint64_t hash = hash_bytes(frames, sizeof(*frames) * (s->nr_kernel + s->nr_user));

	hash = hash_combine(hash, hash_bytes(s->comm, comm_len));
	hash = hash_combine(hash, (uint64_t)s->pid << 32 | s->tid);
	return hash_combine(hash, (uint64_t)s->nr_kernel << 32 | s->nr_user << 8 | s->flags);
}

/* Appends to the file the stacks with a count of at most max. */
static int write_stacks(struct profile *p, uint64_t max)
{
	struct buf out;
	int err;

	buf__init(&out, SPILL_BYTES_MAX);
	vec_for_each(&p->stacks, s) {
		if (s->count > max)
			continue;
		buf__append(&out, s, sizeof(*s));
		buf__append(&out, profile__stack_frames(p, s),
			    sizeof(uint32_t) * (s->nr_kernel + s->nr_user));
	}
	err = buf__error(&out);
	if (!err)
		err = spill__append(&p->spill, out.data, out.len);
	buf__done(&out);
	return err;
}

/* Keeps the stacks with a count above max, in their order, so nothing is moved over another. */
static void forget_stacks(struct profile *p, uint64_t max)
{
	size_t kept = 0, first = 0;

	hashmap__clear(&p->stack_index);
	vec_for_each(&p->stacks, s) {
		uint32_t nr = s->nr_kernel + s->nr_user;
		struct stack *to = &p->stacks.data[kept];

		if (s->count <= max)
			continue;
		memmove(p->stack_frames.data + first, profile__stack_frames(p, s),
			sizeof(uint32_t) * nr);
		*to = *s;
		to->first = first;
		/* There is room: it held more. */
		hashmap__add(&p->stack_index,
			     hash_stack(to, strlen(to->comm), profile__stack_frames(p, to)), kept);
		first += nr;
		kept++;
	}
	p->stacks.len = kept;
	p->stack_frames.len = first;
}

/*
 * What was seen once is not likely to come again; where most came again, all goes, or this would
 * soon be done for every sample. Where it can't be written, all is held as if there were no bound.
 */
static void spill_stacks(struct profile *p)
{
	size_t once = 0;
	uint64_t max;

	vec_for_each(&p->stacks, s)
		once += s->count == 1;
	max = once >= p->stacks.len / 2 ? 1 : UINT64_MAX;
	p->spill_error = write_stacks(p, max);
	if (!p->spill_error)
		forget_stacks(p, max);
}

static int add_stack(struct profile *p, const struct stack_probe *probe, uint64_t hash)
{
	size_t nr = probe->key->nr_kernel + probe->key->nr_user;
	struct stack s = *probe->key;
	int err;

	err = strtab__intern(p->strings, s.comm, probe->comm_len, &s.comm);
	if (!err)
		err = vec_reserve(&p->stack_frames, p->stack_frames.len + nr);
	if (!err)
		err = vec_reserve(&p->stacks, p->stacks.len + 1);
	if (!err)
		err = hashmap__add(&p->stack_index, hash, p->stacks.len);
	if (err)
		return err;
	s.first = p->stack_frames.len;
	s.count = 1;
	if (nr)
		memcpy(p->stack_frames.data + s.first, probe->frames, nr * sizeof(*probe->frames));
	p->stack_frames.len += nr;
	p->stacks.data[p->stacks.len++] = s;
	return 0;
}

int profile__add(struct profile *p, const struct stack *key, const uint32_t *frames)
{
	struct stack k = *key;
	struct stack_probe probe = {
		.p = p, .key = &k, .frames = frames, .comm_len = strlen(key->comm)
	};
	uint64_t hash;
	uint32_t i;
	int err;

	if (!p->opts.by_tid)
		k.tid = 0;
	if (!p->opts.by_pid && !p->opts.by_tid)
		k.pid = 0;
	hash = hash_stack(&k, probe.comm_len, frames);
	i = hashmap__find(&p->stack_index, hash, same_stack, &probe);
	if (i != HASHMAP_NONE) {
		p->stacks.data[i].count++;
	} else {
		if (p->stacks.len >= p->opts.stacks_held && !p->spill_error)
			spill_stacks(p);
		err = add_stack(p, &probe, hash);
		if (err)
			return err;
	}
	p->samples++;
	return 0;
}

void stack_iter__init(struct stack_iter *it, const struct profile *p)
{
	*it = (struct stack_iter){ .p = p };
	vec_init(&it->read_frames, 2 * UINT16_MAX);
	if (!p->spill.size)
		return;
	it->spilled = spill__open(&p->spill);
	if (!it->spilled)
		it->error = -errno;
}

static int next_spilled(struct stack_iter *it)
{
	struct stack *s = &it->read_stack;
	size_t got = fread(s, 1, sizeof(*s), it->spilled), nr;
	int err;

	if (!got && feof(it->spilled)) {
		fclose(it->spilled);
		it->spilled = NULL;
		return 0;
	}
	if (got != sizeof(*s))
		return ferror(it->spilled) && errno ? -errno : -EIO;
	nr = s->nr_kernel + s->nr_user;
	err = vec_reserve(&it->read_frames, nr);
	if (err)
		return err;
	if (fread(it->read_frames.data, sizeof(uint32_t), nr, it->spilled) != nr)
		return ferror(it->spilled) && errno ? -errno : -EIO;
	it->stack = s;
	it->frames = it->read_frames.data;
	return 1;
}

int stack_iter__next(struct stack_iter *it)
{
	int ret = it->error;

	if (!ret && it->spilled)
		ret = next_spilled(it);
	if (ret)
		return ret;
	if (it->next == it->p->stacks.len)
		return 0;
	it->stack = &it->p->stacks.data[it->next++];
	it->frames = profile__stack_frames(it->p, it->stack);
	return 1;
}

void stack_iter__done(struct stack_iter *it)
{
	if (it->spilled)
		fclose(it->spilled);
	vec_done(&it->read_frames);
}
