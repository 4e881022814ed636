// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process_check.h"

#include <stdlib.h>

#include "base/clock.h"
#include "proc/mappings.h"
#include "proc/maps_reader.h"
#include "proc/moved_text.h"
#include "proc/process_jit.h"
#include "proc/process_read.h"

struct settling {
	struct process_table *t;
	struct process *p;
	uint64_t from;		/* ns; what has a record from then on stays */
	struct process *stated; /* the reading */
	bool changed, replaced;
};

static bool same_dso(const struct process_table *t, uint32_t a, uint32_t b)
{
	const struct dso_id *x = &t->dsos->dsos.data[a].id, *y = &t->dsos->dsos.data[b].id;

	/* Which of the files of one identity it is may have been known only when it was mapped. */
	return a == b || (x->ino && x->maj == y->maj && x->min == y->min && x->ino == y->ino);
}

/* Is `stated`, where it overlaps, what is known? */
static bool agrees(const struct process_table *t, const struct mapping *known,
		   const struct mapping *stated)
{
	if (known->kind != stated->kind)
		return false;
	return known->kind == MAPPING_ANON ||
	       (same_dso(t, known->dso, stated->dso) &&
		known->pgoff - known->start == stated->pgoff - stated->start && !known->moved);
}

/* Text of a file in what is anonymous memory now: moved there, or something else that came. */
static bool is_still_its_text(const struct settling *s, const struct mapping *known,
			      const struct mapping *stated)
{
	return known->kind == MAPPING_FILE && stated->kind == MAPPING_ANON &&
	       moved_text__is(s->t->dsos, known->dso, known->pgoff, s->p->pid, known->start,
			      known->end - known->start);
}

static void cover(struct settling *s, const struct mapping *m)
{
	if (mappings__cover(s->p, m))
		s->t->stats.maps_dropped++;
	else
		process_jit__mapped(s->t, s->p, m);
	s->changed = true;
}

/* Two of the same extent. */
static void replace(struct settling *s, const struct mapping *known, const struct mapping *stated)
{
	struct mapping moved = *known;

	if (known->since >= s->from || agrees(s->t, known, stated))
		return;
	if (is_still_its_text(s, known, stated)) {
		moved.moved = true;
		if (!known->moved)
			cover(s, &moved);
		return;
	}
	cover(s, stated);
	s->replaced = true;
	s->t->stats.came_unseen++;
}

static void take_over(struct settling *s, const struct mapping *stated)
{
	for (uint64_t at = stated->start; at < stated->end;) {
		const struct mapping *over = process__next(s->p, at);
		struct mapping part = *stated, known;

		part.since = s->from;
		if (!over || over->start >= stated->end) {
			mappings__clip(&part, at, stated->end);
			cover(s, &part);
			return;
		}
		known = *over;
		if (known.start > at) {
			mappings__clip(&part, at, known.start);
			cover(s, &part);
		} else {
			mappings__clip(&part, at, known.end);
			mappings__clip(&known, part.start, part.end);
			replace(s, &known, &part);
		}
		at = part.end;
	}
}

/* What is stated nowhere is no more. */
static void remove_gone(struct settling *s)
{
	const struct mapping *known, *there;
	uint64_t at = 0;

	while ((known = process__next(s->p, at))) {
		uint64_t end = known->end;

		if (at < known->start)
			at = known->start;
		there = process__next(s->stated, at);
		if (there && there->start <= at) {
			at = there->end < end ? there->end : end;
			continue;
		}
		if (there && there->start < end)
			end = there->start;
		if (known->since < s->from) {
			if (mappings__cut(s->p, at, end))
				return;
			s->changed = true;
		}
		at = end;
	}
}

static void settle(struct process_table *t, struct process *p)
{
	struct settling s = { .t = t, .p = p, .from = p->check.from, .stated = p->check.stated };

	/* Not where another image began during the reading or later. */
	if (p->as_of < s.from) {
		remove_gone(&s);
		vec_for_each(&s.stated->maps, m)
			take_over(&s, m);
	}
	process_check__done(&p->check);
	if (s.changed)
		p->version = t->next_version++;
	if (s.replaced) {
		p->check.wait = CHECK_WAIT_MIN;
		p->check.due = clock__now() + CHECK_WAIT_MIN;
	}
}

static bool is_due(struct process_table *t, struct process *p, uint64_t now)
{
	struct process_check *c = &p->check;

	/* First sampled, or another image since. */
	if (!c->wait || c->as_of != p->as_of) {
		c->as_of = p->as_of;
		c->wait = CHECK_WAIT_MIN;
		c->due = now + c->wait;
	}
	if (now < c->due || !process_budget__spend(&t->check_budget, now, CHECKS_PER_SEC))
		return false;
	c->wait = 2 * c->wait < CHECK_WAIT_MAX ? 2 * c->wait : CHECK_WAIT_MAX;
	c->due = now + c->wait;
	return true;
}

static void read_now(struct process_table *t, struct process *p, uint64_t now)
{
	struct process *stated = calloc(1, sizeof(*stated));

	if (!stated)
		return;
	vec_init(&stated->maps, PROCESS_MAPS_MAX);
	p->check.stated = stated;
	p->check.from = now;
	t->stats.checks++;
	/* Of one that has just ended nothing is stated. */
	if (maps_reader__read_stated(t->dsos, p->pid, stated, &t->stats.maps_dropped) ||
	    !stated->maps.len || !process_read__lives(p->pid, p->start_ticks))
		process_check__done(&p->check);
	p->check.until = clock__now();
}

void process_check__done(struct process_check *c)
{
	if (c->stated)
		vec_done(&c->stated->maps);
	free(c->stated);
	c->stated = NULL;
}

void process_table__check(struct process_table *t, struct process *p, uint64_t addr, uint64_t time)
{
	const struct mapping *m;
	uint64_t now;

	if (p->check.stated) {
		if (time >= p->check.until)
			settle(t, p);
		return;
	}
	m = process__lookup(p, addr);
	if (!m || m->kind != MAPPING_FILE)
		return;
	now = clock__now();
	if (is_due(t, p, now))
		read_now(t, p, now);
}
