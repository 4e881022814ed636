/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From vaddr to a name, for native code.
 *
 * Candidates are FUNC, IFUNC and NOTYPE symbols in executable sections; no mapping symbols ($x,
 * $d), section or file symbols, none without a name. A sized symbol covers
 * [value, value + size) and the innermost wins; one of size 0 reaches to the next symbol or to
 * its section's end. A gap is unresolved. Of several at one address: sized, then not weak, then
 * global, then fewer leading underscores, then longer, then first in the table.
 * PLT stubs are named by the GOT slot that the stub reads ("puts@plt"), never by their order.
 */
#ifndef EBOLT_OBJECT_SYMTAB_H
#define EBOLT_OBJECT_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object/elf_file.h"

#define SYMTAB_MAX	(16u << 20) /* symbols of one table */
#define SYMTAB_NAME_MAX (64u << 10) /* bytes of one name; longer ones are cut */

struct symbol {
	const char *name; /* borrowed from the table, as in the file (mangled, versions kept off) */
	uint64_t value;	  /* vaddr where it starts */
	uint64_t size;	  /* bytes it covers, also where the file states 0 */
};

/* Where the names came from, for messages: bits of symtab__sources(). */
enum symtab_source {
	SYMTAB_FROM_SYMTAB = 1,
	SYMTAB_FROM_DYNSYM = 2,
	SYMTAB_FROM_DEBUGDATA = 4, /* .gnu_debugdata */
	SYMTAB_FROM_DEBUG_FILE = 8,
	SYMTAB_FROM_PLT = 16,
};

struct symtab_opts {
	const char *debug_root; /* NULL: "/usr/lib/debug" */
	const char *path;	/* of the file, for .gnu_debuglink's directories; NULL: unknown */
	bool no_debug_files;	/* only what the file itself holds */
};

struct symtab;

/*
 * Reads a file's symbols: .symtab where it has one; else the .symtab of its separate debug file
 * (build-id directory, then debuglink, whose CRC is checked; the debug file must carry the same
 * build-id where both have one); and .dynsym with .gnu_debugdata. The table stands on its own:
 * the elf_file may be closed afterwards. A file without symbols gives an empty table.
 * 0 or a negative errno.
 */
int symtab__load(const struct elf_file *ef, const struct symtab_opts *opts, struct symtab **ret);
void symtab__free(struct symtab *st);

/* The symbol that covers vaddr; false where none does. */
bool symtab__lookup(const struct symtab *st, uint64_t vaddr, struct symbol *ret);

size_t symtab__count(const struct symtab *st);
unsigned int symtab__sources(const struct symtab *st);

#endif
