/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libbpf says. It reports through one function a process; nothing is printed here, the end of
 * it is kept, as the verifier's and libbpf's reasons are all that there is to go by when loading
 * fails.
 */
#ifndef EBOLT_COLLECT_LIBBPF_LOG_H
#define EBOLT_COLLECT_LIBBPF_LOG_H

/* Forgets what was said and listens from now on. */
void libbpf_log__start(void);

/*
 * A sentence on why loading `what` failed with this negative errno. btf: the path of the BTF that
 * was asked for; NULL: the kernel's. Allocated; NULL for want of memory.
 */
char *libbpf_log__why(const char *what, const char *btf, int err);

/* What was said. */
const char *libbpf_log__text(void);

#endif
