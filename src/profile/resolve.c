// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "object/elf_file.h"
#include "object/kallsyms.h"
#include "object/symtab.h"
#include "profile/demangle.h"

#define KALLSYMS_TEXT_MAX (1u << 30)
#define NAMES_BYTES_MAX	  (4ull << 30)

static const uint8_t reason_of_unknown[UNKNOWN_REASONS] = {
	[UNKNOWN_NO_MAPPING] = NAME_NO_MAPPING,
	[UNKNOWN_NO_PROCESS] = NAME_NO_PROCESS,
	[UNKNOWN_ANON] = NAME_ANON,
	[UNKNOWN_VSYSCALL] = NAME_VSYSCALL,
	[UNKNOWN_LOST] = NAME_LOST,
	[UNKNOWN_JIT_NO_MARKER] = NAME_JIT_NO_MARKER,
	[UNKNOWN_JIT_REFUSED] = NAME_JIT_REFUSED,
	[UNKNOWN_JIT_NO_ENTRY] = NAME_JIT_NO_ENTRY,
	[UNKNOWN_JIT_NAMELESS] = NAME_JIT_NAMELESS,
};

void names__free(struct names *n)
{
	if (!n)
		return;
	free(n->of_frame);
	vec_done(&n->troubles);
	strtab__free(n->strings);
	free(n);
}

static int set_symbol(struct names *n, uint32_t i, const char *symbol, bool demangle)
{
	_cleanup_free_ char *plain = demangle ? demangle__name(symbol) : NULL;
	const char *name = plain ? plain : symbol;

	n->of_frame[i].reason = NAME_SYMBOL;
	return strtab__intern(n->strings, name, strlen(name), &n->of_frame[i].name);
}

static int by_place(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx, *fa = &frames[*(const uint32_t *)a],
			   *fb = &frames[*(const uint32_t *)b];

	if (fa->kind != fb->kind)
		return fa->kind < fb->kind ? -1 : 1;
	if (fa->dso != fb->dso)
		return fa->dso < fb->dso ? -1 : 1;
	return fa->off < fb->off ? -1 : fa->off > fb->off;
}

struct dso_symbols {
	struct elf_file *elf;
	struct symtab *symtab;
	uint8_t reason; /* why there are none */
};

static int open_symbols(const struct dso_table *dsos, uint32_t dso, struct dso_symbols *ret)
{
	const struct dso *d = &dsos->dsos.data[dso];
	struct symtab_opts opts = { .path = d->path };
	int err;

	*ret = (struct dso_symbols){ .reason = NAME_NO_SYMBOL };
	err = dso_table__elf(dsos, dso, &ret->elf);
	if (err == -ENOMEM)
		return err;
	if (err) {
		ret->reason = d->fd >= 0 || d->kind != DSO_FILE ? NAME_NOT_ELF : NAME_NO_FILE;
		return 0;
	}
	err = symtab__load(ret->elf, &opts, &ret->symtab);
	return err == -ENOMEM ? err : 0;
}

/* Frames come sorted by DSO, so what is known of this one stands near the end. */
static void note_trouble(struct names *n, struct name *name, const struct dso *d, uint64_t off,
			 const struct explanation *ex)
{
	for (size_t i = n->troubles.len; i-- > 0 && n->troubles.data[i].path == d->path;) {
		if (n->troubles.data[i].reason != ex->reason)
			continue;
		n->troubles.data[i].frames++;
		name->trouble = i + 1;
		return;
	}
	/* Over the maximum it is still counted by its reason. */
	if (!vec_push(&n->troubles, (struct names_trouble){ .path = d->path,
							    .reason = ex->reason,
							    .frames = 1,
							    .off = off,
							    .load = { ex->load, ex->other } }))
		name->trouble = n->troubles.len;
}

static int name_native(struct names *n, uint32_t i, const struct frame *f, const struct dso *d,
		       const struct dso_symbols *syms, bool demangle)
{
	struct explanation ex = { .reason = syms->reason };

	if (syms->elf)
		explain__off(syms->elf, syms->symtab, f->off, dso__mapped(d, f->mapped), d->mapped,
			     d->nr_mapped, &ex);
	n->of_frame[i].reason = ex.reason;
	if (ex.reason == NAME_NO_SEGMENT || ex.reason == NAME_AMBIGUOUS)
		note_trouble(n, &n->of_frame[i], d, f->off, &ex);
	return ex.reason == NAME_SYMBOL ? set_symbol(n, i, ex.symbol.name, demangle) : 0;
}

/* The frames order[0..nr) are native and sorted by DSO. */
static int name_all_native(struct names *n, const struct profile *p, const struct dso_table *dsos,
			   const struct resolve_opts *opts, const uint32_t *order, size_t nr)
{
	struct dso_symbols syms = { 0 };
	uint32_t open_dso = HASHMAP_NONE;
	int err = 0;

	for (size_t k = 0; k < nr && !err; k++) {
		const struct frame *f = &p->frames.data[order[k]];
		const struct dso *d = &dsos->dsos.data[f->dso];

		if (f->dso != open_dso) {
			symtab__free(syms.symtab);
			elf_file__close(syms.elf);
			err = open_symbols(dsos, f->dso, &syms);
			open_dso = f->dso;
			if (err)
				break;
		}
		n->of_frame[order[k]].module = d->path;
		err = name_native(n, order[k], f, d, &syms, !opts->no_demangle);
	}
	symtab__free(syms.symtab);
	elf_file__close(syms.elf);
	return err;
}

