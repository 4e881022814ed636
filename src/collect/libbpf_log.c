// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/libbpf_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "collect/why.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static struct {
	char text[2048];
	size_t len;
} heard;

/* A message may be the verifier's whole log, whose reason stands at its end. */
static int keep_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	const size_t room = sizeof(heard.text) - 1;
	_cleanup_free_ char *message = level == LIBBPF_DEBUG ? NULL : why__vformat(fmt, ap);
	const char *end = message;
	size_t len, cut;

	if (!message)
		return 0;
	len = strlen(message);
	if (len > room) {
		end += len - room;
		len = room;
	}
	cut = heard.len + len > room ? heard.len + len - room : 0;
	memmove(heard.text, heard.text + cut, heard.len - cut);
	heard.len -= cut;
	memcpy(heard.text + heard.len, end, len + 1);
	heard.len += len;
	return 0;
}

void libbpf_log__start(void)
{
	heard.len = 0;
	heard.text[0] = '\0';
	libbpf_set_print(keep_message);
}

const char *libbpf_log__text(void)
{
	return heard.text;
}

char *libbpf_log__why(const char *what, const char *btf, int err)
{
	/* The verifier says -EACCES, -EINVAL and others, and always why. */
	bool verifier = strstr(heard.text, "END PROG LOAD LOG");
	char text[128];

	if (btf && access(btf, R_OK))
		return why__format("%s: the BTF file %s: %s", what, btf, strerror(errno));
	if (!btf && access(KERNEL_BTF, R_OK))
		return why__format("%s: this kernel has no BTF (%s: %s): it must be built with "
				   "CONFIG_DEBUG_INFO_BTF, as every distribution's since 2021 is, "
				   "or its BTF be in a file that --btf names",
				   what, KERNEL_BTF, strerror(errno));
	if ((err == -EPERM || err == -EACCES) && !verifier)
		return why__permission(what, err);
	if (btf && err == -LIBBPF_ERRNO__FORMAT)
		return why__format("%s: %s: not a file of BTF", what, btf);
	libbpf_strerror(err, text, sizeof(text)); /* knows errors of its own, from 4000 on */
	return why__format("%s: %s%s; libbpf says:\n%s", what, text,
			   verifier ? ": this kernel's verifier refuses a program" : "",
			   heard.text);
}
