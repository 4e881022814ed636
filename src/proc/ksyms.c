// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/ksyms.h"

#include <string.h>

void ksyms__init(struct ksyms *k, struct strtab *strings)
{
	*k = (struct ksyms){ .strings = strings };
	vec_init(&k->syms, KSYMS_MAX);
}

void ksyms__done(struct ksyms *k)
{
	vec_done(&k->syms);
}

/* The first that ends after addr. */
static size_t first_after(const struct ksyms *k, uint64_t addr)
{
	size_t lo = 0, hi = k->syms.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.data[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct ksym *ksyms__lookup(const struct ksyms *k, uint64_t addr)
{
	size_t i = first_after(k, addr);

	return i < k->syms.len && k->syms.data[i].start <= addr ? &k->syms.data[i] : NULL;
}

void ksyms__apply(struct ksyms *k, const struct rec_ksymbol *r)
{
	struct ksym sym = { .start = r->addr, .end = r->addr + r->len };
	size_t i, last, room = r->hdr.length - sizeof(*r);

	if (sym.end <= sym.start)
		return;
	/* Whatever was there is gone: text is registered once it is free. */
	i = last = first_after(k, sym.start);
	while (last < k->syms.len && k->syms.data[last].start < sym.end)
		last++;
	vec_remove(&k->syms, i, last - i);
	k->version++;
	if (r->hdr.flags & REC_F_UNREGISTER)
		return;
	/* A name that finds no room leaves the text to /proc/kallsyms at the end. */
	if (!strtab__intern(k->strings, r->name, strnlen(r->name, room), &sym.name))
		vec_insert(&k->syms, i, sym);
}
