/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes are recorded, when not all are: those that are named, and their descendants. What
 * is created from now on BPF adds (bpf/targets.bpf.c); those that exist, this.
 */
#ifndef EBOLT_COLLECT_TARGETS_H
#define EBOLT_COLLECT_TARGETS_H

#include <sys/types.h>

#include "collect/collector.h"

/*
 * Adds the processes and their descendants. The collector was opened with targets_only. 0; -ESRCH:
 * no such process; -E2BIG: the table is full; or another negative errno. *ret_failed, then: of
 * which one; 0: of a descendant.
 */
int targets__add_all(struct collector *c, const pid_t *pids, size_t nr, pid_t *ret_failed);

/* The same of one. */
int targets__add(struct collector *c, pid_t pid);

#endif
