/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that share their memory: made by clone() with CLONE_VM but without CLONE_THREAD, as by
 * vfork(). What one of them maps is mapped in all, but the record names only the one.
 *
 * No record tells that a new process shares its parent's memory; kcmp(2) does, while both live. Who
 * leaves soon (as after vfork(), by exec) is not noticed, and needs not be.
 */
#ifndef EBOLT_PROC_SHARED_VM_H
#define EBOLT_PROC_SHARED_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/vec.h"

#define SHARED_VM_MAX	    (1u << 14) /* processes that share; of more it isn't known */
#define SHARED_VM_GROUP_MAX 1024       /* of one memory: each mapping is entered for each of them */

struct shared_vm_member {
	uint32_t pid;
	uint32_t next, prev; /* indices */
};

struct shared_vm {
	VEC(struct shared_vm_member) members;
	struct hashmap by_pid;
	bool off;	  /* nothing is asked, so nothing known */
	uint64_t unasked; /* where kcmp(2) was refused */
	uint64_t dropped; /* over the bounds, or no memory */
};

void shared_vm__init(struct shared_vm *s);
void shared_vm__done(struct shared_vm *s);

/* A process and its parent: asks the kernel, and remembers if they share. Both may be gone. What
 * was known of the process before is forgotten then.
 */
void shared_vm__began(struct shared_vm *s, uint32_t parent, uint32_t pid);

/* The process has memory of its own now, or is gone. */
void shared_vm__left(struct shared_vm *s, uint32_t pid);

/* Nothing is known of anyone any more. */
void shared_vm__clear(struct shared_vm *s);

/*
 * Walks through those with which pid shares its memory: *pos starts as 0. False: no more. Nothing
 * may be added or removed meanwhile.
 */
bool shared_vm__next(const struct shared_vm *s, uint32_t pid, size_t *pos, uint32_t *ret_pid);

#endif
