// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

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
	       a->named_jit == b->named_jit;
}

static uint64_t hash_of_frame(const struct frame *f)
{
	return hash_combine(hash_u64(f->off ^ (uintptr_t)f->name),
			    (uint64_t)f->dso << 16 | f->kind << 8 | f->reason);
}

int profile__frame(struct profile *p, const struct frame *f, uint32_t *ret)
{
	uint64_t hash = hash_of_frame(f);
	struct frame_probe probe = { .p = p, .f = f };
	uint32_t i = hashmap__find(&p->frame_index, hash, same_frame, &probe);
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
	size_t nr = key->nr_kernel + key->nr_user;
	uint64_t hash;
	uint32_t i;
	int err;

	if (!p->opts.by_tid)
		k.tid = 0;
	if (!p->opts.by_pid && !p->opts.by_tid)
		k.pid = 0;
	hash = hash_combine(hash_bytes(frames, nr * sizeof(*frames)),
			    hash_bytes(k.comm, probe.comm_len));
	hash = hash_combine(hash, (uint64_t)k.pid << 32 | k.tid);
	hash = hash_combine(hash, (uint64_t)k.nr_kernel << 32 | k.nr_user << 8 | k.flags);
	i = hashmap__find(&p->stack_index, hash, same_stack, &probe);
	if (i != HASHMAP_NONE) {
		p->stacks.data[i].count++;
	} else {
		err = add_stack(p, &probe, hash);
		if (err)
			return err;
	}
	p->samples++;
	return 0;
}
