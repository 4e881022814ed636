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
#include <stdio.h>

#include "base/cleanup.h"
#include "object/proc_stat.h"

static int add_checked(struct collector *c, pid_t pid, const struct proc_stat *before)
{
	struct proc_stat after;
	int err = collector__add_target(c, pid);

	if (err)
		return err == -EEXIST ? 0 : err;
	err = proc_stat__read(pid, &after);
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
		struct proc_stat facts;
		int pid, n, err;

		if (sscanf(entry->d_name, "%d%n", &pid, &n) != 1 || entry->d_name[n] ||
		    proc_stat__read(pid, &facts) || !collector__is_target(c, facts.ppid) ||
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
	struct proc_stat facts;
	int err = proc_stat__read(pid, &facts);

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
