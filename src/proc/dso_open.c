// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/dso_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/helper.h"
#include "object/proc_maps.h"

#define MAPS_TEXT_MAX (256u << 20)

static const char deleted_suffix[] = " (deleted)";

static size_t without_deleted(const char *path, size_t len)
{
	size_t n = sizeof(deleted_suffix) - 1;

	return len > n && !memcmp(path + len - n, deleted_suffix, n) ? len - n : len;
}

bool dso_open__same_path(const char *a, size_t a_len, const char *b, size_t b_len)
{
	a_len = without_deleted(a, a_len);
	return a_len == without_deleted(b, b_len) && !memcmp(a, b, a_len);
}

bool dso_stat__is_of(const struct dso_stat *st, const struct dso_id *id)
{
	return st->dev == makedev(id->maj, id->min) && st->ino == id->ino;
}

bool dso_open__is_gone(const struct dso_sighting *s)
{
	char path[48];

	/* What has exited and wasn't waited for has no root any more. */
	snprintf(path, sizeof(path), "/proc/%d/root", s->tid ? s->tid : s->pid);
	return access(path, F_OK) && (errno == ENOENT || errno == ESRCH);
}

/* The device and inode that the kernel states for a mapping of this file. */
static int identity_when_mapped(int fd, struct dso_id *ret)
{
	struct proc_maps_entry e;
	struct proc_maps pm;
	struct buf text;
	void *page;
	int err;

	page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	buf__init(&text, MAPS_TEXT_MAX);
	err = buf__read_path(&text, "/proc/self/maps");
	munmap(page, 1);
	if (!err) {
		err = -ENOENT;
		proc_maps__init(&pm, text.data, text.len);
		while (proc_maps__next(&pm, &e)) {
			/* Equal neighbours are merged into one mapping. */
			if ((uint64_t)page < e.start || (uint64_t)page >= e.end)
				continue;
			*ret = (struct dso_id){ .maj = e.maj, .min = e.min, .ino = e.ino };
			err = 0;
			break;
		}
	}
	buf__done(&text);
	return err;
}

static bool has_identity(int fd, const struct dso_stat *st, const struct dso_id *want,
			 bool right_place)
{
	struct dso_id have = { 0 };

	if (dso_stat__is_of(st, want))
		return true;
	return right_place && !identity_when_mapped(fd, &have) && have.maj == want->maj &&
	       have.min == want->min && have.ino == want->ino;
}

/*
 * Opens a regular file and checks that it is the wanted one. Devices and FIFOs are never opened,
 * only looked at: opening one can block or do something. right_place: only the sighting's own file
 * is to be found there.
 */
