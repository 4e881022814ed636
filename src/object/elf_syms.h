/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One symbol table of an ELF file, as it stands there: its entries in their order, its names.
 */
#ifndef EBOLT_OBJECT_ELF_SYMS_H
#define EBOLT_OBJECT_ELF_SYMS_H

#include "object/elf_file.h"

struct elf_syms {
	uint8_t *entries; /* Elf32_Sym or Elf64_Sym */
	size_t nr;
	bool is_64;
	size_t scn_index; /* of the table's section: what sh_link of a relocation section names */
	char *names;	  /* names_len bytes and a NUL behind them; NULL where there are none */
	size_t names_len;
};

/*
 * The first table of a type (SHT_SYMTAB, SHT_DYNSYM) and its string section.
 * 0, -ENOENT (there is none, or it is empty), or what elf_file__section_bytes() gives.
 */
int elf_syms__read(const struct elf_file *ef, uint32_t sh_type, struct elf_syms *ret);
void elf_syms__done(struct elf_syms *s);

/* i < nr. A name outside of the string section is "" (borrowed from names otherwise). */
void elf_syms__get(const struct elf_syms *s, size_t i, GElf_Sym *ret);
const char *elf_syms__name(const struct elf_syms *s, const GElf_Sym *sym);

#endif
