// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * work ROUNDS CPU: a fixed piece of work, pinned: 20 calls deep, a loop of known length and a few
 * system calls a round. Prints the ns that it took, by the clock and of CPU time.
 */
#include <sys/syscall.h>

#include "../workloads/workload.h"

static uint64_t sink;

NOINLINE uint64_t descend(int depth);
NOINLINE uint64_t descend(int depth)
{
	uint64_t x;

	if (!depth) {
		sink = spin(sink, SPIN_BLOCK);
		for (int i = 0; i < 20; i++)
			syscall(SYS_getppid);
		return sink;
	}
	x = descend(depth - 1);
	KEEP(x);
	return x;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	uint64_t start, end;

	workload_pin(argc, argv, 2);
	start = clock_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < rounds; i++)
		descend(20);
	end = clock_ns(CLOCK_MONOTONIC);
	printf("%lu %lu\n", end - start, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
