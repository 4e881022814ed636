/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that moved to anonymous memory at the addresses that it had: programs copy their text to
 * huge pages, by mremap() or by mapping over it and copying back. The code is still the file's, and
 * so are its symbols; the mapping is no longer.
 *
 * The rule. Executable anonymous memory is a file's text if
 *   - a file mapping of this process would give it an offset in an executable segment of the file:
 *     one that it was mapped over, when that was seen; or else, in /proc/PID/maps, the nearest file
 *     mapping below or above, whose load bias places such a segment there; and
 *   - the bytes there are the file's, in MOVED_TEXT_PAGES pages spread over it, the first and the
 *     last among them (in all, if there are no more).
 * Anything else is not: what a JIT runtime writes where a library was unmapped has other bytes. Nor
 * is what can't be compared in time (base/helper.h: who has the memory decides when it can be
 * read), and what is over MOVED_TEXT_PER_SEC comparisons a second, of which MOVED_TEXT_SAVED can be
 * saved up: programs that move their text do so once.
 */
#ifndef EBOLT_PROC_MOVED_TEXT_H
#define EBOLT_PROC_MOVED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/dso.h"

#define MOVED_TEXT_PAGES 64
/* Anonymous mappings of a process that are looked at when it is read: JIT runtimes have thousands.
 */
#define MOVED_TEXT_TRIES 64

/* Are the bytes at [addr, addr + len) of the process those of the DSO's file at off? */
bool moved_text__is(struct dso_table *dsos, uint32_t dso, uint64_t off, uint32_t pid, uint64_t addr,
		    uint64_t len);

/*
 * The file whose text [start, end) holds, by the neighbours in a /proc/PID/maps text. False: none.
 * *ret_off is the offset of start.
 */
bool moved_text__find(struct dso_table *dsos, uint32_t pid, const char *maps, size_t maps_len,
		      uint64_t start, uint64_t end, uint32_t *ret_dso, uint64_t *ret_off);

#endif
