// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A BOLT profile without branch stacks, of one binary:
 *
 *	no_lbr cycles
 *	1 name offset count
 *
 * "1" says that a symbol follows; the offset is hexadecimal, from the start of the BOLT function;
 * the count is decimal (llvm/bolt DataReader, checked by runs of BOLT 19). llvm-bolt believes every
 * line: an unknown name and an offset past a function's end pass silently and are lost. So nothing
 * is written that bolt_symtab didn't find in the very binary, and what it didn't find is told.
 *
 * Samples are the binary's by its build-id, else by device and inode; a name proves nothing. Only
 * the leaf counts: BOLT wants to know where time is spent, not who called.
 *
 * The binary's symbols are read to check it before the recording, and again to write: they may
 * be large, and a recording long. The descriptor stays open, so both are of the same file.
 */
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "object/elf_file.h"
#include "output/fdata.h"
#include "proc/dso.h"
#include "profile/profile.h"

#define LINE_MAX_BYTES (4u << 20) /* of one record; ELF names may be long */
/* Escaped it can be twice as long, and numbers follow. */
#define NAME_LEN_MAX (LINE_MAX_BYTES / 2 - 256)
#define NOTES_MAX    (1u << 20)

struct fdata {
	char *path;
	int fd;
	struct stat st;
	struct elf_file *elf;
};

/* Samples at one offset of the binary's file. */
struct hit {
	uint32_t dso;
	uint8_t mapped; /* as struct frame's */
	uint64_t off;
	uint64_t count;
};

struct record {
	struct bolt_function function; /* its name is borrowed from the symbols */
	uint64_t off;		       /* in the function */
	uint64_t count;
};

/* Why a sample in the binary is in no record. */
enum miss {
	MISS_GAP,	/* between BOLT functions */
	MISS_NO_CODE,	/* not in a section of code */
	MISS_NO_VADDR,	/* no executable segment holds the offset */
	MISS_AMBIGUOUS, /* more than one does */
	MISS_NAME,	/* in a function with a name beyond reason */
	MISSES,
};

static const char *const miss_texts[MISSES] = {
	[MISS_GAP] = "between functions",
	[MISS_NO_CODE] = "outside the sections of code",
	[MISS_NO_VADDR] = "at offsets that no executable segment holds",
	[MISS_AMBIGUOUS] = "at offsets that several segments claim",
	[MISS_NAME] = "in functions whose names are longer than 2 MB",
};

struct writer {
	const struct fdata *fd;
	const struct output_input *in;
	struct bolt_symtab *symtab;
	uint8_t *matches; /* enum match of each DSO */
	VEC(struct hit) hits;
	VEC(struct record) records;
	uint64_t samples;		  /* in the binary's own code */
	uint64_t in_kernel, other_layout; /* not among them */
	uint64_t missed[MISSES];
	bool seen;
};

enum match {
	MATCH_NO,
	MATCH_YES,
	MATCH_OTHER_LAYOUT, /* the same build-id, but not the same segments */
};

static __attribute__((format(printf, 2, 3))) void why(char **ret_why, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(ret_why, fmt, ap);
	va_end(ap);
	if (n < 0)
		*ret_why = NULL;
}

/* ---- the binary ---------------------------------------------------------------------------- */

static void fdata__free(void *state)
{
	struct fdata *fd = state;

	if (!fd)
		return;
	elf_file__close(fd->elf);
	if (fd->fd >= 0)
		close(fd->fd);
	free(fd->path);
	free(fd);
}

static int open_binary(struct fdata *fd, char **ret_why)
{
	int err;

	/* Not to hang on a FIFO: what it is shows only once it is open. */
	fd->fd = open(fd->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd->fd < 0 || fstat(fd->fd, &fd->st)) {
		err = -errno;
		why(ret_why,
		    "can't read %s, which the fdata profile is to be of: %s; check --binary",
		    fd->path, strerror(-err));
		return err;
	}
	if (!S_ISREG(fd->st.st_mode)) {
		why(ret_why, "%s isn't a regular file; --binary wants the ELF file that runs",
		    fd->path);
		return -EINVAL;
	}
	err = elf_file__open_fd(fd->fd, &fd->elf);
	if (err == -ENOEXEC)
		why(ret_why,
		    "%s isn't an ELF file; --binary wants the ELF file that runs, not a script "
		    "that starts it",
		    fd->path);
	else if (err)
		why(ret_why, "can't read %s as an ELF file: %s; check --binary", fd->path,
		    strerror(-err));
	return err;
}

