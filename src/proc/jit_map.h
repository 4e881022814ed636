/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf-PID.map of a process, in its /tmp: found when it appears, read on when it grows, anew
 * when it was written anew.
 *
 * It has no times. What a reading finds was written after the reading before: so that is the time
 * from which it holds, and what was found at an address before holds up to then.
 */
#ifndef EBOLT_PROC_JIT_MAP_H
#define EBOLT_PROC_JIT_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "object/perf_map.h"
#include "proc/jit_code.h"
#include "proc/jit_dump.h"
#include "proc/jit_who.h"

#define JIT_MAP_BYTES_MAX (1ull << 30) /* of a larger file no more is read */

enum jit_map_refusal {
	JIT_MAP_FINE, /* open, or there is none (yet) */
	JIT_MAP_LINK,
	JIT_MAP_NO_FILE, /* a directory, a FIFO, a device */
	JIT_MAP_OWNER,
	JIT_MAP_OLD, /* written before the process, or its exec: of another image */
	JIT_MAP_DENIED,
};

struct jit_map {
	int fd; /* -1: not found so far */
	struct stat st;
	struct perf_map reader;
	uint8_t refusal;    /* enum jit_map_refusal */
	bool found;	    /* it was open once */
	bool whole;	    /* at the last poll all there was was read */
	uint64_t polled_at; /* ns; of the last poll that was whole */
	uint64_t look_at;   /* ns; not looked for before */
	uint64_t look_wait;
};

void jit_map__init(struct jit_map *m);
void jit_map__done(struct jit_map *m);

/* Looks for the file, if it is time to, or opens what has its name now. last: it is time. */
void jit_map__look(struct jit_map *m, const struct jit_who *who, uint64_t now, bool last);

/*
 * Reads what is new of it, if it is open, into the code, until the budget is spent. last: it won't
 * be written any more. Returns the bytes read.
 */
uint64_t jit_map__read(struct jit_map *m, struct jit_code *code, struct jit_piece *piece,
		       uint64_t now, uint64_t *budget, bool last);

#endif
