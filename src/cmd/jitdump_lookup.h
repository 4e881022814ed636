/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ebolt jitdump --lookup: pairs of time and address on standard input, names on standard output.
 *
 * The questions are read before the file, so that of a file of gigabytes only the functions are
 * kept that an address of theirs lies in.
 */
#ifndef EBOLT_CMD_JITDUMP_LOOKUP_H
#define EBOLT_CMD_JITDUMP_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct jit_code;

struct jitdump_question {
	uint64_t time; /* ns */
	uint64_t addr;
	size_t nr;	  /* of the line */
	const char *name; /* the answer; NULL: nothing covers the address */
	uint64_t start;	  /* of the function */
};

struct jitdump_lookup {
	struct {
		VEC(struct jitdump_question);
	} questions;
	struct {
		VEC(uint64_t);
	} addrs;  /* sorted, once jitdump_lookup__prepare() was called */
	bool all; /* every function may matter */
};

void jitdump_lookup__init(struct jitdump_lookup *l);
void jitdump_lookup__done(struct jitdump_lookup *l);

/* Reads standard input to its end. EXIT_OK, or the exit status, having said why. */
int jitdump_lookup__read(struct jitdump_lookup *l);
/* What is at addr matters too: it moves. Before jitdump_lookup__prepare(). */
void jitdump_lookup__add(struct jitdump_lookup *l, uint64_t addr);
void jitdump_lookup__prepare(struct jitdump_lookup *l);
/* Whether [addr, addr + size) may matter for an answer. */
bool jitdump_lookup__wants(const struct jitdump_lookup *l, uint64_t addr, uint64_t size);
/* Prints an answer a question, in the order in which they came. 0 or a negative errno. */
int jitdump_lookup__answer(struct jitdump_lookup *l, struct jit_code *code);

#endif
