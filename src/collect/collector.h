/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of the BPF programs: configured, loaded, attached, read, freed.
 */
#ifndef EBOLT_COLLECT_COLLECTOR_H
#define EBOLT_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bpf/config.h"
#include "collect/features.h"

struct collector;

struct collector_opts {
	struct bpf_config config; /* max_stack, task_btf and idle_switches are filled in */
	size_t ring_bytes;	  /* of the sample ring; rounded up to a power of two of pages */
	const struct features *features;
};

/*
 * Loads the programs; with targets_only also attaches those that follow children. 0, or a negative
 * errno and *ret_why (allocated).
 */
int collector__open(const struct collector_opts *opts, struct collector **ret, char **ret_why);
void collector__free(struct collector *c);

/* Lets the event (borrowed) fire into the sampling program. */
int collector__attach(struct collector *c, int perf_fd);
/* Before the event is closed, while the collector goes on. */
void collector__detach(struct collector *c, int perf_fd);

/* The sample ring's map, borrowed, and its size. */
int collector__ring_fd(const struct collector *c);
size_t collector__ring_bytes(const struct collector *c);

/* What the CPU's program wrote; changes under the reader while it runs. NULL: no such CPU. */
const struct cpu_state *collector__cpu_state(const struct collector *c, int cpu);
size_t collector__nr_cpus(const struct collector *c); /* possible ones: 0 to this - 1 */

/* Targets by process id. 0, -EEXIST (it is one), -E2BIG: the table is full, or another errno. */
int collector__add_target(struct collector *c, pid_t pid);
bool collector__is_target(const struct collector *c, pid_t pid);
void collector__remove_target(struct collector *c, pid_t pid);

#endif
