// SPDX-License-Identifier: GPL-2.0-or-later
#include "object/elf_syms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int elf_syms__read(const struct elf_file *ef, uint32_t sh_type, struct elf_syms *ret)
{
	struct elf_syms s = { .is_64 = elf_file__is_64(ef) };
	_cleanup_free_ uint8_t *entries = NULL;
	uint8_t *names;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file__section_by_type(ef, sh_type, &sh);
	size_t len;
	int err;

	if (!scn)
		return -ENOENT;
	err = elf_file__section_bytes(ef, scn, &entries, &len);
	if (err)
		return err;
	s.nr = len / (s.is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	s.scn_index = elf_ndxscn(scn);
	if (!s.nr)
		return -ENOENT;
	scn = sh.sh_link ? elf_getscn(elf_file__elf(ef), sh.sh_link) : NULL;
	if (!scn)
		return -EBADMSG;
	err = elf_file__section_bytes(ef, scn, &names, &s.names_len);
	if (err && err != -ENOENT)
		return err;
	s.names = err ? NULL : (char *)names;
	s.entries = steal_ptr(entries);
	*ret = s;
	return 0;
}

void elf_syms__done(struct elf_syms *s)
{
	free(s->entries);
	free(s->names);
	*s = (struct elf_syms){};
}

void elf_syms__get(const struct elf_syms *s, size_t i, GElf_Sym *ret)
{
	Elf32_Sym s32;

	if (s->is_64) {
		memcpy(ret, s->entries + i * sizeof(*ret), sizeof(*ret));
		return;
	}
	memcpy(&s32, s->entries + i * sizeof(s32), sizeof(s32));
	*ret = (GElf_Sym){
		.st_name = s32.st_name,
		.st_info = s32.st_info, /* the two classes' macros are the same */
		.st_other = s32.st_other,
		.st_shndx = s32.st_shndx,
		.st_value = s32.st_value,
		.st_size = s32.st_size,
	};
}

const char *elf_syms__name(const struct elf_syms *s, const GElf_Sym *sym)
{
	return sym->st_name < s->names_len ? s->names + sym->st_name : "";
}
