// SPDX-License-Identifier: GPL-2.0-or-later
/* For lli: three functions, for so many milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

__attribute__((noinline)) unsigned int hot_fib(unsigned int n)
{
	return n < 2 ? n : hot_fib(n - 1) + hot_fib(n - 2);
}

__attribute__((noinline)) unsigned int hot_loop(volatile unsigned int n)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum = sum * 31 + i;
	return sum;
}

__attribute__((noinline)) unsigned int hot_xor(volatile unsigned int n)
{
	unsigned int sum = 1;

	for (unsigned int i = 0; i < n; i++)
		sum ^= (sum << 5) + i;
	return sum;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 3000);
	unsigned long sum = 0;

	while (now() < end)
		sum += hot_fib(20) + hot_loop(100000) + hot_xor(100000);
	printf("sum=%lu\n", sum);
	return 0;
}
