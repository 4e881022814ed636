// SPDX-License-Identifier: GPL-2.0-only
/*
 * Task records: what is mapped executable, exec and other changes of the comm, fork, exit.
 *
 * The kernel has one function for each of these events, which perf's side-band hangs on:
 * perf_event_mmap() and its like are called whether or not anybody listens, and look for
 * themselves whether somebody does. Kprobes on them see what the side-band sees, in the same order,
 * and can read what it doesn't tell. Order is what these places are chosen for: perf_event_comm()
 * with its exec argument comes before the new image's mappings, the tracepoint sched_process_exec
 * after them. And kprobes run with preemption off: a program of another kind can be put aside
 * half-way, upon which the kernel skips its next run on that CPU. What is skipped here nevertheless
 * is in the programs' recursion_misses.
 *
 * A file's path is put together here: the process may be gone before user space could ask. It is
 * made as d_path() makes it, relative to the process's root, except that no lock keeps a rename out
 * meanwhile. Then the path may be neither the old nor the new one. It only says what to call the
 * file; which file it is, device, inode and generation say.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "record.h"
#include "compat.bpf.h"

/* include/linux/mm.h */
#define VM_READ	    0x1
#define VM_WRITE    0x2
#define VM_EXEC	    0x4
#define VM_MAYSHARE 0x80
#define VM_LOCKED   0x2000
#define VM_HUGETLB  0x400000

/* include/uapi/linux/mman.h; the last two differ between architectures, but not among ours. */
#define PROT_READ   0x1
#define PROT_WRITE  0x2
#define PROT_EXEC   0x4
#define MAP_SHARED  0x01
#define MAP_PRIVATE 0x02
#define MAP_LOCKED  0x2000
#define MAP_HUGETLB 0x40000

/* 8 bytes are kept for the padding, so that the path is cut off where d_path() gives up too. */
#define PATH_END (TASK_PATH_BYTES - 8)

_Static_assert(sizeof(struct rec_mmap) % 8 == 0, "the path begins right behind it");
_Static_assert(TASK_SLACK >= 1 + TASK_NAME_MAX + 10 + 8, "a name, (deleted) and the padding");

/*
 * A struct task_cpu_state a CPU, by CPU number; user space maps it. Written by these programs.
 * Sized by the number of possible CPUs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_cpu_state);
} task_cpu_states SEC(".maps");

/*
 * The task records, in the order of their times but for a few microseconds. Wakes the reader with
 * the first record after it has read everything. Sized for what a machine can map while the reader
 * is busy with something else.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} task_records SEC(".maps");

static __always_inline struct task_cpu_state *this_state(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&task_cpu_states, &cpu);
}

static __always_inline char *path_of(struct task_cpu_state *s)
{
	return (char *)s->rec + sizeof(struct rec_mmap);
}

static __always_inline struct rec_hdr header(__u16 type, __u16 flags, __u32 length)
{
	return (struct rec_hdr){
		.type = type,
		.flags = flags,
		.length = length,
		.time = bpf_ktime_get_ns(),
		.cpu = bpf_get_smp_processor_id(),
	};
}

static __always_inline struct rec_facts facts_of(struct task_struct *t)
{
	struct task_facts f = TASK_FACTS(t, BPF_CORE_READ);

	return (struct rec_facts){
		.start_ticks = f.start_boottime / NS_PER_TICK,
		.cgroup_id = BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id),
		.inner_pid = f.pid_level ? pid_inner_number(f.leader_pid, f.pid_level)
					 : BPF_CORE_READ(t, tgid),
		.mnt_ns = f.mnt_ns,
	};
}

static __always_inline int send(struct task_cpu_state *s, const void *rec, __u64 len)
{
	if (bpf_ringbuf_output(&task_records, (void *)rec, len, 0))
		s->lost++;
	return 0;
}

/* ---- the path of a file ------------------------------------------------------------------- */

/* An offset below PATH_END, in a form that every verifier can follow. */
static __always_inline __u32 bounded(__u32 off)
{
	barrier_var(off);
	return off & (TASK_PATH_BYTES - 1);
}

/* Ends the path at `off`: the terminator and zeros up to a multiple of 8. Its length with these. */
static __always_inline __u32 end_path(struct task_cpu_state *s, __u32 off)
{
	if (off > PATH_END)
		off = PATH_END;
	off = bounded(off);
	for (int i = 0; i < 8; i++)
		path_of(s)[off + i] = 0;
	return (off + 8) & ~7u;
}

#define SET_PATH(s, text)                                         \
	({                                                        \
		__builtin_memcpy(path_of(s), text, sizeof(text)); \
		end_path(s, sizeof(text) - 1);                    \
	})

/* Appends "/" and the dentry's name; the new end. */
static __always_inline __u32 add_name(struct task_cpu_state *s, __u32 off, struct dentry *d)
{
	__u32 len = BPF_CORE_READ(d, d_name.len);
	const unsigned char *name = BPF_CORE_READ(d, d_name.name);

	if (len > TASK_NAME_MAX)
		len = TASK_NAME_MAX;
	if (off >= PATH_END)
		return PATH_END;
	off = bounded(off);
	path_of(s)[off] = '/';
	bpf_probe_read_kernel(&path_of(s)[off + 1], len, name);
	return off + 1 + len;
}

