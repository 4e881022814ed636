// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * task_sources COMMAND [ARG]...: runs the command with both sources of task records open, the
 * perf side-band and the kprobes, and compares what they tell of it and its descendants, record
 * by record. Prints what differs, and a line with the numbers last. Exit status 0: equal; 1: not;
 * 77: a source can't be had here, with the reason.
 *
 * A thread makes one record after the other, so the records that one thread made are one sequence
 * in order of time, and must be the same in both. Between threads the order is that of time too,
 * but the two sources look at the clock at slightly different moments.
 *
 * What only the kprobes tell (start time, namespaces, cgroup) is compared with /proc.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
#include "collect/features.h"
#include "collect/mmap_sideband.h"
#include "collect/task_kprobes.h"

#define SKIP	    77
#define RECORDS_MAX (1u << 22)
#define DIFFS_MAX   20

struct record {
	uint32_t pid, tid; /* who made it */
	uint64_t time, seq;
	size_t at; /* in bytes */
};

struct source {
	const char *name;
	VEC(struct record) records;
	struct buf bytes;
	uint64_t lost;
};

static struct source sources[2] = { { .name = "side-band" }, { .name = "kprobes" } };

static const struct rec_hdr *hdr_of(const struct source *s, const struct record *r)
{
	return (const void *)(s->bytes.data + r->at);
}

/* Whose doing a record is; false for those that are no one's. */
static bool maker(const struct rec_hdr *h, uint32_t *pid, uint32_t *tid)
{
	switch (h->type) {
	case REC_MMAP:
		*pid = ((const struct rec_mmap *)h)->pid;
		*tid = ((const struct rec_mmap *)h)->tid;
		return true;
	case REC_COMM:
		*pid = ((const struct rec_comm *)h)->pid;
		*tid = ((const struct rec_comm *)h)->tid;
		return true;
	case REC_EXIT:
		*pid = ((const struct rec_task *)h)->pid;
		*tid = ((const struct rec_task *)h)->tid;
		return true;
	case REC_FORK:
		*pid = ((const struct rec_task *)h)->ppid;
		*tid = ((const struct rec_task *)h)->ptid;
		return true;
	}
	return false;
}

static int keep(void *ctx, const struct rec_hdr *h)
{
	struct source *s = ctx;
	struct record r = { .time = h->time, .seq = s->records.len, .at = s->bytes.len };

	if (h->type == REC_LOST)
		s->lost += ((const struct rec_lost *)h)->count;
	if (!maker(h, &r.pid, &r.tid))
		return 0;
	buf__append(&s->bytes, h, h->length);
	return buf__error(&s->bytes) ? buf__error(&s->bytes) : vec_push(&s->records, r);
}

