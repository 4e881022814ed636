// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ebolt jitdump: what a runtime's file says, what is wrong with it, and what code was at an address
 * at a time; by the same code that reads these files while it samples.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/jitdump_lookup.h"
#include "object/jitdump.h"
#include "object/perf_map.h"
#include "proc/jit_code.h"

#define PIECE (256u << 10)
/* Longer zeros in a file are its end: a sparse file can have terabytes. */
#define ZEROS_MAX (1ull << 30)
/* ns: no machine runs for ten years without a pause. Wall clocks show more. */
#define UPTIME_MAX (315360000ull * 1000000000)
/* Of a kind; all are counted. */
#define SHOWN_MAX 100
/* Functions and bytes of names for --lookup, where nothing may be forgotten. */
#define LOOKUP_FUNCS_MAX (16u << 20)
#define LOOKUP_BYTES_MAX (1u << 30)
#define TEXT_MAX	 (64u << 10)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE 0
#endif

static const char help[] =
	"usage: ebolt jitdump FILE [--check | --lookup]\n"
	"\n"
	"Reads the file in which a JIT runtime tells of its code: a jitdump, or a perf map where "
	"the\n"
	"name ends in .map. Lists its records and what is wrong with them, each with its offset.\n"
	"\n"
	"  ebolt jitdump jit-1234.dump\n"
	"  ebolt jitdump jit-1234.dump --check      in a runtime's tests\n"
	"  echo '548032752000 7f2d967467ef' | ebolt jitdump jit-1234.dump --lookup\n"
	"\n"
	"      --check      only the problems; any of them makes the exit status 1\n"
	"      --lookup     reads lines TIME_NS HEX_ADDR from standard input, CLOCK_MONOTONIC; "
	"prints\n"
	"                   for each the function's NAME+0xOFFSET, or ?\n"
	"\n"
	"The last line, but with --lookup, is the sum:\n"
	"  file=ok|retry|reject records=N tail=BYTES warnings=N\n"
	"retry: there is no whole header yet; tail: what a writer may not have finished.\n"
	"\n"
	"Exit status: 0 done, 1 the file can't be used, 2 wrong usage.\n";

struct reading {
	const char *path;
	bool check, lookup;
	int fd;
	bool regular;
	uint64_t size; /* of a regular file */
	struct jit_pool *pool;
	struct jit_code *code;
	struct jitdump jd;
	struct perf_map pm;
	bool is_map;
	struct jitdump_lookup questions;
	struct buf text;
	struct {
		VEC(struct jit_line);
	} lines;
	uint64_t shown[JITDUMP_NR_PROBLEMS];
	/* problems that only show among the code that is there */
	uint64_t moves, tables;
};

/* ---- text -------------------------------------------------------------------------------------*/

static const char *printable(struct buf *out, const char *name, size_t len)
{
	buf__clear(out);
	utf8__escape(out, name, len);
	return buf__error(out) || !out->data ? "" : out->data;
}

static void say(const struct reading *r, uint64_t off, const char *text)
{
	if (r->lookup)
		pr_warn("%s: 0x%" PRIx64 ": %s", r->path, off, text);
	else
		printf("0x%" PRIx64 " problem: %s\n", off, text);
}

static void on_problem(void *ctx, enum jitdump_problem problem, uint64_t off)
{
	struct reading *r = ctx;

	r->shown[problem]++;
	/* With --lookup once a kind: what is wanted are the answers. */
	if (r->shown[problem] > (r->lookup ? 1 : SHOWN_MAX))
		return;
	say(r, off, jitdump_problem__text(problem));
	if (r->shown[problem] == SHOWN_MAX)
		say(r, off, "more of this kind are only counted");
}

/* ---- records ----------------------------------------------------------------------------------*/

