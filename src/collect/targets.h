/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes are recorded, when not all are: one that is named, and its descendants. Those
 * that are created from now on BPF adds (bpf/targets.bpf.c); those that exist, this.
 */
#ifndef EBOLT_COLLECT_TARGETS_H
#define EBOLT_COLLECT_TARGETS_H

#include <sys/types.h>

#include "collect/collector.h"

/*
 * Adds the process and its descendants. The collector was opened with targets_only. 0; -ESRCH: no
 * such process; -E2BIG: the table is full; or another negative errno.
 */
int targets__add(struct collector *c, pid_t pid);

#endif