static __always_inline __u32 add_deleted(struct task_cpu_state *s, __u32 off)
{
	if (off >= PATH_END)
		return PATH_END;
	off = bounded(off);
	__builtin_memcpy(&path_of(s)[off], " (deleted)", 10);
	return off + 10;
}

static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount, mnt);
}

/*
 * The way from a file up to the process's root, or to the global one where the file lies outside
 * of it. bpf_loop() (Linux 5.17) has the verifier look at one step, whatever their number.
 */
struct walk {
	struct dentry *d, *mnt_root, *root;
	struct mount *mnt, *root_mnt;
	__u32 n; /* dentries collected */
	bool arrived;
};

/* One step: a name, or from a mount to the one that it stands on. */
static long walk_up(__u32 i, struct walk *w)
{
	struct dentry *d = w->d, *parent;
	struct mount *mnt = w->mnt, *below;
	struct task_cpu_state *s;

	if (d == w->root && mnt == w->root_mnt) {
		w->arrived = true;
		return 1;
	}
	if (d == w->mnt_root) {
		below = BPF_CORE_READ(mnt, mnt_parent);
		if (below == mnt) {
			w->arrived = true;
			return 1;
		}
		w->d = BPF_CORE_READ(mnt, mnt_mountpoint);
		w->mnt = below;
		w->mnt_root = BPF_CORE_READ(below, mnt.mnt_root);
		return 0;
	}
	parent = BPF_CORE_READ(d, d_parent);
	s = this_state();
	if (parent == d || !s || w->n >= TASK_PATH_NAMES) {
		w->arrived = parent == d;
		return 1;
	}
	s->dentries[w->n++] = (__u64)d;
	w->d = parent;
	return 0;
}

struct names {
	__u32 left; /* dentries */
	__u32 off;
};

static long add_next(__u32 i, struct names *n)
{
	struct task_cpu_state *s = this_state();
	__u32 at = n->left - 1;

	if (!s || at >= TASK_PATH_NAMES)
		return 1;
	n->left = at;
	n->off = add_name(s, n->off, (void *)s->dentries[at]);
	return 0;
}

/* Files that stand in no directory: memfd, shared memory, huge pages. As simple_dname(). */
static __always_inline bool has_own_name(const struct user_file *f)
{
	struct dentry *d = f->dentry;
	struct vfsmount *mnt = f->mnt;

	return BPF_CORE_READ(d, d_op) && BPF_CORE_READ(d, d_op, d_dname) &&
	       (BPF_CORE_READ(d, d_parent) != d || d != BPF_CORE_READ(mnt, mnt_root));
}

static __always_inline bool is_deleted(struct dentry *d)
{
	return !BPF_CORE_READ(d, d_hash.pprev) && BPF_CORE_READ(d, d_parent) != d;
}

/* Writes the path behind the record; its length with padding. */
static __always_inline __u32 file_path(struct task_cpu_state *s, const struct user_file *f)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	struct walk w = {
		.d = f->dentry,
		.mnt = mount_of(f->mnt),
		.root = BPF_CORE_READ(t, fs, root.dentry),
		.root_mnt = mount_of(BPF_CORE_READ(t, fs, root.mnt)),
	};
	struct vfsmount *mnt = f->mnt;
	struct names names = { 0 };
	__u32 off;

	if (has_own_name(f))
		return end_path(s, add_deleted(s, add_name(s, 0, f->dentry)));
	w.mnt_root = BPF_CORE_READ(mnt, mnt_root);
	bpf_loop(2 * TASK_PATH_NAMES, walk_up, &w, 0);
	names.left = w.n;
	if (w.n)
		bpf_loop(TASK_PATH_NAMES, add_next, &names, 0);
	else
		path_of(s)[names.off++] = '/';
	off = names.off;
	if (is_deleted(f->dentry))
		off = add_deleted(s, off);
	if (!w.arrived || off >= PATH_END)
		return SET_PATH(s, "//toolong");
	return end_path(s, off);
}

/* Memory without a file. Of the names that the kernel gives, those of its own mappings ([vdso]). */
static __always_inline __u32 anon_path(struct task_cpu_state *s, struct vm_area_struct *vma)
{
	struct vm_special_mapping *special = BPF_CORE_READ(vma, vm_private_data);
	const char *name;
	long n;

	if (BPF_CORE_READ(vma, vm_ops) && BPF_CORE_READ(vma, vm_ops, name) && special) {
		name = BPF_CORE_READ(special, name);
		n = bpf_probe_read_kernel_str(path_of(s), 32, name);
		if (n > 1 && n <= 32 && path_of(s)[0] == '[')
			return end_path(s, n - 1);
	}
	return SET_PATH(s, "//anon");
}

