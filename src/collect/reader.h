/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a BPF ring buffer in place.
 *
 *	reader__begin(r);
 *	while ((rec = reader__next(r, &len)))	rec is borrowed until reader__release()
 *		...
 *	reader__release(r);
 *
 * A round ends at what had been written when it began, so it is never longer than the ring; the
 * room is given back to the writers at its end.
 */
#ifndef EBOLT_COLLECT_READER_H
#define EBOLT_COLLECT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	void *control;	     /* the page with the consumer's position */
	const uint8_t *data; /* the ring, twice in a row, so that no record wraps */
	size_t bytes;	     /* of the ring */
	uint64_t pos, end;   /* of this round */
};

/* map_fd: of the BPF_MAP_TYPE_RINGBUF map, borrowed. 0 or a negative errno. */
int reader__open(struct reader *r, int map_fd, size_t ring_bytes);
void reader__done(struct reader *r);

void reader__begin(struct reader *r);
/* The next record, aligned to 8, and its length in bytes; NULL at the end of the round. */
const void *reader__next(struct reader *r, size_t *ret_len);
/* Whether the round ended before what had been written, at a record that is being written. */
bool reader__blocked(const struct reader *r);
void reader__release(struct reader *r);

#endif
