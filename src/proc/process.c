// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "object/proc_stat.h"
#include "proc/mappings.h"
#include "proc/maps_reader.h"
#include "proc/process_jit.h"

#define NSEC_PER_TICK (NSEC_PER_SEC / 100) /* of /proc/PID/stat, on every architecture here */
/* Readings of /proc/PID/maps for uncovered addresses: all processes a second; one process. */
#define REREADS_PER_SEC 100
#define REREAD_WAIT_MIN (NSEC_PER_SEC / 20)
#define REREAD_WAIT_MAX (NSEC_PER_SEC * 60)
/* struct process.losses of one whose beginning was not seen. */
#define STALE UINT64_MAX
/* How much room is made when the table is full. */
#define EVICT_SHARE 64
/* Readings of processes whose records may have been lost, a second. */
#define STALE_READS_PER_SEC 1000
/* Kernel samples and late records may follow a process's exit. */
#define KEEP_EXITED (2 * NSEC_PER_SEC)
/* Samples are looked up a fraction of a second after they were taken. */
#define KEEP_UNMAPPED (2 * NSEC_PER_SEC)
/* So many mappings of a process are never too many. */
#define PRUNE_MIN 1024

void process_table__init(struct process_table *t, struct dso_table *dsos)
{
	*t = (struct process_table){ .dsos = dsos, .next_version = 1, .max_procs = PROCESSES_MAX };
	vec_init(&t->procs, PROCESSES_MAX);
	vec_init(&t->free_places, PROCESSES_MAX);
	vec_init(&t->exited, 2 * PROCESSES_MAX);
	hashmap__init(&t->by_pid, PROCESSES_MAX);
	shared_vm__init(&t->shared);
}

static void process__free(struct process *p)
{
	if (!p)
		return;
	process_jit__ended(p);
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

static struct process *known(const struct process_table *t, uint32_t pid)
{
	uint32_t i = place_of(t, pid);

	return i == HASHMAP_NONE ? NULL : t->procs.data[i];
}

/* Takes it out of the table, for the caller to free. NULL: it isn't there. */
static struct process *take_out(struct process_table *t, uint32_t pid)
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

static void drop(struct process_table *t, uint32_t pid)
{
	process__free(take_out(t, pid));
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
		drop(t, p->pid);
		t->stats.procs_evicted++;
		wanted--;
	}
}

static struct process *add(struct process_table *t, uint32_t pid)
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

/* The start time of what runs under this id now; 0: nothing does. */
static uint64_t read_start_ticks(uint32_t pid)
{
	struct proc_stat stat;

	return proc_stat__read(pid, &stat) ? 0 : stat.start_ticks;
}

struct process *process_table__read(struct process_table *t, uint32_t pid)
{
	uint64_t as_of = clock__now(), start = read_start_ticks(pid);
	struct process *p, *was;

	if (!start)
		return NULL;
	was = take_out(t, pid);
	p = add(t, pid);
	if (p) {
		p->as_of = as_of;
		p->losses = t->losses;
		p->start_ticks = start;
		if (maps_reader__read(t->dsos, pid, p, &t->stats.maps_dropped)) {
			drop(t, pid);
			p = NULL;
		} else {
			process_jit__read(t, p, was);
		}
	}
	process__free(was);
	return p;
}

int process_table__read_proc(struct process_table *t)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct proc_stat stat;
	struct dirent *entry;
	struct process *p;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		p = process_table__read(t, strtoul(entry->d_name, NULL, 10));
		/* Kernel threads have no memory to share. */
		if (p && p->maps.len && !proc_stat__read(p->pid, &stat))
			shared_vm__began(&t->shared, stat.ppid, p->pid);
	}
	return 0;
}

/* Records that are older than what was read of the process are part of it already. */
static bool is_old(struct process_table *t, const struct process *p, const struct rec_hdr *rec)
{
	if (!p || rec->time >= p->as_of)
		return false;
	t->stats.ignored_old++;
	return true;
}

/*
 * The process that a record is of: p, which has its pid, or NULL. A start time (BPF tells it) that
 * is another's is that of a successor, whose fork was lost.
 */
static struct process *same(struct process_table *t, struct process *p,
			    const struct rec_facts *facts)
{
	if (p && !p->start_ticks)
		p->start_ticks = facts->start_ticks;
	if (!p || !facts->start_ticks || p->start_ticks == facts->start_ticks)
		return p;
	shared_vm__left(&t->shared, p->pid);
	drop(t, p->pid);
	return NULL;
}

static struct process *same_or_new(struct process_table *t, struct process *p, uint32_t pid,
				   const struct rec_facts *facts)
{
	p = same(t, p, facts);
	if (!p)
		p = add(t, pid);
	if (p && !p->start_ticks)
		p->start_ticks = facts->start_ticks;
	return p;
}

