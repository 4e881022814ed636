// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * odd_symbols SECONDS: functions whose symbols hold what breaks formats. ELF allows any bytes but
 * NUL; assembler labels make them. Prints each name in hexadecimal, as symbol=HEX.
 */
#include "workload.h"

static uint64_t sink;

#define ODD(fn, label)                               \
	NOINLINE void fn(uint64_t n) __asm__(label); \
	NOINLINE void fn(uint64_t n)                 \
	{                                            \
		sink = spin(sink, n);                \
	}
#define ODD_SYMBOLS                        \
	X(odd0, "odd;semi;colon")          \
	X(odd1, "odd two  spaces 42")      \
	X(odd2, "odd\\back\\\\slash")      \
	X(odd3, "odd\\x3b")                \
	X(odd4, "odd\xc3\xa9\xe2\x82\xac") \
	X(odd5, "[unknown]")               \
	X(odd6, "odd_[k]")
#define X ODD
ODD_SYMBOLS
#undef X

int main(int argc, char **argv)
{
	uint64_t deadline = workload_deadline(argc, argv);

#define X(fn, label)                                                \
	printf("symbol=");                                          \
	for (const unsigned char *p = (const void *)label; *p; p++) \
		printf("%02x", *p);                                 \
	putchar('\n');
	ODD_SYMBOLS
#undef X
	while (workload_goes_on(deadline)) {
#define X(fn, label) fn(SPIN_BLOCK);
		ODD_SYMBOLS
#undef X
	}
	return 0;
}
