// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * noreturn SECONDS: a function that ends in a call that doesn't return. The return address on the
 * stack is behind the function, where the next one may begin: only one byte before it tells who
 * called.
 */
#include "workload.h"

void noreturn_caller(uint64_t deadline);
void noreturn_bystander(void);

static NOINLINE __attribute__((noreturn)) void noreturn_spin(uint64_t deadline)
{
	uint64_t x = 1;

	while (workload_goes_on(deadline))
		x = spin(x, 10 * SPIN_BLOCK);
	_exit(0);
}

NOINLINE __attribute__((noreturn)) void noreturn_caller(uint64_t deadline)
{
	noreturn_spin(deadline);
}

NOINLINE void noreturn_bystander(void)
{
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	noreturn_bystander();
	noreturn_caller(workload_deadline(argc, argv));
}
