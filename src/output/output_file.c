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
/* The kernel's own limit (fs/namei.c: MAXSYMLINKS). */
#define LINKS_MAX 40

struct output_file {
	FILE *stream;
	char *path; /* without links; NULL: written directly, nothing to rename */
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

/* The descriptor that a path is a name of, to be written to from where it stands; else -1. */
static int descriptor_of(const char *path)
{
	int fd, len;

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	if (sscanf(path, "/dev/fd/%d%n", &fd, &len) == 1 && !path[len])
		return fd;
	return -1;
}

static int open_descriptor(int fd)
{
	int flags = fcntl(fd, F_GETFL), copy;

	if (flags < 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

static int read_link(const char *path, char **ret)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	_cleanup_free_ char *dir = directory_of(path);

	if (n < 0)
		return -errno;
	if (!dir)
		return -ENOMEM;
	target[n] = '\0';
	if (asprintf(ret, "%s%s%s", target[0] == '/' ? "" : dir, target[0] == '/' ? "" : "/",
		     target) < 0)
		return -ENOMEM;
	return 0;
}

/*
 * The place of a file that isn't there yet. A link to nowhere is followed, as creating a file
 * would; the directory must be there.
 */
static int resolve_new(const char *path, char **ret)
{
	_cleanup_free_ char *at = strdup(path);
	_cleanup_free_ char *given = NULL, *dir = NULL;
	const char *base;
	struct stat st;

	for (int i = 0; at && !lstat(at, &st) && S_ISLNK(st.st_mode); i++) {
		char *next;
		int err = i == LINKS_MAX ? -ELOOP : read_link(at, &next);

		if (err)
			return err;
		free(at);
		at = next;
	}
	given = at ? directory_of(at) : NULL;
	if (!given)
		return -ENOMEM;
	dir = realpath(given, NULL);
	if (!dir)
		return -errno;
	base = strrchr(at, '/') ? strrchr(at, '/') + 1 : at;
	/* Of "/" there is a slash already. */
	return asprintf(ret, "%s%s%s", dir, dir[1] ? "/" : "", base) < 0 ? -ENOMEM : 0;
}

/* Decides how the path is written; sets of->path where it is renamed to. A descriptor or -errno. */
static int open_path(struct output_file *of, const char *path)
{
	int named = descriptor_of(path), err;
	struct stat st;

	if (named >= 0)
		return open_descriptor(named);
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!S_ISREG(st.st_mode)) {
			int fd = open(path, O_WRONLY | O_CLOEXEC);

			return fd < 0 ? -errno : fd;
		}
		/* A symbolic link stays one: what it points to is replaced. */
		of->path = realpath(path, NULL);
		return of->path ? open_temp(of) : -errno;
	}
	if (errno != ENOENT)
		return -errno;
	err = resolve_new(path, &of->path);
	return err ? err : open_temp(of);
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

bool output_file__is_same(const struct output_file *a, const struct output_file *b)
{
	struct stat sa, sb;

	if (a->path || b->path)
		return a->path && b->path && !strcmp(a->path, b->path);
	return !fstat(fileno(a->stream), &sa) && !fstat(fileno(b->stream), &sb) &&
	       !S_ISCHR(sa.st_mode) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

bool output_file__replaces(const struct output_file *of, const char *path)
{
	struct stat mine, theirs;

	return of->path && !stat(of->path, &mine) && !stat(path, &theirs) &&
	       mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

const char *output_file__remedy(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
		return "; make the directory first";
	case -EISDIR:
		return "; name a file in it";
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "; choose another directory, or run as who may write there";
	case -ENOSPC:
	case -EDQUOT:
		return "; make room, or choose another file system";
	case -EFBIG:
		return "; raise the limit (ulimit -f)";
	case -EMFILE:
		return "; raise the limit (ulimit -n)";
	case -EBADF:
		return "; it is not open for writing";
	}
	return "";
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
