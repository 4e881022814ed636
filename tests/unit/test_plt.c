// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf_builder.h"
#include "object/plt.h"
#include "object/symtab.h"

static void expect_stub(const struct plt *plt, size_t i, uint64_t vaddr, uint64_t size,
			uint64_t slot)
{
	assert_true(i < plt->stubs.len);
	assert_int_equal(plt->stubs.data[i].vaddr, vaddr);
	assert_int_equal(plt->stubs.data[i].size, size);
	assert_int_equal(plt->stubs.data[i].slot, slot);
}

static struct plt decode(const char *bytes, size_t len, uint64_t vaddr)
{
	struct plt plt;

	vec_init(&plt.stubs, PLT_STUBS_MAX);
	assert_int_equal(plt__decode_x86_64((const uint8_t *)bytes, len, vaddr, &plt), 0);
	return plt;
}

/* Each operand is 0x100 (or -0x100): the slot is that far from the end of its jmp. */
static void decodes_lazy_plt(void **state)
{
	static const char code[] =
		"\xff\x35\x00\x01\x00\x00\xff\x25\x00\x01\x00\x00\x0f\x1f\x40\x00"
		"\xff\x25\x00\x01\x00\x00\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff"
		"\xff\x25\x00\xff\xff\xff\x68\x01\x00\x00\x00\xe9\xd0\xff\xff\xff";
	struct plt plt = decode(code, 48, 0x1000);

	assert_int_equal(plt.stubs.len, 2);
	expect_stub(&plt, 0, 0x1010, 16, 0x1116);
	expect_stub(&plt, 1, 0x1020, 16, 0x1026 - 0x100);
	assert_true(plt__begins_with_plt0((const uint8_t *)code, 48, EM_X86_64));
	assert_false(plt__begins_with_plt0((const uint8_t *)code + 16, 32, EM_X86_64));
	assert_false(plt__begins_with_plt0((const uint8_t *)code, 1, EM_X86_64));
	plt__done(&plt);
}

static void decodes_plt_with_ibt(void **state)
{
	/* An entry that only binds; endbr64; endbr64 and bnd; bnd alone. */
	static const char code[] =
		"\xf3\x0f\x1e\xfa\x68\x00\x00\x00\x00\xf2\xe9\xe0\xff\xff\xff\x90"
		"\xf3\x0f\x1e\xfa\xff\x25\x00\x01\x00\x00\x66\x0f\x1f\x44\x00\x00"
		"\xf3\x0f\x1e\xfa\xf2\xff\x25\x00\x01\x00\x00\x0f\x1f\x44\x00\x00"
		"\xf2\xff\x25\x00\x01\x00\x00\x90\xf2\xff\x25\x00\x01\x00\x00\x90";
	struct plt plt = decode(code, 64, 0x2000);

	assert_int_equal(plt.stubs.len, 4);
	expect_stub(&plt, 0, 0x2010, 16, 0x2010 + 10 + 0x100);
	expect_stub(&plt, 1, 0x2020, 16, 0x2020 + 11 + 0x100);
	expect_stub(&plt, 2, 0x2030, 8, 0x2030 + 7 + 0x100);
	expect_stub(&plt, 3, 0x2038, 8, 0x2038 + 7 + 0x100);
	plt__done(&plt);
}

static void decodes_mold_and_short_entries(void **state)
{
	static const char mold[] =
		"\xf3\x0f\x1e\xfa\x41\xbb\x00\x00\x00\x00\xff\x25\x00\x01\x00\x00";
	static const char got[] =
		"\xff\x25\x00\x01\x00\x00\x66\x90\xff\x25\x10\x00\x00\x00\x66\x90";
	struct plt plt = decode(mold, 16, 0x3000);

	assert_int_equal(plt.stubs.len, 1);
	expect_stub(&plt, 0, 0x3000, 16, 0x3110);
	plt__done(&plt);
	plt = decode(got, 16, 0x4000);
	assert_int_equal(plt.stubs.len, 2);
	expect_stub(&plt, 0, 0x4000, 8, 0x4106);
	expect_stub(&plt, 1, 0x4008, 8, 0x401e);
	plt__done(&plt);
	/* Cut inside the operand. */
	plt = decode(got, 13, 0x4000);
	assert_int_equal(plt.stubs.len, 1);
	plt__done(&plt);
}

