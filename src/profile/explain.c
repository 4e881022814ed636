// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/explain.h"

#include <errno.h>

static const char *const reason_texts[NAME_REASONS] = {
	[NAME_SYMBOL] = "resolved",
	[NAME_NO_MAPPING] = "no mapping covers the address",
	[NAME_NO_PROCESS] = "nothing is known of the process",
	[NAME_ANON] = "executable anonymous memory",
	[NAME_VSYSCALL] = "the vsyscall page",
	[NAME_LOST] = "task records were lost, so what was mapped is not known",
	[NAME_JIT_NO_MARKER] = "JIT code of a process that writes a jitdump but has not mapped it",
	[NAME_JIT_REFUSED] = "JIT code of a process whose jitdump or perf map can't be used",
	[NAME_JIT_NO_ENTRY] = "JIT code that the jitdump or perf map says nothing of",
	[NAME_JIT_NAMELESS] = "JIT code that was given an empty name",
	[NAME_NO_FILE] = "the file could not be opened",
	[NAME_NOT_ELF] = "not an ELF file that can be read",
	[NAME_NO_SEGMENT] = "no executable segment holds the offset",
	[NAME_AMBIGUOUS] = "more than one executable segment holds the offset",
	[NAME_NO_SYMBOL] = "no symbol covers the address",
};

const char *name_reason__text(enum name_reason reason)
{
	return reason_texts[reason];
}

/* The n-th executable segment that claims off. */
static struct elf_load claimant(const struct elf_file *ef, uint64_t off, size_t n)
{
	size_t nr;
	const struct elf_load *loads = elf_file__loads(ef, &nr);

	for (size_t i = 0; i < nr; i++)
		if (loads[i].exec && off >= loads[i].off && off - loads[i].off < loads[i].filesz &&
		    !n--)
			return loads[i];
	return (struct elf_load){ 0 };
}

/* The one that turns off into vaddr. */
static struct elf_load load_of(const struct elf_file *ef, uint64_t off, uint64_t vaddr)
{
	struct elf_load l;
	size_t n = 0;

	do {
		l = claimant(ef, off, n++);
	} while (l.filesz && off - l.off + l.vaddr != vaddr);
	return l;
}

/* Those around an offset that none holds. */
static void nearest(const struct elf_file *ef, uint64_t off, struct elf_load *ret_below,
		    struct elf_load *ret_above)
{
	size_t nr;
	const struct elf_load *loads = elf_file__loads(ef, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct elf_load *l = &loads[i];

		if (!l->exec || !l->filesz)
			continue;
		if (l->off <= off && (!ret_below->filesz || l->off > ret_below->off))
			*ret_below = *l;
		if (l->off > off && (!ret_above->filesz || l->off < ret_above->off))
			*ret_above = *l;
	}
}

void explain__off(const struct elf_file *ef, const struct symtab *st, uint64_t off,
		  const struct elf_mapped *own, const struct elf_mapped *mapped, size_t nr_mapped,
		  struct explanation *ret)
{
	int err;

	*ret = (struct explanation){ .reason = NAME_NO_SYMBOL };
	err = elf_file__off_to_vaddr_in(ef, off, own, mapped, nr_mapped, &ret->vaddr);
	if (err == -ENOENT) {
		ret->reason = NAME_NO_SEGMENT;
		nearest(ef, off, &ret->load, &ret->other);
		return;
	}
	if (err) {
		ret->reason = NAME_AMBIGUOUS;
		ret->load = claimant(ef, off, 0);
		ret->other = claimant(ef, off, 1);
		return;
	}
	ret->load = load_of(ef, off, ret->vaddr);
	if (st && symtab__lookup(st, ret->vaddr, &ret->symbol))
		ret->reason = NAME_SYMBOL;
}
