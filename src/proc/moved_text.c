// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/moved_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "object/elf_file.h"
#include "object/proc_maps.h"
#include "proc/proc_task.h"

/* What is compared at once; pages are this or a multiple of it. */
#define PAGE 4096ull

/* The bits of an address within a page. */
static uint64_t page_mask(void)
{
	return sysconf(_SC_PAGESIZE) - 1;
}

/* Pages at addr of a process, and at off in the file that comes with it. */
struct comparison {
	uint32_t pid;
	uint64_t addr, off, pages;
};

static bool read_all(int fd, uint8_t *buf, uint64_t at)
{
	return pread(fd, buf, PAGE, at) == (ssize_t)PAGE;
}

/* A file may end in the last page: what is mapped behind its end is zeros. */
static bool read_file(int fd, uint8_t *buf, uint64_t at)
{
	ssize_t n = pread(fd, buf, PAGE, at);

	if (n <= 0)
		return false;
	memset(buf + n, 0, PAGE - n);
	return true;
}

/* 1: the bytes are the same. In the helper: both the memory and the file may never be read. */
static HELPER_FN(compare)
{
	const struct comparison *c = arg;
	uint64_t checked = c->pages < MOVED_TEXT_PAGES ? c->pages : MOVED_TEXT_PAGES;
	uint8_t memory[PAGE], file[PAGE];
	_cleanup_close_ int mem = -1;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/mem", proc_task__with_memory(c->pid));
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		return 0;
	for (uint64_t i = 0; i < checked; i++) {
		uint64_t page = checked > 1 ? i * (c->pages - 1) / (checked - 1) : 0;

		if (!read_all(mem, memory, c->addr + page * PAGE) ||
		    !read_file(fd, file, c->off + page * PAGE) || memcmp(memory, file, PAGE))
			return 0;
	}
	return 1;
}

/* Saved up over time, so that a start beside many such processes finds enough. */
static bool spend_comparison(struct moved_text_budget *b)
{
	uint64_t now = clock__now(), due = (now - b->as_of) / (NSEC_PER_SEC / MOVED_TEXT_PER_SEC);

	if (due) {
		b->left = due < MOVED_TEXT_SAVED - b->left ? b->left + due : MOVED_TEXT_SAVED;
		b->as_of = now;
	}
	if (!b->left) {
		b->refused++;
		return false;
	}
	b->left--;
	return true;
}

bool moved_text__is(struct dso_table *dsos, uint32_t dso, uint64_t off, uint32_t pid, uint64_t addr,
		    uint64_t len)
{
	struct comparison c = { .pid = pid, .addr = addr, .off = off, .pages = len / PAGE };
	const struct dso *d = &dsos->dsos.data[dso];

	/* Reading memory is what a kill may not end; the rest of the helper's work goes on. */
	return d->fd >= 0 && c.pages && helper__stuck(&dsos->helper) <= HELPER_STUCK_MAX / 2 &&
	       spend_comparison(&dsos->comparisons) &&
	       helper__call(&dsos->helper, compare, &c, sizeof(c), d->fd, NULL, NULL) == 1;
}

/* Where in the file [start, end) would be, were it a segment of this file, loaded with this bias.
 */
static bool off_by_bias(const struct elf_file *ef, uint64_t bias, uint64_t start, uint64_t end,
			uint64_t *ret_off)
{
	size_t nr;
	const struct elf_load *loads = elf_file__loads(ef, &nr);

	for (size_t i = 0; i < nr; i++) {
		uint64_t at = bias + loads[i].vaddr;
		uint64_t first = at & ~page_mask();
		uint64_t last = (at + loads[i].filesz + page_mask()) & ~page_mask();

		if (!loads[i].exec || start < first || end > last || last < first)
			continue;
		*ret_off = start - at + loads[i].off;
		return true;
	}
	return false;
}

/* By one file mapping: every segment that it may show gives a bias. */
static bool by_neighbour(struct dso_table *dsos, const struct dso_sighting *s, uint64_t start,
			 uint64_t end, uint32_t *ret_dso, uint64_t *ret_off)
{
	const struct elf_load *loads;
	struct elf_file *ef;
	bool found = false;
	size_t nr;

	if (dso_table__see(dsos, s, ret_dso) || dso_table__elf(dsos, *ret_dso, &ef))
		return false;
	loads = elf_file__loads(ef, &nr);
	for (size_t i = 0; i < nr && !found; i++) {
		uint64_t first = loads[i].off & ~page_mask();

		if (s->pgoff < first || s->pgoff > loads[i].off + loads[i].filesz)
			continue;
		found = off_by_bias(ef, s->start - s->pgoff + loads[i].off - loads[i].vaddr, start,
				    end, ret_off) &&
			moved_text__is(dsos, *ret_dso, *ret_off, s->pid, start, end - start);
	}
	elf_file__close(ef);
	return found;
}

bool moved_text__find(struct dso_table *dsos, uint32_t pid, const char *maps, size_t maps_len,
		      uint64_t start, uint64_t end, uint32_t *ret_dso, uint64_t *ret_off)
{
	struct dso_sighting below = { 0 }, above = { 0 };
	struct proc_maps_entry e;
	struct proc_maps pm;

	proc_maps__init(&pm, maps, maps_len);
	while (!above.path && proc_maps__next(&pm, &e)) {
		struct dso_sighting s = {
			.id = { .maj = e.maj, .min = e.min, .ino = e.ino },
			.path = e.path,
			.path_len = e.path_len,
			.pid = pid,
			.start = e.start,
			.end = e.end,
			.pgoff = e.pgoff,
		};

		if (!e.ino || !e.path_len || e.path[0] != '/')
			continue;
		if (e.end <= start)
			below = s;
		else if (e.start >= end)
			above = s;
	}
	return (below.path && by_neighbour(dsos, &below, start, end, ret_dso, ret_off)) ||
	       (above.path && by_neighbour(dsos, &above, start, end, ret_dso, ret_off));
}
