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

#define FIELD_STATE   3
#define FIELD_PPID    4
#define FIELD_FLAGS   9
#define FIELD_THREADS 20
#define FIELD_START   22
#define PF_EXITING    0x4  /* include/linux/sched.h; set before any record of the exit is made */
#define LINE_BYTES    2048 /* 50 numbers of at most 20 digits, and the comm, escaped */

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

/* Up to FIELD_START, which completes it. */
static bool take_field(int field, const char *first, const char *end, struct proc_stat *st)
{
	uint64_t n = 0;

	switch (field) {
	case FIELD_STATE:
		if (end != first + 1)
			return false;
		st->state = *first;
		return true;
	case FIELD_PPID:
		if (!number(first, end, INT32_MAX, &n))
			return false;
		st->ppid = n;
		return true;
	case FIELD_FLAGS:
		if (!number(first, end, UINT32_MAX, &n))
			return false;
		st->flags = n;
		return true;
	case FIELD_THREADS:
		return number(first, end, UINT64_MAX, &st->threads);
	case FIELD_START:
		return number(first, end, UINT64_MAX, &st->start_ticks);
	}
	return true;
}

bool proc_stat__parse(const char *text, size_t len, struct proc_stat *ret)
{
	const char *at = len ? memrchr(text, ')', len) : NULL, *end = text + len;
	struct proc_stat st = { 0 };

	if (!at)
		return false;
	at++;
	for (int field = 3; at < end && *at == ' '; field++) {
		const char *first = ++at;

		while (at < end && *at != ' ' && *at != '\n')
			at++;
		if (!take_field(field, first, at, &st))
			return false;
		if (field != FIELD_START)
			continue;
		*ret = st;
		return true;
	}
	return false;
}

bool proc_stat__leader_exits(const struct proc_stat *st)
{
	return st->state == 'Z' || st->state == 'X' || st->flags & PF_EXITING;
}

bool proc_stat__is_dead(const struct proc_stat *st)
{
	return (st->state == 'Z' || st->state == 'X') && st->threads <= 1;
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
