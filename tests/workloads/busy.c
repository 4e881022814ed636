// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * busy SECONDS [CPU]: one function that is always running, pinned where a CPU is given. Prints
 * the CPU time it had.
 */
#include "workload.h"

static uint64_t sink;

NOINLINE void busy_spin(uint64_t n);
NOINLINE void busy_spin(uint64_t n)
{
	sink = spin(sink, n);
}

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);

	workload_pin(argc, argv, 2);
	while (workload_goes_on(deadline))
		busy_spin(10 * SPIN_BLOCK);
	printf("cpu_ns=%lu\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
