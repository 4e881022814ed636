// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plt SECONDS: calls a function of a shared library that does next to nothing, so that a good
 * share of the time passes in the PLT stub on the way.
 */
#include "workload.h"

void callee_return(void);

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);

	while (workload_goes_on(deadline))
		for (int i = 0; i < 1000000; i++)
			callee_return();
	return 0;
}
