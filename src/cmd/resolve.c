// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ebolt resolve: why does this address have this name? By the same code that names profiles.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "object/elf_file.h"
#include "object/symtab.h"
#include "proc/dso.h"
#include "proc/jit_files.h"
#include "proc/jit_message.h"
#include "proc/process.h"
#include "profile/demangle.h"
#include "profile/explain.h"

static const char help[] =
	"usage: ebolt resolve ELF OFF...\n"
	"       ebolt resolve -p PID ADDR...\n"
	"\n"
	"Says how an offset in a file, or an address of a running process, becomes a name.\n"
	"\n"
	"  ebolt resolve /bin/bash 0x3b2f0\n"
	"  ebolt resolve -p 1234 7f3a5c0218e0\n"
	"  grep -o '0x[0-9a-f]*' list | ebolt resolve ./x -\n"
	"\n"
	"Offsets and addresses are hexadecimal, with or without 0x; - reads them from standard\n"
	"input, one a line. Each gives a line:\n"
	"  OFF vaddr=0x... NAME+0x...     or     OFF unresolved: REASON\n"
	"and with -p or -v goes on with the numbers used: the mapping and the offset in the file;\n"
	"segment=OFF+SIZE@VADDR symbol=VADDR+SIZE, or the segments that claim the offset or are\n"
	"nearest to it (below=, above=); the file. JIT code is named by what its runtime has\n"
	"written of it, as it is now: ADDR NAME+0x... mapping=... jit\n"
	"\n"
	"  -p PID           addresses of this process, as it is now\n"
	"  -v, --verbose    each step as a calculation, and the symbol as the file states it\n"
	"      --no-demangle\n"
	"\n"
	"Exit status: 0 all resolved, 1 some not, 2 wrong usage.\n";

struct resolver {
	bool no_demangle, verbose;
	pid_t pid; /* 0: of a file */
	/* of a file */
	int fd;
	/* of a process */
	bool has_tables; /* of a process: dsos and what follows */
	struct dso_table dsos;
	struct process_table procs;
	struct process *process;
	struct jit_files *jit;
	/* the file whose symbols are at hand */
	uint32_t dso;
	struct elf_file *elf;
	struct symtab *symtab;
	bool failed;
};

static void print_name(const struct resolver *r, const struct explanation *ex)
{
	_cleanup_free_ char *plain = r->no_demangle ? NULL : demangle__name(ex->symbol.name);

	printf("%s+0x%" PRIx64, plain ? plain : ex->symbol.name, ex->vaddr - ex->symbol.value);
}

/* "0xOFF vaddr=... NAME+..." or the reason. */
static void print_result(struct resolver *r, const char *text, const struct explanation *ex)
{
	printf("%s ", text);
	if (ex->reason == NAME_SYMBOL) {
		printf("vaddr=0x%" PRIx64 " ", ex->vaddr);
		print_name(r, ex);
	} else {
		printf("unresolved: %s", name_reason__text(ex->reason));
		r->failed = true;
	}
}

static void print_segment(const char *name, const struct elf_load *l)
{
	if (l->filesz)
		printf(" %s=0x%" PRIx64 "+0x%" PRIx64 "@0x%" PRIx64, name, l->off, l->filesz,
		       l->vaddr);
}

/* The numbers that the result was made from, those of the mapping apart. */
static void print_numbers(const struct explanation *ex)
{
	switch (ex->reason) {
	case NAME_SYMBOL:
	case NAME_NO_SYMBOL:
		if (ex->reason == NAME_NO_SYMBOL)
			printf(" vaddr=0x%" PRIx64, ex->vaddr);
		print_segment("segment", &ex->load);
		break;
	case NAME_AMBIGUOUS:
		print_segment("segment", &ex->load);
		print_segment("segment", &ex->other);
		break;
	case NAME_NO_SEGMENT:
		print_segment("below", &ex->load);
		print_segment("above", &ex->other);
		break;
	}
	if (ex->reason == NAME_SYMBOL)
		printf(" symbol=0x%" PRIx64 "+0x%" PRIx64, ex->symbol.value, ex->symbol.size);
}

/* The same as a calculation. */
static void print_steps(const struct resolver *r, const struct explanation *ex, uint64_t off)
{
	if (!r->verbose || (ex->reason != NAME_SYMBOL && ex->reason != NAME_NO_SYMBOL))
		return;
	printf("  segment: offset 0x%" PRIx64 " + 0x%" PRIx64 ", vaddr 0x%" PRIx64 "\n",
	       ex->load.off, ex->load.filesz, ex->load.vaddr);
	printf("  vaddr:   0x%" PRIx64 " - 0x%" PRIx64 " + 0x%" PRIx64 " = 0x%" PRIx64 "\n", off,
	       ex->load.off, ex->load.vaddr, ex->vaddr);
	if (ex->reason == NAME_SYMBOL)
		printf("  symbol:  %s [0x%" PRIx64 ", 0x%" PRIx64 ")\n", ex->symbol.name,
		       ex->symbol.value, ex->symbol.value + ex->symbol.size);
}

