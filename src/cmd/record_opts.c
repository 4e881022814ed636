// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_opts.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "collect/features.h"

#define DEFAULT_FREQ 99

enum {
	OPT_BINARY = 256,
	OPT_KERNEL,
	OPT_NO_KERNEL,
	OPT_USER,
	OPT_NO_USER,
	OPT_INCLUDE_IDLE,
	OPT_NO_DEMANGLE,
	OPT_ANNOTATE,
	OPT_SRCLINE,
	OPT_BY_PID,
	OPT_BY_TID,
	OPT_RING_SIZE,
	OPT_DISABLE_FEATURE,
	OPT_BTF,
};

static const struct option long_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "freq", required_argument, NULL, 'F' },
	{ "count", required_argument, NULL, 'c' },
	{ "event", required_argument, NULL, 'e' },
	{ "duration", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "cpu", required_argument, NULL, 'C' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "binary", required_argument, NULL, OPT_BINARY },
	{ "kernel", no_argument, NULL, OPT_KERNEL },
	{ "no-kernel", no_argument, NULL, OPT_NO_KERNEL },
	{ "user", no_argument, NULL, OPT_USER },
	{ "no-user", no_argument, NULL, OPT_NO_USER },
	{ "include-idle", no_argument, NULL, OPT_INCLUDE_IDLE },
	{ "no-demangle", no_argument, NULL, OPT_NO_DEMANGLE },
	{ "annotate", no_argument, NULL, OPT_ANNOTATE },
	{ "srcline", no_argument, NULL, OPT_SRCLINE },
	{ "pid", no_argument, NULL, OPT_BY_PID },
	{ "tid", no_argument, NULL, OPT_BY_TID },
	{ "ring-size", required_argument, NULL, OPT_RING_SIZE },
	{ "disable-feature", required_argument, NULL, OPT_DISABLE_FEATURE },
	{ "btf", required_argument, NULL, OPT_BTF },
	{ 0 },
};

static const char help[] =
	"usage: ebolt record [TARGET] [OPTION]... -o OUT [-o OUT]... [-- COMMAND [ARG]...]\n"
	"\n"
	"Samples stacks on every CPU and writes profiles.\n"
	"\n"
	"  ebolt record -d 10 -o cpu.folded                    the whole machine, 10 seconds\n"
	"  ebolt record -F 997 -o cpu.folded -- make           a command and its children\n"
	"  ebolt record -p 1234 -d 30 -o a.folded --no-kernel  a running process, user code only\n"
	"  ebolt record -F 997 -o x.fdata --binary ./x -- ./x  a BOLT profile of ./x\n"
	"\n"
	"TARGET\n"
	"  -a, --all            every process (the default)\n"
	"  -p PID[,PID]...      these processes and their children\n"
	"  -- COMMAND           the command and its children; ebolt exits with its status\n"
	"\n"
	"OUT is PATH, the format taken from its ending, or FORMAT:PATH; - is standard output.\n"
	"  folded  .folded      a stack a line, with its count; for flame graphs\n"
	"  fdata   .fdata       a BOLT profile of the ELF file that --binary names\n"
	"\n"
	"SAMPLING\n"
	"  -F, --freq HZ        samples a second and CPU (default 99)\n"
	"  -c, --count PERIOD   a sample every PERIOD events (ns for cpu-clock)\n"
	"  -e, --event EVENT    cycles where the machine has it, else cpu-clock; also\n"
	"                       instructions, page-faults, context-switches and others\n"
	"  -d, --duration SEC   end after so many seconds (fractions too)\n"
	"  -C, --cpu LIST       only on these CPUs, such as 0-3,8\n"
	"      --no-kernel      leave out the kernel: its samples are filtered\n"
	"      --no-user        leave out user code: its samples are filtered\n"
	"      --include-idle   sample idle CPUs too\n"
	"      --ring-size SIZE sample ring, such as 8M (default: by CPUs and frequency)\n"
	"      --disable-feature NAME  take the fallback of a kernel feature; see doctor\n"
	"      --btf FILE       the kernel's types (BTF), where the kernel doesn't bring them\n"
	"\n"
	"OUTPUT\n"
	"      --binary ELF     the file that an fdata profile is of\n"
	"      --no-demangle    C++ and Rust names as they are in the file\n"
	"      --annotate       mark frames of the kernel by _[k], JIT code by _[j]\n"
	"      --srcline        JIT code with its source line, where its runtime tells it\n"
	"      --pid, --tid     keep processes or threads apart: comm-PID[/TID]\n"
	"  -q, --quiet          only errors and the ledger\n"
	"  -v, --verbose        more\n"
	"\n"
	"The last line on standard error is the ledger: fired = aggregated + filtered + lost.\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage; with a COMMAND, the command's own.\n";

