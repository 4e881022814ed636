// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth of the random cases is a list of all that was loaded, searched whole: of the functions
 * that cover an address the latest up to the time, else the earliest.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "proc/jit_code.h"

static struct jit_pool *pool;
static struct jit_code *code;

static int setup_with(const struct jit_pool_opts *opts)
{
	pool = jit_pool__new(opts);
	assert_non_null(pool);
	code = jit_code__new(pool);
	assert_non_null(code);
	return 0;
}

static int setup(void **state)
{
	return setup_with(&(struct jit_pool_opts){ .keep_lines = true });
}

/* All that was kept is gone with the last code: nothing is leaked or counted twice. */
static int teardown(void **state)
{
	jit_code__free(code);
	assert_int_equal(jit_pool__funcs(pool), 0);
	assert_int_equal(jit_pool__bytes(pool), 0);
	jit_pool__free(pool);
	return 0;
}

static void load_to(struct jit_code *to, uint64_t time, uint64_t addr, uint64_t size,
		    uint64_t index, const char *name)
{
	struct jit_load l = {
		.time = time,
		.addr = addr,
		.size = size,
		.index = index,
		.name = name,
	};

	l.name_len = strlen(name);
	jit_code__load(to, &l);
}

static void load(uint64_t time, uint64_t addr, uint64_t size, const char *name)
{
	load_to(code, time, addr, size, 0, name);
}

static void move(uint64_t time, uint64_t from, uint64_t to, uint64_t size)
{
	struct jit_move m = { .time = time, .from = from, .to = to, .size = size };

	jit_code__move(code, &m);
}

static const char *at_in(struct jit_code *in, uint64_t time, uint64_t addr)
{
	static struct jit_hit hit;

	return jit_code__lookup(in, time, addr, &hit) ? hit.name : "";
}

#define assert_at(time, addr, want) assert_string_equal(at_in(code, time, addr), want)

static void covers_its_range_from_its_time(void **state)
{
	struct jit_hit hit;

	load(100, 0x1000, 0x40, "f");
	assert_at(150, 0xfff, "");
	assert_at(150, 0x1040, "");
	assert_true(jit_code__lookup(code, 150, 0x103f, &hit));
	assert_string_equal(hit.name, "f");
	assert_int_equal(hit.start, 0x1000);
	assert_int_equal(hit.known, 100);
	assert_false(hit.late);
}

static void the_latest_holds(void **state)
{
	load(300, 0x1000, 0x40, "third");
	load(100, 0x1000, 0x40, "first");
	load(200, 0x1010, 0x10, "second");
	assert_at(199, 0x1010, "first");
	assert_at(200, 0x100f, "first");
	assert_at(200, 0x1010, "second");
	assert_at(200, 0x101f, "second");
	assert_at(200, 0x1020, "first");
	assert_at(300, 0x1010, "third");
}

static void file_order_decides_between_equal_times(void **state)
{
	load(100, 0x1000, 0x40, "a");
	load(100, 0x1000, 0x40, "b");
	assert_at(100, 0x1000, "b");
	load(100, 0x1000, 0x40, "c");
	assert_at(100, 0x1000, "c");
}

static void what_comes_late_lies_below_what_is_newer(void **state)
{
	load(200, 0x1010, 0x10, "newer");
	assert_at(250, 0x1010, "newer");
	load(100, 0x1000, 0x40, "late");
	assert_at(250, 0x1010, "newer");
	assert_at(250, 0x100f, "late");
	assert_at(250, 0x1020, "late");
	assert_at(250, 0x103f, "late");
}

static void the_earliest_to_come_is_accepted_as_late(void **state)
{
	struct jit_hit hit;

	load(300, 0x1000, 0x40, "later");
	load(200, 0x1000, 0x40, "late");
	assert_true(jit_code__lookup(code, 100, 0x1000, &hit));
	assert_string_equal(hit.name, "late");
	assert_true(hit.late);
	assert_at(300, 0x1000, "later");
}

static void a_move_keeps_the_identity_and_leaves_nothing(void **state)
{
	load(50, 0x1000, 0x100, "below");
	load(100, 0x1000, 0x40, "f");
	move(200, 0x1000, 0x2000, 0x40);
	move(300, 0x2000, 0x3000, 0x80);
	assert_at(150, 0x1000, "f");
	assert_at(200, 0x1000, "");
	assert_at(200, 0x1040, "below");
	assert_at(200, 0x203f, "f");
	assert_at(300, 0x2000, "");
	assert_at(300, 0x303f, "f");
	assert_at(300, 0x3040, "");
	assert_int_equal(jit_pool__stats(pool)->moves_resized, 1);
}

