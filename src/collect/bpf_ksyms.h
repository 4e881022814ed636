/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs and trampolines that are loaded already, as the records that announce new ones.
 */
#ifndef EBOLT_COLLECT_BPF_KSYMS_H
#define EBOLT_COLLECT_BPF_KSYMS_H

#include "../../bpf/record.h"

/*
 * Calls record() with a REC_KSYMBOL of time 0 for each; an error of it ends the list. Names come
 * from /proc/kallsyms, extents from the programs' own info. 0 or a negative errno; what was handed
 * out before stays right.
 */
int bpf_ksyms__list(int (*record)(void *ctx, const struct rec_hdr *rec), void *ctx);

#endif
