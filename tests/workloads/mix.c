// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mix SECONDS: three functions with 60, 30 and 10% of the CPU time.
 *
 * All three run the same loop, in blocks of some 20 us whose function is drawn by lot: whatever
 * disturbs the CPU for longer than a few blocks (another process, a change of clock) disturbs
 * each in proportion, and the sampling clock can't beat against the order. Prints how many
 * blocks each really got: that is the truth to compare with.
 */
#include "workload.h"

static uint64_t sink;

#define MIXED(name)                    \
	NOINLINE void name(uint64_t n) \
	{                              \
		sink = spin(sink, n);  \
	}
void mix_heavy(uint64_t n);
void mix_medium(uint64_t n);
void mix_light(uint64_t n);
MIXED(mix_heavy)
MIXED(mix_medium)
MIXED(mix_light)

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	uint64_t heavy = 0, medium = 0, light = 0, lot = 1;

	while (workload_goes_on(deadline)) {
		for (int i = 0; i < 50; i++) {
			lot = lot * 6364136223846793005ull + 1442695040888963407ull;
			unsigned int d = (lot >> 33) % 10;
			if (d < 6) {
				mix_heavy(SPIN_BLOCK);
				heavy++;
			} else if (d < 9) {
				mix_medium(SPIN_BLOCK);
				medium++;
			} else {
				mix_light(SPIN_BLOCK);
				light++;
			}
		}
	}
	printf("heavy=%lu\nmedium=%lu\nlight=%lu\ncpu_ns=%lu\n", heavy, medium, light,
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
