// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mappings of one process: a sorted array in which a new mapping covers what it overlaps, as
 * mmap(MAP_FIXED) does. What it overlaps in part is cut, what it lies inside is split in two.
 */
#include "proc/mappings.h"

#include <errno.h>

/* Runtimes that protect page by page have as many mappings; a function lies in fewer than these. */
#define CODE_MAPPINGS_MAX 64

/* The first mapping that ends after addr. */
static size_t first_after(const struct process *p, uint64_t addr)
{
	size_t lo = 0, hi = p->maps.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->maps.data[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mapping *process__next(const struct process *p, uint64_t addr)
{
	size_t i = first_after(p, addr);

	return i < p->maps.len ? &p->maps.data[i] : NULL;
}

const struct mapping *process__lookup(const struct process *p, uint64_t addr)
{
	size_t i = first_after(p, addr);

	return i < p->maps.len && p->maps.data[i].start <= addr ? &p->maps.data[i] : NULL;
}

uint64_t process__code_floor(const struct process *p, uint64_t addr)
{
	size_t i = first_after(p, addr), most = CODE_MAPPINGS_MAX;
	const struct mapping *m = process__lookup(p, addr);

	if (!m)
		return i ? p->maps.data[i - 1].end : 0;
	for (; i && --most && m->kind == MAPPING_ANON; i--, m--)
		if (m[-1].kind != MAPPING_ANON || m[-1].end != m->start)
			break;
	return m->start;
}

struct dso_sighting process__sighting(const struct process *p, const struct mapping *m,
				      const struct dso_table *dsos)
{
	const struct dso *d = &dsos->dsos.data[m->dso];

	return (struct dso_sighting){ .id = d->id,
				      .path = d->path,
				      .path_len = strlen(d->path),
				      .pid = p->pid,
				      .start = m->start,
				      .end = m->end,
				      .pgoff = m->pgoff };
}

static void move_start(struct mapping *m, uint64_t start)
{
	m->pgoff += start - m->start;
	m->start = start;
}

void mappings__clip(struct mapping *m, uint64_t start, uint64_t end)
{
	if (m->start < start)
		move_start(m, start);
	if (m->end > end)
		m->end = end;
}

/* Makes room: nothing overlaps [start, end) afterwards. Returns the index to insert at. */
static int punch(struct process *p, uint64_t start, uint64_t end, size_t *ret_at)
{
	size_t i = first_after(p, start), last;

	if (i < p->maps.len && p->maps.data[i].start < start) {
		struct mapping tail = p->maps.data[i];

		if (tail.end > end) {
			int err = vec_reserve(&p->maps, p->maps.len + 2);

			if (err)
				return err;
			move_start(&tail, end);
			vec_insert(&p->maps, i + 1, tail);
		}
		p->maps.data[i].end = start;
		i++;
	}
	for (last = i; last < p->maps.len && p->maps.data[last].end <= end; last++)
		;
	vec_remove(&p->maps, i, last - i);
	if (i < p->maps.len && p->maps.data[i].start < end)
		move_start(&p->maps.data[i], end);
	*ret_at = i;
	return 0;
}

int mappings__cut(struct process *p, uint64_t start, uint64_t end)
{
	size_t at;

	return punch(p, start, end, &at);
}

int mappings__cover(struct process *p, const struct mapping *m)
{
	size_t at;
	int err = vec_reserve(&p->maps, p->maps.len + 2);

	if (!err)
		err = punch(p, m->start, m->end, &at);
	if (err)
		return err;
	return vec_insert(&p->maps, at, *m);
}

int mappings__fill(struct process *p, const struct mapping *m, bool *ret_added)
{
	const struct mapping *over;
	bool added = false;
	int err = 0;

	for (uint64_t at = m->start; !err && at < m->end;) {
		struct mapping part = *m;

		over = process__next(p, at);
		mappings__clip(&part, at, over && over->start < m->end ? over->start : m->end);
		/* Where `over` may be after the adding is not where it was. */
		at = over ? over->end : m->end;
		if (part.start >= part.end)
			continue;
		err = mappings__cover(p, &part);
		added |= !err;
	}
	*ret_added = added;
	return err;
}

bool mappings__has(const struct process *p, const struct mapping *m)
{
	const struct mapping *have = process__lookup(p, m->start);

	return have && have->start == m->start && have->end == m->end && have->kind == m->kind &&
	       (m->kind == MAPPING_ANON || (have->dso == m->dso && have->pgoff == m->pgoff));
}

int mappings__copy(struct process *to, const struct process *from)
{
	int err = vec_reserve(&to->maps, from->maps.len);

	if (err)
		return err;
	if (from->maps.len)
		memcpy(to->maps.data, from->maps.data, from->maps.len * sizeof(*from->maps.data));
	to->maps.len = from->maps.len;
	/* What was seen to be gone was gone from the other. */
	vec_for_each(&to->maps, m)
		m->gone = 0;
	return 0;
}

void mappings__renew(struct process *p, const struct mapping *m)
{
	size_t i = first_after(p, m->start);

	if (i < p->maps.len && p->maps.data[i].start == m->start) {
		p->maps.data[i].since = m->since;
		p->maps.data[i].gone = 0;
	}
}

bool mappings__sweep(struct process *p, const struct process *now, uint64_t read_at,
		     uint64_t gone_before)
{
	size_t kept = 0, len = p->maps.len;

	vec_for_each(&p->maps, m) {
		const struct mapping *over = process__next(now, m->start);

		if (over && over->start < m->end)
			m->gone = 0;
		else if (!m->gone)
			m->gone = read_at;
		if (!m->gone || m->gone >= gone_before)
			p->maps.data[kept++] = *m;
	}
	p->maps.len = kept;
	return kept < len;
}

int mappings__copy_range(struct process *to, const struct process *from, uint64_t start,
			 uint64_t end)
{
	int err = 0;

	for (size_t i = first_after(from, start); !err && i < from->maps.len; i++) {
		if (from->maps.data[i].start >= end)
			break;
		err = vec_push(&to->maps, from->maps.data[i]);
	}
	return err;
}

bool mappings__share(const struct process *a, const struct process *b)
{
	vec_for_each(&a->maps, m)
		if (mappings__has(b, m))
			return true;
	return false;
}
