// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "proc/ksyms.h"
#include "profile/ledger.h"
#include "profile/profile.h"

static void equal_frames_are_one(void **state)
{
	struct profile *p = profile__new(&(struct profile_opts){ 0 });
	struct frame f = { .kind = FRAME_NATIVE, .dso = 1, .off = 10 };
	uint32_t a, b;

	assert_int_equal(profile__frame(p, &f, &a), 0);
	assert_int_equal(profile__frame(p, &f, &b), 0);
	assert_int_equal(a, b);
	f.dso = 2;
	assert_int_equal(profile__frame(p, &f, &b), 0);
	assert_int_not_equal(a, b);
	f.kind = FRAME_KERNEL;
	f.dso = 1;
	assert_int_equal(profile__frame(p, &f, &b), 0);
	assert_int_not_equal(a, b);
	profile__free(p);
}

static void add(struct profile *p, const char *comm, uint32_t pid, uint32_t tid, uint16_t nr_kernel,
		uint16_t nr_user, const uint32_t *frames)
{
	struct stack key = {
		.comm = comm, .pid = pid, .tid = tid, .nr_kernel = nr_kernel, .nr_user = nr_user
	};

	assert_int_equal(profile__add(p, &key, frames), 0);
}

static void stacks_are_told_apart(void **state)
{
	struct profile *p = profile__new(&(struct profile_opts){ 0 });
	static const uint32_t ab[] = { 1, 2 }, ba[] = { 2, 1 };

	add(p, "x", 1, 1, 1, 1, ab);
	add(p, "x", 1, 1, 1, 1, ab);
	add(p, "x", 7, 8, 1, 1, ab); /* processes fold into one */
	assert_int_equal(p->stacks.len, 1);
	assert_int_equal(p->stacks.data[0].count, 3);
	add(p, "x", 1, 1, 1, 1, ba);
	add(p, "y", 1, 1, 1, 1, ab);
	add(p, "x", 1, 1, 0, 2, ab);
	add(p, "x", 1, 1, 1, 0, ab);
	add(p, "x", 1, 1, 0, 0, NULL);
	assert_int_equal(p->stacks.len, 6);
	assert_int_equal(p->samples, 8);
	profile__free(p);
}

static void a_frame_becomes_another(void **state)
{
	struct profile *p = profile__new(&(struct profile_opts){ 0 });
	struct frame unnamed = { .kind = FRAME_UNKNOWN, .dso = 1, .off = 10 };
	struct frame named = { .kind = FRAME_NAMED, .named_jit = true, .name = "f" };
	uint32_t i, k, again;

	assert_int_equal(profile__frame(p, &unnamed, &i), 0);
	profile__set_frame(p, i, &named);
	assert_int_equal(p->frame_index.len, 1);
	assert_int_equal(profile__frame(p, &named, &again), 0);
	assert_int_equal(again, i);
	assert_int_equal(profile__frame(p, &unnamed, &k), 0);
	assert_int_not_equal(k, i);
	/* Equal to one that is there: both stay, and new stacks get the first. */
	profile__set_frame(p, k, &named);
	assert_int_equal(p->frame_index.len, 1);
	assert_string_equal(p->frames.data[k].name, "f");
	assert_int_equal(profile__frame(p, &named, &again), 0);
	assert_int_equal(again, i);
	profile__free(p);
}

static void processes_and_threads_apart_when_asked(void **state)
{
	static const uint32_t ab[] = { 1, 2 };

	for (int tid = 0; tid < 2; tid++) {
		struct profile_opts opts = { .by_pid = !tid, .by_tid = tid };
		struct profile *p = profile__new(&opts);

		add(p, "x", 1, 1, 1, 1, ab);
		add(p, "x", 1, 2, 1, 1, ab);
		add(p, "x", 2, 3, 1, 1, ab);
		assert_int_equal(p->stacks.len, tid ? 3 : 2);
		assert_int_equal(p->stacks.data[0].pid, 1);
		assert_int_equal(p->stacks.data[0].tid, tid);
		profile__free(p);
	}
}

