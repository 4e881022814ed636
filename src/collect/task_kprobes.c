// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waking. The ring wakes the reader with a record that finds everything before it read, so with
 * the first one only, until the reader has caught up again. That is what the side-band's rings
 * have to be made to do.
 *
 * Loss. A record that finds no room is counted by the program. A run that the kernel skipped, since
 * another program or a map's update was active on the CPU (and maybe preempted there: then by all
 * that runs meanwhile), is in the program's own counters. Each drain asks for them: the samples
 * that are handed out after it must not be looked up in what a skipped run should have changed.
 * That is a system call a program, a hundred times a second at most. Kernels that don't count
 * (before 6.7) could lose records unseen, so there the hooks are not used.
 */
#include "collect/task_kprobes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "../../bpf/config.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/libbpf_log.h"
#include "collect/perf_event.h"
#include "collect/reader.h"
#include "collect/why.h"
#include "task.skel.h"

#define RING_BYTES_A_CPU (256u << 10)
#define RING_BYTES_MIN	 (1u << 20)
#define RING_BYTES_MAX	 (16u << 20)
#define HOOKS		 4

struct loss {
	uint64_t total; /* as far as it was told by REC_LOST */
	uint64_t since; /* ns; what was lost before is told */
};

struct task_kprobes {
	struct task_bpf *skel;
	struct bpf_link *links[HOOKS];
	struct reader reader;
	const struct task_cpu_state *states;
	size_t nr_states, states_bytes;
	struct loss no_room, skipped;
	uint64_t lost_here; /* records that could not be passed on */
};

static long kprobe_type(void)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	long type;

	return f && fscanf(f, "%ld", &type) == 1 ? type : -1;
}

/* A program that does nothing, on a kernel function: the event, and *ret_prog; or a negative errno.
 */
static int attach_nothing(const char *func, int *ret_prog)
{
	static const struct bpf_insn ret_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	long type = kprobe_type();
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.kprobe_func = (uintptr_t)func,
	};
	_cleanup_close_ int prog = -1;
	_cleanup_close_ int event = -1;

	if (type < 0)
		return -ENOENT;
	prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", ret_0, ARRAY_SIZE(ret_0), NULL);
	if (prog < 0)
		return prog;
	event = perf_event__open(&attr, -1, 0);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, prog))
		return -errno;
	*ret_prog = steal_fd(&prog);
	return steal_fd(&event);
}

static uint64_t skipped_runs(int prog)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog, &info, &len) ? 0 : info.recursion_misses;
}

/* Has a run skipped: while a system call updates a map, the kernel lets no program run on its CPU.
 */
static bool skipped_runs_are_counted(void)
{
	_cleanup_close_ int map =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(__u32), sizeof(__u64), 1, NULL);
	_cleanup_close_ int prog = -1;
	_cleanup_close_ int event = attach_nothing("array_map_update_elem", &prog);
	__u32 key = 0;
	__u64 value = 0;

	return map >= 0 && event >= 0 && !bpf_map_update_elem(map, &key, &value, BPF_ANY) &&
	       skipped_runs(prog);
}

bool task_kprobes__can_attach(void)
{
	_cleanup_close_ int prog = -1;
	_cleanup_close_ int event = attach_nothing("perf_event_mmap", &prog);

	return event >= 0 && skipped_runs_are_counted();
}

static size_t default_ring_bytes(size_t nr_cpus)
{
	size_t bytes = RING_BYTES_MIN;

	while (bytes < nr_cpus * RING_BYTES_A_CPU && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

static int load(struct task_kprobes *tk, const struct task_kprobes_opts *o)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .btf_custom_path = o->btf);
	int cpus = libbpf_num_possible_cpus(), err;
	struct task_bpf *s;

	if (cpus < 0)
		return cpus;
	tk->nr_states = cpus;
	s = tk->skel = task_bpf__open_opts(&open_opts);
	if (!s)
		return -errno;
	s->rodata->config.page_shift = __builtin_ctz(getpagesize());
	err = bpf_map__set_max_entries(s->maps.task_cpu_states, cpus);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.task_records,
					       o->ring_bytes ? o->ring_bytes
							     : default_ring_bytes(cpus));
	return err ? err : task_bpf__load(s);
}

