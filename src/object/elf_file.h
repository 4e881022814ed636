/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file as far as a profiler needs it: segments, sections by purpose, identity.
 *
 * Files are hostile: every offset, count and size is checked against the file before use, and
 * what is read at once is bounded (ELF_SECTION_MAX). Files are read by pread, never mapped: a
 * file cut short by its owner then gives an error, not SIGBUS.
 *
 * The header tables are read once and kept; libelf decodes that copy and never sees the file, so
 * nothing that was checked can change afterwards. A section table that is no good (outside the
 * file, more than 65,279 entries) counts as none: the segments still serve.
 */
#ifndef EBOLT_OBJECT_ELF_FILE_H
#define EBOLT_OBJECT_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#define ELF_BUILD_ID_MAX 64	      /* longest accepted; 8, 16 and 20 bytes are in use */
#define ELF_LOADS_MAX	 256	      /* PT_LOADs */
#define ELF_SECTION_MAX	 (1ull << 30) /* bytes of one section, decompressed */

struct build_id {
	uint8_t len; /* 0: none */
	uint8_t bytes[ELF_BUILD_ID_MAX];
};

/* A PT_LOAD program header. */
struct elf_load {
	uint64_t off, filesz; /* p_offset, p_filesz */
	uint64_t vaddr, memsz;
	bool exec; /* PF_X */
};

/* A mapping of the file that was seen: decides between two segments that claim one offset. */
struct elf_mapped {
	uint64_t start;	     /* address of the mapping */
	uint64_t len, pgoff; /* bytes */
};

struct elf_file;

/*
 * Opens a regular file (the descriptor is borrowed and must stay open as long as the elf_file),
 * or bytes in memory (borrowed likewise). 0, or a negative errno; -ENOEXEC: not an ELF file that
 * we can read.
 */
int elf_file__open_fd(int fd, struct elf_file **ret);
int elf_file__open_mem(const void *bytes, size_t len, struct elf_file **ret);
void elf_file__close(struct elf_file *ef);

uint16_t elf_file__machine(const struct elf_file *ef); /* EM_* */
uint16_t elf_file__type(const struct elf_file *ef);    /* ET_* */
bool elf_file__is_64(const struct elf_file *ef);
uint64_t elf_file__size(const struct elf_file *ef); /* bytes, when it was opened */

/*
 * The headers, for elf_nextscn(), elf_getscn(), gelf_getshdr(), gelf_getphdr() and the like.
 * There are no section contents behind it (elf_getdata() and elf_strptr() fail): those are had by
 * elf_file__section_bytes() and elf_file__section_name().
 */
Elf *elf_file__elf(const struct elf_file *ef);

const struct elf_load *elf_file__loads(const struct elf_file *ef, size_t *ret_nr);

/* From PT_NOTE, else SHT_NOTE; len 0 where there is none. Never NULL. */
const struct build_id *elf_file__build_id(const struct elf_file *ef);

/*
 * The exact step from a file offset to the address that the file states: the executable PT_LOAD
 * with p_offset <= off < p_offset + p_filesz gives vaddr = off - p_offset + p_vaddr.
 *
 * Where two executable PT_LOADs claim the offset and disagree, those are kept whose page-rounded
 * range contains `own`, the mapping that the offset was seen in; of these, those that give it the
 * load bias that another one of `mapped` has. If own is NULL, one of the `mapped` mappings that
 * hold `off` has to do (mapped may be NULL). 0; -ENOENT: no executable segment holds it; -ENOTUNIQ:
 * more than one still does.
 */
int elf_file__off_to_vaddr_in(const struct elf_file *ef, uint64_t off, const struct elf_mapped *own,
			      const struct elf_mapped *mapped, size_t nr_mapped,
			      uint64_t *ret_vaddr);

/* The same where the mapping isn't known. */
int elf_file__off_to_vaddr(const struct elf_file *ef, uint64_t off, const struct elf_mapped *mapped,
			   size_t nr_mapped, uint64_t *ret_vaddr);

/* Bytes at a file offset. 0, -EBADMSG (not all inside the file) or that of the read. */
int elf_file__read(const struct elf_file *ef, uint64_t off, void *bytes, size_t len);

/* A section by name or by sh_type (the first one), or NULL. */
Elf_Scn *elf_file__section(const struct elf_file *ef, const char *name, GElf_Shdr *ret_shdr);
Elf_Scn *elf_file__section_by_type(const struct elf_file *ef, uint32_t type, GElf_Shdr *ret_shdr);

/* Borrowed from the elf_file; "" where it has none. */
const char *elf_file__section_name(const struct elf_file *ef, const GElf_Shdr *shdr);

/*
 * A section's bytes, decompressed (SHF_COMPRESSED by zlib; .zdebug is not). Allocated, for the
 * caller to free, and followed by a NUL that isn't counted. 0, -ENOENT (no bytes: SHT_NOBITS or
 * empty), -E2BIG (over ELF_SECTION_MAX), -EBADMSG (outside the file, or bad compression), -ENOMEM.
 */
int elf_file__section_bytes(const struct elf_file *ef, Elf_Scn *scn, uint8_t **ret,
			    size_t *ret_len);

#endif
