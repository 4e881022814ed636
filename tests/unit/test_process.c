// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "object/proc_stat.h"
#include "proc/jit_files.h"
#include "proc/maps_reader.h"
#include "proc/mappings.h"
#include "proc/process.h"

/* Pids that can't be running: over the kernel's PID_MAX_LIMIT of 4 Mi. */
#define PID_A 5000001
#define PID_B 5000002

static struct dso_table dsos;
static struct process_table table;

static int setup(void **state)
{
	assert_int_equal(dso_table__init(&dsos), 0);
	process_table__init(&table, &dsos);
	return 0;
}

static int teardown(void **state)
{
	process_table__done(&table);
	dso_table__done(&dsos);
	return 0;
}

static struct mapping mapping(uint64_t start, uint64_t end, uint32_t dso)
{
	return (struct mapping){ .start = start, .end = end, .pgoff = start * 10, .dso = dso };
}

/*
 * The reference: what covers each of 64 addresses, in an array that each new mapping overwrites.
 */
static void cover_agrees_with_an_array(void **state)
{
	struct {
		uint32_t dso;
		int64_t bias;
	} want[64] = { 0 };
	struct process p = { 0 };
	uint64_t seed = 7;

	vec_init(&p.maps, 1000);
	for (uint32_t i = 1; i < 20000; i++) {
		uint64_t start, end;
		struct mapping m;

		seed = hash_u64(seed + i);
		start = seed % 63;
		end = start + 1 + (seed >> 32) % (64 - start);
		m = mapping(start, end, i);
		assert_int_equal(mappings__cover(&p, &m), 0);
		for (uint64_t a = start; a < end; a++) {
			want[a].dso = i;
			want[a].bias = m.pgoff - m.start;
		}
		for (uint64_t a = 0; a < 64; a++) {
			const struct mapping *have = process__lookup(&p, a);

			assert_int_equal(have ? have->dso : 0, want[a].dso);
			if (have)
				assert_int_equal(have->pgoff - have->start, want[a].bias);
		}
	}
	vec_done(&p.maps);
}

static void code_begins_where_its_memory_does(void **state)
{
	static const struct mapping maps[] = {
		{ .start = 10, .end = 20, .kind = MAPPING_ANON },
		{ .start = 20, .end = 30, .kind = MAPPING_FILE },
		{ .start = 30, .end = 40, .kind = MAPPING_ANON },
		{ .start = 40, .end = 50, .kind = MAPPING_ANON },
		{ .start = 60, .end = 70, .kind = MAPPING_ANON },
	};
	struct process p = { 0 };

	vec_init(&p.maps, 1000);
	assert_int_equal(process__code_floor(&p, 5), 0);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		assert_int_equal(mappings__cover(&p, &maps[i]), 0);
	assert_int_equal(process__code_floor(&p, 5), 0);
	assert_int_equal(process__code_floor(&p, 15), 10);
	assert_int_equal(process__code_floor(&p, 29), 20);
	assert_int_equal(process__code_floor(&p, 49), 30);
	assert_int_equal(process__code_floor(&p, 55), 50);
	assert_int_equal(process__code_floor(&p, 60), 60);
	assert_int_equal(process__code_floor(&p, 75), 70);
	vec_done(&p.maps);
}

static void record_mmap(uint32_t pid, uint64_t time, uint64_t start, uint64_t len, uint64_t ino)
{
	char bytes[sizeof(struct rec_mmap) + 16] __attribute__((aligned(8))) = { 0 };
	struct rec_mmap *r = (struct rec_mmap *)bytes;

	r->hdr = (struct rec_hdr){ .type = REC_MMAP, .length = sizeof(bytes), .time = time };
	r->pid = r->tid = pid;
	r->start = start;
	r->len = len;
	r->ino = ino;
	strcpy(r->path, ino ? "/no/such" : "//anon");
	process_table__apply(&table, &r->hdr);
}

static void record_exec(uint32_t pid, uint64_t time)
{
	struct rec_comm r = {
		.hdr = { .type = REC_COMM, .flags = REC_F_EXEC, .length = sizeof(r), .time = time },
		.pid = pid,
		.tid = pid
	};

	process_table__apply(&table, &r.hdr);
}

static void record_task(int type, uint32_t pid, uint32_t tid, uint32_t ppid, uint64_t time)
{
	struct rec_task r = { .hdr = { .type = type, .length = sizeof(r), .time = time },
			      .pid = pid,
			      .tid = tid,
			      .ppid = ppid,
			      .ptid = ppid };

	process_table__apply(&table, &r.hdr);
}

