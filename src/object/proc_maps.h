/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/PID/maps. The path is the rest of the line after the inode and its padding; the kernel
 * writes a line end in it as \012 and nothing else escaped (seq_path with "\n"), and appends
 * " (deleted)" to the path of an unlinked file.
 */
#ifndef EBOLT_OBJECT_PROC_MAPS_H
#define EBOLT_OBJECT_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_maps_entry {
	uint64_t start, end, pgoff; /* bytes */
	bool r, w, x, shared;
	uint32_t maj, min;
	uint64_t ino;
	const char
		*path; /* into the text, not NUL-terminated, as written; "" for anonymous memory */
	size_t path_len;
};

struct proc_maps {
	const char *pos, *end;
	size_t bad_lines; /* skipped, not understood */
};

/* The text is borrowed. Iterate with proc_maps__next() until it returns false. */
void proc_maps__init(struct proc_maps *pm, const char *text, size_t len);
bool proc_maps__next(struct proc_maps *pm, struct proc_maps_entry *ret);

#endif
