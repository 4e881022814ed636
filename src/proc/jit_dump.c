// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_dump.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* The lines of a table that are taken. */
#define LINES_MAX 16384
/* What a hole takes of the budget. */
#define HOLE_COST     4096
#define RECORD_PREFIX 16

struct jit_piece *jit_piece__new(void)
{
	struct jit_piece *piece = calloc(1, sizeof(*piece));
	void *zeros;

	if (!piece)
		return NULL;
	zeros = mmap(NULL, JIT_ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		     0);
	if (zeros == MAP_FAILED) {
		free(piece);
		return NULL;
	}
	piece->zeros = zeros;
	return piece;
}

void jit_piece__free(struct jit_piece *piece)
{
	if (!piece)
		return;
	munmap((void *)piece->zeros, JIT_ZEROS);
	vec_done(&piece->lines);
	free(piece);
}

static void on_problem(void *ctx, enum jitdump_problem problem, uint64_t off)
{
	struct jit_dump *d = ctx;
	uint32_t bit = 1u << problem;

	if ((d->problems_new | d->problems_said) & bit)
		return;
	d->problems_new |= bit;
	d->problem_off[problem] = off;
}

struct jit_dump *jit_dump__new(int fd)
{
	struct jit_dump *d = calloc(1, sizeof(*d));
	struct jitdump_config config = { .on_problem = on_problem, .ctx = d };

	if (!d)
		return NULL;
	d->fd = fd;
	config.now = clock__now();
	jitdump__init(&d->reader, &config);
	return d;
}

void jit_dump__free(struct jit_dump *d)
{
	if (!d)
		return;
	close(d->fd);
	jitdump__done(&d->reader);
	free(d);
}

bool jit_dump__is_done(const struct jit_dump *d)
{
	return d->too_large || d->reader.status == JITDUMP_REJECTED ||
	       d->reader.status == JITDUMP_STOPPED;
}

static void take_lines(struct jit_code *code, struct jit_piece *piece,
		       const struct jitdump_record *rec)
{
	struct jitdump_lines it = rec->debug.lines;
	struct jitdump_line line;

	piece->lines.len = 0;
	piece->lines.max = LINES_MAX;
	while (jitdump_lines__next(&it, &line))
		if (vec_push(&piece->lines, (struct jit_line){ .addr = line.addr,
							       .line = line.line,
							       .file = line.file,
							       .file_len = line.file_len }))
			break;
	jit_code__lines(code, rec->debug.addr, piece->lines.data, piece->lines.len);
}

static void take(struct jit_dump *d, struct jit_code *code, struct jit_piece *piece, uint64_t now,
		 const struct jitdump_record *rec)
{
	struct jit_load load = {
		.time = rec->time,
		.known = rec->time ? rec->time : now,
	};
	struct jit_move move = { .time = rec->time };

	/* A clock that is ahead must not make look-ups wait no longer. */
	if (rec->time > d->last_time && rec->time <= now)
		d->last_time = rec->time;
	switch (rec->kind) {
	case JITDUMP_LOAD:
		load.addr = rec->load.addr;
		load.size = rec->load.size;
		load.index = rec->load.index;
		load.name = rec->load.name;
		load.name_len = rec->load.name_len;
		if (load.size)
			jit_code__load(code, &load);
		break;
	case JITDUMP_MOVE:
		move.from = rec->move.from;
		move.to = rec->move.to;
		move.size = rec->move.size;
		move.index = rec->move.index;
		jit_code__move(code, &move);
		break;
	case JITDUMP_DEBUG_INFO:
		take_lines(code, piece, rec);
		break;
	default:
		break;
	}
}

/* What lies at off: *ret_hole, how long it is. To the end, where the file system can't tell. */
static uint64_t extent_at(int fd, uint64_t off, uint64_t size, bool *ret_hole)
{
	off_t data = lseek(fd, off, SEEK_DATA), hole;

	*ret_hole = data < 0 || (uint64_t)data > off;
	if (*ret_hole)
		return (data < 0 ? size : (uint64_t)data) - off;
	hole = lseek(fd, off, SEEK_HOLE);
	return ((uint64_t)hole > off && hole > 0 ? (uint64_t)hole : size) - off;
}

/*
 * Feeds the next piece; 0: there is none. Holes aren't read, since that would fill the page cache:
 * a file may state terabytes of code that was never written. *ret_cost: what it takes of a budget.
 */
static size_t feed(struct jit_dump *d, struct jit_piece *piece, const struct stat *st,
		   uint64_t most, uint64_t *ret_cost)
{
	uint64_t off = jitdump__off(&d->reader), size = st->st_size, len;
	bool hole = false;
	ssize_t n;

	if (most > sizeof(piece->bytes))
		most = sizeof(piece->bytes);
	if (off < size && (uint64_t)st->st_blocks * 512 < size) {
		len = extent_at(d->fd, off, size, &hole);
		/* Where a record should begin, zeros mean that it is not yet written. */
		if (hole && jitdump__tail(&d->reader) < RECORD_PREFIX)
			len = len < HOLE_COST ? len : HOLE_COST;
		else if (hole)
			len = len < JIT_ZEROS ? len : JIT_ZEROS;
		most = hole || len < most ? len : most;
	}
	if (hole) {
		jitdump__feed(&d->reader, piece->zeros, most);
		*ret_cost = HOLE_COST;
		return most;
	}
	n = pread(d->fd, piece->bytes, most, off);
	if (n <= 0)
		return 0;
	jitdump__feed(&d->reader, piece->bytes, n);
	*ret_cost = n;
	return n;
}

uint64_t jit_dump__poll(struct jit_dump *d, struct jit_code *code, struct jit_piece *piece,
			uint64_t now, uint64_t *budget)
{
	struct jitdump_record rec;
	uint64_t total = 0, cost, records;
	struct stat st;

	if (jit_dump__is_done(d)) {
		d->whole = true;
		return 0;
	}
	if (fstat(d->fd, &st))
		return 0;
	d->reader.config.now = now;
	if ((uint64_t)st.st_size < jitdump__off(&d->reader))
		jitdump__restart(&d->reader);
	else if (jitdump__in_zeros(&d->reader))
		jitdump__rewind(&d->reader);
	d->whole = false;
	while (*budget) {
		if (!feed(d, piece, &st, *budget, &cost)) {
			d->whole = true;
			break;
		}
		total += cost;
		records = d->reader.nr_records;
		while (jitdump__next(&d->reader, &rec))
			take(d, code, piece, now, &rec);
		jit_spend(budget, cost + JIT_RECORD_COST * (d->reader.nr_records - records));
		d->too_large = d->read + total > JIT_DUMP_BYTES_MAX;
		/* Zeros are not yet written: no more of them is read than this. */
		if (jit_dump__is_done(d) || jitdump__in_zeros(&d->reader)) {
			d->whole = true;
			break;
		}
	}
	d->read += total;
	return total;
}

bool jit_dump__problem(struct jit_dump *d, enum jitdump_problem *ret, uint64_t *ret_off)
{
	for (int i = 0; i < JITDUMP_NR_PROBLEMS; i++) {
		if (!(d->problems_new >> i & 1))
			continue;
		d->problems_new &= ~(1u << i);
		d->problems_said |= 1u << i;
		*ret = i;
		*ret_off = d->problem_off[i];
		return true;
	}
	return false;
}
