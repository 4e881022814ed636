/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where every sample went: fired = aggregated + filtered + lost by cause, exactly. `missed` stands
 * outside: what the kernel dropped before the sampling program ran.
 */
#ifndef EBOLT_PROFILE_LEDGER_H
#define EBOLT_PROFILE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The counters of the kernel side (bpf/stats.def), then those of user space. */
enum ledger_cause {
#define STAT(name, kind, help) LEDGER_##name,
#include "../../bpf/stats.def"
#undef STAT
	LEDGER_maps_dropped,  /* TASK: mappings that found no room: their samples are unresolved */
	LEDGER_procs_evicted, /* TASK: processes forgotten for want of room */
	LEDGER_jit_refused,   /* TASK: jitdumps and perf maps that were not read */
	LEDGER_jit_spoilt, /* TASK: jitdumps that were not read to their end, as they are wrong */
	LEDGER_jit_forgotten, /* TASK: JIT functions for which there was no room */
	LEDGER_no_memory,     /* LOST: the profile's bound or memory was reached */
	LEDGER_bad_record,    /* LOST: a record that makes no sense */
	LEDGER_unaccounted,   /* LOST: fired, and nobody knows where it went: a fault of ours */
	LEDGER_CAUSES,
};

struct ledger {
	uint64_t count[LEDGER_CAUSES];
	uint64_t aggregated;
};

uint64_t ledger__fired(const struct ledger *l);
uint64_t ledger__filtered(const struct ledger *l);
uint64_t ledger__lost(const struct ledger *l);

/*
 * Closes the books after the source has stopped: what is missing to the identity becomes
 * `unaccounted`. Returns false where more came in than fired, which can't be made up for.
 */
bool ledger__close(struct ledger *l);

/*
 * The line that a recording prints last, without a line end:
 * "ledger: fired=F aggregated=A filtered=X lost=L missed=M (cause=N ...)"; causes of lost samples
 * and lost task records that are 0 are left out.
 */
void ledger__format(const struct ledger *l, struct buf *out);

#endif
