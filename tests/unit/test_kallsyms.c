// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "object/kallsyms.h"

static struct kallsyms *parse(const char *text, const char *modules)
{
	struct kallsyms *ks;

	assert_int_equal(
		kallsyms__parse(text, strlen(text), modules, modules ? strlen(modules) : 0, &ks),
		0);
	return ks;
}

static void expect_symbol(const struct kallsyms *ks, uint64_t addr, const char *name,
			  const char *module, uint64_t start, uint64_t size)
{
	struct kallsyms_symbol sym;

	assert_true(kallsyms__lookup(ks, addr, &sym));
	assert_string_equal(sym.name, name);
	assert_string_equal(sym.module, module);
	assert_int_equal(sym.addr, start);
	assert_int_equal(sym.size, size);
}

static void expect_none(const struct kallsyms *ks, uint64_t addr)
{
	struct kallsyms_symbol sym;

	assert_false(kallsyms__lookup(ks, addr, &sym));
}

static void symbols_reach_to_the_next_or_the_bound(void **state)
{
	struct kallsyms *ks = parse("ffffffff81000000 T first\n"
				    "ffffffff81000100 t second\n"
				    "ffffffff81000180 d data_between\n"
				    "ffffffff81000200 t last\n"
				    "ffffffff81001000 T _etext\n"
				    "ffffffff82000000 T _sinittext\n"
				    "ffffffff82000010 t init_last\n"
				    "ffffffff82000100 T _einittext\n",
				    NULL);

	expect_none(ks, 0xffffffff80ffffff);
	expect_symbol(ks, 0xffffffff81000000, "first", "", 0xffffffff81000000, 0x100);
	expect_symbol(ks, 0xffffffff810000ff, "first", "", 0xffffffff81000000, 0x100);
	expect_symbol(ks, 0xffffffff8100017f, "second", "", 0xffffffff81000100, 0x80);
	expect_none(ks, 0xffffffff81000180);
	expect_symbol(ks, 0xffffffff81000fff, "last", "", 0xffffffff81000200, 0xe00);
	expect_none(ks, 0xffffffff81001000);
	expect_none(ks, 0xffffffff81800000);
	expect_symbol(ks, 0xffffffff8200000f, "_sinittext", "", 0xffffffff82000000, 0x10);
	expect_symbol(ks, 0xffffffff820000ff, "init_last", "", 0xffffffff82000010, 0xf0);
	assert_int_equal(kallsyms__bad_lines(ks), 0);
	kallsyms__free(ks);
	kallsyms__free(NULL);
}

static void bounds_modules_and_orphans(void **state)
{
	struct kallsyms *ks = parse("ffffffff81000000 T _stext\n"
				    "ffffffff81001000 T _etext\n"
				    "ffffffffc0001000 t alpha_first\t[alpha]\n"
				    "ffffffffc0001100 t alpha_last\t[alpha]\n"
				    "ffffffffc0100000 t prog_b\t[bpf]\n"
				    "ffffffffc00ff000 t prog_a\t[bpf]\n",
				    "alpha 16384 2 beta, Live 0xffffffffc0001000 (O)\n"
				    "beta 8192 0 - Live 0xffffffffc0008000\n");

	expect_symbol(ks, 0xffffffffc00010ff, "alpha_first", "alpha", 0xffffffffc0001000, 0x100);
	expect_symbol(ks, 0xffffffffc0004fff, "alpha_last", "alpha", 0xffffffffc0001100, 0x3f00);
	expect_none(ks, 0xffffffffc0005000);
	expect_symbol(ks, 0xffffffffc00fffff, "prog_a", "bpf", 0xffffffffc00ff000, 0x1000);
	expect_symbol(ks, 0xffffffffc0100000, "prog_b", "bpf", 0xffffffffc0100000, 0x10000);
	expect_none(ks, 0xffffffffc0110000);
	assert_int_equal(kallsyms__count(ks), 5);
	kallsyms__free(ks);
}

