// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forker SECONDS: a process, its child and its grandchild, each in a function of its own, all
 * always busy. Prints the rounds that each did.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "workload.h"

static uint64_t *rounds; /* shared by the three */

#define BURN(name, i)                                 \
	NOINLINE void name(uint64_t deadline);        \
	NOINLINE void name(uint64_t deadline)         \
	{                                             \
		uint64_t x = i;                       \
                                                      \
		while (workload_goes_on(deadline)) {  \
			x = spin(x, 50 * SPIN_BLOCK); \
			rounds[i]++;                  \
		}                                     \
	}
BURN(burn_parent, 0)
BURN(burn_child, 1)
BURN(burn_grandchild, 2)

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	pid_t child;

	rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rounds == MAP_FAILED)
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
	printf("parent=%lu\nchild=%lu\ngrandchild=%lu\n", rounds[0], rounds[1], rounds[2]);
	return 0;
}
