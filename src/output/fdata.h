/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of the fdata format that its tests and the other BOLT outputs share.
 */
#ifndef EBOLT_OUTPUT_FDATA_H
#define EBOLT_OUTPUT_FDATA_H

#include "base/buf.h"
#include "object/bolt_symtab.h"

/*
 * Appends a function's name as fdata wants it: "/N" behind a local symbol's, spaces and backslashes
 * escaped by a backslash. A line end stands as it is: BOLT's reader takes it for a part of the
 * name.
 */
void fdata__put_name(struct buf *out, const struct bolt_function *f);

/*
 * Appends the event's name for the no_lbr header. Where BOLT shall normalise (divide a block's
 * count by its number of instructions) it has to hold "cycles" or "instructions", so anything
 * time-based that doesn't becomes "cycles". NULL or "" is "cycles" or "unknown".
 */
void fdata__put_event(struct buf *out, const char *event_name, bool time_based);

#endif