/* What a mapping record states; false where it makes no sense or is of the kernel's half. */
static bool sighting_of(const struct rec_mmap *r, struct dso_sighting *ret)
{
	*ret = (struct dso_sighting){
		.id = { .maj = r->maj,
			.min = r->min,
			.ino = r->ino,
			.gen = r->gen,
			.gen_known = true },
		.path = r->path,
		.path_len = strnlen(r->path, r->hdr.length - sizeof(*r)),
		.pid = r->pid,
		.tid = r->tid,
		.start = r->start,
		.end = r->start + r->len,
		.pgoff = r->pgoff,
	};
	return ret->end > ret->start && !(ret->start >> 63);
}

/*
 * Nothing tells of munmap(). Who maps at ever new places would fill the table: every time that
 * there are twice as many as were left the last time, those are forgotten that aren't in /proc any
 * more, but for the ones that may have been there at the time of a sample that is still to come.
 */
static void prune(struct process_table *t, struct process *p, uint64_t time)
{
	struct process now = { .pid = p->pid };

	vec_init(&now.maps, PROCESS_MAPS_MAX);
	if (!maps_reader__read(t->dsos, p->pid, &now, &t->stats.maps_dropped) &&
	    mappings__share(p, &now)) {
		mappings__keep(p, &now, time > KEEP_UNMAPPED ? time - KEEP_UNMAPPED : 0);
		p->version = t->next_version++;
	}
	vec_done(&now.maps);
	p->prune_at = 2 * p->maps.len > PRUNE_MIN ? 2 * p->maps.len : PRUNE_MIN;
}

static void add_mapping(struct process_table *t, struct process *p, const struct mapping *m)
{
	/* W^X runtimes report the same mapping again and again. */
	if (mappings__has(p, m)) {
		mappings__renew(p, m);
		return;
	}
	if (m->kind == MAPPING_ANON)
		maps_reader__cover_by_anon(t->dsos, p, m, &t->stats.maps_dropped);
	else if (mappings__cover(p, m))
		t->stats.maps_dropped++;
	p->version = t->next_version++;
	process_jit__mapped(t, p, m);
	if (p->maps.len >= p->prune_at)
		prune(t, p, m->since);
}

static void on_mmap(struct process_table *t, const struct rec_mmap *r)
{
	struct process *p = known(t, r->pid);
	struct dso_sighting s;
	struct mapping m;
	uint32_t pid;

	if (is_old(t, p, &r->hdr) || !sighting_of(r, &s))
		return;
	p = same_or_new(t, p, r->pid, &r->facts);
	if (!p)
		return;
	if (maps_reader__classify(t->dsos, &s, &m)) {
		t->stats.maps_dropped++;
		return;
	}
	m.since = r->hdr.time;
	add_mapping(t, p, &m);
	for (size_t pos = 0; shared_vm__next(&t->shared, r->pid, &pos, &pid);) {
		p = known(t, pid);
		if (p && !is_old(t, p, &r->hdr))
			add_mapping(t, p, &m);
	}
}

void process_table__foresee(struct process_table *t, const struct rec_hdr *rec)
{
	struct dso_sighting s;
	struct mapping m;

	/* A file that can't be kept is counted when the record's turn comes. */
	if (rec->type == REC_MMAP && sighting_of((const struct rec_mmap *)rec, &s) &&
	    !maps_reader__classify(t->dsos, &s, &m))
		process_jit__foresee(t, known(t, s.pid), s.pid, &m);
}

static void on_exec(struct process_table *t, const struct rec_comm *r)
{
	struct process *p = known(t, r->pid);

	if (is_old(t, p, &r->hdr))
		return;
	p = same_or_new(t, p, r->pid, &r->facts);
	if (!p)
		return;
	shared_vm__left(&t->shared, r->pid);
	process_jit__ended(p);
	p->maps.len = 0;
	p->version = t->next_version++;
	p->losses = r->hdr.time > t->lost_until ? t->losses : STALE;
	p->sure_from = 0;
	p->reread_at = 0;
	p->reread_wait = REREAD_WAIT_MIN;
	/* exec by a thread reports the leader's exit before. */
	p->exited_at = 0;
}

static void on_fork(struct process_table *t, const struct rec_task *r)
{
	struct process *parent, *p = known(t, r->pid);

	if (r->pid == r->ppid || is_old(t, p, &r->hdr))
		return;
	drop(t, r->pid);
	shared_vm__left(&t->shared, r->pid);
	p = add(t, r->pid);
	if (!p)
		return;
	p->as_of = r->hdr.time;
	p->start_ticks = r->facts.start_ticks;
	parent = known(t, r->ppid);
	if (!parent)
		return;
	if (parent->maps.len)
		shared_vm__began(&t->shared, r->ppid, r->pid);
	p->losses = r->hdr.time < parent->sure_from ? STALE : parent->losses;
	p->prune_at = parent->prune_at;
	process_jit__forked(t, p, parent, r->hdr.time);
	if (mappings__copy(p, parent))
		t->stats.maps_dropped += parent->maps.len;
	else
		p->version = parent->version;
}

/* Has /proc asked later whether the process lives on, once for a process. */
static void maybe_exited(struct process_table *t, struct process *p, uint64_t time)
{
	if (p->exited_at || !vec_push(&t->exited, p->pid))
		p->exited_at = time;
}

