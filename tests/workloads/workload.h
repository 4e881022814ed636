/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the workloads share: clocks, pinning, and a loop of known cost.
 *
 * Each workload has a profile that is known beforehand, or that it counts while it runs and
 * prints as key=value lines when it ends. All take the seconds to run as their first argument
 * and end early, but in order, on SIGTERM or SIGINT.
 */
#ifndef EBOLT_WORKLOAD_H
#define EBOLT_WORKLOAD_H

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* Keeps a call from being the last thing in a function, and a value from being computed away. */
#define KEEP(x) __asm__ volatile("" : "+r"(x) : : "memory")

static volatile sig_atomic_t workload_stop;

static void workload_on_signal(int sig)
{
	workload_stop = 1;
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * n rounds of a chain in which each multiplication waits for the one before: the cost of a round
 * is the latency of a multiplication and an addition, wherever the loop comes to stand.
 */
static inline __attribute__((always_inline)) uint64_t spin(uint64_t x, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		KEEP(x);
	}
	return x;
}

/* Where n rounds of spin() take about 20 us on today's processors. */
#define SPIN_BLOCK 14000

/* The seconds to run (argument 1) as a point in time; catches the signals that end a run. */
static inline uint64_t workload_deadline(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3600;

	signal(SIGTERM, workload_on_signal);
	signal(SIGINT, workload_on_signal);
	return clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
}

static inline int workload_goes_on(uint64_t deadline)
{
	return !workload_stop && clock_ns(CLOCK_MONOTONIC) < deadline;
}

/* Pins the thread to the CPU that argument number i names, where there is one. */
static inline void workload_pin(int argc, char **argv, int i)
{
	cpu_set_t set;

	if (argc <= i)
		return;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[i]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

#endif
