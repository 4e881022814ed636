/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lays out small 64-bit ELF files in memory, also ones that no linker would write. What is
 * built may be spoilt afterwards through elf_builder__ehdr() and elf_builder__shdr().
 */
#ifndef EBOLT_TESTS_ELF_BUILDER_H
#define EBOLT_TESTS_ELF_BUILDER_H

#include <elf.h>
#include <string.h>

#include "object/elf_file.h"
#include "unit.h"

#define EB_BYTES    (256 * 1024)
#define EB_SECTIONS 32
#define EB_PHDRS    16

struct elf_builder {
	_Alignas(8) uint8_t bytes[EB_BYTES];
	size_t len;
	Elf64_Phdr phdrs[EB_PHDRS];
	int nr_phdrs;
	Elf64_Shdr shdrs[EB_SECTIONS];
	int nr_shdrs;
	char names[1024];
	size_t names_len;
};

/* A symbol; type and bind are STT_* and STB_*. */
struct eb_sym {
	const char *name;
	uint64_t value, size;
	int type, bind, shndx;
};

static inline struct elf_builder *elf_builder__new(uint16_t machine)
{
	struct elf_builder *eb = calloc(1, sizeof(*eb));
	Elf64_Ehdr *eh = (Elf64_Ehdr *)eb->bytes;

	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_ident[EI_VERSION] = EV_CURRENT;
	eh->e_type = ET_DYN;
	eh->e_machine = machine;
	eh->e_version = EV_CURRENT;
	eh->e_ehsize = sizeof(*eh);
	eh->e_phoff = sizeof(*eh);
	eh->e_phentsize = sizeof(Elf64_Phdr);
	eh->e_shentsize = sizeof(Elf64_Shdr);
	eb->len = sizeof(*eh) + sizeof(eb->phdrs);
	eb->nr_shdrs = 1;
	eb->names_len = 1;
	return eb;
}

static inline Elf64_Ehdr *elf_builder__ehdr(struct elf_builder *eb)
{
	return (Elf64_Ehdr *)eb->bytes;
}

/* Bytes at the end of the file, aligned to 8; their offset. */
static inline uint64_t elf_builder__append(struct elf_builder *eb, const void *bytes, size_t len)
{
	uint64_t off = (eb->len + 7) & ~7ull;

	assert_true(off + len <= EB_BYTES);
	if (bytes)
		memcpy(eb->bytes + off, bytes, len);
	eb->len = off + len;
	return off;
}

static inline void elf_builder__phdr(struct elf_builder *eb, Elf64_Phdr ph)
{
	assert_true(eb->nr_phdrs < EB_PHDRS);
	eb->phdrs[eb->nr_phdrs++] = ph;
}

/* Appends contents and a header for them; its index. bytes NULL: zeros. */
static inline int elf_builder__section(struct elf_builder *eb, const char *name, Elf64_Shdr sh,
				       const void *bytes, size_t len)
{
	size_t name_len = strlen(name) + 1;

	assert_true(eb->nr_shdrs < EB_SECTIONS && eb->names_len + name_len < sizeof(eb->names));
	sh.sh_name = eb->names_len;
	memcpy(eb->names + eb->names_len, name, name_len);
	eb->names_len += name_len;
	sh.sh_offset = sh.sh_type == SHT_NOBITS ? eb->len : elf_builder__append(eb, bytes, len);
	sh.sh_size = len;
	eb->shdrs[eb->nr_shdrs] = sh;
	return eb->nr_shdrs++;
}

/* An executable section at an address, full of nops. */
static inline int elf_builder__text(struct elf_builder *eb, const char *name, uint64_t addr,
				    size_t len)
{
	Elf64_Shdr sh = { .sh_type = SHT_PROGBITS,
			  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			  .sh_addr = addr };
	int i = elf_builder__section(eb, name, sh, NULL, len);

	memset(eb->bytes + eb->shdrs[i].sh_offset, 0x90, len);
	return i;
}

/* A string section and a symbol table (SHT_SYMTAB or SHT_DYNSYM); the table's index. */
static inline int elf_builder__symbols(struct elf_builder *eb, uint32_t type,
				       const struct eb_sym *syms, size_t nr)
{
	Elf64_Sym *table = calloc(nr + 1, sizeof(*table));
	Elf64_Shdr sh = { .sh_type = type, .sh_entsize = sizeof(*table) };
	size_t len = 1, at = 1;
	char *strings;

	for (size_t i = 0; i < nr; i++)
		len += strlen(syms[i].name) + 1;
	strings = calloc(1, len);
	for (size_t i = 0; i < nr; i++) {
		table[i + 1] = (Elf64_Sym){ .st_name = at,
					    .st_value = syms[i].value,
					    .st_size = syms[i].size,
					    .st_info = ELF64_ST_INFO(syms[i].bind, syms[i].type),
					    .st_shndx = syms[i].shndx };
		strcpy(strings + at, syms[i].name);
		at += strlen(syms[i].name) + 1;
	}
	sh.sh_link = elf_builder__section(eb, type == SHT_SYMTAB ? ".strtab" : ".dynstr",
					  (Elf64_Shdr){ .sh_type = SHT_STRTAB }, strings, len);
	sh.sh_link = elf_builder__section(eb, type == SHT_SYMTAB ? ".symtab" : ".dynsym", sh, table,
					  (nr + 1) * sizeof(*table));
	free(strings);
	free(table);
	return sh.sh_link;
}

/* A note section with a build-id. */
static inline int elf_builder__build_id(struct elf_builder *eb, const void *id, uint32_t len)
{
	uint8_t note[256] = {};
	const Elf64_Nhdr nh = { .n_namesz = 4, .n_descsz = len, .n_type = NT_GNU_BUILD_ID };
	Elf64_Shdr sh = { .sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_addralign = 4 };

	memcpy(note, &nh, sizeof(nh));
	memcpy(note + sizeof(nh), "GNU", 4);
	memcpy(note + sizeof(nh) + 4, id, len);
	return elf_builder__section(eb, ".note.gnu.build-id", sh, note,
				    sizeof(nh) + 4 + ((len + 3) & ~3u));
}

/* Puts the tables in place. Once, when all else is there. */
static inline void elf_builder__finish(struct elf_builder *eb)
{
	Elf64_Ehdr *eh = elf_builder__ehdr(eb);

	eh->e_shstrndx = elf_builder__section(
		eb, ".shstrtab", (Elf64_Shdr){ .sh_type = SHT_STRTAB }, NULL, sizeof(eb->names));
	memcpy(eb->bytes + eb->shdrs[eh->e_shstrndx].sh_offset, eb->names, sizeof(eb->names));
	eh->e_phnum = eb->nr_phdrs;
	memcpy(eb->bytes + eh->e_phoff, eb->phdrs, sizeof(eb->phdrs));
	eh->e_shnum = eb->nr_shdrs;
	eh->e_shoff = elf_builder__append(eb, eb->shdrs, eb->nr_shdrs * sizeof(eb->shdrs[0]));
}

/* A section's header in the finished file. */
static inline Elf64_Shdr *elf_builder__shdr(struct elf_builder *eb, int i)
{
	return (Elf64_Shdr *)(eb->bytes + elf_builder__ehdr(eb)->e_shoff) + i;
}

static inline struct elf_file *elf_builder__open(struct elf_builder *eb)
{
	struct elf_file *ef;

	assert_int_equal(elf_file__open_mem(eb->bytes, eb->len, &ef), 0);
	return ef;
}

#endif
