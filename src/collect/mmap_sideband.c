// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf event of the software type "dummy" never fires, but its attribute can ask for records of
 * what tasks do, and its ring then gets them. Opened for a CPU and all processes, it sees what
 * happens on that CPU: so there is one a CPU, and their records are ordered by time elsewhere.
 *
 * The ring is the usual one of perf: a page of control data, then a power of two of pages. The
 * kernel moves data_head after it has written, we move data_tail after we have read; positions
 * grow without end, the offset in the ring is their remainder. Records start at multiples of 8
 * and may wrap at the end of the ring.
 *
 * When a ring is full, records are dropped and counted. PERF_RECORD_LOST reports it with the next
 * record that fits, which may be much later or never, and counts too few; with PERF_FORMAT_LOST
 * read(2) on the event tells exactly. That is a system call a CPU, so it is made only when a ring
 * was found more than half full, or when a LOST record was, or at the end. Without it, a ring that
 * was so full that the longest record would not have fit counts as one that lost some.
 *
 * Either way the loss goes out as a REC_LOST, upon which /proc is to be read again. It happened
 * since the drain before, which is its time: no sample from then on is to be looked up in what was
 * known till then. So does the loss of records that came and could not be passed on. One that can't
 * be passed on itself stays to be told by the next drain.
 */
#include "collect/mmap_sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "collect/perf_event.h"
#include "collect/why.h"
#include "object/perf_record.h"

/* All rings together and each alone; perf_event_mlock_kb allows 512 KiB a CPU by default. */
#define RINGS_BYTES    (2u << 20)
#define RING_BYTES_MIN (64u << 10)
#define RING_BYTES_MAX (512u << 10)

#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/*
 * The longest of the records that are asked for, an MMAP2: 72 bytes, a path of PATH_MAX, and what
 * SAMPLE_TYPE adds.
 */
#define LONGEST_RECORD (72 + 4096 + 24)

struct ring {
	int cpu, fd;
	struct perf_event_mmap_page *page;
	uint64_t lost; /* as far as it is known */
};

struct sideband {
	VEC(struct ring) rings;
	int epoll_fd;
	size_t ring_bytes;
	bool no_tasks, ksymbol, lost_count;
	uint64_t lost_before;			  /* of rings that were reopened */
	uint64_t lost_here;			  /* records that came but could not be passed on */
	uint64_t told;				  /* of all that is lost, by REC_LOST */
	uint64_t told_until;			  /* ns; what was lost before is told */
	bool maybe_lost;			  /* some may be that are in none of the counts */
	struct buf rec;				  /* the record that is being passed on */
	uint8_t whole[PERF_RECORD_BYTES_MAX + 1]; /* a record that wraps, in one piece */
};

