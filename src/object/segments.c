// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a file offset to a vaddr, exactly: elf_file__off_to_vaddr().
 *
 * Usually one executable PT_LOAD holds an offset and there is nothing to decide. But segments
 * overlap in the file when a linker saves space: the last page of one is the first of the next,
 * mapped twice at different addresses, and in such a file (say with -z noseparate-code, or two text
 * segments in one 64K granule) the p_filesz of both can reach over the same bytes. An offset alone
 * can't tell them apart then; the mapping that it came through can, or, where that isn't known,
 * those that hold it:
 *
 * - A mapping made for a segment lies within the segment, rounded out to pages.
 * - All segments of a loaded file are moved by one and the same bias, address minus vaddr. So a
 *   candidate that would give the mapping another bias than the file's other mappings have is
 *   wrong. (Mappings of several processes have several biases; one that fits is enough, since
 *   two processes' random biases don't differ by just what two segments differ by.)
 */
#include "object/elf_file.h"

#include <errno.h>
#include <unistd.h>

/* Of the executable segments that claim an offset. */
struct candidates {
	const struct elf_load *loads[ELF_LOADS_MAX];
	size_t nr;
};

static uint64_t vaddr_in(const struct elf_load *l, uint64_t off)
{
	return off - l->off + l->vaddr;
}

static bool holds_off(const struct elf_mapped *m, uint64_t off)
{
	return off >= m->pgoff && off - m->pgoff < m->len;
}

/* Of whichever process. */
static bool same_part(const struct elf_mapped *a, const struct elf_mapped *b)
{
	return a->pgoff == b->pgoff && a->len == b->len;
}

/* The mapping lies within the segment rounded out to pages. */
static bool within(const struct elf_mapped *m, const struct elf_load *l)
{
	uint64_t page_mask = sysconf(_SC_PAGESIZE) - 1;
	uint64_t first = l->off & ~page_mask;
	uint64_t last = l->off + (l->filesz ? l->filesz - 1 : 0); /* inclusive: can't overflow up */

	if (last < l->off)
		last = UINT64_MAX;
	last |= page_mask;
	return m->len && m->pgoff >= first && m->pgoff <= last && m->len - 1 <= last - m->pgoff;
}

/* What loading added to the vaddrs, if this mapping shows this segment. */
static uint64_t bias(const struct elf_mapped *m, const struct elf_load *l)
{
	return m->start - m->pgoff + l->off - l->vaddr;
}

/* Another mapping, of whichever segment, that was moved by this bias. */
static bool bias_is_seen(const struct elf_file *ef, uint64_t off, const struct elf_mapped *own,
			 uint64_t want, const struct elf_mapped *mapped, size_t nr_mapped)
{
	size_t nr;
	const struct elf_load *loads = elf_file__loads(ef, &nr);

	for (size_t i = 0; i < nr_mapped; i++) {
		if (own ? same_part(own, &mapped[i]) : holds_off(&mapped[i], off))
			continue;
		for (size_t j = 0; j < nr; j++) {
			if (loads[j].exec && within(&mapped[i], &loads[j]) &&
			    bias(&mapped[i], &loads[j]) == want)
				return true;
		}
	}
	return false;
}

/* Keeps those that a mapping of this offset fits, if any does. */
static void keep_fitting(struct candidates *c, const struct elf_file *ef, uint64_t off,
			 const struct elf_mapped *own, const struct elf_mapped *mapped,
			 size_t nr_mapped, bool by_bias)
{
	struct candidates kept = {};

	for (size_t i = 0; i < c->nr; i++) {
		for (size_t j = 0; j < (own ? 1 : nr_mapped); j++) {
			const struct elf_mapped *m = own ? own : &mapped[j];

			if (!holds_off(m, off) || !within(m, c->loads[i]))
				continue;
			if (by_bias &&
			    !bias_is_seen(ef, off, own, bias(m, c->loads[i]), mapped, nr_mapped))
				continue;
			kept.loads[kept.nr++] = c->loads[i];
			break;
		}
	}
	if (kept.nr)
		*c = kept;
}

static bool agree(const struct candidates *c, uint64_t off)
{
	for (size_t i = 1; i < c->nr; i++) {
		if (vaddr_in(c->loads[i], off) != vaddr_in(c->loads[0], off))
			return false;
	}
	return true;
}

int elf_file__off_to_vaddr(const struct elf_file *ef, uint64_t off, const struct elf_mapped *mapped,
			   size_t nr_mapped, uint64_t *ret_vaddr)
{
	return elf_file__off_to_vaddr_in(ef, off, NULL, mapped, nr_mapped, ret_vaddr);
}

int elf_file__off_to_vaddr_in(const struct elf_file *ef, uint64_t off, const struct elf_mapped *own,
			      const struct elf_mapped *mapped, size_t nr_mapped,
			      uint64_t *ret_vaddr)
{
	struct candidates c;
	size_t nr;
	const struct elf_load *loads = elf_file__loads(ef, &nr);

	c.nr = 0;
	for (size_t i = 0; i < nr; i++) {
		if (loads[i].exec && off >= loads[i].off && off - loads[i].off < loads[i].filesz)
			c.loads[c.nr++] = &loads[i];
	}
	if (!c.nr)
		return -ENOENT;
	if (!mapped)
		nr_mapped = 0;
	if (!agree(&c, off))
		keep_fitting(&c, ef, off, own, mapped, nr_mapped, false);
	if (!agree(&c, off))
		keep_fitting(&c, ef, off, own, mapped, nr_mapped, true);
	if (!agree(&c, off))
		return -ENOTUNIQ;
	*ret_vaddr = vaddr_in(c.loads[0], off);
	return 0;
}
