// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding the file behind a mapping.
 *
 * A path is no identity: the file may be deleted, replaced, in another mount namespace, or a
 * memfd that never had a path. So the file is opened through what holds it, in this order:
 *
 *	/proc/PID/map_files/START-END	the mapping's own file, also when unlinked
 *	/proc/PID/root + path		the path as the process sees it
 *	path				as we see it
 *
 * and each is accepted only if its identity is the mapping's. stat() states another device or
 * inode than mappings do on overlayfs; then a page of the candidate is mapped and the kernel asked,
 * by /proc/self/maps, what it calls that file.
 */
#include "proc/dso.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <linux/fs.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "object/proc_maps.h"

/* Descriptors that are left to the rest of the program: rings, events, outputs. */
#define FD_RESERVE    1024
#define MAPS_TEXT_MAX (256u << 20)

static const char deleted_suffix[] = " (deleted)";

int dso_table__init(struct dso_table *t, struct strtab *strings)
{
	struct rlimit lim;

	*t = (struct dso_table){ .strings = strings, .vdso_index = HASHMAP_NONE };
	vec_init(&t->dsos, DSOS_MAX);
	hashmap__init(&t->index, DSOS_MAX);
	if (getrlimit(RLIMIT_NOFILE, &lim))
		return -errno;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	t->max_open = lim.rlim_cur > 2 * FD_RESERVE ? lim.rlim_cur - FD_RESERVE : lim.rlim_cur / 2;
	t->max_idle = t->max_open / 2 < DSOS_IDLE_MAX ? t->max_open / 2 : DSOS_IDLE_MAX;
	return 0;
}

void dso_table__done(struct dso_table *t)
{
	vec_for_each(&t->dsos, d)
		if (d->fd >= 0)
			close(d->fd);
	vec_done(&t->dsos);
	hashmap__done(&t->index);
	free(t->vdso);
	t->vdso = NULL;
}

/* The identity that the kernel states for a mapping of this file. */
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

static bool same_file(const struct dso_id *a, const struct dso_id *b)
{
	return a->maj == b->maj && a->min == b->min && a->ino == b->ino;
}

static bool has_identity(int fd, const struct stat *st, const struct dso_id *want)
{
	struct dso_id have = { .maj = major(st->st_dev),
			       .min = minor(st->st_dev),
			       .ino = st->st_ino };

	if (same_file(&have, want))
		return true;
	return !identity_when_mapped(fd, &have) && same_file(&have, want);
}

/*
 * Opens a regular file and checks that it is the wanted one. Devices and FIFOs are never opened,
 * only looked at: opening one can block or do something.
 */
