/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map: what it holds, who writes it, who reads it, how it is sized. */
#ifndef EBOLT_MAPS_BPF_H
#define EBOLT_MAPS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "config.bpf.h"

/*
 * A struct cpu_state a CPU, by CPU number. An array rather than a per-CPU array: its look-up is
 * inlined on every kernel, and user space can map it, so that reading a counter is a load and
 * not a bpf() call, during which the kernel drops the samples of that CPU.
 * Written by on_sample, read by user space. Sized by the number of possible CPUs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpu_states SEC(".maps");

/*
 * The samples: struct rec_sample, written by on_sample, drained by user space every 100 ms.
 * Sized by the CPUs, the frequency and the longest stall that shall lose nothing.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} samples SEC(".maps");

/*
 * Process id -> enum target_state: what is recorded, when not everything is. User space puts the
 * first ones in, the task programs add their children and remove who has gone.
 * Preallocated, since the samples' context can't allocate; one element where it is not in use.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

static __always_inline struct cpu_state *this_cpu_state(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpu_states, &cpu);
}

#endif
