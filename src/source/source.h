/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where records come from: a running kernel (live) or a file. One small interface, so that the
 * session can't tell the difference.
 *
 * A source hands out records in order of time, and a sample only after every task record that it
 * depends on. So whoever applies each record as it comes has, at each sample, the state of the
 * world at the sample's time.
 */
#ifndef EBOLT_SOURCE_SOURCE_H
#define EBOLT_SOURCE_SOURCE_H

#include <stdint.h>

#include "../../bpf/record.h"

/*
 * Receives a record, borrowed for the call. 0 goes on; a negative errno ends the dispatch and is
 * returned by it (only for faults that make going on pointless).
 */
struct source_sink {
	int (*record)(void *ctx, const struct rec_hdr *rec);
	/*
	 * A task record that was read, and whose turn is yet to come: for what can't wait, such as
	 * opening the file of a process that may end any moment. NULL where nothing can't.
	 */
	void (*foresee)(void *ctx, const struct rec_hdr *rec);
	/*
	 * Before the records of a round are handed out, when all that was written at their times
	 * can be read: for files that are read while they are written. NULL: there are none.
	 */
	void (*round)(void *ctx);
	void *ctx;
};

/* What a source knows of samples that it did not hand out. See src/profile/ledger.h. */
struct source_counts {
#define STAT(name, kind, help) uint64_t name;
#include "../../bpf/stats.def"
#undef STAT
};

struct source;

struct source_ops {
	/* Begins to produce samples (task records may come before). 0 or a negative errno. */
	int (*start)(struct source *src);
	/* Readable when dispatch has something to do; -1 for a source that never waits. */
	int (*fd)(struct source *src);
	/* Hands out what is due. 0: more may come; 1: the end was reached; negative errno. */
	int (*dispatch)(struct source *src, const struct source_sink *sink);
	/* Stops sampling and hands out all that is left. 0 or a negative errno. */
	int (*stop)(struct source *src, const struct source_sink *sink);
	/* Counts since start; exact after stop. */
	void (*counts)(struct source *src, struct source_counts *ret);
	void (*free)(struct source *src);
};

struct source {
	const struct source_ops *ops;
};

static inline void source__free(struct source *src)
{
	if (src)
		src->ops->free(src);
}

#endif