static void a_move_of_what_isnt_there_is_counted(void **state)
{
	load(100, 0x1000, 0x40, "f");
	move(200, 0x1010, 0x2000, 0x40);
	move(200, 0x5000, 0x2000, 0x40);
	move(200, 0x1000, ~0ull - 0x20, 0x40);
	assert_at(250, 0x1000, "f");
	assert_at(250, 0x2000, "");
	assert_int_equal(jit_pool__stats(pool)->moves_unknown, 2);
}

static void ranges_that_make_no_sense_are_counted(void **state)
{
	load(100, 0x1000, 0, "empty");
	load(100, 0x1000, ~0ull, "wraps");
	load(100, 0xffffffff81000000, 0x40, "kernel");
	assert_at(200, 0x1000, "");
	assert_int_equal(jit_pool__stats(pool)->bad_loads, 3);
	assert_int_equal(jit_pool__funcs(pool), 0);
}

static void a_child_has_what_its_parent_had(void **state)
{
	struct jit_code *child;

	load(100, 0x1000, 0x40, "old");
	assert_at(150, 0x1000, "old");
	load(200, 0x2000, 0x40, "before");
	load(300, 0x3000, 0x40, "after");
	child = jit_code__fork(code, 250);
	assert_non_null(child);
	load(400, 0x1000, 0x40, "new");
	assert_at(400, 0x1000, "new");
	load_to(child, 400, 0x2000, 0x40, 0, "own");
	assert_string_equal(at_in(child, 399, 0x1000), "old");
	assert_string_equal(at_in(child, 399, 0x2000), "before");
	assert_string_equal(at_in(child, 400, 0x2000), "own");
	assert_string_equal(at_in(child, 400, 0x3000), "");
	assert_at(400, 0x2000, "before");
	assert_at(400, 0x3000, "after");
	/* The child outlives its parent. */
	jit_code__free(code);
	assert_string_equal(at_in(child, 400, 0x1000), "old");
	code = child;
}