/* ---- the hooks ---------------------------------------------------------------------------- */

static __always_inline void describe(struct rec_mmap *r, struct vm_area_struct *vma, __u64 vm_flags)
{
	r->start = BPF_CORE_READ(vma, vm_start);
	r->len = BPF_CORE_READ(vma, vm_end) - r->start;
	r->pgoff = (__u64)BPF_CORE_READ(vma, vm_pgoff) << config.page_shift;
	r->prot = (vm_flags & VM_READ ? PROT_READ : 0) | (vm_flags & VM_WRITE ? PROT_WRITE : 0) |
		  PROT_EXEC;
	r->flags = (vm_flags & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE) |
		   (vm_flags & VM_LOCKED ? MAP_LOCKED : 0) |
		   (vm_flags & VM_HUGETLB ? MAP_HUGETLB : 0);
}

static __always_inline void identify(struct rec_mmap *r, struct inode *inode)
{
	__u32 dev = BPF_CORE_READ(inode, i_sb, s_dev);

	r->maj = dev >> 20;
	r->min = dev & 0xfffff;
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->gen = BPF_CORE_READ(inode, i_generation);
}

/* A mapping is new, or mprotect() changed it. Arguments: the VMA. */
SEC("kprobe/perf_event_mmap")
int on_mmap(bpf_user_pt_regs_t *ctx)
{
	struct vm_area_struct *vma = (void *)regs_arg1(ctx);
	__u64 vm_flags = BPF_CORE_READ(vma, vm_flags), pid_tgid = bpf_get_current_pid_tgid();
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct task_cpu_state *s;
	struct rec_mmap *r;
	__u32 path_len;

	if (!(vm_flags & VM_EXEC))
		return 0;
	s = this_state();
	if (!s)
		return 0; /* can't be, nor below: there is an element for every possible CPU */
	r = (void *)s->rec;
	r->hdr = header(REC_MMAP, 0, 0);
	r->facts = facts_of((void *)bpf_get_current_task());
	r->pid = pid_tgid >> 32;
	r->tid = (__u32)pid_tgid;
	describe(r, vma, vm_flags);
	if (file) {
		struct user_file f = user_file(file);

		identify(r, f.inode);
		path_len = file_path(s, &f);
	} else {
		r->maj = r->min = 0;
		r->ino = r->gen = 0;
		path_len = anon_path(s, vma);
	}
	if (path_len > TASK_PATH_BYTES)
		path_len = TASK_PATH_BYTES;
	r->hdr.length = sizeof(*r) + path_len;
	return send(s, r, sizeof(*r) + path_len);
}

/* A new comm. Arguments: the task, whether it is an exec's. */
SEC("kprobe/perf_event_comm")
int on_comm(bpf_user_pt_regs_t *ctx)
{
	struct task_struct *t = (void *)regs_arg1(ctx);
	/* Of a bool only the lowest byte is defined in a register. */
	bool exec = (__u8)regs_arg2(ctx);
	struct task_cpu_state *s = this_state();
	struct rec_comm r = {
		.hdr = header(REC_COMM, exec ? REC_F_EXEC : 0, sizeof(r)),
		.facts = facts_of(t),
		.pid = BPF_CORE_READ(t, tgid),
		.tid = BPF_CORE_READ(t, pid),
	};

	BPF_CORE_READ_STR_INTO(&r.comm, t, comm);
	return s ? send(s, &r, sizeof(r)) : 0;
}

/* A new process or thread, before it runs. Arguments: the task. Its creator is current. */
SEC("kprobe/perf_event_fork")
int on_fork(bpf_user_pt_regs_t *ctx)
{
	struct task_struct *t = (void *)regs_arg1(ctx);
	__u64 parent = bpf_get_current_pid_tgid();
	struct task_cpu_state *s = this_state();
	struct rec_task r = {
		.hdr = header(REC_FORK, 0, sizeof(r)),
		.facts = facts_of(t),
		.pid = BPF_CORE_READ(t, tgid),
		.tid = BPF_CORE_READ(t, pid),
		.ppid = parent >> 32,
		.ptid = (__u32)parent,
	};

	return s ? send(s, &r, sizeof(r)) : 0;
}

/* A thread ends. Arguments: the task. */
SEC("kprobe/perf_event_exit_task")
int on_exit(bpf_user_pt_regs_t *ctx)
{
	struct task_struct *t = (void *)regs_arg1(ctx);
	struct task_cpu_state *s = this_state();
	struct rec_task r = {
		.hdr = header(REC_EXIT, 0, sizeof(r)),
		.facts = facts_of(t),
		.pid = BPF_CORE_READ(t, tgid),
		.tid = BPF_CORE_READ(t, pid),
		.ppid = BPF_CORE_READ(t, real_parent, tgid),
		.ptid = BPF_CORE_READ(t, real_parent, tgid), /* as the side-band has it */
	};

	return s ? send(s, &r, sizeof(r)) : 0;
}

char LICENSE[] SEC("license") = "GPL";
