// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "object/proc_status.h"

static bool parse(const char *text, struct proc_status *ret)
{
	return proc_status__parse(text, strlen(text), ret);
}

static void users_and_the_innermost_id(void **state)
{
	struct proc_status st;

	assert_true(parse("Name:\t\\nUid:\t7\nUid:\t1\t2\t3\t4294967295\nGid:\t5\n"
			  "NSpid:\t4711\t17\t2\nX:\t1\n",
			  &st));
	for (int i = 0; i < 3; i++)
		assert_int_equal(st.uids[i], i + 1);
	assert_int_equal(st.uids[3], UINT32_MAX);
	assert_int_equal(st.inner_pid, 2);
	assert_true(parse("NSpid:\t9\nUid:\t0\t0\t0\t0", &st));
	assert_int_equal(st.inner_pid, 9);
}

static void what_is_cut_or_senseless_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"Uid:\t1\t2\t3\t4\n",
		"NSpid:\t1\n",
		"Uid:\t1\t2\t3\nNSpid:\t1\n",
		"Uid:\t1\t2\t3\tx\nNSpid:\t1\n",
		"Uid:\t1\t2\t3\t4294967296\nNSpid:\t1\n",
		"Uid:\t1\t2\t3\t4\nNSpid:\t\n",
		"Uid:\t1\t2\t3\t4\nNSpid:\t0\n",
		" Uid:\t1\t2\t3\t4\n NSpid:\t1\n",
	};
	struct proc_status st;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(parse(texts[i], &st));
}

static void of_this_process(void **state)
{
	struct proc_status st;

	assert_int_equal(proc_status__read(getpid(), &st), 0);
	assert_int_equal(st.uids[0], getuid());
	assert_int_equal(st.uids[1], geteuid());
	assert_int_equal(proc_status__read(0x7fffffff, &st), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_and_the_innermost_id),
		cmocka_unit_test(what_is_cut_or_senseless_is_refused),
		cmocka_unit_test(of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