static void list(struct reading *r, const struct jitdump_record *rec)
{
	printf("0x%" PRIx64 " %" PRIu64 " ", rec->off, rec->time);
	switch (rec->kind) {
	case JITDUMP_LOAD:
		printf("load 0x%" PRIx64 " 0x%" PRIx64 " index=%" PRIu64 " %s%s\n", rec->load.addr,
		       rec->load.size, rec->load.index,
		       printable(&r->text, rec->load.name, rec->load.name_len),
		       rec->load.name_cut ? "..." : "");
		break;
	case JITDUMP_MOVE:
		printf("move 0x%" PRIx64 " 0x%" PRIx64 " to=0x%" PRIx64 " index=%" PRIu64 "\n",
		       rec->move.from, rec->move.size, rec->move.to, rec->move.index);
		break;
	case JITDUMP_DEBUG_INFO:
		printf("debug 0x%" PRIx64 " entries=%" PRIu64 "\n", rec->debug.addr, rec->debug.nr);
		break;
	case JITDUMP_CLOSE:
		puts("close");
		break;
	case JITDUMP_UNWINDING:
		printf("unwinding size=%" PRIu64 " eh_frame_hdr=%" PRIu64 " mapped=%" PRIu64 "\n",
		       rec->unwinding.unwind_size, rec->unwinding.eh_frame_hdr_size,
		       rec->unwinding.mapped_size);
		break;
	case JITDUMP_OTHER:
		printf("other id=%" PRIu32 " size=%" PRIu32 "\n", rec->id, rec->len);
		break;
	}
}

static void add_lines(struct reading *r, const struct jitdump_record *rec)
{
	struct jitdump_lines lines = rec->debug.lines;
	struct jitdump_line line;

	r->lines.len = 0;
	while (jitdump_lines__next(&lines, &line)) {
		struct jit_line to = { .addr = line.addr,
				       .line = line.line,
				       .file = line.file,
				       .file_len = line.file_len };

		if (vec_push(&r->lines, to))
			return;
	}
	jit_code__lines(r->code, rec->debug.addr, r->lines.data, r->lines.len);
}

static bool wanted(const struct reading *r, uint64_t addr, uint64_t size)
{
	return !r->lookup || jitdump_lookup__wants(&r->questions, addr, size);
}

static void add(struct reading *r, const struct jitdump_record *rec)
{
	struct jit_load load = { .time = rec->time, .known = rec->time };
	struct jit_move move = { .time = rec->time };

	switch (rec->kind) {
	case JITDUMP_LOAD:
		load.addr = rec->load.addr;
		load.size = rec->load.size;
		load.index = rec->load.index;
		load.name = rec->load.name;
		load.name_len = rec->load.name_len;
		if (load.size && wanted(r, load.addr, load.size))
			jit_code__load(r->code, &load);
		break;
	case JITDUMP_MOVE:
		move.from = rec->move.from;
		move.to = rec->move.to;
		move.size = rec->move.size;
		move.index = rec->move.index;
		jit_code__move(r->code, &move);
		break;
	case JITDUMP_DEBUG_INFO:
		add_lines(r, rec);
		break;
	default:
		break;
	}
}

/* What turned out wrong by this record, in view of those before it. */
static void check_code(struct reading *r, const struct jitdump_record *rec)
{
	const struct jit_pool_stats *st = jit_pool__stats(r->pool);
	uint64_t moves = st->moves_unknown + st->moves_resized, tables = st->tables_dropped;

	if (moves > r->moves && moves <= SHOWN_MAX)
		say(r, rec->off, "moves what isn't there, or another size of it");
	if (tables > r->tables && tables <= SHOWN_MAX)
		say(r, rec->off, "line entries outside of their function");
	r->moves = moves;
	r->tables = tables;
}

static void take_dump(struct reading *r, const void *bytes, size_t len)
{
	struct jitdump_record rec;

	jitdump__feed(&r->jd, bytes, len);
	while (jitdump__next(&r->jd, &rec)) {
		if (!r->lookup && !r->check)
			list(r, &rec);
		add(r, &rec);
		if (r->lookup)
			continue;
		jit_code__advance(r->code, rec.time);
		check_code(r, &rec);
	}
}

static void take_entry(struct reading *r, const struct perf_map_entry *e)
{
	struct jit_load load = {
		.addr = e->addr, .size = e->size, .name = e->name, .name_len = e->name_len
	};

	if (!r->lookup && !r->check)
		printf("0x%" PRIx64 " 0x%" PRIx64 " %s%s\n", e->addr, e->size,
		       printable(&r->text, e->name, e->name_len), e->name_cut ? "..." : "");
	if (wanted(r, e->addr, e->size))
		jit_code__load(r->code, &load);
}

