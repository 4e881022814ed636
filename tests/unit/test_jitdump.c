// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include "base/cleanup.h"
#include "jitdump_builder.h"
#include "jitdump_digest.h"
#include "object/jitdump.h"

#define T    1000000000000ull
#define ADDR 0x7e0000000000ull

/* A reader over a builder's bytes. */
struct fixture {
	struct jitdump_builder b;
	struct jitdump jd;
	uint64_t problem_off;
};

static void note_problem(void *ctx, enum jitdump_problem problem, uint64_t off)
{
	((struct fixture *)ctx)->problem_off = off;
}

static void start(struct fixture *f, bool swap)
{
	struct jitdump_config config = {
		.now = 2 * T, .machine = EM_X86_64, .on_problem = note_problem, .ctx = f
	};

	jb__init(&f->b, swap);
	jitdump__init(&f->jd, &config);
	f->problem_off = UINT64_MAX;
}

static void feed(struct fixture *f)
{
	jitdump__feed(&f->jd, f->b.out.data, f->b.out.len);
}

/* The next record is one of that kind. */
static struct jitdump_record expect(struct fixture *f, enum jitdump_kind kind)
{
	struct jitdump_record rec;

	assert_true(jitdump__next(&f->jd, &rec));
	assert_int_equal(rec.kind, kind);
	return rec;
}

static void expect_name(struct fixture *f, const char *name)
{
	struct jitdump_record rec = expect(f, JITDUMP_LOAD);

	assert_int_equal(rec.load.name_len, strlen(name));
	assert_memory_equal(rec.load.name, name, rec.load.name_len);
}

static void expect_end(struct fixture *f)
{
	struct jitdump_record rec;

	assert_false(jitdump__next(&f->jd, &rec));
}

/* These problems, each once, and no others; ends the fixture. */
#define finish(f, ...)                                                      \
	finish_with(f, (const enum jitdump_problem[]){ __VA_ARGS__ },       \
		    sizeof((const enum jitdump_problem[]){ __VA_ARGS__ }) / \
			    sizeof(enum jitdump_problem))

static void finish_with(struct fixture *f, const enum jitdump_problem *problems, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(f->jd.problems[problems[i]], 1);
	assert_int_equal(jitdump__nr_problems(&f->jd), nr);
	jitdump__done(&f->jd);
	jb__done(&f->b);
}

static void finish_clean(struct fixture *f)
{
	finish_with(f, NULL, 0);
}

static void put_every_kind(struct jitdump_builder *b)
{
	size_t at;

	jb__header(b);
	jb__unwinding(b, T, 20, 12, 24);
	at = jb__debug(b, T + 1, ADDR, 3);
	jb__entry(b, ADDR + 0x40, 10, "/src/hot.js");
	jb__entry(b, ADDR + 0x44, 11, "\xff");
	jb__entry(b, ADDR + 0x48, 12, "other.js");
	jb__end(b, at);
	jb__load_of(b, (struct jb_load){ .time = T + 2,
					 .addr = ADDR,
					 .size = 0x140,
					 .index = 77,
					 .name = "JS:*hot /src/hot.js:3:49",
					 .code = 0x140,
					 .pad = 7 });
	jb__move(b, T + 3, ADDR, ADDR + 0x1000, 0x140);
	at = jb__begin(b, 77, T + 4);
	jb__zeros(b, 33);
	jb__end(b, at);
	jb__end(b, jb__begin(b, 3, T + 5));
}