static int open_checked(const char *path, const struct dso_id *want, int *ret_fd)
{
	_cleanup_close_ int look = open(path, O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	char self[64];
	struct stat st;

	if (look < 0 || fstat(look, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!has_identity(fd, &st, want))
		return -ESTALE;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static size_t without_deleted(const char *path, size_t len)
{
	size_t n = sizeof(deleted_suffix) - 1;

	return len > n && !memcmp(path + len - n, deleted_suffix, n) ? len - n : len;
}

static int open_under(const char *root, const struct dso_sighting *s, size_t len, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s%.*s", root, (int)len, s->path) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return open_checked(path, &s->id, ret_fd);
}

static int open_sighting(const struct dso_sighting *s, int *ret_fd)
{
	/* A file may really be called so, and then it isn't deleted: both are tried. */
	size_t lens[] = { s->path_len, without_deleted(s->path, s->path_len) };
	pid_t tids[] = { s->pid, s->tid };
	size_t nr_lens = lens[0] == lens[1] ? 1 : 2;
	size_t nr_tids = !s->tid || s->tid == s->pid ? 1 : 2;
	int err = -ENOENT;
	char place[96];

	for (size_t i = 0; i < nr_tids; i++) {
		snprintf(place, sizeof(place), "/proc/%d/map_files/%llx-%llx", tids[i],
			 (unsigned long long)s->start, (unsigned long long)s->end);
		if (!open_checked(place, &s->id, ret_fd))
			return 0;
	}
	if (s->path_len == 0 || s->path[0] != '/')
		return err;
	for (size_t l = 0; l < nr_lens; l++) {
		for (size_t i = 0; i < nr_tids; i++) {
			snprintf(place, sizeof(place), "/proc/%d/root", tids[i]);
			if (!open_under(place, s, lens[l], ret_fd))
				return 0;
		}
		err = open_under("", s, lens[l], ret_fd);
		if (!err)
			return 0;
	}
	return err;
}

struct dso_probe {
	const struct dso_table *t;
	const struct dso_id *id;
};

static bool same_dso(const void *ctx, uint32_t i)
{
	const struct dso_probe *p = ctx;
	const struct dso_id *have = &p->t->dsos.data[i].id;

	return p->t->dsos.data[i].kind == DSO_FILE && same_file(have, p->id) &&
	       (!have->gen_known || !p->id->gen_known || have->gen == p->id->gen);
}

static void remember_mapping(struct dso *d, const struct dso_sighting *s)
{
	struct elf_mapped m = { .start = s->start, .len = s->end - s->start, .pgoff = s->pgoff };

	for (uint32_t i = 0; i < d->nr_mapped; i++)
		if (d->mapped[i].len == m.len && d->mapped[i].pgoff == m.pgoff)
			return;
	if (d->nr_mapped < DSO_MAPPED_MAX)
		d->mapped[d->nr_mapped++] = m;
}

static void close_idle(struct dso_table *t)
{
	for (size_t steps = t->nr_idle ? t->dsos.len : 0; steps; steps--) {
		struct dso *d = &t->dsos.data[t->hand++ % t->dsos.len];

		if (d->fd < 0 || d->hit)
			continue;
		close(d->fd);
		d->fd = -1;
		d->open_error = -EMFILE;
		d->tries = 0;
		t->nr_open--;
		t->nr_idle--;
		return;
	}
}

/* Only a file that a sample hit takes the place of another. */
static bool has_descriptor(struct dso_table *t, struct dso *d)
{
	if (d->hit ? t->nr_open >= t->max_open : t->nr_idle >= t->max_idle)
		close_idle(t);
	if (t->nr_open < t->max_open)
		return true;
	d->open_error = -EMFILE;
	t->short_of_fds += d->hit && !d->short_of_fds;
	d->short_of_fds |= d->hit;
	return false;
}

static bool is_gone(const struct dso_sighting *s)
{
	char path[48];

	/* What has exited and wasn't waited for has no root any more. */
	snprintf(path, sizeof(path), "/proc/%d/root", s->tid ? s->tid : s->pid);
	return access(path, F_OK) && (errno == ENOENT || errno == ESRCH);
}

static void try_open(struct dso_table *t, struct dso *d, const struct dso_sighting *s)
{
	unsigned int gen;

	if (!has_descriptor(t, d))
		return;
	d->open_error = open_sighting(s, &d->fd);
	if (d->open_error) {
		d->tries += !is_gone(s);
		return;
	}
	t->nr_open++;
	t->nr_idle += !d->hit;
	/* /proc/PID/maps doesn't tell the generation; where the file system does, take it. */
	if (!d->id.gen_known && !ioctl(d->fd, FS_IOC_GETVERSION, &gen)) {
		d->id.gen = gen;
		d->id.gen_known = true;
	}
}

void dso_table__hit(struct dso_table *t, uint32_t index, const struct dso_sighting *s)
{
	struct dso *d = &t->dsos.data[index];

	if (d->kind != DSO_FILE || dso__is_hit(d))
		return;
	t->nr_idle -= !d->hit && d->fd >= 0;
	d->hit = true;
	if (d->fd < 0)
		try_open(t, d, s);
}

/* A JIT runtime maps a page of the file that it writes, so that it can be found. */
static bool is_jit_marker(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && !strncmp(base, "/jit-", 5);
}

int dso_table__see(struct dso_table *t, const struct dso_sighting *s, uint32_t *ret_index)
{
	uint64_t hash = hash_combine(hash_u64(s->id.ino), (uint64_t)s->id.maj << 32 | s->id.min);
	struct dso_probe probe = { .t = t, .id = &s->id };
	uint32_t i = hashmap__find(&t->index, hash, same_dso, &probe);
	struct dso d = { .id = s->id, .kind = DSO_FILE, .fd = -1 };
	int err;

	if (i != HASHMAP_NONE) {
		struct dso *known = &t->dsos.data[i];

		if (s->id.gen_known && !known->id.gen_known) {
			known->id.gen = s->id.gen;
			known->id.gen_known = true;
		}
		if (known->fd < 0 && known->tries < DSO_OPEN_TRIES)
			try_open(t, known, s);
		remember_mapping(known, s);
		*ret_index = i;
		return 0;
	}
	err = strtab__intern(t->strings, s->path, s->path_len, &d.path);
	if (err)
		return err;
	d.jit_marker = is_jit_marker(d.path);
	err = vec_reserve(&t->dsos, t->dsos.len + 1);
	if (err)
		return err;
	err = hashmap__add(&t->index, hash, t->dsos.len);
	if (err)
		return err;
	try_open(t, &d, s);
	remember_mapping(&d, s);
	*ret_index = t->dsos.len;
	return vec_push(&t->dsos, d);
}

/* Copies our own vdso's image out of memory; the auxiliary vector says where it starts. */
static int copy_vdso(struct dso_table *t)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct proc_maps_entry e;
	struct proc_maps pm;
	struct buf text;
	int err;

	if (!start)
		return -ENOENT;
	buf__init(&text, MAPS_TEXT_MAX);
	err = buf__read_path(&text, "/proc/self/maps");
	if (!err) {
		err = -ENOENT;
		proc_maps__init(&pm, text.data, text.len);
		while (proc_maps__next(&pm, &e)) {
			if (e.start != start)
				continue;
			t->vdso_len = e.end - e.start;
			t->vdso = malloc(t->vdso_len);
			err = t->vdso ? 0 : -ENOMEM;
			if (t->vdso)
				memcpy(t->vdso, (const void *)start, t->vdso_len);
			break;
		}
	}
	buf__done(&text);
	return err;
}

int dso_table__vdso(struct dso_table *t, uint32_t *ret_index)
{
	struct dso d = { .kind = DSO_VDSO, .fd = -1 };
	int err;

	if (t->vdso_index == HASHMAP_NONE) {
		d.open_error = copy_vdso(t);
		err = strtab__intern(t->strings, "[vdso]", 6, &d.path);
		if (!err)
			err = vec_push(&t->dsos, d);
		if (err)
			return err;
		t->vdso_index = t->dsos.len - 1;
	}
	*ret_index = t->vdso_index;
	return 0;
}

int dso_table__elf(const struct dso_table *t, uint32_t index, struct elf_file **ret)
{
	const struct dso *d = &t->dsos.data[index];

	if (d->kind == DSO_VDSO)
		return t->vdso ? elf_file__open_mem(t->vdso, t->vdso_len, ret) : d->open_error;
	if (d->fd < 0)
		return d->open_error ? d->open_error : -ENOENT;
	return elf_file__open_fd(d->fd, ret);
}
