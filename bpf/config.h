/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the BPF programs are told, once, before they are loaded. The verifier sees these as
 * constants and removes what they switch off, so an option that is not in use costs nothing.
 * Types only; both sides include it (after record.h, for the integer types).
 */
#ifndef EBOLT_CONFIG_H
#define EBOLT_CONFIG_H

#include "record.h"

struct bpf_config {
	__u64 grid_period;  /* ns between two fires of a clock event; 0: not a clock event */
	__u32 max_stack;    /* frames of a stack at which the kernel cuts it, 1..REC_STACK_MAX */
	__u32 page_shift;   /* of this machine: pages are 1 << this bytes */
	__u8 targets_only;  /* only processes in the targets map */
	__u8 no_kernel;	    /* filter samples of kernel mode, no kernel frames */
	__u8 no_user;	    /* filter samples of user mode, no user frames */
	__u8 include_idle;  /* idle tasks are sampled too */
	__u8 task_btf;	    /* bpf_get_current_task_btf() is there (Linux 5.11) */
	__u8 idle_switches; /* the idle task can be reached from the current one */
	__u8 pad[6];
};

#define TARGETS_MAX 16384

/* Values of the targets map; the keys are process ids of the initial pid namespace. */
enum target_state {
	TARGET_LIVE = 1,
	TARGET_EXITED = 2, /* its last thread is exiting; the kernel may still work for it */
};

/*
 * Where a CPU's clock event stands on its grid; see bpf/grid.bpf.h.
 */
struct cpu_grid {
	__u64 point;	     /* ns: the grid point of the last fire; 0: there was none yet */
	__u64 idle_switches; /* of this CPU's idle task, at the last fire */
	__u32 busy;	     /* the last fire was not in the idle task */
	__u32 pad;
};

struct cpu_counts {
#define STAT(name, kind, help) __u64 name;
#include "stats.def"
#undef STAT
};

#define SCRATCH_BYTES (sizeof(struct rec_sample) + 2 * REC_STACK_MAX * sizeof(__u64))

/*
 * All that a CPU's sampling program works on: one array element, which user space reads through
 * a mapping of the map. Only its own CPU writes it. Aligned so that CPUs don't share cache lines.
 */
struct cpu_state {
	struct cpu_counts counts; /* missed is signed here, and may be below 0 for a moment */
	struct cpu_grid grid;
	__u64 period_sum;  /* of all fires, those in the idle task included: events */
	__u64 period_last; /* of the last fire */
	__u64 nr_periods;  /* fires in period_sum */
	__u64 scratch[(SCRATCH_BYTES + 7) / 8]; /* the record that is being built */
} __attribute__((aligned(128)));

/*
 * What a CPU's task programs work on. They run with preemption off and never in an interrupt, so
 * one scratch a CPU is enough. The record stands in front of its path, which is put together from
 * the names on the way from the root; TASK_SLACK lets a name and the padding be written before
 * the end is looked at.
 */
#define TASK_PATH_BYTES 4096 /* PATH_MAX */
#define TASK_PATH_NAMES 256  /* components; paths of more are said to be too long */
#define TASK_NAME_MAX	255  /* NAME_MAX */
#define TASK_SLACK	280

struct task_cpu_state {
	__u64 lost;			 /* records that found no room in the ring */
	__u64 dentries[TASK_PATH_NAMES]; /* of the path, leaf first */
	__u64 rec[(sizeof(struct rec_mmap) + TASK_PATH_BYTES + TASK_SLACK + 7) / 8];
} __attribute__((aligned(128)));

#endif
