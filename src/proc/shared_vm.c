// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/shared_vm.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

void shared_vm__init(struct shared_vm *s)
{
	vec_init(&s->members, SHARED_VM_MAX);
	s->last_group = 0;
}

void shared_vm__done(struct shared_vm *s)
{
	vec_done(&s->members);
}

/* 0: it shares with nobody. */
static uint32_t group_of(const struct shared_vm *s, uint32_t pid)
{
	for (size_t i = 0; i < s->members.len; i++)
		if (s->members.data[i].pid == pid)
			return s->members.data[i].group;
	return 0;
}

void shared_vm__began(struct shared_vm *s, uint32_t parent, uint32_t pid)
{
	uint32_t group;

	if (syscall(SYS_kcmp, parent, pid, KCMP_VM, 0, 0) ||
	    vec_reserve(&s->members, s->members.len + 2))
		return;
	group = group_of(s, parent);
	if (!group) {
		group = ++s->last_group;
		vec_push(&s->members, (struct shared_vm_member){ parent, group });
	}
	vec_push(&s->members, (struct shared_vm_member){ pid, group });
}

void shared_vm__left(struct shared_vm *s, uint32_t pid)
{
	uint32_t group = group_of(s, pid);
	size_t kept = 0, others = 0;

	if (!group)
		return;
	for (size_t i = 0; i < s->members.len; i++)
		others += s->members.data[i].group == group && s->members.data[i].pid != pid;
	/* One alone shares with nobody. */
	for (size_t i = 0; i < s->members.len; i++) {
		struct shared_vm_member m = s->members.data[i];

		if (m.group != group || (m.pid != pid && others > 1))
			s->members.data[kept++] = m;
	}
	s->members.len = kept;
}

bool shared_vm__next(const struct shared_vm *s, uint32_t pid, size_t *pos, uint32_t *ret_pid)
{
	uint32_t group = group_of(s, pid);

	for (; group && *pos < s->members.len; (*pos)++) {
		struct shared_vm_member m = s->members.data[*pos];

		if (m.group != group || m.pid == pid)
			continue;
		(*pos)++;
		*ret_pid = m.pid;
		return true;
	}
	return false;
}
