/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has to be asked of a process while it is there, so that its files can be found and judged
 * when it no longer is: whose they are to be, how it calls itself, and its /tmp.
 */
#ifndef EBOLT_PROC_JIT_WHO_H
#define EBOLT_PROC_JIT_WHO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "object/proc_status.h"

struct jit_who {
	uint32_t pid;
	bool known; /* else the process was gone */
	struct proc_status status;
	uint64_t began;	  /* CLOCK_REALTIME, ns; of the process, */
	uint64_t exec_at; /* CLOCK_MONOTONIC, ns; and of its image: an exec; 0: none is known */
	int tmp_fd;	  /* its /tmp, to look files up in; -1: none */
};

/* Asks the kernel. Afterwards jit_who__done(). */
void jit_who__ask(struct jit_who *who, uint32_t pid);
void jit_who__done(struct jit_who *who);

/* Is it a regular file that this process, or root, may have written? */
bool jit_who__may_own(const struct jit_who *who, const struct stat *st);

/*
 * Opens a file of the process's /tmp. 0, or a negative errno; -ELOOP: a link; -EINVAL: not a
 * regular file. Neither is opened: that can block, or do something.
 */
int jit_who__open_tmp(const struct jit_who *who, const char *name, int *ret_fd,
		      struct stat *ret_st);

/* Has the process a file open that is called like a jitdump? Reads /proc/PID/fd. */
bool jit_who__has_dump_open(uint32_t pid);

#endif
