// SPDX-License-Identifier: GPL-2.0-or-later
/* BOLT's view of an ELF file: its symbols, FDEs and PLT; and an .eh_frame on its own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/bolt_symtab.h"
#include "object/fde_ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_symtab(const struct bolt_symtab *bs)
{
	struct bolt_function f, found;
	uint64_t last = 0;

	for (size_t i = 0; i < bolt_symtab__count(bs); i++) {
		bolt_symtab__get(bs, i, &f);
		check(f.index == i && f.name[0] && f.vaddr >= last);
		check(f.vaddr + f.size >= f.vaddr);
		last = f.vaddr;
		bolt_symtab__gap(bs, f.vaddr + f.size);
		if (!bolt_symtab__lookup(bs, f.vaddr, &found))
			continue;
		check(found.vaddr == f.vaddr && found.size > 0);
	}
}

static void check_ranges(const uint8_t *bytes, size_t len)
{
	struct fde_ranges fr;

	fde_ranges__parse(bytes, len, 0x1000, &fr);
	for (size_t i = 1; i < fr.ranges.len; i++)
		check(fr.ranges.data[i - 1].start < fr.ranges.data[i].start);
	fde_ranges__done(&fr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct elf_file *ef;
	struct bolt_symtab *bs;
	const char *why;

	check_ranges(bytes, len);
	if (elf_file__open_mem(bytes, len, &ef))
		return 0;
	if (!bolt_symtab__load(ef, &bs, &why)) {
		check_symtab(bs);
		bolt_symtab__free(bs);
	}
	elf_file__close(ef);
	return 0;
}