/* Every sample is in exactly one stack: counts by an array beside it. */
static void counts_agree_with_an_array(void **state)
{
	enum { STACKS = 1000, SAMPLES = 200000 };
	struct profile *p = profile__new(&(struct profile_opts){ 0 });
	uint64_t want[STACKS] = { 0 }, seed = 3;

	for (int i = 0; i < SAMPLES; i++) {
		uint32_t n, frames[2];

		seed = hash_u64(seed + i);
		n = seed % STACKS;
		frames[0] = n % 30;
		frames[1] = n / 30;
		add(p, "c", 0, 0, 0, 2, frames);
		want[n]++;
	}
	assert_int_equal(p->stacks.len, STACKS);
	assert_int_equal(p->samples, SAMPLES);
	vec_for_each(&p->stacks, s) {
		const uint32_t *frames = profile__stack_frames(p, s);

		assert_int_equal(s->count, want[frames[1] * 30 + frames[0]]);
	}
	profile__free(p);
}

/*
 * As many stacks as fit, and many more: with TMPDIR set to dir. Each of 3,000 stacks comes as often
 * as an array says, however many times and in however many places it lies.
 */
static struct profile *many_more_than_fit(const char *dir, uint64_t want[3000])
{
	struct profile *p = profile__new(&(struct profile_opts){ .stacks_held = 100 });
	uint64_t seed = 5;

	setenv("TMPDIR", dir, 1);
	for (int i = 0; i < 100000; i++) {
		static const char *const comms[] = { "a", "bb" };
		uint32_t frames[40], n;

		seed = hash_u64(seed + i);
		/* A half of the samples in ten stacks, the rest anywhere. */
		n = seed & 1 ? seed / 2 % 10 : seed / 2 % 3000;
		for (uint32_t j = 0; j < 1 + n % 40; j++)
			frames[j] = n + j;
		add(p, comms[n & 1], 0, 0, 1 + n % 40, 0, frames);
		want[n]++;
	}
	unsetenv("TMPDIR");
	return p;
}

static void check_counts(const struct profile *p, const uint64_t want[3000])
{
	static uint64_t got[3000];
	uint64_t sum = 0;
	struct stack_iter it;
	int err;

	memset(got, 0, sizeof(got));
	stack_iter__init(&it, p);
	while ((err = stack_iter__next(&it)) > 0) {
		uint32_t n = it.frames[0];

		assert_true(n < 3000);
		assert_string_equal(it.stack->comm, n & 1 ? "bb" : "a");
		assert_int_equal(it.stack->nr_kernel, 1 + n % 40);
		for (int j = 0; j < it.stack->nr_kernel; j++)
			assert_int_equal(it.frames[j], n + j);
		got[n] += it.stack->count;
		sum += it.stack->count;
	}
	assert_int_equal(err, 0);
	stack_iter__done(&it);
	assert_int_equal(sum, p->samples);
	assert_memory_equal(got, want, sizeof(got));
}

static void what_does_not_fit_goes_to_a_file(void **state)
{
	static uint64_t want[3000];
	struct profile *p = many_more_than_fit("/tmp", want);

	assert_true(p->stacks.len <= 100);
	assert_int_equal(p->spill_error, 0);
	assert_true(p->spill.size > 0);
	check_counts(p, want);
	/* The ten that come all the time stayed: a file of every sample would be 8 MB. */
	assert_true(p->spill.size < 100000 / 2 * 1.1 * (sizeof(struct stack) + 41 * 4));
	/* And once more: an output after another one. */
	check_counts(p, want);
	profile__free(p);
}

static void where_no_file_can_be_had_all_is_held(void **state)
{
	static uint64_t want[3000];
	struct profile *p = many_more_than_fit("/nonexistent", want);

	assert_int_equal(p->spill_error, -ENOENT);
	assert_int_equal(p->spill.size, 0);
	check_counts(p, want);
	profile__free(p);
}

static void a_file_that_was_cut_is_an_error(void **state)
{
	static uint64_t want[3000];
	struct profile *p = many_more_than_fit("/tmp", want);
	struct stack_iter it;
	int err;

	assert_int_equal(ftruncate(p->spill.fd, p->spill.size - 1), 0);
	stack_iter__init(&it, p);
	while ((err = stack_iter__next(&it)) > 0)
		;
	assert_int_equal(err, -EIO);
	stack_iter__done(&it);
	profile__free(p);
}

static void a_full_profile_counts_nothing_it_refuses(void **state)
{
	struct profile *p = profile__new(&(struct profile_opts){ 0 });
	static const uint32_t ab[] = { 1, 2 }, ba[] = { 2, 1 };
	struct stack key = { .comm = "x", .nr_user = 2 };

	p->stacks.max = 1;
	assert_int_equal(profile__add(p, &key, ab), 0);
	assert_int_equal(profile__add(p, &key, ba), -E2BIG);
	assert_int_equal(profile__add(p, &key, ab), 0);
	assert_int_equal(p->samples, 2);
	assert_int_equal(p->stacks.data[0].count, 2);
	profile__free(p);
}

