// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf-PID.map, behind a byte that says in what pieces it comes: whole or in these pieces, the same
 * must come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct sum {
	uint64_t hash, entries, bad_lines, empty;
};

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static void take(struct sum *s, const struct perf_map_entry *e)
{
	expect(e->size && e->addr < PERF_MAP_ADDR_LIMIT &&
	       e->size <= PERF_MAP_ADDR_LIMIT - e->addr);
	expect(e->name_len && e->name_len <= PERF_MAP_NAME_MAX);
	expect(!memchr(e->name, 0, e->name_len) && !memchr(e->name, '\n', e->name_len));
	s->entries++;
	s->hash = (s->hash ^ e->addr) * 0x100000001b3ull;
	s->hash = (s->hash ^ e->size ^ e->name_cut) * 0x100000001b3ull;
	for (size_t i = 0; i < e->name_len; i++)
		s->hash = (s->hash ^ (uint8_t)e->name[i]) * 0x100000001b3ull;
}

static struct sum read_in_pieces(const uint8_t *bytes, size_t len, size_t piece)
{
	struct sum s = {};
	struct perf_map_entry e;
	struct perf_map pm;

	perf_map__init(&pm);
	for (size_t off = 0; off < len; off += piece) {
		size_t n = len - off < piece ? len - off : piece;
		/* Each piece alone, so that a sanitizer sees what reaches over it. */
		char *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, bytes + off, n);
		perf_map__feed(&pm, copy, n);
		while (perf_map__next(&pm, &e))
			take(&s, &e);
		free(copy);
	}
	expect(perf_map__off(&pm) == len);
	if (perf_map__last(&pm, &e))
		take(&s, &e);
	s.bad_lines = pm.bad_lines;
	s.empty = pm.empty;
	expect(s.entries == pm.nr_entries);
	perf_map__done(&pm);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct sum whole, pieces;
	size_t piece, lines;

	if (!len)
		return 0;
	piece = bytes[0] ? bytes[0] : 256;
	bytes++;
	len--;
	lines = len && bytes[len - 1] != '\n';
	for (size_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	whole = read_in_pieces(bytes, len, len ? len : 1);
	pieces = read_in_pieces(bytes, len, piece);
	expect(!memcmp(&whole, &pieces, sizeof(whole)));
	/* Each line is an entry, or was counted. */
	expect(whole.entries + whole.bad_lines + whole.empty == lines);
	return 0;
}
