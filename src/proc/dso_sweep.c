// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/dso_sweep.h"

#include "proc/jit_files.h"
#include "proc/process.h"

void dso_sweep__run(struct process_table *t, uint64_t now)
{
	if (!dso_table__sweep_due(t->dsos, now))
		return;
	vec_for_each(&t->procs, p) {
		if (!*p)
			continue;
		vec_for_each(&(*p)->maps, m)
			if (m->kind == MAPPING_FILE)
				dso_table__need(t->dsos, m->dso);
	}
	if (t->jit)
		vec_for_each(&t->jit->spaces, s)
			vec_for_each(&(*s)->dumps, d)
				dso_table__need(t->dsos, d->dso);
	dso_table__sweep(t->dsos, now);
}