static int by_maker(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Leaves only the records of `root` and its descendants. */
static void filter(struct source *s, uint32_t root)
{
	static uint8_t ours[1 << 22]; /* PID_MAX_LIMIT */
	size_t kept = 0;

	memset(ours, 0, sizeof(ours));
	ours[root] = 1;
	qsort(s->records.data, s->records.len, sizeof(*s->records.data), by_time);
	vec_for_each(&s->records, r) {
		const struct rec_hdr *h = hdr_of(s, r);

		if (r->pid >= sizeof(ours) || !ours[r->pid])
			continue;
		if (h->type == REC_FORK)
			ours[((const struct rec_task *)h)->pid] = 1;
		s->records.data[kept++] = *r;
	}
	s->records.len = kept;
	qsort(s->records.data, s->records.len, sizeof(*s->records.data), by_maker);
}

/* Names of memory that is nobody's but the process's: the side-band also tells heap and stack. */
static const char *path_of(const struct rec_mmap *m)
{
	return !strcmp(m->path, "[heap]") || !strcmp(m->path, "[stack]") ? "//anon" : m->path;
}

static void print_path(const char *path)
{
	for (; *path; path++) {
		if (*path >= ' ' && *path <= '~')
			putchar(*path);
		else
			printf("\\x%02x", (uint8_t)*path);
	}
	putchar('\n');
}

static void print(const struct source *s, const struct rec_hdr *h)
{
	static const char *const names[] = {
		[REC_MMAP] = "mmap", [REC_COMM] = "comm", [REC_FORK] = "fork", [REC_EXIT] = "exit"
	};

	printf("  %-9s %" PRIu64 ".%09" PRIu64 " %s ", s->name, (uint64_t)h->time / 1000000000,
	       (uint64_t)h->time % 1000000000, names[h->type]);
	if (h->type == REC_MMAP) {
		const struct rec_mmap *m = (const void *)h;

		printf("%u/%u %llx+%llx @%llx %u:%u %llu.%llu prot %x flags %x ", m->pid, m->tid,
		       m->start, m->len, m->pgoff, m->maj, m->min, m->ino, m->gen, m->prot,
		       m->flags);
		print_path(m->path);
	} else if (h->type == REC_COMM) {
		const struct rec_comm *c = (const void *)h;

		printf("%u/%u %.16s%s\n", c->pid, c->tid, c->comm,
		       h->flags & REC_F_EXEC ? " exec" : "");
	} else {
		const struct rec_task *t = (const void *)h;

		printf("%u/%u of %u/%u\n", t->pid, t->tid, t->ppid, t->ptid);
	}
}

static bool same(const struct rec_hdr *a, const struct rec_hdr *b)
{
	if (a->type != b->type || a->flags != b->flags)
		return false;
	if (a->type == REC_MMAP) {
		const struct rec_mmap *x = (const void *)a, *y = (const void *)b;

		return x->pid == y->pid && x->tid == y->tid && x->start == y->start &&
		       x->len == y->len && x->pgoff == y->pgoff && x->maj == y->maj &&
		       x->min == y->min && x->ino == y->ino && x->gen == y->gen &&
		       x->prot == y->prot && x->flags == y->flags &&
		       !strcmp(path_of(x), path_of(y));
	}
	if (a->type == REC_COMM) {
		const struct rec_comm *x = (const void *)a, *y = (const void *)b;

		return x->pid == y->pid && x->tid == y->tid &&
		       !memcmp(x->comm, y->comm, sizeof(x->comm));
	}
	const struct rec_task *x = (const void *)a, *y = (const void *)b;

	return x->pid == y->pid && x->tid == y->tid && x->ppid == y->ppid && x->ptid == y->ptid;
}

/* Steps through both; after a difference only one goes on where that finds a match sooner. */
static size_t compare(void)
{
	struct source *a = &sources[0], *b = &sources[1];
	size_t i = 0, k = 0, diffs = 0;

	while (i < a->records.len || k < b->records.len) {
		const struct record *x = i < a->records.len ? &a->records.data[i] : NULL;
		const struct record *y = k < b->records.len ? &b->records.data[k] : NULL;
		bool one_maker = x && y && x->pid == y->pid && x->tid == y->tid;
		bool skip_x = x && (!y || x->pid < y->pid || (x->pid == y->pid && x->tid < y->tid));
		bool skip_y = y && !one_maker && !skip_x;

		if (one_maker && same(hdr_of(a, x), hdr_of(b, y))) {
			i++, k++;
			continue;
		}
		if (one_maker) {
			skip_x = i + 1 < a->records.len && same(hdr_of(a, x + 1), hdr_of(b, y));
			skip_y = k + 1 < b->records.len && same(hdr_of(a, x), hdr_of(b, y + 1));
		}
		if (diffs++ < DIFFS_MAX) {
			if (!skip_y && x)
				print(a, hdr_of(a, x));
			if (!skip_x && y)
				print(b, hdr_of(b, y));
			printf("  --\n");
		}
		i += !skip_y || skip_x;
		k += !skip_x || skip_y;
	}
	return diffs;
}

/* /proc/PID/stat, field 22. */
static uint64_t start_ticks(pid_t pid)
{
	char path[64], text[1024] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		return 0;
	fclose(f);
	p = strrchr(text, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* Of the default hierarchy, where that is mounted in the usual place; else 0. */
static uint64_t cgroup_id(pid_t pid)
{
	char path[64], line[4096], full[5000];
	uint64_t id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3))
			continue;
		snprintf(full, sizeof(full), "/sys/fs/cgroup/%s/cgroup.procs", line + 3);
		if (access(full, F_OK))
			continue;
		*strrchr(full, '/') = '\0';
		id = inode_of(full);
	}
	if (f)
		fclose(f);
	return id;
}

