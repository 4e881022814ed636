/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what states a mapping, a record or a line of /proc/PID/maps, to the mapping. */
#ifndef EBOLT_PROC_MAPS_READER_H
#define EBOLT_PROC_MAPS_READER_H

#include "proc/process.h"

/*
 * What kind of memory it is, by what the kernel calls it, and which file's. 0, or -E2BIG/-ENOMEM
 * from the DSO table.
 */
int maps_reader__classify(struct dso_table *dsos, const struct dso_sighting *s,
			  struct mapping *ret);

/*
 * Adds the executable mappings that /proc/PID/maps states now. 0 or a negative errno. *dropped is
 * raised by those for which there was no room.
 */
int maps_reader__read(struct dso_table *dsos, uint32_t pid, struct process *into,
		      uint64_t *dropped);

/* The same, but anonymous memory is not asked whether it holds a file's text. */
int maps_reader__read_stated(struct dso_table *dsos, uint32_t pid, struct process *into,
			     uint64_t *dropped);

/*
 * Anonymous memory over file mappings: the parts that hold the files' text are still theirs. That a
 * library was unmapped here before, and this is something else, is told by the bytes.
 */
void maps_reader__cover_by_anon(struct dso_table *dsos, struct process *p,
				const struct mapping *anon, uint64_t *dropped);

#endif
