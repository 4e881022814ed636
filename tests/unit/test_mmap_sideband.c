// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The side-band against the kernel itself, in a ring of one page: what this process does comes
 * back as records, exactly and in order, also where they wrap, and what had no room is counted.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "collect/features.h"
#include "collect/mmap_sideband.h"
#include "unit.h"

struct comms {
	uint32_t me;
	unsigned int seen, out_of_order, next, losses;
	uint64_t lost, lost_at;
	bool refuses, refuses_losses; /* to take them */
};

static int count_comm(void *ctx, const struct rec_hdr *rec)
{
	const struct rec_comm *c = (const void *)rec;
	struct comms *s = ctx;
	unsigned int n;

	if (rec->type == REC_LOST) {
		s->lost_at = rec->time;
		if (s->refuses_losses)
			return -E2BIG;
		s->losses++;
		s->lost += ((const struct rec_lost *)rec)->count;
	}
	if (rec->type != REC_COMM || c->pid != s->me || sscanf(c->comm, "name-%u", &n) != 1)
		return 0;
	if (s->refuses)
		return -E2BIG;
	s->seen++;
	s->out_of_order += n < s->next;
	s->next = n + 1;
	return 0;
}

static void rename_self(unsigned int n)
{
	char name[REC_COMM_LEN];

	snprintf(name, sizeof(name), "name-%u", n);
	prctl(PR_SET_NAME, name);
}

/* One CPU, and this process on it. Skips the test where side-bands may not be opened. */
static struct sideband *open_with(size_t pages, bool lost_count)
{
	static const char *const none[] = { NULL };
	struct cpu_list online;
	struct cpu_list one;
	struct features f;
	struct sideband_opts o = { .cpus = &one, .ring_bytes = pages * getpagesize() };
	struct sideband *sb;
	const char *unknown;
	char *why = NULL, list[16];
	cpu_set_t set;
	int err;

	assert_int_equal(cpu_list__read(&online, "online"), 0);
	snprintf(list, sizeof(list), "%d", online.cpus.data[0]);
	assert_int_equal(cpu_list__parse(&one, list), 0);
	CPU_ZERO(&set);
	CPU_SET(one.cpus.data[0], &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	cpu_list__done(&online);

	assert_int_equal(features__probe(&f, none, NULL, &unknown), 0);
	o.ksymbol = f.has[FEATURE_KSYMBOL];
	o.lost_count = lost_count && f.has[FEATURE_LOST_COUNT];
	err = sideband__open(&o, &sb, &why);
	free(why);
	cpu_list__done(&one);
	if (err == -EACCES || err == -EPERM)
		skip();
	assert_int_equal(err, 0);
	return sb;
}

static struct sideband *open_small(void)
{
	return open_with(1, true);
}

static void test_wraps(void **state)
{
	struct comms s = { .me = getpid() };
	struct sideband *sb = open_small();

	/* 5 at a time leave room for what others do; 1000 go round the page about 15 times. */
	for (unsigned int i = 0; i < 1000; i++) {
		rename_self(i);
		if (i % 5 == 4)
			sideband__drain(sb, count_comm, &s);
	}
	sideband__drain(sb, count_comm, &s);
	sideband__update_lost(sb);
	assert_int_equal(s.out_of_order, 0);
	assert_int_equal(s.seen + sideband__lost(sb) >= 1000, true);
	assert_in_range(s.seen, 900, 1000);
	sideband__free(sb);
}

static void test_loss(void **state)
{
	struct comms s = { .me = getpid() };
	struct sideband *sb = open_small();
	struct timespec before;

	sideband__drain(sb, count_comm, &s);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (unsigned int i = 0; i < 1000; i++)
		rename_self(i);
	sideband__drain(sb, count_comm, &s);
	/* The ring was full: the kernel is asked at once, without a record that says so. */
	assert_true(s.lost > 0);
	/* Since the drain before, the first that may be missing is right after. */
	assert_in_range(s.lost_at, 1, before.tv_sec * 1000000000ull + before.tv_nsec);
	assert_in_range(s.seen, 1, 200);
	sideband__update_lost(sb);
	assert_true(s.seen + sideband__lost(sb) >= 1000);
	/* Others' records can be lost too, but there are few of them. */
	assert_true(s.seen + sideband__lost(sb) < 5000);
	rename_self(1000);
	sideband__drain(sb, count_comm, &s);
	assert_int_equal(s.next, 1001);
	sideband__free(sb);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* No record fits any more, so none says that some were lost, and the kernel doesn't count them. */
static void test_loss_that_nothing_tells(void **state)
{
	struct comms s = { .me = getpid() };
	struct sideband *sb = open_with(16, false);
	uint64_t before;

	sideband__drain(sb, count_comm, &s);
	for (unsigned int i = 0; i < 10; i++)
		rename_self(i);
	sideband__drain(sb, count_comm, &s);
	assert_int_equal(s.seen, 10);
	assert_int_equal(s.losses, 0);
	before = now();
	for (unsigned int i = 10; i < 3000; i++)
		rename_self(i);
	sideband__drain(sb, count_comm, &s);
	assert_in_range(s.seen, 10, 2000);
	assert_int_equal(s.losses, 1);
	assert_in_range(s.lost_at, 1, before);
	sideband__free(sb);
}

/* Records that find no room above, and then the record of that loss. */
static void test_loss_that_finds_no_room(void **state)
{
	struct comms s = { .me = getpid() };
	struct sideband *sb = open_with(16, true);
	uint64_t before;

	sideband__drain(sb, count_comm, &s);
	before = now();
	for (unsigned int i = 0; i < 3; i++)
		rename_self(i);
	s.refuses = s.refuses_losses = true;
	sideband__drain(sb, count_comm, &s);
	assert_int_equal(sideband__lost(sb), 3);
	s.refuses = s.refuses_losses = false;
	for (int i = 0; i < 2; i++) {
		sideband__drain(sb, count_comm, &s);
		assert_int_equal(s.losses, 1);
		assert_int_equal(s.lost, 3);
		assert_in_range(s.lost_at, 1, before);
	}
	s.refuses = true;
	before = now();
	rename_self(3);
	sideband__drain(sb, count_comm, &s);
	assert_int_equal(s.losses, 2);
	assert_int_equal(s.lost, 4);
	assert_in_range(s.lost_at, 1, before);
	sideband__free(sb);
}

static bool readable(const struct sideband *sb)
{
	struct pollfd fd = { .fd = sideband__fd(sb), .events = POLLIN };

	/* Asked once only: asking takes the readiness away, and adding to an epoll asks too. */
	return poll(&fd, 1, 1000) == 1;
}

static void test_wakes(void **state)
{
	struct comms s = { .me = getpid() };
	struct sideband *sb = open_small();

	sideband__settle(sb);
	sideband__drain(sb, count_comm, &s);
	rename_self(1);
	assert_true(readable(sb));
	sideband__settle(sb);
	rename_self(2);
	assert_true(readable(sb));
	sideband__drain(sb, count_comm, &s);
	assert_int_equal(s.next, 3);
	sideband__free(sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_loss_that_nothing_tells),
		cmocka_unit_test(test_loss_that_finds_no_room),
		cmocka_unit_test(test_wakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
