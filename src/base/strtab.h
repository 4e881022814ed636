/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interned strings: one copy of each, at an address that holds until strtab__free(). Equal
 * strings have equal pointers. Strings may hold any byte but NUL.
 */
#ifndef EBOLT_BASE_STRTAB_H
#define EBOLT_BASE_STRTAB_H

#include <stddef.h>

struct strtab;

/* max_bytes: bound on the sum of the lengths. NULL for want of memory. */
struct strtab *strtab__new(size_t max_bytes);
void strtab__free(struct strtab *st);

/*
 * The interned copy of the first len bytes of s (up to a NUL, if there is one), borrowed from
 * the table. 0, -E2BIG (over max_bytes) or -ENOMEM.
 */
int strtab__intern(struct strtab *st, const char *s, size_t len, const char **ret);

size_t strtab__bytes(const struct strtab *st);

#endif
