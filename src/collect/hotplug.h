/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that come online. Nothing else tells: the perf events of a CPU that went offline stay open
 * and silent, also when it returns.
 */
#ifndef EBOLT_COLLECT_HOTPLUG_H
#define EBOLT_COLLECT_HOTPLUG_H

#include <stddef.h>

/* Listens to the kernel's uevents. The descriptor, which the caller closes, or a negative errno. */
int hotplug__open(void);

/*
 * The next CPU that came online: 1 and *ret_cpu; 0: no more now; -ENOBUFS: some were missed, look
 * at all; another negative errno.
 */
int hotplug__next(int fd, int *ret_cpu);

/* The CPU that a uevent announces online, or -1. Its fields are text, each ended by a NUL. */
int hotplug__parse(const char *uevent, size_t len);

#endif
