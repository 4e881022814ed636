// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ebolt doctor: what this machine allows, a line each: "ok", "degraded" (works, with a fallback
 * or less to see) or "missing" (sampling can't work), what it is, and the remedy.
 *
 * The last line is no deduction: it opens the live source as a recording would, and the exit
 * status follows it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "collect/features.h"
#include "collect/perf_event.h"
#include "collect/sampler.h"
#include "collect/why.h"
#include "source/live.h"

enum verdict {
	OK,
	DEGRADED,
	MISSING,
};

static void say(enum verdict v, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(enum verdict v, const char *what, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "degraded", "missing" };
	va_list ap;

	printf("%-8s  %s: ", words[v], what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static bool is_at_least(const struct utsname *u, int major, int minor)
{
	int have_major = 0, have_minor = 0;

	sscanf(u->release, "%d.%d", &have_major, &have_minor);
	return have_major > major || (have_major == major && have_minor >= minor);
}

static void check_kernel(const char *btf)
{
	struct utsname u;

	uname(&u);
	if (is_at_least(&u, 5, 10))
		say(OK, "kernel", "Linux %s", u.release);
	else
		say(MISSING, "kernel", "Linux %s; 5.10 or later is needed", u.release);
	if (!btf)
		btf = "/sys/kernel/btf/vmlinux";
	if (!access(btf, R_OK))
		say(OK, "BTF", "%s", btf);
	else
		say(MISSING, "BTF",
		    "%s: %s; the kernel must be built with CONFIG_DEBUG_INFO_BTF, or its BTF be "
		    "in a file that --btf names",
		    btf, strerror(errno));
	if (why__in_initial_pid_ns())
		say(OK, "pid namespace", "the initial one");
	else
		say(MISSING, "pid namespace",
		    "not the initial one; run on the host, or in a container with the host's "
		    "(--pid=host)");
	if (why__in_initial_time_ns())
		say(OK, "time namespace", "the initial one");
	else
		say(MISSING, "time namespace",
		    "not the initial one; run outside of it (nsenter --time=/proc/1/ns/time)");
}

static void check_capabilities(void)
{
	static const struct {
		const char *name;
		int cap;
		int instead; /* grants it too; -1: nothing does */
		enum verdict without;
		const char *use;
	} caps[] = {
		{ "CAP_BPF", CAP_BPF, CAP_SYS_ADMIN, MISSING, "loads BPF programs" },
		{ "CAP_PERFMON", CAP_PERFMON, CAP_SYS_ADMIN, MISSING, "opens perf events" },
		{ "CAP_CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, DEGRADED,
		  "opens deleted and memfd files by /proc/PID/map_files" },
		{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, -1, DEGRADED,
		  "opens the files of other users' processes and of containers" },
		{ "CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, DEGRADED,
		  "reads binaries that are not readable for all" },
		{ "CAP_SYSLOG", CAP_SYSLOG, -1, DEGRADED, "sees kernel addresses in kallsyms" },
		{ "CAP_IPC_LOCK", CAP_IPC_LOCK, -1, DEGRADED,
		  "maps perf rings above kernel.perf_event_mlock_kb" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		bool has = why__has_cap(caps[i].cap) ||
			   (caps[i].instead >= 0 && why__has_cap(caps[i].instead));

		if (has)
			say(OK, caps[i].name, "%s", caps[i].use);
		else
			say(caps[i].without, caps[i].name, "%s; run as root, or with it",
			    caps[i].use);
	}
}

/* Kernel symbols: whether their addresses are shown to us. */
static bool kallsyms_visible(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	bool visible = false;

	for (int i = 0; f && i < 1000 && !visible; i++)
		visible = fscanf(f, "%llx%*[^\n]", &addr) == 1 && addr;
	return visible;
}

static void check_settings(void)
{
	long paranoid = why__sysctl("kernel/perf_event_paranoid", 2);
	long kptr = why__sysctl("kernel/kptr_restrict", 0);
	long rate = why__sysctl("kernel/perf_event_max_sample_rate", -1);
	long stack = why__sysctl("kernel/perf_event_max_stack", REC_STACK_MAX);
	const char *lockdown = why__lockdown();
	bool privileged = why__has_cap(CAP_PERFMON) || why__has_cap(CAP_SYS_ADMIN);

	if (privileged || paranoid < 0)
		say(OK, "kernel.perf_event_paranoid", "%ld", paranoid);
	else
		say(MISSING, "kernel.perf_event_paranoid",
		    "%ld forbids this user to sample; run as root or with CAP_PERFMON", paranoid);
	if (kallsyms_visible())
		say(OK, "kernel.kptr_restrict", "%ld, kernel symbols can be read", kptr);
	else
		say(DEGRADED, "kernel.kptr_restrict",
		    "%ld hides kernel addresses, kernel frames stay unnamed; run as root, or "
		    "set it to 1 or 0",
		    kptr);
	if (!strcmp(lockdown, "confidentiality"))
		say(MISSING, "lockdown",
		    "confidentiality, which forbids BPF to read kernel memory; boot with "
		    "lockdown=integrity or without");
	else
		say(OK, "lockdown", "%s", lockdown);
	if (rate < 0 || rate >= 99)
		say(OK, "kernel.perf_event_max_sample_rate", "%ld Hz", rate);
	else
		say(DEGRADED, "kernel.perf_event_max_sample_rate",
		    "%ld Hz, below the default of 99; raise it by sysctl, or use -F %ld", rate,
		    rate);
	if (stack >= REC_STACK_MAX)
		say(OK, "kernel.perf_event_max_stack", "%ld frames (%d are kept)", stack,
		    REC_STACK_MAX);
	else
		say(DEGRADED, "kernel.perf_event_max_stack",
		    "%ld frames, stacks are cut there; raise it to %d by sysctl", stack,
		    REC_STACK_MAX);
}

static void check_limits(void)
{
	struct rlimit memlock = { 0 }, nofile = { 0 };
	struct utsname u;

	uname(&u);
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	getrlimit(RLIMIT_NOFILE, &nofile);
	if (is_at_least(&u, 5, 11) || memlock.rlim_cur == RLIM_INFINITY ||
	    why__has_cap(CAP_SYS_RESOURCE))
		say(OK, "locked memory", "not a limit here");
	else
		say(DEGRADED, "locked memory",
		    "%llu KiB, from which this kernel takes BPF maps; raise it (ulimit -l "
		    "unlimited), or run with CAP_SYS_RESOURCE",
		    (unsigned long long)memlock.rlim_cur / 1024);
	say(OK, "open files", "%llu", (unsigned long long)nofile.rlim_cur);
}

static bool cycles_open(bool branches)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.size = sizeof(attr),
		.disabled = 1,
		.sample_period = 1000000,
		.sample_type = branches ? PERF_SAMPLE_BRANCH_STACK : 0,
		.branch_sample_type = branches ? PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER
					       : 0,
	};
	/* Of this process, not of a CPU, which might be offline. */
	_cleanup_close_ int fd = perf_event__open(&attr, 0, -1);

	return fd >= 0;
}

static void check_hardware(void)
{
	if (cycles_open(false))
		say(OK, "PMU", "hardware cycles");
	else
		say(DEGRADED, "PMU",
		    "no hardware cycles (%s), cpu-clock is used instead; in a virtual machine "
		    "the host must pass its PMU through",
		    strerror(errno));
	if (cycles_open(true))
		say(OK, "branch stacks", "taken branches are recorded by the hardware");
	else
		say(DEGRADED, "branch stacks",
		    "none (%s), BOLT profiles are from samples alone (no_lbr)", strerror(errno));
}

static void check_features(const char *btf)
{
	struct features f;
	const char *unknown;

	features__probe(&f, NULL, btf, &unknown);
	for (int i = 0; i < FEATURES; i++) {
		const struct feature_info *info = &feature_infos[i];

		if (f.has[i])
			say(OK, info->name, "%s", info->help);
		else
			say(DEGRADED, info->name, "not to be had: %s; in use: %s", info->help,
			    info->fallback);
	}
}

static int check_sampling(const char *btf)
{
	struct live_opts opts = { .freq = 99, .btf = btf };
	_cleanup_free_ char *why = NULL;
	struct source *src;

	if (live__open(&opts, &src, &why)) {
		say(MISSING, "sampling", "%s", why ? why : "out of memory");
		return EXIT_FAILED;
	}
	say(OK, "task records", "%s",
	    live__tasks_by_bpf(src) ? "by BPF programs on kprobes"
				    : "from the perf side-band, which every kernel has");
	say(OK, "sampling", "%s on every CPU, programs loaded and attached", live__event_name(src));
	source__free(src);
	return EXIT_OK;
}

static void usage(FILE *f)
{
	fputs("usage: ebolt doctor [--btf FILE]\n\n"
	      "Says what this machine allows, a line each: ok, degraded (works with less) or\n"
	      "missing, and the remedy. Exits with 0 when sampling is possible, else with 1.\n\n"
	      "The features among the lines can be switched off by ebolt record\n"
	      "--disable-feature NAME. --btf names a file with the kernel's types, for kernels\n"
	      "that don't bring them.\n",
	      f);
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "btf", required_argument, NULL, 'b' },
		{ 0 },
	};
	const char *btf = NULL;
	int opt;

	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) == 'b')
		btf = optarg;
	if (opt == 'h') {
		usage(stdout);
		return EXIT_OK;
	}
	if (opt == ':') {
		pr_err("doctor: --btf: which file?");
		return EXIT_USAGE;
	}
	if (opt != -1 || optind != argc) {
		pr_err("doctor: %s: it takes no such argument", argv[optind < argc ? optind : 1]);
		return EXIT_USAGE;
	}
	check_kernel(btf);
	check_capabilities();
	check_settings();
	check_limits();
	check_hardware();
	check_features(btf);
	return check_sampling(btf);
}
