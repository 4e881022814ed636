// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep SECONDS: main -> d01 -> ... -> d20 -> deep_leaf, which spins a millisecond or so a call.
 * Next to all samples have all 22 frames.
 */
#include "workload.h"

static uint64_t sink;

NOINLINE uint64_t deep_leaf(uint64_t n);
NOINLINE uint64_t deep_leaf(uint64_t n)
{
	sink = spin(sink, n);
	return sink;
}

#define LEVEL(name, callee)                 \
	NOINLINE uint64_t name(uint64_t n); \
	NOINLINE uint64_t name(uint64_t n)  \
	{                                   \
		uint64_t x = callee(n);     \
		KEEP(x);                    \
		return x;                   \
	}
LEVEL(d20, deep_leaf)
LEVEL(d19, d20)
LEVEL(d18, d19)
LEVEL(d17, d18)
LEVEL(d16, d17)
LEVEL(d15, d16)
LEVEL(d14, d15)
LEVEL(d13, d14)
LEVEL(d12, d13)
LEVEL(d11, d12)
LEVEL(d10, d11)
LEVEL(d09, d10)
LEVEL(d08, d09)
LEVEL(d07, d08)
LEVEL(d06, d07)
LEVEL(d05, d06)
LEVEL(d04, d05)
LEVEL(d03, d04)
LEVEL(d02, d03)
LEVEL(d01, d02)

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);

	while (workload_goes_on(deadline))
		d01(50 * SPIN_BLOCK);
	return 0;
}
