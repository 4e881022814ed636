/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of someone else's choosing, which may be UTF-8 (RFC 3629) or anything else. */
#ifndef EBOLT_BASE_UTF8_H
#define EBOLT_BASE_UTF8_H

#include <stddef.h>

struct buf;

/* The length in bytes of the character at s (left > 0 bytes), or 0 where there is none. */
size_t utf8__len(const void *s, size_t left);

/* The largest length of at most max bytes to which s can be cut without splitting a character. */
size_t utf8__cut(const void *s, size_t len, size_t max);

/* Appends s; what would be no text, control bytes and what isn't UTF-8, as \xHH. */
void utf8__escape(struct buf *out, const void *s, size_t len);

#endif
