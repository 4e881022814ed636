/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes jitdumps as runtimes do, and as they shouldn't: each record's size can be a lie. */
#ifndef EBOLT_TESTS_JITDUMP_BUILDER_H
#define EBOLT_TESTS_JITDUMP_BUILDER_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

struct jitdump_builder {
	struct buf out;
	bool swap;
};

static inline void jb__init(struct jitdump_builder *b, bool swap)
{
	buf__init(&b->out, 256u << 20);
	b->swap = swap;
}

static inline void jb__done(struct jitdump_builder *b)
{
	buf__done(&b->out);
}

static inline void jb__u32(struct jitdump_builder *b, uint32_t v)
{
	v = b->swap ? __builtin_bswap32(v) : v;
	buf__append(&b->out, &v, 4);
}

static inline void jb__u64(struct jitdump_builder *b, uint64_t v)
{
	v = b->swap ? __builtin_bswap64(v) : v;
	buf__append(&b->out, &v, 8);
}

static inline void jb__zeros(struct jitdump_builder *b, size_t n)
{
	while (n--)
		buf__putc(&b->out, 0);
}

struct jb_header {
	uint32_t version, size, machine;
	uint64_t flags;
};

static inline void jb__header_of(struct jitdump_builder *b, struct jb_header h)
{
	jb__u32(b, 0x4a695444);
	jb__u32(b, h.version);
	jb__u32(b, h.size);
	jb__u32(b, h.machine);
	jb__u32(b, 0xdeadbeef);
	jb__u32(b, 4242);
	jb__u64(b, 1796056383164776);
	jb__u64(b, h.flags);
}

static inline void jb__header(struct jitdump_builder *b)
{
	jb__header_of(b, (struct jb_header){ 1, 40, EM_X86_64, 0 });
}

/* Begins a record; jb__end() writes its size. */
static inline size_t jb__begin(struct jitdump_builder *b, uint32_t id, uint64_t time)
{
	size_t at = b->out.len;

	jb__u32(b, id);
	jb__u32(b, 0);
	jb__u64(b, time);
	return at;
}

static inline void jb__set_size(struct jitdump_builder *b, size_t at, uint32_t size)
{
	size = b->swap ? __builtin_bswap32(size) : size;
	memcpy(b->out.data + at + 4, &size, 4);
}

static inline void jb__end(struct jitdump_builder *b, size_t at)
{
	jb__set_size(b, at, b->out.len - at);
}

struct jb_load {
	uint64_t time, addr, size, index;
	const char *name;
	size_t name_len; /* 0: strlen */
	size_t code;	 /* bytes that are there */
	size_t pad;
	bool no_nul;
};

static inline size_t jb__load_of(struct jitdump_builder *b, struct jb_load l)
{
	size_t at = jb__begin(b, 0, l.time);

	jb__u32(b, 7);
	jb__u32(b, 8);
	jb__u64(b, 0);
	jb__u64(b, l.addr);
	jb__u64(b, l.size);
	jb__u64(b, l.index);
	buf__append(&b->out, l.name, l.name_len ? l.name_len : strlen(l.name));
	if (!l.no_nul)
		buf__putc(&b->out, 0);
	for (size_t i = 0; i < l.code; i++)
		buf__putc(&b->out, i % 251);
	jb__zeros(b, l.pad);
	jb__end(b, at);
	return at;
}

static inline size_t jb__load(struct jitdump_builder *b, uint64_t time, uint64_t addr,
			      uint64_t size, const char *name)
{
	return jb__load_of(b, (struct jb_load){ .time = time,
						.addr = addr,
						.size = size,
						.index = 1,
						.name = name,
						.code = size });
}

static inline size_t jb__move(struct jitdump_builder *b, uint64_t time, uint64_t from, uint64_t to,
			      uint64_t size)
{
	size_t at = jb__begin(b, 1, time);

	jb__u32(b, 7);
	jb__u32(b, 8);
	jb__u64(b, to);
	jb__u64(b, from);
	jb__u64(b, to);
	jb__u64(b, size);
	jb__u64(b, 1);
	jb__end(b, at);
	return at;
}

/* Entries follow by jb__entry(), then jb__end(). */
static inline size_t jb__debug(struct jitdump_builder *b, uint64_t time, uint64_t addr, uint64_t nr)
{
	size_t at = jb__begin(b, 2, time);

	jb__u64(b, addr);
	jb__u64(b, nr);
	return at;
}

static inline void jb__entry(struct jitdump_builder *b, uint64_t addr, uint32_t line,
			     const char *file)
{
	jb__u64(b, addr);
	jb__u32(b, line);
	jb__u32(b, 9);
	buf__append(&b->out, file, strlen(file) + 1);
}

static inline size_t jb__unwinding(struct jitdump_builder *b, uint64_t time, uint64_t size,
				   uint64_t hdr, size_t bytes)
{
	size_t at = jb__begin(b, 4, time);

	jb__u64(b, size);
	jb__u64(b, hdr);
	jb__u64(b, 5);
	for (size_t i = 0; i < bytes; i++)
		buf__putc(&b->out, 1);
	jb__end(b, at);
	return at;
}

#endif
