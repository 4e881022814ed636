/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was recorded, aggregated: distinct frames, distinct stacks, how often each was seen.
 *
 * Frames are normalised when a sample is read ((DSO, off), kernel address, ...), so equal stacks
 * of many processes are one stack here; names are looked up once a frame, when an output is
 * written (profile/resolve.h). Nothing is allocated for a sample whose stack is known.
 */
#ifndef EBOLT_PROFILE_PROFILE_H
#define EBOLT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/vec.h"

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
};

#define PROFILE_FRAMES_MAX	 (64u << 20)
#define PROFILE_STACKS_MAX	 (64u << 20)
#define PROFILE_STACK_FRAMES_MAX (1u << 30)
#define PROFILE_STRINGS_MAX	 (1u << 30)

struct profile {
	struct profile_opts opts;
	struct strtab *strings;
	VEC(struct frame) frames;   /* distinct */
	VEC(struct stack) stacks;   /* distinct */
	VEC(uint32_t) stack_frames; /* indices into frames */
	struct hashmap frame_index, stack_index;
	uint64_t samples; /* the sum of the stacks' counts */
};

struct profile *profile__new(const struct profile_opts *opts); /* NULL for want of memory */
void profile__free(struct profile *p);

/* The index of an equal frame, added if new. 0, -E2BIG or -ENOMEM. */
int profile__frame(struct profile *p, const struct frame *f, uint32_t *ret);

/* Makes a frame another, in all stacks that have it: what it is became known only later. */
void profile__set_frame(struct profile *p, uint32_t i, const struct frame *f);

/*
 * Counts one more sample. frames: nr_kernel + nr_user indices. comm need not be interned.
 * 0, or -E2BIG or -ENOMEM, and then nothing was counted.
 */
int profile__add(struct profile *p, const struct stack *key, const uint32_t *frames);

static inline const uint32_t *profile__stack_frames(const struct profile *p, const struct stack *s)
{
	return p->stack_frames.data + s->first;
}

#endif
