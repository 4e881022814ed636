// SPDX-License-Identifier: GPL-2.0-or-later
/* The order in which samples and task records are handed out. */
#include <errno.h>
#include <stdio.h>

#include "source/merge.h"
#include "unit.h"

#define NOBODY 0xffffffff

/* What came out: type and number (in cpu, which merge doesn't look at), a record a line. */
struct seen {
	char text[4096];
	uint32_t fail_at;
};

static int see(void *ctx, const struct rec_hdr *rec)
{
	struct seen *s = ctx;
	size_t len = strlen(s->text);

	if (rec->cpu == s->fail_at)
		return -EIO;
	snprintf(s->text + len, sizeof(s->text) - len, "%s%u ", rec->type == REC_SAMPLE ? "s" : "t",
		 rec->cpu);
	return 0;
}

static void run(struct merge *m, uint64_t cutoff, const char *expected)
{
	struct seen s = { .fail_at = NOBODY };
	struct source_sink sink = { .record = see, .ctx = &s };

	assert_int_equal(merge__run(m, cutoff, &sink), 0);
	assert_string_equal(s.text, expected);
}

static void task(struct merge *m, uint64_t time, uint32_t n)
{
	struct rec_task t = {
		.hdr = { .type = REC_FORK, .length = sizeof(t), .time = time, .cpu = n },
	};

	assert_int_equal(merge__add_task(m, &t.hdr), 0);
}

static struct rec_hdr sample_at(uint64_t time, uint32_t n)
{
	return (struct rec_hdr){ .type = REC_SAMPLE, .length = 24, .time = time, .cpu = n };
}

static void test_one_sequence(void **state)
{
	struct rec_hdr a = sample_at(10, 1), b = sample_at(30, 2), c = sample_at(20, 3);
	struct merge m;

	assert_int_equal(merge__init(&m, 16, 4096), 0);
	merge__add_sample(&m, &a);
	merge__add_sample(&m, &b);
	merge__add_sample(&m, &c);
	/* Two rings, one after the other. */
	task(&m, 15, 4);
	task(&m, 40, 5);
	task(&m, 5, 6);
	task(&m, 25, 7);
	run(&m, 100, "t6 s1 t4 s3 t7 s2 t5 ");
	run(&m, 200, "");
	merge__done(&m);
}

static void test_equal_times(void **state)
{
	struct rec_hdr a = sample_at(10, 1), b = sample_at(10, 2), c = sample_at(9, 3);
	struct merge m;

	/* Task records first, and each kind in order of arrival. */
	assert_int_equal(merge__init(&m, 16, 4096), 0);
	merge__add_sample(&m, &a);
	merge__add_sample(&m, &b);
	merge__add_sample(&m, &c);
	task(&m, 10, 5);
	task(&m, 10, 4);
	task(&m, 10, 6);
	task(&m, 9, 7);
	run(&m, 10, "t7 s3 t5 t4 t6 s1 s2 ");
	merge__done(&m);
}

/* Newer than the cutoff: held, samples too, until what comes before it is here. */
static void test_held_back(void **state)
{
	struct rec_hdr a = sample_at(10, 1), b = sample_at(22, 2), late = sample_at(5, 3),
		       early = sample_at(24, 8);
	struct merge m;

	assert_int_equal(merge__init(&m, 16, 4096), 0);
	merge__add_sample(&m, &early);
	merge__add_sample(&m, &a);
	task(&m, 25, 4);
	task(&m, 20, 5);
	task(&m, 21, 6);
	run(&m, 20, "s1 t5 ");
	assert_int_equal(merge__held(&m), 3);
	/* A held sample is a copy: its ring is written over. */
	early = sample_at(1, 99);

	merge__add_sample(&m, &b);
	/* Older than what was handed out already: handed out all the same. */
	merge__add_sample(&m, &late);
	task(&m, 23, 7);
	run(&m, 23, "s3 t6 s2 t7 ");
	assert_int_equal(merge__held(&m), 2);
	run(&m, 23, "");
	run(&m, UINT64_MAX, "s8 t4 ");
	assert_int_equal(merge__held(&m), 0);
	merge__done(&m);
}

/* No room to hold a sample: it goes out early, but is not lost. */
static void test_no_room_to_hold(void **state)
{
	struct rec_hdr a = sample_at(10, 1), b = sample_at(11, 2);
	struct merge m;

	assert_int_equal(merge__init(&m, 16, sizeof(a)), 0);
	merge__add_sample(&m, &a);
	merge__add_sample(&m, &b);
	run(&m, 5, "s2 ");
	run(&m, 20, "s1 ");
	merge__done(&m);
}

