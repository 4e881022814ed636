// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "elf_builder.h"
#include "object/build_id.h"

static const uint8_t id20[20] = { 0xde, 0xad, 0xbe, 0xef, 5,  6,  7,  8,  9,  10,
				  11,	12,   13,   14,	  15, 16, 17, 18, 19, 20 };

/* Two segments, a note, some text. */
static struct elf_builder *plain(void)
{
	struct elf_builder *eb = elf_builder__new(EM_X86_64);
	int text = elf_builder__text(eb, ".text", 0x2000, 64);
	int note = elf_builder__build_id(eb, id20, sizeof(id20));

	elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 64 });
	elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_LOAD,
					    .p_flags = PF_R | PF_X,
					    .p_offset = eb->shdrs[text].sh_offset,
					    .p_vaddr = 0x2000,
					    .p_filesz = 64,
					    .p_memsz = 80 });
	elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_NOTE,
					    .p_offset = eb->shdrs[note].sh_offset,
					    .p_filesz = eb->shdrs[note].sh_size,
					    .p_align = 4 });
	elf_builder__finish(eb);
	return eb;
}

static void reads_headers(void **state)
{
	_cleanup_free_ struct elf_builder *eb = plain();
	struct elf_file *ef = elf_builder__open(eb);
	char hex[BUILD_ID_HEX_MAX];
	const struct elf_load *loads;
	GElf_Shdr sh;
	size_t nr;

	assert_int_equal(elf_file__machine(ef), EM_X86_64);
	assert_int_equal(elf_file__type(ef), ET_DYN);
	assert_true(elf_file__is_64(ef));
	assert_int_equal(elf_file__size(ef), eb->len);
	loads = elf_file__loads(ef, &nr);
	assert_int_equal(nr, 2);
	assert_false(loads[0].exec);
	assert_true(loads[1].exec);
	assert_int_equal(loads[1].vaddr, 0x2000);
	assert_int_equal(loads[1].filesz, 64);
	assert_int_equal(loads[1].memsz, 80);
	assert_string_equal(build_id__hex(elf_file__build_id(ef), hex),
			    "deadbeef05060708090a0b0c0d0e0f1011121314");
	assert_non_null(elf_file__section(ef, ".text", &sh));
	assert_int_equal(sh.sh_addr, 0x2000);
	assert_string_equal(elf_file__section_name(ef, &sh), ".text");
	assert_null(elf_file__section(ef, ".tex", &sh));
	assert_null(elf_file__section(ef, ".text2", &sh));
	assert_non_null(elf_file__section_by_type(ef, SHT_NOTE, &sh));
	assert_null(elf_file__section_by_type(ef, SHT_SYMTAB, &sh));
	elf_file__close(ef);
	elf_file__close(NULL);
}

static void finds_build_id_in_sections(void **state)
{
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct elf_file *ef;

	elf_builder__build_id(eb, id20, 8);
	elf_builder__finish(eb);
	ef = elf_builder__open(eb);
	assert_int_equal(elf_file__build_id(ef)->len, 8);
	assert_memory_equal(elf_file__build_id(ef)->bytes, id20, 8);
	elf_file__close(ef);
}

/* Behind a property note, whose parts are padded to 8. */
static void steps_over_other_notes(void **state)
{
	static const uint32_t notes[] = {
		4, 20, 5, 0x554e47, 1,		2,	    3, 4, 5, 0, /* 20 bytes, padded to 24 */
		4, 8,  3, 0x554e47, 0x03020100, 0x07060504,
	};
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct elf_file *ef;

	elf_builder__section(eb, ".note", (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_addralign = 8 },
			     notes, sizeof(notes));
	elf_builder__finish(eb);
	ef = elf_builder__open(eb);
	assert_int_equal(elf_file__build_id(ef)->len, 8);
	assert_memory_equal(elf_file__build_id(ef)->bytes, "\0\1\2\3\4\5\6\7", 8);
	elf_file__close(ef);
}

