/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/object: what a struct bolt_symtab is made of, for bolt_load.c, which makes it.
 */
#ifndef EBOLT_OBJECT_BOLT_SYMTAB_BUILD_H
#define EBOLT_OBJECT_BOLT_SYMTAB_BUILD_H

#include <elf.h>

#include "base/buf.h"
#include "base/vec.h"
#include "object/bolt_symtab.h"

#define BOLT_SECTIONS_MAX SHN_LORESERVE

/* By index, as in the file; index 0 is the null section and holds nothing. */
struct bolt_section {
	uint64_t addr, size, flags; /* sh_flags; SHF_ALLOC only where it takes addresses */
	const char *name;	    /* borrowed from the elf_file while loading; then NULL */
};

struct bolt_symtab_function {
	uint64_t vaddr;
	uint64_t size; /* while loading what symbol and FDE state, then the extent */
	uint32_t name; /* index into names */
	uint32_t local;
	uint32_t section;
};

struct bolt_symtab {
	VEC(struct bolt_symtab_function) functions; /* by vaddr */
	VEC(struct bolt_section) sections;
	VEC(uint32_t) by_addr; /* sections in memory that aren't empty, by address */
	struct buf names;      /* NUL-terminated */
	bool has_relocs;
};

static inline bool bolt_contains(uint64_t start, uint64_t size, uint64_t addr)
{
	return addr >= start && addr - start < size;
}

/* The section in memory that holds vaddr; 0: none. */
uint32_t bolt_symtab__section_at(const struct bolt_symtab *bs, uint64_t vaddr);

/* The last of the first n functions that starts at or before vaddr, or NULL. */
struct bolt_symtab_function *bolt_symtab__before(const struct bolt_symtab *bs, size_t n,
						 uint64_t vaddr);

#endif