static uint64_t ino_at(uint32_t pid, uint64_t ticks, uint64_t addr)
{
	struct process *p = process_table__find(&table, pid, ticks);
	const struct mapping *m = p ? process__lookup(p, addr) : NULL;

	return m && m->kind == MAPPING_FILE ? dsos.dsos.data[m->dso].id.ino : 0;
}

static void exec_begins_anew(void **state)
{
	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	assert_int_equal(ino_at(PID_A, 5, 0x1800), 77);
	record_exec(PID_A, 12);
	assert_int_equal(ino_at(PID_A, 5, 0x1800), 0);
	record_mmap(PID_A, 13, 0x1000, 0x1000, 78);
	assert_int_equal(ino_at(PID_A, 5, 0x1800), 78);
}

static void comm_without_exec_changes_nothing(void **state)
{
	struct rec_comm r = { .hdr = { .type = REC_COMM, .length = sizeof(r), .time = 12 },
			      .pid = PID_A,
			      .tid = PID_A };

	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	process_table__apply(&table, &r.hdr);
	assert_int_equal(ino_at(PID_A, 5, 0x1800), 77);
}

static void child_has_its_parents_mappings_and_version(void **state)
{
	struct process *parent, *child;

	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	record_task(REC_FORK, PID_B, PID_B, PID_A, 12);
	assert_int_equal(ino_at(PID_B, 6, 0x1000), 77);
	parent = process_table__find(&table, PID_A, 5);
	child = process_table__find(&table, PID_B, 6);
	assert_true(parent->version == child->version);
	/* From then on each has its own. */
	record_mmap(PID_B, 13, 0x1000, 0x1000, 78);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
	assert_int_equal(ino_at(PID_B, 6, 0x1000), 78);
	parent = process_table__find(&table, PID_A, 5);
	child = process_table__find(&table, PID_B, 6);
	assert_false(parent->version == child->version);
}

static void a_thread_is_no_process(void **state)
{
	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	record_task(REC_FORK, PID_A, PID_B, PID_A, 12);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
}

static void a_reused_pid_has_nothing_of_the_old(void **state)
{
	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
	record_task(REC_EXIT, PID_A, PID_A, 1, 12);
	record_task(REC_FORK, PID_A, PID_A, 1, 13);
	assert_int_equal(ino_at(PID_A, 9, 0x1000), 0);
}

static void another_start_time_is_another_process(void **state)
{
	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
	/* Its exit and the new one's fork were lost; neither is in /proc. */
	assert_null(process_table__find(&table, PID_A, 9));
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 0);
}

static void exited_is_kept_a_while_then_forgotten(void **state)
{
	const uint64_t sec = 1000000000;

	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	record_task(REC_EXIT, PID_A, PID_A, 1, 12);
	process_table__reap(&table, 12 + sec / 10);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
	process_table__reap(&table, 12 + 10 * sec);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 0);
}

