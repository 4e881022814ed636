// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc says each process's parent. A scan adds whoever has a parent that is a target; it is
 * repeated until one adds nobody, because a process listed early may have got its parent added
 * late. What is created during the scans is either the child of a target, and BPF adds it, or
 * the child of somebody not yet added, and a later scan finds it.
 *
 * A process can end, and its id go to another, between the reading of its parent and its entry
 * in the table. So the entry is made first and then checked: the same start time (field 22 of
 * /proc/PID/stat) as before.
 */
#include "collect/targets.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct stat_facts {
	pid_t ppid;
	unsigned long long start_ticks;
};

/* The comm, in parentheses, may hold anything: fields are counted from the last one. */
static bool parse_stat(const char *text, struct stat_facts *ret)
{
	const char *at = strrchr(text, ')');

	return at && sscanf(at + 1,
			    " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			    "%*d %*d %llu",
			    &ret->ppid, &ret->start_ticks) == 2;
}

static int read_stat(pid_t pid, struct stat_facts *ret)
{
	struct buf text;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	buf__init(&text, 64 * 1024);
	err = buf__read_path(&text, path);
	if (err == -ENOENT)
		err = -ESRCH;
	if (!err && (!text.data || !parse_stat(text.data, ret)))
		err = -EBADMSG;
	buf__done(&text);
	return err;
}

static int add_checked(struct collector *c, pid_t pid, const struct stat_facts *before)
{
	struct stat_facts after;
	int err = collector__add_target(c, pid);

	if (err)
		return err == -EEXIST ? 0 : err;
	err = read_stat(pid, &after);
	if (!err && after.start_ticks != before->start_ticks)
		err = -ESRCH;
	if (err)
		collector__remove_target(c, pid);
	return err;
}

/* Adds the children of targets; their number, or a negative errno. */
static int scan(struct collector *c)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct dirent *entry;
	int added = 0;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		struct stat_facts facts;
		int pid, n, err;

		if (sscanf(entry->d_name, "%d%n", &pid, &n) != 1 || entry->d_name[n] ||
		    read_stat(pid, &facts) || !collector__is_target(c, facts.ppid) ||
		    collector__is_target(c, pid))
			continue;
		err = add_checked(c, pid, &facts);
		if (err && err != -ESRCH)
			return err;
		added += !err;
	}
	return added;
}

static int add_one(struct collector *c, pid_t pid)
{
	struct stat_facts facts;
	int err = read_stat(pid, &facts);

	return err ? err : add_checked(c, pid, &facts);
}

int targets__add_all(struct collector *c, const pid_t *pids, size_t nr, pid_t *ret_failed)
{
	int err;

	for (size_t i = 0; i < nr; i++) {
		err = add_one(c, pids[i]);
		if (err) {
			*ret_failed = pids[i];
			return err;
		}
	}
	/* One scan for all: each reads every process's parent. */
	do {
		err = scan(c);
	} while (err > 0);
	*ret_failed = 0;
	return err;
}

int targets__add(struct collector *c, pid_t pid)
{
	pid_t failed;

	return targets__add_all(c, &pid, 1, &failed);
}
