// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "elf_builder.h"
#include "object/debug_file.h"
#include "object/symtab.h"

static const uint8_t id[8] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
static const struct eb_sym hidden = { "hidden", 0x1000, 0x10, STT_FUNC, STB_LOCAL, 1 };
static const struct eb_sym exported = { "exported", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, 1 };

/* A directory of its own for each test, with bin/, bin/.debug/ and root/. */
struct tree {
	char dir[64], binary[128], root[128], link_dir[256];
};

static int make_tree(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char command[512];

	strcpy(t->dir, "/tmp/ebolt-test-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->binary, sizeof(t->binary), "%s/bin/program", t->dir);
	snprintf(t->root, sizeof(t->root), "%s/root", t->dir);
	snprintf(t->link_dir, sizeof(t->link_dir), "%s%s/bin", t->root, t->dir);
	snprintf(command, sizeof(command), "mkdir -p %s/bin/.debug %s/.build-id/ab %s", t->dir,
		 t->root, t->link_dir);
	*state = t;
	return system(command);
}

static int remove_tree(void **state)
{
	struct tree *t = *state;
	char command[128];
	int err;

	snprintf(command, sizeof(command), "rm -r %s", t->dir);
	err = system(command);
	free(t);
	return err;
}

/* What a debug file is: section headers without contents, and .symtab. */
static struct elf_builder *debug_image(const uint8_t *build_id)
{
	struct elf_builder *eb = elf_builder__new(EM_X86_64);

	elf_builder__section(eb, ".text",
			     (Elf64_Shdr){ .sh_type = SHT_NOBITS,
					   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					   .sh_addr = 0x1000 },
			     NULL, 0x1000);
	elf_builder__symbols(eb, SHT_SYMTAB, &hidden, 1);
	if (build_id)
		elf_builder__build_id(eb, build_id, sizeof(id));
	elf_builder__finish(eb);
	return eb;
}

static void write_file(const struct elf_builder *eb, const char *fmt, const char *dir)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[512];

	snprintf(path, sizeof(path), fmt, dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(eb->bytes, 1, eb->len, f), eb->len);
}

/* A stripped file: .dynsym, a build-id and a debuglink, each if given. */
static struct elf_builder *stripped(bool with_id, const char *link, uint32_t crc)
{
	struct elf_builder *eb = elf_builder__new(EM_X86_64);
	char contents[512] = {};

	elf_builder__text(eb, ".text", 0x1000, 0x1000);
	elf_builder__symbols(eb, SHT_DYNSYM, &exported, 1);
	if (with_id)
		elf_builder__build_id(eb, id, sizeof(id));
	if (link) {
		size_t crc_at = (strlen(link) + 4) & ~3ul;

		strcpy(contents, link);
		memcpy(contents + crc_at, &crc, 4);
		elf_builder__section(eb, ".gnu_debuglink", (Elf64_Shdr){ .sh_type = SHT_PROGBITS },
				     contents, crc_at + 4);
	}
	elf_builder__finish(eb);
	return eb;
}

/* Where the names came from; both symbols are looked up. Frees eb. */
static unsigned int load(struct elf_builder *eb, const struct tree *t)
{
	const struct symtab_opts opts = { .debug_root = t ? t->root : "/nonexistent",
					  .path = t ? t->binary : NULL };
	struct elf_file *ef = elf_builder__open(eb);
	struct symtab *st;
	struct symbol sym;
	unsigned int sources;
	bool found;

	assert_int_equal(symtab__load(ef, &opts, &st), 0);
	sources = symtab__sources(st);
	found = symtab__lookup(st, 0x1008, &sym);
	assert_int_equal(found, !!(sources & (SYMTAB_FROM_DEBUG_FILE | SYMTAB_FROM_DEBUGDATA)));
	if (found)
		assert_string_equal(sym.name, "hidden");
	assert_int_equal(symtab__lookup(st, 0x1108, &sym), !!(sources & SYMTAB_FROM_DYNSYM));
	symtab__free(st);
	elf_file__close(ef);
	free(eb);
	return sources;
}

static void finds_by_build_id(void **state)
{
	static const uint8_t other[8] = { 0xab, 9 };
	_cleanup_free_ struct elf_builder *same = debug_image(id), *wrong = debug_image(other);
	const struct tree *t = *state;

	assert_int_equal(load(stripped(true, NULL, 0), t), SYMTAB_FROM_DYNSYM);
	write_file(same, "%s/.build-id/ab/cdef0102030405.debug", t->root);
	assert_int_equal(load(stripped(true, NULL, 0), t), SYMTAB_FROM_DEBUG_FILE);
	assert_int_equal(load(stripped(false, NULL, 0), t), SYMTAB_FROM_DYNSYM);
	write_file(wrong, "%s/.build-id/ab/cdef0102030405.debug", t->root);
	assert_int_equal(load(stripped(true, NULL, 0), t), SYMTAB_FROM_DYNSYM);
}

