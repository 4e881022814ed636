// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vdso SECONDS: clock_gettime() as often as it goes, most of it inside the vdso.
 */
#include "workload.h"

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	struct timespec ts;

	do {
		for (int i = 0; i < 100000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
	} while (workload_goes_on(deadline));
	return 0;
}
