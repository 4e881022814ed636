// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A uevent is a datagram of strings (lib/kobject_uevent.c): "ACTION@DEVPATH", then KEY=VALUE. That
 * of a CPU:
 *
 *	online@/devices/system/cpu/cpu1\0ACTION=online\0DEVPATH=...\0SUBSYSTEM=cpu\0...
 *
 * User space can send to the same group; only what comes from the kernel (port 0) counts.
 */
#include "collect/hotplug.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "collect/sampler.h"

#define KERNEL_GROUP 1
#define UEVENT_BYTES 8192 /* UEVENT_BUFFER_SIZE is 2048, and a header */

int hotplug__open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int parse_path(const char *path)
{
	static const char prefix[] = "/devices/system/cpu/cpu";
	int cpu = 0;

	if (strncmp(path, prefix, sizeof(prefix) - 1))
		return -1;
	path += sizeof(prefix) - 1;
	if (!*path)
		return -1;
	for (; *path; path++) {
		if (*path < '0' || *path > '9')
			return -1;
		cpu = cpu * 10 + *path - '0';
		if (cpu >= CPUS_MAX)
			return -1;
	}
	return cpu;
}

int hotplug__parse(const char *uevent, size_t len)
{
	bool online = false, of_cpus = false;
	const char *end = uevent + len;
	int cpu = -1;

	for (const char *s = uevent; s < end; s += strlen(s) + 1) {
		if (!memchr(s, '\0', end - s))
			return -1;
		if (!strcmp(s, "ACTION=online"))
			online = true;
		else if (!strcmp(s, "SUBSYSTEM=cpu"))
			of_cpus = true;
		else if (!strncmp(s, "DEVPATH=", 8))
			cpu = parse_path(s + 8);
	}
	return online && of_cpus ? cpu : -1;
}

int hotplug__next(int fd, int *ret_cpu)
{
	char bytes[UEVENT_BYTES];

	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, bytes, sizeof(bytes), MSG_TRUNC, (struct sockaddr *)&from,
				     &from_len);
		int cpu;

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (from.nl_pid || (size_t)n > sizeof(bytes))
			continue;
		cpu = hotplug__parse(bytes, n);
		if (cpu < 0)
			continue;
		*ret_cpu = cpu;
		return 1;
	}
}
