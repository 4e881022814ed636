// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "output/output_file.h"
#include "proc/dso.h"
#include "proc/dso_sweep.h"
#include "proc/jit_files.h"
#include "proc/jit_message.h"
#include "proc/ksyms.h"
#include "proc/process.h"
#include "proc/process_check.h"
#include "profile/jit_wait.h"
#include "profile/ledger.h"

#define OUTPUTS_MAX 1024
/* The files of JIT runtimes are not looked at more often. */
#define JIT_POLL_NS (NSEC_PER_SEC / 20)

/*
 * Most frames of a sample were in one before: a direct-mapped cache in front of the look-ups.
 * What an address means is fixed by the version of the mappings that it is looked up in.
 */
#define FRAME_CACHE_BITS 13
#define KERNEL_VERSION	 (1ull << 63) /* no process's version has this bit */

struct frame_cache_entry {
	uint64_t addr, version;
	uint32_t frame;
};

struct output {
	const struct output_format *format;
	const char *path; /* borrowed from the caller's spec */
	void *state;
	struct output_file *file;
};

struct session {
	struct session_opts opts;
	struct profile *profile;
	struct dso_table dsos;
	struct process_table procs;
	struct ksyms ksyms;
	struct jit_files *jit;
	struct jit_wait jit_wait;
	uint64_t jit_poll_at;
	struct ledger ledger;
	VEC(struct output) outputs;
	struct frame_cache_entry cache[1 << FRAME_CACHE_BITS];
};

struct session *session__new(const struct session_opts *opts)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->opts = *opts;
	vec_init(&s->outputs, OUTPUTS_MAX);
	s->profile = profile__new(&opts->profile);
	if (!s->profile || dso_table__init(&s->dsos)) {
		profile__free(s->profile);
		free(s);
		return NULL;
	}
	s->jit = jit_files__new(&s->dsos, opts->srcline);
	if (!s->jit) {
		dso_table__done(&s->dsos);
		profile__free(s->profile);
		free(s);
		return NULL;
	}
	jit_wait__init(&s->jit_wait, s->profile, s->jit, opts->srcline);
	process_table__init(&s->procs, &s->dsos);
	s->procs.shared.off = opts->no_kcmp;
	s->dsos.no_map_files = opts->no_map_files;
	s->procs.jit = s->jit;
	ksyms__init(&s->ksyms, s->profile->strings);
	return s;
}

void session__free(struct session *s)
{
	if (!s)
		return;
	vec_for_each(&s->outputs, o) {
		output_file__close(o->file);
		if (o->format->free)
			o->format->free(o->state);
	}
	vec_done(&s->outputs);
	ksyms__done(&s->ksyms);
	process_table__done(&s->procs);
	jit_wait__done(&s->jit_wait);
	jit_files__free(s->jit);
	dso_table__done(&s->dsos);
	profile__free(s->profile);
	free(s);
}

/* "FORMAT:PATH" or "PATH". A path that holds a colon needs its format before it. */
static const struct output_format *parse_spec(const char *spec, const char **ret_path)
{
	const char *colon = strchr(spec, ':');
	const struct output_format *format;

	if (colon) {
		format = output_format__by_name(spec, colon - spec);
		if (format) {
			*ret_path = colon + 1;
			return format;
		}
	}
	*ret_path = spec;
	return output_format__by_path(spec);
}

/* What would be written over that is still wanted. */
static int check_place(const struct session *s, const struct output *o)
{
	const char *binary = s->opts.output.binary;

	vec_for_each(&s->outputs, other) {
		if (!output_file__is_same(o->file, other->file))
			continue;
		pr_err("%s: the same place as %s: give each output its own", o->path, other->path);
		return -EINVAL;
	}
	if (binary && output_file__replaces(o->file, binary)) {
		pr_err("%s: this is %s, the --binary itself: give the output another name", o->path,
		       binary);
		return -EINVAL;
	}
	return 0;
}