static void refuses_odd_build_ids(void **state)
{
	static const uint8_t longer[ELF_BUILD_ID_MAX + 1];
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	static const uint32_t overflowing[] = { 0xfffffffd, 0xffffffff, 3, 0x554e47, 0 };
	struct elf_file *ef;

	elf_builder__build_id(eb, longer, sizeof(longer));
	elf_builder__build_id(eb, "", 0);
	elf_builder__section(eb, ".note", (Elf64_Shdr){ .sh_type = SHT_NOTE }, overflowing,
			     sizeof(overflowing));
	elf_builder__finish(eb);
	ef = elf_builder__open(eb);
	assert_int_equal(elf_file__build_id(ef)->len, 0);
	elf_file__close(ef);
}

static void refuses_what_is_no_elf(void **state)
{
	_cleanup_free_ struct elf_builder *eb = plain();
	Elf64_Ehdr *eh = elf_builder__ehdr(eb), good = *eh;
	struct elf_file *ef;
	int pipes[2];

	assert_int_equal(elf_file__open_mem("", 0, &ef), -ENOEXEC);
	assert_int_equal(elf_file__open_mem("#!/bin/sh\n", 10, &ef), -ENOEXEC);
	eh->e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elf_file__open_mem(eb->bytes, eb->len, &ef), -ENOEXEC);
	*eh = good;
	eh->e_ident[EI_CLASS] = 3;
	assert_int_equal(elf_file__open_mem(eb->bytes, eb->len, &ef), -ENOEXEC);

	/* Of the other byte order, and right in that: zeros read the same. */
	*eh = (Elf64_Ehdr){};
	memcpy(eh->e_ident, good.e_ident, EI_NIDENT);
	assert_int_equal(elf_file__open_mem(eb->bytes, sizeof(*eh), &ef), 0);
	elf_file__close(ef);
	eh->e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elf_file__open_mem(eb->bytes, sizeof(*eh), &ef), -ENOEXEC);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(elf_file__open_fd(pipes[0], &ef), -ENOEXEC);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(elf_file__open_fd(-1, &ef), -EBADF);
}

static void refuses_huge_program_header_tables(void **state)
{
	_cleanup_free_ struct elf_builder *eb = plain();
	_cleanup_close_ int fd = memfd_create("elf", 0);
	Elf64_Ehdr *eh = elf_builder__ehdr(eb);
	struct elf_file *ef;

	/* In a sparse file that has room for so many. */
	eh->e_phnum = 0x4000;
	assert_int_equal(write(fd, eb->bytes, eb->len), eb->len);
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(elf_file__open_fd(fd, &ef), -ENOEXEC);
	eh->e_phnum = 1;
	eh->e_phoff = UINT64_MAX - 8;
	assert_int_equal(elf_file__open_mem(eb->bytes, eb->len, &ef), -ENOEXEC);
}

static void bad_section_table_counts_as_none(void **state)
{
	_cleanup_free_ struct elf_builder *eb = plain();
	Elf64_Ehdr *eh = elf_builder__ehdr(eb), good = *eh;
	struct elf_file *ef;
	GElf_Shdr sh;
	size_t nr;

	for (int bad = 0; bad < 5; bad++) {
		*eh = good;
		if (bad == 0) {
			eh->e_shoff = UINT64_MAX - 10;
		} else if (bad == 1) {
			eh->e_shnum = 0xfefe;
		} else if (bad == 2) { /* the count is in the first entry, and huge */
			eh->e_shnum = 0;
			elf_builder__shdr(eb, 0)->sh_size = 0xffffffff;
		} else if (bad == 3) {
			eh->e_shentsize = 1;
		} else {
			eh->e_shoff = 0;
		}
		ef = elf_builder__open(eb);
		assert_null(elf_file__section(ef, ".text", &sh));
		elf_file__loads(ef, &nr);
		assert_int_equal(nr, 2);
		assert_int_equal(elf_file__build_id(ef)->len, 20);
		elf_file__close(ef);
	}
	*eh = good;
	eh->e_shstrndx = 0xfff0; /* names can't be had, sections can */
	ef = elf_builder__open(eb);
	assert_null(elf_file__section(ef, ".text", &sh));
	assert_non_null(elf_file__section_by_type(ef, SHT_NOTE, &sh));
	elf_file__close(ef);
}

