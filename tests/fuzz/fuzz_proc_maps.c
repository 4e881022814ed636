// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/maps. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes;
	struct proc_maps_entry e;
	struct proc_maps pm;
	size_t entries = 0, lines = len && bytes[len - 1] != '\n';

	for (size_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	proc_maps__init(&pm, text, len);
	while (proc_maps__next(&pm, &e)) {
		entries++;
		if (e.start >= e.end || e.path < text || e.path + e.path_len > text + len ||
		    memchr(e.path, '\n', e.path_len))
			abort();
	}
	/* Each line is an entry or was counted. */
	if (entries + pm.bad_lines != lines)
		abort();
	return 0;
}
