// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "proc/shared_vm.h"
#include "unit/unit.h"

static char stacks[2][64 * 1024] __attribute__((aligned(16)));

/* Lest they stay when a test fails. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static int wait_for_signal(void *parent)
{
	end_with((intptr_t)parent);
	pause();
	return 0;
}

static pid_t begin(int i, int flags)
{
	pid_t pid = clone(wait_for_signal, stacks[i] + sizeof(stacks[i]), flags | SIGCHLD,
			  (void *)(intptr_t)getpid());

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

/* One more than fit, all in this memory. */
enum { CROWD = SHARED_VM_GROUP_MAX + 1 };
/* A first call through the PLT saves all vector registers there. */
static char small_stacks[CROWD][32 * 1024] __attribute__((aligned(16)));

/* Those from..nr - 1. How many there are then. */
static size_t begin_crowd(struct shared_vm *s, pid_t *pids, size_t from, size_t nr)
{
	for (size_t i = from; i < nr; i++) {
		pids[i] = clone(wait_for_signal, small_stacks[i] + sizeof(small_stacks[i]),
				CLONE_VM | SIGCHLD, (void *)(intptr_t)getpid());
		if (pids[i] < 0)
			return i;
		/* Whoever is one of them already tells of another. */
		shared_vm__began(s, i && i % 2 ? pids[i / 2] : getpid(), pids[i]);
	}
	return nr;
}

static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ns a member, of the fastest of many walks. */
static double walk_cost(const struct shared_vm *s, size_t members)
{
	uint64_t best = UINT64_MAX, begin, ns;
	uint32_t sum;

	for (int i = 0; i < 100; i++) {
		begin = cpu_time();
		for (int j = 0; j < 10; j++)
			assert_int_equal(sharers(s, getpid(), &sum), members - 1);
		ns = cpu_time() - begin;
		best = ns < best ? ns : best;
	}
	return (double)best / members;
}

static void a_group_is_bounded_and_a_walk_is_linear(void **state)
{
	static pid_t pids[CROWD];
	struct shared_vm s;
	double small, large;
	size_t nr, i;
	uint32_t sum;

	shared_vm__init(&s);
	nr = begin_crowd(&s, pids, 0, 63);
	assert_int_equal(nr, 63);
	small = walk_cost(&s, 64);
	nr = begin_crowd(&s, pids, nr, CROWD);
	if (nr < CROWD) {
		print_message("no %d processes can be had here\n", CROWD);
	} else {
		/* This process is one of them. */
		assert_int_equal(sharers(&s, getpid(), &sum), SHARED_VM_GROUP_MAX - 1);
		assert_int_equal(s.dropped, CROWD + 1 - SHARED_VM_GROUP_MAX);
		large = walk_cost(&s, SHARED_VM_GROUP_MAX);
		print_message("%.1f and %.1f ns a member\n", small / 10, large / 10);
		/* 16 times as many: caches may make it twice as dear, a square 16 times. */
		assert_true(large < 6 * small);
	}
	for (i = 0; i < nr; i++)
		shared_vm__left(&s, pids[i]);
	assert_int_equal(s.members.len, 0);
	assert_int_equal(s.by_pid.len, 0);
	for (i = 0; i < nr; i++)
		end(pids[i]);
	shared_vm__done(&s);
}

/* A process like this one, that has some in its own memory too, and says who. */
static pid_t begin_another_group(pid_t *pids, size_t nr)
{
	pid_t pid, me = getpid();
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		end_with(me);
		for (size_t i = 0; i < nr; i++)
			pids[i] = clone(wait_for_signal, small_stacks[i] + sizeof(small_stacks[i]),
					CLONE_VM, (void *)(intptr_t)getpid());
		if (write(ends[1], pids, nr * sizeof(*pids)) == (ssize_t)(nr * sizeof(*pids)))
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], pids, nr * sizeof(*pids)), nr * sizeof(*pids));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void groups_stay_apart_whoever_leaves(void **state)
{
	enum { EACH = 20 };
	pid_t pids[2][EACH], heads[2] = { getpid() };
	uint64_t want[2] = { 0 }, seed = 1;
	size_t left[2] = { EACH, EACH };
	struct shared_vm s;
	uint32_t sum;

	shared_vm__init(&s);
	heads[1] = begin_another_group(pids[1], EACH);
	for (int i = 0; i < EACH; i++) {
		pids[0][i] = clone(wait_for_signal, small_stacks[i] + sizeof(small_stacks[i]),
				   CLONE_VM | SIGCHLD, (void *)(intptr_t)getpid());
		for (int g = 0; g < 2; g++) {
			shared_vm__began(&s, heads[g], pids[g][i]);
			/* Told once more, it is still one. */
			shared_vm__began(&s, heads[g], pids[g][i]);
			want[g] += pids[g][i];
		}
	}
	/* Neither has anything of the other. */
	shared_vm__began(&s, heads[0], pids[1][0]);
	assert_int_equal(s.members.len, 2 * (EACH + 1));
	while (left[0] + left[1]) {
		size_t g, i;

		seed = hash_u64(seed);
		g = left[seed & 1] ? seed & 1 : !(seed & 1);
		i = (seed >> 32) % left[g];
		shared_vm__left(&s, pids[g][i]);
		want[g] -= pids[g][i];
		kill(pids[g][i], SIGKILL);
		assert_true(g || waitpid(pids[g][i], NULL, 0) == pids[g][i]);
		pids[g][i] = pids[g][--left[g]];
		for (g = 0; g < 2; g++) {
			assert_int_equal(sharers(&s, heads[g], &sum), left[g]);
			assert_int_equal(sum, want[g]);
		}
	}
	assert_int_equal(s.members.len, 0);
	end(heads[1]);
	shared_vm__done(&s);
}

static void off(void **state)
{
	pid_t child = begin(0, CLONE_VM);
	struct shared_vm s;
	uint32_t sum;

	shared_vm__init(&s);
	s.off = true;
	shared_vm__began(&s, getpid(), child);
	assert_int_equal(sharers(&s, getpid(), &sum), 0);
	shared_vm__done(&s);
	end(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_share_nothing),
		cmocka_unit_test(each_knows_the_others_until_it_leaves),
		cmocka_unit_test(groups_stay_apart_whoever_leaves),
		cmocka_unit_test(a_group_is_bounded_and_a_walk_is_linear),
		cmocka_unit_test(off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
