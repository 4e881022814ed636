// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "proc/mappings.h"
#include "proc/maps_reader.h"
#include "proc/process_jit.h"
#include "proc/process_read.h"
#include "proc/process_table.h"

#define NSEC_PER_TICK (NSEC_PER_SEC / 100) /* of /proc/PID/stat, on every architecture here */
/* Readings of processes whose records may have been lost, a second. */
#define STALE_READS_PER_SEC 1000
/* Kernel samples and late records may follow a process's exit. */
#define KEEP_EXITED (2 * NSEC_PER_SEC)
/* A process whose leader has exited is looked at every so often. */
#define LOOK_AGAIN (10 * NSEC_PER_SEC)

/*
 * Records that are older than what is known of the process are part of it already, or, where they
 * come late, of the image or the process before. BPF tells the start time (facts): NULL or 0 where
 * it isn't known.
 */
static bool is_old(struct process_table *t, const struct process *p, const struct rec_hdr *rec,
		   const struct rec_facts *facts)
{
	bool predecessor = p && facts && facts->start_ticks && facts->start_ticks < p->start_ticks;

	if (!p || (rec->time >= p->as_of && !predecessor))
		return false;
	t->stats.ignored_old++;
	return true;
}

/* It is gone. One that is only evicted may still share its memory. */
static void forget(struct process_table *t, uint32_t pid)
{
	shared_vm__left(&t->shared, pid);
	process_table__drop(t, pid);
}

/*
 * The process that a record is of, which is not old: p, which has its pid, or NULL. A start time
 * that is another's is that of a successor, whose fork was lost.
 */
static struct process *same(struct process_table *t, struct process *p,
			    const struct rec_facts *facts)
{
	if (p && !p->start_ticks)
		p->start_ticks = facts->start_ticks;
	if (!p || !facts->start_ticks || p->start_ticks == facts->start_ticks)
		return p;
	forget(t, p->pid);
	return NULL;
}

static struct process *same_or_new(struct process_table *t, struct process *p, uint32_t pid,
				   const struct rec_facts *facts)
{
	p = same(t, p, facts);
	if (!p)
		p = process_table__add(t, pid);
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
		.time = r->hdr.time,
		.mnt_ns = r->facts.mnt_ns,
	};
	return ret->end > ret->start && !(ret->start >> 63);
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
	process_read__prune(t, p, m->since);
}

static void on_mmap(struct process_table *t, const struct rec_mmap *r)
{
	struct process *p = process_table__known(t, r->pid);
	struct dso_sighting s;
	struct mapping m;
	uint32_t pid;

	if (is_old(t, p, &r->hdr, &r->facts) || !sighting_of(r, &s))
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
		p = process_table__known(t, pid);
		if (p && !is_old(t, p, &r->hdr, NULL))
			add_mapping(t, p, &m);
	}
}

void process_table__foresee(struct process_table *t, const struct rec_hdr *rec)
{
	struct dso_sighting s;
	struct process *p;
	struct mapping m;

	if (rec->type == REC_COMM && rec->flags & REC_F_EXEC) {
		p = process_table__known(t, ((const struct rec_comm *)rec)->pid);
		if (p)
			p->exec_ahead = rec->time;
	}
	/* A file that can't be kept is counted when the record's turn comes. */
	if (rec->type == REC_MMAP && sighting_of((const struct rec_mmap *)rec, &s) &&
	    !maps_reader__classify(t->dsos, &s, &m))
		process_jit__foresee(t, process_table__known(t, s.pid), s.pid, &m);
}

static void on_exec(struct process_table *t, const struct rec_comm *r)
{
	struct process *p = process_table__known(t, r->pid);

	if (p && p->exec_ahead <= r->hdr.time)
		p->exec_ahead = 0;
	if (is_old(t, p, &r->hdr, &r->facts))
		return;
	p = same_or_new(t, p, r->pid, &r->facts);
	if (!p)
		return;
	shared_vm__left(&t->shared, r->pid);
	process_jit__replaced(p);
	p->maps.len = 0;
	p->version = t->next_version++;
	p->losses = r->hdr.time > t->lost_until ? t->losses : STALE;
	p->as_of = p->exec_at = r->hdr.time;
	p->sure_from = 0;
	p->reread_at = 0;
	p->reread_wait = REREAD_WAIT_MIN;
	/* exec by a thread reports the leader's exit before. */
	p->exited_at = 0;
}

