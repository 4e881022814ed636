// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sampling program: runs on every fire of the sampling event, in interrupt or NMI context.
 *
 * It must be quick and must account for itself. First the cheap tests (idle, mode, targets), and
 * only then the stack walks, straight into the record that stands in the CPU's scratch; the
 * record goes out at its exact size, without waking the reader, which comes by on a timer.
 * Every fire ends in submit(), which counts what became of it: fired is always the sum of
 * what was sent, filtered and lost.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "record.h"
#include "config.h"
#include "maps.bpf.h"
#include "compat.bpf.h"
#include "grid.bpf.h"

#define STACK_BYTES (REC_STACK_MAX * sizeof(__u64))

/* A mask bounds a length by STACK_BYTES in one instruction, since it is all ones above bit 2. */
_Static_assert((STACK_BYTES & (STACK_BYTES + 8)) == 0, "STACK_BYTES + 8 is a power of two");
_Static_assert(sizeof(struct rec_sample) % 8 == 0, "frames are aligned");
_Static_assert(sizeof(struct cpu_state) % 128 == 0, "CPUs don't share cache lines");

enum result {
	SENT,
	FILTERED_TARGET,
	FILTERED_MODE,
	RING_FULL,
	RING_BUSY,
};

static __always_inline int submit(struct cpu_state *s, enum result result)
{
	s->counts.fired++;
	if (result == FILTERED_TARGET)
		s->counts.filtered_target++;
	else if (result == FILTERED_MODE)
		s->counts.filtered_mode++;
	else if (result == RING_FULL)
		s->counts.ring_full++;
	else if (result == RING_BUSY)
		s->counts.ring_busy++;
	return 0;
}

/*
 * Both give -EAGAIN: no room, and a lock that can't be waited for in this context. A record and its
 * header of 8 bytes must leave the ring short of full.
 */
static __always_inline enum result why_not_sent(__u64 len)
{
	__u64 used = bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE);

	return used + len + 8 >= size ? RING_FULL : RING_BUSY;
}

/*
 * Walks one stack to *at; the bytes written. No stack (a kernel thread's user side) is 0. In exec
 * the user's is not to be asked for, once the registers are of another image than the memory.
 */
static __always_inline __u32 walk(void *ctx, void *at, __u64 flags)
{
	long n = bpf_get_stack(ctx, at, STACK_BYTES, flags);

	return n > 0 ? n & STACK_BYTES : 0;
}

static __always_inline void describe_task(struct rec_sample *rec, __u64 pid_tgid)
{
	struct task_facts t = current_task_facts();

	rec->pid = pid_tgid >> 32;
	rec->tid = (__u32)pid_tgid;
	rec->start_ticks = t.start_boottime / NS_PER_TICK;
	rec->cgroup_id = bpf_get_current_cgroup_id();
	rec->inner_pid = t.pid_level ? pid_inner_number(t.leader_pid, t.pid_level) : rec->pid;
	rec->mnt_ns = t.mnt_ns;
	bpf_get_current_comm(rec->comm, sizeof(rec->comm));
}

static __always_inline enum result sample(struct bpf_perf_event_data *ctx, struct cpu_state *s,
					  __u64 now, __u64 pid_tgid)
{
	struct rec_sample *rec = (void *)s->scratch;
	bool user_mode = regs_user_mode(&ctx->regs);
	__u32 kernel = 0, user = 0, pid = pid_tgid >> 32;
	__u16 flags = user_mode ? REC_F_USER_MODE : 0;
	__u64 len;

	if (user_mode ? config.no_user : config.no_kernel)
		return FILTERED_MODE;
	if (config.targets_only && !bpf_map_lookup_elem(&targets, &pid))
		return FILTERED_TARGET;

	if (!config.no_kernel && !user_mode)
		kernel = walk(ctx, s->scratch + sizeof(*rec) / 8, 0);
	if (!config.no_user && (user_mode || !user_regs_are_of_old_image()))
		user = walk(ctx, (void *)s->scratch + sizeof(*rec) + kernel, BPF_F_USER_STACK);
	if (kernel / 8 >= config.max_stack)
		flags |= REC_F_KERNEL_TRUNCATED;
	if (user / 8 >= config.max_stack)
		flags |= REC_F_USER_TRUNCATED;
	if (config.include_idle && !(__u32)pid_tgid)
		flags |= REC_F_IDLE;

	len = sizeof(*rec) + kernel + user;
	rec->hdr.type = REC_SAMPLE;
	rec->hdr.flags = flags;
	rec->hdr.length = len;
	rec->hdr.time = now;
	rec->hdr.cpu = bpf_get_smp_processor_id();
	rec->period = ctx->sample_period;
	rec->nr_kernel = kernel / 8;
	rec->nr_user = user / 8;
	describe_task(rec, pid_tgid);

	if (bpf_ringbuf_output(&samples, rec, len, BPF_RB_NO_WAKEUP))
		return why_not_sent(len);
	return SENT;
}

/*
 * How many fires of this CPU there should have been. A clock event's fires stand on a grid; for
 * any other event user space compares the event's own count with the sum of the periods.
 */
static __always_inline void account(struct bpf_perf_event_data *ctx, struct cpu_state *s, __u64 now,
				    bool busy)
{
	if (!config.grid_period) {
		s->period_last = ctx->sample_period;
		s->period_sum += s->period_last;
		s->nr_periods++;
	} else if (config.idle_switches) {
		s->counts.missed +=
			grid__fire(&s->grid, config.grid_period, now, busy, idle_switches());
	}
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();
	bool idle = !(__u32)pid_tgid;
	struct cpu_state *s = this_cpu_state();

	if (!s)
		return 0; /* can't be: there is an element for every possible CPU */
	account(ctx, s, now, !idle);
	/* The event leaves idle out where its PMU knows how to; here for those that don't. */
	if (idle && !config.include_idle)
		return 0;
	return submit(s, sample(ctx, s, now, pid_tgid));
}

char LICENSE[] SEC("license") = "GPL";
