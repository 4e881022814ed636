// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rename SECONDS: threads whose names hold what breaks formats, each busy. Prints each name in
 * hexadecimal, as comm=HEX.
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "workload.h"

static const char *const names[] = {
	"semi;colon",
	"two  spaces 7",
	"back\\slash",
	"\\x3b;",
	"line\nend",
	"utf8-\xc3\xa9\xe2\x82\xac",
	"bad-\xff\xc3(",
	"cut-\xe2\x82",
	"tab\tdel\x7f",
	" ",
	";",
};
#define NR (sizeof(names) / sizeof(names[0]))

static uint64_t deadline;

NOINLINE void *rename_work(void *name);
NOINLINE void *rename_work(void *name)
{
	uint64_t x = 1;

	prctl(PR_SET_NAME, name);
	while (workload_goes_on(deadline))
		x = spin(x, 10 * SPIN_BLOCK);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[NR];

	deadline = workload_deadline(argc, argv);
	for (size_t i = 0; i < NR; i++)
		if (pthread_create(&t[i], NULL, rename_work, (void *)names[i]))
			return 1;
	for (size_t i = 0; i < NR; i++) {
		printf("comm=");
		for (const unsigned char *p = (const void *)names[i]; *p; p++)
			printf("%02x", *p);
		putchar('\n');
	}
	for (size_t i = 0; i < NR; i++)
		pthread_join(t[i], NULL);
	return 0;
}