/* As `llvm-mc -triple=aarch64 -show-encoding` gives them. */
static void decodes_arm64(void **state)
{
	static const uint32_t code[] = {
		0xa9bf7bf0, 0x90000110, 0xf942c611, 0x91162210, 0xd61f0220, /* the header */
		0xd503201f, 0xd503201f, 0xd503201f,			    /* nops */
		0x90000110, 0xf942ca11, 0x91164210, 0xd61f0220, /* adrp +0x20 pages, 0x590 */
		0xd503245f, 0xb0ffffd0, 0xf9400611, 0x91002210, 0xd61f0220, 0xd503201f,
	};
	struct plt plt;

	vec_init(&plt.stubs, PLT_STUBS_MAX);
	assert_int_equal(plt__decode_arm64((const uint8_t *)code, sizeof(code), 0x10440, &plt), 0);
	assert_int_equal(plt.stubs.len, 2);
	expect_stub(&plt, 0, 0x10460, 16, 0x30590);
	/* bti c first, a nop last; immhi = -2, immlo = 1: seven pages back */
	expect_stub(&plt, 1, 0x10470, 24, 0x10000 - 0x7000 + 8);
	plt__done(&plt);
}

/* Relocations in another order than the stubs; one slot resolved by a function, one by nothing. */
static void names_by_the_slot(void **state)
{
	static const char code[] =
		"\xff\x25\x00\x10\x00\x00\x66\x90\xff\x25\x00\x10\x00\x00\x66\x90"
		"\xff\x25\x00\x10\x00\x00\x66\x90\xff\x25\x00\x10\x00\x00\x66\x90";
	static const struct eb_sym dynamic[] = {
		{ "first", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
		{ "second", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
	};
	static const struct eb_sym full[] = {
		{ "__chooser", 0x1000, 0x10, STT_FUNC, STB_LOCAL, 1 },
		{ "chosen", 0x1000, 0x10, STT_GNU_IFUNC, STB_GLOBAL, 1 },
	};
	/* Slots of the stubs: 0x4006, 0x400e, 0x4016, 0x401e. */
	const Elf64_Rela rela[] = {
		{ 0x400e, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 },
		{ 0x4016, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x1000 },
		{ 0x4006, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0 },
		{ 0x401e, ELF64_R_INFO(77, R_X86_64_JUMP_SLOT), 0 }, /* no such symbol */
		{ 0x4006, ELF64_R_INFO(1, R_X86_64_RELATIVE), 0 },
	};
	static const char *const want[] = { "second@plt", "first@plt", "chosen@plt" };
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	Elf64_Shdr plt = { .sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			   .sh_addr = 0x3000 };
	Elf64_Shdr relocs = { .sh_type = SHT_RELA, .sh_flags = SHF_ALLOC };
	struct elf_file *ef;
	struct symtab *st;
	struct symbol sym;

	elf_builder__text(eb, ".text", 0x1000, 0x100);
	elf_builder__section(eb, ".plt.got", plt, code, 32);
	elf_builder__symbols(eb, SHT_SYMTAB, full, 2);
	relocs.sh_link = elf_builder__symbols(eb, SHT_DYNSYM, dynamic, 2);
	elf_builder__section(eb, ".rela.dyn", relocs, rela, sizeof(rela));
	elf_builder__finish(eb);
	ef = elf_builder__open(eb);
	assert_int_equal(symtab__load(ef, NULL, &st), 0);
	assert_int_equal(symtab__sources(st), SYMTAB_FROM_SYMTAB | SYMTAB_FROM_PLT);
	for (int i = 0; i < 3; i++) {
		assert_true(symtab__lookup(st, 0x3000 + 8 * i + 6, &sym));
		assert_string_equal(sym.name, want[i]);
		assert_int_equal(sym.value, 0x3000 + 8 * i);
		assert_int_equal(sym.size, 8);
	}
	assert_false(symtab__lookup(st, 0x3018, &sym));
	symtab__free(st);
	elf_file__close(ef);
}

/* What `objdump -d` calls the stubs of a real file. */
static size_t check_against_objdump(const char *path)
{
	const struct symtab_opts opts = { .no_debug_files = true };
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	_cleanup_free_ char *line = NULL;
	char command[512];
	size_t cap = 0, checked = 0;
	struct elf_file *ef;
	struct symtab *st;
	FILE *objdump;

	if (!f)
		return 0;
	assert_int_equal(elf_file__open_fd(fileno(f), &ef), 0);
	assert_int_equal(symtab__load(ef, &opts, &st), 0);
	snprintf(command, sizeof(command),
		 "objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null", path);
	objdump = popen(command, "r");
	while (getline(&line, &cap, objdump) > 0) {
		char name[512], *plus, *at;
		uint64_t vaddr, resolver;
		struct symbol sym, chooser;

		/* The header of a lazy .plt is "puts@plt-0x10". */
		if (sscanf(line, "%lx <%511[^>]>:", &vaddr, name) != 2 ||
		    !(at = strstr(name, "@plt")) || at[4])
			continue;
		assert_true(symtab__lookup(st, vaddr, &sym));
		assert_int_equal(sym.value, vaddr);
		checked++;
		if (strncmp(name, "*ABS*", 5)) {
			assert_string_equal(sym.name, name);
			continue;
		}
		/* IRELATIVE: objdump shows where the resolver is. */
		plus = strchr(name, '+');
		assert_true(plus && sscanf(plus, "+0x%lx@plt", &resolver) == 1);
		assert_true(symtab__lookup(st, resolver, &chooser));
		assert_int_equal(chooser.value, resolver);
		assert_memory_equal(sym.name, chooser.name, strlen(chooser.name));
		assert_string_equal(sym.name + strlen(chooser.name), "@plt");
	}
	pclose(objdump);
	symtab__free(st);
	elf_file__close(ef);
	return checked;
}

static void agrees_with_objdump(void **state)
{
	static const char *const files[] = {
		"/bin/bash",
		"/usr/bin/python3",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libLLVM.so.19.1",
		"/usr/lib/llvm-19/bin/clang",
	};
	char self[512] = "";
	size_t checked;

	if (system("objdump --version >/dev/null 2>&1")) {
		print_message("no objdump\n");
		skip();
	}
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	checked = check_against_objdump(self);
	assert_true(checked > 10);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		checked += check_against_objdump(files[i]);
	print_message("%zu stubs\n", checked);
}

/* "stub VADDR SLOT" of each stub as disassembled, then "slot SLOT RESOLVER" of each relocation. */
#define STATIC_PLT                                                                                \
	"objdump -d -j .plt %s | sed -n 's/^ *\\([0-9a-f]*\\):.*jmp .*# \\([0-9a-f]*\\) .*/stub " \
	"\\1 \\2/p'; readelf -rW %s | awk '/IRELATIV/ { print \"slot\", $1, $4 }'"

/* All its slots are IRELATIVE, and objdump has no names for its stubs. */
static void names_all_stubs_of_a_static_program(void **state)
{
	const struct symtab_opts opts = { .no_debug_files = true };
	char path[] = "/tmp/ebolt-static-XXXXXX", command[512];
	_cleanup_free_ char *line = NULL;
	uint64_t stubs[256][2], a, b;
	size_t nr = 0, checked = 0, cap = 0;
	_cleanup_close_ int fd = mkstemp(path);
	struct elf_file *ef;
	struct symtab *st;
	FILE *f;

	snprintf(command, sizeof(command),
		 "echo 'int main(void) { return 0; }' | gcc -static -xc -o %s - 2>/dev/null", path);
	if (system(command)) {
		unlink(path);
		print_message("no gcc or no static libc\n");
		skip();
	}
	close(fd);
	fd = open(path, O_RDONLY);
	assert_int_equal(elf_file__open_fd(fd, &ef), 0);
	assert_int_equal(symtab__load(ef, &opts, &st), 0);
	snprintf(command, sizeof(command), STATIC_PLT, path, path);
	f = popen(command, "r");
	while (getline(&line, &cap, f) > 0) {
		struct symbol sym, chooser;

		if (nr < 256 && sscanf(line, "stub %lx %lx", &a, &b) == 2) {
			stubs[nr][0] = a;
			stubs[nr++][1] = b;
		}
		if (sscanf(line, "slot %lx %lx", &a, &b) != 2)
			continue;
		assert_true(symtab__lookup(st, b, &chooser));
		for (size_t i = 0; i < nr; i++) {
			if (stubs[i][1] != a)
				continue;
			assert_true(symtab__lookup(st, stubs[i][0] + 7, &sym));
			assert_int_equal(sym.value, stubs[i][0]);
			assert_memory_equal(sym.name, chooser.name, strlen(chooser.name));
			assert_string_equal(sym.name + strlen(chooser.name), "@plt");
			checked++;
		}
	}
	pclose(f);
	unlink(path);
	print_message("%zu stubs\n", checked);
	assert_int_equal(checked, nr);
	assert_true(nr > 0);
	symtab__free(st);
	elf_file__close(ef);
}

/* Bound lazily: nothing of .plt is without a name, and the stubs keep theirs. */
static void code_that_all_stubs_share_is_named_by_its_section(void **state)
{
	static const uint8_t arm64[] = { 0x5f, 0x24, 0x03, 0xd5, 0xf0, 0x7b, 0xbf, 0xa9 };
	struct elf_file *ef;
	struct symtab *st;
	struct symbol sym;
	char path[] = "/tmp/ebolt-plt-XXXXXX";
	char command[200];
	unsigned long start = 0, len = 0;
	size_t stubs = 0;
	FILE *f;
	int fd;

	assert_true(plt__begins_with_plt0(arm64, 8, EM_AARCH64));
	assert_true(plt__begins_with_plt0(arm64 + 4, 4, EM_AARCH64));
	assert_false(plt__begins_with_plt0(arm64, 7, EM_AARCH64));
	close(mkstemp(path));
	snprintf(command, sizeof(command),
		 "echo 'int puts(const char *); int main(void) { return puts(\"\"); }' | "
		 "gcc -Wl,-z,lazy -x c - -o %s",
		 path);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "readelf -SW %s | sed -n 's/.* \\.plt  *PROGBITS *//p'",
		 path);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%lx %*x %lx", &start, &len), 2);
	pclose(f);
	fd = open(path, O_RDONLY);
	assert_int_equal(elf_file__open_fd(fd, &ef), 0);
	assert_int_equal(symtab__load(ef, NULL, &st), 0);
	for (unsigned long at = start; at < start + len; at++) {
		assert_true(symtab__lookup(st, at, &sym));
		if (strcmp(sym.name, ".plt"))
			stubs++;
		else
			assert_true(at < start + 16);
	}
	assert_int_equal(stubs, len - 16);
	symtab__free(st);
	elf_file__close(ef);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_lazy_plt),
		cmocka_unit_test(decodes_plt_with_ibt),
		cmocka_unit_test(decodes_mold_and_short_entries),
		cmocka_unit_test(decodes_arm64),
		cmocka_unit_test(names_by_the_slot),
		cmocka_unit_test(agrees_with_objdump),
		cmocka_unit_test(code_that_all_stubs_share_is_named_by_its_section),
		cmocka_unit_test(names_all_stubs_of_a_static_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
