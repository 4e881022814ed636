// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void buf__init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void buf__done(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

void buf__clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = '\0';
}

/* Room for `more` bytes and the NUL. */
static int reserve(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 256;
	char *grown;

	if (b->error)
		return b->error;
	if (more > b->max || b->len > b->max - more)
		return b->error = -E2BIG;
	if (b->len + more + 1 <= b->cap)
		return 0;
	while (cap < b->len + more + 1)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	grown = realloc(b->data, cap);
	if (!grown)
		return b->error = -ENOMEM;
	b->data = grown;
	b->cap = cap;
	return 0;
}

void buf__append(struct buf *b, const void *bytes, size_t len)
{
	if (reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf__puts(struct buf *b, const char *s)
{
	buf__append(b, s, strlen(s));
}

void buf__putc(struct buf *b, char c)
{
	buf__append(b, &c, 1);
}

void buf__printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || reserve(b, n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, n + 1, fmt, ap);
	va_end(ap);
	b->len += n;
}

int buf__read_fd(struct buf *b, int fd)
{
	for (;;) {
		size_t room = b->max - b->len < 64 * 1024 ? b->max - b->len : 64 * 1024;
		char probe;
		ssize_t n;

		if (!room) {
			/* At the maximum: only the end of the file is still acceptable. */
			n = read(fd, &probe, 1);
			if (n > 0)
				return b->error = -E2BIG;
			return n < 0 ? (b->error = -errno) : 0;
		}
		if (reserve(b, room < 4096 ? room : 4096))
			return b->error;
		room = b->cap - b->len - 1;
		n = read(fd, b->data + b->len, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return b->error = -errno;
		b->len += n;
		b->data[b->len] = '\0';
		if (n == 0)
			return 0;
	}
}

int buf__read_path(struct buf *b, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return b->error = -errno;
	return buf__read_fd(b, fd);
}