int session__add_output(struct session *s, const char *spec)
{
	struct output o = { 0 };
	char *why = NULL;
	int err;

	o.format = parse_spec(spec, &o.path);
	if (!o.format) {
		pr_err("%s: no output format is known by this ending; use FORMAT:PATH with one of "
		       "folded, fdata",
		       spec);
		return -EINVAL;
	}
	if (!o.path[0]) {
		pr_err("%s: no path after the format", spec);
		return -EINVAL;
	}
	if (o.format == &output_fdata && !s->opts.output.binary) {
		pr_err("%s: a BOLT profile is of one binary: name it by --binary ELF", spec);
		return -EINVAL;
	}
	if (o.format->prepare) {
		err = o.format->prepare(&s->opts.output, &o.state, &why);
		if (err) {
			pr_err("%s", why ? why : strerror(-err));
			free(why);
			return err == -EINVAL ? -EIO : err;
		}
	}
	err = output_file__open(o.path, &o.file);
	/* Only what check_place() refuses is wrong usage. */
	if (err)
		pr_err("%s: cannot write: %s%s", o.path, strerror(-err), output_file__remedy(err));
	err = err == -EINVAL ? -EIO : err ? err : check_place(s, &o);
	if (!err)
		err = vec_push(&s->outputs, o);
	if (err) {
		output_file__close(o.file);
		if (o.format->free)
			o.format->free(o.state);
	}
	return err;
}

int session__read_proc(struct session *s)
{
	return process_table__read_proc(&s->procs);
}

void session__tick(struct session *s, uint64_t now)
{
	process_table__reap(&s->procs, now);
}

uint64_t session__task_losses(const struct session *s)
{
	return s->procs.losses;
}

static void poll_jit(struct session *s, bool last)
{
	uint64_t now = clock__now();
	struct jit_message m;
	struct buf text;

	if (now < s->jit_poll_at && !last)
		return;
	s->jit_poll_at = now + JIT_POLL_NS;
	if (last)
		jit_files__poll_last(s->jit);
	else
		jit_files__poll(s->jit, now);
	jit_wait__settle(&s->jit_wait);
	while (jit_files__message(s->jit, &m)) {
		buf__init(&text, 16384);
		jit_message__format(&m, &text);
		if (text.data)
			log__print(jit_message__is_warning(&m) ? LOG_WARN : LOG_DEBUG, "%s",
				   text.data);
		buf__done(&text);
	}
}

static struct frame frame_of_kernel(struct session *s, uint64_t addr)
{
	const struct ksym *sym = ksyms__lookup(&s->ksyms, addr);

	if (sym)
		return (struct frame){ .kind = FRAME_NAMED,
				       .named_kernel = true,
				       .name = sym->name };
	return (struct frame){ .kind = FRAME_KERNEL, .off = addr };
}

/*
 * Which of the mappings of the file that hold off the sample is in, where there are several: two
 * segments may claim the offset then. 1 + its index among those that are remembered, or 0. What is
 * left of a mapping after something covered a part counts as it.
 */
static uint8_t own_mapping(const struct dso *d, const struct mapping *m, uint64_t off)
{
	uint64_t end = m->pgoff + (m->end - m->start);
	uint8_t same = 0, around = 0;
	size_t nr = 0, nr_around = 0;

	for (uint32_t i = 0; i < d->nr_mapped; i++) {
		const struct elf_mapped *e = &d->mapped[i];

		nr += off >= e->pgoff && off - e->pgoff < e->len;
		if (m->pgoff < e->pgoff || end - e->pgoff > e->len)
			continue;
		if (e->pgoff == m->pgoff && e->len == m->end - m->start)
			same = i + 1;
		around = i + 1;
		nr_around++;
	}
	if (nr < 2)
		return 0;
	return same || nr_around > 1 ? same : around;
}

static struct frame frame_of_user(struct session *s, const struct process *p, uint64_t addr)
{
	const struct mapping *m = process__lookup(p, addr);
	struct dso_sighting where;
	uint64_t off;

	if (vsyscall__holds(addr))
		return (struct frame){ .kind = FRAME_UNKNOWN, .reason = UNKNOWN_VSYSCALL };
	if (!m)
		return (struct frame){ .kind = FRAME_UNKNOWN, .reason = UNKNOWN_NO_MAPPING };
	if (m->kind == MAPPING_ANON)
		return (struct frame){ .kind = FRAME_UNKNOWN, .reason = UNKNOWN_ANON };
	if (!dso__is_hit(&s->dsos.dsos.data[m->dso])) {
		where = process__sighting(p, m, &s->dsos);
		dso_table__hit(&s->dsos, m->dso, &where);
	}
	off = addr - m->start + m->pgoff;
	return (struct frame){ .kind = FRAME_NATIVE,
			       .dso = m->dso,
			       .mapped = own_mapping(&s->dsos.dsos.data[m->dso], m, off),
			       .off = off };
}

/* p: NULL for a kernel address. */
static int cached_frame(struct session *s, const struct process *p, uint64_t addr, uint32_t *ret)
{
	uint64_t version = p ? p->version : s->ksyms.version | KERNEL_VERSION;
	struct frame_cache_entry *e =
		&s->cache[hash_combine(addr, version) >> (64 - FRAME_CACHE_BITS)];
	struct frame f;
	int err;

	if (e->addr == addr && e->version == version) {
		*ret = e->frame;
		return 0;
	}
	f = p ? frame_of_user(s, p, addr) : frame_of_kernel(s, addr);
	err = profile__frame(s->profile, &f, ret);
	if (!err)
		*e = (struct frame_cache_entry){ .addr = addr, .version = version, .frame = *ret };
	return err;
}

