// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_message.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const map_refusals[] = {
	[JIT_MAP_LINK] = "a link, which could lead to any file",
	[JIT_MAP_NO_FILE] = "not a regular file",
	[JIT_MAP_OWNER] = "owned neither by the user of the process nor by root",
	[JIT_MAP_OLD] = "older than the process or its exec: written by another that had its id",
	[JIT_MAP_DENIED] = "can't be opened",
};

static const char *refusal(const struct jit_message *m)
{
	switch (m->kind) {
	case JIT_MSG_OPEN:
		return m->error == -EINVAL ? map_refusals[JIT_MAP_NO_FILE] : strerror(-m->error);
	case JIT_MSG_OWNER:
		return map_refusals[JIT_MAP_OWNER];
	case JIT_MSG_GONE:
		return "its process ended before it could be seen whose it was to be";
	case JIT_MSG_TOO_MANY:
		return "too many such files";
	default:
		return map_refusals[m->what];
	}
}

/* A path is of another's choosing. */
static void put_path(struct buf *out, const char *path)
{
	for (; *path; path++)
		buf__putc(out, (unsigned char)*path < 0x20 || *path == 0x7f ? '?' : *path);
}

void jit_message__format(const struct jit_message *m, struct buf *out)
{
	put_path(out, m->path);
	if (m->kind == JIT_MSG_UNREAD) {
		buf__printf(out,
			    " of process %u was not read from offset %" PRIu64
			    " on: it is too large, or grows faster than it can be read",
			    m->pid, m->off);
		return;
	}
	if (m->kind != JIT_MSG_PROBLEM) {
		buf__printf(out,
			    " of process %u was not read: %s; JIT code that it names stays "
			    "without a name",
			    m->pid, refusal(m));
		return;
	}
	buf__printf(out, " of process %u: %s", m->pid, jitdump_problem__text(m->what));
	if (m->what == JITDUMP_TSC)
		buf__puts(out, "; code that was replaced may get the name of what replaced it");
	else
		buf__printf(out, ", at offset %" PRIu64, m->off);
	if (m->what == JITDUMP_BAD_SIZE)
		buf__puts(out, "; what was read before it holds, the rest is left out");
}

bool jit_message__is_warning(const struct jit_message *m)
{
	return m->kind != JIT_MSG_PROBLEM || m->what == JITDUMP_BAD_MAGIC ||
	       m->what == JITDUMP_BAD_HEADER_SIZE || m->what == JITDUMP_TSC ||
	       m->what == JITDUMP_BAD_SIZE || m->what == JITDUMP_NO_MEMORY;
}
