/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel text that comes and goes: BPF programs, trampolines. It may be gone when outputs are
 * written, so it is named when a sample is read, from the records that announced it.
 */
#ifndef EBOLT_PROC_KSYMS_H
#define EBOLT_PROC_KSYMS_H

#include <stdint.h>

#include "../../bpf/record.h"
#include "base/strtab.h"
#include "base/vec.h"

#define KSYMS_MAX (1u << 20)

struct ksym {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* interned */
};

struct ksyms {
	VEC(struct ksym) syms;	/* by start, not overlapping */
	struct strtab *strings; /* borrowed */
	uint64_t version;	/* changes with the content */
};

void ksyms__init(struct ksyms *k, struct strtab *strings);
void ksyms__done(struct ksyms *k);
void ksyms__apply(struct ksyms *k, const struct rec_ksymbol *r);
const struct ksym *ksyms__lookup(const struct ksyms *k, uint64_t addr); /* or NULL */

#endif
