// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Look-ups in the table. How BOLT's rules make it is in bolt_load.c.
 *
 * Functions don't nest: one that another starts in the middle of ends there for look-ups, as in
 * BOLT, which takes the last function that starts at or before an address and no other.
 */
#include "object/bolt_symtab.h"

#include <stdlib.h>

#include "object/bolt_symtab_build.h"

const char *bolt_symtab__refusal(const struct elf_file *ef)
{
	uint16_t machine = elf_file__machine(ef), type = elf_file__type(ef);
	const char *ident = elf_getident(elf_file__elf(ef), NULL);
	GElf_Shdr shdr;

	if (!elf_file__is_64(ef) || !ident || ident[EI_DATA] != ELFDATA2LSB ||
	    (machine != EM_X86_64 && machine != EM_AARCH64))
		return "it is not for x86-64 or arm64, the machines that BOLT profiles are for; "
		       "give a 64-bit little-endian binary of these";
	if (type == ET_REL)
		return "it is an object file, not linked yet; give the linked program or library";
	if (type != ET_EXEC && type != ET_DYN)
		return "it is neither a program nor a shared library; give one of these";
	if (elf_file__section(ef, ".note.bolt_bat", &shdr))
		return "BOLT has processed it already (it has a BOLT translation table), and plain "
		       "fdata of such a binary is wrong; profile the binary that BOLT was given";
	if (elf_file__section(ef, ".note.bolt_info", &shdr) ||
	    elf_file__section(ef, ".bolt.org.text", &shdr) ||
	    elf_file__section(ef, ".bolt.org.eh_frame", &shdr))
		return "BOLT has processed it already and doesn't take its own output; profile the "
		       "binary that BOLT was given";
	if (!elf_file__section(ef, ".text", &shdr) || shdr.sh_type == SHT_NOBITS)
		return "it holds no code in .text (a separate debug file?); give the file that "
		       "runs";
	if (!elf_file__section(ef, ".symtab", &shdr) || shdr.sh_type != SHT_SYMTAB)
		return "it is stripped (no .symtab), and BOLT refuses stripped binaries; keep an "
		       "unstripped copy of the very binary that runs, or link it without -s";
	return NULL;
}

uint32_t bolt_symtab__section_at(const struct bolt_symtab *bs, uint64_t vaddr)
{
	size_t lo = 0, hi = bs->by_addr.len;
	const struct bolt_section *s;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (bs->sections.data[bs->by_addr.data[mid]].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	s = &bs->sections.data[bs->by_addr.data[lo - 1]];
	return bolt_contains(s->addr, s->size, vaddr) ? bs->by_addr.data[lo - 1] : 0;
}

struct bolt_symtab_function *bolt_symtab__before(const struct bolt_symtab *bs, size_t n,
						 uint64_t vaddr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (bs->functions.data[mid].vaddr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &bs->functions.data[lo - 1] : NULL;
}

bool bolt_symtab__lookup(const struct bolt_symtab *bs, uint64_t vaddr, struct bolt_function *ret)
{
	const struct bolt_symtab_function *f = bolt_symtab__before(bs, bs->functions.len, vaddr);

	if (!f || !bolt_contains(f->vaddr, f->size, vaddr))
		return false;
	bolt_symtab__get(bs, f - bs->functions.data, ret);
	return true;
}

enum bolt_gap bolt_symtab__gap(const struct bolt_symtab *bs, uint64_t vaddr)
{
	uint32_t section = bolt_symtab__section_at(bs, vaddr);

	return bs->sections.data[section].flags & SHF_EXECINSTR ? BOLT_GAP_CODE : BOLT_GAP_NO_CODE;
}

size_t bolt_symtab__count(const struct bolt_symtab *bs)
{
	return bs->functions.len;
}

void bolt_symtab__get(const struct bolt_symtab *bs, uint32_t index, struct bolt_function *ret)
{
	const struct bolt_symtab_function *f = &bs->functions.data[index];

	*ret = (struct bolt_function){ .name = bs->names.data + f->name,
				       .local = f->local,
				       .index = index,
				       .vaddr = f->vaddr,
				       .size = f->size };
}

bool bolt_symtab__has_relocs(const struct bolt_symtab *bs)
{
	return bs->has_relocs;
}

void bolt_symtab__free(struct bolt_symtab *bs)
{
	if (!bs)
		return;
	vec_done(&bs->functions);
	vec_done(&bs->sections);
	vec_done(&bs->by_addr);
	buf__done(&bs->names);
	free(bs);
}
