/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what is known to be mapped is still there.
 *
 * No record tells of munmap(), mremap() and mprotect() that takes the right to execute away. What
 * comes by mremap() to where nothing is known to be is noticed by an address that nothing covers
 * (process_table__reread()); what comes to where a file was, and is no more, would get the file's
 * names. So /proc/PID/maps is read now and then of processes that are sampled in a file.
 *
 * The reading is of a moment in which the samples that are being looked up were long taken, and
 * records of before it are still to come. It waits until time has reached it. Then all records of
 * before have been applied, and whatever it states differently came about by what no record tells:
 * so that is taken over, exactly. Mappings with a record from after the reading began stay.
 *
 * The limit: until then, that is for as long as a process isn't looked at, other code has the
 * file's names. A process is looked at CHECK_WAIT_MIN after it was first sampled, then at intervals
 * that double up to CHECK_WAIT_MAX, and begin anew when something had changed unseen; all
 * together CHECKS_PER_SEC times a second at most.
 */
#ifndef EBOLT_PROC_PROCESS_CHECK_H
#define EBOLT_PROC_PROCESS_CHECK_H

#include "base/clock.h"
#include "proc/process.h"

#define CHECKS_PER_SEC 20
#define CHECK_WAIT_MIN (NSEC_PER_SEC / 10)
#define CHECK_WAIT_MAX (NSEC_PER_SEC * 10)

/*
 * Before a sample of `time` (ns), with its leaf at addr in user mode, is looked up: takes over what
 * was read before that time, and reads anew if that is due and addr is in a file.
 */
void process_table__check(struct process_table *t, struct process *p, uint64_t addr, uint64_t time);

void process_check__done(struct process_check *c);

#endif
