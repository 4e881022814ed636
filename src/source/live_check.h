/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live source needs, and can be known before anything is opened. */
#ifndef EBOLT_SOURCE_LIVE_CHECK_H
#define EBOLT_SOURCE_LIVE_CHECK_H

/*
 * Whether this process sees the pids and the times that the kernel uses, by its own /proc. 0, or a
 * negative errno and *ret_why (allocated, for the caller to free; NULL for want of memory).
 */
int live_check__namespaces(char **ret_why);

#endif