/* A caller's address is a return address: its call instruction ends one byte before. */
static uint64_t call_site(const uint64_t *ips, uint32_t i)
{
	return i && ips[i] ? ips[i] - 1 : ips[i];
}

/* Nothing can be known of what was mapped at the sample's time. */
static int unknown_frames(struct session *s, const struct rec_sample *r, bool lost,
			  uint32_t *frames)
{
	struct frame f = { .kind = FRAME_UNKNOWN,
			   .reason = lost ? UNKNOWN_LOST : UNKNOWN_NO_PROCESS };
	int err = 0;

	for (uint32_t i = 0; i < r->nr_user && !err; i++)
		err = profile__frame(s->profile, &f, &frames[i]);
	return err;
}

/* What may be JIT code is looked up when it can be: maybe later. */
static int jit_frame(struct session *s, const struct process *p, uint64_t addr,
		     struct jit_frame *ret)
{
	const struct mapping *m = process__lookup(p, addr);

	*ret = (struct jit_frame){ .addr = addr, .start = process__code_floor(p, addr) };
	if (!m && addr < VSYSCALL_START) {
		ret->native = JIT_FRAME_NO_MAPPING;
		return 0;
	}
	if (m && m->kind == MAPPING_ANON) {
		ret->native = JIT_FRAME_ANON;
		return 0;
	}
	ret->since = m ? m->since : 0;
	return cached_frame(s, p, addr, &ret->native);
}

/* frames: the kernel's so far, with room for the user's. */
static int add_sample(struct session *s, const struct rec_sample *r, const struct stack *key,
		      uint32_t *frames)
{
	const uint64_t *ips = (const uint64_t *)r->ips + r->nr_kernel;
	struct jit_frame jit[REC_STACK_MAX];
	struct process *p = NULL;
	int err = 0;

	if (!r->nr_user)
		return profile__add(s->profile, key, frames);
	p = process_table__find(&s->procs, r->pid, r->start_ticks);
	if (!p || process_table__is_stale(&s->procs, p, r->hdr.time)) {
		bool lost = process_table__may_be_lost(&s->procs, p, r->start_ticks);

		err = unknown_frames(s, r, lost, frames + r->nr_kernel);
		return err ? err : profile__add(s->profile, key, frames);
	}
	/*
	 * In user mode the leaf is where the CPU was, so something executable must be there.
	 * Callers may be what a frame-pointer walk makes of other data, and what the kernel was
	 * entered from can be 0 (of a thread that it made itself): they don't justify a reading.
	 */
	if (r->hdr.flags & REC_F_USER_MODE && ips[0] < VSYSCALL_START) {
		process_table__check(&s->procs, p, ips[0], r->hdr.time);
		if (!process__lookup(p, ips[0]))
			process_table__reread(&s->procs, p);
	}
	for (uint32_t i = 0; i < r->nr_user && !err; i++)
		err = p->jit ? jit_frame(s, p, call_site(ips, i), &jit[i])
			     : cached_frame(s, p, call_site(ips, i), &frames[r->nr_kernel + i]);
	if (err)
		return err;
	if (p->jit)
		return jit_wait__add(&s->jit_wait, p->jit, r->hdr.time, key, frames, jit);
	return profile__add(s->profile, key, frames);
}

static bool is_sane(const struct rec_sample *r)
{
	return r->hdr.length >= sizeof(*r) && r->nr_kernel <= REC_STACK_MAX &&
	       r->nr_user <= REC_STACK_MAX &&
	       r->hdr.length - sizeof(*r) >= sizeof(r->ips[0]) * (r->nr_kernel + r->nr_user);
}

static void on_sample(struct session *s, const struct rec_sample *r)
{
	uint32_t frames[2 * REC_STACK_MAX];
	char comm[REC_COMM_LEN + 1];
	struct stack key = { .comm = comm };
	int err = 0;

	if (!is_sane(r)) {
		s->ledger.count[LEDGER_bad_record]++;
		return;
	}
	memcpy(comm, r->comm, REC_COMM_LEN);
	comm[REC_COMM_LEN] = '\0';
	key.pid = r->pid;
	key.tid = r->tid;
	key.nr_kernel = r->nr_kernel;
	key.nr_user = r->nr_user;
	if (r->hdr.flags & REC_F_KERNEL_TRUNCATED)
		key.flags |= STACK_KERNEL_TRUNCATED;
	if (r->hdr.flags & REC_F_USER_TRUNCATED)
		key.flags |= STACK_USER_TRUNCATED;
	for (uint32_t i = 0; i < r->nr_kernel && !err; i++)
		err = cached_frame(s, NULL, call_site((const uint64_t *)r->ips, i), &frames[i]);
	if (!err)
		err = add_sample(s, r, &key, frames);
	if (err)
		s->ledger.count[LEDGER_no_memory]++;
}