static int load_symbols(const struct fdata *fd, struct bolt_symtab **ret, char **ret_why)
{
	const char *reason = NULL;
	int err = bolt_symtab__load(fd->elf, ret, &reason);

	if (err == -ENOTSUP && reason)
		why(ret_why, "no BOLT profile can be made of %s: %s", fd->path, reason);
	else if (err == -EBADMSG)
		why(ret_why,
		    "can't read the symbols of %s: its ELF tables are broken; build or copy "
		    "it again",
		    fd->path);
	else if (err)
		why(ret_why, "can't read the symbols of %s: %s", fd->path, strerror(-err));
	return err;
}

static int fdata__prepare(const struct output_opts *opts, void **ret_state, char **ret_why)
{
	struct bolt_symtab *symtab = NULL;
	struct fdata *fd;
	int err;

	if (!opts->binary) {
		why(ret_why, "an fdata profile is of one binary; name it by --binary ELF");
		return -EINVAL;
	}
	fd = calloc(1, sizeof(*fd));
	if (!fd)
		return -ENOMEM;
	fd->fd = -1;
	fd->path = strdup(opts->binary);
	err = fd->path ? open_binary(fd, ret_why) : -ENOMEM;
	if (!err)
		err = load_symbols(fd, &symtab, ret_why);
	bolt_symtab__free(symtab);
	if (err) {
		fdata__free(fd);
		return err;
	}
	*ret_state = fd;
	return 0;
}

/* ---- which samples are the binary's ---------------------------------------------------------- */

static bool same_segments(const struct elf_file *a, const struct elf_file *b)
{
	size_t nr_a, nr_b;
	const struct elf_load *x = elf_file__loads(a, &nr_a), *y = elf_file__loads(b, &nr_b);

	if (nr_a != nr_b)
		return false;
	for (size_t i = 0; i < nr_a; i++)
		if (x[i].off != y[i].off || x[i].vaddr != y[i].vaddr ||
		    x[i].filesz != y[i].filesz || x[i].exec != y[i].exec)
			return false;
	return true;
}

static bool same_inode(const struct fdata *fd, const struct dso *dso)
{
	struct stat st;

	if (dso->id.ino == fd->st.st_ino && dso->id.maj == major(fd->st.st_dev) &&
	    dso->id.min == minor(fd->st.st_dev))
		return true;
	/* Mappings may state another device and inode than stat does (overlayfs). */
	return dso->fd >= 0 && !fstat(dso->fd, &st) && st.st_dev == fd->st.st_dev &&
	       st.st_ino == fd->st.st_ino;
}

static enum match match_dso(const struct writer *w, uint32_t index)
{
	const struct build_id *want = elf_file__build_id(w->fd->elf), *have;
	const struct dso *dso = &w->in->dsos->dsos.data[index];
	struct elf_file *elf = NULL;
	enum match m;

	if (dso->kind != DSO_FILE)
		return MATCH_NO;
	if (dso_table__elf(w->in->dsos, index, &elf))
		return same_inode(w->fd, dso) ? MATCH_YES : MATCH_NO;
	have = elf_file__build_id(elf);
	if (!want->len || !have->len)
		m = same_inode(w->fd, dso) ? MATCH_YES : MATCH_NO;
	else if (want->len != have->len || memcmp(want->bytes, have->bytes, want->len))
		m = MATCH_NO;
	else
		m = same_segments(w->fd->elf, elf) ? MATCH_YES : MATCH_OTHER_LAYOUT;
	elf_file__close(elf);
	return m;
}

static int match_dsos(struct writer *w)
{
	size_t nr = w->in->dsos->dsos.len;

	w->matches = calloc(nr ? nr : 1, sizeof(*w->matches));
	if (!w->matches)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		w->matches[i] = match_dso(w, i);
		if (w->matches[i] == MATCH_YES)
			w->seen = true;
	}
	return 0;
}

static int add_stack(struct writer *w, const struct stack *s, const uint32_t *frames)
{
	const struct profile *p = w->in->profile;
	const struct frame *f;

	if (!s->nr_user)
		return 0;
	f = &p->frames.data[frames[s->nr_kernel]];
	if (f->kind != FRAME_NATIVE || w->matches[f->dso] == MATCH_NO)
		return 0;
	if (w->matches[f->dso] == MATCH_OTHER_LAYOUT) {
		w->other_layout += s->nr_kernel ? 0 : s->count;
		return 0;
	}
	if (s->nr_kernel) {
		w->in_kernel += s->count;
		return 0;
	}
	w->samples += s->count;
	return vec_push(&w->hits, (struct hit){ .dso = f->dso,
						.off = f->off,
						.mapped = f->mapped,
						.count = s->count });
}

