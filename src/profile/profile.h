/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was recorded, aggregated: distinct frames, distinct stacks, how often each was seen.
 *
 * Frames are normalised when a sample is read ((DSO, off), kernel address, ...), so equal stacks
 * of many processes are one stack here; names are looked up once a frame, when an output is
 * written (profile/resolve.h). Nothing is allocated for a sample whose stack is known.
 *
 * Memory does not grow with the length of a recording. A busy kernel makes ever new stacks; so
 * above PROFILE_STACKS_HELD those that were seen once since they came go to an unlinked file
 * (profile/spill.h), where the outputs find them again. A stack that is seen once more after that
 * is held a second time: outputs add up what has the same text or place.
 */
#ifndef EBOLT_PROFILE_PROFILE_H
#define EBOLT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/spill.h"

enum frame_kind {
	FRAME_NATIVE,  /* dso, off */
	FRAME_KERNEL,  /* off is the kernel address */
	FRAME_NAMED,   /* named at once, since it may be gone later: BPF programs, vdso, JIT code */
	FRAME_UNKNOWN, /* reason */
};

/* Why an address has no mapping to be resolved in. Native frames get theirs in resolve.h. */
enum unknown_reason {
	UNKNOWN_NONE,
	UNKNOWN_NO_MAPPING, /* nothing covers the address */
	UNKNOWN_NO_PROCESS, /* nothing is known of the process: gone before /proc was read */
	UNKNOWN_ANON,	    /* executable anonymous memory; see off */
	UNKNOWN_VSYSCALL,
	UNKNOWN_LOST, /* task records were lost: what was mapped is not known */
	/* JIT code (proc/jit_files.h) */
	UNKNOWN_JIT_NO_MARKER, /* its process writes a jitdump without having it mapped */
	UNKNOWN_JIT_REFUSED,   /* its process's files can't be used */
	UNKNOWN_JIT_NO_ENTRY,  /* they say nothing of the address */
	UNKNOWN_JIT_NAMELESS,  /* they do, but give an empty name */
	UNKNOWN_REASONS,
};

struct frame {
	uint8_t kind;	   /* enum frame_kind */
	uint8_t reason;	   /* enum unknown_reason */
	bool named_kernel; /* FRAME_NAMED: code of the kernel (a BPF program) */
	bool named_jit;	   /* FRAME_NAMED: JIT code */
	/*
	 * FRAME_NATIVE: 1 + the index into the DSO's `mapped` of the mapping that it was seen in,
	 * where more than one holds off; else 0.
	 */
	uint8_t mapped;
	/*
	 * FRAME_NATIVE: index into the session's DSOs (proc/dso.h). UNKNOWN_ANON: the id of the
	 * JIT space that the address may yet get a name from (profile/jit_wait.h), or 0.
	 */
	uint32_t dso;
	/*
	 * FRAME_NATIVE: offset in the file; FRAME_KERNEL, and UNKNOWN_ANON with a JIT space:
	 * address. Of the interrupted
	 * instruction in a leaf; in a caller, of the last byte of its call instruction (return
	 * address - 1), so that a call that doesn't return is not credited to what follows it.
	 */
	uint64_t off;
	const char *name; /* FRAME_NAMED: interned */
};

#define STACK_KERNEL_TRUNCATED 1
#define STACK_USER_TRUNCATED   2

struct stack {
	const char *comm;   /* interned */
	uint32_t pid, tid;  /* 0 unless the profile keeps them apart */
	uint16_t nr_kernel; /* frames, leaf first */
	uint16_t nr_user;
	uint8_t flags;	/* STACK_* */
	uint32_t first; /* index into profile.stack_frames: kernel frames, then user frames */
	uint64_t count; /* samples */
};

struct profile_opts {
	bool by_pid, by_tid; /* keep processes or threads apart */
	size_t stacks_held;  /* in memory, before those seen once go to a file; 0:
				PROFILE_STACKS_HELD */
};

/* About 200 bytes each with their frames and the index: 3 MB. */
#define PROFILE_STACKS_HELD 8192

#define PROFILE_FRAMES_MAX	 (64u << 20)
#define PROFILE_STACKS_MAX	 (64u << 20)
#define PROFILE_STACK_FRAMES_MAX (1u << 30)
#define PROFILE_STRINGS_MAX	 (1u << 30)

struct profile {
	struct profile_opts opts;
	struct strtab *strings;
	VEC(struct frame) frames;   /* distinct */
	VEC(struct stack) stacks;   /* distinct, those in memory */
	VEC(uint32_t) stack_frames; /* indices into frames */
	struct hashmap frame_index, stack_index;
	uint64_t samples;   /* the sum of the stacks' counts, in memory and in the file */
	struct spill spill; /* struct stack and its frames, one after the other */
	int spill_error;    /* why nothing goes there any more, and all is held; 0 while it does */
};

struct profile *profile__new(const struct profile_opts *opts); /* NULL for want of memory */
void profile__free(struct profile *p);

/* The index of an equal frame, added if new. 0, -E2BIG or -ENOMEM. */
int profile__frame(struct profile *p, const struct frame *f, uint32_t *ret);

/* Whether there is an equal frame, and its index. */
bool profile__find_frame(const struct profile *p, const struct frame *f, uint32_t *ret);

/* Makes a frame another, in all stacks that have it: what it is became known only later. */
void profile__set_frame(struct profile *p, uint32_t i, const struct frame *f);

/*
 * Counts one more sample. frames: nr_kernel + nr_user indices. comm need not be interned.
 * 0, or -E2BIG or -ENOMEM, and then nothing was counted.
 */
int profile__add(struct profile *p, const struct stack *key, const uint32_t *frames);

/*
 * All stacks, those in the file first; the same one may come several times:
 *
 *	struct stack_iter it;
 *
 *	stack_iter__init(&it, p);
 *	while ((err = stack_iter__next(&it)) > 0)
 *		... it.stack, it.frames ...
 *	stack_iter__done(&it);
 *
 * What it points to is valid until the next call. next: 1, 0 at the end, or why the file can't be
 * read: -EIO where it is cut short, else -errno.
 */
struct stack_iter {
	const struct stack *stack;
	const uint32_t *frames; /* kernel frames, then user frames, leaf first */

	const struct profile *p;
	FILE *spilled; /* NULL at its end */
	struct stack read_stack;
	VEC(uint32_t) read_frames;
	size_t next;
	int error;
};

void stack_iter__init(struct stack_iter *it, const struct profile *p);
int stack_iter__next(struct stack_iter *it);
void stack_iter__done(struct stack_iter *it);

static inline const uint32_t *profile__stack_frames(const struct profile *p, const struct stack *s)
{
	return p->stack_frames.data + s->first;
}

#endif
