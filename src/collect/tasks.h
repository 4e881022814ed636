/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The task records of the machine, from the better of the two sources that this kernel allows:
 * BPF programs on kprobes, else the perf side-band. Records of kernel text (ksymbol) come from the
 * side-band in either case, since the kernel only makes them for it.
 */
#ifndef EBOLT_COLLECT_TASKS_H
#define EBOLT_COLLECT_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/record.h"
#include "collect/features.h"
#include "collect/sampler.h"

struct tasks;

/*
 * Opens on these CPUs (those online; records are kept from here on). Where FEATURE_TASK_KPROBES is
 * there and yet fails, it is taken off the features, and *ret_note (allocated, else NULL) says
 * why. 0, or a negative errno and *ret_why (allocated).
 */
int tasks__open(struct features *features, const struct cpu_list *cpus, struct tasks **ret,
		char **ret_note, char **ret_why);
void tasks__free(struct tasks *t);

/*
 * Goes on on a CPU that came online; to be called right after a drain. *ret_lost: records of what
 * happened on it since it came may be missing. 0; -ENODEV: it is offline; another negative errno.
 */
int tasks__reopen(struct tasks *t, int cpu, bool *ret_lost);

/* Readable when there are records. Stays so until tasks__settle() and a drain. */
int tasks__fd(const struct tasks *t);

/* As sideband__settle(). */
void tasks__settle(struct tasks *t);

/*
 * Passes on what has come, in no order: records borrowed for the call, and a REC_LOST where some
 * were lost. A failing callback's record counts as lost. Returns the number of records.
 */
size_t tasks__drain(struct tasks *t, int (*fn)(void *ctx, const struct rec_hdr *rec), void *ctx);

/* Whether the last drain ended before a record that was still being written. */
bool tasks__blocked(const struct tasks *t);

/* Records lost so far, exact where the kernel counts them. */
uint64_t tasks__lost(const struct tasks *t);
/* Asks the kernel for what a drain only asks for at need. */
void tasks__update_lost(struct tasks *t);

/* Bytes of all rings, for bounds. */
size_t tasks__ring_bytes(const struct tasks *t);

#endif