static void ledger_line(void **state)
{
	struct ledger l = { .aggregated = 9871 };
	struct buf b;

	l.count[LEDGER_fired] = 9970;
	l.count[LEDGER_filtered_target] = 80;
	l.count[LEDGER_filtered_mode] = 7;
	l.count[LEDGER_ring_full] = 12;
	l.count[LEDGER_missed] = 3;
	assert_true(ledger__close(&l));
	buf__init(&b, 1000);
	ledger__format(&l, &b);
	assert_string_equal(b.data, "ledger: fired=9970 aggregated=9871 filtered=87 lost=12 "
				    "missed=3 (ring_full=12)");
	buf__done(&b);
}

static void ledger_without_loss(void **state)
{
	struct ledger l = { .aggregated = 5 };
	struct buf b;

	l.count[LEDGER_fired] = 5;
	assert_true(ledger__close(&l));
	buf__init(&b, 1000);
	ledger__format(&l, &b);
	assert_string_equal(b.data, "ledger: fired=5 aggregated=5 filtered=0 lost=0 missed=0");
	buf__done(&b);
}

static void ledger_tells_what_it_cannot_account_for(void **state)
{
	struct ledger l = { .aggregated = 5 };

	l.count[LEDGER_fired] = 7;
	assert_true(ledger__close(&l));
	assert_int_equal(l.count[LEDGER_unaccounted], 2);
	assert_int_equal(ledger__lost(&l), 2);
	l.aggregated = 6;
	assert_false(ledger__close(&l));
}

static void ksymbol(struct ksyms *k, uint64_t addr, uint32_t len, const char *name, bool gone)
{
	char bytes[sizeof(struct rec_ksymbol) + 32] __attribute__((aligned(8))) = { 0 };
	struct rec_ksymbol *r = (struct rec_ksymbol *)bytes;

	r->hdr = (struct rec_hdr){ .type = REC_KSYMBOL,
				   .length = sizeof(bytes),
				   .flags = gone ? REC_F_UNREGISTER : 0 };
	r->addr = addr;
	r->len = len;
	strcpy(r->name, name);
	ksyms__apply(k, r);
}

static void ksyms_come_and_go(void **state)
{
	struct strtab *strings = strtab__new(1 << 20);
	uint64_t version;
	struct ksyms k;

	ksyms__init(&k, strings);
	ksymbol(&k, 0x2000, 0x100, "b", false);
	ksymbol(&k, 0x1000, 0x100, "a", false);
	assert_string_equal(ksyms__lookup(&k, 0x1000)->name, "a");
	assert_string_equal(ksyms__lookup(&k, 0x20ff)->name, "b");
	assert_null(ksyms__lookup(&k, 0xfff));
	assert_null(ksyms__lookup(&k, 0x1100));
	version = k.version;
	ksymbol(&k, 0x1000, 0x100, "a", true);
	assert_null(ksyms__lookup(&k, 0x1000));
	assert_false(k.version == version);
	/* The freed text is used by another. */
	ksymbol(&k, 0x1080, 0x1000, "c", false);
	assert_string_equal(ksyms__lookup(&k, 0x2010)->name, "c");
	assert_null(ksyms__lookup(&k, 0x20f0));
	ksymbol(&k, UINT64_MAX - 1, 0x1000, "wraps", false);
	assert_null(ksyms__lookup(&k, UINT64_MAX - 1));
	ksyms__done(&k);
	strtab__free(strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_frames_are_one),
		cmocka_unit_test(stacks_are_told_apart),
		cmocka_unit_test(a_frame_becomes_another),
		cmocka_unit_test(processes_and_threads_apart_when_asked),
		cmocka_unit_test(counts_agree_with_an_array),
		cmocka_unit_test(what_does_not_fit_goes_to_a_file),
		cmocka_unit_test(where_no_file_can_be_had_all_is_held),
		cmocka_unit_test(a_file_that_was_cut_is_an_error),
		cmocka_unit_test(a_full_profile_counts_nothing_it_refuses),
		cmocka_unit_test(ledger_line),
		cmocka_unit_test(ledger_without_loss),
		cmocka_unit_test(ledger_tells_what_it_cannot_account_for),
		cmocka_unit_test(ksyms_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