static void resolve_off(struct resolver *r, const char *text, uint64_t off)
{
	struct explanation ex;

	explain__off(r->elf, r->symtab, off, NULL, NULL, 0, &ex);
	print_result(r, text, &ex);
	/* The line alone is what scripts read. */
	if (r->verbose)
		print_numbers(&ex);
	putchar('\n');
	print_steps(r, &ex, off);
}

/* Makes a DSO's symbols those at hand; the reason where there are none. */
static enum name_reason use_dso(struct resolver *r, uint32_t index)
{
	const struct dso *d = &r->dsos.dsos.data[index];
	struct symtab_opts opts = { .path = d->path };

	if (r->dso != index) {
		symtab__free(r->symtab);
		elf_file__close(r->elf);
		r->symtab = NULL;
		r->elf = NULL;
		r->dso = index;
		if (!dso_table__elf(&r->dsos, index, &r->elf))
			symtab__load(r->elf, &opts, &r->symtab);
	}
	if (r->elf)
		return NAME_SYMBOL;
	return d->fd >= 0 ? NAME_NOT_ELF : NAME_NO_FILE;
}

/* A runtime's name may hold anything. */
static void put_name(const char *name)
{
	for (; *name; name++)
		putchar((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

/* Does what its runtime says of its JIT code hold for the address? Then prints it. */
static bool resolve_jit(struct resolver *r, const char *text, uint64_t addr,
			const struct mapping *m)
{
	struct jit_space *space = r->process->jit;
	struct jit_hit hit;

	if (!space || !jit_space__lookup(space, clock__now(), addr, m ? m->since : 0, &hit) ||
	    hit.start < process__code_floor(r->process, addr))
		return false;
	printf("%s ", text);
	put_name(hit.name[0] ? hit.name : "[jit]");
	printf("+0x%" PRIx64, addr - hit.start);
	if (hit.file) {
		printf(" line=");
		put_name(hit.file);
		printf(":%" PRIu32, hit.line);
	}
	if (m)
		printf(" mapping=0x%" PRIx64 "-0x%" PRIx64, m->start, m->end);
	puts(" jit");
	return true;
}

static enum name_reason why_anon(const struct resolver *r)
{
	if (!r->process->jit)
		return NAME_ANON;
	switch (jit_space__why(r->process->jit, clock__now())) {
	case JIT_WHY_NO_MARKER:
		return NAME_JIT_NO_MARKER;
	case JIT_WHY_REFUSED:
		return NAME_JIT_REFUSED;
	case JIT_WHY_NO_ENTRY:
		return NAME_JIT_NO_ENTRY;
	default:
		return NAME_ANON;
	}
}

static void resolve_addr(struct resolver *r, const char *text, uint64_t addr)
{
	const struct mapping *m = process__lookup(r->process, addr);
	struct explanation ex = { .reason = NAME_NO_MAPPING };
	struct elf_mapped own;
	const struct dso *d;
	uint64_t off;

	if (resolve_jit(r, text, addr, m))
		return;
	if (vsyscall__holds(addr))
		ex.reason = NAME_VSYSCALL;
	else if (m && m->kind == MAPPING_ANON)
		ex.reason = why_anon(r);
	if (!m || m->kind == MAPPING_ANON) {
		print_result(r, text, &ex);
		if (m)
			printf(" mapping=0x%" PRIx64 "-0x%" PRIx64, m->start, m->end);
		putchar('\n');
		return;
	}
	off = addr - m->start + m->pgoff;
	own = (struct elf_mapped){ m->start, m->end - m->start, m->pgoff };
	ex.reason = use_dso(r, m->dso);
	d = &r->dsos.dsos.data[m->dso];
	if (ex.reason == NAME_SYMBOL)
		explain__off(r->elf, r->symtab, off, &own, d->mapped, d->nr_mapped, &ex);
	print_result(r, text, &ex);
	printf(" mapping=0x%" PRIx64 "-0x%" PRIx64 " pgoff=0x%" PRIx64 " off=0x%" PRIx64, m->start,
	       m->end, m->pgoff, off);
	print_numbers(&ex);
	printf("%s dso=", m->moved ? " moved" : "");
	put_name(d->path);
	putchar('\n');
	if (r->verbose)
		printf("  off:     0x%" PRIx64 " - 0x%" PRIx64 " + 0x%" PRIx64 " = 0x%" PRIx64 "\n",
		       addr, m->start, m->pgoff, off);
	print_steps(r, &ex, off);
}

/* One offset or address; false with a message where it is none. */
static bool resolve_text(struct resolver *r, const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 16);
	if (errno || end == text || *end || text[0] == '-') {
		pr_err("%s: not a hexadecimal number", text);
		return false;
	}
	if (r->pid)
		resolve_addr(r, text, value);
	else
		resolve_off(r, text, value);
	return true;
}

static bool resolve_stdin(struct resolver *r)
{
	/* A number takes less; what is cut to this length isn't one. */
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		char *at = line + strspn(line, " \t"), *end = at + strcspn(at, " \t\r\n");
		bool blank = *end && end == at;

		*end = '\0';
		if (!blank && !resolve_text(r, at))
			return false;
	}
	if (ferror(stdin)) {
		pr_err("standard input: %s", strerror(errno));
		r->failed = true;
	}
	return true;
}

static int open_elf(struct resolver *r, const char *path)
{
	struct symtab_opts opts = { .path = path };
	int err;

	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = r->fd < 0 ? -errno : elf_file__open_fd(r->fd, &r->elf);
	if (err) {
		pr_err("%s: %s", path, err == -ENOEXEC ? "not an ELF file" : strerror(-err));
		return err;
	}
	err = symtab__load(r->elf, &opts, &r->symtab);
	if (err)
		pr_warn("%s: its symbols can't be read: %s", path, strerror(-err));
	return 0;
}

static void read_jit(struct resolver *r)
{
	struct jit_message m;
	struct buf text;

	jit_files__poll_last(r->jit);
	while (jit_files__message(r->jit, &m)) {
		buf__init(&text, 16384);
		jit_message__format(&m, &text);
		if (text.data && jit_message__is_warning(&m))
			pr_warn("%s", text.data);
		buf__done(&text);
	}
}

static int open_process(struct resolver *r)
{
	int err;

	r->has_tables = true;
	err = dso_table__init(&r->dsos);
	if (err)
		return err;
	process_table__init(&r->procs, &r->dsos);
	r->jit = jit_files__new(&r->dsos, true);
	if (!r->jit)
		return -ENOMEM;
	r->procs.jit = r->jit;
	r->process = process_table__read(&r->procs, r->pid);
	if (!r->process)
		pr_err("-p %d: no such process, or its mappings can't be read (as root they can)",
		       r->pid);
	else
		read_jit(r);
	return r->process ? 0 : -ESRCH;
}

static void close_all(struct resolver *r)
{
	symtab__free(r->symtab);
	elf_file__close(r->elf);
	if (r->has_tables) {
		process_table__done(&r->procs);
		jit_files__free(r->jit);
		dso_table__done(&r->dsos);
	}
	cleanup__close(&r->fd);
}

static bool parse_pid(const char *text, pid_t *ret)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > INT32_MAX) {
		pr_err("-p %s: not a process id", text);
		return false;
	}
	*ret = pid;
	return true;
}

