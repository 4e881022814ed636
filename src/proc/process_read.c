// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process_read.h"

#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/mappings.h"
#include "proc/maps_reader.h"
#include "proc/process_jit.h"
#include "proc/process_table.h"

/* Readings of /proc/PID/maps for uncovered addresses: all processes a second; one process,
 * at first every REREAD_WAIT_MIN.
 */
#define REREADS_PER_SEC 100
#define REREAD_WAIT_MAX (NSEC_PER_SEC * 60)
/*
 * No sample after a reading can be in what wasn't there, but those from before may still be to
 * come: they are looked up a fraction of a second after they were taken.
 */
#define KEEP_UNMAPPED (2 * NSEC_PER_SEC)
/* With so many mappings a process is looked at, however few were forgotten: nearly all it can. */
#define PRUNE_MAX (PROCESS_MAPS_MAX - PROCESS_MAPS_MAX / 8)
/* Reading as many takes tens of milliseconds. */
#define PRUNE_WAIT NSEC_PER_SEC

bool process_read__living(uint32_t pid, struct proc_stat *ret)
{
	return !proc_stat__read(pid, ret) && !proc_stat__is_dead(ret);
}

bool process_read__lives(uint32_t pid, uint64_t start_ticks)
{
	struct proc_stat stat;

	return process_read__living(pid, &stat) && stat.start_ticks == start_ticks;
}

/* there: mappings that were in /proc just now. */
static void prune_at_twice(struct process *p, size_t there)
{
	p->prune_at = 2 * there;
	if (p->prune_at < PRUNE_MIN)
		p->prune_at = PRUNE_MIN;
	if (p->prune_at > PRUNE_MAX)
		p->prune_at = PRUNE_MAX;
}

struct process *process_table__read(struct process_table *t, uint32_t pid)
{
	uint64_t as_of = clock__now();
	struct process *p, *was;
	struct proc_stat stat;

	if (!process_read__living(pid, &stat))
		return NULL;
	was = process_table__take_out(t, pid);
	p = process_table__add(t, pid);
	if (p) {
		p->as_of = as_of;
		p->losses = t->losses;
		p->start_ticks = stat.start_ticks;
		/* Another may have got the id meanwhile. */
		if (maps_reader__read(t->dsos, pid, p, &t->stats.maps_dropped) ||
		    !process_read__lives(pid, stat.start_ticks)) {
			process_table__drop(t, pid);
			p = NULL;
		} else {
			p->sure_from = clock__now();
			prune_at_twice(p, p->maps.len);
			process_jit__read(t, p, was);
			/* Kernel threads have no memory to share. */
			if (p->maps.len)
				shared_vm__began(&t->shared, stat.ppid, pid);
		}
	}
	process__free(was);
	return p;
}

int process_table__read_proc(struct process_table *t)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			process_table__read(t, strtoul(entry->d_name, NULL, 10));
	return 0;
}

bool process_budget__spend(struct process_budget *b, uint64_t now, uint64_t per_sec)
{
	if (now - b->since >= NSEC_PER_SEC)
		*b = (struct process_budget){ .since = now, .left = per_sec };
	if (!b->left)
		return false;
	b->left--;
	return true;
}

void process_read__prune(struct process_table *t, struct process *p, uint64_t time)
{
	struct process now = { .pid = p->pid };
	uint64_t read_at;
	size_t there = 0;

	if (p->maps.len < p->prune_at || time < p->prune_after)
		return;
	vec_init(&now.maps, PROCESS_MAPS_MAX);
	if (!maps_reader__read(t->dsos, p->pid, &now, &t->stats.maps_dropped)) {
		read_at = clock__now();
		/* Records are applied after they were made, but in tests. */
		if (read_at < time)
			read_at = time;
		if (mappings__sweep(p, &now, read_at,
				    time > KEEP_UNMAPPED ? time - KEEP_UNMAPPED : 0))
			p->version = t->next_version++;
	}
	vec_done(&now.maps);
	p->prune_after = time + PRUNE_WAIT;
	vec_for_each(&p->maps, m)
		there += !m->gone;
	prune_at_twice(p, there);
}

static bool spend_reread(struct process_table *t, struct process *p, uint64_t now)
{
	if (now < p->reread_at || !process_budget__spend(&t->reread_budget, now, REREADS_PER_SEC))
		return false;
	t->stats.rereads++;
	p->reread_at = now + p->reread_wait;
	p->reread_wait = p->reread_wait * 2 < REREAD_WAIT_MAX ? p->reread_wait * 2
							      : REREAD_WAIT_MAX;
	return true;
}

bool process_table__reread(struct process_table *t, struct process *p)
{
	struct process now = { .pid = p->pid };
	bool changed = false;

	/* Threads may exit all the time in a process that lives: that it ended shows below. */
	if (!spend_reread(t, p, clock__now()))
		return false;
	vec_init(&now.maps, PROCESS_MAPS_MAX);
	/*
	 * What is read is of now, the sample of before. What was mapped in between will be told by
	 * a record, so what is known already holds until then: only gaps are filled. An exec in
	 * between would lend the sample another image's mappings. Its record may have been seen
	 * ahead of its turn, and such an image shares no mapping with the one that is known, unless
	 * both were placed alike.
	 */
	if (!p->exec_ahead && process_read__lives(p->pid, p->start_ticks) &&
	    !maps_reader__read(t->dsos, p->pid, &now, &t->stats.maps_dropped) &&
	    (!p->maps.len || mappings__share(p, &now))) {
		vec_for_each(&now.maps, m) {
			bool added;

			if (mappings__fill(p, m, &added))
				t->stats.maps_dropped++;
			if (added)
				process_jit__mapped(t, p, m);
			changed |= added;
		}
	}
	vec_done(&now.maps);
	if (changed) {
		p->version = t->next_version++;
		p->reread_wait = REREAD_WAIT_MIN;
	}
	return changed;
}
