/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two streams of records, samples and task records, into one in order of time.
 *
 * A record is stamped first and can be read a little later: the program that samples has to walk
 * stacks in between, and its CPU may lose the processor to another guest. So what was read in a
 * round is complete only up to a time that lies a little before the reading began, the cutoff.
 * Records up to it are handed out in order of time, newer ones are held for the next round. Then a
 * sample finds exactly what was true at its time: no exec or mapping that came after it was
 *applied, however soon the two followed each other.
 *
 * A record that takes longer than that to appear is handed out late, in the round that finds it.
 * It still finds all that it depends on, since that was in its ring before it was stamped.
 *
 * A round:
 *	cutoff = now - what a record may take to appear
 *	merge__add_sample()...		borrowed until the round has run
 *	merge__add_task()...		copied
 *	merge__run(cutoff)
 */
#ifndef EBOLT_SOURCE_MERGE_H
#define EBOLT_SOURCE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "source/source.h"

struct merge_item {
	uint64_t time;
	uint64_t seq; /* in order of arrival: equal times keep it */
	bool sample;
	bool borrowed;
	union {
		const struct rec_hdr *rec; /* borrowed */
		size_t at;		   /* copied: where in bytes */
	};
};

struct merge {
	VEC(struct merge_item) items;
	struct buf bytes, spare; /* copied records, at multiples of 8; `spare` for compaction */
	uint64_t seq;
};

/*
 * Bounds: records of one round with those held, and bytes of copied records. Room for the records
 * is made now, so that none is lost later for want of memory. 0 or -ENOMEM.
 */
int merge__init(struct merge *m, size_t max_records, size_t max_bytes);
/* Raises the bounds (never lowers them): there are more rings. 0 or -ENOMEM. */
int merge__raise(struct merge *m, size_t max_records, size_t max_bytes);
void merge__done(struct merge *m);

/* 0, -E2BIG (over the bounds) or -ENOMEM, and then the record was not taken. */
int merge__add_sample(struct merge *m, const struct rec_hdr *rec);
int merge__add_task(struct merge *m, const struct rec_hdr *rec);

/*
 * Hands out the records up to and including the cutoff (ns) in order of time; at equal times task
 * records first. Samples that are newer are copied and held; one that finds no room is handed out
 * now rather than lost. 0 or the sink's error; what was to be handed out after a failing record is
 * dropped.
 */
int merge__run(struct merge *m, uint64_t cutoff, const struct source_sink *sink);

/* Records that are held. */
size_t merge__held(const struct merge *m);

#endif