static int usage_error(int *ret_status)
{
	*ret_status = EXIT_USAGE;
	return 1;
}

/* strtoull() and strtol() also take spaces and signs, and make the largest number of a negative
 * one. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A whole positive number; false with a message where it isn't one. */
static bool parse_u64(const char *what, const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno || !is_digit(text[0]) || *end || !*ret) {
		pr_err("%s %s: not a positive whole number", what, text);
		return false;
	}
	return true;
}

static bool parse_period(const char *text, uint64_t *ret)
{
	if (!parse_u64("-c", text, ret))
		return false;
	/* perf_event_open() refuses the rest. */
	if (*ret > INT64_MAX) {
		pr_err("-c %s: more than %lld", text, (long long)INT64_MAX);
		return false;
	}
	return true;
}

static bool parse_seconds(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	/* 100 years: also refuses infinity and what isn't a number. */
	if (end == text || *end || !(seconds > 0 && seconds < 100.0 * 365 * 86400)) {
		pr_err("-d %s: not a positive number of seconds", text);
		return false;
	}
	*ret_ns = seconds * NSEC_PER_SEC;
	if (!*ret_ns)
		*ret_ns = 1;
	return true;
}

static bool parse_size(const char *text, size_t *ret)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	unsigned int shift = 0;

	if (*end && !end[1])
		shift = *end == 'K' || *end == 'k'   ? 10
			: *end == 'M' || *end == 'm' ? 20
			: *end == 'G' || *end == 'g' ? 30
						     : 0;
	if (!is_digit(text[0]) || (*end && !shift) || !n || n >> (62 - shift)) {
		pr_err("--ring-size %s: not a size such as 512K or 8M", text);
		return false;
	}
	*ret = n << shift;
	return true;
}

static bool parse_pids(struct record_opts *o, const char *text)
{
	while (*text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (!is_digit(*text) || pid <= 0 || pid > INT32_MAX || (*end && *end != ',')) {
			pr_err("-p %s: not a list of process ids such as 12,34", text);
			return false;
		}
		if (o->nr_pids == RECORD_PIDS_MAX) {
			pr_err("-p: more than %d processes", RECORD_PIDS_MAX);
			return false;
		}
		o->pids[o->nr_pids++] = pid;
		text = *end ? end + 1 : end;
	}
	if (!o->nr_pids)
		pr_err("-p: no process id");
	return o->nr_pids;
}

static bool add_text(const char *what, const char **list, int *nr, int max, const char *text)
{
	if (*nr == max) {
		pr_err("%s: more than %d", what, max);
		return false;
	}
	list[(*nr)++] = text;
	return true;
}

struct parse {
	struct record_opts *o;
	bool all;
	int nr_features;
};