/* What its parent doesn't wait for is in /proc, but is no process any more. */
static void who_is_waited_for_is_forgotten(void **state)
{
	const uint64_t sec = 1000000000;
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	record_task(REC_FORK, pid, pid, getpid(), 10);
	record_task(REC_EXIT, pid, pid, getpid(), 12);
	process_table__reap(&table, 12 + 3 * sec);
	assert_int_equal(table.by_pid.len, 0);
	assert_null(process_table__read(&table, pid));
	assert_int_equal(table.by_pid.len, 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int stay(void *parent)
{
	/* Lest it stays when a test fails. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (parent && getppid() != (intptr_t)parent)
		_exit(1);
	pause();
	return 0;
}

/* The leader exits, and later the rest without a record. */
static void without_its_leader_a_process_is_looked_at_again(void **state)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	const uint64_t sec = 1000000000;
	struct proc_stat st;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid) {
		clone(stay, stack + sizeof(stack),
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
		syscall(SYS_exit, 0);
	}
	/* The leader's end makes no event while other threads live. */
	do {
		usleep(1000);
		assert_int_equal(proc_stat__read(pid, &st), 0);
	} while (st.state != 'Z');
	assert_false(proc_stat__is_dead(&st));
	record_task(REC_FORK, pid, pid, getpid(), 10);
	record_task(REC_EXIT, pid, pid, getpid(), 12);
	process_table__reap(&table, 3 * sec);
	assert_int_equal(table.by_pid.len, 1);
	process_table__reap(&table, 30 * sec);
	assert_int_equal(table.by_pid.len, 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	process_table__reap(&table, 60 * sec);
	assert_int_equal(table.by_pid.len, 0);
	assert_int_equal(table.exited.len, 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Of many threads: it is kept for samples of the last of them. */
static void exited_is_kept_for_its_last_thread(void **state)
{
	const uint64_t sec = 1000000000;

	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	record_task(REC_EXIT, PID_A, PID_B, 1, 12);
	record_task(REC_EXIT, PID_A, PID_A, 1, 2 * sec);
	process_table__reap(&table, 3 * sec);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
	process_table__reap(&table, 5 * sec);
	assert_int_equal(ino_at(PID_A, 5, 0x1000), 0);
	assert_int_equal(table.exited.len, 0);
}

static void the_same_inode_of_another_generation_is_another_file(void **state)
{
	struct dso_sighting s = {
		.id = { .maj = 1, .min = 2, .ino = 3, .gen = 4, .gen_known = true },
		.path = "/no/such",
		.path_len = 8,
		.pid = PID_A
	};
	uint32_t a, b, c;

	assert_int_equal(dso_table__see(&dsos, &s, &a), 0);
	s.id.gen = 5;
	assert_int_equal(dso_table__see(&dsos, &s, &b), 0);
	assert_int_not_equal(a, b);
	s.id.gen_known = false;
	assert_int_equal(dso_table__see(&dsos, &s, &c), 0);
	/* Without one it could be either, and the process is gone: it is neither. */
	assert_true(c != a && c != b);
}

/* 3,000 files of which every third is hit: the descriptors stay bounded, and those hit stay open.
 */
static void files_that_no_sample_hit_are_closed(void **state)
{
	enum { FILES = 3000 };
	char dir[] = "/tmp/ebolt-test-XXXXXX", path[64];
	uint32_t index[FILES];
	size_t open = 0;

	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < FILES; i++) {
		struct dso_sighting s = { .path = path, .pid = getpid() };
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "%s/%d", dir, i);
		fd = creat(path, 0600);
		assert_int_equal(fstat(fd, &st), 0);
		close(fd);
		s.path_len = strlen(path);
		s.id = (struct dso_id){ .maj = major(st.st_dev),
					.min = minor(st.st_dev),
					.ino = st.st_ino };
		assert_int_equal(dso_table__see(&dsos, &s, &index[i]), 0);
		assert_true(dsos.dsos.data[index[i]].fd >= 0);
		if (i % 3 == 0)
			dso_table__hit(&dsos, index[i], &s);
		/* One that was closed is opened by its first hit. */
		if (i == FILES - 1) {
			snprintf(path, sizeof(path), "%s/1", dir);
			s.path_len = strlen(path);
			s.id = dsos.dsos.data[index[1]].id;
			assert_true(dsos.dsos.data[index[1]].fd < 0);
			dso_table__hit(&dsos, index[1], &s);
			assert_true(dsos.dsos.data[index[1]].fd >= 0);
		}
	}
	for (int i = 0; i < FILES; i++) {
		open += dsos.dsos.data[index[i]].fd >= 0;
		if (i % 3 == 0)
			assert_true(dsos.dsos.data[index[i]].fd >= 0);
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		unlink(path);
	}
	rmdir(dir);
	assert_in_range(open, FILES / 3 + DSOS_IDLE_MAX - 1, FILES / 3 + DSOS_IDLE_MAX + 1);
	assert_int_equal(dsos.nr_open, open);
}

/* This process, as /proc states it: truth is where its own code is. */
static uint64_t own_start_ticks(void)
{
	/* Field 22; this program's comm has no bracket or space. */
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/self/stat", "r");

	assert_non_null(f);
	for (int i = 1; i < 22; i++)
		assert_int_equal(fscanf(f, "%*s"), 0);
	assert_int_equal(fscanf(f, "%llu", &ticks), 1);
	fclose(f);
	return ticks;
}

static void reads_a_running_process(void **state)
{
	const struct mapping *m;
	struct process *p = process_table__find(&table, getpid(), own_start_ticks());
	char link[4096] = { 0 };

	assert_non_null(p);
	m = process__lookup(p, (uintptr_t)reads_a_running_process);
	assert_non_null(m);
	assert_int_equal(m->kind, MAPPING_FILE);
	assert_true(readlink("/proc/self/exe", link, sizeof(link) - 1) > 0);
	assert_string_equal(dsos.dsos.data[m->dso].path, link);
	assert_true(dsos.dsos.data[m->dso].fd >= 0);
}

static void ignores_what_was_before_the_reading(void **state)
{
	uint64_t ticks = own_start_ticks();
	struct process *p = process_table__find(&table, getpid(), ticks);

	assert_non_null(p);
	record_exec(getpid(), p->as_of - 1);
	assert_non_null(process__lookup(process_table__find(&table, getpid(), ticks),
					(uintptr_t)ignores_what_was_before_the_reading));
	record_exec(getpid(), p->as_of + 1);
	assert_null(process__lookup(process_table__find(&table, getpid(), ticks),
				    (uintptr_t)ignores_what_was_before_the_reading));
}

static void rereads_at_a_bounded_rate(void **state)
{
	struct process *p = process_table__find(&table, getpid(), own_start_ticks());
	void *code;

	assert_non_null(p);
	assert_false(process_table__reread(&table, p));
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(code != MAP_FAILED);
	assert_null(process__lookup(p, (uintptr_t)code));
	/* Just read in vain: not again. */
	assert_false(process_table__reread(&table, p));
	p->reread_at = 0;
	assert_true(process_table__reread(&table, p));
	assert_non_null(process__lookup(p, (uintptr_t)code));
	assert_int_equal(process__lookup(p, (uintptr_t)code)->kind, MAPPING_ANON);
	for (int i = 0; i < 1000; i++) {
		p->reread_at = 0;
		process_table__reread(&table, p);
	}
	/* 100 a second, and this loop takes less than two. */
	assert_in_range(table.stats.rereads, 50, 200);
	munmap(code, 4096);
}

/* Five pages are mapped now over three whose file is still what the samples to come ran in. */
static void a_reading_overrides_nothing(void **state)
{
	struct process *p = process_table__find(&table, getpid(), own_start_ticks());
	const size_t page = 4096;
	const struct mapping *m;
	char *code;

	assert_non_null(p);
	code = mmap(NULL, 5 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(code != MAP_FAILED);
	record_mmap(getpid(), clock__now(), (uintptr_t)code + page, page, 77);
	record_mmap(getpid(), clock__now(), (uintptr_t)code + 3 * page, page, 78);
	p->reread_at = 0;
	assert_true(process_table__reread(&table, p));
	for (int i = 0; i < 5; i++) {
		m = process__lookup(p, (uintptr_t)code + i * page + 8);
		assert_non_null(m);
		assert_int_equal(m->kind, i == 1 || i == 3 ? MAPPING_FILE : MAPPING_ANON);
		/* Not only there, but in pieces that don't overlap. */
		assert_true(m->start == (uintptr_t)code + i * page && m->end == m->start + page);
	}
	/* Nothing is left to be filled. */
	p->reread_at = 0;
	assert_false(process_table__reread(&table, p));
	munmap(code, 5 * page);
}

static void nothing_is_read_of_an_image_that_is_to_come(void **state)
{
	struct process *p = process_table__find(&table, getpid(), own_start_ticks());
	struct rec_comm r = { .hdr = { .type = REC_COMM,
				       .flags = REC_F_EXEC,
				       .length = sizeof(r),
				       .time = clock__now() },
			      .pid = getpid(),
			      .tid = getpid() };
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_non_null(p);
	assert_true(code != MAP_FAILED);
	process_table__foresee(&table, &r.hdr);
	p->reread_at = 0;
	assert_false(process_table__reread(&table, p));
	assert_null(process__lookup(p, (uintptr_t)code));
	process_table__apply(&table, &r.hdr);
	p->reread_at = 0;
	assert_true(process_table__reread(&table, p));
	assert_non_null(process__lookup(p, (uintptr_t)code));
	/* One that came before the process was read is not to come. */
	r.hdr.time = 1;
	process_table__foresee(&table, &r.hdr);
	process_table__apply(&table, &r.hdr);
	assert_int_equal(p->exec_ahead, 0);
	munmap(code, 4096);
}

static void record_lost(uint64_t time)
{
	struct rec_lost r = {
		.hdr = { .type = REC_LOST, .length = sizeof(r), .time = time },
		.count = 1,
		.until = time + 5,
	};

	process_table__apply(&table, &r.hdr);
}

static void after_a_loss_the_living_are_read_again(void **state)
{
	uint64_t ticks = own_start_ticks(), before = clock__now();
	uint32_t me = getpid();
	struct process *p;

	/* What was known of this process before an exec that nobody told of. */
	record_exec(me, 10);
	record_mmap(me, 20, 0x1000, 0x1000, 7);
	assert_int_equal(ino_at(me, ticks, 0x1000), 7);
	record_lost(30);
	p = process_table__find(&table, me, ticks);
	assert_non_null(p);
	assert_false(process_table__is_stale(&table, p, clock__now()));
	/* A sample from before the reading may be of an image that is gone. */
	assert_true(process_table__is_stale(&table, p, before));
	assert_null(process__lookup(p, 0x1000));
	assert_non_null(process__lookup(p, (uintptr_t)after_a_loss_the_living_are_read_again));
	/* Once for a loss. */
	assert_ptr_equal(process_table__find(&table, me, ticks), p);
	/* A child that it had before the reading may have been another image's. */
	record_task(REC_FORK, PID_A, PID_A, me, before);
	assert_true(process_table__is_stale(&table, process_table__find(&table, PID_A, 1), before));
	record_task(REC_FORK, PID_B, PID_B, me, clock__now());
	p = process_table__find(&table, PID_B, 1);
	assert_false(process_table__is_stale(&table, p, clock__now()));
	/* A new image is known from its beginning. */
	record_exec(me, clock__now());
	p = process_table__find(&table, me, ticks);
	assert_false(process_table__is_stale(&table, p, before));
}

static void what_began_before_a_loss_may_be_lost(void **state)
{
	uint64_t now = clock__now(), ticks = own_start_ticks();

	assert_false(process_table__may_be_lost(&table, NULL, ticks));
	record_lost(now);
	assert_true(process_table__may_be_lost(&table, NULL, ticks));
	/* In ticks of 10 ms; boot time may be ahead, but not by hours on a machine that runs tests.
	 */
	assert_false(process_table__may_be_lost(&table, NULL,
						now / 10000000 + 100ull * 3600 * 24 * 365));
	/* Of one that is known, but stale, it isn't asked when it began. */
	record_exec(PID_A, 10);
	assert_true(process_table__may_be_lost(&table, process_table__find(&table, PID_A, 1), 1));
	/* One that is not known is read again, and sure from then on only. */
	struct process *p = process_table__find(&table, getpid(), ticks);

	assert_non_null(p);
	assert_true(process_table__is_stale(&table, p, now));
	assert_false(process_table__is_stale(&table, p, clock__now()));
}

/* As after an eviction: nothing was lost, but what is read is of now. */
static void a_reading_holds_for_later_samples_only(void **state)
{
	uint64_t ticks = own_start_ticks(), before = clock__now();
	uint32_t me = getpid();
	struct process *p = process_table__find(&table, me, ticks);

	assert_non_null(p);
	assert_true(process_table__is_stale(&table, p, before));
	/* Nor while the reading was made: an exec may lie in it. */
	assert_true(process_table__is_stale(&table, p, p->as_of));
	assert_false(process_table__is_stale(&table, p, clock__now()));
	/* Which is nobody's loss. */
	assert_false(process_table__may_be_lost(&table, p, ticks));
	/* A child of before the reading may have begun with another image. */
	record_task(REC_FORK, PID_A, PID_A, me, before);
	p = process_table__find(&table, PID_A, 1);
	assert_true(process_table__is_stale(&table, p, clock__now()));
	record_task(REC_FORK, PID_B, PID_B, me, clock__now());
	p = process_table__find(&table, PID_B, 1);
	assert_false(process_table__is_stale(&table, p, clock__now()));
}

static void late_records_of_the_image_before_are_ignored(void **state)
{
	struct process *p;

	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	record_exec(PID_A, 20);
	record_mmap(PID_A, 21, 0x1000, 0x1000, 78);
	record_mmap(PID_A, 19, 0x1000, 0x1000, 79);
	record_exec(PID_A, 12);
	assert_int_equal(ino_at(PID_A, 5, 0x1800), 78);
	assert_int_equal(table.stats.ignored_old, 2);
	/* It was forked off the image before. */
	record_task(REC_FORK, PID_B, PID_B, PID_A, 15);
	p = process_table__find(&table, PID_B, 6);
	assert_true(process_table__is_stale(&table, p, 100));
}

static void record_fork_at(uint32_t pid, uint32_t ppid, uint64_t time, uint64_t ticks)
{
	struct rec_task r = { .hdr = { .type = REC_FORK, .length = sizeof(r), .time = time },
			      .facts = { .start_ticks = ticks },
			      .pid = pid,
			      .tid = pid,
			      .ppid = ppid };

	process_table__apply(&table, &r.hdr);
}

static void records_that_tell_the_start_time(void **state)
{
	struct rec_comm exec = {
		.hdr = { .type = REC_COMM, .flags = REC_F_EXEC, .length = sizeof(exec) },
		.pid = PID_A,
		.tid = PID_A,
	};
	struct rec_task end = {
		.hdr = { .type = REC_EXIT, .length = sizeof(end), .time = 50 },
		.facts = { .start_ticks = 3 },
		.pid = PID_A,
		.tid = PID_A,
	};

	record_exec(PID_B, 5);
	record_mmap(PID_B, 6, 0x1000, 0x1000, 7);
	record_fork_at(PID_A, PID_B, 10, 3);
	/* Nothing has to be asked of a sample: another start time is another process at once. */
	assert_null(process_table__find(&table, PID_A, 4));
	record_fork_at(PID_A, PID_B, 20, 3);
	assert_int_equal(ino_at(PID_A, 3, 0x1000), 7);
	/* A successor whose fork was lost execs: nothing of the old one is left. */
	exec.hdr.time = 30;
	exec.facts.start_ticks = 4;
	process_table__apply(&table, &exec.hdr);
	assert_null(process_table__find(&table, PID_A, 3));
	/* What comes late of the old one, a sample or a record, leaves the new one as it is. */
	record_mmap(PID_A, 40, 0x1000, 0x1000, 8);
	assert_null(process_table__find(&table, PID_A, 3));
	assert_int_equal(ino_at(PID_A, 4, 0x1000), 8);
	exec.hdr.time = 45;
	exec.facts.start_ticks = 3;
	process_table__apply(&table, &exec.hdr);
	record_fork_at(PID_A, PID_B, 46, 3);
	process_table__apply(&table, &end.hdr);
	assert_int_equal(ino_at(PID_A, 4, 0x1000), 8);
	assert_int_equal(process_table__find(&table, PID_A, 4)->exited_at, 0);
	assert_int_equal(table.stats.ignored_old, 3);
}

static void after_a_loss_the_dead_are_not_trusted(void **state)
{
	struct process *p;

	record_exec(PID_A, 10);
	record_mmap(PID_A, 20, 0x1000, 0x1000, 7);
	record_lost(30);
	p = process_table__find(&table, PID_A, 1);
	assert_non_null(p);
	assert_true(process_table__is_stale(&table, p, 100));
	/* Neither is what a child has from it, until a new image begins for sure. */
	record_task(REC_FORK, PID_B, PID_B, PID_A, 32);
	p = process_table__find(&table, PID_B, 2);
	assert_true(process_table__is_stale(&table, p, 100));
	record_exec(PID_B, 35);
	assert_true(process_table__is_stale(&table, p, 100));
	record_exec(PID_B, 50);
	record_mmap(PID_B, 60, 0x1000, 0x1000, 8);
	p = process_table__find(&table, PID_B, 2);
	assert_false(process_table__is_stale(&table, p, 100));
	assert_int_equal(ino_at(PID_B, 2, 0x1000), 8);
	/* Their exit may have been lost too. */
	process_table__reap(&table, 60 + 3000000000ull);
	assert_null(process_table__find(&table, PID_A, 1));
	assert_non_null(process_table__find(&table, PID_B, 2));
}

/* That it left may have been lost: it is asked again when it is read. */
static void after_a_loss_nobody_is_known_to_share(void **state)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	pid_t child =
		clone(stay, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)(intptr_t)getpid());
	struct proc_stat st;

	assert_true(child > 0);
	assert_int_equal(proc_stat__read(child, &st), 0);
	assert_non_null(process_table__find(&table, child, st.start_ticks));
	assert_int_equal(table.shared.members.len, 2);
	record_lost(30);
	assert_int_equal(table.shared.members.len, 0);
	assert_non_null(process_table__find(&table, child, st.start_ticks));
	assert_int_equal(table.shared.members.len, 2);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	/* The table may have forgotten it before it ends. */
	process_table__done(&table);
	process_table__init(&table, &dsos);
	child = clone(stay, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)(intptr_t)getpid());
	shared_vm__began(&table.shared, getpid(), child);
	assert_int_equal(table.shared.members.len, 2);
	record_task(REC_EXIT, child, child, getpid(), 40);
	assert_int_equal(table.shared.members.len, 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void hostile_comm_doesnt_hide_the_start_time(void **state)
{
	uint64_t ticks = own_start_ticks();

	assert_int_equal(prctl(PR_SET_NAME, ") 1 (x) S 2"), 0);
	assert_non_null(process_table__find(&table, getpid(), ticks));
	prctl(PR_SET_NAME, "test_process");
}

static void a_full_table_forgets_what_is_not_sampled(void **state)
{
	enum { MAX = 256 };

	table.max_procs = MAX;
	/* PID_A is sampled all along, the rest never. */
	record_task(REC_FORK, PID_A, PID_A, 1, 10);
	record_mmap(PID_A, 11, 0x1000, 0x1000, 77);
	for (uint32_t i = 0; i < 10 * MAX; i++) {
		assert_int_equal(ino_at(PID_A, 5, 0x1000), 77);
		record_task(REC_FORK, PID_A + 1 + i, PID_A + 1 + i, 1, 12 + i);
		assert_true(table.by_pid.len <= MAX);
		assert_true(table.procs.len <= MAX);
	}
	assert_in_range(table.stats.procs_evicted, 9 * MAX, 10 * MAX);
	assert_int_equal(table.stats.procs_dropped, 0);
}

/* A process that maps at ever new places, 1,000 times a second, and unmaps, of which nothing tells.
 */
static void what_is_no_longer_mapped_is_forgotten(void **state)
{
	enum { TIMES = 200000 };
	const uint64_t ms = 1000000, began = clock__now(), text = (uintptr_t)setup;
	struct process *p = process_table__read(&table, getpid());
	uint64_t most = 0;

	assert_non_null(p);
	for (uint64_t i = 1; i <= TIMES; i++) {
		record_mmap(getpid(), began + i * ms, i * 0x10000, 0x1000, 77);
		if (p->maps.len > most)
			most = p->maps.len;
		/* What a sample of two seconds ago may be in is still there. */
		assert_non_null(process__lookup(p, (i > 2000 ? i - 1999 : 1) * 0x10000));
	}
	/* They go when they were gone for two seconds, and it is asked every second. */
	assert_in_range(most, 2000, 4500);
	assert_null(process__lookup(p, 0x10000));
	assert_non_null(process__lookup(p, text));
	assert_int_equal(table.stats.maps_dropped, 0);
}

/* Mapped long ago, used until just now: what was sampled in it may still be to come. */
static void what_was_just_unmapped_is_kept_a_while(void **state)
{
	const uint64_t sec = 1000000000;
	struct process *p = process_table__read(&table, getpid());
	uint64_t began = clock__now();

	assert_non_null(p);
	record_mmap(getpid(), began, 0x10000, 0x1000, 77);
	for (uint64_t i = 1; i <= 2000; i++)
		record_mmap(getpid(), began + 100 * sec + i, 0x10000 + i * 0x10000, 0x1000, 78);
	assert_true(p->prune_after);
	assert_non_null(process__lookup(p, 0x10000));
	assert_true(process__lookup(p, 0x10000)->gone);
	/* A child may have it still. */
	record_task(REC_FORK, PID_B, PID_B, getpid(), began + 101 * sec);
	assert_int_equal(ino_at(PID_B, 6, 0x10000), 77);
	assert_false(process__lookup(process_table__find(&table, PID_B, 6), 0x10000)->gone);
	/* Nor is it gone if it was mapped again. */
	record_mmap(getpid(), began + 101 * sec, 0x10000, 0x1000, 77);
	assert_false(process__lookup(p, 0x10000)->gone);
	for (uint64_t i = 1; i <= 4000; i++)
		record_mmap(getpid(), began + 110 * sec + i, 0x10000 + i * 0x10000, 0x1000, 79);
	for (uint64_t i = 1; i <= 8000; i++)
		record_mmap(getpid(), began + 120 * sec + i, 0x10000 + i * 0x10000, 0x1000, 80);
	assert_null(process__lookup(p, 0x10000));
}

/* One that has more than half of what it can have: twice as many never come. */
static void a_nearly_full_process_is_looked_at_again(void **state)
{
	enum { THERE = PROCESS_MAPS_MAX / 2 + 1000 };
	const uint64_t ms = 1000000;
	int fd = memfd_create("code", MFD_CLOEXEC);
	struct process *p;
	uint64_t began;
	char *at;

	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, THERE * 4096ul, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(at != MAP_FAILED);
	/* The same page of the file again and again: the kernel can't make one mapping of two. */
	for (size_t i = 0; i < THERE; i++) {
		if (mmap(at + i * 4096, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd,
			 0) != MAP_FAILED)
			continue;
		assert_int_equal(errno, ENOMEM);
		print_message("vm.max_map_count is too low\n");
		munmap(at, THERE * 4096ul);
		close(fd);
		skip();
	}
	close(fd);
	p = process_table__read(&table, getpid());
	assert_non_null(p);
	assert_true(p->maps.len > THERE);
	began = clock__now();
	for (uint64_t i = 1; i <= 100000; i++)
		record_mmap(getpid(), began + i * ms, i * 0x10000, 0x1000, 77);
	assert_int_equal(table.stats.maps_dropped, 0);
	assert_non_null(process__lookup(p, (uintptr_t)at));
	munmap(at, THERE * 4096ul);
}

static void memory_without_a_file_is_told_by_its_exact_name(void **state)
{
	static const struct {
		const char *path;
		enum mapping_kind kind;
	} cases[] = {
		{ "/dev/zero", MAPPING_ANON },
		{ "/dev/zero (deleted)", MAPPING_ANON },
		{ "/anon_hugepage", MAPPING_ANON },
		{ "/anon_hugepage (deleted)", MAPPING_ANON },
		{ "/dev/zero-x", MAPPING_FILE },
		{ "/dev/zeros/lib.so", MAPPING_FILE },
		{ "/dev/zer", MAPPING_FILE },
		{ "/dev/zero (deleted) ", MAPPING_FILE },
		{ "/anon_hugepage_y", MAPPING_FILE },
		{ "/anon_hugepages/lib.so (deleted)", MAPPING_FILE },
		{ "", MAPPING_FILE },
	};
	struct dso_sighting s = { .id.ino = 5, .start = 0x1000, .end = 0x2000 };
	struct mapping m;
	char *shared;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		s.path = cases[i].path;
		s.path_len = strlen(s.path);
		assert_int_equal(maps_reader__classify(&dsos, &s, &m), 0);
		assert_int_equal(m.kind, cases[i].kind);
	}
	/* And that is how this kernel calls it. */
	shared = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	assert_int_equal(
		process__lookup(process_table__read(&table, getpid()), (uintptr_t)shared)->kind,
		MAPPING_ANON);
	munmap(shared, 4096);
}

static void bounded_and_senseless_records(void **state)
{
	record_mmap(PID_A, 1, 0x2000, (uint64_t)-0x1000, 77);  /* ends before it starts */
	record_mmap(PID_A, 1, 0xffffffff81000000, 0x1000, 77); /* kernel half */
	record_mmap(PID_A, 1, 0x2000, 0, 77);
	assert_int_equal(ino_at(PID_A, 0, 0x2000), 0);
}

/* What has no start time yet is found by 0. */
static struct process *process_of(uint32_t pid)
{
	return process_table__find(&table, pid, 0);
}

static void jit_code_is_an_image_s(void **state)
{
	struct jit_load load = { .addr = 0x1000, .size = 0x40, .name = "f", .name_len = 1 };
	struct jit_space *space;
	struct jit_hit hit;

	table.jit = jit_files__new(&dsos, false);
	assert_non_null(table.jit);
	record_exec(PID_A, 10);
	record_mmap(PID_A, 11, 0x10000, 0x1000, 7);
	assert_null(process_of(PID_A)->jit);
	/* Executable memory of no file. */
	record_mmap(PID_A, 12, 0x1000, 0x1000, 0);
	space = process_of(PID_A)->jit;
	assert_non_null(space);
	space->code = jit_code__new(table.jit->pool);
	jit_code__load(space->code, &load);
	record_mmap(PID_A, 13, 0x3000, 0x1000, 0);
	assert_ptr_equal(process_of(PID_A)->jit, space);
	/* A child has it too, until it is another image. */
	record_task(REC_FORK, PID_B, PID_B, PID_A, 20);
	assert_non_null(process_of(PID_B)->jit);
	assert_ptr_not_equal(process_of(PID_B)->jit, space);
	assert_true(jit_space__lookup(process_of(PID_B)->jit, 21, 0x1000, 0, &hit));
	record_exec(PID_B, 22);
	assert_null(process_of(PID_B)->jit);
	assert_int_equal(space->ended_at, 0);
	record_exec(PID_A, 23);
	assert_null(process_of(PID_A)->jit);
	assert_int_not_equal(space->ended_at, 0);
	/* Forgotten by the table before its files are. */
	record_mmap(PID_A, 24, 0x1000, 0x1000, 0);
	assert_non_null(process_of(PID_A)->jit);
	process_table__done(&table);
	jit_files__free(table.jit);
	process_table__init(&table, &dsos);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jit_code_is_an_image_s, setup, teardown),
		cmocka_unit_test(cover_agrees_with_an_array),
		cmocka_unit_test(code_begins_where_its_memory_does),
		T(exec_begins_anew),
		T(comm_without_exec_changes_nothing),
		T(child_has_its_parents_mappings_and_version),
		T(a_thread_is_no_process),
		T(a_reused_pid_has_nothing_of_the_old),
		T(another_start_time_is_another_process),
		T(exited_is_kept_a_while_then_forgotten),
		T(who_is_waited_for_is_forgotten),
		T(without_its_leader_a_process_is_looked_at_again),
		T(exited_is_kept_for_its_last_thread),
		T(the_same_inode_of_another_generation_is_another_file),
		T(files_that_no_sample_hit_are_closed),
		T(reads_a_running_process),
		T(ignores_what_was_before_the_reading),
		T(rereads_at_a_bounded_rate),
		T(a_reading_overrides_nothing),
		T(nothing_is_read_of_an_image_that_is_to_come),
		T(after_a_loss_the_living_are_read_again),
		T(a_reading_holds_for_later_samples_only),
		T(late_records_of_the_image_before_are_ignored),
		T(after_a_loss_the_dead_are_not_trusted),
		T(what_began_before_a_loss_may_be_lost),
		T(after_a_loss_nobody_is_known_to_share),
		T(records_that_tell_the_start_time),
		T(hostile_comm_doesnt_hide_the_start_time),
		T(a_full_table_forgets_what_is_not_sampled),
		T(what_is_no_longer_mapped_is_forgotten),
		T(what_was_just_unmapped_is_kept_a_while),
		T(a_nearly_full_process_is_looked_at_again),
		T(memory_without_a_file_is_told_by_its_exact_name),
		T(bounded_and_senseless_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