static void bounds_the_loads(void **state)
{
	_cleanup_free_ uint8_t *bytes = calloc(1, 64 + 257 * sizeof(Elf64_Phdr));
	_cleanup_free_ struct elf_builder *eb = plain();
	Elf64_Ehdr *eh = (Elf64_Ehdr *)bytes;
	struct elf_file *ef;
	size_t nr;

	*eh = *elf_builder__ehdr(eb);
	eh->e_shoff = 0;
	for (int i = 0; i < ELF_LOADS_MAX + 1; i++)
		((Elf64_Phdr *)(eh + 1))[i].p_type = PT_LOAD;
	eh->e_phnum = ELF_LOADS_MAX;
	assert_int_equal(elf_file__open_mem(bytes, 64 + 257 * sizeof(Elf64_Phdr), &ef), 0);
	elf_file__loads(ef, &nr);
	assert_int_equal(nr, ELF_LOADS_MAX);
	elf_file__close(ef);
	eh->e_phnum++;
	assert_int_equal(elf_file__open_mem(bytes, 64 + 257 * sizeof(Elf64_Phdr), &ef), -ENOEXEC);
}

/* Whatever can be had of a file, by name and bytes. */
static uint64_t digest(const struct elf_file *ef)
{
	uint64_t sum = elf_file__build_id(ef)->len;
	GElf_Shdr sh;
	size_t nr;

	elf_file__loads(ef, &nr);
	sum = sum * 31 + nr;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf_file__elf(ef), scn));) {
		uint8_t *bytes;
		size_t len;
		int err = elf_file__section_bytes(ef, scn, &bytes, &len);

		gelf_getshdr(scn, &sh);
		sum = sum * 31 + strlen(elf_file__section_name(ef, &sh));
		sum = sum * 31 + (err ? -err : (int)crc32(0, bytes, len));
		if (!err) {
			assert_int_equal(bytes[len], 0);
			free(bytes);
		}
	}
	return sum;
}

/* Cut at every byte, from memory (with no byte behind the end) and from a descriptor. */
static void survives_every_truncation(void **state)
{
	_cleanup_free_ struct elf_builder *eb = plain();
	_cleanup_close_ int fd = memfd_create("elf", 0);
	size_t opened = 0;

	assert_int_equal(write(fd, eb->bytes, eb->len), eb->len);
	for (size_t len = eb->len;; len--) {
		_cleanup_free_ uint8_t *exact = malloc(len ? len : 1);
		struct elf_file *mem, *file;
		int err;

		memcpy(exact, eb->bytes, len);
		assert_int_equal(ftruncate(fd, len), 0);
		err = elf_file__open_mem(exact, len, &mem);
		assert_int_equal(elf_file__open_fd(fd, &file), err);
		if (!err) {
			opened++;
			assert_int_equal(digest(mem), digest(file));
			elf_file__close(mem);
			elf_file__close(file);
		} else {
			assert_int_equal(err, -ENOEXEC);
		}
		if (!len)
			break;
	}
	/* The header and the program headers suffice. */
	assert_int_equal(opened, eb->len - (64 + 3 * sizeof(Elf64_Phdr)) + 1);
}

