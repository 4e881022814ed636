// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads SECONDS: four threads, each in a function of its own. Prints the CPU time of each.
 */
#include <pthread.h>

#include "workload.h"

static uint64_t deadline;
static uint64_t cpu_ns[4];

#define THREAD(name, i)                                        \
	NOINLINE void *name(void *arg);                        \
	NOINLINE void *name(void *arg)                         \
	{                                                      \
		uint64_t x = i;                                \
                                                               \
		while (workload_goes_on(deadline))             \
			x = spin(x, 10 * SPIN_BLOCK);          \
		cpu_ns[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID); \
		return arg;                                    \
	}
THREAD(thread_zero, 0)
THREAD(thread_one, 1)
THREAD(thread_two, 2)
THREAD(thread_three, 3)

int main(int argc, char **argv)
{
	void *(*const fn[])(void *) = { thread_zero, thread_one, thread_two, thread_three };
	pthread_t t[4];

	deadline = workload_deadline(argc, argv);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, fn[i], NULL))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("zero=%lu\none=%lu\ntwo=%lu\nthree=%lu\n", cpu_ns[0], cpu_ns[1], cpu_ns[2],
	       cpu_ns[3]);
	return 0;
}
