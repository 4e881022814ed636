// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which processes count as targets, over fork, threads, exec by a thread, exit and reaping: the
 * BPF programs against the running kernel, by classic and by raw tracepoints.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/collector.h"
#include "collect/targets.h"
#include "unit.h"

static const char *const classic[] = { NULL };
static const char *const raw[] = { "tracepoints", NULL };

struct fixture {
	struct features features;
	struct collector *collector;
	int request[2], answer[2]; /* pipes to a helper process */
	pid_t helper;
};

/*
 * A process that does as it is told: 'f' forks a child that waits, 't' starts a thread that
 * waits, 'e' execs from a thread, and answers with the new id. 'q' ends it.
 */
static int helper_pipe[2];

static void *wait_forever(void *arg)
{
	pid_t tid = syscall(SYS_gettid);

	if (write(helper_pipe[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

static void *exec_cat(void *arg)
{
	execl("/bin/cat", "cat", NULL);
	_exit(1);
}

static void helper(int in, int out)
{
	pthread_t thread;
	pid_t id;
	char c;

	/* Should the test fail, nothing stays behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	helper_pipe[1] = out;
	while (read(in, &c, 1) == 1) {
		switch (c) {
		case 'f':
			id = fork();
			if (!id) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				for (;;)
					pause();
			}
			if (write(out, &id, sizeof(id)) != sizeof(id))
				_exit(1);
			break;
		case 't':
			pthread_create(&thread, NULL, wait_forever, NULL);
			break;
		case 'e':
			dup2(in, 0);
			pthread_create(&thread, NULL, exec_cat, NULL);
			pause();
			break;
		default:
			_exit(0);
		}
	}
	_exit(0);
}

static int setup(struct fixture *f, const char *const *disabled)
{
	struct collector_opts o = {
		.config = { .targets_only = true, .grid_period = 1000000 },
		.ring_bytes = 256 * 1024,
		.features = &f->features,
	};
	const char *unknown;
	char *why = NULL;
	int err;

	assert_int_equal(features__probe(&f->features, disabled, NULL, &unknown), 0);
	err = collector__open(&o, &f->collector, &why);
	if (err == -EPERM || err == -EACCES) {
		free(why);
		skip();
	}
	if (err)
		print_error("%s\n", why);
	assert_int_equal(err, 0);
	assert_int_equal(pipe(f->request), 0);
	assert_int_equal(pipe(f->answer), 0);
	f->helper = fork();
	if (!f->helper) {
		close(f->request[1]);
		helper(f->request[0], f->answer[1]);
	}
	close(f->request[0]);
	return 0;
}

static void teardown(struct fixture *f)
{
	close(f->request[1]);
	close(f->answer[0]);
	close(f->answer[1]);
	kill(f->helper, SIGKILL);
	waitpid(f->helper, NULL, 0);
	collector__free(f->collector);
}

static pid_t tell(struct fixture *f, char what)
{
	pid_t id;

	assert_int_equal(write(f->request[1], &what, 1), 1);
	assert_int_equal(read(f->answer[0], &id, sizeof(id)), sizeof(id));
	return id;
}

/* The kernel frees a process a little after it was reaped. */
static bool gone_soon(struct fixture *f, pid_t pid)
{
	for (int i = 0; i < 500; i++) {
		if (!collector__is_target(f->collector, pid))
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

static void check_follow(const char *const *disabled)
{
	struct fixture f;
	pid_t before, after, thread;

	setup(&f, disabled);
	before = tell(&f, 'f'); /* exists already when its parent becomes a target */
	assert_int_equal(targets__add(f.collector, f.helper), 0);
	assert_true(collector__is_target(f.collector, f.helper));
	assert_true(collector__is_target(f.collector, before));
	assert_false(collector__is_target(f.collector, getpid()));

	after = tell(&f, 'f');
	assert_true(collector__is_target(f.collector, after));
	thread = tell(&f, 't');
	assert_false(collector__is_target(f.collector, thread));
	assert_true(collector__is_target(f.collector, f.helper));

	/* A child that has exited stays until it is reaped: its id is still its own. */
	kill(after, SIGKILL);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	assert_true(collector__is_target(f.collector, after));

	/* The helper ends: it and its children go; init reaps those. */
	kill(before, SIGKILL);
	kill(f.helper, SIGKILL);
	waitpid(f.helper, NULL, 0);
	assert_true(gone_soon(&f, f.helper));
	assert_true(gone_soon(&f, before));
	assert_true(gone_soon(&f, after));
	f.helper = fork(); /* something for teardown */
	if (!f.helper)
		_exit(0);
	assert_false(collector__is_target(f.collector, f.helper));
	teardown(&f);
}

static void test_classic(void **state)
{
	check_follow(classic);
}

static void test_raw(void **state)
{
	check_follow(raw);
}

/* A thread that execs gets its process's id; its own must not stay behind. */
static void test_exec_by_thread(void **state)
{
	struct fixture f;
	char comm[16] = "", path[64];
	pid_t thread;

	setup(&f, classic);
	assert_int_equal(targets__add(f.collector, f.helper), 0);
	thread = tell(&f, 't');
	assert_int_equal(write(f.request[1], "e", 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/comm", f.helper);
	for (int i = 0; i < 500 && strcmp(comm, "cat\n"); i++) {
		FILE *file = fopen(path, "re");

		if (file && !fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		if (file)
			fclose(file);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	assert_string_equal(comm, "cat\n");
	assert_true(collector__is_target(f.collector, f.helper));
	for (pid_t tid = thread; tid < thread + 3; tid++)
		assert_false(collector__is_target(f.collector, tid));
	teardown(&f);
}

static void test_no_such_process(void **state)
{
	struct fixture f;
	pid_t failed;

	setup(&f, classic);
	assert_int_equal(targets__add(f.collector, 0x7ffffff), -ESRCH);
	assert_false(collector__is_target(f.collector, 0x7ffffff));
	assert_int_equal(
		targets__add_all(f.collector, (pid_t[]){ f.helper, 0x7ffffff }, 2, &failed),
		-ESRCH);
	assert_int_equal(failed, 0x7ffffff);
	assert_int_equal(targets__add_all(f.collector, (pid_t[]){ getpid(), f.helper }, 2, &failed),
			 0);
	assert_true(collector__is_target(f.collector, getpid()));
	assert_true(collector__is_target(f.collector, f.helper));
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classic),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_exec_by_thread),
		cmocka_unit_test(test_no_such_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
