// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/merge.h"

#include <errno.h>
#include <stdlib.h>

/* The smallest task record, to bound their number by the bytes. */
#define TASK_BYTES_MIN sizeof(struct rec_lost)

int merge__init(struct merge *m, size_t max_samples, size_t max_task_bytes)
{
	vec_init(&m->samples, max_samples);
	vec_init(&m->tasks, max_task_bytes / TASK_BYTES_MIN);
	buf__init(&m->bytes, max_task_bytes);
	buf__init(&m->spare, max_task_bytes);
	m->seq = 0;
	return vec_reserve(&m->samples, max_samples);
}

void merge__done(struct merge *m)
{
	vec_done(&m->samples);
	vec_done(&m->tasks);
	buf__done(&m->bytes);
	buf__done(&m->spare);
}

int merge__add_sample(struct merge *m, const struct rec_hdr *rec)
{
	return vec_push(&m->samples,
			(struct merge_item){ .time = rec->time, .seq = m->seq++, .rec = rec });
}

int merge__add_task(struct merge *m, const struct rec_hdr *rec)
{
	struct merge_item item = { .time = rec->time, .seq = m->seq++, .at = m->bytes.len };
	int err = vec_reserve(&m->tasks, m->tasks.len + 1);

	if (err)
		return err;
	buf__append(&m->bytes, rec, rec->length);
	err = buf__error(&m->bytes);
	if (err) {
		m->bytes.error = 0; /* nothing was appended; smaller ones may still fit */
		return err;
	}
	return vec_push(&m->tasks, item);
}

static int compare(const void *a, const void *b)
{
	const struct merge_item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Rings are in order but for small inversions between CPUs, so mostly there is nothing to do. */
static void sort(struct merge_item *items, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		if (compare(&items[i - 1], &items[i]) > 0) {
			qsort(items, len, sizeof(*items), compare);
			return;
		}
	}
}

static int hand_out(struct merge *m, size_t nr_tasks, const struct source_sink *sink)
{
	size_t s = 0, t = 0;
	int err = 0;

	while (!err && (s < m->samples.len || t < nr_tasks)) {
		const struct merge_item *sample = &m->samples.data[s], *task = &m->tasks.data[t];

		if (t < nr_tasks && (s == m->samples.len || task->time <= sample->time)) {
			err = sink->record(sink->ctx, (const void *)(m->bytes.data + task->at));
			t++;
		} else {
			err = sink->record(sink->ctx, sample->rec);
			s++;
		}
	}
	return err;
}

/* Drops the first nr_tasks and keeps the rest, moved together. */
static void drop_tasks(struct merge *m, size_t nr_tasks)
{
	struct buf moved = m->spare;

	vec_remove(&m->tasks, 0, nr_tasks);
	buf__clear(&moved);
	vec_for_each(&m->tasks, item) {
		const struct rec_hdr *rec = (const void *)(m->bytes.data + item->at);

		item->at = moved.len;
		buf__append(&moved, rec, rec->length);
	}
	m->spare = m->bytes;
	m->bytes = moved;
}

int merge__run(struct merge *m, uint64_t cutoff, const struct source_sink *sink)
{
	size_t nr_tasks = 0;
	int err;

	sort(m->samples.data, m->samples.len);
	sort(m->tasks.data, m->tasks.len);
	while (nr_tasks < m->tasks.len && m->tasks.data[nr_tasks].time <= cutoff)
		nr_tasks++;
	err = hand_out(m, nr_tasks, sink);
	m->samples.len = 0;
	if (nr_tasks)
		drop_tasks(m, nr_tasks);
	return err;
}

size_t merge__held(const struct merge *m)
{
	return m->tasks.len;
}
