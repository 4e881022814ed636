// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions come in any order, but the code that is there is known of one time only, which goes
 * forward (proc/jit_code.h). So all are read, asked in order of time, and answered in the order in
 * which they came.
 */
#include "cmd/jitdump_lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "proc/jit_code.h"

#define QUESTIONS_MAX (64u << 20)
#define ADDRS_MAX     (64u << 20)
#define NAMES_MAX     (1u << 30)
#define TEXT_MAX      (64u << 10)

/* "TIME_NS HEX_ADDR", and whatever follows, such as the name that another tool gave. */
static bool parse_line(const char *line, struct jitdump_question *ret)
{
	char *end;

	errno = 0;
	ret->time = strtoull(line, &end, 10);
	if (errno || end == line || line[0] == '-' || (*end != ' ' && *end != '\t'))
		return false;
	line = end + strspn(end, " \t");
	ret->addr = strtoull(line, &end, 16);
	return !errno && end != line && line[0] != '-' && strchr(" \t\r\n", *end);
}

int jitdump_lookup__read(struct jitdump_lookup *l)
{
	_cleanup_free_ char *line = NULL;
	size_t cap = 0, nr = 0;
	int err;

	while (getline(&line, &cap, stdin) >= 0) {
		struct jitdump_question q = { .nr = nr };
		const char *at = line + strspn(line, " \t");

		nr++;
		/* Nothing is asked by an empty line, or a comment. */
		if (strchr("#\r\n", *at))
			continue;
		if (!parse_line(at, &q)) {
			pr_err("standard input, line %zu: not TIME_NS HEX_ADDR", nr);
			return EXIT_USAGE;
		}
		err = vec_push(&l->questions, q);
		if (err) {
			pr_err("standard input: %s", strerror(-err));
			return EXIT_FAILED;
		}
		jitdump_lookup__add(l, q.addr);
	}
	if (ferror(stdin)) {
		pr_err("standard input: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* ---- what matters -----------------------------------------------------------------------------*/

void jitdump_lookup__add(struct jitdump_lookup *l, uint64_t addr)
{
	if (!l->all && vec_push(&l->addrs, addr))
		l->all = true;
}

static int by_addr(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

void jitdump_lookup__prepare(struct jitdump_lookup *l)
{
	if (l->addrs.len)
		qsort(l->addrs.data, l->addrs.len, sizeof(*l->addrs.data), by_addr);
}

bool jitdump_lookup__wants(const struct jitdump_lookup *l, uint64_t addr, uint64_t size)
{
	size_t lo = 0, hi = l->addrs.len;

	/* The first address that isn't below. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->addrs.data[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return l->all || (lo < l->addrs.len && l->addrs.data[lo] - addr < size);
}

/* ---- answers ----------------------------------------------------------------------------------*/

static int by_time(const void *one, const void *other)
{
	const struct jitdump_question *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->nr > b->nr) - (a->nr < b->nr);
}

static int by_line(const void *one, const void *other)
{
	const struct jitdump_question *a = one, *b = other;

	return (a->nr > b->nr) - (a->nr < b->nr);
}

/* 0 or a negative errno. The names are borrowed from the table. */
static int ask(struct jitdump_lookup *l, struct jit_code *code, struct strtab *names)
{
	struct jit_hit hit;
	int err;

	if (!l->questions.len)
		return 0;
	qsort(l->questions.data, l->questions.len, sizeof(*l->questions.data), by_time);
	vec_for_each(&l->questions, q) {
		if (!jit_code__lookup(code, q->time, q->addr, &hit))
			continue;
		err = strtab__intern(names, hit.name, strlen(hit.name), &q->name);
		if (err)
			return err;
		q->start = hit.start;
	}
	qsort(l->questions.data, l->questions.len, sizeof(*l->questions.data), by_line);
	return 0;
}

static void answer(const struct jitdump_question *q, struct buf *text)
{
	if (!q->name) {
		puts("?");
		return;
	}
	buf__clear(text);
	if (q->name[0])
		utf8__escape(text, q->name, strlen(q->name));
	else
		buf__printf(text, "[jit 0x%" PRIx64 "]", q->start);
	printf("%s+0x%" PRIx64 "\n", text->data ? text->data : "", q->addr - q->start);
}

int jitdump_lookup__answer(struct jitdump_lookup *l, struct jit_code *code)
{
	struct strtab *names = strtab__new(NAMES_MAX);
	struct buf text;
	int err = names ? ask(l, code, names) : -ENOMEM;

	buf__init(&text, TEXT_MAX);
	if (!err)
		vec_for_each(&l->questions, q)
			answer(q, &text);
	buf__done(&text);
	strtab__free(names);
	return err;
}

void jitdump_lookup__init(struct jitdump_lookup *l)
{
	*l = (struct jitdump_lookup){ 0 };
	vec_init(&l->questions, QUESTIONS_MAX);
	vec_init(&l->addrs, ADDRS_MAX);
}

void jitdump_lookup__done(struct jitdump_lookup *l)
{
	vec_done(&l->questions);
	vec_done(&l->addrs);
}
