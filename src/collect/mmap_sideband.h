/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf side-band: task records (mmap, comm, fork, exit, kernel symbols) of the whole machine,
 * from a perf event a CPU that counts nothing and only carries them. Every kernel has it.
 */
#ifndef EBOLT_COLLECT_MMAP_SIDEBAND_H
#define EBOLT_COLLECT_MMAP_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/record.h"
#include "collect/sampler.h"

struct sideband;

struct sideband_opts {
	const struct cpu_list *cpus; /* online ones; those that went offline are skipped */
	size_t ring_bytes;	     /* a CPU's ring, a power of two of pages; 0: by their number */
	bool no_tasks;		     /* only ksymbol records: the others come from elsewhere */
	bool ksymbol, lost_count;    /* the kernel has FEATURE_KSYMBOL, FEATURE_LOST_COUNT */
};

/*
 * Opens the events, enabled: records are kept from here on. 0, or a negative errno and *ret_why
 * (allocated).
 */
int sideband__open(const struct sideband_opts *opts, struct sideband **ret, char **ret_why);
void sideband__free(struct sideband *sb);

/*
 * Opens the event anew on a CPU that came online: its old one stays silent. To be called right
 * after a drain; what happened on the CPU since it came is lost. 0; -ENODEV: it is offline; another
 * negative errno.
 */
int sideband__reopen(struct sideband *sb, int cpu);

/* Readable when there are records. Stays so until sideband__settle(). */
int sideband__fd(const struct sideband *sb);

/*
 * Takes back the readiness of what is there now. To be followed by a drain: a record that comes
 * later makes the descriptor readable again.
 */
void sideband__settle(struct sideband *sb);

/*
 * Passes on what the rings hold, of each CPU in order, of all CPUs in none: records in the form of
 * bpf/record.h, borrowed for the call; and a REC_LOST where records were lost since the last drain,
 * or may have been (count 0). A failing callback's record counts as lost; a REC_LOST is tried again
 * in the next drain. Returns the number of records.
 */
size_t sideband__drain(struct sideband *sb, int (*fn)(void *ctx, const struct rec_hdr *rec),
		       void *ctx);

/*
 * Task records lost so far, at least. Where the kernel counts them (lost_count) and after
 * sideband__drain(), exact.
 */
uint64_t sideband__lost(const struct sideband *sb);

/* Looks at the kernel's counts of lost records, which a drain only does at need. */
void sideband__update_lost(struct sideband *sb);

/* Bytes of all rings, for bounds. */
size_t sideband__ring_bytes(const struct sideband *sb);

#endif