static int load_kallsyms(const char *path, struct kallsyms **ret)
{
	struct buf text, modules;
	int err;

	buf__init(&text, KALLSYMS_TEXT_MAX);
	buf__init(&modules, KALLSYMS_TEXT_MAX);
	err = buf__read_path(&text, path ? path : "/proc/kallsyms");
	if (!err && !path)
		buf__read_path(&modules, "/proc/modules");
	if (!err)
		err = kallsyms__parse(text.data, text.len, modules.data, modules.len, ret);
	buf__done(&text);
	buf__done(&modules);
	return err;
}

static int name_all_kernel(struct names *n, const struct profile *p,
			   const struct resolve_opts *opts, const uint32_t *order, size_t nr)
{
	struct kallsyms *ks = NULL;
	int err = nr ? load_kallsyms(opts->kallsyms, &ks) : 0;

	if (err == -ENOMEM)
		return err;
	n->kallsyms_error = err;
	err = 0;
	for (size_t k = 0; k < nr && !err; k++) {
		struct name *name = &n->of_frame[order[k]];
		struct kallsyms_symbol sym;

		name->kernel = true;
		name->module = "kernel";
		name->reason = NAME_NO_SYMBOL;
		if (!ks || !kallsyms__lookup(ks, p->frames.data[order[k]].off, &sym))
			continue;
		if (sym.module[0])
			err = strtab__intern(n->strings, sym.module, strlen(sym.module),
					     &name->module);
		if (!err)
			err = set_symbol(n, order[k], sym.name, false);
	}
	kallsyms__free(ks);
	return err;
}

static void name_rest(struct names *n, const struct profile *p, const uint32_t *order, size_t nr)
{
	for (size_t k = 0; k < nr; k++) {
		const struct frame *f = &p->frames.data[order[k]];
		struct name *name = &n->of_frame[order[k]];

		name->kernel = f->kind == FRAME_NAMED && f->named_kernel;
		name->jit = (f->kind == FRAME_NAMED && f->named_jit) ||
			    (f->kind == FRAME_UNKNOWN && f->reason >= UNKNOWN_JIT_NO_MARKER);
		name->name = f->kind == FRAME_NAMED ? f->name : NULL;
		name->reason = f->kind == FRAME_NAMED ? NAME_SYMBOL : reason_of_unknown[f->reason];
	}
}

/* Samples in what has no name for want of a segment; not many frames are, in most recordings none.
 */
static int count_troubles(struct names *n, const struct profile *p)
{
	struct stack_iter it;
	int err;

	if (!n->frames_by_reason[NAME_NO_SEGMENT] && !n->frames_by_reason[NAME_AMBIGUOUS])
		return 0;
	stack_iter__init(&it, p);
	while ((err = stack_iter__next(&it)) > 0) {
		const struct name *leaf;

		if (!it.stack->nr_user)
			continue;
		leaf = &n->of_frame[it.frames[it.stack->nr_kernel]];
		if (leaf->reason != NAME_NO_SEGMENT && leaf->reason != NAME_AMBIGUOUS)
			continue;
		n->samples_by_reason[leaf->reason] += it.stack->count;
		if (leaf->trouble)
			n->troubles.data[leaf->trouble - 1].samples += it.stack->count;
	}
	stack_iter__done(&it);
	return err;
}

int names__resolve(const struct profile *p, const struct dso_table *dsos,
		   const struct resolve_opts *opts, struct names **ret)
{
	size_t nr = p->frames.len, native, kernel;
	_cleanup_free_ uint32_t *order = calloc(nr ? nr : 1, sizeof(*order));
	struct names *n = calloc(1, sizeof(*n));
	int err = -ENOMEM;

	if (n) {
		n->nr = nr;
		vec_init(&n->troubles, NAMES_TROUBLES_MAX);
		n->of_frame = calloc(nr ? nr : 1, sizeof(*n->of_frame));
		n->strings = strtab__new(NAMES_BYTES_MAX);
	}
	if (!order || !n || !n->of_frame || !n->strings) {
		names__free(n);
		return err;
	}
	for (size_t i = 0; i < nr; i++)
		order[i] = i;
	_Static_assert(FRAME_NATIVE < FRAME_KERNEL && FRAME_KERNEL < FRAME_NAMED,
		       "frames sort as native, kernel, the rest");
	qsort_r(order, nr, sizeof(*order), by_place, p->frames.data);
	for (native = 0; native < nr; native++)
		if (p->frames.data[order[native]].kind != FRAME_NATIVE)
			break;
	for (kernel = native; kernel < nr; kernel++)
		if (p->frames.data[order[kernel]].kind != FRAME_KERNEL)
			break;
	err = name_all_native(n, p, dsos, opts, order, native);
	if (!err)
		err = name_all_kernel(n, p, opts, order + native, kernel - native);
	if (err) {
		names__free(n);
		return err;
	}
	name_rest(n, p, order + kernel, nr - kernel);
	for (size_t i = 0; i < nr; i++)
		n->frames_by_reason[n->of_frame[i].reason]++;
	err = count_troubles(n, p);
	if (err) {
		names__free(n);
		return err;
	}
	*ret = n;
	return 0;
}
