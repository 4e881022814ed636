// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/maps_reader.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/helper.h"
#include "object/proc_maps.h"
#include "proc/mappings.h"
#include "proc/moved_text.h"
#include "proc/proc_task.h"

#define MAPS_TEXT_MAX (256u << 20)
/* Vdso addresses below this are of 32-bit processes, whose image is another. */
#define VDSO_64_MIN (1ull << 32)

/*
 * Shared anonymous memory, and huge pages, have a file that only gives them their size. It is of no
 * directory, so that the kernel (mm/shmem.c, fs/hugetlbfs/inode.c) calls it deleted. /dev/zero
 * itself, mapped private, is anonymous memory too.
 */
static bool is_no_file(const struct dso_sighting *s)
{
	static const char *const names[] = {
		"/dev/zero",
		"/dev/zero (deleted)",
		"/anon_hugepage",
		"/anon_hugepage (deleted)",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (s->path_len == strlen(names[i]) && !memcmp(s->path, names[i], s->path_len))
			return true;
	return false;
}

int maps_reader__classify(struct dso_table *dsos, const struct dso_sighting *s, struct mapping *ret)
{
	*ret = (struct mapping){
		.start = s->start, .end = s->end, .pgoff = s->pgoff, .kind = MAPPING_ANON
	};
	if (s->path_len == 6 && !memcmp(s->path, "[vdso]", 6) && s->start >= VDSO_64_MIN) {
		ret->kind = MAPPING_FILE;
		ret->pgoff = 0; /* the image starts at 0, whatever the record says of it */
		return dso_table__vdso(dsos, &ret->dso);
	}
	if (!s->id.ino || is_no_file(s))
		return 0;
	ret->kind = MAPPING_FILE;
	return dso_table__see(dsos, s, &ret->dso);
}

/*
 * Appends /proc/PID/maps; returns the id of a thread that has the process's memory, 0: there is
 * none. In the helper: it waits while another reader holds the memory's lock and a writer waits for
 * it.
 */
static HELPER_FN(read_maps)
{
	uint32_t pid = *(const uint32_t *)arg, tid = proc_task__with_memory(pid);
	char path[48];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/maps", tid ? tid : pid);
	err = buf__read_path(text, path);
	return err ? err : (int)tid;
}

static int read_process(struct dso_table *dsos, uint32_t pid, struct process *into,
			unsigned int tries, uint64_t *dropped)
{
	struct proc_maps_entry e;
	struct proc_maps pm;
	struct buf text;
	int tid;

	buf__init(&text, MAPS_TEXT_MAX);
	tid = helper__call(&dsos->helper, read_maps, &pid, sizeof(pid), -1, &text, NULL);
	proc_maps__init(&pm, text.data, text.len);
	while (tid >= 0 && proc_maps__next(&pm, &e)) {
		struct dso_sighting s = {
			.id = { .maj = e.maj, .min = e.min, .ino = e.ino },
			.path = e.path,
			.path_len = e.path_len,
			.pid = tid,
			.start = e.start,
			.end = e.end,
			.pgoff = e.pgoff,
		};
		struct mapping m;

		/* [vsyscall] lies in the kernel half and is known by its address. */
		if (!e.x || e.start >> 63)
			continue;
		if (maps_reader__classify(dsos, &s, &m)) {
			(*dropped)++;
			continue;
		}
		if (m.kind == MAPPING_ANON && tries && tries-- &&
		    moved_text__find(dsos, tid, text.data, text.len, m.start, m.end, &m.dso,
				     &m.pgoff)) {
			m.kind = MAPPING_FILE;
			m.moved = true;
		}
		if (mappings__cover(into, &m))
			(*dropped)++;
	}
	buf__done(&text);
	return tid < 0 ? tid : 0;
}

int maps_reader__read(struct dso_table *dsos, uint32_t pid, struct process *into, uint64_t *dropped)
{
	return read_process(dsos, pid, into, MOVED_TEXT_TRIES, dropped);
}

int maps_reader__read_stated(struct dso_table *dsos, uint32_t pid, struct process *into,
			     uint64_t *dropped)
{
	return read_process(dsos, pid, into, 0, dropped);
}

void maps_reader__cover_by_anon(struct dso_table *dsos, struct process *p,
				const struct mapping *anon, uint64_t *dropped)
{
	struct process was = { 0 };
	uint64_t at = anon->start;
	const struct mapping *m;

	vec_init(&was.maps, PROCESS_MAPS_MAX);
	if (mappings__copy_range(&was, p, anon->start, anon->end) || mappings__cover(p, anon)) {
		(*dropped)++;
		vec_done(&was.maps);
		return;
	}
	for (; (m = process__next(&was, at)) && m->start < anon->end; at = m->end) {
		struct mapping part = *m;

		if (part.kind != MAPPING_FILE)
			continue;
		mappings__clip(&part, anon->start, anon->end);
		if (!part.moved && !moved_text__is(dsos, part.dso, part.pgoff, p->pid, part.start,
						   part.end - part.start))
			continue;
		part.moved = true;
		if (mappings__cover(p, &part))
			(*dropped)++;
	}
	vec_done(&was.maps);
}
