// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shortlived SECONDS [N]: forks and execs itself again and again, each time for 5 to 20 ms of work,
 * or N times as much.
 * Prints how many there were, and their CPU time.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include "workload.h"

static uint64_t sink;

NOINLINE void short_work(uint64_t until);
NOINLINE void short_work(uint64_t until)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		sink = spin(sink, SPIN_BLOCK);
}

int main(int argc, char **argv)
{
	uint64_t deadline, cpu_ns, children = 0;
	struct rusage ru;
	int factor = 1;

	if (argc > 2 && !strcmp(argv[1], "--child")) {
		short_work(atoi(argv[2]) * 1000000ull);
		return 0;
	}
	deadline = workload_deadline(argc, argv);
	if (argc > 2)
		factor = atoi(argv[2]);
	while (workload_goes_on(deadline)) {
		char ms[16];
		pid_t pid;

		snprintf(ms, sizeof(ms), "%u", (unsigned int)(5 + children % 16) * factor);
		pid = vfork();
		if (pid == 0) {
			execl("/proc/self/exe", "shortlived", "--child", ms, NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		children++;
	}
	getrusage(RUSAGE_CHILDREN, &ru);
	cpu_ns = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000ull +
		 (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000ull;
	printf("children=%lu\ncpu_ns=%lu\n", children, cpu_ns);
	return 0;
}
