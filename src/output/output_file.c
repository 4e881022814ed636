// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAME_TRIES 100

struct output_file {
	FILE *stream;
	char *path; /* NULL: written directly, nothing to rename */
	char *temp; /* name of the temporary file; NULL: it has none */
};

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, slash - path);
}

/* A name beside the path that no other run uses. */
static char *temp_name(const char *path, unsigned int n)
{
	_cleanup_free_ char *dir = directory_of(path);
	char *name;

	if (!dir || asprintf(&name, "%s/.ebolt-%d-%u.tmp", dir, getpid(), n) < 0)
		return NULL;
	return name;
}

static int open_named(struct output_file *of)
{
	int fd = -1;

	for (unsigned int n = 0; n < NAME_TRIES; n++) {
		of->temp = temp_name(of->path, n);
		if (!of->temp)
			return -ENOMEM;
		fd = open(of->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		free(of->temp);
		of->temp = NULL;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int open_temp(struct output_file *of)
{
	_cleanup_free_ char *dir = directory_of(of->path);
	int fd;

	if (!dir)
		return -ENOMEM;
	fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	if (fd >= 0)
		return fd;
	/* Kernel or file system without O_TMPFILE. */
	if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)
		return open_named(of);
	return -errno;
}

/* Decides how the path is written; sets of->path where it is renamed to. A descriptor or -errno. */
static int open_path(struct output_file *of, const char *path)
{
	struct stat st;

	if (!strcmp(path, "-")) {
		int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

		return fd < 0 ? -errno : fd;
	}
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!S_ISREG(st.st_mode)) {
			int fd = open(path, O_WRONLY | O_CLOEXEC);

			return fd < 0 ? -errno : fd;
		}
		/* A symbolic link stays one: what it points to is replaced. */
		of->path = realpath(path, NULL);
	} else {
		of->path = strdup(path);
	}
	if (!of->path)
		return -errno;
	return open_temp(of);
}

int output_file__open(const char *path, struct output_file **ret)
{
	struct output_file *of = calloc(1, sizeof(*of));
	int fd;

	if (!of)
		return -ENOMEM;
	fd = open_path(of, path);
	if (fd >= 0) {
		of->stream = fdopen(fd, "w");
		if (!of->stream) {
			close(fd);
			fd = -ENOMEM;
		}
	}
	if (fd < 0) {
		output_file__close(of);
		return fd;
	}
	*ret = of;
	return 0;
}

FILE *output_file__stream(struct output_file *of)
{
	return of->stream;
}

/* Gives a file without a name a temporary one; linkat() doesn't replace, rename() does. */
static int name_it(struct output_file *of)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(of->stream));
	for (unsigned int n = 0; n < NAME_TRIES; n++) {
		char *temp = temp_name(of->path, n);

		if (!temp)
			return -ENOMEM;
		if (!linkat(AT_FDCWD, self, AT_FDCWD, temp, AT_SYMLINK_FOLLOW)) {
			of->temp = temp;
			return 0;
		}
		free(temp);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int flush(struct output_file *of)
{
	/* A failed write may have been reported to nobody but the stream. */
	if (fflush(of->stream))
		return -errno;
	return ferror(of->stream) ? -EIO : 0;
}

int output_file__commit(struct output_file *of)
{
	int err = flush(of);

	if (err || !of->path)
		return err;
	if (!of->temp)
		err = name_it(of);
	if (err)
		return err;
	if (rename(of->temp, of->path))
		return -errno;
	free(of->temp);
	of->temp = NULL;
	return 0;
}

void output_file__close(struct output_file *of)
{
	if (!of)
		return;
	if (of->temp)
		unlink(of->temp);
	if (of->stream)
		fclose(of->stream);
	free(of->temp);
	free(of->path);
	free(of);
}
