// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libelf is asked only about headers. It would believe a hostile file in two ways that hurt: it
 * allocates by the counts that a header states, and it reads a descriptor again and again, while
 * the file's owner may be writing to it. So we read the ELF header, the program headers and the
 * section headers ourselves, once, check them, and lay them out behind one another in memory, the
 * header's offsets patched to match:
 *
 *	ELF header | program headers | section headers
 *
 * That image is what libelf decodes (both classes, one set of structs). Contents are read from
 * the file by elf_file__read() alone, which knows the bounds; it serves a descriptor and bytes in
 * memory alike.
 *
 * Files of the other byte order can't run on this machine and are not read.
 */
#include "object/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "object/build_id.h"

/* The kernel's own limit for what it executes (fs/binfmt_elf.c: load_elf_phdrs()). */
#define PHDRS_BYTES_MAX (64u << 10)
/* Section names; clang -ffunction-sections objects have a few MB, linked files a few hundred. */
#define SECTION_NAMES_MAX (4u << 20)
/* deflate can't do better (zlib.net/zlib_tech.html), so a larger claim is a lie. */
#define ZLIB_RATIO_MAX 1032

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct elf_file {
	int fd;		    /* -1: in memory */
	const uint8_t *mem; /* borrowed */
	uint64_t size;
	uint8_t *image; /* the header tables, under libelf */
	Elf *elf;
	GElf_Ehdr ehdr;
	VEC(struct elf_load) loads;
	struct build_id build_id;
	uint8_t *names; /* .shstrtab, or NULL */
	size_t names_len;
};

/* What the ELF header says of its tables, for both classes. */
struct tables {
	size_t ehdr_size;
	uint64_t phoff, shoff;
	size_t phdrs_size, shdrs_size; /* bytes; 0: none */
};

union ehdr {
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr e32;
	Elf64_Ehdr e64;
};

