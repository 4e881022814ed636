// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "object/perf_map.h"

/* The entries as text, to be compared as such. */
static void append(struct buf *out, const struct perf_map_entry *e)
{
	buf__printf(out, "%llx+%llx %.*s%s\n", (unsigned long long)e->addr,
		    (unsigned long long)e->size, (int)e->name_len, e->name,
		    e->name_cut ? "..." : "");
}

static void read_in_pieces(const char *text, size_t len, size_t piece, bool last, struct buf *out,
			   struct perf_map *pm)
{
	struct perf_map_entry e;

	perf_map__init(pm);
	for (size_t off = 0; off < len; off += piece) {
		size_t n = len - off < piece ? len - off : piece;
		char *copy = malloc(n);

		memcpy(copy, text + off, n);
		perf_map__feed(pm, copy, n);
		while (perf_map__next(pm, &e))
			append(out, &e);
		free(copy);
	}
	if (last && perf_map__last(pm, &e))
		append(out, &e);
}

static void expect(const char *text, const char *entries, size_t bad_lines)
{
	size_t len = strlen(text);
	struct perf_map pm;
	struct buf out;

	for (size_t piece = 1; piece <= len; piece++) {
		buf__init(&out, 1 << 20);
		buf__puts(&out, "");
		read_in_pieces(text, len, piece, true, &out, &pm);
		assert_string_equal(out.data, entries);
		assert_int_equal(pm.bad_lines, bad_lines);
		assert_int_equal(perf_map__off(&pm), len);
		perf_map__done(&pm);
		buf__done(&out);
	}
}

static void reads_what_runtimes_write(void **state)
{
	expect("7f6aedeb8000 68 $global::apply_fun_shared\n"
	       "0x00007f1830ec71c0 0x0000000000000270 java.lang.Object a.b.c(int, long)\n"
	       "419a3680 1F Hot:Fib (int)\n"
	       "0X10 0Xff  two blanks before, one behind \n"
	       "7f24e8000000\t2d \ttcg\n"
	       "7f4afc002afe 300 a last line without an end",
	       "7f6aedeb8000+68 $global::apply_fun_shared\n"
	       "7f1830ec71c0+270 java.lang.Object a.b.c(int, long)\n"
	       "419a3680+1f Hot:Fib (int)\n"
	       "10+ff  two blanks before, one behind \n"
	       "7f24e8000000+2d \ttcg\n"
	       "7f4afc002afe+300 a last line without an end\n",
	       0);
}

/* A name over several lines, and a line inside another: what is left that looks like a line. */
static void survives_torn_lines(void **state)
{
	expect("7f4afc002a00 300 RegExp.> src: 'HELLO\n"
	       "  .*world'\n"
	       "\n"
	       "7f4afc003000 40 one7f4afc004000 40 two\n"
	       "7f4afc00\n"
	       "7f4afc005000 40 three\n",
	       "7f4afc002a00+300 RegExp.> src: 'HELLO\n"
	       "7f4afc003000+40 one7f4afc004000 40 two\n"
	       "7f4afc005000+40 three\n",
	       3);
}

static void counts_bad_lines(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"10",
		"10 ",
		"10 20",
		"10 20 ",
		"x 20 f",
		"10 x f",
		"10 20x f",
		"0x 20 f",
		"-10 20 f",
		"10 -20 f",
		"10,20,f",
		"10000000000000000 10 f",
		"10 10000000000000000 f",
		"ffffffffffffffff 1 f",
		"ffffffff81000000 40 f",
		"100000000000000 1 f",
		"ffffffffffffff 2 f",
		"\xff\xfe 10 f",
	};
	struct perf_map_entry e;
	struct perf_map pm;
	struct buf text;

	buf__init(&text, 65536);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		buf__printf(&text, "%s\n1000 %zx f\n", bad[i], i + 1);
	perf_map__init(&pm);
	perf_map__feed(&pm, text.data, text.len);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(perf_map__next(&pm, &e));
		assert_int_equal(e.size, i + 1);
		assert_int_equal(pm.bad_lines, i + 1);
	}
	assert_false(perf_map__next(&pm, &e));
	/* Of no size: as QEMU writes them, no error. */
	perf_map__feed(&pm, "10 0 f\n10 00 f\n", 15);
	assert_false(perf_map__next(&pm, &e));
	assert_int_equal(pm.empty, 2);
	/* The last address there is; and names hold no NUL. */
	perf_map__feed(&pm, "ffffffffffffff 1 f\n1 1 a\0b\n", 27);
	assert_true(perf_map__next(&pm, &e));
	assert_int_equal(e.addr, 0xffffffffffffff);
	assert_false(perf_map__next(&pm, &e));
	assert_int_equal(pm.bad_lines, ARRAY_SIZE(bad) + 1);
	perf_map__done(&pm);
	buf__done(&text);
}