static void cut_short_while_open_is_an_error(void **state)
{
	_cleanup_free_ struct elf_builder *eb = plain();
	_cleanup_close_ int fd = memfd_create("elf", 0);
	struct elf_file *ef;
	uint8_t *bytes;
	GElf_Shdr sh;
	size_t len;

	assert_int_equal(write(fd, eb->bytes, eb->len), eb->len);
	assert_int_equal(elf_file__open_fd(fd, &ef), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(
		elf_file__section_bytes(ef, elf_file__section(ef, ".text", &sh), &bytes, &len),
		-EBADMSG);
	elf_file__close(ef);
}

static void checks_section_bounds(void **state)
{
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	_cleanup_close_ int fd = memfd_create("elf", 0);
	int a = elf_builder__text(eb, ".a", 0, 16), b = elf_builder__text(eb, ".b", 0, 16);
	int c = elf_builder__text(eb, ".c", 0, 16);
	struct elf_file *ef;
	uint8_t *bytes;
	size_t len;

	elf_builder__section(eb, ".bss", (Elf64_Shdr){ .sh_type = SHT_NOBITS }, NULL, 100);
	elf_builder__finish(eb);
	elf_builder__shdr(eb, a)->sh_offset = UINT64_MAX - 4;
	elf_builder__shdr(eb, b)->sh_size = UINT64_MAX - 4;
	elf_builder__shdr(eb, c)->sh_size = ELF_SECTION_MAX + 1;
	assert_int_equal(write(fd, eb->bytes, eb->len), eb->len);
	assert_int_equal(ftruncate(fd, 2 * ELF_SECTION_MAX), 0); /* sparse */
	assert_int_equal(elf_file__open_fd(fd, &ef), 0);
	assert_int_equal(
		elf_file__section_bytes(ef, elf_getscn(elf_file__elf(ef), a), &bytes, &len),
		-EBADMSG);
	assert_int_equal(
		elf_file__section_bytes(ef, elf_getscn(elf_file__elf(ef), b), &bytes, &len),
		-EBADMSG);
	assert_int_equal(
		elf_file__section_bytes(ef, elf_getscn(elf_file__elf(ef), c), &bytes, &len),
		-E2BIG);
	assert_int_equal(
		elf_file__section_bytes(ef, elf_getscn(elf_file__elf(ef), c + 1), &bytes, &len),
		-ENOENT);
	elf_file__close(ef);
}

/* A compressed section that claims a size. */
static int read_compressed(uint64_t claim, uint32_t type, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	uint8_t plain_bytes[5000], packed[sizeof(Elf64_Chdr) + 6000];
	Elf64_Chdr ch = { .ch_type = type, .ch_size = claim, .ch_addralign = 1 };
	Elf64_Shdr sh = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_COMPRESSED };
	uLongf packed_len = 6000;
	struct elf_file *ef;
	int i, err;

	for (i = 0; i < 5000; i++)
		plain_bytes[i] = i % 7;
	memcpy(packed, &ch, sizeof(ch));
	compress(packed + sizeof(ch), &packed_len, plain_bytes, sizeof(plain_bytes));
	i = elf_builder__section(eb, ".z", sh, packed, sizeof(ch) + packed_len);
	elf_builder__finish(eb);
	ef = elf_builder__open(eb);
	err = elf_file__section_bytes(ef, elf_getscn(elf_file__elf(ef), i), ret, ret_len);
	if (!err)
		assert_memory_equal(*ret, plain_bytes, sizeof(plain_bytes));
	elf_file__close(ef);
	return err;
}

static void decompresses(void **state)
{
	uint8_t *bytes;
	size_t len;

	assert_int_equal(read_compressed(5000, ELFCOMPRESS_ZLIB, &bytes, &len), 0);
	assert_int_equal(len, 5000);
	free(bytes);
	assert_int_equal(read_compressed(5001, ELFCOMPRESS_ZLIB, &bytes, &len), -EBADMSG);
	assert_int_equal(read_compressed(4999, ELFCOMPRESS_ZLIB, &bytes, &len), -EBADMSG);
	assert_int_equal(read_compressed(0, ELFCOMPRESS_ZLIB, &bytes, &len), -EBADMSG);
	assert_int_equal(read_compressed(ELF_SECTION_MAX, ELFCOMPRESS_ZLIB, &bytes, &len),
			 -EBADMSG);
	assert_int_equal(read_compressed(1ull << 40, ELFCOMPRESS_ZLIB, &bytes, &len), -E2BIG);
	assert_int_equal(read_compressed(5000, 2, &bytes, &len), -EBADMSG);
}

