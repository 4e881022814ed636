/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sentences that say why something failed: what, on what, why, and the remedy. Below the
 * commands nothing prints, so a failure travels up as an errno and, where there is more to say,
 * such a text, which the caller frees. All return NULL for want of memory.
 */
#ifndef EBOLT_COLLECT_WHY_H
#define EBOLT_COLLECT_WHY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

char *why__format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *why__vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* A number in /proc/sys; `otherwise` where it can't be read. */
long why__sysctl(const char *path, long otherwise);

/* "none", "integrity", "confidentiality"; "none" where there is no lockdown. */
const char *why__lockdown(void);

/* Whether the effective set holds a capability (CAP_*). */
bool why__has_cap(int cap);

/* For a refusal (-EPERM, -EACCES) of what needs CAP_BPF and CAP_PERFMON. */
char *why__permission(const char *what, int err);

/* Whether this process sees the pids that the kernel uses. */
bool why__in_initial_pid_ns(void);

/* Whether this process's clocks and the start times in its /proc are those that the kernel uses. */
bool why__in_initial_time_ns(void);

#endif