static int by_place(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->dso != y->dso)
		return x->dso < y->dso ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->mapped - y->mapped;
}

/* One hit for each place, out of one for each stack. */
static int collect_hits(struct writer *w)
{
	struct stack_iter it;
	size_t kept = 0;
	int err = 0;

	stack_iter__init(&it, w->in->profile);
	while (!err && (err = stack_iter__next(&it)) > 0)
		err = add_stack(w, it.stack, it.frames);
	stack_iter__done(&it);
	if (err)
		return err;
	if (w->hits.len)
		qsort(w->hits.data, w->hits.len, sizeof(*w->hits.data), by_place);
	vec_for_each(&w->hits, h) {
		struct hit *last = kept ? &w->hits.data[kept - 1] : NULL;

		if (last && !by_place(last, h))
			last->count += h->count;
		else
			w->hits.data[kept++] = *h;
	}
	w->hits.len = kept;
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static int add_record(struct writer *w, const struct hit *h)
{
	const struct dso *dso = &w->in->dsos->dsos.data[h->dso];
	struct bolt_function f;
	uint64_t vaddr;
	int err;

	err = elf_file__off_to_vaddr_in(w->fd->elf, h->off, dso__mapped(dso, h->mapped),
					dso->mapped, dso->nr_mapped, &vaddr);
	if (err) {
		w->missed[err == -ENOTUNIQ ? MISS_AMBIGUOUS : MISS_NO_VADDR] += h->count;
		return 0;
	}
	if (!bolt_symtab__lookup(w->symtab, vaddr, &f)) {
		bool code = bolt_symtab__gap(w->symtab, vaddr) == BOLT_GAP_CODE;

		w->missed[code ? MISS_GAP : MISS_NO_CODE] += h->count;
		return 0;
	}
	if (strnlen(f.name, NAME_LEN_MAX + 1) > NAME_LEN_MAX) {
		w->missed[MISS_NAME] += h->count;
		return 0;
	}
	return vec_push(
		&w->records,
		(struct record){ .function = f, .off = vaddr - f.vaddr, .count = h->count });
}

static int by_name_and_off(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	int order = strcmp(x->function.name, y->function.name);

	if (order)
		return order;
	if (x->function.local != y->function.local)
		return x->function.local < y->function.local ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return 0;
}

static int make_records(struct writer *w)
{
	size_t kept = 0;

	vec_for_each(&w->hits, h) {
		int err = add_record(w, h);

		if (err)
			return err;
	}
	if (w->records.len)
		qsort(w->records.data, w->records.len, sizeof(*w->records.data), by_name_and_off);
	vec_for_each(&w->records, r) {
		struct record *last = kept ? &w->records.data[kept - 1] : NULL;

		if (last && !by_name_and_off(last, r))
			last->count += r->count;
		else
			w->records.data[kept++] = *r;
	}
	w->records.len = kept;
	return 0;
}

void fdata__put_name(struct buf *out, const struct bolt_function *f)
{
	for (const char *c = f->name; *c; c++) {
		if (*c == ' ' || *c == '\\')
			buf__putc(out, '\\');
		buf__putc(out, *c);
	}
	if (f->local)
		buf__printf(out, "/%" PRIu32, f->local);
}

void fdata__put_event(struct buf *out, const char *event_name, bool time_based)
{
	const char *name = event_name && *event_name ? event_name : "unknown";

	if (time_based && !strstr(name, "cycles") && !strstr(name, "instructions"))
		name = "cycles";
	/* Events are separated by spaces, and the line ends the list. */
	for (; *name; name++)
		buf__putc(out, *name <= ' ' || *name == 0x7f ? '_' : *name);
}

static int put_records(const struct writer *w, FILE *f, uint64_t *ret_samples)
{
	const struct output_opts *opts = w->in->opts;
	uint64_t samples = 0;
	struct buf line;
	int err;

	errno = 0;
	buf__init(&line, LINE_MAX_BYTES);
	buf__puts(&line, "no_lbr ");
	fdata__put_event(&line, opts->event_name, opts->time_based);
	buf__putc(&line, '\n');
	vec_for_each(&w->records, r) {
		if (buf__error(&line) || fwrite(line.data, 1, line.len, f) != line.len)
			break;
		buf__clear(&line);
		buf__puts(&line, "1 ");
		fdata__put_name(&line, &r->function);
		buf__printf(&line, " %" PRIx64 " %" PRIu64 "\n", r->off, r->count);
		samples += r->count;
	}
	err = buf__error(&line);
	if (!err && (fwrite(line.data, 1, line.len, f) != line.len || fflush(f) || ferror(f)))
		err = errno ? -errno : -EIO;
	buf__done(&line);
	if (!err)
		*ret_samples = samples;
	return err;
}

/* ---- what people are told -------------------------------------------------------------------- */

static void put_notes(const struct writer *w, struct buf *out)
{
	const char *path = w->fd->path, *sep = "";
	uint64_t missed = 0;

	for (int i = 0; i < MISSES; i++)
		missed += w->missed[i];
	if (missed) {
		buf__printf(out,
			    "fdata: %" PRIu64 " of %" PRIu64
			    " samples in %s are in no BOLT function (",
			    missed, w->samples, path);
		for (int i = 0; i < MISSES; i++) {
			if (!w->missed[i])
				continue;
			buf__printf(out, "%s%" PRIu64 " %s", sep, w->missed[i], miss_texts[i]);
			sep = ", ";
		}
		buf__puts(out, ")\n");
	}
	if (w->other_layout)
		buf__printf(out,
			    "fdata: left out %" PRIu64
			    " samples of a file that has the build-id of %s but "
			    "other segments\n",
			    w->other_layout, path);
	if (bolt_symtab__has_relocs(w->symtab))
		buf__printf(out, "fdata: %s has relocations, so BOLT can reorder its functions\n",
			    path);
	else
		buf__printf(out,
			    "fdata: %s has no relocations: BOLT can't reorder its functions, only "
			    "blocks in them; link with -Wl,--emit-relocs\n",
			    path);
	/* One a line, the last without an end. */
	if (out->len)
		out->data[--out->len] = '\0';
}

static int no_data(const struct writer *w, char **ret_why)
{
	const char *path = w->fd->path;

	if (w->samples)
		why(ret_why,
		    "%s was sampled %" PRIu64
		    " times, but never in a function that BOLT knows (%" PRIu64
		    " between functions, %" PRIu64 " outside the sections of code, %" PRIu64
		    " at unknown offsets, %" PRIu64 " in functions with too long names)",
		    path, w->samples, w->missed[MISS_GAP], w->missed[MISS_NO_CODE],
		    w->missed[MISS_NO_VADDR] + w->missed[MISS_AMBIGUOUS], w->missed[MISS_NAME]);
	else if (w->seen)
		why(ret_why,
		    "%s ran, but no sample hit its own code (%" PRIu64
		    " were in the kernel on its behalf); sample longer, faster, or under load",
		    path, w->in_kernel);
	else if (w->other_layout)
		why(ret_why,
		    "%s was never seen running: what ran has its build-id but other segments; "
		    "give the very file that runs",
		    path);
	else
		why(ret_why,
		    "%s was never seen running; it is recognised by its build-id, or by device and "
		    "inode: give the very file that runs, and run it while sampling",
		    path);
	return -ENODATA;
}

static int write_profile(struct writer *w, FILE *f, struct output_result *ret, char **ret_why)
{
	struct buf notes;
	int err;

	err = load_symbols(w->fd, &w->symtab, ret_why);
	if (!err)
		err = match_dsos(w);
	if (!err)
		err = collect_hits(w);
	if (!err)
		err = make_records(w);
	if (err)
		return err;
	if (!w->records.len)
		return no_data(w, ret_why);
	err = put_records(w, f, &ret->samples);
	if (err)
		return err;
	buf__init(&notes, NOTES_MAX);
	put_notes(w, &notes);
	ret->notes = notes.data;
	return 0;
}

static int fdata__write(void *state, const struct output_input *in, FILE *f,
			struct output_result *ret, char **ret_why)
{
	struct writer w = { .fd = state, .in = in };
	int err;

	vec_init(&w.hits, PROFILE_STACKS_MAX);
	vec_init(&w.records, PROFILE_STACKS_MAX);
	err = write_profile(&w, f, ret, ret_why);
	vec_done(&w.hits);
	vec_done(&w.records);
	free(w.matches);
	bolt_symtab__free(w.symtab);
	return err;
}

const struct output_format output_fdata = {
	.name = "fdata",
	.ending = ".fdata",
	.prepare = fdata__prepare,
	.write = fdata__write,
	.free = fdata__free,
};