/* The facts in the record of the child's fork, while the child waits. Their errors. */
static size_t check_facts(pid_t child)
{
	const struct source *s = &sources[1];
	const struct rec_facts *facts = NULL;
	uint64_t cgroup = cgroup_id(child);
	char path[64];

	vec_for_each(&s->records, r) {
		const struct rec_hdr *h = hdr_of(s, r);

		if (h->type == REC_FORK && ((const struct rec_task *)h)->pid == (uint32_t)child)
			facts = &((const struct rec_task *)h)->facts;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", child);
	if (facts && facts->start_ticks == start_ticks(child) &&
	    facts->inner_pid == (uint32_t)child && facts->mnt_ns == inode_of(path) &&
	    (!cgroup || facts->cgroup_id == cgroup))
		return 0;
	if (!facts)
		printf("the child's fork was not recorded\n");
	else
		printf("facts: start %llu (%" PRIu64
		       "), inner pid %u (%d), mount namespace %u (%" PRIu64
		       "), cgroup %llu (%" PRIu64 ")\n",
		       facts->start_ticks, start_ticks(child), facts->inner_pid, child,
		       facts->mnt_ns, inode_of(path), facts->cgroup_id, cgroup);
	return 1;
}

/* Whether the storm could make a pid namespace. */
static bool can_make_namespaces(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(unshare(CLONE_NEWNS) || unshare(CLONE_NEWPID));
	return waitpid(pid, &status, 0) == pid && !status;
}

/* Some process among the child's descendants is the first of its namespace. */
static bool has_inner_pid_1(void)
{
	vec_for_each(&sources[1].records, r) {
		const struct rec_hdr *h = hdr_of(&sources[1], r);

		if (h->type == REC_FORK && ((const struct rec_task *)h)->facts.inner_pid == 1)
			return true;
	}
	return false;
}

static int open_sideband(struct sideband **ret, char **ret_why)
{
	struct features features;
	const char *unknown;
	struct cpu_list cpus;
	struct sideband_opts o = { .cpus = &cpus, .ring_bytes = 1 << 19 };
	int err = cpu_list__read(&cpus, "online");

	features__probe(&features, NULL, NULL, &unknown);
	o.lost_count = features.has[FEATURE_LOST_COUNT];
	if (!err)
		err = sideband__open(&o, ret, ret_why);
	cpu_list__done(&cpus);
	return err;
}

struct comms {
	uint64_t seen, lost, lost_at, lost_until;
};

static int count_comm(void *ctx, const struct rec_hdr *h)
{
	struct comms *c = ctx;

	if (h->type == REC_LOST) {
		c->lost += ((const struct rec_lost *)h)->count;
		c->lost_at = h->time;
		c->lost_until = ((const struct rec_lost *)h)->until;
	}
	c->seen += h->type == REC_COMM && ((const struct rec_comm *)h)->pid == (uint32_t)getpid();
	return 0;
}

/*
 * A ring of a page, and records for many: those that arrive and those that are counted as lost are
 * all, and the loss is told with times that enclose it. Others' records may be among them.
 */
static size_t check_loss(void)
{
	struct task_kprobes_opts o = { .ring_bytes = getpagesize() };
	struct task_kprobes *small;
	struct comms c = { 0 };
	uint64_t before, after;
	char *why = NULL;
	bool ok;

	if (task_kprobes__open(&o, &small, &why)) {
		printf("a small ring: %s\n", why);
		return 1;
	}
	task_kprobes__drain(small, count_comm, &c);
	before = clock__now();
	for (int i = 0; i < 1000; i++)
		prctl(PR_SET_NAME, i % 2 ? "odd" : "even");
	after = clock__now();
	task_kprobes__drain(small, count_comm, &c);
	ok = c.seen >= 20 && c.lost >= 900 && c.seen + c.lost >= 1000 &&
	     c.lost == task_kprobes__lost(small) && c.lost_at <= before && c.lost_until >= after;
	/* With room again nothing is lost. */
	c.seen = 0;
	prctl(PR_SET_NAME, "task_sources");
	task_kprobes__drain(small, count_comm, &c);
	ok = ok && c.seen == 1;
	if (!ok)
		printf("loss: %" PRIu64 " of 1000 lost, %" PRIu64 " after\n", c.lost, c.seen);
	task_kprobes__free(small);
	return !ok;
}

/*
 * Updates a map, with a value that takes longer to copy than a time slice: on a kernel that
 * preempts itself this is mostly put aside half-way, and what runs meanwhile on its CPU runs no
 * programs.
 */
static pid_t update_maps(void)
{
	static char value[32 << 20];
	pid_t pid = fork();
	uint32_t key = 0;
	int map;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(key), sizeof(value), 1, NULL);
	while (map >= 0)
		bpf_map_update_elem(map, &key, value, BPF_ANY);
	_exit(1);
}

