// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each probe does the smallest thing that only works where the feature is there, and undoes it.
 * None depends on the kernel's version: distributions carry features back.
 */
#include "collect/features.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/kcmp.h>
#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "collect/hotplug.h"
#include "collect/perf_event.h"
#include "collect/task_kprobes.h"

static bool probe_task_btf(const char *btf)
{
	/* The verifier takes the task's type from the BTF that the kernel itself has. */
	return !access("/sys/kernel/btf/vmlinux", F_OK) &&
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_get_current_task_btf,
				       NULL) == 1;
}

/*
 * A link to descriptor -1: a kernel that knows links to perf events says that there is no such
 * descriptor, an older one that it doesn't know the program type.
 */
static bool probe_perf_link(const char *btf)
{
	static const struct bpf_insn ret_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", ret_0,
						 ARRAY_SIZE(ret_0), NULL);
	_cleanup_close_ int link = -1;

	if (prog < 0)
		return false;
	link = bpf_link_create(prog, -1, BPF_PERF_EVENT, NULL);
	return link < 0 && errno == EBADF;
}

static bool struct_has_field(const struct btf *btf, const char *type, const char *field)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_member *m = t ? btf_members(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), field))
			return true;
	}
	return false;
}

static bool probe_idle_switches(const char *btf)
{
	struct btf *types = btf ? btf__parse(btf, NULL) : btf__load_vmlinux_btf();
	bool found;

	if (!types)
		return false;
	found = struct_has_field(types, "cfs_rq", "rq") &&
		struct_has_field(types, "sched_entity", "cfs_rq");
	btf__free(types);
	return found;
}

static bool dummy_opens(const struct perf_event_attr *like)
{
	struct perf_event_attr attr = *like;
	_cleanup_close_ int fd = -1;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.size = sizeof(attr);
	attr.disabled = 1;
	fd = perf_event__open(&attr, 0, -1);
	return fd >= 0;
}

static bool probe_ksymbol(const char *btf)
{
	return dummy_opens(&(struct perf_event_attr){ .ksymbol = 1 });
}

static bool probe_lost_count(const char *btf)
{
	return dummy_opens(&(struct perf_event_attr){ .read_format = PERF_FORMAT_LOST });
}

static bool probe_tracepoints(const char *btf)
{
	return tracepoint__id("task", "task_newtask") >= 0 &&
	       tracepoint__id("sched", "sched_process_exit") >= 0 &&
	       tracepoint__id("sched", "sched_process_free") >= 0;
}

static bool probe_task_kprobes(const char *btf)
{
	return task_kprobes__can_attach();
}

static bool probe_uevents(const char *btf)
{
	return hotplug__has_uevents();
}

static bool probe_kcmp(const char *btf)
{
	return !syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0);
}

/* Of our own first file that is mapped. */
static bool probe_map_files(const char *btf)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start, end, ino = 0;
	_cleanup_close_ int fd = -1;
	char path[96];

	while (maps && !ino)
		if (fscanf(maps, "%llx-%llx %*s %*s %*s %llu%*[^\n]", &start, &end, &ino) != 3)
			return false;
	snprintf(path, sizeof(path), "/proc/self/map_files/%llx-%llx", start, end);
	fd = maps ? open(path, O_PATH | O_CLOEXEC) : -1;
	return fd >= 0;
}

