/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire records: what the kernel side tells user space. Types only; both sides include it.
 *
 * A record is a header and one struct a type. The length in the header is exact, a multiple of 8,
 * and frames the record; variable parts (stacks, paths) stand at the end. Integers are in the
 * machine's byte order.
 *
 * Two sources write the task records (mmap, comm, fork, exit): the perf side-band, whose
 * PERF_RECORD_* are turned into these by src/object/perf_record, and BPF programs. Whatever
 * reads them can't tell which it was.
 */
#ifndef EBOLT_RECORD_H
#define EBOLT_RECORD_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

enum rec_type {
	REC_SAMPLE = 1,
	REC_MMAP,    /* a file or anonymous memory became executable */
	REC_COMM,    /* a new comm; with REC_F_EXEC a new address space that is still empty */
	REC_FORK,    /* a process (pid != ppid) or a thread (pid == ppid) began */
	REC_EXIT,    /* a thread ended */
	REC_KSYMBOL, /* kernel text (BPF program, trampoline, ftrace) appeared or went */
	REC_LOST,    /* task records may be missing from this time on, until another */
};

/* rec_hdr.flags */
#define REC_F_EXEC	       0x0001 /* comm: the exec of a new image */
#define REC_F_UNREGISTER       0x0002 /* ksymbol: the text goes away */
#define REC_F_USER_MODE	       0x0004 /* sample: the interrupt hit user mode */
#define REC_F_KERNEL_TRUNCATED 0x0008 /* sample: the kernel stack was cut at REC_STACK_MAX */
#define REC_F_USER_TRUNCATED   0x0010 /* sample: the user stack was cut at REC_STACK_MAX */
#define REC_F_IDLE	       0x0020 /* sample: of the CPU's idle task */

#define REC_COMM_LEN 16 /* TASK_COMM_LEN */

/* kernel.perf_event_max_stack's default: the most frames that bpf_get_stack gives a stack. */
#define REC_STACK_MAX 127

struct rec_hdr {
	__u16 type;
	__u16 flags;
	__u32 length; /* bytes, header included */
	__u64 time;   /* CLOCK_MONOTONIC, ns */
	__u32 cpu;
	__u32 pad;
};

struct rec_sample {
	struct rec_hdr hdr;
	__u32 pid, tid;	   /* of the initial pid namespace */
	__u64 start_ticks; /* of the thread group leader: /proc/PID/stat field 22 (10 ms ticks) */
	__u64 cgroup_id;   /* of the default hierarchy */
	__u64 period;	   /* events this sample stands for (ns for cpu-clock) */
	__u32 inner_pid;   /* pid in the process's own pid namespace */
	__u32 mnt_ns;	   /* inode number of the mount namespace */
	char comm[REC_COMM_LEN];
	/*
	 * Frames, leaf first. No user frames also within exec, from where the old image's memory is
	 * gone until the registers are the new one's.
	 */
	__u16 nr_kernel, nr_user;
	__u32 pad;
	__u64 ips[]; /* nr_kernel kernel addresses, then nr_user user addresses */
};

/* What only BPF knows of a record's process: all 0 in records of the side-band. */
struct rec_facts {
	__u64 start_ticks; /* these four as in rec_sample */
	__u64 cgroup_id;
	__u32 inner_pid;
	__u32 mnt_ns; /* 0 also for a task that has left its namespaces */
};

struct rec_mmap {
	struct rec_hdr hdr;
	struct rec_facts facts;
	__u32 pid, tid;
	__u64 start, len, pgoff; /* pgoff in bytes */
	__u32 maj, min;
	__u64 ino, gen;	   /* all 0 for anonymous memory */
	__u32 prot, flags; /* PROT_*; MAP_SHARED or MAP_PRIVATE, MAP_LOCKED, MAP_HUGETLB */
	char path[]; /* NUL-terminated; "//anon", "[vdso]" and the like as the kernel names them */
};

struct rec_comm {
	struct rec_hdr hdr;
	struct rec_facts facts;
	__u32 pid, tid;
	char comm[REC_COMM_LEN];
};

/* fork and exit */
struct rec_task {
	struct rec_hdr hdr;
	struct rec_facts facts;
	__u32 pid, tid;
	__u32 ppid, ptid; /* the parent's, or who created the thread */
};

struct rec_ksymbol {
	struct rec_hdr hdr;
	__u64 addr;
	__u32 len;
	__u16 ksym_type; /* PERF_RECORD_KSYMBOL_TYPE_* */
	__u16 pad;
	char name[]; /* NUL-terminated */
};

struct rec_lost {
	struct rec_hdr hdr;
	__u64 count; /* at least so many records; 0: it isn't sure that there were any */
	__u64 until; /* CLOCK_MONOTONIC, ns: none of a later time */
};

#endif
