/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf-PID.map: the older way for a JIT runtime to tell of its code (tools/perf/Documentation/
 * jit-interface.txt in the kernel's source). A line a piece of code:
 *
 *	START SIZE name to the end of the line
 *
 * in hexadecimal, with or without 0x. No times: the last line for an address wins. Runtimes write
 * names with line ends in them, and lines into each other: what isn't such a line is skipped and
 * counted.
 *
 *	perf_map__init(&pm);
 *	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
 *		perf_map__feed(&pm, bytes, n);
 *		while (perf_map__next(&pm, &entry))
 *			...
 *	}
 *	if (perf_map__last(&pm, &entry))	only where no more will come: a line without an end
 *		...
 *	perf_map__done(&pm);
 *
 * Pieces may be of any size. The bytes are not trusted; the only allocation is for a cut line, of
 * PERF_MAP_LINE_MAX bytes at most.
 */
#ifndef EBOLT_OBJECT_PERF_MAP_H
#define EBOLT_OBJECT_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PERF_MAP_NAME_MAX   4096u /* bytes; longer names are cut, between two characters */
#define PERF_MAP_LINE_MAX   (PERF_MAP_NAME_MAX + 64)
#define PERF_MAP_ADDR_LIMIT (1ull << 56) /* user space ends below, on every 64-bit machine */

/* Valid until the next call of perf_map__next() or perf_map__feed(). */
struct perf_map_entry {
	uint64_t addr, size; /* [addr, addr + size) is not empty, and in user space */
	const char *name;    /* name_len bytes, at least one, any but NUL and line ends */
	size_t name_len;
	bool name_cut;
};

struct perf_map {
	uint64_t nr_entries, bad_lines;
	uint64_t empty; /* lines of size 0, which say nothing: skipped */

	/* private */
	const char *pos, *end; /* what is left of the piece */
	uint64_t fed;	       /* offset in the file of pos */
	uint64_t start;	       /* of the line that is being read */
	struct buf cut;	       /* its bytes so far, up to the maximum */
	bool taken;	       /* the line from start on was handed out */
};

void perf_map__init(struct perf_map *pm);
void perf_map__done(struct perf_map *pm);

/* Bytes from perf_map__off() on; borrowed until perf_map__next() has returned false. */
void perf_map__feed(struct perf_map *pm, const void *bytes, size_t len);
bool perf_map__next(struct perf_map *pm, struct perf_map_entry *ret);
/* What was fed behind the last line end, as a line. Once; then a new line begins. */
bool perf_map__last(struct perf_map *pm, struct perf_map_entry *ret);

/* The offset in the file of the byte to feed next. */
uint64_t perf_map__off(const struct perf_map *pm);
/* Bytes fed behind the last line end. */
uint64_t perf_map__tail(const struct perf_map *pm);
/* The file shrank or was replaced: begins at offset 0. Counts are kept. */
void perf_map__restart(struct perf_map *pm);

#endif