static void versions_tell_of_every_change(void **state)
{
	uint64_t v = jit_code__version(code);
	struct jit_code *other = jit_code__new(pool);

	assert_int_not_equal(v, jit_code__version(other));
	jit_code__free(other);
	load(100, 0x1000, 0x40, "f");
	assert_int_not_equal(v, jit_code__version(code));
	v = jit_code__version(code);
	jit_code__advance(code, 100);
	assert_int_not_equal(v, jit_code__version(code));
	v = jit_code__version(code);
	jit_code__advance(code, 200);
	assert_int_equal(v, jit_code__version(code));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void lines(uint64_t addr, uint64_t first, uint32_t line, const char *file)
{
	struct jit_line l[] = {
		{ first, line, file, strlen(file) },
		{ first + 0x10, line + 1, file, strlen(file) },
	};

	jit_code__lines(code, addr, l, 2);
}

static void assert_line(uint64_t time, uint64_t addr, const char *file, uint32_t line)
{
	struct jit_hit hit;

	assert_true(jit_code__lookup(code, time, addr, &hit));
	if (!file) {
		assert_null(hit.file);
		return;
	}
	assert_non_null(hit.file);
	assert_string_equal(hit.file, file);
	assert_int_equal(hit.line, line);
}

static void lines_before_and_after_their_function(void **state)
{
	lines(0x1000, 0x1000, 10, "a.js");
	load(100, 0x1000, 0x40, "a");
	load(100, 0x2000, 0x40, "b");
	lines(0x2000, 0x2004, 20, "b.js");
	assert_line(200, 0x1000, "a.js", 10);
	assert_line(200, 0x100f, "a.js", 10);
	assert_line(200, 0x103f, "a.js", 11);
	assert_line(200, 0x2003, NULL, 0);
	assert_line(200, 0x2014, "b.js", 21);
}

static void lines_of_the_next_function_are_not_lent_for_good(void **state)
{
	load(100, 0x1000, 0x40, "none");
	jit_code__advance(code, 150);
	lines(0x1000, 0x1000, 10, "a.js");
	load(200, 0x1000, 0x40, "a");
	assert_line(160, 0x1000, NULL, 0);
	assert_line(200, 0x1000, "a.js", 10);
}

static void lines_that_leave_their_function_are_dropped(void **state)
{
	lines(0x1000, 0x1080, 10, "a.js");
	load(100, 0x1000, 0x40, "a");
	lines(0x2000, 0x1ff0, 10, "b.js");
	load(100, 0x2000, 0x40, "b");
	assert_line(200, 0x1000, NULL, 0);
	assert_line(200, 0x2010, NULL, 0);
	assert_int_equal(jit_pool__stats(pool)->tables_dropped, 2);
}

static void lines_may_all_be_too_high(void **state)
{
	lines(0x1000, 0x1040, 10, "a.js");
	load(100, 0x1000, 0x40, "a");
	assert_line(200, 0x1000, "a.js", 10);
	assert_line(200, 0x1010, "a.js", 11);
	move(300, 0x1000, 0x5000, 0x40);
	assert_line(300, 0x5010, "a.js", 11);
	/* One that isn't: so none is. */
	lines(0x2000, 0x2000, 20, "b.js");
	load(300, 0x2000, 0x80, "b");
	lines(0x3000, 0x3040, 30, "c.js");
	load(300, 0x3000, 0x80, "c");
	assert_line(400, 0x3000, NULL, 0);
	assert_line(400, 0x3040, "c.js", 30);
}

static void tables_without_functions_are_bounded(void **state)
{
	for (uint64_t i = 0; i < 100000; i++)
		lines(0x100000 + i * 0x100, 0x100000 + i * 0x100, i, "x.js");
	assert_true(jit_pool__bytes(pool) < 2 << 20);
	assert_true(jit_pool__stats(pool)->tables_dropped > 90000);
	load(100, 0x100000 + 99999 * 0x100, 0x40, "last");
	assert_line(100, 0x100000 + 99999 * 0x100, "x.js", 99999);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int setup_small(void **state)
{
	return setup_with(&(struct jit_pool_opts){
		.max_funcs = 1000, .max_bytes = 1 << 20, .keep_lines = true });
}

static void the_same_code_again_and_again_takes_no_room(void **state)
{
	for (uint64_t i = 1; i <= 1000000; i++)
		load(i, 0x1000 + i % 10 * 0x40, 0x40, "again");
	jit_code__advance(code, 1000001);
	assert_int_equal(jit_pool__funcs(pool), 10);
	assert_true(jit_pool__bytes(pool) < 100);
	assert_int_equal(jit_pool__stats(pool)->evicted, 0);
	assert_int_equal(jit_pool__stats(pool)->dropped, 0);
}

static void what_covers_many_is_one(void **state)
{
	for (uint64_t i = 0; i < 500; i++)
		load(i, 0x1000 + i * 0x40, 0x20, "small");
	load(1000, 0x1000, 500 * 0x40, "large");
	jit_code__advance(code, 1000);
	assert_int_equal(jit_pool__funcs(pool), 1);
	assert_at(1000, 0x1000 + 499 * 0x40 + 0x3f, "large");
}

static void the_oldest_without_samples_go_first(void **state)
{
	struct jit_code *small = jit_code__new(pool);
	char name[32];

	for (uint64_t i = 0; i < 100; i++)
		load_to(small, i, i * 0x40, 0x40, 0, "small");
	load(1, 0x1000, 0x40, "hit");
	assert_at(10, 0x1000, "hit");
	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%d", (int)i);
		load(10 + i, 0x10000 + i * 0x40, 0x40, name);
		assert_true(jit_pool__funcs(pool) <= 1001);
	}
	assert_at(10000, 0x1000, "hit");
	assert_at(10000, 0x10000 + 4999 * 0x40, "f4999");
	assert_at(10000, 0x10000 + 4300 * 0x40, "f4300");
	assert_at(10000, 0x10000, "");
	/* Another's code is untouched. */
	for (uint64_t i = 0; i < 100; i++)
		assert_string_equal(at_in(small, 10000, i * 0x40), "small");
	jit_code__free(small);
	assert_true(jit_pool__stats(pool)->evicted >= 4000);
}

static void names_are_bounded(void **state)
{
	struct jit_code *small = jit_code__new(pool);
	char name[JIT_NAME_MAX + 100];

	load_to(small, 1, 0x1000, 0x40, 0, "small");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 3000; i++) {
		name[snprintf(name, 10, "%d", i)] = 'x';
		load(i, 0x10000 + i * 0x40, 0x40, name);
		assert_true(jit_pool__bytes(pool) <= (1 << 20) + JIT_NAME_MAX + 100);
	}
	assert_int_equal(strlen(at_in(code, 5000, 0x10000 + 2999 * 0x40)), JIT_NAME_MAX);
	assert_string_equal(at_in(small, 5000, 0x1000), "small");
	jit_code__free(small);
}