int elf_file__read(const struct elf_file *ef, uint64_t off, void *bytes, size_t len)
{
	uint8_t *dst = bytes;

	if (off > ef->size || len > ef->size - off)
		return -EBADMSG;
	if (ef->mem) {
		memcpy(dst, ef->mem + off, len);
		return 0;
	}
	while (len) {
		ssize_t n = pread(ef->fd, dst, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EBADMSG; /* cut short since it was opened */
		dst += n;
		off += n;
		len -= n;
	}
	return 0;
}

static bool inside_file(const struct elf_file *ef, uint64_t off, uint64_t len)
{
	return off <= ef->size && len <= ef->size - off;
}

/* Checks what the header says of one class. E: Elf32 or Elf64; h: its header. */
#define TABLES_OF(E, h)                                                           \
	({                                                                        \
		struct tables __t = { .ehdr_size = sizeof(*(h)),                  \
				      .phoff = (h)->e_phoff,                      \
				      .shoff = (h)->e_shoff };                    \
		if ((h)->e_phnum && (h)->e_phentsize == sizeof(E##_Phdr))         \
			__t.phdrs_size = (size_t)(h)->e_phnum * sizeof(E##_Phdr); \
		else                                                              \
			(h)->e_phnum = 0;                                         \
		if ((h)->e_shoff && (h)->e_shnum < SHN_LORESERVE &&               \
		    (h)->e_shentsize == sizeof(E##_Shdr))                         \
			__t.shdrs_size = (size_t)(h)->e_shnum * sizeof(E##_Shdr); \
		__t;                                                              \
	})

/* The header's offsets, as they are in the image. */
#define PATCH(h, t)                                                                    \
	do {                                                                           \
		(h)->e_phoff = (t)->phdrs_size ? (t)->ehdr_size : 0;                   \
		(h)->e_shoff = (t)->shdrs_size ? (t)->ehdr_size + (t)->phdrs_size : 0; \
		if (!(t)->shdrs_size)                                                  \
			(h)->e_shnum = (h)->e_shstrndx = 0;                            \
	} while (0)

static int read_ehdr(const struct elf_file *ef, union ehdr *eh, struct tables *ret)
{
	size_t len = ef->size < sizeof(*eh) ? ef->size : sizeof(*eh);
	bool is_64;

	/* In one read: it must not be of one class when it is checked, of the other when used. */
	if (elf_file__read(ef, 0, eh, len) || len < sizeof(eh->e32) ||
	    memcmp(eh->ident, ELFMAG, SELFMAG) || eh->ident[EI_DATA] != NATIVE_DATA ||
	    eh->ident[EI_VERSION] != EV_CURRENT)
		return -ENOEXEC;
	is_64 = eh->ident[EI_CLASS] == ELFCLASS64;
	if (is_64 ? len < sizeof(eh->e64) : eh->ident[EI_CLASS] != ELFCLASS32)
		return -ENOEXEC;
	*ret = is_64 ? TABLES_OF(Elf64, &eh->e64) : TABLES_OF(Elf32, &eh->e32);
	if (ret->phdrs_size > PHDRS_BYTES_MAX ||
	    (ret->phdrs_size && !inside_file(ef, ret->phoff, ret->phdrs_size)))
		return -ENOEXEC;
	if (!inside_file(ef, ret->shoff, ret->shdrs_size))
		ret->shdrs_size = 0;
	/* Of an empty table the offset may be anything. */
	if (!ret->phdrs_size)
		ret->phoff = 0;
	if (!ret->shdrs_size)
		ret->shoff = 0;
	if (is_64)
		PATCH(&eh->e64, ret);
	else
		PATCH(&eh->e32, ret);
	return 0;
}

static int read_headers(struct elf_file *ef)
{
	struct tables t;
	union ehdr eh = {};
	uint8_t *pos;
	size_t size;
	int err = read_ehdr(ef, &eh, &t);

	if (err)
		return err;
	size = t.ehdr_size + t.phdrs_size + t.shdrs_size;
	ef->image = pos = malloc(size);
	if (!pos)
		return -ENOMEM;
	memcpy(pos, &eh, t.ehdr_size);
	pos += t.ehdr_size;
	err = elf_file__read(ef, t.phoff, pos, t.phdrs_size);
	if (!err)
		err = elf_file__read(ef, t.shoff, pos + t.phdrs_size, t.shdrs_size);
	if (err)
		return err == -EBADMSG ? -ENOEXEC : err;
	elf_version(EV_CURRENT);
	ef->elf = elf_memory((char *)ef->image, size);
	if (!ef->elf || elf_kind(ef->elf) != ELF_K_ELF || !gelf_getehdr(ef->elf, &ef->ehdr))
		return -ENOEXEC;
	return 0;
}

static int read_loads(struct elf_file *ef)
{
	vec_init(&ef->loads, ELF_LOADS_MAX);
	for (int i = 0; i < ef->ehdr.e_phnum; i++) {
		GElf_Phdr ph;
		int err;

		if (!gelf_getphdr(ef->elf, i, &ph))
			return -ENOEXEC;
		if (ph.p_type != PT_LOAD)
			continue;
		err = vec_push(&ef->loads, (struct elf_load){ .off = ph.p_offset,
							      .filesz = ph.p_filesz,
							      .vaddr = ph.p_vaddr,
							      .memsz = ph.p_memsz,
							      .exec = ph.p_flags & PF_X });
		if (err)
			return err == -E2BIG ? -ENOEXEC : err;
	}
	return 0;
}

/* Without names sections can't be found by name; all else works, so only -ENOMEM is an error. */
static int read_section_names(struct elf_file *ef)
{
	Elf_Scn *scn = ef->ehdr.e_shstrndx ? elf_getscn(ef->elf, ef->ehdr.e_shstrndx) : NULL;
	GElf_Shdr sh;
	int err;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_size > SECTION_NAMES_MAX ||
	    sh.sh_flags & SHF_COMPRESSED)
		return 0;
	err = elf_file__section_bytes(ef, scn, &ef->names, &ef->names_len);
	return err == -ENOMEM ? err : 0;
}

static int open_common(int fd, const void *bytes, uint64_t size, struct elf_file **ret)
{
	struct elf_file *ef = calloc(1, sizeof(*ef));
	int err;

	if (!ef)
		return -ENOMEM;
	ef->fd = fd;
	ef->mem = bytes;
	ef->size = size;
	err = read_headers(ef);
	if (!err)
		err = read_loads(ef);
	if (!err)
		err = read_section_names(ef);
	if (!err)
		err = build_id__read(ef, &ef->build_id);
	if (err) {
		elf_file__close(ef);
		return err;
	}
	*ret = ef;
	return 0;
}

int elf_file__open_fd(int fd, struct elf_file **ret)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	return open_common(fd, NULL, st.st_size, ret);
}

int elf_file__open_mem(const void *bytes, size_t len, struct elf_file **ret)
{
	if (!len)
		return -ENOEXEC;
	return open_common(-1, bytes, len, ret);
}

void elf_file__close(struct elf_file *ef)
{
	if (!ef)
		return;
	elf_end(ef->elf);
	free(ef->image);
	free(ef->names);
	vec_done(&ef->loads);
	free(ef);
}

uint16_t elf_file__machine(const struct elf_file *ef)
{
	return ef->ehdr.e_machine;
}

uint16_t elf_file__type(const struct elf_file *ef)
{
	return ef->ehdr.e_type;
}

bool elf_file__is_64(const struct elf_file *ef)
{
	return ef->ehdr.e_ident[EI_CLASS] == ELFCLASS64;
}

uint64_t elf_file__size(const struct elf_file *ef)
{
	return ef->size;
}

Elf *elf_file__elf(const struct elf_file *ef)
{
	return ef->elf;
}

const struct elf_load *elf_file__loads(const struct elf_file *ef, size_t *ret_nr)
{
	*ret_nr = ef->loads.len;
	return ef->loads.data;
}

const struct build_id *elf_file__build_id(const struct elf_file *ef)
{
	return &ef->build_id;
}

const char *elf_file__section_name(const struct elf_file *ef, const GElf_Shdr *shdr)
{
	/* section_bytes() put a NUL behind the last name. */
	return shdr->sh_name < ef->names_len ? (const char *)ef->names + shdr->sh_name : "";
}

Elf_Scn *elf_file__section(const struct elf_file *ef, const char *name, GElf_Shdr *ret_shdr)
{
	GElf_Shdr sh;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(ef->elf, scn));) {
		if (!gelf_getshdr(scn, &sh) || strcmp(elf_file__section_name(ef, &sh), name))
			continue;
		*ret_shdr = sh;
		return scn;
	}
	return NULL;
}

Elf_Scn *elf_file__section_by_type(const struct elf_file *ef, uint32_t type, GElf_Shdr *ret_shdr)
{
	GElf_Shdr sh;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(ef->elf, scn));) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		*ret_shdr = sh;
		return scn;
	}
	return NULL;
}

