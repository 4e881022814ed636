/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types, as far as bpf/ reads them.
 *
 * Not a dump of one kernel's BTF: each struct holds only the fields that are read, and its layout
 * here means nothing. preserve_access_index makes clang record every access by name, and libbpf
 * puts in the offset of the running kernel (CO-RE). Where kernels differ in a type itself there is
 * a second definition with a ___suffix, which libbpf ignores when it looks the type up.
 *
 * Constants are of the user-space ABI (include/uapi/linux/bpf.h, sched.h).
 */
#ifndef EBOLT_VMLINUX_H
#define EBOLT_VMLINUX_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
};

enum {
	BPF_F_USER_STACK = 1 << 8, /* bpf_get_stack */
	BPF_F_MMAPABLE = 1 << 10,  /* array maps */
	BPF_RB_NO_WAKEUP = 1 << 0, /* bpf_ringbuf_output */
	BPF_RB_AVAIL_DATA = 0,	   /* bpf_ringbuf_query */
	BPF_RB_RING_SIZE = 1,
};

#define CLONE_THREAD 0x00010000

#if defined(__TARGET_ARCH_x86)
#include "regs_x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "regs_arm64.h"
#else
#error "vmlinux/ has no register file for this architecture"
#endif

/* The context of a perf_event program (include/uapi/linux/bpf_perf_event.h): ABI, not CO-RE. */
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them, [0] for the initial namespace */
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct mutex {
	atomic_long_t owner; /* not with CONFIG_PREEMPT_RT */
};

struct signal_struct {
	atomic_t live; /* threads that have not exited */
	struct mutex cred_guard_mutex;
};

struct mm_struct {
	unsigned long start_stack;
};

struct super_block {
	__u32 s_dev; /* major << 20 | minor */
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
};

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry;

struct dentry_operations {
	char *(*d_dname)(struct dentry *dentry, char *buf, int len);
};

struct dentry {
	struct hlist_bl_node d_hash; /* pprev is NULL: not hashed, as when it was unlinked */
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	const struct dentry_operations *d_op;
	struct super_block *d_sb;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	__u32 f_mode;
};

struct backing_file { /* Linux 6.5 */
	struct file file;
	struct path user_path; /* Linux 6.7 */
};

struct fs_struct {
	struct path root;
	int in_exec;
};

struct vm_area_struct;

struct vm_operations_struct {
	const char *(*name)(struct vm_area_struct *vma);
};

struct vm_special_mapping {
	const char *name;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
	const struct vm_operations_struct *vm_ops;
	void *vm_private_data;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct;

struct rq {
	struct task_struct *idle;
};

struct cfs_rq {
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED only */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* with CONFIG_FAIR_GROUP_SCHED only */
};

struct task_struct {
	struct sched_entity se;
	struct mm_struct *mm;
	unsigned int in_execve : 1;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long nivcsw; /* involuntary context switches */
	__u64 start_boottime; /* ns */
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct task_struct *real_parent;
	struct fs_struct *fs;
	struct css_set *cgroups;
	char comm[16];
};

/* Contexts of classic tracepoints. */
struct trace_event_raw_task_newtask {
	int pid;
	unsigned long clone_flags;
};

struct trace_event_raw_sched_process_template {
	int pid;
};

#pragma clang attribute pop

#endif
