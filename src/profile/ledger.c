// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/ledger.h"

#include <inttypes.h>

enum kind {
	FIRED,
	FILTERED,
	LOST,
	MISSED,
	TASK,
	NAMELESS, /* aggregated, but without a name (outside the identity) */
};

static const struct {
	const char *name;
	enum kind kind;
} causes[LEDGER_CAUSES] = {
#define STAT(name_, kind_, help) [LEDGER_##name_] = { #name_, kind_ },
#include "../../bpf/stats.def"
#undef STAT
	[LEDGER_maps_dropped] = { "maps_dropped", TASK },
	[LEDGER_procs_evicted] = { "procs_evicted", TASK },
	[LEDGER_files_unopened] = { "files_unopened", TASK },
	[LEDGER_no_segment] = { "no_segment", NAMELESS },
	[LEDGER_ambiguous] = { "ambiguous", NAMELESS },
	[LEDGER_jit_refused] = { "jit_refused", TASK },
	[LEDGER_jit_spoilt] = { "jit_spoilt", TASK },
	[LEDGER_jit_forgotten] = { "jit_forgotten", TASK },
	[LEDGER_no_memory] = { "no_memory", LOST },
	[LEDGER_bad_record] = { "bad_record", LOST },
	[LEDGER_unaccounted] = { "unaccounted", LOST },
};

static uint64_t sum(const struct ledger *l, enum kind kind)
{
	uint64_t n = 0;

	for (int i = 0; i < LEDGER_CAUSES; i++)
		if (causes[i].kind == kind)
			n += l->count[i];
	return n;
}

uint64_t ledger__fired(const struct ledger *l)
{
	return sum(l, FIRED);
}

uint64_t ledger__filtered(const struct ledger *l)
{
	return sum(l, FILTERED);
}

uint64_t ledger__lost(const struct ledger *l)
{
	return sum(l, LOST);
}

bool ledger__close(struct ledger *l)
{
	uint64_t known = l->aggregated + ledger__filtered(l) + ledger__lost(l);

	if (known > ledger__fired(l))
		return false;
	l->count[LEDGER_unaccounted] += ledger__fired(l) - known;
	return true;
}

void ledger__format(const struct ledger *l, struct buf *out)
{
	const char *sep = " (";

	buf__printf(out,
		    "ledger: fired=%" PRIu64 " aggregated=%" PRIu64 " filtered=%" PRIu64
		    " lost=%" PRIu64 " missed=%" PRIu64,
		    ledger__fired(l), l->aggregated, ledger__filtered(l), ledger__lost(l),
		    sum(l, MISSED));
	for (int i = 0; i < LEDGER_CAUSES; i++) {
		if (!l->count[i] || causes[i].kind == FIRED || causes[i].kind == FILTERED ||
		    causes[i].kind == MISSED)
			continue;
		buf__printf(out, "%s%s=%" PRIu64, sep, causes[i].name, l->count[i]);
		sep = " ";
	}
	if (sep[1] == '\0')
		buf__putc(out, ')');
}