static void on_fork(struct process_table *t, const struct rec_task *r)
{
	struct process *parent, *p = process_table__known(t, r->pid);

	if (r->pid == r->ppid || is_old(t, p, &r->hdr, &r->facts))
		return;
	forget(t, r->pid);
	p = process_table__add(t, r->pid);
	if (!p)
		return;
	p->as_of = r->hdr.time;
	p->start_ticks = r->facts.start_ticks;
	parent = process_table__known(t, r->ppid);
	if (!parent)
		return;
	if (parent->maps.len)
		shared_vm__began(&t->shared, r->ppid, r->pid);
	/* It has what the parent had then, not what was read later or begun by an exec. */
	p->losses = r->hdr.time < parent->sure_from || r->hdr.time < parent->as_of ? STALE
										   : parent->losses;
	p->prune_at = parent->prune_at;
	process_jit__forked(t, p, parent, r->hdr.time);
	if (mappings__copy(p, parent))
		t->stats.maps_dropped += parent->maps.len;
	else
		p->version = parent->version;
}

/* Has /proc asked whether the process lives on, a while after the last of its threads' exits. */
static void maybe_exited(struct process_table *t, struct process *p, uint64_t time)
{
	if (!p->look_at && vec_push(&t->exited, p->pid))
		return;
	p->exited_at = time;
	p->look_at = time + KEEP_EXITED;
}

static void on_exit_record(struct process_table *t, const struct rec_task *r)
{
	struct process *p = process_table__known(t, r->pid);

	/* Not only the leader's exit counts: threads may outlive it. */
	if (p && !is_old(t, p, &r->hdr, &r->facts) && same(t, p, &r->facts))
		maybe_exited(t, p, r->hdr.time);
	else if (!p && r->tid == r->pid)
		shared_vm__left(&t->shared, r->pid);
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
	/* Who has left is asked when it is read. */
	shared_vm__clear(&t->shared);
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

bool process_table__may_be_lost(const struct process_table *t, const struct process *p,
				uint64_t start_ticks)
{
	struct timespec boot;
	uint64_t suspended;

	if (p || !t->losses)
		return t->losses > 0;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	suspended = boot.tv_sec * NSEC_PER_SEC + boot.tv_nsec - clock__now();
	return start_ticks * NSEC_PER_TICK <= t->lost_until + suspended;
}

struct process *process_table__find(struct process_table *t, uint32_t pid, uint64_t start_ticks)
{
	struct process *p = process_table__known(t, pid);

	if (p && !p->start_ticks)
		p->start_ticks = start_ticks;
	if (p && p->start_ticks == start_ticks) {
		p->used = true;
		if (p->losses == t->losses ||
		    !process_budget__spend(&t->stale_budget, clock__now(), STALE_READS_PER_SEC) ||
		    !process_read__lives(pid, start_ticks))
			return p;
		return process_table__read(t, pid);
	}
	/* The sample came so late that another has its pid by now. */
	if (p && start_ticks < p->start_ticks)
		return NULL;
	/* Unknown, or another process has had this pid: records were lost. */
	if (!process_read__lives(pid, start_ticks)) {
		forget(t, pid);
		return NULL;
	}
	return process_table__read(t, pid);
}

void process_table__reap(struct process_table *t, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->exited.len; i++) {
		uint32_t pid = t->exited.data[i];
		struct process *p = process_table__known(t, pid);
		struct proc_stat stat;

		if (!p || !p->look_at)
			continue;
		if (now < p->look_at) {
			t->exited.data[kept++] = pid;
			continue;
		}
		if (!process_read__living(pid, &stat) ||
		    (p->start_ticks && stat.start_ticks != p->start_ticks)) {
			forget(t, pid);
			continue;
		}
		/* Other threads live on, or the exit takes long. */
		p->exited_at = p->look_at = 0;
		/* The last exit may have been told already: the kernel's part of it follows. */
		if (proc_stat__leader_exits(&stat)) {
			p->look_at = now + LOOK_AGAIN;
			t->exited.data[kept++] = pid;
		}
	}
	t->exited.len = kept;
}
