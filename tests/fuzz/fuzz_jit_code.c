// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code by address and time, as a jitdump fills it, with look-ups and forks in between: two bytes
 * give the bounds of the memory, the rest is the dump. A record of an unknown id forks, CLOSE goes
 * on with the child. What is looked up must cover the address, and nothing may be left at the end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/jitdump.h"
#include "proc/jit_code.h"

#define ADDRS 32
#define LINES 1024

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct run {
	struct jit_pool *pool;
	struct jit_code *code, *child;
	uint64_t addrs[ADDRS]; /* where something was loaded, or moved */
	size_t nr_addrs;
};

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static void note_addr(struct run *r, uint64_t addr)
{
	r->addrs[r->nr_addrs++ % ADDRS] = addr;
}

static void add_lines(struct run *r, const struct jitdump_record *rec)
{
	struct jitdump_lines from = rec->debug.lines;
	static struct jit_line lines[LINES];
	struct jitdump_line l;
	size_t nr = 0;

	while (nr < LINES && jitdump_lines__next(&from, &l))
		lines[nr++] = (struct jit_line){
			.addr = l.addr, .line = l.line, .file = l.file, .file_len = l.file_len
		};
	jit_code__lines(r->code, rec->debug.addr, lines, nr);
}

static void apply(struct run *r, const struct jitdump_record *rec)
{
	struct jit_load load = { .time = rec->time };
	struct jit_move move = { .time = rec->time };
	struct jit_code *code;

	switch (rec->kind) {
	case JITDUMP_LOAD:
		load.addr = rec->load.addr;
		load.size = rec->load.size;
		load.index = rec->load.index;
		load.name = rec->load.name;
		load.name_len = rec->load.name_len;
		jit_code__load(r->code, &load);
		note_addr(r, load.addr);
		break;
	case JITDUMP_MOVE:
		move.from = rec->move.from;
		move.to = rec->move.to;
		move.size = rec->move.size;
		move.index = rec->move.index;
		jit_code__move(r->code, &move);
		note_addr(r, move.to);
		break;
	case JITDUMP_DEBUG_INFO:
		add_lines(r, rec);
		break;
	case JITDUMP_CLOSE:
		code = r->child;
		if (code) {
			r->child = r->code;
			r->code = code;
		}
		break;
	case JITDUMP_OTHER:
		if (!r->child)
			r->child = jit_code__fork(r->code, rec->time);
		break;
	default:
		break;
	}
}

static void look_up(struct jit_code *code, uint64_t time, uint64_t addr)
{
	struct jit_hit hit, again;

	if (!jit_code__lookup(code, time, addr, &hit))
		return;
	expect(hit.start <= addr && strlen(hit.name) <= JIT_NAME_MAX);
	expect(jit_code__lookup(code, time, addr, &again));
	expect(again.name == hit.name && again.start == hit.start && again.line == hit.line);
}

static void look_around(struct run *r, uint64_t time)
{
	for (size_t i = 0; i < r->nr_addrs && i < ADDRS; i++) {
		uint64_t addr = r->addrs[i] + r->nr_addrs % 16;

		look_up(r->code, time, addr);
		if (r->child)
			look_up(r->child, time, addr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct jitdump_config config = { .now = 1000000000000000 };
	struct jit_pool_opts opts = { .keep_lines = true };
	struct jitdump_record rec;
	struct run r = {};
	struct jitdump jd;

	if (len < 2)
		return 0;
	opts.max_funcs = bytes[0];
	opts.max_bytes = bytes[1] * 16;
	r.pool = jit_pool__new(&opts);
	r.code = r.pool ? jit_code__new(r.pool) : NULL;
	if (!r.code)
		abort();
	jitdump__init(&jd, &config);
	jitdump__feed(&jd, bytes + 2, len - 2);
	while (jitdump__next(&jd, &rec)) {
		apply(&r, &rec);
		look_around(&r, rec.time);
	}
	jitdump__done(&jd);
	jit_code__free(r.child);
	jit_code__free(r.code);
	expect(!jit_pool__funcs(r.pool) && !jit_pool__bytes(r.pool));
	jit_pool__free(r.pool);
	return 0;
}
