// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process_table.h"

#include "base/hash.h"
#include "proc/process_check.h"
#include "proc/process_jit.h"

/* How much room is made when the table is full. */
#define EVICT_SHARE 64

void process_table__init(struct process_table *t, struct dso_table *dsos)
{
	*t = (struct process_table){ .dsos = dsos, .next_version = 1, .max_procs = PROCESSES_MAX };
	vec_init(&t->procs, PROCESSES_MAX);
	vec_init(&t->free_places, PROCESSES_MAX);
	vec_init(&t->exited, 2 * PROCESSES_MAX);
	hashmap__init(&t->by_pid, PROCESSES_MAX);
	shared_vm__init(&t->shared);
}

void process__free(struct process *p)
{
	if (!p)
		return;
	process_jit__ended(p);
	process_check__done(&p->check);
	vec_done(&p->maps);
	free(p);
}

void process_table__done(struct process_table *t)
{
	vec_for_each(&t->procs, p)
		if (*p)
			process__free(*p);
	vec_done(&t->procs);
	vec_done(&t->free_places);
	vec_done(&t->exited);
	hashmap__done(&t->by_pid);
	shared_vm__done(&t->shared);
}

struct pid_probe {
	const struct process_table *t;
	uint32_t pid;
};

static bool same_pid(const void *ctx, uint32_t i)
{
	const struct pid_probe *probe = ctx;

	return probe->t->procs.data[i]->pid == probe->pid;
}

static uint32_t place_of(const struct process_table *t, uint32_t pid)
{
	struct pid_probe probe = { .t = t, .pid = pid };

	return hashmap__find(&t->by_pid, hash_u64(pid), same_pid, &probe);
}

struct process *process_table__known(const struct process_table *t, uint32_t pid)
{
	uint32_t i = place_of(t, pid);

	return i == HASHMAP_NONE ? NULL : t->procs.data[i];
}

struct process *process_table__take_out(struct process_table *t, uint32_t pid)
{
	uint32_t i = place_of(t, pid);
	struct process *p;

	if (i == HASHMAP_NONE)
		return NULL;
	hashmap__remove(&t->by_pid, hash_u64(pid), i);
	p = t->procs.data[i];
	t->procs.data[i] = NULL;
	/* The place is reserved: there are never more free places than places. */
	vec_push(&t->free_places, i);
	return p;
}

void process_table__drop(struct process_table *t, uint32_t pid)
{
	process__free(process_table__take_out(t, pid));
}

/*
 * Makes room, one process in EVICT_SHARE at a time: those that have exited, and those that no
 * sample was of since the hand was last here. Such a process is read from /proc again if one comes.
 */
static void evict(struct process_table *t)
{
	size_t wanted = t->max_procs / EVICT_SHARE + 1;

	/* Twice around: the first may only have cleared marks. */
	for (size_t steps = 2 * t->procs.len; steps && wanted; steps--) {
		struct process *p = t->procs.data[t->hand++ % t->procs.len];

		if (!p)
			continue;
		if (p->used && !p->exited_at) {
			p->used = false;
			continue;
		}
		process_table__drop(t, p->pid);
		t->stats.procs_evicted++;
		wanted--;
	}
}

struct process *process_table__add(struct process_table *t, uint32_t pid)
{
	struct process *p = calloc(1, sizeof(*p));
	uint32_t place;

	if (t->by_pid.len >= t->max_procs)
		evict(t);
	if (!p || vec_reserve(&t->free_places, t->procs.len + 1))
		goto fail;
	p->pid = pid;
	p->reread_wait = REREAD_WAIT_MIN;
	p->version = t->next_version++;
	p->losses = STALE;
	p->prune_at = PRUNE_MIN;
	vec_init(&p->maps, PROCESS_MAPS_MAX);
	if (t->free_places.len)
		place = t->free_places.data[t->free_places.len - 1];
	else
		place = t->procs.len;
	if (place == t->procs.len && vec_push(&t->procs, NULL))
		goto fail;
	if (hashmap__add(&t->by_pid, hash_u64(pid), place)) {
		if (place == t->procs.len - 1 && !t->free_places.len)
			t->procs.len--;
		goto fail;
	}
	if (t->free_places.len)
		t->free_places.len--;
	t->procs.data[place] = p;
	return p;
fail:
	free(p);
	t->stats.procs_dropped++;
	return NULL;
}
