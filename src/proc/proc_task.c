// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/proc_task.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool has_memory(uint32_t tid)
{
	_cleanup_close_ int fd = -1;
	char path[48], c;

	snprintf(path, sizeof(path), "/proc/%u/maps", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &c, 1) == 1;
}

uint32_t proc_task__with_memory(uint32_t pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[48];

	if (has_memory(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && tid != pid && has_memory(tid))
			return tid;
	}
	return 0;
}
