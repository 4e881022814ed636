/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A jitdump that is read while it is written. */
#ifndef EBOLT_PROC_JIT_DUMP_H
#define EBOLT_PROC_JIT_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "object/jitdump.h"
#include "base/vec.h"
#include "proc/jit_code.h"

/* Of one file no more is read: a runtime writes that in weeks, a fault in minutes. */
#define JIT_DUMP_BYTES_MAX (64ull << 30)

struct jit_dump {
	int fd;
	struct jitdump reader;
	uint64_t read;	    /* bytes, without holes */
	uint64_t last_time; /* ns, of the records so far */
	bool whole;	    /* at the last poll all there was was read */
	bool too_large;
	/* Of the first problem of each kind that is to be said, until taken. */
	uint32_t problems_new, problems_said; /* bits by enum jitdump_problem */
	uint64_t problem_off[JITDUMP_NR_PROBLEMS];
};

/* Takes the descriptor. NULL for want of memory, and then it is not taken. */
struct jit_dump *jit_dump__new(int fd);
void jit_dump__free(struct jit_dump *d);

/* Where pieces are read to: one for all files. */
struct jit_piece {
	uint8_t bytes[256 << 10];
	const uint8_t *zeros; /* JIT_ZEROS of them, that take no memory: what holes are made of */
	VEC(struct jit_line) lines;
};

#define JIT_ZEROS (64u << 20)

struct jit_piece *jit_piece__new(void); /* NULL for want of memory */
void jit_piece__free(struct jit_piece *piece);

/* What a record takes of a budget beside its bytes: of small ones that is most of the work. */
#define JIT_RECORD_COST 200

/* Takes from a budget what there is of it; false: nothing is left. */
static inline bool jit_spend(uint64_t *budget, uint64_t cost)
{
	*budget -= cost < *budget ? cost : *budget;
	return *budget;
}

/*
 * Reads on into the code, until the budget is spent: about that many bytes. now: CLOCK_MONOTONIC,
 * ns. Returns the bytes read.
 */
uint64_t jit_dump__poll(struct jit_dump *d, struct jit_code *code, struct jit_piece *piece,
			uint64_t now, uint64_t *budget);

/* Nothing more will be read of it. */
bool jit_dump__is_done(const struct jit_dump *d);

/* A problem that is new and worth saying; false: none. Each kind once. */
bool jit_dump__problem(struct jit_dump *d, enum jitdump_problem *ret, uint64_t *ret_off);

#endif
