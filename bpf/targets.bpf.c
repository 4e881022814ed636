// SPDX-License-Identifier: GPL-2.0-only
/*
 * Following the children of what is recorded: keeps the targets map, whose keys are process ids.
 *
 * A process that a target creates becomes one before it runs for the first time. task_newtask
 * tells threads from processes (its clone flags), which sched_process_fork does not: there a new
 * thread would look like a child, and leave its tid in the map when exec gives it another one.
 *
 * An entry must live as long as the process id means this process, and no longer. The exit of
 * the last thread is too early to remove it: much of the work of ending a process, the freeing of
 * its memory, comes after. So that only marks the entry, and it goes when the process is freed,
 * which is after it was reaped, but also after its id may have been given to another process. For
 * that case a new process that is no target's child loses what stands under its id, and one that
 * is a target's child is not marked, so the late free of its predecessor leaves it alone.
 *
 * Each hook is there twice: as a classic tracepoint, which is never skipped, and as a raw one for
 * where tracefs can't be had to look up the tracepoint's number. Raw ones are skipped
 * when another BPF program is active on the CPU, which preemptible kernels let happen.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "maps.bpf.h"

static __always_inline int task_new(__u32 pid, __u64 clone_flags)
{
	__u32 parent = bpf_get_current_pid_tgid() >> 32, live = TARGET_LIVE;
	struct cpu_state *s;

	if (clone_flags & CLONE_THREAD)
		return 0;
	if (!bpf_map_lookup_elem(&targets, &parent)) {
		if (bpf_map_lookup_elem(&targets, &pid))
			bpf_map_delete_elem(&targets, &pid);
		return 0;
	}
	if (bpf_map_update_elem(&targets, &pid, &live, BPF_ANY)) {
		s = this_cpu_state();
		if (s)
			__sync_fetch_and_add(&s->counts.targets_full, 1);
	}
	return 0;
}

static __always_inline int task_exit(void)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	__u32 pid = bpf_get_current_pid_tgid() >> 32, *state;

	if (BPF_CORE_READ(t, signal, live.counter))
		return 0; /* other threads go on */
	state = bpf_map_lookup_elem(&targets, &pid);
	if (state)
		*state = TARGET_EXITED;
	return 0;
}

/* tid is that of any task; only a thread group leader's is a process id. */
static __always_inline int task_free(__u32 tid)
{
	__u32 *state = bpf_map_lookup_elem(&targets, &tid);

	if (state && *state == TARGET_EXITED)
		bpf_map_delete_elem(&targets, &tid);
	return 0;
}

SEC("tracepoint")
int on_new(struct trace_event_raw_task_newtask *ctx)
{
	return task_new(ctx->pid, ctx->clone_flags);
}

SEC("tracepoint")
int on_exit(void *ctx)
{
	return task_exit();
}

SEC("tracepoint")
int on_free(struct trace_event_raw_sched_process_template *ctx)
{
	return task_free(ctx->pid);
}

/* Arguments: the new task, the clone flags. */
SEC("raw_tp/task_newtask")
int on_new_raw(__u64 *ctx)
{
	return task_new(BPF_CORE_READ((struct task_struct *)ctx[0], pid), ctx[1]);
}

SEC("raw_tp/sched_process_exit")
int on_exit_raw(void *ctx)
{
	return task_exit();
}

SEC("raw_tp/sched_process_free")
int on_free_raw(__u64 *ctx)
{
	return task_free(BPF_CORE_READ((struct task_struct *)ctx[0], pid));
}

char LICENSE[] SEC("license") = "GPL";