/* Many rounds, each with something held back: memory stays as it was. */
static void test_flat(void **state)
{
	size_t cap = 0;
	struct merge m;

	assert_int_equal(merge__init(&m, 64, 64 * 1024), 0);
	for (uint32_t round = 1; round < 2000; round++) {
		struct seen s = { .fail_at = NOBODY };
		struct source_sink sink = { .record = see, .ctx = &s };

		for (uint32_t i = 0; i < 20; i++)
			task(&m, 100 * round + i, i);
		assert_int_equal(merge__run(&m, 100 * round + 9, &sink), 0);
		assert_int_equal(merge__held(&m), 10);
		assert_true(m.bytes.len == 10 * sizeof(struct rec_task));
		if (round == 100)
			cap = m.bytes.cap + m.spare.cap + m.items.cap;
		if (round > 100)
			assert_int_equal(m.bytes.cap + m.spare.cap + m.items.cap, cap);
	}
	merge__done(&m);
}

struct long_text {
	char text[16384];
	size_t len;
};

static void note(struct long_text *t, char kind, uint32_t n)
{
	t->len += snprintf(t->text + t->len, sizeof(t->text) - t->len, "%c%u ", kind, n);
}

static int note_record(void *ctx, const struct rec_hdr *rec)
{
	note(ctx, rec->type == REC_SAMPLE ? 's' : 't', rec->cpu);
	return 0;
}

/* Random times, many of them equal, against a counting sort. */
static void test_random(void **state)
{
	static struct rec_hdr samples[500];
	static struct long_text expected, got;
	struct source_sink sink = { .record = note_record, .ctx = &got };
	uint64_t task_times[500];
	unsigned int seed = 1;
	struct merge m;

	assert_int_equal(merge__init(&m, 1000, 1 << 20), 0);
	for (uint32_t i = 0; i < 500; i++) {
		samples[i] = sample_at(rand_r(&seed) % 300, i);
		assert_int_equal(merge__add_sample(&m, &samples[i]), 0);
		task_times[i] = rand_r(&seed) % 300;
		task(&m, task_times[i], i);
	}
	for (uint64_t t = 0; t < 300; t++) {
		for (uint32_t i = 0; i < 500; i++) {
			if (task_times[i] == t)
				note(&expected, 't', i);
		}
		for (uint32_t i = 0; i < 500; i++) {
			if (samples[i].time == t)
				note(&expected, 's', i);
		}
	}
	assert_int_equal(merge__run(&m, UINT64_MAX, &sink), 0);
	assert_string_equal(got.text, expected.text);
	merge__done(&m);
}

static void test_bounds(void **state)
{
	struct rec_hdr a = sample_at(1, 1), b = sample_at(2, 2), c = sample_at(3, 3);
	struct rec_task t = { .hdr = { .type = REC_FORK, .length = sizeof(t), .time = 4 } };
	struct rec_hdr small = { .length = sizeof(small), .time = 4, .cpu = 7 };
	struct merge m;

	assert_int_equal(merge__init(&m, 5, 2 * sizeof(t) + sizeof(small)), 0);
	assert_int_equal(merge__add_sample(&m, &a), 0);
	assert_int_equal(merge__add_sample(&m, &b), 0);
	task(&m, 1, 4);
	task(&m, 2, 5);
	assert_int_equal(merge__add_task(&m, &t.hdr), -E2BIG);
	assert_int_equal(merge__add_task(&m, &small), 0); /* a smaller one still fits */
	assert_int_equal(merge__add_sample(&m, &c), -E2BIG);
	run(&m, 10, "t4 s1 t5 s2 t7 ");
	task(&m, 3, 6); /* there is room again */
	run(&m, 10, "t6 ");

	task(&m, 11, 1);
	task(&m, 12, 2);
	assert_int_equal(merge__add_task(&m, &t.hdr), -E2BIG);
	assert_int_equal(merge__raise(&m, 8, 4 * sizeof(t)), 0);
	assert_int_equal(merge__raise(&m, 1, 1), 0);
	task(&m, 13, 3);
	task(&m, 14, 4);
	assert_int_equal(merge__add_task(&m, &t.hdr), -E2BIG);
	run(&m, 12, "t1 t2 ");
	run(&m, 20, "t3 t4 "); /* what was held is, also in the memory that was spare */
	merge__done(&m);
}

static void test_sink_fails(void **state)
{
	struct rec_hdr a = sample_at(1, 1), b = sample_at(3, 2);
	struct seen s = { .fail_at = 3 };
	struct source_sink sink = { .record = see, .ctx = &s };
	struct merge m;

	assert_int_equal(merge__init(&m, 8, 4096), 0);
	merge__add_sample(&m, &a);
	merge__add_sample(&m, &b);
	task(&m, 2, 3);
	task(&m, 20, 4);
	assert_int_equal(merge__run(&m, 10, &sink), -EIO);
	assert_string_equal(s.text, "s1 ");
	run(&m, 30, "t4 ");
	merge__done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_sequence), cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_held_back),    cmocka_unit_test(test_no_room_to_hold),
		cmocka_unit_test(test_flat),	     cmocka_unit_test(test_random),
		cmocka_unit_test(test_bounds),	     cmocka_unit_test(test_sink_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
