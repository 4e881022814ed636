// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

/* Read of one file in a round: all get their turn. */
#define FILE_BYTES (20u << 20)
/* What is read at the end of the recording. */
#define LAST_PATIENCE (5 * NSEC_PER_SEC)
/* What was foreseen is used within a round, mostly. */
#define FORESEEN_MAX  1024
#define FORESEEN_KEEP (5 * NSEC_PER_SEC)
/* A process that ended is read to the end, for so long at most. */
#define END_PATIENCE	(10 * NSEC_PER_SEC)
#define SCAN_WAIT_FIRST (NSEC_PER_SEC / 2)

struct jit_files *jit_files__new(struct dso_table *dsos, bool keep_lines)
{
	struct jit_pool_opts opts = { .keep_lines = keep_lines };
	struct jit_files *jf = calloc(1, sizeof(*jf));
	struct rlimit lim;

	if (!jf)
		return NULL;
	jf->dsos = dsos;
	jf->pool = jit_pool__new(&opts);
	jf->piece = jit_piece__new();
	jf->paths = strtab__new(JIT_MESSAGE_PATHS_MAX);
	if (!jf->pool || !jf->piece || !jf->paths) {
		strtab__free(jf->paths);
		jit_pool__free(jf->pool);
		jit_piece__free(jf->piece);
		free(jf);
		return NULL;
	}
	vec_init(&jf->spaces, JIT_SPACES_MAX);
	vec_init(&jf->foreseen, FORESEEN_MAX);
	vec_init(&jf->messages, JIT_MESSAGES_MAX);
	vec_init(&jf->said, JIT_MESSAGES_MAX);
	jf->max_fds = JIT_FILES_MAX;
	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur / 8 < jf->max_fds)
		jf->max_fds = lim.rlim_cur / 8;
	return jf;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void release_who(struct jit_files *jf, struct jit_who *who)
{
	jf->nr_fds -= who->tmp_fd >= 0;
	jit_who__done(who);
}

/* Over the bound a process has no /tmp to look into. */
static struct jit_who ask(struct jit_files *jf, uint32_t pid)
{
	struct jit_who who;

	jit_who__ask(&who, pid);
	jf->nr_fds += who.tmp_fd >= 0;
	if (jf->nr_fds > jf->max_fds)
		release_who(jf, &who);
	return who;
}

static void drop_foreseen(struct jit_files *jf, uint64_t before)
{
	size_t n = 0;

	while (n < jf->foreseen.len && jf->foreseen.data[n].at < before)
		release_who(jf, &jf->foreseen.data[n++].who);
	vec_remove(&jf->foreseen, 0, n);
}

void jit_files__foresee(struct jit_files *jf, uint32_t pid, bool have)
{
	struct jit_foreseen f = { .at = clock__now() };

	if (have)
		return;
	vec_for_each(&jf->foreseen, seen)
		if (seen->who.pid == pid)
			return;
	if (jf->foreseen.len == FORESEEN_MAX)
		drop_foreseen(jf, jf->foreseen.data[FORESEEN_MAX / 2].at);
	if (vec_reserve(&jf->foreseen, jf->foreseen.len + 1))
		return;
	f.who = ask(jf, pid);
	if (f.who.known)
		vec_push(&jf->foreseen, f);
}