/* One option; false with a message where its argument is wrong. */
static bool take_option(struct parse *p, int c, const char *arg)
{
	struct record_opts *o = p->o;

	switch (c) {
	case 'a':
		p->all = true;
		return true;
	case 'p':
		return parse_pids(o, arg);
	case 'F':
		return parse_u64("-F", arg, &o->live.freq);
	case 'c':
		return parse_period(arg, &o->live.period);
	case 'e':
		o->live.event = arg;
		return true;
	case 'd':
		return parse_seconds(arg, &o->duration_ns);
	case 'o':
		return add_text("-o", o->outputs, &o->nr_outputs, RECORD_OUTPUTS_MAX, arg);
	case 'C':
		o->live.cpus = arg;
		return true;
	case 'q':
		log__set_level(LOG_ERR);
		return true;
	case 'v':
		log__set_level(LOG_DEBUG);
		return true;
	case OPT_BINARY:
		o->session.output.binary = arg;
		return true;
	case OPT_KERNEL:
	case OPT_NO_KERNEL:
		o->live.no_kernel = c == OPT_NO_KERNEL;
		return true;
	case OPT_USER:
	case OPT_NO_USER:
		o->live.no_user = c == OPT_NO_USER;
		return true;
	case OPT_INCLUDE_IDLE:
		o->live.include_idle = true;
		return true;
	case OPT_NO_DEMANGLE:
		o->session.resolve.no_demangle = true;
		return true;
	case OPT_ANNOTATE:
		o->session.output.annotate = true;
		return true;
	case OPT_SRCLINE:
		o->session.srcline = true;
		return true;
	case OPT_BY_PID:
		o->session.profile.by_pid = o->session.output.by_pid = true;
		return true;
	case OPT_BY_TID:
		o->session.profile.by_tid = o->session.output.by_tid = true;
		return true;
	case OPT_RING_SIZE:
		return parse_size(arg, &o->live.ring_bytes);
	case OPT_BTF:
		o->live.btf = arg;
		return true;
	case OPT_DISABLE_FEATURE:
		return add_text("--disable-feature", o->disable_features, &p->nr_features,
				RECORD_FEATURES_MAX, arg);
	}
	return false;
}

static bool is_disabled(const struct record_opts *o, enum feature feature)
{
	for (const char *const *name = o->disable_features; *name; name++)
		if (feature__by_name(*name) == feature)
			return true;
	return false;
}

/* What each option can't know of the others. */
static bool check_together(const struct parse *p, bool freq_given)
{
	const struct record_opts *o = p->o;

	if (!o->nr_outputs)
		pr_err("no output: say where to by -o, such as -o cpu.folded");
	else if (o->nr_pids && p->all)
		pr_err("-a and -p exclude each other: all processes, or these");
	else if (o->nr_pids && o->command)
		pr_err("-p and a command exclude each other");
	else if (freq_given && o->live.period)
		pr_err("-F and -c exclude each other: a frequency, or a period");
	else if (o->live.no_kernel && o->live.no_user)
		pr_err("--no-kernel and --no-user together leave nothing to sample");
	else
		return true;
	return false;
}

static bool check_live(const struct live_opts *o)
{
	_cleanup_free_ char *why = NULL;

	if (!live__check(o, &why))
		return true;
	pr_err("%s", why ? why : strerror(ENOMEM));
	return false;
}

int record_opts__parse(struct record_opts *o, int argc, char **argv, int *ret_status)
{
	struct parse p = { .o = o };
	int c;

	*o = (struct record_opts){ 0 };
	optind = 1;
	while ((c = getopt_long(argc, argv, "+ap:F:c:e:d:o:C:qvh", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			*ret_status = EXIT_OK;
			return 1;
		}
		if (!take_option(&p, c, optarg)) {
			/* getopt said what it didn't know. */
			if (c == '?')
				pr_err("see ebolt record --help");
			return usage_error(ret_status);
		}
	}
	if (optind < argc)
		o->command = argv + optind;
	if (!check_together(&p, o->live.freq))
		return usage_error(ret_status);
	if (!o->live.freq)
		o->live.freq = DEFAULT_FREQ;
	o->live.disable_features = o->disable_features;
	if (!check_live(&o->live))
		return usage_error(ret_status);
	o->session.no_kcmp = is_disabled(o, FEATURE_KCMP);
	o->session.no_map_files = is_disabled(o, FEATURE_MAP_FILES);
	o->live.targets_only = !p.all && (o->nr_pids || o->command);
	return 0;
}