static int on_record(void *ctx, const struct rec_hdr *rec)
{
	struct session *s = ctx;

	switch (rec->type) {
	case REC_SAMPLE:
		on_sample(s, (const struct rec_sample *)rec);
		break;
	case REC_KSYMBOL:
		ksyms__apply(&s->ksyms, (const struct rec_ksymbol *)rec);
		break;
	default:
		process_table__apply(&s->procs, rec);
		break;
	}
	return 0;
}

static void foresee_record(void *ctx, const struct rec_hdr *rec)
{
	struct session *s = ctx;

	process_table__foresee(&s->procs, rec);
}

static void on_round(void *ctx)
{
	struct session *s = ctx;

	poll_jit(s, false);
	dso_sweep__run(&s->procs, clock__now());
}

struct source_sink session__sink(struct session *s)
{
	return (struct source_sink){
		.record = on_record, .foresee = foresee_record, .round = on_round, .ctx = s
	};
}

static int write_output(struct output *o, const struct output_input *in)
{
	_cleanup_free_ char *why = NULL;
	struct output_result result = { 0 };
	FILE *f = output_file__stream(o->file);
	int err = o->format->write(o->state, in, f, &result, &why);

	log__print_lines(LOG_INFO, result.notes);
	free(result.notes);
	if (err && !ferror(f)) {
		pr_err("%s: nothing written: %s", o->path, why ? why : strerror(-err));
		return err;
	}
	if (!err)
		err = output_file__commit(o->file);
	if (err) {
		pr_err("%s: cannot write: %s; the output was not kept%s", o->path, strerror(-err),
		       output_file__remedy(err));
		return err;
	}
	if (!result.samples)
		pr_warn("%s: no samples: nothing that was asked for ran on a CPU", o->path);
	else
		pr_info("%s: %" PRIu64 " samples", o->path, result.samples);
	return 0;
}

static void say_trouble(const struct names_trouble *t)
{
	if (t->reason == NAME_AMBIGUOUS)
		pr_warn("%s: %" PRIu64 " addresses without a name, of %" PRIu64
			" samples: offset 0x%" PRIx64
			" is claimed by two executable segments, vaddr 0x%" PRIx64
			" and 0x%" PRIx64,
			t->path, t->frames, t->samples, t->off, t->load[0].vaddr, t->load[1].vaddr);
	else
		/* Callers may be what a frame-pointer walk makes of other data. */
		log__print(t->samples ? LOG_WARN : LOG_DEBUG,
			   "%s: %" PRIu64 " addresses without a name, of %" PRIu64
			   " samples: no executable segment holds offset 0x%" PRIx64
			   "; the nearest are [0x%" PRIx64 ", 0x%" PRIx64 ") below and [0x%" PRIx64
			   ", 0x%" PRIx64 ") above",
			   t->path, t->frames, t->samples, t->off, t->load[0].off,
			   t->load[0].off + t->load[0].filesz, t->load[1].off,
			   t->load[1].off + t->load[1].filesz);
}

static void say_unresolved(const struct names *names)
{
	if (names->kallsyms_error == -ENODATA)
		pr_warn("kernel functions have no names, since /proc/kallsyms hides their "
			"addresses; run with CAP_SYSLOG, and kernel.kptr_restrict at 1 or 0");
	else if (names->kallsyms_error)
		pr_warn("kernel functions have no names: /proc/kallsyms: %s",
			strerror(-names->kallsyms_error));
	for (int r = NAME_SYMBOL + 1; r < NAME_REASONS; r++)
		if (names->frames_by_reason[r])
			pr_debug("%" PRIu64 " distinct frames without a name: %s",
				 names->frames_by_reason[r], name_reason__text(r));
	vec_for_each(&names->troubles, t)
		say_trouble(t);
}

