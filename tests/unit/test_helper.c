// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper.h"
#include "unit/unit.h"

#define LARGE (3u << 20)

static HELPER_FN(add)
{
	const int *n = arg;

	assert_int_equal(arg_len, 2 * sizeof(*n));
	return n[0] + n[1];
}

static HELPER_FN(read_it)
{
	return buf__read_fd(text, fd);
}

static HELPER_FN(make_large)
{
	for (size_t i = 0; i < LARGE / 16; i++)
		buf__printf(text, "%015zu\n", i);
	return buf__error(text);
}

static _Noreturn HELPER_FN(hang)
{
	for (;;)
		pause();
}

static HELPER_FN(die)
{
	raise(SIGKILL);
	return 0;
}

static HELPER_FN(open_null)
{
	*ret_fd = open("/dev/null", O_RDWR);
	return *ret_fd >= 0 ? 0 : -errno;
}

static HELPER_FN(count_fds)
{
	int n = 0;

	for (int i = 3; i < 1024; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static int sum(struct helper *h, int a, int b)
{
	return helper__call(h, add, (int[]){ a, b }, 2 * sizeof(int), -1, NULL, NULL);
}

static void results_text_and_descriptors_come_over(void **state)
{
	int pair[2];
	struct helper h;
	struct buf text;

	helper__init(&h);
	assert_int_equal(sum(&h, 1, 2), 3);
	assert_int_equal(sum(&h, -1, -2), -3);
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(write(pair[1], "words", 5), 5);
	close(pair[1]);
	buf__init(&text, 100);
	assert_int_equal(helper__call(&h, read_it, NULL, 0, pair[0], &text, NULL), 0);
	assert_string_equal(text.data, "words");
	close(pair[0]);
	buf__done(&text);
	buf__init(&text, LARGE);
	assert_int_equal(helper__call(&h, make_large, NULL, 0, -1, &text, NULL), 0);
	assert_int_equal(text.len, LARGE);
	assert_memory_equal(text.data + 16 * 77777, "000000000077777\n", 16);
	buf__done(&text);
	/* More than the caller has room for. */
	buf__init(&text, 1000);
	assert_int_equal(helper__call(&h, make_large, NULL, 0, -1, &text, NULL), -E2BIG);
	buf__done(&text);
	assert_int_equal(sum(&h, 3, 4), 7);
	for (int i = 0; i < 3; i++) {
		int fd = -1;

		assert_int_equal(helper__call(&h, open_null, NULL, 0, -1, NULL, &fd), 0);
		assert_int_equal(write(fd, "x", 1), 1);
		close(fd);
		assert_int_equal(helper__call(&h, open_null, NULL, 0, -1, NULL, NULL), 0);
	}
	/* Only its socket. */
	assert_int_equal(helper__call(&h, count_fds, NULL, 0, -1, NULL, NULL), 1);
	helper__done(&h);
}

static void who_hangs_is_given_up_at_the_deadline(void **state)
{
	uint64_t before = clock__now(), took;
	struct helper h;

	helper__init(&h);
	assert_int_equal(helper__call(&h, hang, NULL, 0, -1, NULL, NULL), -ETIMEDOUT);
	took = clock__now() - before;
	assert_true(took >= HELPER_WAIT_MAX);
	assert_int_equal(h.late, 1);
	assert_int_equal(h.wait_left, 0);
	/*
	 * Then it may be late no longer than a tenth of the time. On an idle machine ten take
	 * 50 ms and a little; a busy one may wake us late each time, but not by as much as
	 * waiting for HELPER_WAIT_MAX would be: 5 s.
	 */
	before = clock__now();
	for (int i = 0; i < 10; i++)
		assert_int_equal(helper__call(&h, hang, NULL, 0, -1, NULL, NULL) == -ETIMEDOUT ||
					 h.refused,
				 1);
	assert_true(clock__now() - before < 5 * HELPER_WAIT_MAX);
	helper__done(&h);
}

static void a_child_that_dies_is_replaced(void **state)
{
	struct helper h;

	helper__init(&h);
	assert_int_equal(helper__call(&h, die, NULL, 0, -1, NULL, NULL), -ECHILD);
	assert_int_equal(sum(&h, 1, 2), 3);
	kill(h.pid, SIGKILL);
	sum(&h, 1, 2); /* it may answer still */
	assert_int_equal(sum(&h, 1, 2) == 3 || sum(&h, 1, 2) == 3, 1);
	assert_int_equal(h.late, 0);
	helper__done(&h);
}

/* Children that nobody has killed yet stand for those that a kill does not end. */
static void no_more_than_so_many_are_stuck(void **state)
{
	struct helper h;

	helper__init(&h);
	for (size_t i = 0; i < HELPER_STUCK_MAX; i++) {
		h.stuck[i] = fork();
		if (!h.stuck[i])
			hang(NULL, 0, -1, NULL, NULL);
	}
	assert_int_equal(sum(&h, 1, 2), -EBUSY);
	assert_int_equal(h.refused, 1);
	assert_int_equal(h.pid, 0);
	for (size_t i = 0; i < HELPER_STUCK_MAX; i++)
		kill(h.stuck[i], SIGKILL);
	while (sum(&h, 1, 2) == -EBUSY)
		;
	assert_int_equal(sum(&h, 1, 2), 3);
	helper__done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_text_and_descriptors_come_over),
		cmocka_unit_test(who_hangs_is_given_up_at_the_deadline),
		cmocka_unit_test(a_child_that_dies_is_replaced),
		cmocka_unit_test(no_more_than_so_many_are_stuck),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