static void chooses_among_aliases(void **state)
{
	struct kallsyms *ks = parse("ffffffff81000000 W weak_and_long\n"
				    "ffffffff81000000 t _l\n"
				    "ffffffff81000010 t local_and_long\n"
				    "ffffffff81000010 T __g\n"
				    "ffffffff81000020 T __more\n"
				    "ffffffff81000020 T few\n"
				    "ffffffff81000030 T sh\n"
				    "ffffffff81000030 T long\n"
				    "ffffffff81000040 T one\n"
				    "ffffffff81000040 T two\n"
				    "ffffffff81000040 D not_text_but_longer\n"
				    "ffffffff81000050 T _etext\n",
				    NULL);
	static const char *const want[] = { "_l", "__g", "few", "long", "one" };

	for (int i = 0; i < 5; i++)
		expect_symbol(ks, 0xffffffff81000008 + 16 * i, want[i], "",
			      0xffffffff81000000 + 16 * i, 16);
	assert_int_equal(kallsyms__count(ks), 5);
	kallsyms__free(ks);
}

static void hidden_addresses_are_an_error(void **state)
{
	static const char hidden[] = "0000000000000000 T a\n0000000000000000 t b\t[m]\n";
	struct kallsyms *ks;

	assert_int_equal(kallsyms__parse(hidden, strlen(hidden), NULL, 0, &ks), -ENODATA);
	assert_int_equal(kallsyms__parse("", 0, NULL, 0, &ks), -ENODATA);
}

static void counts_bad_lines(void **state)
{
	static const char text[] = "ffffffff81000000 T good\n"
				   "ffffffff81000010 T\n"
				   "fffffffG81000010 T name\n"
				   "1ffffffff81000010f T name\n"
				   "ffffffff81000010 TT name\n"
				   "ffffffff81000010 T name [open\n"
				   "ffffffff81000010 T name []\n"
				   "\n"
				   "ffffffff81000020 T _etext";
	struct kallsyms *ks = parse(text, "short 1\nm x 0 - Live 0x1\nm 1 0 - Live 12\n");

	assert_int_equal(kallsyms__bad_lines(ks), 6 + 3);
	expect_symbol(ks, 0xffffffff81000018, "good", "", 0xffffffff81000000, 0x20);
	kallsyms__free(ks);
}

/* Every text symbol of this kernel, at its first byte: it, or one at the same address. */
static void agrees_with_this_kernel(void **state)
{
	struct buf text, modules;
	struct kallsyms *ks;
	size_t checked = 0, ends = 0;
	int err;

	buf__init(&text, 256 << 20);
	buf__init(&modules, 16 << 20);
	buf__read_path(&text, "/proc/kallsyms");
	buf__read_path(&modules, "/proc/modules");
	err = kallsyms__parse(text.data ? text.data : "", text.len, modules.data, modules.len, &ks);
	if (err) {
		buf__done(&text);
		buf__done(&modules);
		print_message("/proc/kallsyms hides its addresses\n");
		skip();
	}
	assert_int_equal(kallsyms__bad_lines(ks), 0);
	for (char *line = text.data, *next; line && *line; line = next) {
		struct kallsyms_symbol sym;
		char type, name[512], module[64] = "";
		uint64_t addr;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (sscanf(line, "%lx %c %511s [%63[^]]", &addr, &type, name, module) < 3 ||
		    !strchr("tTwW", type) || !addr)
			continue;
		/* Nothing is behind a marker of an end, so it names nothing. */
		if (!kallsyms__lookup(ks, addr, &sym) || sym.addr != addr) {
			ends++;
			continue;
		}
		assert_true(sym.size > 0);
		assert_string_equal(sym.module, module);
		if (!strcmp(sym.name, name))
			checked++;
	}
	print_message("%zu symbols, %zu named by an alias or ends\n", kallsyms__count(ks), ends);
	/* Each entry is the name of one line (of several, where names repeat at one address). */
	assert_true(checked >= kallsyms__count(ks));
	assert_true(ends < 16);
	kallsyms__free(ks);
	buf__done(&text);
	buf__done(&modules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_reach_to_the_next_or_the_bound),
		cmocka_unit_test(bounds_modules_and_orphans),
		cmocka_unit_test(chooses_among_aliases),
		cmocka_unit_test(hidden_addresses_are_an_error),
		cmocka_unit_test(counts_bad_lines),
		cmocka_unit_test(agrees_with_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
