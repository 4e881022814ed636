// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line of fields with one blank between them (fs/proc/array.c, do_task_stat):
 *
 *	PID (COMM) STATE PPID ... START_TICKS ...
 *
 * The comm may hold anything, blanks and brackets too. So fields are counted from the last closing
 * bracket, behind which there are only numbers; the state is field 3.
 */
#include "object/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FIELD_PPID  4
#define FIELD_START 22
#define LINE_BYTES  2048 /* 50 numbers of at most 20 digits, and the comm, escaped */

static bool number(const char *s, const char *end, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (s == end)
		return false;
	for (; s < end; s++) {
		unsigned int digit = *s - '0';

		if (digit > 9 || n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*ret = n;
	return true;
}

bool proc_stat__parse(const char *text, size_t len, struct proc_stat *ret)
{
	const char *at = len ? memrchr(text, ')', len) : NULL, *end = text + len;
	uint64_t ppid = 0, start;

	if (!at)
		return false;
	at++;
	for (int field = 3; at < end && *at == ' '; field++) {
		const char *first = ++at;

		while (at < end && *at != ' ' && *at != '\n')
			at++;
		if (field == FIELD_PPID && !number(first, at, INT32_MAX, &ppid))
			return false;
		if (field != FIELD_START)
			continue;
		if (!number(first, at, UINT64_MAX, &start))
			return false;
		*ret = (struct proc_stat){ .ppid = ppid, .start_ticks = start };
		return true;
	}
	return false;
}

int proc_stat__read(pid_t pid, struct proc_stat *ret)
{
	char path[32], text[LINE_BYTES];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	return proc_stat__parse(text, n, ret) ? 0 : -EBADMSG;
}