static void take_map(struct reading *r, const void *bytes, size_t len)
{
	struct perf_map_entry e;

	perf_map__feed(&r->pm, bytes, len);
	while (perf_map__next(&r->pm, &e))
		take_entry(r, &e);
}

/* ---- the file ---------------------------------------------------------------------------------*/

/* Whether nothing but zeros follows, as far as that can be told without reading terabytes. */
static bool only_zeros_left(const struct reading *r, const struct jitdump *jd)
{
	if (!jitdump__in_zeros(jd))
		return false;
	return jitdump__tail(jd) > ZEROS_MAX ||
	       (r->regular && lseek(r->fd, jitdump__off(jd), SEEK_DATA) < 0 && errno == ENXIO);
}

static bool wants_more(const struct jitdump *jd)
{
	return jd->status == JITDUMP_OK || jd->status == JITDUMP_RETRY;
}

/* Bytes read, 0 at the end, or a negative errno. */
static ssize_t read_piece(const struct reading *r, void *bytes, uint64_t off)
{
	ssize_t n;

	do {
		n = r->regular ? pread(r->fd, bytes, PIECE, off) : read(r->fd, bytes, PIECE);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int read_map(struct reading *r, void *bytes)
{
	struct perf_map_entry e;
	ssize_t n;

	while ((n = read_piece(r, bytes, perf_map__off(&r->pm))) > 0)
		take_map(r, bytes, n);
	if (!n && perf_map__last(&r->pm, &e))
		take_entry(r, &e);
	return n;
}

static int read_dump(struct reading *r, void *bytes)
{
	ssize_t n = 0;

	while (wants_more(&r->jd) && !only_zeros_left(r, &r->jd) &&
	       (n = read_piece(r, bytes, jitdump__off(&r->jd))) > 0)
		take_dump(r, bytes, n);
	return n < 0 ? n : 0;
}

/* What moves matters where it was loaded, whoever asks for where it moved to. */
static int note_moves(struct reading *r, void *bytes)
{
	const struct jitdump_config config = { .now = UPTIME_MAX };
	struct jitdump_record rec;
	struct jitdump jd;
	ssize_t n = 0;

	if (!r->regular) {
		r->questions.all = true;
		return 0;
	}
	jitdump__init(&jd, &config);
	while (wants_more(&jd) && !only_zeros_left(r, &jd) &&
	       (n = read_piece(r, bytes, jitdump__off(&jd))) > 0) {
		jitdump__feed(&jd, bytes, n);
		while (jitdump__next(&jd, &rec))
			if (rec.kind == JITDUMP_MOVE)
				jitdump_lookup__add(&r->questions, rec.move.from);
	}
	jitdump__done(&jd);
	return n < 0 ? n : 0;
}

static int read_file(struct reading *r)
{
	_cleanup_free_ uint8_t *bytes = malloc(PIECE);
	int err = bytes ? 0 : -ENOMEM;

	if (!err && r->lookup && !r->is_map)
		err = note_moves(r, bytes);
	if (err)
		return err;
	jitdump_lookup__prepare(&r->questions);
	return r->is_map ? read_map(r, bytes) : read_dump(r, bytes);
}

static int open_file(struct reading *r)
{
	size_t len = strlen(r->path);
	struct stat st;
	int flags;

	/* O_NONBLOCK: a FIFO that nobody writes doesn't hold up the open; it may then be read. */
	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st))
		return -errno;
	flags = fcntl(r->fd, F_GETFL);
	if (flags < 0 || fcntl(r->fd, F_SETFL, flags & ~O_NONBLOCK))
		return -errno;
	r->regular = S_ISREG(st.st_mode);
	r->size = st.st_size;
	r->is_map = len >= 4 && !strcmp(r->path + len - 4, ".map");
	return 0;
}

static int set_up(struct reading *r)
{
	struct jitdump_config config = {
		.now = UPTIME_MAX, .machine = MACHINE, .on_problem = on_problem, .ctx = r
	};
	struct jit_pool_opts opts = { .keep_lines = true };

	if (r->lookup)
		opts = (struct jit_pool_opts){ .max_funcs = LOOKUP_FUNCS_MAX,
					       .max_bytes = LOOKUP_BYTES_MAX };
	jitdump__init(&r->jd, &config);
	perf_map__init(&r->pm);
	buf__init(&r->text, TEXT_MAX);
	vec_init(&r->lines, JITDUMP_DEBUG_MAX / 17);
	jitdump_lookup__init(&r->questions);
	r->pool = jit_pool__new(&opts);
	r->code = r->pool ? jit_code__new(r->pool) : NULL;
	return r->code ? 0 : -ENOMEM;
}

