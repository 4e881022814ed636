/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples in JIT code whose names are not known yet.
 *
 * A runtime writes of a function a little after it made it, and may keep what it writes in a
 * buffer. So a sample is held, for JIT_WAIT_NS at most, until its process's files tell of a later
 * time than its own (proc/jit_files.h); all others go on meanwhile. An address that nothing is
 * known of even then is counted under a frame of its own, (space, address), which gets its name
 * when it is told: some runtimes write only when they end. Of a process there are
 * JIT_SPACE_UNNAMED such frames at most, of all JIT_UNNAMED_MAX; further addresses are just
 * executable anonymous memory.
 */
#ifndef EBOLT_PROFILE_JIT_WAIT_H
#define EBOLT_PROFILE_JIT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "proc/jit_files.h"
#include "profile/profile.h"

#define JIT_UNNAMED_MAX	   (1u << 18)
#define JIT_HELD_BYTES_MAX (64u << 20) /* of held samples; over this they go on as they are */

/* One user frame of a sample of a process that has a JIT space. */
struct jit_frame {
	uint64_t addr;
	uint64_t since;	 /* ns; of the mapping that gave native */
	uint64_t start;	 /* what begins below is no function at addr: process__code_floor() */
	uint32_t native; /* a frame of the profile, if it is no JIT code; or JIT_FRAME_* */
};

#define JIT_FRAME_ANON	     UINT32_MAX	      /* executable anonymous memory */
#define JIT_FRAME_NO_MAPPING (UINT32_MAX - 1) /* nothing is known to be mapped there */

struct jit_wait {
	struct profile *profile; /* borrowed, as is */
	struct jit_files *files;
	bool lines;		/* names with their source lines */
	struct buf held, spare; /* held samples; `spare` for compaction */
	size_t nr_unnamed;
	uint64_t lost;	 /* samples that the profile had no room for, after they were held */
	uint64_t unkept; /* addresses over the bounds */
	uint64_t waited; /* samples that were held */
	struct buf text;
};

void jit_wait__init(struct jit_wait *w, struct profile *profile, struct jit_files *files,
		    bool lines);
void jit_wait__done(struct jit_wait *w);

/*
 * A sample, with its kernel frames and key->nr_user user frames: counted at once, or held. 0, or
 * -E2BIG or -ENOMEM, and then it wasn't counted.
 */
int jit_wait__add(struct jit_wait *w, struct jit_space *space, uint64_t time,
		  const struct stack *key, const uint32_t *kernel, const struct jit_frame *user);

/* To be called after jit_files__poll(): counts what can be counted now, names what can be named. */
void jit_wait__settle(struct jit_wait *w);

#endif