static void reads_every_kind(bool swap)
{
	struct jitdump_record rec;
	struct jitdump_line line;
	struct fixture f;

	start(&f, swap);
	f.jd.config.machine = EM_X86_64;
	put_every_kind(&f.b);
	feed(&f);
	rec = expect(&f, JITDUMP_UNWINDING);
	assert_int_equal(rec.off, 40);
	assert_int_equal(rec.len, 16 + 24 + 24);
	assert_int_equal(rec.time, T);
	assert_int_equal(rec.unwinding.unwind_size, 20);
	assert_int_equal(rec.unwinding.eh_frame_hdr_size, 12);
	assert_int_equal(rec.unwinding.mapped_size, 5);
	rec = expect(&f, JITDUMP_DEBUG_INFO);
	assert_int_equal(rec.debug.addr, ADDR);
	assert_int_equal(rec.debug.nr, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(jitdump_lines__next(&rec.debug.lines, &line));
		assert_int_equal(line.addr, ADDR + 0x40 + 4 * i);
		assert_int_equal(line.line, 10 + i);
		assert_int_equal(line.discriminator, 9);
		assert_string_equal(line.file, i == 2 ? "other.js" : "/src/hot.js");
		assert_int_equal(line.file_len, strlen(line.file));
	}
	assert_false(jitdump_lines__next(&rec.debug.lines, &line));
	rec = expect(&f, JITDUMP_LOAD);
	assert_int_equal(rec.time, T + 2);
	assert_int_equal(rec.load.pid, 7);
	assert_int_equal(rec.load.tid, 8);
	assert_int_equal(rec.load.addr, ADDR);
	assert_int_equal(rec.load.size, 0x140);
	assert_int_equal(rec.load.index, 77);
	assert_int_equal(rec.load.name_len, 24);
	assert_memory_equal(rec.load.name, "JS:*hot /src/hot.js:3:49", 24);
	assert_false(rec.load.name_cut);
	rec = expect(&f, JITDUMP_MOVE);
	assert_int_equal(rec.move.from, ADDR);
	assert_int_equal(rec.move.to, ADDR + 0x1000);
	assert_int_equal(rec.move.size, 0x140);
	assert_int_equal(rec.move.index, 1);
	rec = expect(&f, JITDUMP_OTHER);
	assert_int_equal(rec.id, 77);
	assert_int_equal(rec.len, 49);
	rec = expect(&f, JITDUMP_CLOSE);
	assert_int_equal(rec.time, T + 5);
	assert_int_equal(rec.off + rec.len, f.b.out.len);
	assert_int_equal(jitdump__tail(&f.jd), 0);
	expect_end(&f);
	assert_int_equal(f.jd.status, JITDUMP_OK);
	assert_int_equal(f.jd.nr_records, 6);
	assert_int_equal(f.jd.header.pid, 4242);
	assert_int_equal(f.jd.header.timestamp, 1796056383164776);
	assert_int_equal(f.jd.header.swap, swap);
	assert_int_equal(jitdump__tail(&f.jd), 0);
	assert_int_equal(jitdump__off(&f.jd), f.b.out.len);
	finish_clean(&f);
}

static void reads_its_own_byte_order(void **state)
{
	reads_every_kind(false);
}

static void reads_the_other_byte_order(void **state)
{
	reads_every_kind(true);
}

/* Cut anywhere, and in pieces of any size: the same records, and a tail that says what is left. */
static void pieces_make_no_difference(void **state)
{
	struct jitdump_builder b;
	struct digest whole;

	jb__init(&b, false);
	put_every_kind(&b);
	jb__load(&b, T + 6, ADDR, 64, "a");
	jb__load(&b, T + 7, ADDR, 64, "another");
	whole = digest__read(b.out.data, b.out.len, b.out.len);
	assert_int_equal(whole.nr_records, 8);
	for (size_t piece = 1; piece < b.out.len; piece++) {
		struct digest d = digest__read(b.out.data, b.out.len, piece);

		assert_memory_equal(&d, &whole, sizeof(d));
	}
	for (size_t len = 0; len < b.out.len; len++) {
		struct digest one = digest__read(b.out.data, len, len ? len : 1);
		struct digest other = digest__read(b.out.data, len, 3);

		assert_memory_equal(&one, &other, sizeof(one));
		assert_int_equal(one.status, len < 40 ? JITDUMP_RETRY : JITDUMP_OK);
		assert_int_equal(one.nr_problems, 0);
		assert_in_range(one.tail, 0, len);
		assert_int_equal(one.tail == 0,
				 len == 0 || len == 40 ||
					 digest__read(b.out.data, len - 1, len).nr_records <
						 one.nr_records);
	}
	jb__done(&b);
}

