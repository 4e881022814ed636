// SPDX-License-Identifier: GPL-2.0-or-later
/* An ELF file: headers, build-id, symbols, PLT, mini debug info. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/elf_file.h"
#include "object/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void look_up(const struct symtab *st, uint64_t vaddr)
{
	struct symbol sym;

	if (!symtab__lookup(st, vaddr, &sym))
		return;
	check(vaddr >= sym.value && vaddr - sym.value < sym.size);
	check(sym.name[0] && strlen(sym.name) <= SYMTAB_NAME_MAX + strlen("@plt"));
}

static void resolve(const struct elf_file *ef, const struct symtab *st, uint64_t off)
{
	const struct elf_mapped mapped[] = {
		{ .start = 0x7f0000001000, .len = 0x1000, .pgoff = off & ~0xfffull },
		{ .start = 0x7f0000000000, .len = 0x1000, .pgoff = 0 },
	};
	uint64_t vaddr;

	if (!elf_file__off_to_vaddr(ef, off, mapped, 2, &vaddr))
		look_up(st, vaddr);
	if (!elf_file__off_to_vaddr(ef, off, NULL, 0, &vaddr))
		look_up(st, vaddr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct symtab_opts opts = { .debug_root = "/nonexistent", .path = "/nonexistent/f" };
	struct elf_file *ef;
	struct symtab *st;

	if (elf_file__open_mem(bytes, len, &ef))
		return 0;
	check(elf_file__build_id(ef)->len <= ELF_BUILD_ID_MAX);
	if (!symtab__load(ef, &opts, &st)) {
		size_t nr;
		const struct elf_load *loads = elf_file__loads(ef, &nr);

		for (size_t i = 0; i < nr; i++) {
			resolve(ef, st, loads[i].off);
			resolve(ef, st, loads[i].off + loads[i].filesz - 1);
		}
		for (size_t off = 0; off < len; off += 16)
			resolve(ef, st, off);
		symtab__free(st);
	}
	elf_file__close(ef);
	return 0;
}
