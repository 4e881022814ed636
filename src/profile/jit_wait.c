// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/jit_wait.h"

#include <inttypes.h>
#include <string.h>

#include "../../bpf/record.h"
#include "base/clock.h"

#define NAME_TEXT_MAX (3 * JIT_NAME_MAX)

/* A held sample: this, then its user frames, then its kernel frames. A multiple of 8 long. */
struct held {
	uint32_t len; /* bytes */
	uint32_t pid, tid;
	uint16_t nr_kernel, nr_user;
	uint8_t flags;
	char comm[REC_COMM_LEN + 1];
	uint64_t time;
	struct jit_space *space;
	struct jit_frame user[];
};

void jit_wait__init(struct jit_wait *w, struct profile *profile, struct jit_files *files,
		    bool lines)
{
	*w = (struct jit_wait){ .profile = profile, .files = files, .lines = lines };
	buf__init(&w->held, JIT_HELD_BYTES_MAX);
	buf__init(&w->spare, JIT_HELD_BYTES_MAX);
	buf__init(&w->text, NAME_TEXT_MAX);
}

void jit_wait__done(struct jit_wait *w)
{
	buf__done(&w->held);
	buf__done(&w->spare);
	buf__done(&w->text);
}

static int intern(struct jit_wait *w, const struct jit_hit *hit, const char **ret)
{
	int err;

	if (!w->lines || !hit->file || !hit->file[0])
		return strtab__intern(w->profile->strings, hit->name, strlen(hit->name), ret);
	buf__clear(&w->text);
	buf__printf(&w->text, "%s (%s:%" PRIu32 ")", hit->name, hit->file, hit->line);
	err = buf__error(&w->text);
	return err ? err : strtab__intern(w->profile->strings, w->text.data, w->text.len, ret);
}

static int frame_of_hit(struct jit_wait *w, const struct jit_hit *hit, struct frame *ret)
{
	*ret = (struct frame){ .kind = FRAME_UNKNOWN, .reason = UNKNOWN_JIT_NAMELESS };
	if (!hit->name[0])
		return 0;
	*ret = (struct frame){ .kind = FRAME_NAMED, .named_jit = true };
	return intern(w, hit, &ret->name);
}

/*
 * Of a function that would begin outside of the address's mapping only the size is wrong: a torn
 * line's, with two numbers run together.
 */
static bool lookup(struct jit_space *space, uint64_t time, uint64_t addr, uint64_t since,
		   uint64_t start, struct jit_hit *ret)
{
	return jit_space__lookup(space, time, addr, since, ret) && ret->start >= start;
}

/* A frame that may get its name later. */
static int unnamed(struct jit_wait *w, struct jit_space *space, uint64_t time,
		   const struct jit_frame *jf, uint32_t *ret)
{
	struct jit_unnamed u = { .addr = jf->addr, .start = jf->start, .time = time };
	struct frame f = {
		.kind = FRAME_UNKNOWN, .reason = UNKNOWN_ANON, .dso = space->id, .off = jf->addr
	};
	int err;

	/* While it is there: looks whether it has a file open. */
	jit_space__why(space, clock__now());
	/* The bound is of addresses: one that is known takes any number of samples. */
	if (profile__find_frame(w->profile, &f, ret))
		return 0;
	if (w->nr_unnamed >= JIT_UNNAMED_MAX ||
	    vec_reserve(&space->unnamed, space->unnamed.len + 1)) {
		w->unkept++;
		f.dso = 0;
		f.off = 0;
		return profile__frame(w->profile, &f, ret);
	}
	err = profile__frame(w->profile, &f, ret);
	if (err)
		return err;
	w->nr_unnamed++;
	u.frame = *ret;
	return vec_push(&space->unnamed, u);
}

static int frame_at(struct jit_wait *w, struct jit_space *space, uint64_t time,
		    const struct jit_frame *jf, uint32_t *ret)
{
	struct frame f = { .kind = FRAME_UNKNOWN, .reason = UNKNOWN_NO_MAPPING };
	bool native = jf->native < JIT_FRAME_NO_MAPPING;
	struct jit_hit hit;
	int err = 0;

	/* Code that came to where a file was mapped at the time is not what ran. */
	if (lookup(space, time, jf->addr, jf->since, jf->start, &hit) && !(native && hit.late)) {
		err = frame_of_hit(w, &hit, &f);
	} else if (jf->native == JIT_FRAME_ANON) {
		return unnamed(w, space, time, jf, ret);
	} else if (native) {
		*ret = jf->native;
		return 0;
	}
	return err ? err : profile__frame(w->profile, &f, ret);
}

