// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/buf.h"

/* include/uapi/linux/nsfs.h: the inodes of /proc/PID/ns/pid and time in those made at boot. */
#define PID_NS_INIT_INO	 0xEFFFFFFCU
#define TIME_NS_INIT_INO 0xEFFFFFFAU

char *why__vformat(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

char *why__format(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = why__vformat(fmt, ap);
	va_end(ap);
	return text;
}

static bool read_small(const char *path, char *text, size_t size)
{
	struct buf b;
	bool ok;

	buf__init(&b, 64 * 1024);
	ok = !buf__read_path(&b, path) && b.len < size;
	if (ok)
		memcpy(text, b.data ? b.data : "", b.len + 1);
	buf__done(&b);
	return ok;
}

long why__sysctl(const char *path, long otherwise)
{
	char full[128], text[64];

	snprintf(full, sizeof(full), "/proc/sys/%s", path);
	return read_small(full, text, sizeof(text)) ? atol(text) : otherwise;
}

const char *why__lockdown(void)
{
	char text[128] = "";

	read_small("/sys/kernel/security/lockdown", text, sizeof(text));
	return strstr(text, "[confidentiality]") ? "confidentiality"
	       : strstr(text, "[integrity]")	 ? "integrity"
						 : "none";
}

bool why__has_cap(int cap)
{
	char text[8192];
	unsigned long long effective;
	const char *line;

	if (!read_small("/proc/self/status", text, sizeof(text)))
		return false;
	line = strstr(text, "\nCapEff:");
	if (!line || sscanf(line, "\nCapEff: %llx", &effective) != 1)
		return false;
	return effective >> cap & 1;
}

static bool has_all_caps(void)
{
	return why__has_cap(CAP_SYS_ADMIN) || (why__has_cap(CAP_BPF) && why__has_cap(CAP_PERFMON));
}

char *why__permission(const char *what, int err)
{
	const char *lockdown = why__lockdown();

	if (!has_all_caps())
		return why__format("%s: %s: run as root, or with CAP_BPF and CAP_PERFMON "
				   "(effective uid %d, missing%s%s; kernel.perf_event_paranoid is "
				   "%ld)",
				   what, strerror(-err), (int)geteuid(),
				   why__has_cap(CAP_BPF) ? "" : " CAP_BPF",
				   why__has_cap(CAP_PERFMON) ? "" : " CAP_PERFMON",
				   why__sysctl("kernel/perf_event_paranoid", 2));
	if (!strcmp(lockdown, "confidentiality"))
		return why__format("%s: %s: the kernel is locked down (confidentiality), which "
				   "forbids BPF to read kernel memory; boot without lockdown= or "
				   "with lockdown=integrity",
				   what, strerror(-err));
	return why__format("%s: %s although the capabilities are there: a security module, a "
			   "seccomp filter or a user namespace forbids it (in a container: run it "
			   "privileged); on kernels before 5.11 also raise ulimit -l",
			   what, strerror(-err));
}

bool why__in_initial_pid_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == PID_NS_INIT_INO;
}

bool why__in_initial_time_ns(void)
{
	struct stat st;

	/* Kernels without CONFIG_TIME_NS have one only, and no such file. */
	return stat("/proc/self/ns/time", &st) || st.st_ino == TIME_NS_INIT_INO;
}