/* The bytes of a SHF_COMPRESSED section: an Elf32_Chdr or Elf64_Chdr, then a zlib stream. */
static int decompress(const struct elf_file *ef, const uint8_t *in, size_t in_len, uint8_t **ret,
		      size_t *ret_len)
{
	_cleanup_free_ uint8_t *out = NULL;
	Elf64_Chdr ch = {};
	Elf32_Chdr ch32;
	size_t skip = elf_file__is_64(ef) ? sizeof(ch) : sizeof(ch32);
	uLongf out_len;

	if (in_len <= skip)
		return -EBADMSG;
	if (elf_file__is_64(ef)) {
		memcpy(&ch, in, sizeof(ch));
	} else {
		memcpy(&ch32, in, sizeof(ch32));
		ch.ch_type = ch32.ch_type;
		ch.ch_size = ch32.ch_size;
	}
	if (ch.ch_size > ELF_SECTION_MAX)
		return -E2BIG;
	if (ch.ch_type != ELFCOMPRESS_ZLIB || !ch.ch_size ||
	    ch.ch_size / ZLIB_RATIO_MAX > in_len - skip)
		return -EBADMSG;
	out = malloc(ch.ch_size + 1);
	if (!out)
		return -ENOMEM;
	out_len = ch.ch_size;
	if (uncompress(out, &out_len, in + skip, in_len - skip) != Z_OK || out_len != ch.ch_size)
		return -EBADMSG;
	out[out_len] = '\0';
	*ret = steal_ptr(out);
	*ret_len = out_len;
	return 0;
}

int elf_file__section_bytes(const struct elf_file *ef, Elf_Scn *scn, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	GElf_Shdr sh;
	int err;

	if (!gelf_getshdr(scn, &sh))
		return -EBADMSG;
	if (sh.sh_type == SHT_NOBITS || sh.sh_type == SHT_NULL || !sh.sh_size)
		return -ENOENT;
	if (!inside_file(ef, sh.sh_offset, sh.sh_size))
		return -EBADMSG;
	if (sh.sh_size > ELF_SECTION_MAX)
		return -E2BIG;
	bytes = malloc(sh.sh_size + 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file__read(ef, sh.sh_offset, bytes, sh.sh_size);
	if (err)
		return err;
	if (sh.sh_flags & SHF_COMPRESSED)
		return decompress(ef, bytes, sh.sh_size, ret, ret_len);
	bytes[sh.sh_size] = '\0';
	*ret = steal_ptr(bytes);
	*ret_len = sh.sh_size;
	return 0;
}