static int count(struct jit_wait *w, struct jit_space *space, uint64_t time,
		 const struct stack *key, const uint32_t *kernel, const struct jit_frame *user)
{
	uint32_t frames[2 * REC_STACK_MAX];
	int err = 0;

	if (key->nr_kernel)
		memcpy(frames, kernel, key->nr_kernel * sizeof(*frames));
	for (uint16_t i = 0; i < key->nr_user && !err; i++)
		err = frame_at(w, space, time, &user[i], &frames[key->nr_kernel + i]);
	return err ? err : profile__add(w->profile, key, frames);
}

static int hold(struct jit_wait *w, struct jit_space *space, uint64_t time, const struct stack *key,
		const uint32_t *kernel, const struct jit_frame *user)
{
	size_t nr_bytes = (key->nr_kernel * sizeof(*kernel) + 7) & ~7ull, at = w->held.len;
	uint32_t padded[REC_STACK_MAX + 1] = { 0 };
	struct held h = {
		.pid = key->pid,
		.tid = key->tid,
		.nr_kernel = key->nr_kernel,
		.nr_user = key->nr_user,
		.flags = key->flags,
		.time = time,
		.space = space,
	};
	int err;

	strncpy(h.comm, key->comm, sizeof(h.comm) - 1);
	if (key->nr_kernel)
		memcpy(padded, kernel, key->nr_kernel * sizeof(*kernel));
	h.len = sizeof(h) + key->nr_user * sizeof(*user) + nr_bytes;
	buf__append(&w->held, &h, sizeof(h));
	buf__append(&w->held, user, key->nr_user * sizeof(*user));
	buf__append(&w->held, padded, nr_bytes);
	err = buf__error(&w->held);
	if (err) {
		w->held.len = at;
		w->held.error = 0;
	}
	return err;
}

int jit_wait__add(struct jit_wait *w, struct jit_space *space, uint64_t time,
		  const struct stack *key, const uint32_t *kernel, const struct jit_frame *user)
{
	space->sampled = true;
	if (time > jit_space__settled(space) && !hold(w, space, time, key, kernel, user)) {
		w->waited++;
		return 0;
	}
	return count(w, space, time, key, kernel, user);
}

static void count_held(struct jit_wait *w)
{
	struct buf kept = w->spare;
	size_t at = 0;

	buf__clear(&kept);
	while (at < w->held.len) {
		const struct held *h = (const void *)(w->held.data + at);
		struct stack key = {
			.comm = h->comm,
			.pid = h->pid,
			.tid = h->tid,
			.nr_kernel = h->nr_kernel,
			.nr_user = h->nr_user,
			.flags = h->flags,
		};

		at += h->len;
		if (h->time > jit_space__settled(h->space)) {
			size_t len = kept.len;

			buf__append(&kept, h, h->len);
			if (!buf__error(&kept))
				continue;
			kept.len = len;
			kept.error = 0;
		}
		if (count(w, h->space, h->time, &key, (const uint32_t *)(h->user + h->nr_user),
			  h->user))
			w->lost++;
	}
	w->spare = w->held;
	w->held = kept;
}

static uint8_t reason_of(enum jit_why why)
{
	return why == JIT_WHY_NO_MARKER	 ? UNKNOWN_JIT_NO_MARKER
	       : why == JIT_WHY_REFUSED	 ? UNKNOWN_JIT_REFUSED
	       : why == JIT_WHY_NO_ENTRY ? UNKNOWN_JIT_NO_ENTRY
					 : UNKNOWN_ANON;
}

/* last: what has no name now gets none any more. */
static void name_unnamed(struct jit_wait *w, struct jit_space *space, bool last)
{
	size_t kept = 0;

	if (space->named_version == space->version && !last)
		return;
	space->named_version = space->version;
	for (size_t i = 0; i < space->unnamed.len; i++) {
		const struct jit_unnamed *u = &space->unnamed.data[i];
		struct jit_hit hit;
		struct frame f;

		if (lookup(space, u->time, u->addr, 0, u->start, &hit) &&
		    !frame_of_hit(w, &hit, &f)) {
			profile__set_frame(w->profile, u->frame, &f);
			w->nr_unnamed--;
		} else {
			space->unnamed.data[kept++] = *u;
		}
	}
	space->unnamed.len = kept;
	for (size_t i = 0; last && i < kept; i++) {
		struct frame f = {
			.kind = FRAME_UNKNOWN,
			.reason = reason_of(jit_space__why(space, clock__now())),
		};

		profile__set_frame(w->profile, space->unnamed.data[i].frame, &f);
		w->nr_unnamed--;
	}
	if (last)
		space->unnamed.len = 0;
}

void jit_wait__settle(struct jit_wait *w)
{
	struct jit_space *space;

	count_held(w);
	vec_for_each(&w->files->spaces, s)
		if ((*s)->unnamed.len)
			name_unnamed(w, *s, false);
	while ((space = jit_files__next_complete(w->files))) {
		name_unnamed(w, space, true);
		jit_files__forget(w->files, space);
	}
}
