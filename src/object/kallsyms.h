/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/kallsyms and /proc/modules: kernel addresses to names.
 *
 * Only text symbols (t, T, w, W) count. A symbol reaches to the next one, bounded by its module's
 * end and, for the kernel proper, by _etext (and _einittext for init text). Of several at one
 * address: not weak, then global, then fewer leading underscores, then longer, then first.
 */
#ifndef EBOLT_OBJECT_KALLSYMS_H
#define EBOLT_OBJECT_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KALLSYMS_MAX (4u << 20) /* symbols */

struct kallsyms_symbol {
	const char *name;   /* borrowed from the table */
	const char *module; /* "" for the kernel proper, "bpf" for BPF programs, else the module */
	uint64_t addr;
	uint64_t size;
};

struct kallsyms;

/*
 * Both texts are borrowed for the call only; modules may be NULL. Bad lines are skipped and
 * counted. 0; -ENODATA: all addresses are 0 (kptr_restrict hides them); -E2BIG; -ENOMEM.
 */
int kallsyms__parse(const char *text, size_t len, const char *modules, size_t modules_len,
		    struct kallsyms **ret);
void kallsyms__free(struct kallsyms *ks);
bool kallsyms__lookup(const struct kallsyms *ks, uint64_t addr, struct kallsyms_symbol *ret);
size_t kallsyms__count(const struct kallsyms *ks);
size_t kallsyms__bad_lines(const struct kallsyms *ks);

#endif
