/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files come and go: every memfd, temporary file or library that is built anew is a DSO. Those that
 * no process has mapped any more, and that no sample hit, are of no use.
 */
#ifndef EBOLT_PROC_DSO_SWEEP_H
#define EBOLT_PROC_DSO_SWEEP_H

#include <stdint.h>

struct process_table;

/*
 * Forgets them, when there are many (see dso_table__sweep_due()). For between two records: the only
 * mappings that count are those of the table's processes, and jitdumps. now: ns.
 */
void dso_sweep__run(struct process_table *t, uint64_t now);

#endif
