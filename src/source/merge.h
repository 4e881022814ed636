/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two streams of records, samples and task records, into one in order of time.
 *
 * Why this needs no waiting: a sample depends only on task records that were in their ring before
 * it was taken (the mapping that it hit, the exec, the fork), and both are stamped by one
 * clock. So drain the samples first; note the time; then drain the task records. Everything that
 * the samples at hand depend on is now here too, and no record yet to come is older than
 * the noted time. What was stamped later is held back for the next round, where it meets
 * the samples it belongs before.
 *
 * A round:
 *	merge__add_sample()...		borrowed until the round has run
 *	cutoff = now
 *	merge__add_task()...		copied
 *	merge__run(cutoff)
 */
#ifndef EBOLT_SOURCE_MERGE_H
#define EBOLT_SOURCE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "source/source.h"

struct merge_item {
	uint64_t time;
	uint64_t seq; /* in order of arrival: equal times keep it */
	union {
		const struct rec_hdr *rec; /* a sample */
		size_t at;		   /* a task record, in bytes */
	};
};

struct merge {
	VEC(struct merge_item) samples, tasks;
	struct buf bytes, spare; /* task records, at multiples of 8; `spare` for compaction */
	uint64_t seq;
};

/*
 * Bounds: samples of one round, for which room is made now, so that none is lost later for want of
 * memory; bytes of task records, those held back included. 0 or -ENOMEM.
 */
int merge__init(struct merge *m, size_t max_samples, size_t max_task_bytes);
void merge__done(struct merge *m);

/* 0, -E2BIG (over the bounds) or -ENOMEM, and then the record was not taken. */
int merge__add_sample(struct merge *m, const struct rec_hdr *rec);
int merge__add_task(struct merge *m, const struct rec_hdr *rec);

/*
 * Hands out all samples, and the task records up to and including the cutoff (ns), in order of
 * time; at equal times task records first. 0 or the sink's error; what was to be handed out after a
 * failing record is dropped.
 */
int merge__run(struct merge *m, uint64_t cutoff, const struct source_sink *sink);

/* Task records that are held back. */
size_t merge__held(const struct merge *m);

#endif