/* The end of a file that is written: waited for, taken as a line only when told. */
static void waits_for_the_end_of_a_line(void **state)
{
	struct perf_map_entry e;
	struct perf_map pm;

	perf_map__init(&pm);
	perf_map__feed(&pm, "10 20 na", 8);
	assert_false(perf_map__next(&pm, &e));
	assert_int_equal(perf_map__tail(&pm), 8);
	assert_int_equal(perf_map__off(&pm), 8);
	perf_map__feed(&pm, "me\n30 4", 7);
	assert_true(perf_map__next(&pm, &e));
	assert_int_equal(e.name_len, 4);
	assert_memory_equal(e.name, "name", 4);
	assert_false(perf_map__next(&pm, &e));
	assert_int_equal(perf_map__tail(&pm), 4);
	assert_int_equal(pm.bad_lines, 0);
	/* Half a number: not a line. */
	assert_false(perf_map__last(&pm, &e));
	assert_int_equal(pm.bad_lines, 1);
	assert_int_equal(perf_map__tail(&pm), 0);
	perf_map__feed(&pm, "50 6 f", 6);
	assert_false(perf_map__next(&pm, &e));
	assert_true(perf_map__last(&pm, &e));
	assert_int_equal(e.addr, 0x50);
	assert_false(perf_map__last(&pm, &e));
	perf_map__restart(&pm);
	assert_int_equal(perf_map__off(&pm), 0);
	perf_map__feed(&pm, "70 8 f\n", 7);
	assert_true(perf_map__next(&pm, &e));
	assert_int_equal(e.addr, 0x70);
	assert_false(perf_map__next(&pm, &e));
	assert_int_equal(pm.nr_entries, 3);
	perf_map__done(&pm);
}

/* A megabyte of name: cut, between two characters, and not kept. */
static void cuts_long_names(void **state)
{
	static const size_t pieces[] = { 4 << 20, 4096, 100, 1 };
	static char line[1 << 20];

	for (size_t off = 0; off < 3; off++) {
		int prefix = snprintf(line, sizeof(line), "7f00 10 ");

		memset(line + prefix, 'n', sizeof(line) - prefix);
		memcpy(line + prefix + PERF_MAP_NAME_MAX - 3 + off, "\xe2\x82\xac", 3);
		line[sizeof(line) - 1] = '\n';
		for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
			struct perf_map pm;
			struct buf out;

			buf__init(&out, 1 << 20);
			read_in_pieces(line, sizeof(line), pieces[p], false, &out, &pm);
			assert_int_equal(pm.nr_entries, 1);
			assert_int_equal(out.len, strlen("7f00+10 ...\n") +
							  (off ? PERF_MAP_NAME_MAX - 3 + off
							       : PERF_MAP_NAME_MAX));
			assert_in_range(pm.cut.cap, 0, 16384);
			perf_map__done(&pm);
			buf__done(&out);
		}
	}
}

/* Whatever takes so much room in a line is no number. */
static void blanks_without_end(void **state)
{
	static char line[PERF_MAP_LINE_MAX + 100];

	memset(line, ' ', sizeof(line) - 1);
	memcpy(line, "10", 2);
	memcpy(line + sizeof(line) - 9, "20 name\n", 8);
	expect(line, "", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_runtimes_write),
		cmocka_unit_test(survives_torn_lines),
		cmocka_unit_test(counts_bad_lines),
		cmocka_unit_test(waits_for_the_end_of_a_line),
		cmocka_unit_test(cuts_long_names),
		cmocka_unit_test(blanks_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
