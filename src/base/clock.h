/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of all records: CLOCK_MONOTONIC, in ns. */
#ifndef EBOLT_BASE_CLOCK_H
#define EBOLT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ull

static inline uint64_t clock__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#endif