static void large_tables_make_room_themselves(void **state)
{
	static struct jit_line l[4000];
	struct jit_code *small = jit_code__new(pool);

	load_to(small, 1, 0x1000, 0x40, 0, "small");
	for (int i = 0; i < 4000; i++)
		l[i] = (struct jit_line){ 0x10000 + i, i, "f", 1 };
	for (uint64_t i = 0; i < 100; i++) {
		for (int k = 0; k < 4000; k++)
			l[k].addr = (i << 16) + k;
		jit_code__lines(code, i << 16, l, 4000);
		load(i, i << 16, 0x1000, "f");
	}
	assert_true(jit_pool__bytes(pool) < 2 << 20);
	assert_string_equal(at_in(small, 5000, 0x1000), "small");
	jit_code__free(small);
}

static void a_function_with_too_many_gaps_is_cut(void **state)
{
	for (uint64_t i = 0; i < 3000; i++)
		load(200, 0x1000 + i * 0x10, 8, "piece");
	jit_code__advance(code, 300);
	load(100, 0x1000, 0x10000, "blob");
	assert_at(300, 0x1008, "blob");
	assert_at(300, 0x1000 + 2999 * 0x10 + 8, "");
	assert_int_equal(jit_pool__stats(pool)->dropped, 1);
}

/* ---- against the whole list ------------------------------------------------------------------ */

#define RANDOM_LOADS 3000
#define RANDOM_SPACE 0x4000

struct model {
	uint64_t time, start, end;
	char name[16];
};

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static const char *model_at(const struct model *m, size_t nr, uint64_t time, uint64_t addr)
{
	const struct model *best = NULL, *late = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (addr < m[i].start || addr >= m[i].end)
			continue;
		if (m[i].time <= time && (!best || m[i].time >= best->time))
			best = &m[i];
		if (m[i].time > time && (!late || m[i].time < late->time))
			late = &m[i];
	}
	return best ? best->name : late ? late->name : "";
}

static void agrees_with_a_search_of_all(void **state)
{
	static struct model m[RANDOM_LOADS];

	for (size_t i = 0; i < RANDOM_LOADS; i++) {
		uint64_t size = 1 + rnd(rnd(10) ? 0x40 : 0x800);

		m[i] = (struct model){ .time = rnd(1000), .start = rnd(RANDOM_SPACE) };
		m[i].end = m[i].start + size;
		snprintf(m[i].name, sizeof(m[i].name), "f%zu", i);
		load(m[i].time, m[i].start, size, m[i].name);
	}
	/* At each step also what comes late: loads of a time already reached. */
	for (uint64_t time = 0; time < 1000; time += 50)
		for (int i = 0; i < 500; i++) {
			uint64_t addr = rnd(RANDOM_SPACE + 0x100);

			assert_at(time, addr, model_at(m, RANDOM_LOADS, time, addr));
		}
}

static void agrees_when_loads_come_late(void **state)
{
	static struct model m[RANDOM_LOADS];

	for (size_t i = 0; i < RANDOM_LOADS; i++) {
		uint64_t size = 1 + rnd(0x80), addr = rnd(RANDOM_SPACE);

		m[i] = (struct model){ .time = rnd(1000), .start = rnd(RANDOM_SPACE) };
		m[i].end = m[i].start + size;
		snprintf(m[i].name, sizeof(m[i].name), "f%zu", i);
		load(m[i].time, m[i].start, size, m[i].name);
		assert_at(1000, addr, model_at(m, i + 1, 1000, addr));
	}
}

#define TEST(name)	 cmocka_unit_test_setup_teardown(name, setup, teardown)
#define SMALL_TEST(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(covers_its_range_from_its_time),
		TEST(the_latest_holds),
		TEST(file_order_decides_between_equal_times),
		TEST(what_comes_late_lies_below_what_is_newer),
		TEST(the_earliest_to_come_is_accepted_as_late),
		TEST(a_move_keeps_the_identity_and_leaves_nothing),
		TEST(a_move_of_what_isnt_there_is_counted),
		TEST(ranges_that_make_no_sense_are_counted),
		TEST(a_child_has_what_its_parent_had),
		TEST(versions_tell_of_every_change),
		TEST(lines_before_and_after_their_function),
		TEST(lines_of_the_next_function_are_not_lent_for_good),
		TEST(lines_that_leave_their_function_are_dropped),
		TEST(lines_may_all_be_too_high),
		TEST(tables_without_functions_are_bounded),
		SMALL_TEST(the_same_code_again_and_again_takes_no_room),
		SMALL_TEST(what_covers_many_is_one),
		SMALL_TEST(the_oldest_without_samples_go_first),
		SMALL_TEST(names_are_bounded),
		SMALL_TEST(large_tables_make_room_themselves),
		TEST(a_function_with_too_many_gaps_is_cut),
		TEST(agrees_with_a_search_of_all),
		TEST(agrees_when_loads_come_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
