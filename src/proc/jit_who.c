// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jit_who.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "object/proc_stat.h"
#include "proc/proc_task.h"

/* Descriptors of a process that are looked at. */
#define FDS_MAX	      4096
#define NSEC_PER_TICK (NSEC_PER_SEC / 100)

static int open_how(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	int fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int open_root(uint32_t pid)
{
	char path[48];
	uint32_t tid;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	/* The leader may have exited before other threads. */
	tid = proc_task__with_memory(pid);
	if (!tid || tid == pid)
		return -1;
	snprintf(path, sizeof(path), "/proc/%u/root", tid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

void jit_who__ask(struct jit_who *who, uint32_t pid)
{
	_cleanup_close_ int root = -1;
	struct proc_stat stat;
	int fd;

	*who = (struct jit_who){ .pid = pid, .tmp_fd = -1 };
	who->known = !proc_status__read(pid, &who->status) && !proc_stat__read(pid, &stat);
	if (!who->known)
		return;
	who->began = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
		     stat.start_ticks * NSEC_PER_TICK;
	/* A link in a container leads where it leads there. */
	root = open_root(pid);
	fd = root < 0 ? -1
		      : open_how(root, "tmp", O_PATH | O_DIRECTORY,
				 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	who->tmp_fd = fd < 0 ? -1 : fd;
}

void jit_who__done(struct jit_who *who)
{
	if (who->tmp_fd >= 0)
		close(who->tmp_fd);
	who->tmp_fd = -1;
}

bool jit_who__may_own(const struct jit_who *who, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return false;
	if (!st->st_uid)
		return true;
	for (int i = 0; who->known && i < 4; i++)
		if (st->st_uid == who->status.uids[i])
			return true;
	return false;
}

int jit_who__open_tmp(const struct jit_who *who, const char *name, int *ret_fd, struct stat *ret_st)
{
	_cleanup_close_ int look = -1;
	char self[64];
	int fd;

	if (who->tmp_fd < 0)
		return -ENOENT;
	look = open_how(who->tmp_fd, name, O_PATH | O_NOFOLLOW,
			RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (look < 0)
		return look;
	if (fstat(look, ret_st))
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return S_ISLNK(ret_st->st_mode) ? -ELOOP : -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

bool jit_who__has_dump_open(uint32_t pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[48], target[4096];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	for (int i = 0; dir && i < FDS_MAX && (entry = readdir(dir)); i++) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		const char *base;

		if (n <= 0)
			continue;
		target[n] = '\0';
		base = strrchr(target, '/');
		if (base && !strncmp(base + 1, "jit-", 4) && strstr(base, ".dump"))
			return true;
	}
	return false;
}
