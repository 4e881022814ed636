/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code an .eh_frame section describes: the [start, start + len) of each FDE, nothing of
 * how to unwind it. BOLT takes function sizes from here, and functions without a symbol.
 */
#ifndef EBOLT_OBJECT_FDE_RANGES_H
#define EBOLT_OBJECT_FDE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define FDE_RANGES_MAX (16u << 20)

struct fde_range {
	uint64_t start; /* vaddr */
	uint64_t len;	/* bytes */
};

struct fde_ranges {
	VEC(struct fde_range) ranges; /* by start; one a start: the first that isn't empty */
};

/*
 * Parses a little-endian .eh_frame of a 64-bit file whose first byte is at `vaddr` (the format is
 * that of the LSB core specification, "Exception Frames"). The bytes are borrowed for the call.
 * 0; -EBADMSG: the section is malformed, and *ret holds what stands before the fault; -E2BIG;
 * -ENOMEM. *ret is to be released by fde_ranges__done() in each case.
 */
int fde_ranges__parse(const void *bytes, size_t len, uint64_t vaddr, struct fde_ranges *ret);
void fde_ranges__done(struct fde_ranges *fr);

/* The FDE that starts at vaddr; NULL where none does. */
const struct fde_range *fde_ranges__at(const struct fde_ranges *fr, uint64_t vaddr);

#endif
