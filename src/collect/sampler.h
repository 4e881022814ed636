/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampling event: one perf event a CPU, that fires into a BPF program.
 */
#ifndef EBOLT_COLLECT_SAMPLER_H
#define EBOLT_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define CPUS_MAX 8192 /* the largest NR_CPUS of any architecture */

struct cpu_list {
	VEC(int) cpus; /* ascending, each once */
};

/*
 * Parses a list as the kernel writes them, "0-3,8" (a line end may follow). 0; -EINVAL: not such
 * a list; -ERANGE: a CPU number of CPUS_MAX or above; -ENOMEM. The list is empty on failure.
 */
int cpu_list__parse(struct cpu_list *l, const char *text);
/* /sys/devices/system/cpu/WHAT: "online", "possible", ... */
int cpu_list__read(struct cpu_list *l, const char *what);
bool cpu_list__has(const struct cpu_list *l, int cpu);
void cpu_list__done(struct cpu_list *l);

/* The events that can be asked for by name, in perf's words. */
struct event_info {
	const char *name;
	uint32_t type;	 /* PERF_TYPE_* */
	uint64_t config; /* PERF_COUNT_* */
	bool clock;	 /* fires from a timer: period in ns, on a grid */
	bool time_based; /* counts time or cycles */
};

const struct event_info *event_info__by_name(const char *name); /* NULL: there is none */
/* "cycles, instructions, ..." for messages. */
const char *event_info__names(void);

struct sampler_opts {
	const struct event_info *event;
	uint64_t freq;	 /* Hz; used when period is 0 */
	uint64_t period; /* events a sample; 0: by freq */
	bool include_idle;
	const struct cpu_list *cpus; /* to open on; those that went offline are skipped */
};

struct sampler_cpu {
	int cpu;
	int fd;
	uint64_t count_before; /* of the events before this one, as the CPU went and came back */
};

struct sampler {
	const struct event_info *event;
	uint64_t freq, period;
	bool include_idle;
	VEC(struct sampler_cpu) cpus;
};

/*
 * Opens the event on each CPU, disabled. 0, or a negative errno and *ret_why (allocated; what
 * failed, why, the remedy). -ENOENT, -EOPNOTSUPP or -ENODEV: this machine doesn't have the event.
 */
int sampler__open(struct sampler *s, const struct sampler_opts *opts, char **ret_why);
void sampler__done(struct sampler *s);

/* The CPU's event, or NULL. Borrowed until the next reopening. */
struct sampler_cpu *sampler__on_cpu(struct sampler *s, int cpu);

/*
 * Opens the event, disabled, on a CPU that came online, in place of the one that it had before. 0;
 * -ENODEV: it is offline; another negative errno.
 */
int sampler__reopen(struct sampler *s, int cpu);

/* ns between two fires where the event is a clock, else 0. */
uint64_t sampler__grid_period(const struct sampler *s);

/* On all CPUs. 0 or a negative errno. After disabling, no program runs any more. */
int sampler__enable(struct sampler *s);
int sampler__disable(struct sampler *s);

/* One CPU's event. 0 or a negative errno. */
int sampler_cpu__enable(const struct sampler_cpu *c);

/* The event's own count on a CPU since it was first enabled. 0 or a negative errno. */
int sampler_cpu__count(const struct sampler_cpu *c, uint64_t *ret);

#endif