static void on_exit_record(struct process_table *t, const struct rec_task *r)
{
	struct process *p = known(t, r->pid);

	/* Not only the leader's exit counts: threads may outlive it. */
	if (p && !is_old(t, p, &r->hdr) && same(t, p, &r->facts))
		maybe_exited(t, p, r->hdr.time);
}

/*
 * Any process may have mapped, exec'ed or exited unseen. The living are read again when a sample
 * asks for them.
 */
static void on_lost(struct process_table *t, const struct rec_lost *r)
{
	t->losses++;
	if (r->until > t->lost_until)
		t->lost_until = r->until;
	vec_for_each(&t->procs, p)
		if (*p && !(*p)->exited_at)
			maybe_exited(t, *p, r->hdr.time);
}

void process_table__apply(struct process_table *t, const struct rec_hdr *rec)
{
	switch (rec->type) {
	case REC_MMAP:
		on_mmap(t, (const struct rec_mmap *)rec);
		break;
	case REC_COMM:
		if (rec->flags & REC_F_EXEC)
			on_exec(t, (const struct rec_comm *)rec);
		break;
	case REC_FORK:
		on_fork(t, (const struct rec_task *)rec);
		break;
	case REC_EXIT:
		on_exit_record(t, (const struct rec_task *)rec);
		break;
	case REC_LOST:
		on_lost(t, (const struct rec_lost *)rec);
		break;
	}
}

/* Takes one of so many a second; false where none is left. */
static bool spend(struct process_budget *b, uint64_t now, uint64_t per_sec)
{
	if (now - b->since >= NSEC_PER_SEC)
		*b = (struct process_budget){ .since = now, .left = per_sec };
	if (!b->left)
		return false;
	b->left--;
	return true;
}

/*
 * After a loss. What is read is of now: an exec may lie between the samples that are still to come
 * and the reading, so it holds for those of a later time only.
 */
static struct process *read_after_loss(struct process_table *t, uint32_t pid)
{
	struct process *p = process_table__read(t, pid);

	if (p)
		p->sure_from = p->as_of;
	return p;
}

bool process_table__may_be_lost(const struct process_table *t, uint64_t start_ticks)
{
	struct timespec boot;
	uint64_t suspended;

	if (!t->losses)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	suspended = boot.tv_sec * NSEC_PER_SEC + boot.tv_nsec - clock__now();
	return start_ticks * NSEC_PER_TICK <= t->lost_until + suspended;
}

struct process *process_table__find(struct process_table *t, uint32_t pid, uint64_t start_ticks)
{
	struct process *p = known(t, pid);

	if (p && !p->start_ticks)
		p->start_ticks = start_ticks;
	if (p && p->start_ticks == start_ticks) {
		p->used = true;
		if (p->losses == t->losses ||
		    !spend(&t->stale_budget, clock__now(), STALE_READS_PER_SEC) ||
		    read_start_ticks(pid) != start_ticks)
			return p;
		return read_after_loss(t, pid);
	}
	/* Unknown, or another process has had this pid: records were lost. */
	if (read_start_ticks(pid) != start_ticks) {
		drop(t, pid);
		return NULL;
	}
	return t->losses ? read_after_loss(t, pid) : process_table__read(t, pid);
}

static bool spend_reread(struct process_table *t, struct process *p, uint64_t now)
{
	if (now < p->reread_at || !spend(&t->reread_budget, now, REREADS_PER_SEC))
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
	 * What is read is of now, the sample of before: an exec in between, whose record is still
	 * to come, would lend the sample another image's mappings. Such an image shares no mapping
	 * with the one that is known.
	 */
	if (read_start_ticks(p->pid) == p->start_ticks &&
	    !maps_reader__read(t->dsos, p->pid, &now, &t->stats.maps_dropped) &&
	    (!p->maps.len || mappings__share(p, &now))) {
		vec_for_each(&now.maps, m) {
			if (mappings__has(p, m))
				continue;
			if (mappings__cover(p, m))
				t->stats.maps_dropped++;
			process_jit__mapped(t, p, m);
			changed = true;
		}
	}
	vec_done(&now.maps);
	if (changed) {
		p->version = t->next_version++;
		p->reread_wait = REREAD_WAIT_MIN;
	}
	return changed;
}

void process_table__reap(struct process_table *t, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->exited.len; i++) {
		uint32_t pid = t->exited.data[i];
		struct process *p = known(t, pid);
		uint64_t ticks;

		if (!p || !p->exited_at)
			continue;
		if (now < p->exited_at + KEEP_EXITED) {
			t->exited.data[kept++] = pid;
			continue;
		}
		ticks = read_start_ticks(pid);
		if (!ticks || (p->start_ticks && ticks != p->start_ticks)) {
			shared_vm__left(&t->shared, pid);
			drop(t, pid);
		} else {
			p->exited_at = 0; /* other threads live on */
		}
	}
	t->exited.len = kept;
}
