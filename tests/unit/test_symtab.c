// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "elf_builder.h"
#include "object/symtab.h"
#include "object/symtab_build.h"

#define TEXT 0x1000 /* vaddr of the text section, 0x1000 bytes */

static const struct symtab_opts own_only = { .no_debug_files = true };

static struct symtab *load(struct elf_builder *eb, const struct symtab_opts *opts)
{
	struct elf_file *ef = elf_builder__open(eb);
	struct symtab *st;

	assert_int_equal(symtab__load(ef, opts, &st), 0);
	elf_file__close(ef);
	return st;
}

/* A table of symbols; section 1 is text [0x1000, 0x2000), 2 text [0x3000, 0x3100), 3 data. */
static struct symtab *table_of(const struct eb_sym *syms, size_t nr)
{
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);

	elf_builder__text(eb, ".text", TEXT, 0x1000);
	elf_builder__text(eb, ".text2", 0x3000, 0x100);
	elf_builder__section(eb, ".data",
			     (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC | SHF_WRITE,
					   .sh_addr = 0x4000 },
			     NULL, 0x100);
	elf_builder__symbols(eb, SHT_SYMTAB, syms, nr);
	elf_builder__finish(eb);
	return load(eb, &own_only);
}

static void expect_symbol(const struct symtab *st, uint64_t vaddr, const char *name, uint64_t value,
			  uint64_t size)
{
	struct symbol sym;

	assert_true(symtab__lookup(st, vaddr, &sym));
	assert_string_equal(sym.name, name);
	assert_int_equal(sym.value, value);
	assert_int_equal(sym.size, size);
}

static void expect_none(const struct symtab *st, uint64_t vaddr)
{
	struct symbol sym;

	assert_false(symtab__lookup(st, vaddr, &sym));
}

static void gaps_are_unresolved(void **state)
{
	static const struct eb_sym syms[] = {
		{ "second", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "first", 0x1000, 0x20, STT_FUNC, STB_LOCAL, 1 },
	};
	struct symtab *st = table_of(syms, 2);

	assert_int_equal(symtab__count(st), 2);
	assert_int_equal(symtab__sources(st), SYMTAB_FROM_SYMTAB);
	expect_none(st, 0);
	expect_none(st, 0xfff);
	expect_symbol(st, 0x1000, "first", 0x1000, 0x20);
	expect_symbol(st, 0x101f, "first", 0x1000, 0x20);
	expect_none(st, 0x1020);
	expect_symbol(st, 0x110f, "second", 0x1100, 0x10);
	expect_none(st, 0x1110);
	expect_none(st, UINT64_MAX);
	symtab__free(st);
	symtab__free(NULL);
}

