/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child that does what may never end.
 *
 * Reading another process's memory faults its pages in, and behind a page may be a FUSE server that
 * never answers: whoever has the process decides when such a read returns. Its files may be served
 * like that too, and the lock of its memory is held as long as such a page is waited for.
 * Nothing can be done about it from within (signals don't end it), so it is done in a child, which
 * is waited for until a deadline and then killed. A kill isn't sure to end it either: children that
 * still wait in the kernel are left behind, HELPER_STUCK_MAX at most, and while there are so many
 * calls are refused.
 *
 * Who makes calls late on purpose costs no more than a tenth of the time: that is what calls may be
 * waited for in vain, saved up to HELPER_WAIT_MAX; when it is spent, HELPER_WAIT_MIN each.
 *
 * The child is forked at the first call and serves all, one after another. It is ebolt's own image
 * as of the fork, so functions can be named to it by their address, but it knows only what is in
 * a call. It has no descriptors but what a call passes.
 */
#ifndef EBOLT_BASE_HELPER_H
#define EBOLT_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define HELPER_WAIT_MAX	  500000000ull /* ns */
#define HELPER_WAIT_MIN	  5000000ull
#define HELPER_WAIT_SHARE 10 /* one part in so many of the time */
#define HELPER_STUCK_MAX  16
#define HELPER_ARG_MAX	  8192 /* bytes */
#define HELPER_TEXT_CHUNK 65536

/*
 * What is called in the child: arg is a copy, fd the call's or -1 (closed afterwards). Returns what
 * helper__call() is to return; what it appends to text is handed over, and the descriptor that it
 * puts into *ret_fd, if any.
 */
#define HELPER_FN(name) \
	int name(const void *arg, size_t arg_len, int fd, struct buf *text, int *ret_fd)

struct helper {
	pid_t pid; /* 0: none runs */
	int sock;
	pid_t stuck[HELPER_STUCK_MAX]; /* killed, and not gone yet; 0: a free place */
	uint64_t wait_left;	       /* ns */
	uint64_t wait_as_of;	       /* ns, CLOCK_MONOTONIC */
	uint64_t late;		       /* calls that were given up at their deadline */
	uint64_t refused;	       /* calls while too many were stuck */
};

void helper__init(struct helper *h);
/* Kills the child; doesn't wait for those that are stuck. */
void helper__done(struct helper *h);

/*
 * Has fn called in the child and waits for it. fd: lent to the call, or -1. ret_text: what fn
 * appended is appended to it; NULL: nothing is expected. ret_fd: the caller's to close; -1 where
 * there is none; NULL: none is expected. fn's result; -ETIMEDOUT: it took too long; -EBUSY: too
 * many that did are still there; or why there is no child. On failures of these kinds ret_text may
 * have a part of the text.
 */
int helper__call(struct helper *h, HELPER_FN((*fn)), const void *arg, size_t arg_len, int fd,
		 struct buf *ret_text, int *ret_fd);

/* How many children were killed and are not gone, as of the last call. */
size_t helper__stuck(const struct helper *h);

#endif
