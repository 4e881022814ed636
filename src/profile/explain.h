/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps from an offset in a file to a name, with every number used. What names frames
 * (resolve.c) takes the same steps, so the explanation can't differ from the profile.
 */
#ifndef EBOLT_PROFILE_EXPLAIN_H
#define EBOLT_PROFILE_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "object/elf_file.h"
#include "object/symtab.h"

/* Why a frame has no symbol, or NAME_SYMBOL. */
enum name_reason {
	NAME_SYMBOL,	 /* name is the symbol */
	NAME_NO_MAPPING, /* as enum unknown_reason */
	NAME_NO_PROCESS,
	NAME_ANON,
	NAME_VSYSCALL,
	NAME_LOST,
	NAME_JIT_NO_MARKER,
	NAME_JIT_REFUSED,
	NAME_JIT_NO_ENTRY,
	NAME_JIT_NAMELESS,
	NAME_NO_FILE,	 /* the DSO could not be opened */
	NAME_NOT_ELF,	 /* it is no ELF file that we can read */
	NAME_NO_SEGMENT, /* no executable segment holds the offset */
	NAME_AMBIGUOUS,	 /* more than one does */
	NAME_NO_SYMBOL,	 /* no symbol covers the address */
	NAME_REASONS,
};

/* In words, for messages: "no symbol covers the address". */
const char *name_reason__text(enum name_reason reason);

#define VSYSCALL_START 0xffffffffff600000ull /* arch/x86/include/uapi/asm/vsyscall.h */
#define VSYSCALL_SIZE  0x1000

/* The page is of no file, and the same in every process. */
static inline bool vsyscall__holds(uint64_t addr)
{
	return addr >= VSYSCALL_START && addr < VSYSCALL_START + VSYSCALL_SIZE;
}

struct explanation {
	uint8_t reason; /* enum name_reason: how far it went */
	uint64_t vaddr; /* from NAME_NO_SYMBOL on */
	/*
	 * The segment that gave it. NAME_AMBIGUOUS: two that claim off. NAME_NO_SEGMENT: the
	 * nearest executable ones, that begin below and above; filesz 0: there is none.
	 */
	struct elf_load load, other;
	struct symbol symbol; /* NAME_SYMBOL; its name is borrowed from the table */
};

/*
 * st: NULL where the file has no symbols. own: the mapping that the offset was seen in, or NULL;
 * mapped: mappings of the file, or NULL.
 */
void explain__off(const struct elf_file *ef, const struct symtab *st, uint64_t off,
		  const struct elf_mapped *own, const struct elf_mapped *mapped, size_t nr_mapped,
		  struct explanation *ret);

#endif
