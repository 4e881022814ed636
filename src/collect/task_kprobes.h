/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Task records by BPF (bpf/task.bpf.c): the same records as the side-band's, with what the
 * side-band doesn't tell. For kernels that let their notification points be probed.
 */
#ifndef EBOLT_COLLECT_TASK_KPROBES_H
#define EBOLT_COLLECT_TASK_KPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/record.h"

struct task_kprobes;

struct task_kprobes_opts {
	size_t ring_bytes; /* a power of two of pages; 0: by the number of CPUs */
	const char *btf;   /* as in collect/features.h */
};

/*
 * Whether a program can be attached to the first of the hooks, and the kernel counts its runs that
 * it skips. Leaves nothing behind.
 */
bool task_kprobes__can_attach(void);

/*
 * Loads and attaches: records are kept from here on. 0, or a negative errno and *ret_why
 * (allocated).
 */
int task_kprobes__open(const struct task_kprobes_opts *opts, struct task_kprobes **ret,
		       char **ret_why);
void task_kprobes__free(struct task_kprobes *tk);

/* Readable while there are records. */
int task_kprobes__fd(const struct task_kprobes *tk);

/*
 * Passes on what the ring holds, about in order of time: records in the form of bpf/record.h,
 * borrowed for the call; and a REC_LOST where records were lost since the last drain. A failing
 * callback's record counts as lost; a REC_LOST is tried again in the next drain. Returns the number
 * of records.
 */
size_t task_kprobes__drain(struct task_kprobes *tk, int (*fn)(void *ctx, const struct rec_hdr *rec),
			   void *ctx);

/* Whether the last drain ended before a record that was still being written. */
bool task_kprobes__blocked(const struct task_kprobes *tk);

/*
 * Task records lost so far: the ring was full, or the kernel skipped a program.
 */
uint64_t task_kprobes__lost(const struct task_kprobes *tk);

/* Bytes of the ring, for bounds. */
size_t task_kprobes__ring_bytes(const struct task_kprobes *tk);

#endif
