/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything that a reader hands out, in one number: however the bytes came, it must be the same.
 */
#ifndef EBOLT_TESTS_JITDUMP_DIGEST_H
#define EBOLT_TESTS_JITDUMP_DIGEST_H

#include <stdlib.h>
#include <string.h>

#include "object/jitdump.h"

/* FNV-1a, over values rather than structs: those have padding. */
static inline uint64_t digest__bytes(uint64_t h, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

static inline uint64_t digest__u64(uint64_t h, uint64_t v)
{
	return digest__bytes(h, &v, sizeof(v));
}

static inline uint64_t digest__record(uint64_t h, const struct jitdump_record *r)
{
	struct jitdump_lines lines;
	struct jitdump_line l;

	h = digest__u64(h, r->kind);
	h = digest__u64(h, r->id);
	h = digest__u64(h, r->len);
	h = digest__u64(h, r->off);
	h = digest__u64(h, r->time);
	switch (r->kind) {
	case JITDUMP_LOAD:
		h = digest__u64(h, (uint64_t)r->load.pid << 32 | r->load.tid);
		h = digest__u64(h, r->load.addr);
		h = digest__u64(h, r->load.size);
		h = digest__u64(h, r->load.index);
		h = digest__u64(h, r->load.name_cut);
		h = digest__bytes(h, r->load.name, r->load.name_len);
		break;
	case JITDUMP_MOVE:
		h = digest__u64(h, r->move.from);
		h = digest__u64(h, r->move.to);
		h = digest__u64(h, r->move.size);
		h = digest__u64(h, r->move.index);
		break;
	case JITDUMP_DEBUG_INFO:
		h = digest__u64(h, r->debug.addr);
		h = digest__u64(h, r->debug.nr);
		lines = r->debug.lines;
		while (jitdump_lines__next(&lines, &l)) {
			h = digest__u64(h, l.addr);
			h = digest__u64(h, (uint64_t)l.line << 32 | l.discriminator);
			h = digest__bytes(h, l.file, l.file_len);
		}
		break;
	case JITDUMP_UNWINDING:
		h = digest__u64(h, r->unwinding.unwind_size);
		h = digest__u64(h, r->unwinding.eh_frame_hdr_size);
		h = digest__u64(h, r->unwinding.mapped_size);
		break;
	default:
		break;
	}
	return h;
}

struct digest {
	uint64_t hash, nr_records, nr_problems, tail;
	uint64_t status; /* no padding: compared as bytes */
};

/*
 * Reads bytes in pieces of `piece` bytes, each in memory of its own size, so that a sanitizer sees
 * what reaches over it or is kept too long.
 */
static inline struct digest digest__read(const void *bytes, size_t len, size_t piece)
{
	const struct jitdump_config config = { .now = 1000000000000000, .machine = 62 };
	struct digest d = { .hash = 0xcbf29ce484222325ull };
	struct jitdump_record rec;
	struct jitdump jd;

	jitdump__init(&jd, &config);
	for (size_t off = 0; off < len; off += piece) {
		size_t n = len - off < piece ? len - off : piece;
		uint8_t *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, (const uint8_t *)bytes + off, n);
		jitdump__feed(&jd, copy, n);
		while (jitdump__next(&jd, &rec))
			d.hash = digest__record(d.hash, &rec);
		free(copy);
	}
	d.status = jd.status;
	d.nr_records = jd.nr_records;
	d.nr_problems = jitdump__nr_problems(&jd);
	d.tail = jitdump__tail(&jd);
	jitdump__done(&jd);
	return d;
}

#endif
