// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * syscalls SECONDS [CPU]: getppid() as often as it goes. Every call hits whatever traces system
 * calls, and its tracing program keeps the sampling program from running meanwhile.
 */
#include <sys/syscall.h>

#include "workload.h"

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	uint64_t calls = 0;

	workload_pin(argc, argv, 2);
	while (workload_goes_on(deadline)) {
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
		calls += 1000;
	}
	printf("calls=%lu\ncpu_ns=%lu\n", calls, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
