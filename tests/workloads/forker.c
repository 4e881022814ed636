// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forker SECONDS: a process, its child and its grandchild, each in a function of its own, all
 * always busy. Prints the CPU time that each had.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "workload.h"

static uint64_t *cpu_ns; /* shared by the three */

#define BURN(name, i)                                           \
	NOINLINE void name(uint64_t deadline);                  \
	NOINLINE void name(uint64_t deadline)                   \
	{                                                       \
		uint64_t x = i;                                 \
                                                                \
		while (workload_goes_on(deadline))              \
			x = spin(x, 50 * SPIN_BLOCK);           \
		cpu_ns[i] = clock_ns(CLOCK_PROCESS_CPUTIME_ID); \
	}
BURN(burn_parent, 0)
BURN(burn_child, 1)
BURN(burn_grandchild, 2)

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	pid_t child;

	cpu_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cpu_ns == MAP_FAILED)
		return 1;
	child = fork();
	if (child == 0) {
		if (fork() == 0) {
			burn_grandchild(deadline);
			_exit(0);
		}
		burn_child(deadline);
		wait(NULL);
		_exit(0);
	}
	burn_parent(deadline);
	wait(NULL);
	printf("parent=%lu\nchild=%lu\ngrandchild=%lu\n", cpu_ns[0], cpu_ns[1], cpu_ns[2]);
	return 0;
}
