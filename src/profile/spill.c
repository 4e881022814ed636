// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void spill__init(struct spill *s)
{
	*s = (struct spill){ .fd = -1 };
}

void spill__done(struct spill *s)
{
	if (s->fd >= 0)
		close(s->fd);
	spill__init(s);
}

static int open_unnamed(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd, n;

	dir = dir && *dir ? dir : "/var/tmp";
	fd = open(dir, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	/* EISDIR: a kernel without O_TMPFILE; EOPNOTSUPP: a file system without. */
	if (fd >= 0 || (errno != EISDIR && errno != EOPNOTSUPP))
		return fd < 0 ? -errno : fd;
	n = snprintf(path, sizeof(path), "%s/ebolt-XXXXXX", dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int spill__append(struct spill *s, const void *data, size_t len)
{
	size_t done = 0;

	if (s->fd < 0) {
		int fd = open_unnamed();

		if (fd < 0)
			return fd;
		s->fd = fd;
	}
	while (done < len) {
		ssize_t n = pwrite(s->fd, (const char *)data + done, len - done, s->size + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += n;
	}
	s->size += len;
	return 0;
}

FILE *spill__open(const struct spill *s)
{
	int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
	FILE *f = fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}