static void stops_at_absurd_sizes(void **state)
{
	static const uint32_t sizes[] = { 0, 8, 15, (64u << 20) + 1, 0xffffffff };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fixture f;
		size_t at;

		start(&f, false);
		jb__header(&f.b);
		jb__load(&f.b, T, ADDR, 16, "before");
		at = jb__load(&f.b, T, ADDR + 64, 16, "lost");
		jb__set_size(&f.b, at, sizes[i]);
		jb__load(&f.b, T, ADDR + 128, 16, "behind");
		feed(&f);
		expect_name(&f, "before");
		expect_end(&f);
		assert_int_equal(f.jd.status, JITDUMP_STOPPED);
		assert_int_equal(f.problem_off, at);
		feed(&f);
		expect_end(&f);
		assert_int_equal(f.jd.nr_records, 1);
		finish(&f, JITDUMP_BAD_SIZE);
	}
}

/* The largest size that is allowed is waited for, and not kept. */
static void waits_for_the_largest_size(void **state)
{
	static const uint8_t zeros[1 << 20];
	struct fixture f;
	size_t at;

	start(&f, false);
	jb__header(&f.b);
	at = jb__load(&f.b, T, ADDR, 64u << 20, "large");
	f.b.out.len = at + 16 + 40 + 6;
	jb__set_size(&f.b, at, 64u << 20);
	feed(&f);
	expect_end(&f);
	for (size_t left = (64u << 20) - 62; left;) {
		size_t n = left < sizeof(zeros) ? left : sizeof(zeros);

		assert_int_equal(jitdump__tail(&f.jd), (64u << 20) - left);
		assert_in_range(f.jd.cut.cap, 0, 16384);
		jitdump__feed(&f.jd, zeros, n);
		left -= n;
		if (left)
			expect_end(&f);
	}
	expect_name(&f, "large");
	finish(&f, JITDUMP_BAD_CODE); /* 64 MiB of code don't fit in a record of 64 MiB */
}