static struct elf_file *with_loads(struct elf_builder *eb, const struct elf_load *loads, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_LOAD,
						    .p_flags = PF_R | (loads[i].exec ? PF_X : 0),
						    .p_offset = loads[i].off,
						    .p_filesz = loads[i].filesz,
						    .p_vaddr = loads[i].vaddr,
						    .p_memsz = loads[i].memsz });
	elf_builder__finish(eb);
	return elf_builder__open(eb);
}

static void maps_offsets_by_the_segment(void **state)
{
	static const struct elf_load loads[] = {
		{ .off = 0, .filesz = 0x1800, .vaddr = 0, .exec = false },
		{ .off = 0x810, .filesz = 0x100, .vaddr = 0x1810, .memsz = 0x1000, .exec = true },
		{ .off = 0x2000, .filesz = 0x10, .vaddr = 0x400000, .exec = true },
		{ .off = UINT64_MAX - 7, .filesz = 8, .vaddr = 0x500000, .exec = true },
	};
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct elf_file *ef = with_loads(eb, loads, 4);
	uint64_t vaddr = 99;

	assert_int_equal(elf_file__off_to_vaddr(ef, 0x80f, NULL, 0, &vaddr), -ENOENT);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x910, NULL, 0, &vaddr), -ENOENT);
	assert_int_equal(vaddr, 99);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x810, NULL, 0, &vaddr), 0);
	assert_int_equal(vaddr, 0x1810);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x90f, NULL, 0, &vaddr), 0);
	assert_int_equal(vaddr, 0x190f);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x200f, NULL, 0, &vaddr), 0);
	assert_int_equal(vaddr, 0x40000f);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2010, NULL, 0, &vaddr), -ENOENT);
	assert_int_equal(elf_file__off_to_vaddr(ef, UINT64_MAX, NULL, 0, &vaddr), 0);
	assert_int_equal(vaddr, 0x500007);
	elf_file__close(ef);
}

/* [0x1000, 0x2f00) at 0x11000 and [0x2800, 0x5000) at 0x22800: both claim [0x2800, 0x2f00). */
static void decides_by_the_mapping(void **state)
{
	static const struct elf_load loads[] = {
		{ .off = 0x1000, .filesz = 0x1f00, .vaddr = 0x11000, .exec = true },
		{ .off = 0x2800, .filesz = 0x2800, .vaddr = 0x22800, .exec = true },
	};
	const uint64_t base = 0x7f0000000000;
	const struct elf_mapped first = { base + 0x11000, 0x2000, 0x1000 };
	const struct elf_mapped second = { base + 0x22000, 0x3000, 0x2000 };
	/* Of the second one, the part that could be either's. */
	const struct elf_mapped part[] = { { base + 0x22000, 0x1000, 0x2000 },
					   { base + 0x23000, 0x2000, 0x3000 } };
	const struct elf_mapped both[] = { first, second };
	const struct elf_mapped elsewhere = { 0x5500000000, 0x1000, 0x4000 };
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct elf_file *ef = with_loads(eb, loads, 2);
	uint64_t vaddr;

	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, NULL, 0, &vaddr), -ENOTUNIQ);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, &elsewhere, 1, &vaddr), -ENOTUNIQ);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, &first, 1, &vaddr), 0);
	assert_int_equal(vaddr, 0x12900);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, &second, 1, &vaddr), 0);
	assert_int_equal(vaddr, 0x22900);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, part, 1, &vaddr), -ENOTUNIQ);
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, part, 2, &vaddr), 0);
	assert_int_equal(vaddr, 0x22900);
	/* Both are mapped: of one that is seen in the other's part it is known which it is. */
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2900, both, 2, &vaddr), -ENOTUNIQ);
	assert_int_equal(elf_file__off_to_vaddr_in(ef, 0x2900, &first, both, 2, &vaddr), 0);
	assert_int_equal(vaddr, 0x12900);
	assert_int_equal(elf_file__off_to_vaddr_in(ef, 0x2900, &second, both, 2, &vaddr), 0);
	assert_int_equal(vaddr, 0x22900);
	/* The part that could be either's was moved as the rest of the second one. */
	assert_int_equal(elf_file__off_to_vaddr_in(ef, 0x2900, &part[0], NULL, 0, &vaddr),
			 -ENOTUNIQ);
	assert_int_equal(elf_file__off_to_vaddr_in(ef, 0x2900, &part[0], part, 2, &vaddr), 0);
	assert_int_equal(vaddr, 0x22900);
	/* Where only one claims it, mappings have no say. */
	assert_int_equal(elf_file__off_to_vaddr(ef, 0x27ff, &second, 1, &vaddr), 0);
	assert_int_equal(vaddr, 0x127ff);
	elf_file__close(ef);
}

