// SPDX-License-Identifier: GPL-2.0-or-later
#include "object/build_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"

/* Notes are small; of larger ones the beginning is read, where linkers put the build-id. */
#define NOTE_BYTES_MAX (64u << 10)
/* Segments and sections of notes that are looked at. */
#define NOTES_MAX 64

/*
 * A note is {namesz, descsz, type} in 32 bits each in both classes, the name, the descriptor; the
 * descriptor and the next note start at multiples of the alignment: 8 where the segment says so
 * (gABI; .note.gnu.property), else 4.
 */
static bool find_in_notes(const uint8_t *bytes, size_t len, uint64_t align, struct build_id *ret)
{
	struct cursor c = cursor__over(bytes, len);
	uint64_t mask = align == 8 ? 7 : 3;

	while (cursor__left(&c) >= sizeof(GElf_Nhdr)) {
		uint64_t namesz = cursor__u32(&c), descsz = cursor__u32(&c);
		uint32_t type = cursor__u32(&c);
		uint64_t desc_at = (sizeof(GElf_Nhdr) + namesz + mask) & ~mask;
		const char *name = cursor__bytes(&c, desc_at - sizeof(GElf_Nhdr));
		const void *desc = cursor__bytes(&c, descsz);

		if (c.bad)
			return false;
		if (type == NT_GNU_BUILD_ID && namesz == sizeof(ELF_NOTE_GNU) && descsz &&
		    descsz <= ELF_BUILD_ID_MAX && !memcmp(name, ELF_NOTE_GNU, namesz)) {
			ret->len = descsz;
			memcpy(ret->bytes, desc, descsz);
			return true;
		}
		/* The padding after the last one may be missing, which ends the loop as well. */
		cursor__skip(&c, ((descsz + mask) & ~mask) - descsz);
	}
	return false;
}

/* 1: found; 0: not there; -ENOMEM. */
static int find_at(const struct elf_file *ef, uint64_t off, uint64_t size, uint64_t align,
		   struct build_id *ret)
{
	size_t len = size < NOTE_BYTES_MAX ? size : NOTE_BYTES_MAX;
	_cleanup_free_ uint8_t *bytes = NULL;

	if (!len)
		return 0;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	if (elf_file__read(ef, off, bytes, len))
		return 0;
	return find_in_notes(bytes, len, align, ret);
}

int build_id__read(const struct elf_file *ef, struct build_id *ret)
{
	Elf *elf = elf_file__elf(ef);
	int found = 0, budget = NOTES_MAX;
	GElf_Phdr ph;
	GElf_Shdr sh;

	for (int i = 0; !found && budget && gelf_getphdr(elf, i, &ph); i++) {
		if (ph.p_type != PT_NOTE)
			continue;
		found = find_at(ef, ph.p_offset, ph.p_filesz, ph.p_align, ret);
		budget--;
	}
	budget = NOTES_MAX;
	for (Elf_Scn *scn = NULL; !found && budget && (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE)
			continue;
		found = find_at(ef, sh.sh_offset, sh.sh_size, sh.sh_addralign, ret);
		budget--;
	}
	return found < 0 ? found : 0;
}

bool build_id__equal(const struct build_id *a, const struct build_id *b)
{
	return a->len && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

char *build_id__hex(const struct build_id *id, char ret[BUILD_ID_HEX_MAX])
{
	for (int i = 0; i < id->len; i++)
		snprintf(ret + 2 * i, 3, "%02x", id->bytes[i]);
	ret[2 * id->len] = '\0';
	return ret;
}
