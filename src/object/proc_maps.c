// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line, as fs/proc/task_mmu.c (show_vma_header_prefix) writes it:
 *
 *	7f1c2a400000-7f1c2a422000 r-xp 00026000 08:01 1234      /usr/lib/libc.so.6
 *
 * All numbers are hex but the inode. The path begins behind the inode and the blanks that fill
 * up to column 73, and goes to the end of the line, whatever it holds.
 */
#include "object/proc_maps.h"

#include <string.h>

/* What is left of a line. */
struct line {
	const char *pos, *end;
	bool bad;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* A number of at least one digit, at most `max`. */
static uint64_t number(struct line *l, unsigned int base, uint64_t max)
{
	const char *first = l->pos;
	uint64_t n = 0;

	for (; l->pos < l->end; l->pos++) {
		unsigned int d = digit(*l->pos);

		if (d >= base)
			break;
		if (n > (max - d) / base) {
			l->bad = true;
			return 0;
		}
		n = n * base + d;
	}
	if (l->pos == first)
		l->bad = true;
	return n;
}

static void expect(struct line *l, char c)
{
	if (l->pos < l->end && *l->pos == c)
		l->pos++;
	else
		l->bad = true;
}

/* One letter of the permissions: c or '-' (for the last one, 's' or 'p'). */
static bool flag(struct line *l, char yes, char no)
{
	if (l->pos < l->end && (*l->pos == yes || *l->pos == no))
		return *l->pos++ == yes;
	l->bad = true;
	return false;
}

static bool parse(struct line l, struct proc_maps_entry *ret)
{
	ret->start = number(&l, 16, UINT64_MAX);
	expect(&l, '-');
	ret->end = number(&l, 16, UINT64_MAX);
	expect(&l, ' ');
	ret->r = flag(&l, 'r', '-');
	ret->w = flag(&l, 'w', '-');
	ret->x = flag(&l, 'x', '-');
	ret->shared = flag(&l, 's', 'p');
	expect(&l, ' ');
	ret->pgoff = number(&l, 16, UINT64_MAX);
	expect(&l, ' ');
	ret->maj = number(&l, 16, UINT32_MAX);
	expect(&l, ':');
	ret->min = number(&l, 16, UINT32_MAX);
	expect(&l, ' ');
	ret->ino = number(&l, 10, UINT64_MAX);
	if (l.pos < l.end)
		expect(&l, ' ');
	while (l.pos < l.end && *l.pos == ' ')
		l.pos++;
	ret->path = l.pos;
	ret->path_len = l.end - l.pos;
	return !l.bad && ret->start < ret->end;
}

void proc_maps__init(struct proc_maps *pm, const char *text, size_t len)
{
	*pm = (struct proc_maps){ .pos = text, .end = text + len };
}

bool proc_maps__next(struct proc_maps *pm, struct proc_maps_entry *ret)
{
	while (pm->pos < pm->end) {
		const char *nl = memchr(pm->pos, '\n', pm->end - pm->pos);
		struct line line = { .pos = pm->pos, .end = nl ? nl : pm->end };
		struct proc_maps_entry entry;

		pm->pos = nl ? nl + 1 : pm->end;
		if (parse(line, &entry)) {
			*ret = entry;
			return true;
		}
		pm->bad_lines++;
	}
	return false;
}
