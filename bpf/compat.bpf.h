/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, each with the release that changed it.
 *
 * Reading the current task: since Linux 5.11 bpf_get_current_task_btf() gives a pointer that the
 * verifier knows the type of, and a field is one load instruction. Before, each is a call of
 * bpf_probe_read_kernel(). config.task_btf is constant, so only one of the two is left
 * after the verifier.
 */
#ifndef EBOLT_COMPAT_BPF_H
#define EBOLT_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "config.h"
#include "maps.bpf.h"

/* What a sample says of its task beyond what helpers tell. */
struct task_facts {
	__u64 start_boottime; /* of the thread group leader, ns */
	__u32 pid_level;      /* depth of its pid namespace; 0: the initial one */
	__u32 mnt_ns;	      /* inode number; 0 for a task that has none any more */
	struct pid *leader_pid;
};

#define TASK_FACTS(t, READ)                                              \
	((struct task_facts){                                            \
		.start_boottime = READ(t, group_leader, start_boottime), \
		.pid_level = READ(t, group_leader, thread_pid, level),   \
		.mnt_ns = READ(t, nsproxy, mnt_ns, ns.inum),             \
		.leader_pid = READ(t, group_leader, thread_pid),         \
	})

/* BPF_CORE_READ's words for direct loads. */
#define LOAD_2(t, a)				 ((t)->a)
#define LOAD_3(t, a, b)				 ((t)->a->b)
#define LOAD_4(t, a, b, c)			 ((t)->a->b->c)
#define LOAD_5(t, a, b, c, d)			 ((t)->a->b->c->d)
#define LOAD_PICK(_1, _2, _3, _4, _5, name, ...) name
#define LOAD(...)				 LOAD_PICK(__VA_ARGS__, LOAD_5, LOAD_4, LOAD_3, LOAD_2)(__VA_ARGS__)

static __always_inline struct task_facts current_task_facts(void)
{
	if (config.task_btf) {
		struct task_struct *t = (void *)bpf_get_current_task_btf();

		return TASK_FACTS(t, LOAD);
	} else {
		struct task_struct *t = (void *)bpf_get_current_task();

		return TASK_FACTS(t, BPF_CORE_READ);
	}
}

/* The number of a struct pid in its own namespace. */
static __always_inline __u32 pid_inner_number(const struct pid *pid, __u32 level)
{
	const void *at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) +
			 (__u64)level * bpf_core_type_size(struct upid) +
			 bpf_core_field_offset(struct upid, nr);
	__u32 nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), at);
	return nr;
}

/*
 * How often this CPU's idle task has left the CPU. The way there is the run queue of the current
 * task's group: per-CPU kernel variables (runqueues) can't be used where kallsyms has no data
 * symbols (CONFIG_KALLSYMS_ALL). Without CONFIG_FAIR_GROUP_SCHED there is no such way;
 * config.idle_switches says so (collect/features.c).
 */
static __always_inline __u64 idle_switches(void)
{
	if (!bpf_core_field_exists(struct cfs_rq, rq))
		return 0;
	if (config.task_btf) {
		struct task_struct *t = (void *)bpf_get_current_task_btf();

		return t->se.cfs_rq->rq->idle->nivcsw;
	} else {
		struct task_struct *t = (void *)bpf_get_current_task();

		return BPF_CORE_READ(t, se.cfs_rq, rq, idle, nivcsw);
	}
}

#endif
