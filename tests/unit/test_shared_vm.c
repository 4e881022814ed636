// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/shared_vm.h"
#include "unit/unit.h"

static char stacks[2][64 * 1024] __attribute__((aligned(16)));

static int wait_for_signal(void *arg)
{
	pause();
	return 0;
}

static pid_t begin(int i, int flags)
{
	pid_t pid = clone(wait_for_signal, stacks[i] + sizeof(stacks[i]), flags | SIGCHLD, NULL);

	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static size_t sharers(const struct shared_vm *s, uint32_t pid, uint32_t *ret_sum)
{
	size_t pos = 0, n = 0;
	uint32_t other;

	*ret_sum = 0;
	for (; shared_vm__next(s, pid, &pos, &other); n++)
		*ret_sum += other;
	return n;
}

static void copies_share_nothing(void **state)
{
	pid_t child = begin(0, 0);
	struct shared_vm s;
	uint32_t sum;

	shared_vm__init(&s);
	shared_vm__began(&s, getpid(), child);
	assert_int_equal(sharers(&s, getpid(), &sum), 0);
	assert_int_equal(sharers(&s, child, &sum), 0);
	end(child);
	/* Who is gone shares with nobody. */
	shared_vm__began(&s, getpid(), child);
	assert_int_equal(s.members.len, 0);
	shared_vm__done(&s);
}

static void each_knows_the_others_until_it_leaves(void **state)
{
	uint32_t me = getpid(), sum;
	pid_t a = begin(0, CLONE_VM), b = begin(1, CLONE_VM);
	struct shared_vm s;

	shared_vm__init(&s);
	shared_vm__began(&s, me, a);
	assert_int_equal(sharers(&s, me, &sum), 1);
	assert_int_equal(sum, a);
	shared_vm__began(&s, me, b);
	assert_int_equal(sharers(&s, a, &sum), 2);
	assert_int_equal(sum, me + b);
	assert_int_equal(sharers(&s, b, &sum), 2);
	shared_vm__left(&s, a);
	assert_int_equal(sharers(&s, a, &sum), 0);
	assert_int_equal(sharers(&s, me, &sum), 1);
	assert_int_equal(sum, b);
	/* The last two part: neither is left behind. */
	shared_vm__left(&s, b);
	assert_int_equal(s.members.len, 0);
	shared_vm__left(&s, b);
	end(a);
	end(b);
	shared_vm__done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_share_nothing),
		cmocka_unit_test(each_knows_the_others_until_it_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
