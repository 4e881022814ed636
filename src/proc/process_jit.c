// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/process_jit.h"

#include "base/clock.h"
#include "proc/jit_files.h"
#include "proc/mappings.h"

static bool is_marker(const struct process_table *t, const struct mapping *m)
{
	return m->kind == MAPPING_FILE && t->dsos->dsos.data[m->dso].jit_marker;
}

void process_jit__foresee(struct process_table *t, const struct process *p, uint32_t pid,
			  const struct mapping *m)
{
	if (t->jit && (m->kind == MAPPING_ANON || is_marker(t, m)))
		jit_files__foresee(t->jit, pid, p && p->jit);
}

void process_jit__mapped(struct process_table *t, struct process *p, const struct mapping *m)
{
	bool marker = is_marker(t, m);

	if (!t->jit || (m->kind != MAPPING_ANON && !marker))
		return;
	if (!p->jit)
		p->jit = jit_files__space(t->jit, p->pid, p->exec_at);
	if (p->jit && marker)
		jit_files__mapped(t->jit, p->jit, m->dso);
}

void process_jit__read(struct process_table *t, struct process *p, struct process *was)
{
	if (was && was->start_ticks == p->start_ticks && mappings__share(was, p)) {
		p->exec_at = was->exec_at;
		p->jit = was->jit;
		was->jit = NULL;
	}
	vec_for_each(&p->maps, m)
		process_jit__mapped(t, p, m);
}

void process_jit__forked(struct process_table *t, struct process *p, const struct process *parent,
			 uint64_t time)
{
	if (t->jit && parent->jit)
		p->jit = jit_files__fork(t->jit, parent->jit, p->pid, time);
}

void process_jit__replaced(struct process *p)
{
	if (p->jit)
		p->jit->replaced = true;
	process_jit__ended(p);
}

void process_jit__ended(struct process *p)
{
	if (p->jit)
		jit_space__end(p->jit, clock__now());
	p->jit = NULL;
}
