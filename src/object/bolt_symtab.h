/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BOLT's-eye view of an ELF file: the functions that llvm-bolt will find in it, how it will
 * name each, and how far each reaches. A profile that names them otherwise is dropped by
 * llvm-bolt without a word.
 *
 * The rules are those of BOLT 19 (verified by runs of perf2bolt and llvm-bolt 19.1.7).
 */
#ifndef EBOLT_OBJECT_BOLT_SYMTAB_H
#define EBOLT_OBJECT_BOLT_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "object/elf_file.h"

#define BOLT_SYMBOLS_MAX (16u << 20)
#define BOLT_NAMES_MAX	 (1u << 30) /* bytes of all names */

struct bolt_function {
	const char *name; /* borrowed from the table; without the "/N" of a local symbol */
	uint32_t local;	  /* N of "name/N"; 0: not a local symbol */
	uint32_t index;	  /* of the function in the table, by vaddr */
	uint64_t vaddr;
	uint64_t size; /* bytes to the next function: also padding, and past the symbol's size */
};

/* Where a vaddr is that no function covers. */
enum bolt_gap {
	BOLT_GAP_CODE,	  /* in a section of code, between functions */
	BOLT_GAP_NO_CODE, /* in another section, or in none */
};

struct bolt_symtab;

/*
 * Why BOLT refuses the file, as far as its headers tell, and the remedy: a constant, that goes on
 * after "FILE: ". NULL where they give no reason.
 */
const char *bolt_symtab__refusal(const struct elf_file *ef);

/*
 * Reads the file's .symtab (BOLT uses no other source of names), .eh_frame and PLT. The table
 * stands on its own: the elf_file may be closed afterwards.
 * 0; -ENOTSUP: BOLT refuses such a file, and *ret_why (a constant, only set then) says why and
 * the remedy; -EBADMSG; -E2BIG; -ENOMEM; or that of a read.
 */
int bolt_symtab__load(const struct elf_file *ef, struct bolt_symtab **ret, const char **ret_why);
void bolt_symtab__free(struct bolt_symtab *bs);

/* The function that covers vaddr; false where none does. */
bool bolt_symtab__lookup(const struct bolt_symtab *bs, uint64_t vaddr, struct bolt_function *ret);
enum bolt_gap bolt_symtab__gap(const struct bolt_symtab *bs, uint64_t vaddr);

size_t bolt_symtab__count(const struct bolt_symtab *bs);
/* The function at an index below the count, in order of vaddr. */
void bolt_symtab__get(const struct bolt_symtab *bs, uint32_t index, struct bolt_function *ret);

/* Linked with --emit-relocs: BOLT reorders functions only then. */
bool bolt_symtab__has_relocs(const struct bolt_symtab *bs);

#endif
