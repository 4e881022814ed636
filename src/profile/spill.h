/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file for what need not be in memory until the end: bytes are appended, and later read from
 * the beginning. It has no name (O_TMPFILE, or unlinked at once), so nothing is left behind,
 * however this process ends, and nobody else writes into it. It lies in $TMPDIR, else in /var/tmp,
 * which is on a disk where /tmp may be memory.
 */
#ifndef EBOLT_PROFILE_SPILL_H
#define EBOLT_PROFILE_SPILL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct spill {
	int fd;	       /* -1 while nothing was written */
	uint64_t size; /* bytes */
};

void spill__init(struct spill *s);
void spill__done(struct spill *s);

/* Appends len bytes, all or nothing. 0, or -errno of opening or writing. */
int spill__append(struct spill *s, const void *data, size_t len);

/*
 * A stream of the bytes from the beginning; the caller's, to be closed. One at a time, and nothing
 * is appended while it is read. NULL with errno where there is no memory.
 */
FILE *spill__open(const struct spill *s);

#endif
