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
#define NAMES_MAX     (1u << 30)
#define TEXT_MAX      (64u << 10)

struct question {
	uint64_t time; /* ns */
	uint64_t addr;
	size_t nr;	  /* of the line */
	const char *name; /* the answer; NULL: nothing covers the address */
	uint64_t start;
};

struct questions {
	VEC(struct question);
};

/* "TIME_NS HEX_ADDR", and whatever follows, such as the name that another tool gave. */
static bool parse_line(const char *line, struct question *ret)
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

/* 0, or an exit status. Empty lines and those that begin with # ask nothing. */
static int read_questions(struct questions *qs)
{
	_cleanup_free_ char *line = NULL;
	size_t cap = 0, nr = 0;
	int err;

	while (getline(&line, &cap, stdin) >= 0) {
		struct question q = { .nr = nr };
		const char *at = line + strspn(line, " \t");

		nr++;
		if (strchr("#\r\n", *at))
			continue;
		if (!parse_line(at, &q)) {
			pr_err("standard input, line %zu: not TIME_NS HEX_ADDR", nr);
			return EXIT_USAGE;
		}
		err = vec_push(qs, q);
		if (err) {
			pr_err("standard input: %s", strerror(-err));
			return EXIT_FAILED;
		}
	}
	if (ferror(stdin)) {
		pr_err("standard input: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return 0;
}

static int by_time(const void *one, const void *other)
{
	const struct question *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->nr > b->nr) - (a->nr < b->nr);
}

static int by_line(const void *one, const void *other)
{
	const struct question *a = one, *b = other;

	return (a->nr > b->nr) - (a->nr < b->nr);
}

/* 0 or a negative errno. The names are borrowed from the table. */
static int ask(struct jit_code *code, struct questions *qs, struct strtab *names)
{
	struct jit_hit hit;
	int err;

	qsort(qs->data, qs->len, sizeof(*qs->data), by_time);
	vec_for_each(qs, q) {
		if (!jit_code__lookup(code, q->time, q->addr, &hit))
			continue;
		err = strtab__intern(names, hit.name, strlen(hit.name), &q->name);
		if (err)
			return err;
		q->start = hit.start;
	}
	qsort(qs->data, qs->len, sizeof(*qs->data), by_line);
	return 0;
}

static void answer(const struct question *q, struct buf *text)
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

int jitdump_lookup__run(struct jit_code *code)
{
	struct strtab *names = strtab__new(NAMES_MAX);
	struct questions qs;
	struct buf text;
	int status, err;

	vec_init(&qs, QUESTIONS_MAX);
	buf__init(&text, TEXT_MAX);
	status = read_questions(&qs);
	err = names ? ask(code, &qs, names) : -ENOMEM;
	if (err) {
		pr_err("--lookup: %s", strerror(-err));
		status = EXIT_FAILED;
	} else {
		vec_for_each(&qs, q)
			answer(q, &text);
	}
	buf__done(&text);
	vec_done(&qs);
	strtab__free(names);
	return status;
}
