// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One event, opened on each CPU for all processes. Whether the idle task's fires are left out is
 * said in the attribute where the PMU knows how to (software events do; it saves running a program
 * for each), and checked again in BPF for the PMUs that refuse or ignore it.
 *
 * What the kernel answers to a wrong attribute is one of a few errno values, each with several
 * causes; telling the user which one it was makes up half of this file.
 */
#include "collect/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collect/perf_event.h"
#include "collect/why.h"

static const struct event_info events[] = {
#define HW(name, config, time_based)                                \
	{                                                           \
		name, PERF_TYPE_HARDWARE, config, false, time_based \
	}
#define SW(name, config)                                       \
	{                                                      \
		name, PERF_TYPE_SOFTWARE, config, false, false \
	}
#define CLOCK(name, config)                                  \
	{                                                    \
		name, PERF_TYPE_SOFTWARE, config, true, true \
	}
	HW("cycles", PERF_COUNT_HW_CPU_CYCLES, true),
	HW("instructions", PERF_COUNT_HW_INSTRUCTIONS, false),
	HW("cache-references", PERF_COUNT_HW_CACHE_REFERENCES, false),
	HW("cache-misses", PERF_COUNT_HW_CACHE_MISSES, false),
	HW("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false),
	HW("branch-misses", PERF_COUNT_HW_BRANCH_MISSES, false),
	HW("bus-cycles", PERF_COUNT_HW_BUS_CYCLES, true),
	HW("ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES, true),
	CLOCK("cpu-clock", PERF_COUNT_SW_CPU_CLOCK),
	CLOCK("task-clock", PERF_COUNT_SW_TASK_CLOCK),
	SW("page-faults", PERF_COUNT_SW_PAGE_FAULTS),
	SW("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN),
	SW("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	SW("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SW("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	SW("alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS),
	SW("emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS),
	/* perf's aliases; what is shown is the name above. */
	HW("cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, true),
	HW("branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false),
	SW("faults", PERF_COUNT_SW_PAGE_FAULTS),
	SW("cs", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SW("migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
};

const struct event_info *event_info__by_name(const char *name)
{
	const struct event_info *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(events) && !found; i++) {
		if (!strcmp(events[i].name, name))
			found = &events[i];
	}
	/* The first of its kind has the name proper. */
	for (size_t i = 0; found && i < ARRAY_SIZE(events); i++) {
		if (events[i].type == found->type && events[i].config == found->config)
			return &events[i];
	}
	return NULL;
}

const char *event_info__names(void)
{
	return "cycles, instructions, cache-references, cache-misses, branches, branch-misses, "
	       "bus-cycles, ref-cycles, cpu-clock, task-clock, page-faults, minor-faults, "
	       "major-faults, context-switches, cpu-migrations, alignment-faults, "
	       "emulation-faults";
}

/* One number of a list; -EINVAL where there is none. */
static int parse_cpu(const char **at)
{
	int cpu = 0;

	if (**at < '0' || **at > '9')
		return -EINVAL;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		cpu = cpu * 10 + (**at - '0');
		if (cpu >= CPUS_MAX)
			return -ERANGE;
	}
	return cpu;
}

static int add_cpu(struct cpu_list *l, int cpu)
{
	size_t i = l->cpus.len;

	while (i && l->cpus.data[i - 1] > cpu)
		i--;
	if (i && l->cpus.data[i - 1] == cpu)
		return 0;
	return vec_insert(&l->cpus, i, cpu);
}

static int parse_list(struct cpu_list *l, const char *at)
{
	for (;;) {
		int first = parse_cpu(&at), last = first, err = 0;

		if (first >= 0 && *at == '-') {
			at++;
			last = parse_cpu(&at);
		}
		if (first < 0 || last < 0)
			return first < 0 ? first : last;
		if (last < first)
			return -EINVAL;
		for (int cpu = first; cpu <= last && !err; cpu++)
			err = add_cpu(l, cpu);
		if (err)
			return err;
		if (*at == '\0' || (*at == '\n' && !at[1]))
			return 0;
		if (*at++ != ',')
			return -EINVAL;
	}
}

int cpu_list__parse(struct cpu_list *l, const char *text)
{
	int err;

	vec_init(&l->cpus, CPUS_MAX);
	err = parse_list(l, text);
	if (err)
		cpu_list__done(l);
	return err;
}

int cpu_list__read(struct cpu_list *l, const char *what)
{
	struct buf text;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", what);
	vec_init(&l->cpus, CPUS_MAX);
	buf__init(&text, 64 * 1024);
	err = buf__read_path(&text, path);
	if (!err)
		err = cpu_list__parse(l, text.data ? text.data : "");
	buf__done(&text);
	return err;
}

bool cpu_list__has(const struct cpu_list *l, int cpu)
{
	vec_for_each(&l->cpus, c) {
		if (*c == cpu)
			return true;
	}
	return false;
}

void cpu_list__done(struct cpu_list *l)
{
	vec_done(&l->cpus);
}

/* Why the kernel would not have this event; err is a negative errno. */
static char *why_not(const struct sampler_opts *o, int cpu, int err)
{
	long max_rate = why__sysctl("kernel/perf_event_max_sample_rate", -1);

	if (err == -EINVAL && !o->period && max_rate >= 0 && o->freq > (uint64_t)max_rate)
		return why__format("sampling at %llu Hz: above kernel.perf_event_max_sample_rate, "
				   "which is %ld; lower -F, or raise the limit by sysctl",
				   (unsigned long long)o->freq, max_rate);
	if (o->event->type == PERF_TYPE_HARDWARE &&
	    (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -EINVAL))
		return why__format("event %s: not supported on this machine (%s), which has no "
				   "such hardware counter, as in most virtual machines; "
				   "use -e cpu-clock",
				   o->event->name, strerror(-err));
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		return why__format("event %s: not supported by this kernel (%s); use -e cpu-clock",
				   o->event->name, strerror(-err));
	if (err == -EMFILE || err == -ENFILE)
		return why__format("event %s on CPU %d: %s; one descriptor a CPU is needed, "
				   "raise the limit (ulimit -n)",
				   o->event->name, cpu, strerror(-err));
	if (err == -EACCES || err == -EPERM)
		return why__permission("opening perf events for all processes", err);
	return why__format("event %s on CPU %d: perf_event_open: %s", o->event->name, cpu,
			   strerror(-err));
}

/* The descriptor, or a negative errno. */
static int open_one(const struct sampler *s, int cpu)
{
	struct perf_event_attr attr = {
		.type = s->event->type,
		.size = sizeof(attr),
		.config = s->event->config,
		.disabled = 1,
		.exclude_idle = !s->include_idle,
		/* What guests do is not this machine's code. */
		.exclude_guest = s->event->type == PERF_TYPE_HARDWARE,
		.freq = !s->period,
	};
	int fd;

	if (s->period)
		attr.sample_period = s->period;
	else
		attr.sample_freq = s->freq;
	fd = perf_event__open(&attr, -1, cpu);
	/* Some PMUs know no exclusion and refuse any. */
	if (fd < 0 && (errno == EINVAL || errno == EOPNOTSUPP || errno == EPERM) &&
	    (attr.exclude_idle || attr.exclude_guest)) {
		attr.exclude_idle = attr.exclude_guest = 0;
		fd = perf_event__open(&attr, -1, cpu);
	}
	return fd < 0 ? -errno : fd;
}

int sampler__open(struct sampler *s, const struct sampler_opts *o, char **ret_why)
{
	int err = 0;

	*s = (struct sampler){
		.event = o->event,
		.freq = o->freq,
		.period = o->period,
		.include_idle = o->include_idle,
	};
	vec_init(&s->cpus, CPUS_MAX);
	vec_for_each(&o->cpus->cpus, cpu) {
		int fd = open_one(s, *cpu);

		/* Linux says ENODEV for a CPU that is offline, and for some events. */
		if (fd == -ENODEV && o->cpus->cpus.len > 1)
			continue;
		err = fd < 0 ? fd
			     : vec_push(&s->cpus, (struct sampler_cpu){ .cpu = *cpu, .fd = fd });
		if (err && fd >= 0)
			close(fd);
		if (err) {
			*ret_why = why_not(o, *cpu, err);
			break;
		}
	}
	if (!err && !s->cpus.len) {
		err = -ENODEV;
		*ret_why = why_not(o, o->cpus->cpus.len ? o->cpus->cpus.data[0] : 0, err);
	}
	if (err)
		sampler__done(s);
	return err;
}

void sampler__done(struct sampler *s)
{
	vec_for_each(&s->cpus, c)
		close(c->fd);
	vec_done(&s->cpus);
}

struct sampler_cpu *sampler__on_cpu(struct sampler *s, int cpu)
{
	vec_for_each(&s->cpus, c) {
		if (c->cpu == cpu)
			return c;
	}
	return NULL;
}

int sampler__reopen(struct sampler *s, int cpu)
{
	struct sampler_cpu *c = sampler__on_cpu(s, cpu);
	uint64_t count = 0;
	int fd = open_one(s, cpu), err = 0;

	if (fd < 0)
		return fd;
	if (c) {
		sampler_cpu__count(c, &count);
		close(c->fd);
		c->fd = fd;
		c->count_before = count;
	} else {
		err = vec_push(&s->cpus, (struct sampler_cpu){ .cpu = cpu, .fd = fd });
		if (err)
			close(fd);
	}
	return err;
}

uint64_t sampler__grid_period(const struct sampler *s)
{
	uint64_t ns = s->period ? s->period : s->freq ? 1000000000 / s->freq : 0;

	if (!s->event->clock)
		return 0;
	/* perf_swevent_hrtimer() goes no faster than this. */
	return ns < 10000 ? 10000 : ns;
}

static int ioctl_all(struct sampler *s, unsigned long request)
{
	int err = 0;

	vec_for_each(&s->cpus, c) {
		if (ioctl(c->fd, request, 0) && !err)
			err = -errno;
	}
	return err;
}

int sampler__enable(struct sampler *s)
{
	return ioctl_all(s, PERF_EVENT_IOC_ENABLE);
}

int sampler__disable(struct sampler *s)
{
	return ioctl_all(s, PERF_EVENT_IOC_DISABLE);
}

int sampler_cpu__enable(const struct sampler_cpu *c)
{
	return ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int sampler_cpu__count(const struct sampler_cpu *c, uint64_t *ret)
{
	uint64_t count;
	ssize_t n = read(c->fd, &count, sizeof(count));

	if (n != sizeof(count))
		return n < 0 ? -errno : -EIO;
	*ret = c->count_before + count;
	return 0;
}
