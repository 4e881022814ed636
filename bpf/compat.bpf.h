/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, each with the release that changed it.
 *
 * Reading the current task: since Linux 5.11 bpf_get_current_task_btf() gives a pointer that the
 * verifier knows the type of, and a field is one load instruction. Before, each is a call of
 * bpf_probe_read_kernel(). config.task_btf is constant, so only one of the two is left
 * after the verifier.
 *
 * The file of a mapping, as /proc/PID/maps states it: on overlayfs a mapping is of the layer's own
 * file, which has the layer's device and inode. Up to Linux 6.6 that is what maps state. Since
 * 6.7 such a file is a struct backing_file, which also knows the path that the user opened, and
 * maps state that one's inode; so does the side-band, though only since 6.18 and what was carried
 * back of it. (In 6.5 and 6.6 there is a struct backing_file too, but without user_path.)
 */
#ifndef EBOLT_COMPAT_BPF_H
#define EBOLT_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "config.bpf.h"

#define NS_PER_TICK 10000000 /* of /proc/PID/stat: USER_HZ is 100 on every architecture here */

/* What a record says of its task beyond what helpers tell. */
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

/*
 * The number of a struct pid in its own namespace.
 *
 * Where the verifier knows the type of the pointer, it allows only bounded arithmetic on it, and
 * on Linux 6.1 it knows no bound of a product unless the second factor is the constant (6.12 does):
 * so the level is bounded (MAX_PID_NS_LEVEL is 32), and the multiplication not left to the
 * compiler.
 */
static __always_inline __u32 pid_inner_number(const struct pid *pid, __u32 level)
{
	__u64 off = level & 63, size = bpf_core_type_size(struct upid);
	const void *at;
	__u32 nr = 0;

	__asm__ volatile("%0 *= %1" : "+r"(off) : "r"(size));
	at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) + off +
	     bpf_core_field_offset(struct upid, nr);
	bpf_probe_read_kernel(&nr, sizeof(nr), at);
	return nr;
}

/*
 * include/linux/fs.h: Linux 6.5; the other since 6.14, carried back to 6.12. Each means something
 * else to the other kernels, so there is a second test.
 */
#define FMODE_BACKING_OLD (1 << 25)
#define FMODE_BACKING	  (1 << 24)

/* The path and the inode that stand for a mapped file. */
struct user_file {
	struct vfsmount *mnt;
	struct dentry *dentry;
	struct inode *inode;
};

/*
 * Of a backing file: true, and its user_path. What stands behind a file that is none is no path,
 * whose mount and dentry are of one file system.
 */
static __always_inline bool backing_path(struct file *file, struct user_file *ret)
{
	struct backing_file *backing = (void *)file;
	struct dentry *d;
	struct vfsmount *mnt;

	if (!bpf_core_field_exists(backing->user_path) ||
	    !(BPF_CORE_READ(file, f_mode) & (FMODE_BACKING | FMODE_BACKING_OLD)))
		return false;
	mnt = BPF_CORE_READ(backing, user_path.mnt);
	d = BPF_CORE_READ(backing, user_path.dentry);
	*ret = (struct user_file){ .mnt = mnt, .dentry = d, .inode = BPF_CORE_READ(d, d_inode) };
	return ret->inode && BPF_CORE_READ(d, d_sb) &&
	       BPF_CORE_READ(mnt, mnt_sb) == BPF_CORE_READ(d, d_sb);
}

static __always_inline struct user_file user_file(struct file *file)
{
	struct user_file u;

	if (!backing_path(file, &u)) {
		u.mnt = BPF_CORE_READ(file, f_path.mnt);
		u.dentry = BPF_CORE_READ(file, f_path.dentry);
		u.inode = BPF_CORE_READ(file, f_inode);
	}
	return u;
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

/* What can be seen of how far the current task is in exec. */
struct exec_state {
	__u64 task;
	__u64 start_stack; /* of its memory; 0 also where there is none */
	__u64 in_exec;
	__u64 cred_guard_owner;
};

#define MUTEX_FLAGS 7ull /* include/linux/mutex.h: the lowest bits of the owner */

#define EXEC_STATE(t, READ, READ_BIT)                                           \
	((struct exec_state){                                                   \
		.task = (__u64)(t),                                             \
		.start_stack = READ(t, mm, start_stack),                        \
		.in_exec = bpf_core_field_exists(struct task_struct, in_execve) \
				   ? READ_BIT(t, in_execve)                     \
				   : READ(t, fs, in_exec),                      \
		.cred_guard_owner = bpf_core_field_exists(struct mutex, owner)  \
					    ? READ(t, signal, CRED_GUARD_OWNER) \
					    : 0,                                \
	})
#define CRED_GUARD_OWNER cred_guard_mutex.owner.counter

static __always_inline struct exec_state exec_state(void)
{
	if (config.task_btf) {
		struct task_struct *t = (void *)bpf_get_current_task_btf();

		return EXEC_STATE(t, LOAD, BPF_CORE_READ_BITFIELD);
	} else {
		struct task_struct *t = (void *)bpf_get_current_task();

		return EXEC_STATE(t, BPF_CORE_READ, BPF_CORE_READ_BITFIELD_PROBED);
	}
}

/*
 * Whether the user registers, as the kernel saved them when it was entered, are of another image
 * than the current task's memory. So it is in exec from where the new memory is taken up
 * (exec_mmap()) until the registers are set for it (start_thread()). The new memory has no
 * start_stack yet: that is set when all is mapped, right before the registers are. Of what is left
 * the task's in_execve tells, which begins before the new memory and ends after the registers; the
 * part where the memory is still the old one is that which holds the cred_guard_mutex, let go in
 * setup_new_exec().
 *
 * All of this is in Linux 5.10 to 7.2; in_exec stands for an in_execve that is not there. With
 * CONFIG_PREEMPT_RT a mutex has no such owner, and all of exec counts.
 */
static __always_inline bool user_regs_are_of_old_image(void)
{
	struct exec_state e = exec_state();

	return !e.start_stack || (e.in_exec && (e.cred_guard_owner & ~MUTEX_FLAGS) != e.task);
}

#endif