static void say_stats(const struct session *s)
{
	const struct process_stats *st = &s->procs.stats;

	pr_debug("%zu stacks in memory of %zu distinct frames in %zu files; %" PRIu64
		 " bytes of stacks put aside",
		 s->profile->stacks.len, s->profile->frames.len, dso_table__len(&s->dsos),
		 s->profile->spill.size);
	if (s->profile->spill_error)
		pr_warn("stacks can't be put aside in a file (%s): all are held in memory; a "
			"directory with room can be set by TMPDIR",
			strerror(-s->profile->spill_error));
	pr_debug("%" PRIu64 " jitdumps and %" PRIu64 " perf maps were read, %" PRIu64
		 " bytes: %" PRIu64 " functions, of which %zu are kept in %zu bytes; %" PRIu64
		 " samples waited, %" PRIu64 " addresses got no frame of their own",
		 s->jit->stats.dumps, s->jit->stats.maps, s->jit->stats.bytes,
		 jit_pool__stats(s->jit->pool)->loads, jit_pool__funcs(s->jit->pool),
		 jit_pool__bytes(s->jit->pool), s->jit_wait.waited, s->jit_wait.unkept);
	pr_debug("/proc/PID/maps was read again %" PRIu64 " times, and %" PRIu64
		 " times to compare: %" PRIu64 " mappings had come unseen",
		 st->rereads, st->checks, st->came_unseen);
	if (s->dsos.helper.late || s->dsos.helper.refused || s->dsos.comparisons.refused)
		pr_warn("%" PRIu64 " looks at other processes took too long, and %" PRIu64
			" were not tried: what is there has no name",
			s->dsos.helper.late, s->dsos.helper.refused + s->dsos.comparisons.refused);
	if (s->procs.shared.dropped || s->procs.shared.unasked)
		pr_debug("of %" PRIu64 " processes it could not be kept, of %" PRIu64
			 " not be asked, whose memory they share",
			 s->procs.shared.dropped, s->procs.shared.unasked);
	if (st->maps_dropped || st->procs_dropped)
		pr_warn("%" PRIu64 " mappings and %" PRIu64 " processes found no room: their "
			"samples are unresolved",
			st->maps_dropped, st->procs_dropped);
}

static void fill_ledger(struct session *s, const struct source_counts *counts)
{
	const struct jit_pool_stats *jit = jit_pool__stats(s->jit->pool);
	struct ledger *l = &s->ledger;

#define STAT(name, kind, help) l->count[LEDGER_##name] = counts->name;
#include "../bpf/stats.def"
#undef STAT
	l->count[LEDGER_maps_dropped] = s->procs.stats.maps_dropped + s->procs.stats.procs_dropped;
	l->count[LEDGER_procs_evicted] = s->procs.stats.procs_evicted;
	l->count[LEDGER_files_unopened] = s->dsos.short_of_fds;
	l->count[LEDGER_jit_refused] = s->jit->stats.refused + s->jit->stats.spaces_dropped;
	l->count[LEDGER_jit_spoilt] = s->jit->stats.spoilt;
	l->count[LEDGER_jit_forgotten] = jit->evicted + jit->dropped;
	l->count[LEDGER_no_memory] += s->jit_wait.lost;
	l->aggregated = s->profile->samples;
	if (!ledger__close(l))
		pr_err("more samples came in than fired: please report this");
}

int session__finish(struct session *s, const struct source_counts *counts, const char *event_name,
		    bool time_based)
{
	struct output_input in = { .profile = s->profile,
				   .dsos = &s->dsos,
				   .opts = &s->opts.output };
	struct names *names = NULL;
	bool needs_names = false;
	int err = 0;

	poll_jit(s, true);
	fill_ledger(s, counts);
	s->opts.output.event_name = event_name;
	s->opts.output.time_based = time_based;
	say_stats(s);
	vec_for_each(&s->outputs, o)
		needs_names |= o->format->needs_names;
	if (needs_names) {
		err = names__resolve(s->profile, &s->dsos, &s->opts.resolve, &names);
		if (err)
			pr_err("cannot resolve names: %s", strerror(-err));
		else
			say_unresolved(names);
	}
	if (names) {
		s->ledger.count[LEDGER_no_segment] = names->samples_by_reason[NAME_NO_SEGMENT];
		s->ledger.count[LEDGER_ambiguous] = names->samples_by_reason[NAME_AMBIGUOUS];
	}
	in.names = names;
	vec_for_each(&s->outputs, o)
		if ((names || !o->format->needs_names) && write_output(o, &in))
			err = -EIO;
	names__free(names);
	return err ? -EIO : 0;
}

void session__print_ledger(const struct session *s)
{
	struct buf line;

	buf__init(&line, 4096);
	ledger__format(&s->ledger, &line);
	if (line.data)
		fprintf(stderr, "%s\n", line.data);
	buf__done(&line);
}