/* Runs that the kernel skipped are told by the next drain. */
static size_t check_skipped(void)
{
	struct task_kprobes_opts o = { .ring_bytes = 1 << 20 };
	uint64_t issued = 0, end = clock__now() + 2 * NSEC_PER_SEC;
	struct task_kprobes *tk;
	cpu_set_t all, one;
	struct comms c = { 0 };
	size_t rounds = 0, with_loss = 0, late = 0;
	pid_t updater;
	char *why = NULL;

	if (task_kprobes__open(&o, &tk, &why)) {
		printf("kprobes beside updates of maps: %s\n", why);
		return 1;
	}
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	updater = update_maps();
	task_kprobes__drain(tk, count_comm, &c);
	c = (struct comms){ 0 };
	for (; clock__now() < end && with_loss < 20; rounds++) {
		uint64_t lost = c.lost;

		for (int i = 0; i < 100; i++, issued++)
			prctl(PR_SET_NAME, i % 2 ? "odd" : "even");
		task_kprobes__drain(tk, count_comm, &c);
		with_loss += c.lost > lost;
		late += c.seen + c.lost < issued;
	}
	kill(updater, SIGKILL);
	waitpid(updater, NULL, 0);
	sched_setaffinity(0, sizeof(all), &all);
	prctl(PR_SET_NAME, "task_sources");
	printf("beside updates of a map: %zu of %zu drains told of skipped runs\n", with_loss,
	       rounds);
	if (late)
		printf("%zu drains knew too little: %" PRIu64 " records of %" PRIu64 ", %" PRIu64
		       " lost\n",
		       late, c.seen, issued, c.lost);
	task_kprobes__free(tk);
	return late;
}

/* The child, which waits until the pipe says go. */
static pid_t start(char **argv, int *ret_go)
{
	int go[2];
	pid_t pid;
	char c;

	if (pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			execv(argv[0], argv);
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

int main(int argc, char **argv)
{
	struct task_kprobes_opts ko = { .ring_bytes = 1 << 22 };
	struct task_kprobes *kprobes;
	struct sideband *sideband;
	char *why = NULL;
	size_t errors;
	int go, status;
	pid_t child;

	if (argc < 2)
		return 2;
	for (int i = 0; i < 2; i++) {
		vec_init(&sources[i].records, RECORDS_MAX);
		buf__init(&sources[i].bytes, 1u << 30);
	}
	if (!task_kprobes__can_attach()) {
		printf("this kernel's perf_event_mmap() can't be probed\n");
		return SKIP;
	}
	errors = check_skipped();
	if (task_kprobes__open(&ko, &kprobes, &why) || open_sideband(&sideband, &why)) {
		printf("%s\n", why ? why : "out of memory");
		return 1;
	}
	child = start(argv + 1, &go);
	task_kprobes__drain(kprobes, keep, &sources[1]);
	errors += check_facts(child) + check_loss();
	if (child < 0 || write(go, "", 1) != 1)
		return 1;
	while (!waitpid(child, &status, WNOHANG)) {
		sideband__drain(sideband, keep, &sources[0]);
		task_kprobes__drain(kprobes, keep, &sources[1]);
		usleep(1000);
	}
	/* The last thread's exit was recorded before it could be waited for. */
	usleep(150000);
	sideband__drain(sideband, keep, &sources[0]);
	task_kprobes__drain(kprobes, keep, &sources[1]);
	sideband__update_lost(sideband);
	for (int i = 0; i < 2; i++)
		filter(&sources[i], child);
	errors += compare();
	if (can_make_namespaces() && !has_inner_pid_1()) {
		printf("no process is the first of its pid namespace\n");
		errors++;
	}
	if (status || task_kprobes__lost(kprobes) || sideband__lost(sideband) ||
	    sources[0].records.len < 10)
		errors++;
	printf("%zu records of the side-band, %zu of the kprobes, lost %" PRIu64 " and %" PRIu64
	       ", %zu errors, exit status %d\n",
	       sources[0].records.len, sources[1].records.len, sideband__lost(sideband),
	       task_kprobes__lost(kprobes), errors, status);
	return errors ? 1 : 0;
}