static void judges_headers(void **state)
{
	static const struct {
		struct jb_header h;
		enum jitdump_status status;
		int problem; /* -1: none */
	} cases[] = {
		{ { 1, 40, EM_X86_64, 0 }, JITDUMP_OK, -1 },
		{ { 2, 40, EM_X86_64, 0 }, JITDUMP_OK, JITDUMP_BAD_VERSION },
		{ { 1, 0, EM_X86_64, 0 }, JITDUMP_OK, JITDUMP_BAD_HEADER_SIZE },
		{ { 1, 39, EM_X86_64, 0 }, JITDUMP_OK, JITDUMP_BAD_HEADER_SIZE },
		{ { 1, 4097, EM_X86_64, 0 }, JITDUMP_REJECTED, JITDUMP_BAD_HEADER_SIZE },
		{ { 1, 40, EM_AARCH64, 0 }, JITDUMP_OK, JITDUMP_BAD_MACHINE },
		{ { 1, 40, EM_X86_64, 1 }, JITDUMP_OK, JITDUMP_TSC },
		{ { 1, 40, EM_X86_64, 2 }, JITDUMP_OK, JITDUMP_BAD_FLAGS },
		{ { 1, 40, EM_X86_64, 0x103 }, JITDUMP_OK, JITDUMP_BAD_FLAGS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		start(&f, i & 1);
		jb__header_of(&f.b, cases[i].h);
		jb__load(&f.b, T, ADDR, 16, "f");
		feed(&f);
		if (cases[i].status == JITDUMP_OK) {
			struct jitdump_record rec = expect(&f, JITDUMP_LOAD);

			assert_int_equal(rec.time, cases[i].h.flags == 1 ? 0 : T);
		}
		expect_end(&f);
		assert_int_equal(f.jd.status, cases[i].status);
		finish_with(&f, (const enum jitdump_problem[]){ cases[i].problem },
			    cases[i].problem >= 0);
	}
}

static void respects_the_header_size(void **state)
{
	struct fixture f;

	start(&f, false);
	jb__header_of(&f.b, (struct jb_header){ 1, 4096, EM_X86_64, 0 });
	jb__zeros(&f.b, 4000);
	feed(&f);
	expect_end(&f);
	assert_int_equal(f.jd.status, JITDUMP_RETRY);
	assert_int_equal(jitdump__tail(&f.jd), 4040);
	buf__clear(&f.b.out);
	jb__zeros(&f.b, 56);
	jb__load(&f.b, T, ADDR, 16, "f");
	feed(&f);
	expect_name(&f, "f");
	expect_end(&f);
	finish_clean(&f);
}

static void rejects_what_is_no_jitdump(void **state)
{
	struct fixture f;

	start(&f, false);
	for (int i = 0; i < 39; i++)
		buf__putc(&f.b.out, 'x');
	feed(&f);
	expect_end(&f);
	assert_int_equal(f.jd.status, JITDUMP_RETRY);
	jitdump__feed(&f.jd, "x", 1);
	expect_end(&f);
	assert_int_equal(f.jd.status, JITDUMP_REJECTED);
	finish(&f, JITDUMP_BAD_MAGIC);
}

/* Appended by a process that was forked, or by another run: in either byte order. */
static void goes_on_at_a_new_header(void **state)
{
	for (int swap = 0; swap < 2; swap++) {
		struct fixture f;
		size_t at;

		start(&f, false);
		jb__header(&f.b);
		jb__load(&f.b, T, ADDR, 16, "one");
		at = f.b.out.len;
		f.b.swap = swap;
		jb__header_of(&f.b, (struct jb_header){ 1, 48, EM_X86_64, 1 });
		jb__zeros(&f.b, 8);
		jb__load(&f.b, T, ADDR + 64, 16, "two");
		feed(&f);
		expect_name(&f, "one");
		assert_int_equal(f.jd.header.tsc, false);
		expect_name(&f, "two");
		expect_end(&f);
		assert_int_equal(f.problem_off, at);
		assert_int_equal(f.jd.header.tsc, true);
		assert_int_equal(f.jd.nr_records, 2);
		for (size_t len = at + 1; len < at + 48; len++) {
			struct digest d = digest__read(f.b.out.data, len, 5);

			assert_int_equal(d.status, JITDUMP_OK);
			assert_int_equal(d.tail, len - at);
			assert_int_equal(d.nr_problems, 0);
		}
		finish(&f, JITDUMP_NEW_HEADER, JITDUMP_TSC);
	}
}

static void judges_times(void **state)
{
	static const struct {
		uint64_t written, read;
	} cases[] = {
		{ 1, 1 },	   { 2 * T + JITDUMP_TIME_FUTURE, 2 * T + JITDUMP_TIME_FUTURE },
		{ 0, 0 },	   { 2 * T + JITDUMP_TIME_FUTURE + 1, 0 },
		{ UINT64_MAX, 0 },
	};
	struct fixture f;

	start(&f, false);
	jb__header(&f.b);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		jb__load(&f.b, cases[i].written, ADDR, 16, "f");
	feed(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(expect(&f, JITDUMP_LOAD).time, cases[i].read);
	expect_end(&f);
	assert_int_equal(f.jd.problems[JITDUMP_BAD_TIME], 3);
	jitdump__done(&f.jd);
	jb__done(&f.b);
}

static void bounds_loads(void **state)
{
	static const struct {
		struct jb_load load;
		uint64_t size;
		int problem; /* -1: none */
		bool dropped;
	} cases[] = {
		{ { .addr = ADDR, .size = 64, .code = 64, .name = "f" }, 64, -1, false },
		{ { .addr = ADDR, .size = 64, .code = 64, .name = "" }, 64, -1, false },
		{ { .addr = ADDR, .size = 64, .code = 0, .name = "f" }, 64, -1, false },
		{ { .addr = ADDR, .size = 64, .code = 64, .pad = 7, .name = "f" }, 64, -1, false },
		{ { .addr = ADDR, .size = 0, .code = 0, .name = "f" }, 0, -1, false },
		{ { .addr = UINT64_MAX, .size = 0, .name = "f" }, 0, -1, false },
		{ { .addr = ADDR, .size = 65, .code = 64, .name = "f" },
		  64,
		  JITDUMP_BAD_CODE,
		  false },
		{ { .addr = ADDR, .size = 1 << 20, .code = 1, .name = "f" },
		  1,
		  JITDUMP_BAD_CODE,
		  false },
		{ { .addr = ADDR, .size = -256ull, .code = 64, .name = "f" },
		  0,
		  JITDUMP_BAD_ADDR,
		  true },
		{ { .addr = 0xffffffff81000000, .size = 64, .code = 64, .name = "f" },
		  0,
		  JITDUMP_BAD_ADDR,
		  true },
		{ { .addr = JITDUMP_ADDR_LIMIT - 64, .size = 64, .name = "f" }, 64, -1, false },
		{ { .addr = JITDUMP_ADDR_LIMIT - 64, .size = 65, .name = "f" },
		  0,
		  JITDUMP_BAD_ADDR,
		  true },
		{ { .addr = ADDR, .size = 64, .name = "no end", .no_nul = true },
		  0,
		  JITDUMP_BAD_NAME,
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jb_load load = cases[i].load;
		struct jitdump_record rec;
		struct fixture f;

		start(&f, false);
		load.time = T;
		jb__header(&f.b);
		jb__load_of(&f.b, load);
		jb__load(&f.b, T, ADDR + 4096, 16, "next");
		feed(&f);
		rec = expect(&f, cases[i].dropped ? JITDUMP_OTHER : JITDUMP_LOAD);
		assert_int_equal(rec.id, 0);
		if (!cases[i].dropped) {
			assert_int_equal(rec.load.size, cases[i].size);
			assert_int_equal(rec.load.addr, load.addr);
		}
		expect_name(&f, "next");
		expect_end(&f);
		finish_with(&f, (const enum jitdump_problem[]){ cases[i].problem },
			    cases[i].problem >= 0);
	}
}

static void drops_short_records(void **state)
{
	static const size_t fixed[] = { 56, 64, 32, 16, 40 };

	for (uint32_t id = 0; id < ARRAY_SIZE(fixed); id++) {
		for (size_t len = 16; len < fixed[id]; len++) {
			struct fixture f;
			size_t at;

			start(&f, false);
			jb__header(&f.b);
			at = jb__begin(&f.b, id, T);
			jb__zeros(&f.b, len - 16);
			jb__end(&f.b, at);
			jb__load(&f.b, T, ADDR, 16, "next");
			feed(&f);
			assert_int_equal(expect(&f, JITDUMP_OTHER).len, len);
			expect_name(&f, "next");
			finish(&f, JITDUMP_SHORT_RECORD);
		}
	}
}

/* A megabyte of name, whole and in pieces: cut, between two characters, and not kept. */
static void cuts_long_names(void **state)
{
	static char name[1 << 20];

	for (size_t off = 0; off < 4; off++) {
		size_t pieces[] = { 1 << 22, 4096, 1000, 1 };

		memset(name, 'n', sizeof(name));
		/* U+1F600 over the cut, or up to it. */
		memcpy(name + JITDUMP_NAME_MAX - 4 + off, "\xf0\x9f\x98\x80", 4);
		for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
			struct jitdump_record rec;
			struct fixture f;
			size_t found = 0;

			start(&f, false);
			jb__header(&f.b);
			jb__load_of(&f.b, (struct jb_load){ .time = T,
							    .addr = ADDR,
							    .size = 100,
							    .name = name,
							    .name_len = sizeof(name),
							    .code = 100 });
			for (size_t at = 0; at < f.b.out.len; at += pieces[p]) {
				size_t left = f.b.out.len - at;

				jitdump__feed(&f.jd, f.b.out.data + at,
					      left < pieces[p] ? left : pieces[p]);
				while (jitdump__next(&f.jd, &rec)) {
					found++;
					assert_int_equal(rec.load.size, 100);
					assert_true(rec.load.name_cut);
					assert_int_equal(rec.load.name_len,
							 off ? JITDUMP_NAME_MAX - 4 + off
							     : JITDUMP_NAME_MAX);
					assert_memory_equal(rec.load.name, name, rec.load.name_len);
				}
				assert_in_range(f.jd.cut.cap, 0, 16384);
			}
			assert_int_equal(found, 1);
			finish_clean(&f);
		}
	}
}

static void bounds_debug_entries(void **state)
{
	struct fixture f;
	size_t at;

	start(&f, false);
	jb__header(&f.b);
	at = jb__debug(&f.b, T, ADDR, 1ull << 60);
	jb__entry(&f.b, ADDR, 1, "a.c");
	jb__end(&f.b, at);
	at = jb__debug(&f.b, T, ADDR, 2); /* the second has no room for its NUL */
	jb__entry(&f.b, ADDR, 1, "a.c");
	jb__entry(&f.b, ADDR, 1, "b.c");
	f.b.out.len--;
	jb__end(&f.b, at);
	at = jb__debug(&f.b, T, ADDR, 2); /* nor that for its fixed part */
	jb__entry(&f.b, ADDR, 1, "abcdefghijklmnopqrstuvw");
	jb__end(&f.b, at);
	at = jb__debug(&f.b, T, ADDR, 0);
	jb__end(&f.b, at);
	at = jb__debug(&f.b, T, ADDR, 1); /* more than is stated */
	jb__entry(&f.b, ADDR, 1, "\xff");
	jb__entry(&f.b, ADDR, 1, "b.c");
	jb__end(&f.b, at);
	feed(&f);
	for (int i = 0; i < 3; i++)
		assert_int_equal(expect(&f, JITDUMP_OTHER).id, 2);
	for (int i = 0; i < 2; i++) {
		struct jitdump_record rec = expect(&f, JITDUMP_DEBUG_INFO);
		struct jitdump_line line;

		assert_int_equal(rec.debug.nr, i);
		if (i) {
			assert_true(jitdump_lines__next(&rec.debug.lines, &line));
			assert_int_equal(line.file_len, 0); /* the same as none */
		}
		assert_false(jitdump_lines__next(&rec.debug.lines, &line));
	}
	expect_end(&f);
	assert_int_equal(f.jd.problems[JITDUMP_BAD_DEBUG], 3);
	assert_int_equal(jitdump__nr_problems(&f.jd), 3);
	jitdump__done(&f.jd);
	jb__done(&f.b);
}

/* However it comes, a table that is too large is dropped, and leaves nothing allocated. */
static void drops_huge_debug_entries(void **state)
{
	struct jitdump_builder b;
	struct digest whole;
	size_t at;

	jb__init(&b, false);
	jb__header(&b);
	at = jb__debug(&b, T, ADDR, JITDUMP_DEBUG_MAX / 40);
	while (b.out.len - at < JITDUMP_DEBUG_MAX + 100)
		jb__entry(&b, ADDR, 1, "a.c");
	jb__end(&b, at);
	jb__load(&b, T, ADDR, 16, "next");
	whole = digest__read(b.out.data, b.out.len, b.out.len);
	assert_int_equal(whole.nr_records, 2);
	assert_int_equal(whole.nr_problems, 1);
	for (size_t piece = 1 << 12; piece < 16 << 20; piece *= 3) {
		struct digest d = digest__read(b.out.data, b.out.len, piece);

		assert_memory_equal(&d, &whole, sizeof(d));
	}
	jb__done(&b);
}

/* The largest that is taken, in two pieces: what it needed is given back. */
static void gives_memory_back(void **state)
{
	struct fixture f;
	size_t at;

	start(&f, false);
	jb__header(&f.b);
	at = jb__debug(&f.b, T, ADDR, 1);
	jb__entry(&f.b, ADDR, 1, "a.c");
	jb__zeros(&f.b, JITDUMP_DEBUG_MAX - (f.b.out.len - at));
	jb__end(&f.b, at);
	jitdump__feed(&f.jd, f.b.out.data, f.b.out.len - 1);
	expect_end(&f);
	assert_in_range(f.jd.cut.cap, JITDUMP_DEBUG_MAX - 1, JITDUMP_DEBUG_MAX + 1);
	jitdump__feed(&f.jd, "", 1);
	expect(&f, JITDUMP_DEBUG_INFO);
	expect_end(&f);
	assert_in_range(f.jd.cut.cap, 0, 65536);
	finish_clean(&f);
}

static void any_machine_is_right_without_one(void **state)
{
	struct fixture f;

	start(&f, false);
	f.jd.config.machine = 0;
	jb__header(&f.b);
	feed(&f);
	expect_end(&f);
	finish_clean(&f);
}

static void bounds_unwinding(void **state)
{
	struct fixture f;

	start(&f, false);
	jb__header(&f.b);
	jb__unwinding(&f.b, T, 25, 12, 24);
	jb__unwinding(&f.b, T, 20, 21, 24);
	jb__unwinding(&f.b, T, UINT64_MAX, UINT64_MAX, 24);
	jb__unwinding(&f.b, T, 24, 24, 24);
	feed(&f);
	for (int i = 0; i < 3; i++)
		expect(&f, JITDUMP_OTHER);
	expect(&f, JITDUMP_UNWINDING);
	expect_end(&f);
	assert_int_equal(f.jd.problems[JITDUMP_BAD_UNWINDING], 3);
	jitdump__done(&f.jd);
	jb__done(&f.b);
}

static void refuses_moves_out_of_user_space(void **state)
{
	struct fixture f;

	start(&f, false);
	jb__header(&f.b);
	jb__move(&f.b, T, ADDR, JITDUMP_ADDR_LIMIT, 16);
	jb__move(&f.b, T, ADDR, JITDUMP_ADDR_LIMIT - 1, 1ull << 63);
	feed(&f);
	expect(&f, JITDUMP_OTHER);
	assert_int_equal(expect(&f, JITDUMP_MOVE).move.size, 1ull << 63);
	finish(&f, JITDUMP_BAD_ADDR);
}

/* A file made larger in advance: zeros are waited at, and read again once they may be more. */
static void waits_at_zeros(void **state)
{
	static const size_t pieces[] = { 1 << 20, 100, 7, 1 };
	struct jitdump_builder b;
	size_t records;

	jb__init(&b, false);
	jb__header(&b);
	jb__load(&b, T, ADDR, 16, "one");
	records = b.out.len;
	for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
		static uint8_t file[4096];
		struct jitdump_record rec;
		struct fixture f;
		size_t found = 0;

		start(&f, false);
		/* Nothing yet; then the header; then a record. */
		for (size_t written = 0;; written = written ? records : 40) {
			memset(file, 0, sizeof(file));
			memcpy(file, b.out.data, written);
			jitdump__rewind(&f.jd);
			for (size_t at; (at = jitdump__off(&f.jd)) < sizeof(file);) {
				size_t left = sizeof(file) - at;

				jitdump__feed(&f.jd, file + at,
					      left < pieces[p] ? left : pieces[p]);
				while (jitdump__next(&f.jd, &rec))
					found++;
			}
			assert_true(jitdump__in_zeros(&f.jd));
			assert_int_equal(jitdump__tail(&f.jd), sizeof(file) - written);
			assert_int_equal(f.jd.status, written ? JITDUMP_OK : JITDUMP_RETRY);
			if (written == records)
				break;
			assert_int_equal(found, 0);
		}
		assert_int_equal(found, 1);
		assert_int_equal(jitdump__nr_problems(&f.jd), 0);
		/* Something behind the zeros: no file that is being written. */
		jitdump__feed(&f.jd, "\0\0x", 3);
		expect_end(&f);
		assert_int_equal(f.jd.status, JITDUMP_STOPPED);
		finish(&f, JITDUMP_BAD_SIZE);
	}
	jb__done(&b);
}

/* Fifteen zeros may still begin a record. */
static void waits_at_few_zeros(void **state)
{
	struct fixture f;

	start(&f, false);
	jb__header(&f.b);
	jb__zeros(&f.b, 15);
	feed(&f);
	expect_end(&f);
	assert_false(jitdump__in_zeros(&f.jd));
	assert_int_equal(jitdump__tail(&f.jd), 15);
	assert_int_equal(f.jd.status, JITDUMP_OK);
	jitdump__feed(&f.jd, "\x01", 1);
	expect_end(&f);
	finish(&f, JITDUMP_BAD_SIZE);
}

static void restarts(void **state)
{
	struct fixture f;

	start(&f, false);
	jb__header(&f.b);
	jb__load(&f.b, T, ADDR, 16, "one");
	f.b.out.len -= 3;
	feed(&f);
	expect_end(&f);
	jitdump__restart(&f.jd);
	assert_int_equal(jitdump__off(&f.jd), 0);
	f.b.out.len += 3;
	feed(&f);
	expect_name(&f, "one");
	/* Also amid a piece, and after a stop. */
	jitdump__restart(&f.jd);
	expect_end(&f);
	jitdump__feed(&f.jd, "not a header, but as long as one would be", 41);
	expect_end(&f);
	assert_int_equal(f.jd.status, JITDUMP_REJECTED);
	jitdump__restart(&f.jd);
	feed(&f);
	expect_name(&f, "one");
	finish(&f, JITDUMP_BAD_MAGIC);
}

static void every_problem_has_a_text(void **state)
{
	for (int i = 0; i < JITDUMP_NR_PROBLEMS; i++)
		assert_true(strlen(jitdump_problem__text(i)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_its_own_byte_order),
		cmocka_unit_test(reads_the_other_byte_order),
		cmocka_unit_test(pieces_make_no_difference),
		cmocka_unit_test(stops_at_absurd_sizes),
		cmocka_unit_test(waits_for_the_largest_size),
		cmocka_unit_test(judges_headers),
		cmocka_unit_test(respects_the_header_size),
		cmocka_unit_test(rejects_what_is_no_jitdump),
		cmocka_unit_test(goes_on_at_a_new_header),
		cmocka_unit_test(judges_times),
		cmocka_unit_test(bounds_loads),
		cmocka_unit_test(drops_short_records),
		cmocka_unit_test(cuts_long_names),
		cmocka_unit_test(bounds_debug_entries),
		cmocka_unit_test(drops_huge_debug_entries),
		cmocka_unit_test(gives_memory_back),
		cmocka_unit_test(any_machine_is_right_without_one),
		cmocka_unit_test(bounds_unwinding),
		cmocka_unit_test(refuses_moves_out_of_user_space),
		cmocka_unit_test(waits_at_zeros),
		cmocka_unit_test(waits_at_few_zeros),
		cmocka_unit_test(restarts),
		cmocka_unit_test(every_problem_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
