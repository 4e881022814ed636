// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "object/proc_stat.h"

#define REST "S 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 123456789 4096 10"

static bool parse(const char *text, struct proc_stat *ret)
{
	return proc_stat__parse(text, strlen(text), ret);
}

static void fields_are_counted_behind_the_comm(void **state)
{
	static const char *const lines[] = {
		"7 (cat) " REST "\n",
		"7 () " REST,
		"7 (a) R 1 2 (b) " REST "\n",
		"7 (\\n) S 1) " REST,
	};
	struct proc_stat st;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_true(parse(lines[i], &st));
		assert_int_equal(st.ppid, 17);
		assert_int_equal(st.state, 'S');
		assert_int_equal(st.flags, 4194560);
		assert_int_equal(st.threads, 1);
		assert_false(proc_stat__is_dead(&st));
		assert_false(proc_stat__leader_exits(&st));
		assert_int_equal(st.start_ticks, 123456789);
	}
}

static void what_is_cut_or_senseless_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"7 (cat",
		"7 (cat)",
		"7 (cat) S",
		"7 (cat) ",
		"7 (cat)  17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1",
		"7 (cat) SS 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1",
		"7 (cat) S 17 7 7 0 -1 4294967296 1 0 0 0 2 3 0 0 20 0 1 0 1",
		"7 (cat) S 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 -1 0 1",
		"7 (cat) S x 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1",
		"7 (cat) S 99999999999 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1",
		"7 (cat) S 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 -1",
		"7 (cat) S 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 99999999999999999999",
		"7 (cat) S 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 ",
		"7 (cat) S 17 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0",
	};
	struct proc_stat st;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(parse(lines[i], &st));
}

static void an_end_has_three_steps(void **state)
{
	static const struct {
		const char *line;
		bool leader_exits, dead;
	} cases[] = {
		{ "7 (a) R 1 7 7 0 -1 4194564 1 0 0 0 2 3 0 0 20 0 1 0 5", true, false },
		{ "7 (a) Z 1 7 7 0 -1 4194564 1 0 0 0 2 3 0 0 20 0 2 0 5", true, false },
		{ "7 (a) Z 1 7 7 0 -1 4194564 1 0 0 0 2 3 0 0 20 0 1 0 5", true, true },
		{ "7 (a) X 1 7 7 0 -1 4194564 1 0 0 0 2 3 0 0 20 0 0 0 5", true, true },
	};
	struct proc_stat st;
	siginfo_t info;
	pid_t pid;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(parse(cases[i].line, &st));
		assert_int_equal(proc_stat__leader_exits(&st), cases[i].leader_exits);
		assert_int_equal(proc_stat__is_dead(&st), cases[i].dead);
	}
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_stat__read(pid, &st), 0);
	assert_true(proc_stat__is_dead(&st));
	assert_true(proc_stat__leader_exits(&st));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void reads_this_process(void **state)
{
	struct proc_stat st;

	assert_int_equal(proc_stat__read(getpid(), &st), 0);
	assert_int_equal(st.ppid, getppid());
	assert_true(st.start_ticks > 0);
	/* Over the kernel's PID_MAX_LIMIT of 4 Mi. */
	assert_int_equal(proc_stat__read(5000001, &st), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_counted_behind_the_comm),
		cmocka_unit_test(what_is_cut_or_senseless_is_refused),
		cmocka_unit_test(an_end_has_three_steps),
		cmocka_unit_test(reads_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
