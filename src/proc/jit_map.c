// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_map.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_WAIT_MIN (NSEC_PER_SEC / 10)
#define LOOK_WAIT_MAX (2 * NSEC_PER_SEC)
/* Times of files are coarse, and those of processes in ticks. */
#define AGE_SLACK (NSEC_PER_SEC / 10)
/* A tick at 100 Hz: what an image wrote shortly before its exec is not the next one's. */
#define EXEC_SLACK (NSEC_PER_SEC / 100)

void jit_map__init(struct jit_map *m)
{
	*m = (struct jit_map){ .fd = -1, .look_wait = LOOK_WAIT_MIN };
	perf_map__init(&m->reader);
}

static void close_file(struct jit_map *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

void jit_map__done(struct jit_map *m)
{
	close_file(m);
	perf_map__done(&m->reader);
}

static uint64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * NSEC_PER_SEC + t->tv_nsec;
}

/* Was it written by an image that the process had before an exec? */
static bool is_of_image_before(const struct jit_who *who, uint64_t written)
{
	struct timespec t;

	if (!who->exec_at)
		return false;
	clock_gettime(CLOCK_REALTIME, &t);
	return written + EXEC_SLACK < ns_of(&t) - clock__now() + who->exec_at;
}

static enum jit_map_refusal judge(const struct jit_who *who, const struct stat *st)
{
	if (!jit_who__may_own(who, st))
		return JIT_MAP_OWNER;
	if (ns_of(&st->st_mtim) + AGE_SLACK < who->began ||
	    is_of_image_before(who, ns_of(&st->st_mtim)))
		return JIT_MAP_OLD;
	return JIT_MAP_FINE;
}

/* Opens what now has the name, where it isn't what is open. */
static void open_named(struct jit_map *m, const struct jit_who *who)
{
	struct stat st;
	char name[48];
	int fd, err;

	snprintf(name, sizeof(name), "perf-%u.map", who->status.inner_pid);
	err = jit_who__open_tmp(who, name, &fd, &st);
	if (err == -ENOENT)
		return;
	if (err) {
		m->refusal = err == -ELOOP    ? JIT_MAP_LINK
			     : err == -EINVAL ? JIT_MAP_NO_FILE
					      : JIT_MAP_DENIED;
		return;
	}
	if (m->fd >= 0 && m->st.st_ino == st.st_ino && m->st.st_dev == st.st_dev) {
		close(fd);
		return;
	}
	m->refusal = judge(who, &st);
	if (m->refusal) {
		close(fd);
		return;
	}
	close_file(m);
	if (m->found)
		perf_map__restart(&m->reader);
	m->fd = fd;
	m->st = st;
	m->st.st_size = 0;
	m->found = true;
}

static void take(struct jit_map *m, struct jit_code *code, const struct perf_map_entry *e,
		 uint64_t now)
{
	struct jit_load load = {
		.time = m->polled_at,
		.known = now,
		.addr = e->addr,
		.size = e->size,
		.name = e->name,
		.name_len = e->name_len,
	};

	jit_code__load(code, &load);
}

static uint64_t read_on(struct jit_map *m, struct jit_code *code, struct jit_piece *piece,
			uint64_t now, uint64_t *budget)
{
	struct perf_map_entry e;
	uint64_t total = 0, entries;
	struct stat st;

	m->whole = true;
	if (fstat(m->fd, &st))
		return 0;
	if ((uint64_t)st.st_size < perf_map__off(&m->reader) ||
	    (st.st_size == m->st.st_size && st.st_size &&
	     ns_of(&st.st_mtim) != ns_of(&m->st.st_mtim)))
		perf_map__restart(&m->reader);
	m->st = st;
	for (;;) {
		uint64_t off = perf_map__off(&m->reader);
		ssize_t n;

		if (!*budget) {
			m->whole = false;
			break;
		}
		if (off >= JIT_MAP_BYTES_MAX)
			break;
		n = pread(m->fd, piece->bytes, sizeof(piece->bytes), off);
		if (n <= 0)
			break;
		total += n;
		perf_map__feed(&m->reader, piece->bytes, n);
		entries = m->reader.nr_entries;
		while (perf_map__next(&m->reader, &e))
			take(m, code, &e, now);
		jit_spend(budget, n + JIT_RECORD_COST * (m->reader.nr_entries - entries));
	}
	return total;
}

uint64_t jit_map__read(struct jit_map *m, struct jit_code *code, struct jit_piece *piece,
		       uint64_t now, uint64_t *budget, bool last)
{
	struct perf_map_entry e;
	uint64_t total;

	m->whole = true;
	if (m->fd < 0)
		return 0;
	total = read_on(m, code, piece, now, budget);
	if (!m->whole)
		return total;
	if (last && perf_map__last(&m->reader, &e))
		take(m, code, &e, now);
	m->polled_at = now;
	return total;
}

void jit_map__look(struct jit_map *m, const struct jit_who *who, uint64_t now, bool last)
{
	if (!last && now < m->look_at)
		return;
	open_named(m, who);
	m->look_at = now + m->look_wait;
	if (m->look_wait < LOOK_WAIT_MAX)
		m->look_wait *= 2;
}
