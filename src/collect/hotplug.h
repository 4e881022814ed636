/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that come online. The perf events of a CPU that went offline stay open and silent, also when
 * it returns. The kernel announces that by a uevent; where none can be had, what CPUs are online is
 * looked at every second, which doesn't see one that was away for less.
 */
#ifndef EBOLT_COLLECT_HOTPLUG_H
#define EBOLT_COLLECT_HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/sampler.h"

struct hotplug;

/*
 * From here on CPUs that come are noticed; so it is to be opened before the list of CPUs is read
 * that something else is opened on. uevents: FEATURE_UEVENTS. 0 or a negative errno.
 */
int hotplug__open(bool uevents, struct hotplug **ret);
void hotplug__free(struct hotplug *h);

/* Readable when a CPU came; -1 where there are no uevents. */
int hotplug__fd(const struct hotplug *h);

/*
 * The next CPU that came online, or that may have (where uevents were missed, all are named): 1 and
 * *ret_cpu; 0: no more now; a negative errno.
 */
int hotplug__next(struct hotplug *h, int *ret_cpu);

/* Whether the kernel's uevents can be listened to here. */
bool hotplug__has_uevents(void);

/* The CPU that a uevent announces online, or -1. Its fields are text, each ended by a NUL. */
int hotplug__parse(const char *uevent, size_t len);

/* The CPUs of `is` that are not in `was`: 0, *ret to be freed by cpu_list__done(); or -ENOMEM. */
int hotplug__added(const struct cpu_list *was, const struct cpu_list *is, struct cpu_list *ret);

#endif
