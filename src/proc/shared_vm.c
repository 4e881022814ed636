// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Those who share one memory are linked in a ring, which has two members at least: who shares with
 * nobody isn't here.
 */
#include "proc/shared_vm.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"

void shared_vm__init(struct shared_vm *s)
{
	*s = (struct shared_vm){ 0 };
	vec_init(&s->members, SHARED_VM_MAX);
	hashmap__init(&s->by_pid, SHARED_VM_MAX);
}

void shared_vm__done(struct shared_vm *s)
{
	vec_done(&s->members);
	hashmap__done(&s->by_pid);
}

void shared_vm__clear(struct shared_vm *s)
{
	s->members.len = 0;
	hashmap__clear(&s->by_pid);
}

struct member_probe {
	const struct shared_vm *s;
	uint32_t pid;
};

static bool same_pid(const void *ctx, uint32_t i)
{
	const struct member_probe *probe = ctx;

	return probe->s->members.data[i].pid == probe->pid;
}

/* HASHMAP_NONE: it shares with nobody. */
static uint32_t index_of(const struct shared_vm *s, uint32_t pid)
{
	struct member_probe probe = { .s = s, .pid = pid };

	return hashmap__find(&s->by_pid, hash_u64(pid), same_pid, &probe);
}

static bool has_room(const struct shared_vm *s, uint32_t member)
{
	uint32_t i = member, n = 1;

	if (s->members.len + 2 > s->members.max)
		return false;
	while (member != HASHMAP_NONE && (i = s->members.data[i].next) != member)
		n++;
	return n < SHARED_VM_GROUP_MAX;
}

/* A ring of its own. HASHMAP_NONE: no memory. */
static uint32_t add_alone(struct shared_vm *s, uint32_t pid)
{
	uint32_t i = s->members.len;

	if (vec_push(&s->members, (struct shared_vm_member){ .pid = pid, .next = i, .prev = i }))
		return HASHMAP_NONE;
	if (!hashmap__add(&s->by_pid, hash_u64(pid), i))
		return i;
	s->members.len--;
	return HASHMAP_NONE;
}

/* Takes it out of its ring and the array, the last of which moves to its place. */
static void take_out(struct shared_vm *s, uint32_t i)
{
	struct shared_vm_member *all = s->members.data;
	uint32_t last = s->members.len - 1;

	all[all[i].next].prev = all[i].prev;
	all[all[i].prev].next = all[i].next;
	hashmap__remove(&s->by_pid, hash_u64(all[i].pid), i);
	s->members.len--;
	if (i == last)
		return;
	hashmap__remove(&s->by_pid, hash_u64(all[last].pid), last);
	all[i] = all[last];
	if (all[i].next == last)
		all[i].next = all[i].prev = i;
	all[all[i].next].prev = i;
	all[all[i].prev].next = i;
	/* One was removed: there is room. */
	hashmap__add(&s->by_pid, hash_u64(all[i].pid), i);
}

void shared_vm__began(struct shared_vm *s, uint32_t parent, uint32_t pid)
{
	long differs = s->off ? 1 : syscall(SYS_kcmp, parent, pid, KCMP_VM, 0, 0);
	struct shared_vm_member *all;
	uint32_t p, i;

	/* The kernel was built without it, or a filter forbids it; or else one has ended. */
	if (differs < 0 && (errno == ENOSYS || errno == EPERM))
		s->unasked++;
	if (differs)
		return;
	shared_vm__left(s, pid);
	p = index_of(s, parent);
	if (!has_room(s, p)) {
		s->dropped++;
		return;
	}
	if (p == HASHMAP_NONE)
		p = add_alone(s, parent);
	i = p == HASHMAP_NONE ? p : add_alone(s, pid);
	if (i == HASHMAP_NONE) {
		s->dropped++;
		shared_vm__left(s, parent);
		return;
	}
	all = s->members.data;
	all[i].next = all[p].next;
	all[i].prev = p;
	all[all[p].next].prev = i;
	all[p].next = i;
}

void shared_vm__left(struct shared_vm *s, uint32_t pid)
{
	uint32_t i = index_of(s, pid), other;

	if (i == HASHMAP_NONE)
		return;
	other = s->members.data[s->members.data[i].next].pid;
	take_out(s, i);
	i = index_of(s, other);
	/* One alone shares with nobody. */
	if (i != HASHMAP_NONE && s->members.data[i].next == i)
		take_out(s, i);
}

bool shared_vm__next(const struct shared_vm *s, uint32_t pid, size_t *pos, uint32_t *ret_pid)
{
	uint32_t at = *pos ? *pos - 1 : index_of(s, pid);

	if (at == HASHMAP_NONE)
		return false;
	at = s->members.data[at].next;
	if (s->members.data[at].pid == pid)
		return false;
	*pos = (size_t)at + 1;
	*ret_pid = s->members.data[at].pid;
	return true;
}
