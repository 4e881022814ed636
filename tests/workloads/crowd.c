// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd N AT_ONCE [FACTOR]: N processes, some at a time, each of 5 to 20 ms of work (FACTOR times
 * that), in turn of three programs: `one`, `two` with a library that it loads, and a static one.
 * Prints the user time of all.
 */
#include <limits.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "workload.h"

#define BLOCKS_PER_MS 50

static char dir[PATH_MAX];

static void start(unsigned int i, unsigned int factor)
{
	static const char *const programs[] = { "one", "two", "links/static/row" };
	unsigned int ms = (5 + i * 7 % 16) * factor;
	char program[PATH_MAX + 32], lib[PATH_MAX + 32], burn[32];
	char *argv[4] = { program, burn }, *env[] = { NULL };
	pid_t pid;

	snprintf(program, sizeof(program), "%s/%s", dir, programs[i % 3]);
	snprintf(lib, sizeof(lib), "lib:%s/libfirst.so", dir);
	snprintf(burn, sizeof(burn), "burn:%u", ms * BLOCKS_PER_MS);
	if (i % 3 == 1) {
		argv[1] = lib;
		argv[2] = burn;
	} else if (i % 3 == 2) {
		snprintf(burn, sizeof(burn), "%u", ms);
	}
	if (posix_spawn(&pid, program, NULL, NULL, argv, env)) {
		perror(program);
		exit(1);
	}
}

static void wait_for_one(void)
{
	int status;

	if (wait(&status) < 0 || status) {
		fprintf(stderr, "a child failed\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? atoi(argv[1]) : 100, at_once = argc > 2 ? atoi(argv[2]) : 8;
	unsigned int factor = argc > 3 ? atoi(argv[3]) : 1, running = 0;
	struct rusage ru;

	if (readlink("/proc/self/exe", dir, sizeof(dir) - 1) < 0)
		return 1;
	*strrchr(dir, '/') = '\0';
	/* What they print is of no interest. */
	if (!freopen("/dev/null", "w", stdout))
		return 1;
	for (unsigned int i = 0; i < nr; i++) {
		start(i, factor);
		if (++running == at_once) {
			wait_for_one();
			running--;
		}
	}
	while (running--)
		wait_for_one();
	getrusage(RUSAGE_CHILDREN, &ru);
	fprintf(stderr, "children=%u\nuser_ns=%lu\n", nr,
		ru.ru_utime.tv_sec * 1000000000ul + ru.ru_utime.tv_usec * 1000ul);
	return 0;
}