static void finds_by_debuglink(void **state)
{
	static const char *const places[] = { "%s/bin/p.debug", "%s/bin/.debug/p.debug",
					      "%s/p.debug" };
	_cleanup_free_ struct elf_builder *debug = debug_image(NULL);
	const struct tree *t = *state;
	uint32_t crc = crc32(0, debug->bytes, debug->len);

	for (int i = 0; i < 3; i++) {
		const char *dir = i == 2 ? t->link_dir : t->dir;
		char path[512];

		assert_int_equal(load(stripped(true, "p.debug", crc), t), SYMTAB_FROM_DYNSYM);
		write_file(debug, places[i], dir);
		assert_int_equal(load(stripped(true, "p.debug", crc), t), SYMTAB_FROM_DEBUG_FILE);
		assert_int_equal(load(stripped(true, "p.debug", crc + 1), t), SYMTAB_FROM_DYNSYM);
		snprintf(path, sizeof(path), places[i], dir);
		assert_int_equal(unlink(path), 0);
	}
}

static void stays_in_the_three_directories(void **state)
{
	_cleanup_free_ struct elf_builder *debug = debug_image(NULL);
	const struct tree *t = *state;
	uint32_t crc = crc32(0, debug->bytes, debug->len);
	char fifo[256];

	write_file(debug, "%s/p.debug", t->dir);
	assert_int_equal(load(stripped(true, "../p.debug", crc), t), SYMTAB_FROM_DYNSYM);
	assert_int_equal(load(stripped(true, "", crc), t), SYMTAB_FROM_DYNSYM);
	/* Opening a FIFO must not wait for its writer. */
	snprintf(fifo, sizeof(fifo), "%s/bin/fifo", t->dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(load(stripped(true, "fifo", crc), t), SYMTAB_FROM_DYNSYM);
}

static void refuses_another_build_of_the_same_crc(void **state)
{
	static const uint8_t other[8] = { 0xab, 9 };
	_cleanup_free_ struct elf_builder *debug = debug_image(other);
	const struct tree *t = *state;
	uint32_t crc = crc32(0, debug->bytes, debug->len);

	write_file(debug, "%s/bin/p.debug", t->dir);
	assert_int_equal(load(stripped(true, "p.debug", crc), t), SYMTAB_FROM_DYNSYM);
	/* A file without a build-id has the CRC alone. */
	assert_int_equal(load(stripped(false, "p.debug", crc), t), SYMTAB_FROM_DEBUG_FILE);
}

/* A stripped file with bytes in .gnu_debugdata. */
static struct elf_builder *with_debugdata(const void *bytes, size_t len)
{
	struct elf_builder *eb = elf_builder__new(EM_X86_64);

	elf_builder__text(eb, ".text", 0x1000, 0x1000);
	elf_builder__symbols(eb, SHT_DYNSYM, &exported, 1);
	elf_builder__section(eb, ".gnu_debugdata", (Elf64_Shdr){ .sh_type = SHT_PROGBITS }, bytes,
			     len);
	elf_builder__finish(eb);
	return eb;
}

static void reads_mini_debug_info(void **state)
{
	_cleanup_free_ struct elf_builder *debug = debug_image(NULL);
	const unsigned int both = SYMTAB_FROM_DYNSYM | SYMTAB_FROM_DEBUGDATA;
	uint8_t packed[32768];
	size_t len = 0;

	assert_int_equal(lzma_easy_buffer_encode(9, LZMA_CHECK_CRC64, NULL, debug->bytes,
						 debug->len, packed, &len, sizeof(packed)),
			 LZMA_OK);
	assert_int_equal(load(with_debugdata(packed, len), NULL), both);
	/* Cut, spoilt, or no xz at all: then .dynsym alone. */
	assert_int_equal(load(with_debugdata(packed, len - 20), NULL), SYMTAB_FROM_DYNSYM);
	packed[len / 2] ^= 1;
	assert_int_equal(load(with_debugdata(packed, len), NULL), SYMTAB_FROM_DYNSYM);
	assert_int_equal(load(with_debugdata("plain", 5), NULL), SYMTAB_FROM_DYNSYM);
}

static void bounds_mini_debug_info(void **state)
{
	/* 150 MB of zeros in some 22 KB. */
	enum { ZEROS = 150000000, PACKED_MAX = 65536 };
	_cleanup_free_ uint8_t *zeros = calloc(1, ZEROS), *packed = malloc(PACKED_MAX);
	struct elf_builder *eb;
	struct elf_file *ef;
	uint8_t *bytes;
	size_t len = 0;

	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, zeros, ZEROS, packed,
						 &len, PACKED_MAX),
			 LZMA_OK);
	eb = with_debugdata(packed, len);
	ef = elf_builder__open(eb);
	assert_int_equal(debugdata__read(ef, &bytes, &len), -E2BIG);
	elf_file__close(ef);
	free(eb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_by_build_id, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(finds_by_debuglink, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(stays_in_the_three_directories, make_tree,
						remove_tree),
		cmocka_unit_test_setup_teardown(refuses_another_build_of_the_same_crc, make_tree,
						remove_tree),
		cmocka_unit_test(reads_mini_debug_info),
		cmocka_unit_test(bounds_mini_debug_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
