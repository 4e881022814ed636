// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/merge.h"

#include <errno.h>
#include <stdlib.h>

int merge__init(struct merge *m, size_t max_records, size_t max_bytes)
{
	vec_init(&m->items, max_records);
	buf__init(&m->bytes, max_bytes);
	buf__init(&m->spare, max_bytes);
	m->seq = 0;
	return vec_reserve(&m->items, max_records);
}

int merge__raise(struct merge *m, size_t max_records, size_t max_bytes)
{
	if (max_records > m->items.max)
		m->items.max = max_records;
	if (max_bytes > m->bytes.max)
		m->bytes.max = max_bytes;
	if (max_bytes > m->spare.max)
		m->spare.max = max_bytes;
	return vec_reserve(&m->items, m->items.max);
}

void merge__done(struct merge *m)
{
	vec_done(&m->items);
	buf__done(&m->bytes);
	buf__done(&m->spare);
}

int merge__add_sample(struct merge *m, const struct rec_hdr *rec)
{
	return vec_push(&m->items, (struct merge_item){ .time = rec->time,
							.seq = m->seq++,
							.sample = true,
							.borrowed = true,
							.rec = rec });
}

/* Appends a record whole or not at all; where one finds no room a smaller one still may. */
static int copy(struct buf *to, const struct rec_hdr *rec)
{
	int err;

	buf__append(to, rec, rec->length);
	err = buf__error(to);
	to->error = 0;
	return err;
}

int merge__add_task(struct merge *m, const struct rec_hdr *rec)
{
	struct merge_item item = { .time = rec->time, .seq = m->seq++, .at = m->bytes.len };
	int err = vec_reserve(&m->items, m->items.len + 1);

	if (!err)
		err = copy(&m->bytes, rec);
	return err ? err : vec_push(&m->items, item);
}

static int compare(const void *a, const void *b)
{
	const struct merge_item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->sample != y->sample)
		return x->sample ? 1 : -1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Without task records there are only small inversions between CPUs, and mostly not even these. */
static void sort(struct merge_item *items, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		if (compare(&items[i - 1], &items[i]) > 0) {
			qsort(items, len, sizeof(*items), compare);
			return;
		}
	}
}

static const struct rec_hdr *record_of(const struct merge *m, const struct merge_item *item)
{
	return item->borrowed ? item->rec : (const void *)(m->bytes.data + item->at);
}

/* Keeps the items from index first on, moved together in memory of our own. */
static int hold(struct merge *m, size_t first, const struct source_sink *sink)
{
	struct buf moved = m->spare;
	size_t kept = 0;
	int err = 0;

	buf__clear(&moved);
	for (size_t i = first; i < m->items.len; i++) {
		struct merge_item item = m->items.data[i];
		const struct rec_hdr *rec = record_of(m, &item);
		size_t at = moved.len;

		if (copy(&moved, rec)) {
			err = err ? err : sink->record(sink->ctx, rec);
			continue;
		}
		item.borrowed = false;
		item.at = at;
		m->items.data[kept++] = item;
	}
	m->items.len = kept;
	m->spare = m->bytes;
	m->bytes = moved;
	return err;
}

int merge__run(struct merge *m, uint64_t cutoff, const struct source_sink *sink)
{
	size_t i = 0;
	int err = 0, hold_err;

	sort(m->items.data, m->items.len);
	for (; i < m->items.len && m->items.data[i].time <= cutoff; i++)
		if (!err)
			err = sink->record(sink->ctx, record_of(m, &m->items.data[i]));
	hold_err = hold(m, i, sink);
	return err ? err : hold_err;
}

size_t merge__held(const struct merge *m)
{
	return m->items.len;
}