static void innermost_wins(void **state)
{
	static const struct eb_sym syms[] = {
		{ "outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, 1 },
		{ "inner", 0x1040, 0x40, STT_FUNC, STB_GLOBAL, 1 },
		{ "innermost", 0x1050, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "head", 0x1000, 0x8, STT_FUNC, STB_GLOBAL, 1 },
		{ "across", 0x10f0, 0x20, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct symtab *st = table_of(syms, 5);

	expect_symbol(st, 0x1007, "head", 0x1000, 8);
	expect_symbol(st, 0x1008, "outer", 0x1000, 0x100);
	expect_symbol(st, 0x103f, "outer", 0x1000, 0x100);
	expect_symbol(st, 0x1040, "inner", 0x1040, 0x40);
	expect_symbol(st, 0x1055, "innermost", 0x1050, 0x10);
	expect_symbol(st, 0x1060, "inner", 0x1040, 0x40);
	expect_symbol(st, 0x1080, "outer", 0x1000, 0x100);
	expect_symbol(st, 0x10ef, "outer", 0x1000, 0x100);
	expect_symbol(st, 0x10f0, "across", 0x10f0, 0x20);
	expect_symbol(st, 0x110f, "across", 0x10f0, 0x20);
	expect_none(st, 0x1110);
	symtab__free(st);
}

static void sizeless_symbols_reach_to_the_next(void **state)
{
	static const struct eb_sym syms[] = {
		{ "a", 0x1000, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "b", 0x1010, 0, STT_NOTYPE, STB_LOCAL, 1 },
		{ "sized", 0x1020, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "label_in_it", 0x1028, 0, STT_NOTYPE, STB_LOCAL, 1 },
		{ "also_sized", 0x1020, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "last", 0x1040, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "end_marker", 0x2000, 0, STT_NOTYPE, STB_GLOBAL, 1 },
		{ "in_second_section", 0x3010, 0, STT_FUNC, STB_GLOBAL, 2 },
	};
	struct symtab *st = table_of(syms, 8);

	expect_symbol(st, 0x100f, "a", 0x1000, 0x10);
	expect_symbol(st, 0x101f, "b", 0x1010, 0x10);
	expect_symbol(st, 0x1027, "sized", 0x1020, 0x10);
	expect_symbol(st, 0x102f, "label_in_it", 0x1028, 8);
	expect_none(st, 0x1030); /* behind the function, not the label's */
	expect_symbol(st, 0x1fff, "last", 0x1040, 0xfc0);
	expect_none(st, 0x2000);
	expect_none(st, 0x300f);
	expect_symbol(st, 0x30ff, "in_second_section", 0x3010, 0xf0);
	expect_none(st, 0x3100);
	symtab__free(st);
}

/* Each pair's second is the better one, for one reason. */
static void chooses_among_aliases(void **state)
{
	static const struct eb_sym syms[] = {
		{ "sizeless_but_longer", 0x1000, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "sized", 0x1000, 0x10, STT_FUNC, STB_WEAK, 1 },
		{ "weak_but_longer", 0x1010, 0x10, STT_FUNC, STB_WEAK, 1 },
		{ "_local", 0x1010, 0x10, STT_FUNC, STB_LOCAL, 1 },
		{ "local_but_longer", 0x1020, 0x10, STT_FUNC, STB_LOCAL, 1 },
		{ "__global", 0x1020, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "__more_underscores", 0x1030, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "_fewer", 0x1030, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "short", 0x1040, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "longer", 0x1040, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "one", 0x1050, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "two", 0x1050, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	static const char *const want[] = {
		"sized", "_local", "__global", "_fewer", "longer", "one"
	};

	/* Also the other way round, but for the last pair, where the order is the reason. */
	for (int swapped = 0; swapped < 2; swapped++) {
		struct eb_sym order[12];
		struct symtab *st;

		memcpy(order, syms, sizeof(syms));
		for (int i = 0; swapped && i < 10; i += 2) {
			order[i] = syms[i + 1];
			order[i + 1] = syms[i];
		}
		st = table_of(order, 12);
		for (int i = 0; i < 6; i++)
			expect_symbol(st, 0x1008 + 0x10 * i, want[i], 0x1000 + 0x10 * i, 0x10);
		symtab__free(st);
	}
}

static void takes_only_code(void **state)
{
	static const struct eb_sym syms[] = {
		{ "object", 0x1000, 0x10, STT_OBJECT, STB_GLOBAL, 1 },
		{ "file.c", 0x1000, 0x10, STT_FILE, STB_LOCAL, 1 },
		{ "section", 0x1000, 0x10, STT_SECTION, STB_LOCAL, 1 },
		{ "tls", 0x1000, 0x10, STT_TLS, STB_LOCAL, 1 },
		{ "", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "$x", 0x1000, 0x10, STT_NOTYPE, STB_LOCAL, 1 },
		{ "$d.123", 0x1000, 0x10, STT_NOTYPE, STB_LOCAL, 1 },
		{ "undefined", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
		{ "absolute", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, SHN_ABS },
		{ "no_such_section", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 77 },
		{ "in_data", 0x4000, 0x10, STT_FUNC, STB_GLOBAL, 3 },
		{ "outside_its_section", 0x5000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "$xylophone", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "chosen", 0x1200, 0x10, STT_GNU_IFUNC, STB_GLOBAL, 1 },
		{ "unique", 0x1300, 0x10, STT_FUNC, STB_GNU_UNIQUE, 1 },
		{ "wraps", 0x1400, UINT64_MAX, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct symtab *st = table_of(syms, ARRAY_SIZE(syms));

	assert_int_equal(symtab__count(st), 4);
	expect_none(st, 0x1008);
	expect_none(st, 0x1108 - 0x10);
	expect_symbol(st, 0x1108, "$xylophone", 0x1100, 0x10);
	expect_symbol(st, 0x1208, "chosen", 0x1200, 0x10);
	expect_symbol(st, 0x1308, "unique", 0x1300, 0x10);
	expect_symbol(st, 0x1500, "wraps", 0x1400, UINT64_MAX - 0x1400);
	symtab__free(st);
}

static void cuts_versions_and_long_names(void **state)
{
	_cleanup_free_ char *long_name = malloc(SYMTAB_NAME_MAX + 101);
	struct eb_sym syms[] = {
		{ "memcpy@@GLIBC_2.14", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "memcpy@GLIBC_2.2.5", 0x1010, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "@odd", 0x1020, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ long_name, 0x1030, 0x10, STT_FUNC, STB_GLOBAL, 1 },
		{ "after", 0x1040, 0x10, STT_FUNC, STB_GLOBAL, 1 },
	};
	struct symbol sym;
	struct symtab *st;

	memset(long_name, 'x', SYMTAB_NAME_MAX + 100);
	long_name[SYMTAB_NAME_MAX + 100] = '\0';
	st = table_of(syms, 5);
	expect_symbol(st, 0x1000, "memcpy", 0x1000, 0x10);
	expect_symbol(st, 0x1010, "memcpy", 0x1010, 0x10);
	expect_symbol(st, 0x1020, "@odd", 0x1020, 0x10);
	assert_true(symtab__lookup(st, 0x1030, &sym));
	assert_int_equal(strlen(sym.name), SYMTAB_NAME_MAX);
	expect_symbol(st, 0x1040, "after", 0x1040, 0x10);
	symtab__free(st);
}

static void empty_and_relocatable_files_have_none(void **state)
{
	static const struct eb_sym sym = { "f", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 };

	for (int relocatable = 0; relocatable < 2; relocatable++) {
		_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
		struct symtab *st;

		if (relocatable) {
			elf_builder__ehdr(eb)->e_type = ET_REL;
			elf_builder__text(eb, ".text", TEXT, 0x1000);
			elf_builder__symbols(eb, SHT_SYMTAB, &sym, 1);
		}
		elf_builder__finish(eb);
		st = load(eb, &own_only);
		assert_int_equal(symtab__count(st), 0);
		assert_int_equal(symtab__sources(st), 0);
		expect_none(st, 0x1000);
		symtab__free(st);
	}
}

/* ---- against the definition, symbol by symbol ----------------------------------------------- */

struct model_symbol {
	uint64_t value, end;
	char name[24];
};

/* Of those that cover: the latest beginning, then the nearest end, then the first. */
static const struct model_symbol *model_lookup(const struct model_symbol *syms, size_t nr,
					       uint64_t vaddr)
{
	const struct model_symbol *best = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (vaddr < syms[i].value || vaddr >= syms[i].end)
			continue;
		if (!best || syms[i].value > best->value ||
		    (syms[i].value == best->value && syms[i].end < best->end))
			best = &syms[i];
	}
	return best;
}

static void agrees_with_the_definition(void **state)
{
	struct model_symbol syms[120];

	srand(1);
	for (int round = 0; round < 200; round++) {
		size_t nr = 1 + rand() % 120;
		struct symtab_builder b;
		struct symtab *st;

		symtab_builder__init(&b);
		for (size_t i = 0; i < nr; i++) {
			struct candidate c = { .sized = true };

			syms[i].value = 100 + rand() % 300;
			syms[i].end = syms[i].value + 1 + rand() % (rand() % 4 ? 20 : 200);
			snprintf(syms[i].name, sizeof(syms[i].name), "s%03zu", i);
			c.value = syms[i].value;
			c.end = syms[i].end;
			assert_int_equal(symtab_builder__add_name(&b, syms[i].name, "", &c.name),
					 0);
			assert_int_equal(symtab_builder__add(&b, &c), 0);
		}
		assert_int_equal(symtab_builder__finish(&b, &st), 0);
		for (uint64_t vaddr = 90; vaddr < 620; vaddr++) {
			const struct model_symbol *want = model_lookup(syms, nr, vaddr);

			if (want)
				expect_symbol(st, vaddr, want->name, want->value,
					      want->end - want->value);
			else
				expect_none(st, vaddr);
		}
		symtab__free(st);
		symtab_builder__done(&b);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* A million symbols in one another, whose names are the tails of one string. */
static void hostile_nesting_costs_no_more(void **state)
{
	enum { NR = 1000000, NAMES = SYMTAB_NAME_MAX - 1 };
	_cleanup_free_ char *names = malloc(NAMES);
	double start = seconds();
	struct symtab_builder b;
	struct symtab *st;
	struct symbol sym;
	uint32_t base;

	memset(names, 'n', NAMES);
	symtab_builder__init(&b);
	assert_int_equal(symtab_builder__add_names(&b, names, NAMES, &base), 0);
	for (uint64_t i = 0; i < NR; i++) {
		struct candidate c = { .value = i, .end = 4 * NR - i, .sized = true };

		c.name = base + i % NAMES;
		assert_int_equal(symtab_builder__add(&b, &c), 0);
	}
	assert_int_equal(symtab_builder__finish(&b, &st), 0);
	assert_int_equal(symtab__count(st), NR);
	for (uint64_t i = 0; i < NR; i++) {
		/* Behind all but the i outermost. */
		assert_true(symtab__lookup(st, 4 * NR - 1 - i, &sym));
		assert_int_equal(sym.value, i);
	}
	symtab__free(st);
	/* A tenth of a second in fact; a walk through the nested ones would take hours. */
	assert_true(seconds() - start < 20);
}

/* ---- where names are read from --------------------------------------------------------------- */

static void symtab_is_enough(void **state)
{
	static const struct eb_sym full = { "from_symtab", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 };
	static const struct eb_sym dynamic = {
		"from_dynsym", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, 1
	};
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct symtab *st;

	elf_builder__text(eb, ".text", TEXT, 0x1000);
	elf_builder__symbols(eb, SHT_DYNSYM, &dynamic, 1);
	elf_builder__symbols(eb, SHT_SYMTAB, &full, 1);
	elf_builder__finish(eb);
	st = load(eb, &own_only);
	assert_int_equal(symtab__sources(st), SYMTAB_FROM_SYMTAB);
	expect_symbol(st, 0x1000, "from_symtab", 0x1000, 0x10);
	expect_none(st, 0x1100);
	symtab__free(st);
}

static void broken_tables_are_errors(void **state)
{
	static const struct eb_sym sym = { "f", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1 };
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct elf_file *ef;
	struct symtab *st;
	int table;

	elf_builder__text(eb, ".text", TEXT, 0x1000);
	table = elf_builder__symbols(eb, SHT_SYMTAB, &sym, 1);
	elf_builder__finish(eb);
	elf_builder__shdr(eb, table)->sh_offset = 1 << 30;
	ef = elf_builder__open(eb);
	assert_int_equal(symtab__load(ef, &own_only, &st), -EBADMSG);
	elf_file__close(ef);
}

/* What `nm` says, for all functions of a real file. */
struct nm_symbol {
	uint64_t value, size;
	char name[512];
};

static struct nm_symbol *read_nm(const char *path, const char *options, size_t *ret_nr)
{
	struct nm_symbol *syms = NULL;
	size_t nr = 0, cap = 0, line_cap = 0;
	_cleanup_free_ char *line = NULL;
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "nm %s -S --defined-only %s 2>/dev/null", options, path);
	f = popen(command, "r");
	while (getline(&line, &line_cap, f) > 0) {
		struct nm_symbol s;
		char type;

		/* t, T, W, w, i: in text, or weak, or chosen at run time; sized ones only. */
		if (sscanf(line, "%lx %lx %c %511[^@\n]", &s.value, &s.size, &type, s.name) != 4 ||
		    !strchr("tTwWi", type) || !s.size || strlen(s.name) > 500)
			continue;
		if (nr == cap) {
			cap = cap ? 2 * cap : 1024;
			syms = realloc(syms, cap * sizeof(*syms));
		}
		syms[nr++] = s;
	}
	pclose(f);
	*ret_nr = nr;
	return syms;
}

static int compare_nm(const void *pa, const void *pb)
{
	const struct nm_symbol *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* Looks the first, a middle and the last byte of every function up: the name must be one of it. */
static size_t check_against_nm(const char *path, const char *options)
{
	_cleanup_free_ struct nm_symbol *syms = NULL;
	FILE *f = fopen(path, "r");
	size_t nr, checked = 0;
	struct elf_file *ef;
	struct symtab *st;

	if (!f)
		return 0;
	assert_int_equal(elf_file__open_fd(fileno(f), &ef), 0);
	assert_int_equal(symtab__load(ef, &own_only, &st), 0);
	elf_file__close(ef);
	fclose(f);
	syms = read_nm(path, options, &nr);
	if (nr)
		qsort(syms, nr, sizeof(*syms), compare_nm);
	for (size_t i = 0; i < nr; i++) {
		const uint64_t at[] = { 0, syms[i].size / 2, syms[i].size - 1 };

		for (int j = 0; j < 3; j++) {
			uint64_t vaddr = syms[i].value + at[j];
			size_t k = i;
			bool named = false;
			struct symbol sym;

			assert_true(symtab__lookup(st, vaddr, &sym));
			/* The innermost: none begins between it and vaddr and covers that. */
			while (k + 1 < nr && syms[k + 1].value <= vaddr)
				k++;
			while (syms[k].value > sym.value) {
				assert_true(vaddr - syms[k].value >= syms[k].size);
				k--;
			}
			assert_int_equal(syms[k].value, sym.value);
			for (; !named && syms[k].value == sym.value; k--) {
				named = syms[k].size == sym.size && !strcmp(syms[k].name, sym.name);
				if (!k)
					break;
			}
			assert_true(named);
			checked++;
		}
	}
	symtab__free(st);
	return checked;
}

static void agrees_with_nm(void **state)
{
	static const struct {
		const char *path, *options;
	} files[] = {
		{ "/lib/x86_64-linux-gnu/libc.so.6", "-D" },
		{ "/bin/bash", "-D" },
		{ "/usr/bin/python3", "-D" },
		{ "/lib/x86_64-linux-gnu/libLLVM.so.19.1", "-D" },
	};
	char self[512] = "";
	size_t checked = 0;

	if (system("nm --version >/dev/null 2>&1")) {
		print_message("no nm\n");
		skip();
	}
	/* This program has a .symtab. */
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	checked = check_against_nm(self, "");
	assert_true(checked > 100);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		checked += check_against_nm(files[i].path, files[i].options);
	print_message("%zu addresses\n", checked);
	assert_true(checked > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_unresolved),
		cmocka_unit_test(innermost_wins),
		cmocka_unit_test(sizeless_symbols_reach_to_the_next),
		cmocka_unit_test(chooses_among_aliases),
		cmocka_unit_test(takes_only_code),
		cmocka_unit_test(cuts_versions_and_long_names),
		cmocka_unit_test(empty_and_relocatable_files_have_none),
		cmocka_unit_test(agrees_with_the_definition),
		cmocka_unit_test(hostile_nesting_costs_no_more),
		cmocka_unit_test(symtab_is_enough),
		cmocka_unit_test(broken_tables_are_errors),
		cmocka_unit_test(agrees_with_nm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
