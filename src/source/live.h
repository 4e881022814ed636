/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live source: sampling by BPF, task records from BPF or the perf side-band.
 *
 * Order of use: live__open() loads everything and attaches the task sources (task records are
 * kept from here on); the caller reads /proc for what already runs; live__add_targets()
 * for the processes to record; ops->start() begins sampling; ops->dispatch() whenever ops->fd() is
 * readable; ops->stop(); ops->free().
 */
#ifndef EBOLT_SOURCE_LIVE_H
#define EBOLT_SOURCE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/source.h"

struct live_opts {
	const char *event; /* "cycles", "cpu-clock", ...; NULL: cycles where there is a PMU, else
			      cpu-clock */
	uint64_t freq;	   /* Hz; used when period is 0 */
	uint64_t period;   /* events a sample; 0: by freq */
	const char *cpus;  /* a list such as "0-3,8"; NULL: all online */
	bool targets_only; /* only what live__add_targets names, and children */
	bool no_kernel;	   /* samples in kernel mode are filtered, no kernel frames */
	bool no_user;	   /* samples in user mode are filtered, no user frames */
	bool include_idle; /* sample the idle tasks too */
	size_t ring_bytes; /* sample ring; 0: sized by CPUs and frequency */
	const char *const *disable_features; /* NULL-terminated; see collect/features.h */
	const char *btf; /* the kernel's types, where it doesn't bring them; NULL: it does */
};

/*
 * What can be known to be wrong of the options alone, on any machine: an unknown event or feature,
 * what is no list of CPUs. 0, or -EINVAL and *ret_why, as below.
 */
int live__check(const struct live_opts *opts, char **ret_why);

/*
 * Loads, opens and attaches. On failure a negative errno, and *ret_why (allocated, for the
 * caller to free; NULL for want of memory) says what failed, on what, why, and the remedy.
 */
int live__open(const struct live_opts *opts, struct source **ret, char **ret_why);

/*
 * Records these processes, their children, and those to come. 0 or a negative errno (-E2BIG: full);
 * *ret_failed, then: of which process, or 0.
 */
int live__add_targets(struct source *src, const pid_t *pids, size_t nr, pid_t *ret_failed);

/* What is being sampled: "cpu-clock" etc. */
const char *live__event_name(const struct source *src);
bool live__event_is_time_based(const struct source *src); /* cycles or clock: BOLT normalises */
/* Whether task records come from BPF programs, not from the perf side-band. */
bool live__tasks_by_bpf(const struct source *src);
/* Notes for the user about fallbacks in use, one a line; NULL where there are none. Borrowed. */
const char *live__notes(const struct source *src);

/* Per CPU, for -v: prints through the callback "cpu N: fired=.. missed=..". */
void live__for_each_cpu(struct source *src,
			void (*fn)(void *ctx, int cpu, uint64_t fired, uint64_t missed), void *ctx);

#endif
