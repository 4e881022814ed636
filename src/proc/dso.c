// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/dso.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "object/proc_maps.h"
#include "proc/dso_open.h"

/* Descriptors that are left to the rest of the program: rings, events, outputs. */
#define FD_RESERVE    1024
#define MAPS_TEXT_MAX (256u << 20)

int dso_table__init(struct dso_table *t)
{
	struct rlimit lim;

	*t = (struct dso_table){ .vdso_index = HASHMAP_NONE, .sweep_at = DSO_SWEEP_MIN };
	vec_init(&t->dsos, DSOS_MAX);
	vec_init(&t->free_places, DSOS_MAX);
	hashmap__init(&t->index, DSOS_MAX);
	helper__init(&t->helper);
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
	vec_for_each(&t->dsos, d) {
		if (d->fd >= 0)
			close(d->fd);
		free(d->path);
	}
	vec_done(&t->dsos);
	vec_done(&t->free_places);
	hashmap__done(&t->index);
	helper__done(&t->helper);
	free(t->vdso);
	t->vdso = NULL;
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

static void close_file(struct dso_table *t, struct dso *d)
{
	if (d->fd < 0)
		return;
	close(d->fd);
	d->fd = -1;
	t->nr_open--;
	t->nr_idle -= !d->hit;
}

static void close_idle(struct dso_table *t)
{
	for (size_t steps = t->nr_idle ? t->dsos.len : 0; steps; steps--) {
		struct dso *d = &t->dsos.data[t->hand++ % t->dsos.len];

		if (d->fd < 0 || d->hit)
			continue;
		close_file(t, d);
		d->open_error = -EMFILE;
		d->tries = 0;
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

static void try_open(struct dso_table *t, struct dso *d, const struct dso_sighting *s)
{
	struct dso_sighting place = *s;
	struct dso_opened opened;

	if (!has_descriptor(t, d))
		return;
	place.by_path = t->no_map_files;
	d->open_error = dso_open__sighting(&t->helper, &place, d->was_open ? &d->st : NULL, &d->fd,
					   &opened);
	if (d->open_error) {
		d->tries += !dso_open__is_gone(s);
		/* Who serves it may never answer; each try may cost a helper. */
		if (d->open_error == -ETIMEDOUT)
			d->tries = DSO_OPEN_TRIES;
		return;
	}
	/* /proc/PID/maps doesn't tell the generation; where the file system does, take it. */
	if (opened.gen_known) {
		if (d->id.gen_known && d->id.gen != opened.gen) {
			close(d->fd);
			d->fd = -1;
			d->open_error = -ESTALE;
			d->tries++;
			return;
		}
		d->id.gen = opened.gen;
		d->id.gen_known = true;
	}
	d->st = opened.st;
	d->was_open = true;
	t->nr_open++;
	t->nr_idle += !d->hit;
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

/* ---- which file a sighting is of ------------------------------------------------------------- */

/* The DSOs of a sighting's identity: what is known of them. */
struct found {
	uint32_t unique;   /* stat and mappings agree, so there is no other */
	uint32_t by_stat;  /* the file that was looked at */
	uint32_t by_path;  /* has the sighting's path, the last of nr_by_path */
	uint32_t unopened; /* never open */
	uint32_t unopened_by_path;
	uint32_t unsure;     /* stands for all of this path that could not be told apart */
	uint32_t nr_by_path; /* without the unsure */
	uint32_t nr;	     /* of this device and inode, also of other generations */
};

struct dso_probe {
	const struct dso_table *t;
	const struct dso_sighting *s;
	const struct dso_stat *st; /* NULL: not known */
	struct found *found;
};

/* Adds to what was found; true: look no further. */
static bool find_one(const void *ctx, uint32_t i)
{
	const struct dso_probe *p = ctx;
	const struct dso *d = &p->t->dsos.data[i];
	const struct dso_id *have = &d->id, *want = &p->s->id;
	struct found *f = p->found;

	if (d->kind != DSO_FILE || have->maj != want->maj || have->min != want->min ||
	    have->ino != want->ino)
		return false;
	f->nr++;
	if (have->gen_known && want->gen_known && have->gen != want->gen)
		return false;
	/* Of a file that isn't held open the inode may be another's by now, of another generation.
	 */
	if (d->was_open && dso_stat__is_of(&d->st, have)) {
		f->unique = i;
		return d->fd >= 0 || (have->gen_known && want->gen_known);
	}
	if (d->was_open && p->st && d->st.dev == p->st->dev && d->st.ino == p->st->ino)
		f->by_stat = i;
	if (!d->was_open && !d->unsure)
		f->unopened = i;
	if (!dso_open__same_path(d->path, strlen(d->path), p->s->path,
				 strnlen(p->s->path, p->s->path_len)))
		return false;
	if (d->unsure) {
		f->unsure = i;
		return false;
	}
	f->nr_by_path++;
	f->by_path = i;
	if (!d->was_open)
		f->unopened_by_path = i;
	return false;
}

static uint64_t hash_of_id(const struct dso_id *id)
{
	return hash_combine(hash_u64(id->ino), (uint64_t)id->maj << 32 | id->min);
}

static struct found find_all(const struct dso_table *t, const struct dso_sighting *s,
			     const struct dso_stat *st)
{
	struct found f = { .unique = HASHMAP_NONE,
			   .by_stat = HASHMAP_NONE,
			   .by_path = HASHMAP_NONE,
			   .unopened = HASHMAP_NONE,
			   .unopened_by_path = HASHMAP_NONE,
			   .unsure = HASHMAP_NONE };
	struct dso_probe probe = { .t = t, .s = s, .st = st, .found = &f };

	hashmap__find(&t->index, hash_of_id(&s->id), find_one, &probe);
	return f;
}

/* Anyone can map files at a high rate. */
static bool spend_look(struct dso_table *t)
{
	uint64_t now = clock__now();

	if (now - t->looks_since >= NSEC_PER_SEC) {
		t->looks_since = now;
		t->looks_left = DSO_LOOKS_PER_SEC;
	}
	if (!t->looks_left)
		return false;
	t->looks_left--;
	return true;
}

/*
 * The DSO of a sighting. HASHMAP_NONE: a new one; unsure, if it is one of several that are known,
 * and can't be told which.
 */
static uint32_t choose(struct dso_table *t, const struct dso_sighting *s, bool *ret_unsure,
		       uint32_t *ret_nr)
{
	struct found f = find_all(t, s, NULL);
	struct dso_sighting place = *s;
	struct dso_stat st;

	*ret_unsure = false;
	*ret_nr = f.nr;
	if (f.unique != HASHMAP_NONE || !f.nr)
		return f.unique;
	place.by_path = t->no_map_files;
	if (spend_look(t) && !dso_open__look(&t->helper, &place, &st)) {
		f = find_all(t, s, &st);
		if (f.by_stat != HASHMAP_NONE)
			return f.by_stat;
		return dso_stat__is_of(&st, &s->id) ? f.unopened : f.unopened_by_path;
	}
	if (f.nr_by_path == 1)
		return f.by_path;
	*ret_unsure = f.nr_by_path > 1;
	return f.unsure;
}

static int set_path(struct dso_table *t, struct dso *d, const char *path, size_t len)
{
	len = strnlen(path, len);
	if (len > DSO_PATHS_MAX - t->path_bytes)
		return -E2BIG;
	d->path = strndup(path, len);
	if (!d->path)
		return -ENOMEM;
	t->path_bytes += len;
	d->jit_marker = is_jit_marker(d->path);
	return 0;
}

static void free_dso(struct dso_table *t, struct dso *d)
{
	close_file(t, d);
	t->path_bytes -= d->path ? strlen(d->path) : 0;
	free(d->path);
	*d = (struct dso){ .kind = DSO_FREE, .fd = -1 };
}

/* Puts it into the table, which owns it from then on. */
static int place_dso(struct dso_table *t, const struct dso *d, uint32_t *ret_index)
{
	bool reuse = t->free_places.len;
	uint32_t place = reuse ? t->free_places.data[t->free_places.len - 1] : t->dsos.len;
	int err = reuse ? 0 : vec_reserve(&t->dsos, t->dsos.len + 1);

	if (!err)
		err = hashmap__add(&t->index, hash_of_id(&d->id), place);
	if (err)
		return err;
	t->free_places.len -= reuse;
	t->dsos.len += !reuse;
	t->dsos.data[place] = *d;
	*ret_index = place;
	return 0;
}

static int add(struct dso_table *t, const struct dso_sighting *s, bool unsure, uint32_t *ret_index)
{
	struct dso d = { .id = s->id, .kind = DSO_FILE, .fd = -1, .unsure = unsure };
	struct found f;
	int err = set_path(t, &d, s->path, s->path_len);

	if (err)
		return err;
	if (unsure) {
		d.tries = DSO_OPEN_TRIES;
		d.open_error = -ESTALE;
	} else {
		try_open(t, &d, s);
		/* By another path than it is known by, and not looked at before. */
		f = find_all(t, s, d.was_open ? &d.st : NULL);
		if (f.by_stat != HASHMAP_NONE) {
			free_dso(t, &d);
			*ret_index = f.by_stat;
			return 0;
		}
	}
	err = place_dso(t, &d, ret_index);
	if (err)
		free_dso(t, &d);
	return err;
}

static struct dso_recall *recall_of(struct dso_table *t, const struct dso_sighting *s)
{
	uint64_t hash = hash_combine(hash_combine(s->time, s->start), s->pid);

	return &t->recalls[hash % DSO_RECALLS];
}

static bool recall(struct dso_table *t, const struct dso_sighting *s, uint32_t *ret_index)
{
	const struct dso_recall *r = recall_of(t, s);

	if (!s->time || r->time != s->time || r->start != s->start || r->pid != (uint32_t)s->pid)
		return false;
	*ret_index = r->dso;
	return true;
}

int dso_table__see(struct dso_table *t, const struct dso_sighting *s, uint32_t *ret_index)
{
	struct dso *known;
	bool unsure, is_new = false;
	uint32_t i, nr;
	int err;

	if (!recall(t, s, &i)) {
		i = choose(t, s, &unsure, &nr);
		is_new = i == HASHMAP_NONE;
		err = !is_new ? 0 : nr < DSOS_OF_ONE_ID_MAX ? add(t, s, unsure, &i) : -E2BIG;
		/* Soon: half of them may be of no use, as a file's inode is taken again and again.
		 */
		if (nr > DSOS_OF_ONE_ID_MAX / 2)
			t->sweep_at = 0;
		if (err)
			return err;
	}
	known = &t->dsos.data[i];
	known->seen_in = t->sweeps;
	if (s->id.gen_known && !known->id.gen_known) {
		known->id.gen = s->id.gen;
		known->id.gen_known = true;
	}
	if (!is_new && known->fd < 0 && known->tries < DSO_OPEN_TRIES)
		try_open(t, known, s);
	remember_mapping(known, s);
	*recall_of(t, s) =
		(struct dso_recall){ .time = s->time, .start = s->start, .pid = s->pid, .dso = i };
	*ret_index = i;
	return 0;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

bool dso_table__sweep_due(const struct dso_table *t, uint64_t now)
{
	return dso_table__len(t) >= t->sweep_at && now >= t->sweep_not_before;
}

void dso_table__need(struct dso_table *t, uint32_t index)
{
	t->dsos.data[index].needed = true;
}

/* What was seen since the last sweep may be of records whose turn is to come. */
void dso_table__sweep(struct dso_table *t, uint64_t now)
{
	for (size_t i = 0; i < t->dsos.len; i++) {
		struct dso *d = &t->dsos.data[i];

		if (d->kind == DSO_FILE && !d->needed && !d->hit && d->seen_in != t->sweeps &&
		    !vec_push(&t->free_places, i)) {
			hashmap__remove(&t->index, hash_of_id(&d->id), i);
			free_dso(t, d);
		}
		d->needed = false;
	}
	for (size_t i = 0; i < DSO_RECALLS; i++)
		if (t->recalls[i].time && t->dsos.data[t->recalls[i].dso].kind == DSO_FREE)
			t->recalls[i].time = 0;
	t->sweeps++;
	t->sweep_not_before = now + NSEC_PER_SEC;
	t->sweep_at = 2 * dso_table__len(t);
	if (t->sweep_at < DSO_SWEEP_MIN)
		t->sweep_at = DSO_SWEEP_MIN;
	if (t->sweep_at > DSOS_MAX / 4 * 3)
		t->sweep_at = DSOS_MAX / 4 * 3;
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
		err = set_path(t, &d, "[vdso]", 6);
		if (err)
			return err;
		err = vec_push(&t->dsos, d);
		if (err) {
			free_dso(t, &d);
			return err;
		}
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
