// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format has no framing but the line end, and those who write it don't care: V8 writes regular
 * expressions as they are, line ends included; threads write into each other's lines; a line may be
 * half there because the rest is still in the runtime's buffer. So a line is taken if it is one as
 * a whole, two hexadecimal numbers and a name, and the only line that is ever waited for is the
 * last one. A number that reaches 2^64 isn't taken modulo that.
 */
#include "object/perf_map.h"

#include <string.h>

#include "base/utf8.h"

/* What a gathered line may leave allocated. */
#define CUT_KEPT 1024u

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* A number and at least one blank behind it; where the text goes on, or NULL. */
static const char *number(const char *s, const char *end, uint64_t *ret)
{
	const char *first;
	uint64_t n = 0;

	if (end - s >= 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (first = s; s < end && digit(*s) < 16; s++) {
		if (n >> 60)
			return NULL;
		n = n << 4 | digit(*s);
	}
	if (s == first || s == end || !is_blank(*s))
		return NULL;
	*ret = n;
	return s;
}

static bool parse(const char *line, size_t len, struct perf_map_entry *ret)
{
	const char *end = line + len, *s;

	s = number(line, end, &ret->addr);
	while (s && s < end && is_blank(*s))
		s++;
	s = s ? number(s, end, &ret->size) : NULL;
	/* One blank: what follows is the name's own. */
	if (!s || s + 1 == end)
		return false;
	ret->name = s + 1;
	len = end - ret->name;
	if (memchr(ret->name, 0, len))
		return false;
	ret->name_len = utf8__cut(ret->name, len, PERF_MAP_NAME_MAX);
	ret->name_cut = ret->name_len < len;
	return ret->addr < PERF_MAP_ADDR_LIMIT && ret->size <= PERF_MAP_ADDR_LIMIT - ret->addr;
}

static void consume(struct perf_map *pm, size_t n)
{
	pm->pos += n;
	pm->fed += n;
}

/* What was read begins a new line. */
static void begin(struct perf_map *pm)
{
	pm->start = pm->fed;
	buf__clear(&pm->cut);
	if (pm->cut.cap > CUT_KEPT)
		buf__done(&pm->cut);
}

/* Keeps what fits of a line that goes on in another piece: its end can only be the name's. */
static void gather(struct perf_map *pm, const char *bytes, size_t len)
{
	size_t room = PERF_MAP_LINE_MAX - pm->cut.len;

	buf__append(&pm->cut, bytes, len < room ? len : room);
}

/* A line of len bytes, of which the first `kept` are at hand. */
static bool take(struct perf_map *pm, const char *line, size_t kept, struct perf_map_entry *ret)
{
	if (kept > PERF_MAP_LINE_MAX)
		kept = PERF_MAP_LINE_MAX;
	if (buf__error(&pm->cut) || !parse(line, kept, ret)) {
		pm->bad_lines++;
		return false;
	}
	if (!ret->size) {
		pm->empty++;
		return false;
	}
	pm->nr_entries++;
	return true;
}

bool perf_map__next(struct perf_map *pm, struct perf_map_entry *ret)
{
	bool found = false;

	/* The entry handed out last may lie in pm->cut, so that is emptied only now. */
	if (pm->taken)
		begin(pm);
	pm->taken = false;
	while (pm->pos < pm->end && !found) {
		const char *line = pm->pos;
		const char *nl = memchr(line, '\n', pm->end - line);
		size_t len = (nl ? nl : pm->end) - line;

		consume(pm, nl ? len + 1 : len);
		if (!nl || pm->cut.len || buf__error(&pm->cut)) {
			gather(pm, line, len);
			line = pm->cut.data;
			len = pm->cut.len;
		}
		if (!nl)
			break;
		found = take(pm, line, len, ret);
		if (!found)
			begin(pm);
	}
	pm->taken = found;
	return found;
}

bool perf_map__last(struct perf_map *pm, struct perf_map_entry *ret)
{
	bool found = false;

	if (perf_map__tail(pm))
		found = take(pm, pm->cut.data, pm->cut.len, ret);
	if (!found)
		begin(pm);
	pm->taken = found;
	return found;
}

void perf_map__feed(struct perf_map *pm, const void *bytes, size_t len)
{
	pm->pos = bytes;
	pm->end = pm->pos + len;
}

void perf_map__init(struct perf_map *pm)
{
	*pm = (struct perf_map){ 0 };
	buf__init(&pm->cut, PERF_MAP_LINE_MAX);
}

void perf_map__done(struct perf_map *pm)
{
	buf__done(&pm->cut);
}

uint64_t perf_map__off(const struct perf_map *pm)
{
	return pm->fed;
}

uint64_t perf_map__tail(const struct perf_map *pm)
{
	return pm->taken ? 0 : pm->fed - pm->start;
}

void perf_map__restart(struct perf_map *pm)
{
	pm->fed = 0;
	pm->pos = pm->end = NULL;
	pm->taken = false;
	begin(pm);
}