static size_t default_ring_bytes(size_t nr_cpus)
{
	size_t bytes = RING_BYTES_MAX;

	while (bytes > RING_BYTES_MIN && bytes * nr_cpus > RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

static void ring__done(struct ring *r, size_t ring_bytes)
{
	if (r->page)
		munmap(r->page, getpagesize() + ring_bytes);
	if (r->fd >= 0)
		close(r->fd);
}

static int ring__open(struct ring *r, struct perf_event_attr *attr, size_t ring_bytes, int epoll_fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	void *page;

	r->fd = perf_event__open(attr, -1, r->cpu);
	if (r->fd < 0)
		return -errno;
	page = mmap(NULL, getpagesize() + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	r->page = page;
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, r->fd, &ev) ? -errno : 0;
}

static char *why_not(const struct sideband *sb, int cpu, int err)
{
	if (err == -EMFILE || err == -ENFILE)
		return why__format("perf side-band on CPU %d: %s; one descriptor a CPU is needed, "
				   "raise the limit (ulimit -n)",
				   cpu, strerror(-err));
	if (err == -ENOMEM || err == -EPERM)
		return why__format("perf side-band on CPU %d: a ring of %zu KiB can't be mapped "
				   "(%s); raise kernel.perf_event_mlock_kb, which is %ld, or run "
				   "with CAP_IPC_LOCK",
				   cpu, sb->ring_bytes / 1024, strerror(-err),
				   why__sysctl("kernel/perf_event_mlock_kb", -1));
	if (err == -EACCES)
		return why__permission("opening the perf side-band", err);
	return why__format("perf side-band on CPU %d: perf_event_open: %s", cpu, strerror(-err));
}

static int open_ring(struct sideband *sb, int cpu, struct ring *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SAMPLE_TYPE,
		.sample_id_all = 1,
		.mmap = !sb->no_tasks,
		.mmap2 = !sb->no_tasks,
		.comm = !sb->no_tasks,
		.comm_exec = !sb->no_tasks,
		.task = !sb->no_tasks,
		.ksymbol = sb->ksymbol,
		.read_format = sb->lost_count ? PERF_FORMAT_LOST : 0,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* Wake with every record; how often one is listened for is the reader's matter. */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int err;

	*ret = (struct ring){ .cpu = cpu, .fd = -1 };
	err = ring__open(ret, &attr, sb->ring_bytes, sb->epoll_fd);
	if (err)
		ring__done(ret, sb->ring_bytes);
	return err;
}

static int add_ring(struct sideband *sb, int cpu)
{
	struct ring r;
	int err = open_ring(sb, cpu, &r);

	if (err)
		return err;
	err = vec_push(&sb->rings, r);
	if (err)
		ring__done(&r, sb->ring_bytes);
	return err;
}

static int open_rings(struct sideband *sb, const struct sideband_opts *o, char **ret_why)
{
	vec_for_each(&o->cpus->cpus, cpu) {
		int err = add_ring(sb, *cpu);

		if (err && err != -ENODEV) { /* offline */
			*ret_why = why_not(sb, *cpu, err);
			return err;
		}
	}
	return sb->rings.len ? 0 : -ENODEV;
}

int sideband__open(const struct sideband_opts *opts, struct sideband **ret, char **ret_why)
{
	struct sideband *sb = calloc(1, sizeof(*sb));
	int err = 0;

	if (!sb)
		return -ENOMEM;
	vec_init(&sb->rings, CPUS_MAX);
	buf__init(&sb->rec, 2 * PERF_RECORD_BYTES_MAX);
	sb->ring_bytes = opts->ring_bytes ? opts->ring_bytes
					  : default_ring_bytes(opts->cpus->cpus.len);
	sb->no_tasks = opts->no_tasks;
	sb->ksymbol = opts->ksymbol;
	sb->lost_count = opts->lost_count;
	sb->told_until = clock__now();
	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sb->epoll_fd < 0)
		err = -errno;
	if (!err)
		err = open_rings(sb, opts, ret_why);
	if (err) {
		sideband__free(sb);
		return err;
	}
	*ret = sb;
	return 0;
}

void sideband__free(struct sideband *sb)
{
	if (!sb)
		return;
	vec_for_each(&sb->rings, r)
		ring__done(r, sb->ring_bytes);
	vec_done(&sb->rings);
	if (sb->epoll_fd >= 0)
		close(sb->epoll_fd);
	buf__done(&sb->rec);
	free(sb);
}

int sideband__reopen(struct sideband *sb, int cpu)
{
	struct ring fresh;
	int err;

	vec_for_each(&sb->rings, r) {
		if (r->cpu != cpu)
			continue;
		err = open_ring(sb, cpu, &fresh);
		if (err)
			return err;
		sb->lost_before += r->lost;
		ring__done(r, sb->ring_bytes);
		*r = fresh;
		return 0;
	}
	return add_ring(sb, cpu);
}

int sideband__fd(const struct sideband *sb)
{
	return sb->epoll_fd;
}

void sideband__settle(struct sideband *sb)
{
	struct epoll_event events[64];

	/* Asking a perf event whether it is ready is what clears its readiness. */
	for (size_t asked = 0; asked < sb->rings.len; asked += ARRAY_SIZE(events))
		epoll_wait(sb->epoll_fd, events, ARRAY_SIZE(events), 0);
}

struct drain {
	struct sideband *sb;
	int (*fn)(void *ctx, const struct rec_hdr *rec);
	void *ctx;
	size_t records;
};

/* The kernel's count of the records that this ring had no room for. */
static uint64_t kernel_lost(const struct ring *r)
{
	uint64_t value_and_lost[2];

	if (read(r->fd, value_and_lost, sizeof(value_and_lost)) != sizeof(value_and_lost))
		return r->lost;
	return value_and_lost[1];
}

static void pass(struct drain *d, struct ring *r, const void *bytes, size_t len)
{
	static const struct perf_record_format format = { .sample_type = SAMPLE_TYPE };
	struct sideband *sb = d->sb;
	struct perf_record pr;
	int err = perf_record__decode(bytes, len, &format, &pr);

	if (err == -ENOTSUP)
		return; /* a kind that was not asked for, such as THROTTLE */
	if (!err && pr.kind == PERF_REC_LOST) {
		r->lost = sb->lost_count ? kernel_lost(r) : r->lost + pr.lost.count;
		return;
	}
	buf__clear(&sb->rec);
	if (!err)
		err = perf_record__to_rec(&pr, &sb->rec);
	if (!err)
		err = d->fn(d->ctx, (const struct rec_hdr *)sb->rec.data);
	if (err)
		sb->lost_here++;
	d->records++;
}

static void drain_ring(struct drain *d, struct ring *r)
{
	struct sideband *sb = d->sb;
	const uint8_t *data = (const uint8_t *)r->page + getpagesize();
	uint64_t mask = sb->ring_bytes - 1, tail = r->page->data_tail;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), was = tail, most;

	while (tail != head) {
		/* A header never wraps: records start at multiples of 8. */
		const struct perf_event_header *h = (const void *)(data + (tail & mask));
		size_t size = h->size, first = sb->ring_bytes - (tail & mask);
		const void *bytes = h;

		if (size < sizeof(*h) || size % 8 || size > head - tail) {
			sb->lost_here++; /* not a ring that the kernel wrote: start anew */
			tail = head;
			break;
		}
		if (size > first) {
			memcpy(sb->whole, h, first);
			memcpy(sb->whole + first, data, size - first);
			bytes = sb->whole;
		}
		pass(d, r, bytes, size);
		tail += size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	/* It filled on while it was read: whatever was dropped, it was never fuller than this. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	most = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) - was;
	if (!sb->lost_count)
		sb->maybe_lost |= most + LONGEST_RECORD > sb->ring_bytes;
	else if (most > sb->ring_bytes / 2)
		r->lost = kernel_lost(r);
}

/* began: when the drain did. */
static void pass_lost(struct drain *d, uint64_t began)
{
	struct sideband *sb = d->sb;
	struct rec_lost lost = {
		.hdr = { .type = REC_LOST, .length = sizeof(lost), .time = sb->told_until },
		.count = sideband__lost(sb) - sb->told,
		.until = clock__now(),
	};

	if (lost.count || sb->maybe_lost) {
		d->records++;
		if (d->fn(d->ctx, &lost.hdr))
			return;
	}
	sb->told += lost.count;
	sb->told_until = began;
	sb->maybe_lost = false;
}

size_t sideband__drain(struct sideband *sb, int (*fn)(void *ctx, const struct rec_hdr *rec),
		       void *ctx)
{
	struct drain d = { .sb = sb, .fn = fn, .ctx = ctx };
	uint64_t began = clock__now();

	vec_for_each(&sb->rings, r)
		drain_ring(&d, r);
	pass_lost(&d, began);
	return d.records;
}

uint64_t sideband__lost(const struct sideband *sb)
{
	uint64_t lost = sb->lost_before + sb->lost_here;

	vec_for_each(&sb->rings, r)
		lost += r->lost;
	return lost;
}

void sideband__update_lost(struct sideband *sb)
{
	if (!sb->lost_count)
		return;
	vec_for_each(&sb->rings, r)
		r->lost = kernel_lost(r);
}

size_t sideband__ring_bytes(const struct sideband *sb)
{
	return sb->rings.len * sb->ring_bytes;
}
