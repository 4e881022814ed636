// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line a field, "Name:\tvalue..." (fs/proc/array.c). The comm stands first, with line ends
 * escaped, so a line's beginning can be trusted:
 *
 *	Uid:	REAL	EFFECTIVE	SAVED	FILESYSTEM
 *	NSpid:	OUTERMOST	...	INNERMOST
 */
#include "object/proc_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define TEXT_MAX (1u << 20) /* groups and lists of CPUs are long on large machines */

/* The next number of the line; false: none, or one too large. */
static bool number(const char **at, const char *end, uint32_t *ret)
{
	const char *p = *at;
	uint64_t n = 0;

	while (p < end && (*p == '\t' || *p == ' '))
		p++;
	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (*p - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*at = p;
	*ret = n;
	return true;
}

static bool starts_with(const char *at, const char *end, const char *what)
{
	size_t len = strlen(what);

	return (size_t)(end - at) >= len && !memcmp(at, what, len);
}

bool proc_status__parse(const char *text, size_t len, struct proc_status *ret)
{
	const char *at = text, *end = text + len;
	struct proc_status st = { 0 };
	bool uids = false, pid = false;

	while (at < end) {
		const char *eol = memchr(at, '\n', end - at), *p;

		eol = eol ? eol : end;
		if (starts_with(at, eol, "Uid:")) {
			p = at + 4;
			uids = true;
			for (int i = 0; i < 4; i++)
				uids &= number(&p, eol, &st.uids[i]);
		} else if (starts_with(at, eol, "NSpid:")) {
			p = at + 6;
			while (number(&p, eol, &st.inner_pid))
				pid = true;
		}
		at = eol < end ? eol + 1 : end;
	}
	if (!uids || !pid || !st.inner_pid)
		return false;
	*ret = st;
	return true;
}

int proc_status__read(pid_t pid, struct proc_status *ret)
{
	struct buf text;
	char path[48];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	buf__init(&text, TEXT_MAX);
	err = buf__read_path(&text, path);
	if (!err && !proc_status__parse(text.data, text.len, ret))
		err = -EBADMSG;
	buf__done(&text);
	return err == -ENOENT ? -ESRCH : err;
}
