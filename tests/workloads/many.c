// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * many SECONDS N: N processes that wake ten times a second and work for some 20 us.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

static uint64_t sink;

NOINLINE void many_work(uint64_t n);
NOINLINE void many_work(uint64_t n)
{
	sink = spin(sink, n);
}

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	int n = argc > 2 ? atoi(argv[2]) : 300;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (workload_goes_on(deadline)) {
				many_work(SPIN_BLOCK);
				usleep(100000);
			}
			return 0;
		}
	}
	printf("processes=%d\n", n);
	fflush(stdout);
	while (workload_goes_on(deadline))
		usleep(100000);
	while (wait(NULL) > 0)
		;
	return 0;
}