static void segments_that_agree_are_no_question(void **state)
{
	static const struct elf_load loads[] = {
		{ .off = 0x1000, .filesz = 0x2000, .vaddr = 0x11000, .exec = true },
		{ .off = 0x2000, .filesz = 0x2000, .vaddr = 0x12000, .exec = true },
	};
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct elf_file *ef = with_loads(eb, loads, 2);
	uint64_t vaddr;

	assert_int_equal(elf_file__off_to_vaddr(ef, 0x2100, NULL, 0, &vaddr), 0);
	assert_int_equal(vaddr, 0x12100);
	elf_file__close(ef);
}

/* readelf's word on a real file: its program headers and build-id. */
static void agrees_with_readelf(void **state)
{
	_cleanup_close_ int fd = open("/bin/bash", O_RDONLY);
	_cleanup_free_ char *line = NULL;
	char hex[BUILD_ID_HEX_MAX], want_id[BUILD_ID_HEX_MAX] = "";
	struct elf_file *ef;
	const struct elf_load *loads;
	size_t nr, i = 0, cap = 0;
	FILE *f;

	if (fd < 0 || access("/usr/bin/readelf", X_OK)) {
		print_message("no /bin/bash or no readelf\n");
		skip();
	}
	assert_int_equal(elf_file__open_fd(fd, &ef), 0);
	loads = elf_file__loads(ef, &nr);
	f = popen("readelf -lnW /bin/bash", "r");
	while (getline(&line, &cap, f) > 0) {
		uint64_t off, vaddr, filesz, memsz;

		const char *id = strstr(line, "Build ID: ");

		if (id && sscanf(id, "Build ID: %128[0-9a-f]", want_id) == 1)
			continue;
		if (sscanf(line, " LOAD %lx %lx %*x %lx %lx", &off, &vaddr, &filesz, &memsz) != 4)
			continue;
		assert_true(i < nr);
		assert_int_equal(loads[i].off, off);
		assert_int_equal(loads[i].vaddr, vaddr);
		assert_int_equal(loads[i].filesz, filesz);
		assert_int_equal(loads[i].memsz, memsz);
		assert_int_equal(loads[i].exec, strstr(line, "R E") != NULL);
		i++;
	}
	pclose(f);
	assert_int_equal(i, nr);
	assert_string_equal(build_id__hex(elf_file__build_id(ef), hex), want_id);
	elf_file__close(ef);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_headers),
		cmocka_unit_test(finds_build_id_in_sections),
		cmocka_unit_test(steps_over_other_notes),
		cmocka_unit_test(refuses_odd_build_ids),
		cmocka_unit_test(refuses_what_is_no_elf),
		cmocka_unit_test(refuses_huge_program_header_tables),
		cmocka_unit_test(bad_section_table_counts_as_none),
		cmocka_unit_test(bounds_the_loads),
		cmocka_unit_test(survives_every_truncation),
		cmocka_unit_test(cut_short_while_open_is_an_error),
		cmocka_unit_test(checks_section_bounds),
		cmocka_unit_test(decompresses),
		cmocka_unit_test(maps_offsets_by_the_segment),
		cmocka_unit_test(decides_by_the_mapping),
		cmocka_unit_test(segments_that_agree_are_no_question),
		cmocka_unit_test(agrees_with_readelf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
