// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * branchy SECONDS | branchy -n ROUNDS: something for BOLT to work on, and for the demo to show:
 * a small machine that interprets a program, static functions, hot and cold paths. With -n what it
 * prints depends on nothing but ROUNDS, so an optimised copy must print the same.
 */
#include "workload.h"

enum op { ADD, XOR, ROT, MUL, SKIP_IF_ODD, SORT, HASH, BACK, NR_OPS };

struct machine {
	uint64_t acc;
	uint32_t table[256];
	uint64_t executed, errors;
};

static const uint8_t program[] = { ADD, XOR, MUL, SKIP_IF_ODD, ADD, ROT, HASH, XOR, SORT, BACK };

static NOINLINE void cold_error(struct machine *m, int op)
{
	m->errors++;
	fprintf(stderr, "no such operation: %d\n", op);
}

static NOINLINE void sort_table(struct machine *m)
{
	/* Insertion sort of a window that moves along: nearly sorted, so mostly one branch. */
	unsigned int from = m->acc % 192;

	for (unsigned int i = from + 1; i < from + 64; i++) {
		uint32_t v = m->table[i];
		unsigned int j = i;

		for (; j > from && m->table[j - 1] > v; j--)
			m->table[j] = m->table[j - 1];
		m->table[j] = v;
	}
	m->table[from] ^= m->acc;
}

static NOINLINE uint64_t hash_table(const struct machine *m)
{
	uint64_t h = m->acc;

	for (unsigned int i = 0; i < 256; i++)
		h = (h ^ m->table[i]) * 0x100000001b3ull;
	return h;
}

static NOINLINE void interpret(struct machine *m)
{
	for (unsigned int pc = 0;; pc++) {
		m->executed++;
		switch (program[pc]) {
		case ADD:
			m->acc += 0x9e3779b97f4a7c15ull;
			break;
		case XOR:
			m->acc ^= m->acc >> 29;
			break;
		case ROT:
			m->acc = m->acc << 13 | m->acc >> 51;
			break;
		case MUL:
			m->acc *= 0xbf58476d1ce4e5b9ull;
			break;
		case SKIP_IF_ODD:
			if (m->acc & 1)
				pc++;
			break;
		case SORT:
			sort_table(m);
			break;
		case HASH:
			if ((m->acc & 7) == 0)
				m->acc ^= hash_table(m);
			break;
		case BACK:
			return;
		default:
			cold_error(m, program[pc]);
			return;
		}
	}
}

int main(int argc, char **argv)
{
	struct machine m = { .acc = 1 };

	for (unsigned int i = 0; i < 256; i++)
		m.table[i] = i * 2654435761u;
	if (argc > 2 && !strcmp(argv[1], "-n")) {
		for (long n = atol(argv[2]); n > 0; n--)
			interpret(&m);
	} else {
		uint64_t deadline = workload_deadline(argc, argv);

		while (workload_goes_on(deadline))
			for (int i = 0; i < 10000; i++)
				interpret(&m);
	}
	printf("acc=%016lx\nexecuted=%lu\nerrors=%lu\n", m.acc, m.executed, m.errors);
	return 0;
}
