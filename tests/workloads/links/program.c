// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * program MILLISECONDS [wait]: burns so much CPU time in its image, and prints the blocks of each
 * function. With `wait` it first says "ready", and goes on when its standard input ends. Without
 * IMAGE the image is a library's.
 */
#include "../image.h"

int main(int argc, char **argv)
{
	uint64_t until, lot = getpid();
	struct image_counts counts = { 0 };
	char c;

	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	}
	until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
		(argc > 1 ? atoll(argv[1]) : 1000) * 1000000ull;
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		for (int i = 0; i < 20; i++)
			image__burn(&image, &lot, &counts);
	image__print(&image, &counts);
	return 0;
}