/* What was foreseen, or is so now. */
static struct jit_who take_who(struct jit_files *jf, uint32_t pid)
{
	for (size_t i = 0; i < jf->foreseen.len; i++) {
		struct jit_who who = jf->foreseen.data[i].who;

		if (who.pid != pid)
			continue;
		vec_remove(&jf->foreseen, i, 1);
		return who;
	}
	return ask(jf, pid);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void say(struct jit_files *jf, struct jit_message m)
{
	vec_for_each(&jf->said, s)
		if (s->kind == m.kind && s->what == m.what && !strcmp(s->path, m.path))
			return;
	/* Files come and go, what is said of them stays. */
	if (jf->said.len >= JIT_MESSAGES_MAX ||
	    strtab__intern(jf->paths, m.path, strlen(m.path), &m.path))
		return;
	if (!vec_push(&jf->said, m))
		vec_push(&jf->messages, m);
}

static void refuse(struct jit_files *jf, struct jit_space *s, uint32_t dso, uint8_t kind, int error)
{
	jf->stats.refused++;
	s->refused = true;
	say(jf, (struct jit_message){ .kind = kind,
				      .error = error,
				      .pid = s->who.pid,
				      .path = jf->dsos->dsos.data[dso].path });
}

bool jit_files__message(struct jit_files *jf, struct jit_message *ret)
{
	if (!jf->messages.len)
		return false;
	*ret = jf->messages.data[0];
	vec_remove(&jf->messages, 0, 1);
	return true;
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static struct jit_space *add_space(struct jit_files *jf, uint32_t pid)
{
	struct jit_space *s = calloc(1, sizeof(*s));

	if (!s || vec_push(&jf->spaces, s)) {
		free(s);
		jf->stats.spaces_dropped++;
		return NULL;
	}
	s->place = jf->spaces.len - 1;
	s->id = ++jf->last_id;
	s->who = (struct jit_who){ .pid = pid, .tmp_fd = -1 };
	s->scan_wait = SCAN_WAIT_FIRST;
	s->settled = UINT64_MAX;
	vec_init(&s->dumps, JIT_SPACE_DUMPS);
	vec_init(&s->unnamed, JIT_SPACE_UNNAMED);
	jit_map__init(&s->map);
	return s;
}

/* Once, while the process is there. */
static void need_who(struct jit_files *jf, struct jit_space *s)
{
	if (s->asked || s->ended_at)
		return;
	s->who = take_who(jf, s->who.pid);
	s->who.exec_at = s->began;
	s->asked = true;
}

struct jit_space *jit_files__space(struct jit_files *jf, uint32_t pid, uint64_t began)
{
	struct jit_space *s = add_space(jf, pid);

	if (!s)
		return NULL;
	s->began = began;
	need_who(jf, s);
	return s;
}

static void free_space(struct jit_files *jf, struct jit_space *s)
{
	struct jit_space *last = jf->spaces.data[--jf->spaces.len];

	jf->spaces.data[s->place] = last;
	last->place = s->place;
	vec_for_each(&s->dumps, d) {
		jf->nr_fds -= d->dump != NULL;
		jit_dump__free(d->dump);
	}
	vec_done(&s->dumps);
	vec_done(&s->unnamed);
	jf->nr_fds -= s->map.fd >= 0;
	jit_map__done(&s->map);
	release_who(jf, &s->who);
	jit_code__free(s->code);
	jit_code__free(s->map_code);
	free(s);
}

void jit_files__forget(struct jit_files *jf, struct jit_space *s)
{
	/* At the recording's end its process has it still. */
	if (s->ended_at)
		free_space(jf, s);
	else
		s->taken = true;
}

void jit_files__free(struct jit_files *jf)
{
	if (!jf)
		return;
	while (jf->spaces.len)
		free_space(jf, jf->spaces.data[0]);
	drop_foreseen(jf, UINT64_MAX);
	vec_done(&jf->spaces);
	vec_done(&jf->foreseen);
	vec_done(&jf->messages);
	vec_done(&jf->said);
	strtab__free(jf->paths);
	jit_piece__free(jf->piece);
	jit_pool__free(jf->pool);
	free(jf);
}

/* A library may be called like a jitdump. */
static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

static void open_dump(struct jit_files *jf, struct jit_space *s, struct jit_space_dump *d)
{
	const struct dso *dso = &jf->dsos->dsos.data[d->dso];
	char path[48];
	struct stat st;
	int fd;

	if (dso->fd < 0 || fstat(dso->fd, &st)) {
		refuse(jf, s, d->dso, JIT_MSG_OPEN, dso->fd < 0 ? dso->open_error : -errno);
		return;
	}
	if (!jit_who__may_own(&s->who, &st)) {
		refuse(jf, s, d->dso, s->who.known ? JIT_MSG_OWNER : JIT_MSG_GONE, 0);
		return;
	}
	if (jf->nr_fds >= jf->max_fds) {
		refuse(jf, s, d->dso, JIT_MSG_TOO_MANY, 0);
		return;
	}
	if (is_elf(dso->fd))
		return;
	/* One of its own: idle files are closed, and this one's position is moved. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dso->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		refuse(jf, s, d->dso, JIT_MSG_OPEN, -errno);
		return;
	}
	if (!s->code)
		s->code = jit_code__new(jf->pool);
	d->dump = s->code ? jit_dump__new(fd) : NULL;
	if (!d->dump) {
		close(fd);
		refuse(jf, s, d->dso, JIT_MSG_OPEN, -ENOMEM);
		return;
	}
	jf->nr_fds++;
	jf->stats.dumps++;
	s->settled = 0;
}

void jit_files__mapped(struct jit_files *jf, struct jit_space *s, uint32_t dso)
{
	struct jit_space_dump d = { .dso = dso };

	vec_for_each(&s->dumps, known)
		if (known->dso == dso)
			return;
	if (vec_reserve(&s->dumps, s->dumps.len + 1)) {
		refuse(jf, s, dso, JIT_MSG_TOO_MANY, 0);
		return;
	}
	need_who(jf, s);
	open_dump(jf, s, &d);
	vec_push(&s->dumps, d);
}

struct jit_space *jit_files__fork(struct jit_files *jf, const struct jit_space *parent,
				  uint32_t pid, uint64_t time)
{
	struct jit_space *s;

	if (!parent->code && !parent->map_code)
		return NULL;
	/* Most children exec: they are asked nothing before a sample is theirs. */
	s = add_space(jf, pid);
	if (!s)
		return NULL;
	if (parent->code)
		s->code = jit_code__fork(parent->code, time);
	if (parent->map_code)
		s->map_code = jit_code__fork(parent->map_code, time);
	s->refused = parent->refused;
	return s;
}

void jit_space__end(struct jit_space *s, uint64_t now)
{
	if (!s->ended_at)
		s->ended_at = now;
}

bool jit_space__has_code(const struct jit_space *s)
{
	return s->code || s->map_code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void say_unread(struct jit_files *jf, const struct jit_space *s,
		       const struct jit_space_dump *d)
{
	say(jf, (struct jit_message){ .kind = JIT_MSG_UNREAD,
				      .off = jitdump__off(&d->dump->reader),
				      .pid = s->who.pid,
				      .path = jf->dsos->dsos.data[d->dso].path });
}

static void look_at_problems(struct jit_files *jf, struct jit_space *s, struct jit_space_dump *d,
			     bool was_done)
{
	const struct dso *dso = &jf->dsos->dsos.data[d->dso];
	enum jitdump_problem problem;
	uint64_t off;

	while (jit_dump__problem(d->dump, &problem, &off))
		say(jf, (struct jit_message){ .kind = JIT_MSG_PROBLEM,
					      .what = problem,
					      .off = off,
					      .pid = s->who.pid,
					      .path = dso->path });
	if (was_done || !jit_dump__is_done(d->dump))
		return;
	s->refused = true;
	if (d->dump->reader.status == JITDUMP_REJECTED)
		jf->stats.refused++;
	else
		jf->stats.spoilt++;
	if (d->dump->too_large)
		say_unread(jf, s, d);
}

/* What may be looked up after a poll. */
static uint64_t settled_at(const struct jit_space *s, uint64_t now)
{
	uint64_t settled = UINT64_MAX, waited = now - JIT_WAIT_NS;

	if (s->complete)
		return UINT64_MAX;
	vec_for_each(&s->dumps, d)
		if (d->dump && !jit_dump__is_done(d->dump) && d->dump->last_time < settled)
			settled = d->dump->last_time;
	if (s->map.fd >= 0 && s->map.polled_at < settled)
		settled = s->map.polled_at;
	return settled > waited ? settled : waited;
}

static void say_map(struct jit_files *jf, struct jit_space *s)
{
	struct jit_message m = { .kind = JIT_MSG_MAP, .what = s->map.refusal, .pid = s->who.pid };
	char path[64];

	jf->stats.refused++;
	s->refused = true;
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", s->who.pid,
		 s->who.status.inner_pid);
	m.path = path;
	say(jf, m);
}

static uint64_t poll_map(struct jit_files *jf, struct jit_space *s, uint64_t now, uint64_t *budget,
			 bool last)
{
	bool was_open = s->map.fd >= 0, was_found = s->map.found;
	uint8_t refusal = s->map.refusal;

	if (s->sampled)
		need_who(jf, s);
	if (s->who.tmp_fd < 0 || (!was_open && jf->nr_fds >= jf->max_fds))
		return 0;
	if (!s->replaced)
		jit_map__look(&s->map, &s->who, now, last);
	jf->nr_fds += s->map.fd >= 0 && !was_open;
	jf->stats.maps += s->map.found && !was_found;
	if (s->map.refusal && s->map.refusal != refusal)
		say_map(jf, s);
	if (s->map.fd < 0)
		return 0;
	if (!s->map_code)
		s->map_code = jit_code__new(jf->pool);
	if (!s->map_code)
		return 0;
	/* A last line without an end is one of a process that has ended; else it is half a line. */
	return jit_map__read(&s->map, s->map_code, jf->piece, now, budget, last && s->ended_at);
}

static uint64_t poll_space(struct jit_files *jf, struct jit_space *s, uint64_t now,
			   uint64_t *budget, bool last, bool *ret_whole)
{
	bool whole = true;
	uint64_t total = 0;

	vec_for_each(&s->dumps, d) {
		bool was_done;

		if (!d->dump)
			continue;
		was_done = jit_dump__is_done(d->dump);
		d->dump->whole = false;
		if (*budget)
			total += jit_dump__poll(d->dump, s->code, jf->piece, now, budget);
		look_at_problems(jf, s, d, was_done);
		whole &= d->dump->whole;
	}
	if (*budget) {
		total += poll_map(jf, s, now, budget, last);
		whole &= s->map.whole || s->map.fd < 0;
	} else {
		whole = false;
	}
	s->version += total != 0;
	*ret_whole = whole;
	return total;
}

/* It won't be read any more. */
static void complete(struct jit_files *jf, struct jit_space *s)
{
	s->complete = true;
	vec_for_each(&s->dumps, d) {
		if (!d->dump || d->dump->whole)
			continue;
		jf->stats.spoilt++;
		say_unread(jf, s, d);
	}
}

void jit_files__poll(struct jit_files *jf, uint64_t now)
{
	uint64_t budget = JIT_POLL_BYTES;

	if (now > FORESEEN_KEEP)
		drop_foreseen(jf, now - FORESEEN_KEEP);
	for (size_t i = 0; i < jf->spaces.len; i++) {
		struct jit_space *s = jf->spaces.data[jf->hand++ % jf->spaces.len];
		uint64_t most = budget < FILE_BYTES ? budget : FILE_BYTES, left = most;
		bool whole;

		if (!s->sampled && !s->ended_at && now < s->poll_at)
			continue;
		jf->stats.bytes += poll_space(jf, s, now, &left, s->ended_at != 0, &whole);
		s->sampled = false;
		s->poll_at = whole ? now + JIT_IDLE_NS : 0;
		jit_spend(&budget, most - left);
		if (s->ended_at && (whole || now > s->ended_at + END_PATIENCE))
			complete(jf, s);
		s->settled = settled_at(s, now);
	}
	/* Another begins the next time. */
	jf->hand++;
}

void jit_files__poll_last(struct jit_files *jf)
{
	uint64_t now = clock__now(), patience = now + LAST_PATIENCE;

	vec_for_each(&jf->spaces, it) {
		struct jit_space *s = *it;
		bool whole;

		do {
			uint64_t left = FILE_BYTES;

			now = clock__now();
			jf->stats.bytes += poll_space(jf, s, now, &left, true, &whole);
		} while (!whole && now < patience);
		if (!s->complete)
			complete(jf, s);
		s->settled = settled_at(s, now);
	}
}

struct jit_space *jit_files__next_complete(struct jit_files *jf)
{
	vec_for_each(&jf->spaces, s)
		if ((*s)->complete && !(*s)->taken)
			return *s;
	return NULL;
}

/* ---- look-ups -------------------------------------------------------------------------------- */

bool jit_space__lookup(struct jit_space *s, uint64_t time, uint64_t addr, uint64_t since,
		       struct jit_hit *ret)
{
	struct jit_code *codes[] = { s->code, s->map_code };

	s->sampled = true;
	for (int i = 0; i < 2; i++)
		if (codes[i] && jit_code__lookup(codes[i], time, addr, ret) && ret->known >= since)
			return true;
	return false;
}

enum jit_why jit_space__why(struct jit_space *s, uint64_t now)
{
	bool any = s->map.found;

	vec_for_each(&s->dumps, d)
		any |= d->dump && d->dump->reader.nr_records;
	if (any || (!s->refused && jit_space__has_code(s) && !s->dumps.len))
		return JIT_WHY_NO_ENTRY;
	if (s->refused)
		return JIT_WHY_REFUSED;
	if (!s->no_marker && !s->ended_at && now >= s->scan_at) {
		s->no_marker = jit_who__has_dump_open(s->who.pid);
		s->scan_at = now + s->scan_wait;
		s->scan_wait *= 2;
	}
	return s->no_marker ? JIT_WHY_NO_MARKER : JIT_WHY_ANON;
}