static int open_checked(const char *path, const struct dso_id *id, bool right_place,
			const struct dso_stat *want, int *ret_fd, struct dso_stat *ret_st)
{
	_cleanup_close_ int look = open(path, O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct dso_stat have;
	char self[64];
	struct stat st;

	if (look < 0 || fstat(look, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	have = (struct dso_stat){ .dev = st.st_dev, .ino = st.st_ino };
	if (want && (want->dev != have.dev || want->ino != have.ino))
		return -ESTALE;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!has_identity(fd, &have, id, right_place))
		return -ESTALE;
	*ret_fd = steal_fd(&fd);
	*ret_st = have;
	return 0;
}

static void map_files_place(const struct dso_sighting *s, pid_t tid, char *ret, size_t size)
{
	snprintf(ret, size, "/proc/%d/map_files/%llx-%llx", tid, (unsigned long long)s->start,
		 (unsigned long long)s->end);
}

static bool ends_with(const char *s, size_t len, const char *end, size_t end_len)
{
	return len >= end_len && !memcmp(s + len - end_len, end, end_len);
}

/*
 * Is what the link leads to called as the sighting says? Something else may be mapped there by now.
 * We and the process may see its path from different roots.
 */
static bool leads_to_path(const char *place, const struct dso_sighting *s)
{
	char link[PATH_MAX];
	ssize_t n = readlink(place, link, sizeof(link));
	size_t have, want = without_deleted(s->path, s->path_len);

	if (n <= 0 || !want || s->path[0] != '/')
		return false;
	have = without_deleted(link, n);
	return ends_with(link, have, s->path, want) || ends_with(s->path, want, link, have);
}

static int path_under(const char *root, const struct dso_sighting *s, size_t len, char **ret)
{
	if (asprintf(ret, "%s%.*s", root, (int)len, s->path) >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

static bool in_our_namespace(const struct dso_sighting *s)
{
	struct stat st;

	return s->mnt_ns && !stat("/proc/self/ns/mnt", &st) && st.st_ino == s->mnt_ns;
}

static int open_under(const char *root, const struct dso_sighting *s, size_t len, bool right_place,
		      const struct dso_stat *want, int *ret_fd, struct dso_stat *ret_st)
{
	_cleanup_free_ char *path = NULL;
	int err = path_under(root, s, len, &path);

	return err ? err : open_checked(path, &s->id, right_place, want, ret_fd, ret_st);
}

static size_t threads_of(const struct dso_sighting *s, pid_t ret[2])
{
	ret[0] = s->pid;
	ret[1] = s->tid;
	return !s->tid || s->tid == s->pid ? 1 : 2;
}

static int open_sighting(const struct dso_sighting *s, const struct dso_stat *want, int *ret_fd,
			 struct dso_stat *ret_st)
{
	/* A file may really be called so, and then it isn't deleted: both are tried. */
	size_t lens[] = { s->path_len, without_deleted(s->path, s->path_len) };
	size_t nr_lens = lens[0] == lens[1] ? 1 : 2, nr_tids;
	int err = -ENOENT;
	char place[96];
	pid_t tids[2];

	nr_tids = threads_of(s, tids);
	for (size_t i = 0; !s->by_path && i < nr_tids; i++) {
		map_files_place(s, tids[i], place, sizeof(place));
		if (!open_checked(place, &s->id, leads_to_path(place, s), want, ret_fd, ret_st))
			return 0;
	}
	if (s->path_len == 0 || s->path[0] != '/')
		return err;
	for (size_t l = 0; l < nr_lens; l++) {
		for (size_t i = 0; i < nr_tids; i++) {
			snprintf(place, sizeof(place), "/proc/%d/root", tids[i]);
			if (!open_under(place, s, lens[l], l == 0, want, ret_fd, ret_st))
				return 0;
		}
		err = open_under("", s, lens[l], l == 0 && in_our_namespace(s), want, ret_fd,
				 ret_st);
		if (!err)
			return 0;
	}
	return err;
}

static int look_at(const char *path, struct dso_stat *ret)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE, &st))
		return -errno;
	if (!S_ISREG(st.stx_mode))
		return -EINVAL;
	*ret = (struct dso_stat){ .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				  .ino = st.stx_ino };
	return 0;
}

static int look_at_sighting(const struct dso_sighting *s, struct dso_stat *ret)
{
	pid_t tids[2];
	size_t nr_tids = threads_of(s, tids);
	char place[96];

	for (size_t i = 0; !s->by_path && i < nr_tids; i++) {
		map_files_place(s, tids[i], place, sizeof(place));
		if (!look_at(place, ret))
			return leads_to_path(place, s) ? 0 : -ESTALE;
	}
	if (s->path_len == 0 || s->path[0] != '/')
		return -ENOENT;
	for (size_t i = 0; i < nr_tids; i++) {
		_cleanup_free_ char *path = NULL;

		snprintf(place, sizeof(place), "/proc/%d/root", tids[i]);
		if (!path_under(place, s, s->path_len, &path) && !look_at(path, ret))
			return 0;
	}
	return -ENOENT;
}

/* ---- in the helper -------------------------------------------------------------------------- */

struct request {
	struct dso_sighting sighting;
	struct dso_stat want;
	bool has_want;
	char path[]; /* the sighting's */
};

/* Fills a request of HELPER_ARG_MAX bytes. */
static int ask(const struct dso_sighting *s, const struct dso_stat *want, struct request *r,
	       size_t *ret_len)
{
	if (s->path_len > HELPER_ARG_MAX - sizeof(*r))
		return -ENAMETOOLONG;
	*r = (struct request){ .sighting = *s, .has_want = want };
	if (want)
		r->want = *want;
	memcpy(r->path, s->path, s->path_len);
	*ret_len = sizeof(*r) + s->path_len;
	return 0;
}

static struct dso_sighting asked_for(const struct request *r)
{
	struct dso_sighting s = r->sighting;

	s.path = r->path;
	return s;
}

static HELPER_FN(serve_open)
{
	const struct request *r = arg;
	struct dso_sighting s = asked_for(r);
	struct dso_opened opened = { 0 };
	int err = open_sighting(&s, r->has_want ? &r->want : NULL, ret_fd, &opened.st);

	if (err)
		return err;
	opened.gen_known = !ioctl(*ret_fd, FS_IOC_GETVERSION, &opened.gen);
	buf__append(text, &opened, sizeof(opened));
	return buf__error(text);
}

static HELPER_FN(serve_look)
{
	const struct request *r = arg;
	struct dso_sighting s = asked_for(r);
	struct dso_stat st;
	int err = look_at_sighting(&s, &st);

	if (err)
		return err;
	buf__append(text, &st, sizeof(st));
	return buf__error(text);
}

/* The answer is `len` bytes. */
static int call(struct helper *h, HELPER_FN((*fn)), const struct dso_sighting *s,
		const struct dso_stat *want, void *ret, size_t len, int *ret_fd)
{
	union {
		struct request r;
		char room[HELPER_ARG_MAX];
	} arg;
	struct buf answer;
	size_t arg_len;
	int err = ask(s, want, &arg.r, &arg_len);

	if (err)
		return err;
	buf__init(&answer, HELPER_ARG_MAX);
	err = helper__call(h, fn, &arg, arg_len, -1, &answer, ret_fd);
	if (!err && answer.len != len)
		err = -EIO;
	if (!err)
		memcpy(ret, answer.data, len);
	buf__done(&answer);
	return err;
}

int dso_open__sighting(struct helper *h, const struct dso_sighting *s, const struct dso_stat *want,
		       int *ret_fd, struct dso_opened *ret)
{
	_cleanup_close_ int fd = -1;
	int err = call(h, serve_open, s, want, ret, sizeof(*ret), &fd);

	if (!err && fd < 0)
		err = -EMFILE; /* no more descriptors: it was lost on the way */
	if (!err)
		*ret_fd = steal_fd(&fd);
	return err;
}

int dso_open__look(struct helper *h, const struct dso_sighting *s, struct dso_stat *ret)
{
	return call(h, serve_look, s, NULL, ret, sizeof(*ret), NULL);
}
