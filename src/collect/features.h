/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the running kernel can do beyond what is required, each found out by trying.
 *
 * Required are Linux 5.10 with BTF, BPF and perf events; everything here has a fallback, and
 * disabling a feature by name takes that fallback on any kernel, so that all of them
 * are tested.
 */
#ifndef EBOLT_COLLECT_FEATURES_H
#define EBOLT_COLLECT_FEATURES_H

#include <stdbool.h>

enum feature {
	FEATURE_TASK_BTF,
	FEATURE_PERF_LINK,
	FEATURE_IDLE_SWITCHES,
	FEATURE_KSYMBOL,
	FEATURE_LOST_COUNT,
	FEATURE_TRACEPOINTS,
	FEATURE_TASK_KPROBES,
	FEATURE_UEVENTS,
	FEATURE_KCMP,
	FEATURE_MAP_FILES,
	FEATURES,
};

struct feature_info {
	const char *name;
	const char *help;     /* what it is, and since when */
	const char *fallback; /* what is done without */
	bool (*probe)(const char *btf);
};

/* By enum feature. */
extern const struct feature_info feature_infos[FEATURES];

struct features {
	bool has[FEATURES];	 /* in use */
	bool disabled[FEATURES]; /* not looked for, since it was disabled by name */
	const char *btf;	 /* borrowed: the file of the kernel's types; NULL: the kernel's */
};

/* FEATURES where there is none of this name. */
enum feature feature__by_name(const char *name);

/*
 * Probes all but the disabled ones (names, NULL-terminated; NULL: none). btf: a file that holds the
 * kernel's types (BTF), for kernels that don't bring them; NULL: /sys/kernel/btf/vmlinux. 0, or
 * -EINVAL with *ret_unknown the name that there is no feature of (borrowed from the list).
 */
int features__probe(struct features *f, const char *const *disabled, const char *btf,
		    const char **ret_unknown);

/*
 * The number of a tracepoint ("sched", "sched_process_exit") for perf_event_attr.config, or a
 * negative errno. Reads tracefs where it is mounted; where it isn't, from a mount of its own
 * that nobody else can see.
 */
int tracepoint__id(const char *category, const char *name);

#endif
