/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounds-checked reader over bytes that someone else wrote. A read past the end gives zeros
 * and sets `bad`, which stays set: read a whole record, then look at it once.
 */
#ifndef EBOLT_BASE_CURSOR_H
#define EBOLT_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *pos, *end;
	bool swap; /* the bytes are of the other byte order */
	bool bad;
};

static inline struct cursor cursor__over(const void *bytes, size_t len)
{
	return (struct cursor){ .pos = bytes, .end = (const uint8_t *)bytes + len };
}

static inline size_t cursor__left(const struct cursor *c)
{
	return c->end - c->pos;
}

/* n bytes in place, or NULL (and bad) where fewer are left. */
static inline const void *cursor__bytes(struct cursor *c, size_t n)
{
	const uint8_t *p = c->pos;

	if (c->bad || n > cursor__left(c)) {
		c->bad = true;
		return NULL;
	}
	c->pos += n;
	return p;
}

static inline void cursor__skip(struct cursor *c, size_t n)
{
	cursor__bytes(c, n);
}

static inline uint8_t cursor__u8(struct cursor *c)
{
	const uint8_t *p = cursor__bytes(c, 1);

	return p ? *p : 0;
}

static inline uint16_t cursor__u16(struct cursor *c)
{
	const void *p = cursor__bytes(c, 2);
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, 2);
	return c->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t cursor__u32(struct cursor *c)
{
	const void *p = cursor__bytes(c, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, 4);
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t cursor__u64(struct cursor *c)
{
	const void *p = cursor__bytes(c, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, 8);
	return c->swap ? __builtin_bswap64(v) : v;
}

/* A NUL-terminated string in place; *ret_len without the NUL. NULL (and bad) without a NUL. */
static inline const char *cursor__str(struct cursor *c, size_t *ret_len)
{
	const uint8_t *nul = c->bad ? NULL : memchr(c->pos, 0, cursor__left(c));
	const char *s = (const char *)c->pos;

	if (!nul) {
		c->bad = true;
		return NULL;
	}
	*ret_len = nul - c->pos;
	c->pos = nul + 1;
	return s;
}

#endif