static int map_states(struct task_kprobes *tk)
{
	size_t page = getpagesize();
	void *states;

	tk->states_bytes = (tk->nr_states * sizeof(*tk->states) + page - 1) & ~(page - 1);
	states = mmap(NULL, tk->states_bytes, PROT_READ, MAP_SHARED,
		      bpf_map__fd(tk->skel->maps.task_cpu_states), 0);
	if (states == MAP_FAILED)
		return -errno;
	tk->states = states;
	return 0;
}

static struct bpf_program *program(const struct task_kprobes *tk, size_t i)
{
	struct bpf_program *programs[HOOKS] = {
		tk->skel->progs.on_mmap,
		tk->skel->progs.on_comm,
		tk->skel->progs.on_fork,
		tk->skel->progs.on_exit,
	};

	return programs[i];
}

static int attach(struct task_kprobes *tk)
{
	for (size_t i = 0; i < HOOKS; i++) {
		tk->links[i] = bpf_program__attach(program(tk, i));
		if (!tk->links[i])
			return -errno;
	}
	return 0;
}

int task_kprobes__open(const struct task_kprobes_opts *opts, struct task_kprobes **ret,
		       char **ret_why)
{
	struct task_kprobes *tk = calloc(1, sizeof(*tk));
	int err;

	if (!tk)
		return -ENOMEM;
	libbpf_log__start();
	err = load(tk, opts);
	if (!err)
		err = map_states(tk);
	if (!err)
		err = reader__open(&tk->reader, task_kprobes__fd(tk), task_kprobes__ring_bytes(tk));
	if (!err)
		err = attach(tk);
	if (err) {
		*ret_why = libbpf_log__why("task records by kprobes", opts->btf, err);
		task_kprobes__free(tk);
		return err;
	}
	tk->no_room.since = tk->skipped.since = clock__now();
	*ret = tk;
	return 0;
}

void task_kprobes__free(struct task_kprobes *tk)
{
	if (!tk)
		return;
	for (size_t i = 0; i < HOOKS; i++)
		bpf_link__destroy(tk->links[i]);
	reader__done(&tk->reader);
	if (tk->states)
		munmap((void *)tk->states, tk->states_bytes);
	task_bpf__destroy(tk->skel);
	free(tk);
}

int task_kprobes__fd(const struct task_kprobes *tk)
{
	return bpf_map__fd(tk->skel->maps.task_records);
}

size_t task_kprobes__ring_bytes(const struct task_kprobes *tk)
{
	return bpf_map__max_entries(tk->skel->maps.task_records);
}

static uint64_t count_no_room(const struct task_kprobes *tk)
{
	uint64_t n = 0;

	for (size_t i = 0; i < tk->nr_states; i++)
		n += __atomic_load_n(&tk->states[i].lost, __ATOMIC_RELAXED);
	return n;
}

static uint64_t count_skipped(const struct task_kprobes *tk)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HOOKS; i++)
		n += skipped_runs(bpf_program__fd(program(tk, i)));
	return n;
}

/* now: taken before the count was. The number of records that were passed on. */
static size_t pass_loss(struct loss *loss, uint64_t total, uint64_t now,
			int (*fn)(void *ctx, const struct rec_hdr *rec), void *ctx)
{
	struct rec_lost lost = {
		.hdr = { .type = REC_LOST, .length = sizeof(lost), .time = loss->since },
		.count = total - loss->total,
	};

	if (total > loss->total) {
		lost.until = clock__now();
		/* One that finds no room stays to be told. */
		if (fn(ctx, &lost.hdr))
			return 1;
		loss->total = total;
	}
	loss->since = now;
	return lost.until != 0;
}

size_t task_kprobes__drain(struct task_kprobes *tk, int (*fn)(void *ctx, const struct rec_hdr *rec),
			   void *ctx)
{
	uint64_t now = clock__now();
	const struct rec_hdr *rec;
	size_t records = 0, len;

	reader__begin(&tk->reader);
	while ((rec = reader__next(&tk->reader, &len))) {
		records++;
		if (len < sizeof(*rec) || rec->length != len || fn(ctx, rec))
			tk->lost_here++;
	}
	reader__release(&tk->reader);
	records += pass_loss(&tk->no_room, count_no_room(tk) + tk->lost_here, now, fn, ctx);
	records += pass_loss(&tk->skipped, count_skipped(tk), now, fn, ctx);
	return records;
}

bool task_kprobes__blocked(const struct task_kprobes *tk)
{
	return reader__blocked(&tk->reader);
}

uint64_t task_kprobes__lost(const struct task_kprobes *tk)
{
	return count_no_room(tk) + tk->lost_here + count_skipped(tk);
}
