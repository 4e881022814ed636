// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least that a sampler can do: walk both stacks and send them. What ebolt's program costs is
 * measured against this. No filter, no accounting, no word about the task but what the
 * stacks need; no header either.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define STACK_BYTES (127 * 8)

struct scratch {
	__u64 ips[2 * 127];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024); /* CPUs */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);
} stacks SEC(".maps");

SEC("perf_event")
int minimal(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	long kernel, user;

	if (!s)
		return 0;
	kernel = bpf_get_stack(ctx, s->ips, STACK_BYTES, 0);
	kernel = kernel > 0 ? kernel & STACK_BYTES : 0;
	user = bpf_get_stack(ctx, (void *)s->ips + kernel, STACK_BYTES, BPF_F_USER_STACK);
	user = user > 0 ? user & STACK_BYTES : 0;
	bpf_ringbuf_output(&stacks, s->ips, kernel + user, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