static void tear_down(struct reading *r)
{
	jit_code__free(r->code);
	jit_pool__free(r->pool);
	jitdump_lookup__done(&r->questions);
	vec_done(&r->lines);
	buf__done(&r->text);
	perf_map__done(&r->pm);
	jitdump__done(&r->jd);
	cleanup__close(&r->fd);
}

/* ---- the sum ----------------------------------------------------------------------------------*/

static const char *verdict(const struct reading *r)
{
	if (r->is_map)
		return r->pm.nr_entries ? "ok" : r->pm.bad_lines ? "reject" : "retry";
	switch (r->jd.status) {
	case JITDUMP_RETRY:
		return "retry";
	case JITDUMP_REJECTED:
		return "reject";
	default:
		return "ok";
	}
}

static uint64_t tail(const struct reading *r)
{
	uint64_t unread = jitdump__tail(&r->jd), start = jitdump__off(&r->jd) - unread;

	if (r->is_map)
		return perf_map__tail(&r->pm);
	/* Also what wasn't read: zeros, or all behind the place where reading stopped. */
	return r->regular && r->size > start ? r->size - start : unread;
}

static uint64_t warnings(const struct reading *r)
{
	return jitdump__nr_problems(&r->jd) + r->pm.bad_lines + r->moves + r->tables;
}

/* The exit status. */
static int finish(const struct reading *r)
{
	const char *v = verdict(r);
	bool usable = !strcmp(v, "ok");

	if (!r->lookup)
		printf("file=%s records=%" PRIu64 " tail=%" PRIu64 " warnings=%" PRIu64 "\n", v,
		       r->is_map ? r->pm.nr_entries : r->jd.nr_records, tail(r), warnings(r));
	if (!usable)
		pr_err("%s: %s", r->path,
		       !strcmp(v, "retry") ? "no code yet: it ends inside its header"
		       : r->is_map	   ? "not a perf map: no line of it is one"
					   : "not a jitdump that can be used");
	return usable && !(r->check && warnings(r)) ? EXIT_OK : EXIT_FAILED;
}

/* The exit status to end with, or -1 to go on. */
static int parse(struct reading *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "lookup", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			r->check = true;
			break;
		case 'l':
			r->lookup = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			pr_err("see ebolt jitdump --help");
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 1 || (r->check && r->lookup)) {
		pr_err("%s; see ebolt jitdump --help",
		       argc - optind != 1 ? "one file is read" : "--check or --lookup, not both");
		return EXIT_USAGE;
	}
	r->path = argv[optind];
	return -1;
}

/* The exit status. */
static int answer(struct reading *r)
{
	int err = jitdump_lookup__answer(&r->questions, r->code);
	const struct jit_pool_stats *st = jit_pool__stats(r->pool);

	if (err)
		pr_err("--lookup: %s", strerror(-err));
	else if (st->evicted + st->dropped)
		pr_warn("%s: %" PRIu64 " functions were forgotten: there are too many", r->path,
			st->evicted + st->dropped);
	return err ? EXIT_FAILED : EXIT_OK;
}

int cmd_jitdump(int argc, char **argv)
{
	struct reading r = { .fd = -1 };
	int status = parse(&r, argc, argv), err;

	if (status >= 0)
		return status;
	status = EXIT_OK;
	err = set_up(&r);
	if (!err)
		err = open_file(&r);
	if (!err && r.lookup)
		status = jitdump_lookup__read(&r.questions);
	if (!err && status == EXIT_OK)
		err = read_file(&r);
	if (err) {
		pr_err("%s: %s", r.path, strerror(-err));
		status = EXIT_FAILED;
	} else if (status == EXIT_OK) {
		status = finish(&r);
		if (r.lookup && answer(&r) != EXIT_OK)
			status = EXIT_FAILED;
	}
	tear_down(&r);
	return status;
}