const struct feature_info feature_infos[FEATURES] = {
	[FEATURE_TASK_BTF] = {
		"task-btf",
		"the current task read by loads (bpf_get_current_task_btf, Linux 5.11)",
		"bpf_probe_read_kernel(), which makes a sample cost more",
		probe_task_btf,
	},
	[FEATURE_PERF_LINK] = {
		"perf-link",
		"BPF links to perf events (Linux 5.15)",
		"PERF_EVENT_IOC_SET_BPF",
		probe_perf_link,
	},
	[FEATURE_IDLE_SWITCHES] = {
		"idle-switches",
		"the idle task's switch counter (CONFIG_FAIR_GROUP_SCHED)",
		"missed samples of clock events are not counted",
		probe_idle_switches,
	},
	[FEATURE_KSYMBOL] = {
		"ksymbol",
		"records of kernel text that comes and goes (Linux 5.1)",
		"BPF programs are named from what /proc/kallsyms says when the output is written",
		probe_ksymbol,
	},
	[FEATURE_LOST_COUNT] = {
		"lost-count",
		"an exact count of lost task records (PERF_FORMAT_LOST, Linux 6.0)",
		"PERF_RECORD_LOST, which may count too few",
		probe_lost_count,
	},
	[FEATURE_TRACEPOINTS] = {
		"tracepoints",
		"classic tracepoints through tracefs, to follow the children of targets",
		"raw tracepoints, which preemptible kernels skip now and then",
		probe_tracepoints,
	},
	[FEATURE_TASK_KPROBES] = {
		"task-kprobes",
		"mappings, exec, fork and exit seen by BPF programs (kprobes whose skipped runs are "
		"counted; Linux 6.7)",
		"the perf side-band, which doesn't tell start times, namespaces and cgroups",
		probe_task_kprobes,
	},
	[FEATURE_UEVENTS] = {
		"uevents",
		"the kernel's announcements of CPUs that come online (netlink)",
		"the CPUs online are looked at every second: one that was away for less stays silent",
		probe_uevents,
	},
	[FEATURE_KCMP] = {
		"kcmp",
		"tells which processes share their memory (CONFIG_KCMP, CAP_SYS_PTRACE)",
		"what one of them maps is noticed in another where it had nothing mapped",
		probe_kcmp,
	},
	[FEATURE_MAP_FILES] = {
		"map-files",
		"opens the very file that is mapped, by /proc/PID/map_files (CAP_CHECKPOINT_RESTORE)",
		"files are opened by their path: deleted, replaced and memfd files have no names",
		probe_map_files,
	},
};

enum feature feature__by_name(const char *name)
{
	for (int i = 0; i < FEATURES; i++) {
		if (!strcmp(feature_infos[i].name, name))
			return i;
	}
	return FEATURES;
}

int features__probe(struct features *f, const char *const *disabled, const char *btf,
		    const char **ret_unknown)
{
	struct features probed = { .btf = btf };
	libbpf_print_fn_t print;

	for (; disabled && *disabled; disabled++) {
		enum feature feature = feature__by_name(*disabled);

		if (feature == FEATURES) {
			*ret_unknown = *disabled;
			return -EINVAL;
		}
		probed.disabled[feature] = true;
	}
	/* libbpf would print why a probe fails, which is no error here. */
	print = libbpf_set_print(NULL);
	for (int i = 0; i < FEATURES; i++)
		probed.has[i] = !probed.disabled[i] && feature_infos[i].probe(btf);
	libbpf_set_print(print);
	*f = probed;
	return 0;
}

static int read_id(int dir, const char *category, const char *name)
{
	_cleanup_close_ int fd = -1;
	char path[128], text[32];
	ssize_t n;
	int id;

	snprintf(path, sizeof(path), "events/%s/%s/id", category, name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return sscanf(text, "%d", &id) == 1 && id >= 0 ? id : -EINVAL;
}

/* A mount of tracefs that stands in no directory tree (Linux 5.2); goes away with its fd. */
static int mount_tracefs(void)
{
	_cleanup_close_ int fs = fsopen("tracefs", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	return fsmount(fs, FSMOUNT_CLOEXEC, 0);
}

int tracepoint__id(const char *category, const char *name)
{
	static const char *const mounts[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int id = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		_cleanup_close_ int dir = open(mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (dir < 0)
			continue;
		id = read_id(dir, category, name);
		if (id >= 0)
			return id;
	}
	_cleanup_close_ int own = mount_tracefs();
	return own < 0 ? id : read_id(own, category, name);
}
