// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cxx SECONDS: C++ names to be demangled: a namespace, a template, an overloaded operator.
 */
extern "C" {
#include "workload.h"
}

namespace shapes
{
static uint64_t sink;

template <typename T, int N> struct grid {
	NOINLINE void fill(T n)
	{
		sink = spin(sink, n * N);
	}
	NOINLINE void operator()(const char *, T n)
	{
		sink = spin(sink, n * N);
	}
};
} // namespace shapes

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);
	shapes::grid<unsigned long, 3> g;

	while (workload_goes_on(deadline)) {
		g.fill(SPIN_BLOCK);
		g("x", SPIN_BLOCK);
	}
	return 0;
}
