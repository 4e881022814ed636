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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "base/clock.h"

#define LOOK_EVERY   NSEC_PER_SEC
#define KERNEL_GROUP 1
#define UEVENT_BYTES 8192 /* UEVENT_BUFFER_SIZE is 2048, and a header */

struct hotplug {
	int fd;			/* -1: no uevents */
	struct cpu_list online; /* without uevents: when it was last looked */
	uint64_t look_at;	/* ns; without uevents: the next time */
	struct cpu_list came;	/* to be named, from index next on */
	size_t next;
};

/* The socket, or a negative errno. */
static int listen_to_uevents(void)
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

bool hotplug__has_uevents(void)
{
	int fd = listen_to_uevents();

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

int hotplug__open(bool uevents, struct hotplug **ret)
{
	struct hotplug *h = calloc(1, sizeof(*h));
	int err = 0;

	if (!h)
		return -ENOMEM;
	h->fd = -1;
	if (uevents) {
		h->fd = listen_to_uevents();
		err = h->fd < 0 ? h->fd : 0;
	} else {
		h->look_at = clock__now() + LOOK_EVERY;
		err = cpu_list__read(&h->online, "online");
	}
	if (err) {
		hotplug__free(h);
		return err;
	}
	*ret = h;
	return 0;
}

void hotplug__free(struct hotplug *h)
{
	if (!h)
		return;
	if (h->fd >= 0)
		close(h->fd);
	cpu_list__done(&h->online);
	cpu_list__done(&h->came);
	free(h);
}

int hotplug__fd(const struct hotplug *h)
{
	return h->fd;
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

/* 1 and *ret_cpu; 0: none is there; -ENOBUFS: some were missed; another negative errno. */
static int next_uevent(int fd, int *ret_cpu)
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

int hotplug__added(const struct cpu_list *was, const struct cpu_list *is, struct cpu_list *ret)
{
	struct cpu_list added;

	vec_init(&added.cpus, CPUS_MAX);
	vec_for_each(&is->cpus, cpu) {
		if (cpu_list__has(was, *cpu) || !vec_push(&added.cpus, *cpu))
			continue;
		cpu_list__done(&added);
		return -ENOMEM;
	}
	*ret = added;
	return 0;
}

/* All that are online may have come. */
static int name_all(struct hotplug *h)
{
	cpu_list__done(&h->came);
	h->next = 0;
	return cpu_list__read(&h->came, "online");
}

static int look(struct hotplug *h)
{
	struct cpu_list is, came;
	int err = cpu_list__read(&is, "online");

	if (err)
		return err;
	err = hotplug__added(&h->online, &is, &came);
	if (err) {
		cpu_list__done(&is);
		return err;
	}
	cpu_list__done(&h->online);
	cpu_list__done(&h->came);
	h->online = is;
	h->came = came;
	h->next = 0;
	return 0;
}

int hotplug__next(struct hotplug *h, int *ret_cpu)
{
	int err = 0;

	for (;;) {
		if (h->next < h->came.cpus.len) {
			*ret_cpu = h->came.cpus.data[h->next++];
			return 1;
		}
		if (h->fd >= 0) {
			err = next_uevent(h->fd, ret_cpu);
			if (err != -ENOBUFS)
				return err;
			err = name_all(h);
		} else {
			if (clock__now() < h->look_at)
				return 0;
			h->look_at = clock__now() + LOOK_EVERY;
			err = look(h);
		}
		if (err)
			return err;
	}
}
