/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be said of the files of JIT runtimes, in words. */
#ifndef EBOLT_PROC_JIT_MESSAGE_H
#define EBOLT_PROC_JIT_MESSAGE_H

#include "base/buf.h"
#include "proc/jit_files.h"

/* What was wrong, with which file of which process, and what follows from it. */
void jit_message__format(const struct jit_message *m, struct buf *out);

/* Does it cost names? */
bool jit_message__is_warning(const struct jit_message *m);

#endif
