// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/vec.h"

static void vec_stops_at_its_maximum(void **state)
{
	struct {
		VEC(int) v;
	} x;

	vec_init(&x.v, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(vec_push(&x.v, i), 0);
	assert_int_equal(vec_push(&x.v, 10), -E2BIG);
	assert_int_equal(x.v.len, 10);
	vec_done(&x.v);
}

static void vec_without_init_refuses(void **state)
{
	struct {
		VEC(int) v;
	} x = { 0 };

	assert_int_equal(vec_push(&x.v, 1), -E2BIG);
}

static void vec_inserts_and_removes(void **state)
{
	static const int want[] = { 0, 9, 3, 4 };
	struct {
		VEC(int) v;
	} x;

	vec_init(&x.v, 100);
	for (int i = 0; i < 5; i++)
		assert_int_equal(vec_push(&x.v, i), 0);
	vec_remove(&x.v, 1, 2);
	assert_int_equal(vec_insert(&x.v, 1, 9), 0);
	assert_int_equal(x.v.len, 4);
	assert_memory_equal(x.v.data, want, sizeof(want));
	vec_done(&x.v);
}

static void buf_keeps_the_first_error(void **state)
{
	struct buf b;

	buf__init(&b, 5);
	buf__puts(&b, "12345");
	assert_int_equal(buf__error(&b), 0);
	buf__putc(&b, '6');
	assert_int_equal(buf__error(&b), -E2BIG);
	assert_string_equal(b.data, "12345");
	buf__clear(&b);
	buf__printf(&b, "%d", 77);
	assert_int_equal(buf__error(&b), 0);
	assert_string_equal(b.data, "77");
	buf__done(&b);
}

static void buf_reads_up_to_its_maximum(void **state)
{
	int pipe_fds[2];
	struct buf b;

	for (size_t max = 9; max <= 10; max++) {
		assert_int_equal(pipe(pipe_fds), 0);
		assert_int_equal(write(pipe_fds[1], "0123456789", 10), 10);
		close(pipe_fds[1]);
		buf__init(&b, max);
		assert_int_equal(buf__read_fd(&b, pipe_fds[0]), max == 10 ? 0 : -E2BIG);
		close(pipe_fds[0]);
		buf__done(&b);
	}
}

/* Keys that are their own index; the reference is an array of flags. */
static bool is_key(const void *ctx, uint32_t index)
{
	return *(const uint32_t *)ctx == index;
}

static void hashmap_agrees_with_an_array(void **state)
{
	enum { KEYS = 500, STEPS = 100000 };
	bool there[KEYS] = { 0 };
	struct hashmap m;
	uint64_t seed = 1;

	hashmap__init(&m, KEYS);
	for (int i = 0; i < STEPS; i++) {
		uint32_t key;
		/* Few distinct hashes: long runs, where removal has to shift back. */
		uint64_t hash;

		seed = hash_u64(seed + i);
		key = seed % KEYS;
		hash = hash_u64(key % 37);
		assert_int_equal(hashmap__find(&m, hash, is_key, &key),
				 there[key] ? key : HASHMAP_NONE);
		if (there[key])
			assert_true(hashmap__remove(&m, hash, key));
		else
			assert_int_equal(hashmap__add(&m, hash, key), 0);
		there[key] = !there[key];
	}
	hashmap__done(&m);
}

static void hashmap_stops_at_its_maximum(void **state)
{
	struct hashmap m;
	uint32_t key = 3;

	hashmap__init(&m, 1);
	assert_int_equal(hashmap__find(&m, 1, is_key, &key), HASHMAP_NONE);
	assert_false(hashmap__remove(&m, 1, 3));
	assert_int_equal(hashmap__add(&m, 1, 3), 0);
	assert_int_equal(hashmap__add(&m, 2, 4), -E2BIG);
	hashmap__done(&m);
}

static void strtab_gives_one_copy(void **state)
{
	struct strtab *st = strtab__new(1 << 20);
	const char *a, *b, *c, *empty;
	char big[100000];

	assert_int_equal(strtab__intern(st, "abcdef", 3, &a), 0);
	assert_int_equal(strtab__intern(st, "abc", 10, &b), 0);
	assert_ptr_equal(a, b);
	assert_string_equal(a, "abc");
	assert_int_equal(strtab__intern(st, "abcdef", 6, &c), 0);
	assert_ptr_not_equal(a, c);
	assert_int_equal(strtab__intern(st, "", 0, &empty), 0);
	assert_string_equal(empty, "");
	memset(big, 'x', sizeof(big));
	assert_int_equal(strtab__intern(st, big, sizeof(big), &b), 0);
	assert_int_equal(strlen(b), sizeof(big));
	/* After one of its own chunk, small ones still don't overlap. */
	assert_int_equal(strtab__intern(st, "tail", 4, &c), 0);
	assert_int_equal(strlen(b), sizeof(big));
	assert_string_equal(a, "abc");
	strtab__free(st);
}

static void strtab_is_bounded(void **state)
{
	struct strtab *st = strtab__new(4);
	const char *s;

	assert_int_equal(strtab__intern(st, "abc", 3, &s), 0);
	assert_int_equal(strtab__intern(st, "de", 2, &s), -E2BIG);
	assert_int_equal(strtab__intern(st, "abc", 3, &s), 0);
	assert_int_equal(strtab__bytes(st), 3);
	strtab__free(st);
}

static void cursor_stops_at_the_end(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 0, 3, 0, 0, 0, 'h', 'i', 0, 'x' };
	struct cursor c = cursor__over(bytes, sizeof(bytes));
	size_t len;

	assert_int_equal(cursor__u8(&c), 1);
	assert_int_equal(cursor__u16(&c), 2);
	assert_int_equal(cursor__u32(&c), 3);
	assert_string_equal(cursor__str(&c, &len), "hi");
	assert_int_equal(len, 2);
	assert_null(cursor__str(&c, &len));
	assert_true(c.bad);
	/* Once bad, everything reads as zero. */
	assert_int_equal(cursor__u8(&c), 0);
	assert_null(cursor__bytes(&c, 0));
}

static void cursor_swaps(void **state)
{
	static const uint8_t bytes[] = { 0, 2, 0, 0, 0, 0, 0, 0, 0, 3 };
	struct cursor c = cursor__over(bytes, sizeof(bytes));

	c.swap = true;
	assert_int_equal(cursor__u16(&c), 2);
	assert_int_equal(cursor__u64(&c), 3);
	assert_false(c.bad);
	assert_int_equal(cursor__left(&c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vec_stops_at_its_maximum),
		cmocka_unit_test(vec_without_init_refuses),
		cmocka_unit_test(vec_inserts_and_removes),
		cmocka_unit_test(buf_keeps_the_first_error),
		cmocka_unit_test(buf_reads_up_to_its_maximum),
		cmocka_unit_test(hashmap_agrees_with_an_array),
		cmocka_unit_test(hashmap_stops_at_its_maximum),
		cmocka_unit_test(strtab_gives_one_copy),
		cmocka_unit_test(strtab_is_bounded),
		cmocka_unit_test(cursor_stops_at_the_end),
		cmocka_unit_test(cursor_swaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
