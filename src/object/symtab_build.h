/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/object: makes a struct symtab out of symbols in any order, from any source.
 */
#ifndef EBOLT_OBJECT_SYMTAB_BUILD_H
#define EBOLT_OBJECT_SYMTAB_BUILD_H

#include "base/buf.h"
#include "base/vec.h"
#include "object/symtab.h"

#define SYMTAB_NAMES_MAX (UINT32_MAX - 1) /* bytes of names, NULs included: offsets are 32 bits */

/* A candidate: a symbol that could name code. */
struct candidate {
	uint64_t value;	     /* vaddr */
	uint64_t end;	     /* vaddr; of one without a size, the end of its section */
	uint32_t name;	     /* offset in names */
	uint32_t order : 29; /* as it came: 29 bits hold more than SYMTAB_MAX of several tables */
	uint32_t sized : 1, weak : 1, global : 1;
};

struct symtab_builder {
	VEC(struct candidate) candidates;
	struct buf names; /* NUL-terminated strings */
	unsigned int sources;
};

void symtab_builder__init(struct symtab_builder *b);
void symtab_builder__done(struct symtab_builder *b);

/*
 * Takes in a string section as it is (it need not end in a NUL). Symbol versions and what is
 * longer than SYMTAB_NAME_MAX are cut off. Names are then offsets from *ret_base.
 * 0, -E2BIG or -ENOMEM; as all that follow.
 */
int symtab_builder__add_names(struct symtab_builder *b, const char *names, size_t len,
			      uint32_t *ret_base);
/* One name, taken as it is, made of a stem and an ending. */
int symtab_builder__add_name(struct symtab_builder *b, const char *stem, const char *ending,
			     uint32_t *ret);

/* c->order is set here. One that covers nothing (end <= value) or has no name is left out. */
int symtab_builder__add(struct symtab_builder *b, const struct candidate *c);

/* Whether a is a better name than b for the same address. */
bool candidate__is_better(const struct symtab_builder *b, const struct candidate *a,
			  const struct candidate *than);

/* The builder is empty afterwards. 0 or -ENOMEM. */
int symtab_builder__finish(struct symtab_builder *b, struct symtab **ret);

#endif
