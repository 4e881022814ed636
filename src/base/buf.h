/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte buffer that demands a maximum, with a sticky error: append as much as needed
 * and look at buf__error() once at the end. The content is kept NUL-terminated (the NUL isn't
 * counted in len), so that data can be used as a string.
 */
#ifndef EBOLT_BASE_BUF_H
#define EBOLT_BASE_BUF_H

#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap, max;
	int error;
};

void buf__init(struct buf *b, size_t max);
void buf__done(struct buf *b);
void buf__clear(struct buf *b); /* empties it and forgets the error; keeps the memory */
void buf__append(struct buf *b, const void *bytes, size_t len);
void buf__puts(struct buf *b, const char *s);
void buf__putc(struct buf *b, char c);
void buf__printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads a descriptor from its current position to its end; suits /proc files, whose size isn't
 * known. 0 or a negative errno (-E2BIG where the file is larger than the buffer's maximum).
 */
int buf__read_fd(struct buf *b, int fd);
int buf__read_path(struct buf *b, const char *path);

/* 0, or the first error: -E2BIG, -ENOMEM or that of a read. */
static inline int buf__error(const struct buf *b)
{
	return b->error;
}

#endif