/* The exit status to end with, or -1 to go on. */
static int parse(struct resolver *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "no-demangle", no_argument, NULL, 'D' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "p:vh", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			if (!parse_pid(optarg, &r->pid))
				return EXIT_USAGE;
			break;
		case 'v':
			r->verbose = true;
			break;
		case 'D':
			r->no_demangle = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			pr_err("see ebolt resolve --help");
			return EXIT_USAGE;
		}
	}
	if (argc - optind < (r->pid ? 1 : 2)) {
		pr_err("nothing to resolve; see ebolt resolve --help");
		return EXIT_USAGE;
	}
	return -1;
}

int cmd_resolve(int argc, char **argv)
{
	struct resolver r = { .fd = -1, .dso = UINT32_MAX };
	int status = parse(&r, argc, argv), err;
	bool understood = true;

	if (status >= 0)
		return status;
	err = r.pid ? open_process(&r) : open_elf(&r, argv[optind++]);
	for (int i = optind; !err && understood && i < argc; i++)
		understood = strcmp(argv[i], "-") ? resolve_text(&r, argv[i]) : resolve_stdin(&r);
	if (fflush(stdout) || ferror(stdout)) {
		pr_err("standard output: %s", strerror(errno));
		err = -EIO;
	}
	close_all(&r);
	return !understood ? EXIT_USAGE : err || r.failed ? EXIT_FAILED : EXIT_OK;
}
