// SPDX-License-Identifier: GPL-2.0-or-later
#include "object/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const section_names[] = { ".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt" };

static bool is_plt(const struct elf_file *ef, const GElf_Shdr *sh)
{
	const char *name = elf_file__section_name(ef, sh);

	if (sh->sh_type != SHT_PROGBITS || !(sh->sh_flags & SHF_EXECINSTR))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(section_names); i++) {
		if (!strcmp(name, section_names[i]))
			return true;
	}
	return false;
}

bool plt__begins_with_plt0(const uint8_t *code, size_t len, uint16_t machine)
{
	/* push [rip + ...]: the word of the GOT that tells the dynamic linker which file it is. */
	static const uint8_t push[] = { 0xff, 0x35 };
	/* stp x16, x30, [sp, #-16]!, maybe behind bti c. */
	static const uint8_t stp[] = { 0xf0, 0x7b, 0xbf, 0xa9 }, bti[] = { 0x5f, 0x24, 0x03, 0xd5 };

	if (machine == EM_X86_64)
		return len >= sizeof(push) && !memcmp(code, push, sizeof(push));
	if (len >= sizeof(bti) && !memcmp(code, bti, sizeof(bti))) {
		code += sizeof(bti);
		len -= sizeof(bti);
	}
	return len >= sizeof(stp) && !memcmp(code, stp, sizeof(stp));
}

static int decode_section(const struct elf_file *ef, Elf_Scn *scn, const GElf_Shdr *sh,
			  struct plt *plt)
{
	_cleanup_free_ uint8_t *code = NULL;
	size_t len;
	int err = elf_file__section_bytes(ef, scn, &code, &len);

	if (err)
		return err;
	if (!strcmp(elf_file__section_name(ef, sh), ".plt") &&
	    plt__begins_with_plt0(code, len, elf_file__machine(ef))) {
		plt->lazy = sh->sh_addr;
		plt->lazy_end = sh->sh_addr + len;
	}
	if (elf_file__machine(ef) == EM_AARCH64)
		return plt__decode_arm64(code, len, sh->sh_addr, plt);
	return plt__decode_x86_64(code, len, sh->sh_addr, plt);
}

static int compare_slots(const void *pa, const void *pb)
{
	const struct plt_stub *a = pa, *b = pb;

	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* The first stub that reads this slot (there may be several: .plt and .plt.got), or the end. */
static size_t first_of_slot(const struct plt *plt, uint64_t slot)
{
	size_t low = 0, high = plt->stubs.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (plt->stubs.data[mid].slot < slot)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * A stub that was named stays so. Without that, a hostile file's million relocations of one slot,
 * read by a million stubs, would be work for hours; with it the first relocation names them all.
 */
static void name_stubs(struct plt *plt, uint64_t slot, const char *name, uint64_t value,
		       uint64_t resolver)
{
	for (size_t i = first_of_slot(plt, slot); i < plt->stubs.len; i++) {
		struct plt_stub *stub = &plt->stubs.data[i];

		if (stub->slot != slot || stub->name || stub->resolver)
			return;
		stub->name = name;
		stub->value = value;
		stub->resolver = resolver;
	}
}

static bool is_irelative(uint16_t machine, uint32_t type)
{
	return type == (machine == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE);
}

static bool is_by_symbol(uint16_t machine, uint32_t type)
{
	if (machine == EM_AARCH64)
		return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

/* One SHT_RELA section. dynsym: the table that it refers to, or NULL. */
static int apply_relocations(const struct elf_file *ef, Elf_Scn *scn, const struct elf_syms *dynsym,
			     struct plt *plt)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint16_t machine = elf_file__machine(ef);
	size_t len;
	int err = elf_file__section_bytes(ef, scn, &bytes, &len);

	if (err)
		return err;
	for (size_t i = 0; i < len / sizeof(Elf64_Rela); i++) {
		Elf64_Rela r;
		uint32_t type;
		GElf_Sym sym;
		const char *name;

		memcpy(&r, bytes + i * sizeof(r), sizeof(r));
		type = ELF64_R_TYPE(r.r_info);
		if (is_irelative(machine, type) && r.r_addend) {
			name_stubs(plt, r.r_offset, NULL, 0, r.r_addend);
		} else if (is_by_symbol(machine, type) && dynsym &&
			   ELF64_R_SYM(r.r_info) < dynsym->nr) {
			elf_syms__get(dynsym, ELF64_R_SYM(r.r_info), &sym);
			name = elf_syms__name(dynsym, &sym);
			if (*name)
				name_stubs(plt, r.r_offset, name,
					   sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value, 0);
		}
	}
	return 0;
}

static void drop_unnamed(struct plt *plt)
{
	size_t kept = 0;

	vec_for_each(&plt->stubs, stub) {
		if (stub->name || stub->resolver)
			plt->stubs.data[kept++] = *stub;
	}
	plt->stubs.len = kept;
}

int plt__read(const struct elf_file *ef, const struct elf_syms *dynsym, struct plt *ret)
{
	uint16_t machine = elf_file__machine(ef);
	Elf *elf = elf_file__elf(ef);
	GElf_Shdr sh;

	*ret = (struct plt){ 0 };
	vec_init(&ret->stubs, PLT_STUBS_MAX);
	if (!elf_file__is_64(ef) || (machine != EM_X86_64 && machine != EM_AARCH64))
		return 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (gelf_getshdr(scn, &sh) && is_plt(ef, &sh) &&
		    decode_section(ef, scn, &sh, ret) == -ENOMEM)
			goto no_memory;
	}
	if (!ret->stubs.len)
		return 0;
	qsort(ret->stubs.data, ret->stubs.len, sizeof(*ret->stubs.data), compare_slots);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		/* Not those that a linker left in for others (--emit-relocs): they aren't loaded.
		 */
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (apply_relocations(ef, scn,
				      dynsym && sh.sh_link == dynsym->scn_index ? dynsym : NULL,
				      ret) == -ENOMEM)
			goto no_memory;
	}
	drop_unnamed(ret);
	return 0;

no_memory:
	plt__done(ret);
	return -ENOMEM;
}

void plt__done(struct plt *plt)
{
	vec_done(&plt->stubs);
}
