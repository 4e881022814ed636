// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table that a vaddr is looked up in.
 *
 * Symbols overlap: assembly has entry points inside functions, aliases share an address, some
 * symbols have no size. "The innermost symbol that covers vaddr" would be a search through all
 * that begin before it, and a hostile file makes that search as long as its symbol table. So the
 * overlaps are settled once, when the table is built: a sweep over the symbols in the order of
 * their addresses cuts the address space into pieces, each of which belongs to one symbol,
 *
 *	symbols   outer [0x10, 0x50)   inner [0x20, 0x30)
 *	pieces    [0x10, 0x20) outer   [0x20, 0x30) inner   [0x30, 0x50) outer
 *
 * and a look-up is one binary search. A piece that is its whole symbol, as nearly all are, needs
 * nothing but itself; the others point to their symbol's extent in a small array beside. There
 * are at most two pieces a symbol, since a piece ends where a symbol begins or ends.
 */
#include "object/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object/symtab_build.h"

/* Of names this much is compared, so that hostile ones cost no more. */
#define NAME_COMPARE_MAX 4096

#define WHOLE UINT32_MAX

struct piece {
	uint64_t start, end; /* vaddr */
	uint32_t name;	     /* offset in names */
	uint32_t extent;     /* index into extents, or WHOLE */
};

struct extent {
	uint64_t value, end;
};

struct symtab {
	VEC(struct piece) pieces; /* sorted, disjoint */
	VEC(struct extent) extents;
	char *names;
	size_t nr_symbols;
	unsigned int sources;
};

void symtab_builder__init(struct symtab_builder *b)
{
	vec_init(&b->candidates, SYMTAB_MAX);
	buf__init(&b->names, SYMTAB_NAMES_MAX);
	b->sources = 0;
}

void symtab_builder__done(struct symtab_builder *b)
{
	vec_done(&b->candidates);
	buf__done(&b->names);
}

/*
 * Ends names early: "memcpy@@GLIBC_2.14" at its version, by putting a NUL there, and what is too
 * long. All in one pass over the bytes, not name by name: in a hostile file a million names can
 * be tails of one long string. A name that starts with @ keeps that one.
 */
static void cut_names(char *names, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i < len; i++) {
		if (!names[i]) {
			start = i + 1;
		} else if ((names[i] == '@' && i > start) || i - start >= SYMTAB_NAME_MAX) {
			names[i] = '\0';
			/* The next string in the file begins after the next NUL. */
			while (i + 1 < len && names[i + 1] && i - start < SYMTAB_NAME_MAX)
				i++;
			start = i + 1;
		}
	}
}

int symtab_builder__add_names(struct symtab_builder *b, const char *names, size_t len,
			      uint32_t *ret_base)
{
	size_t base = b->names.len;

	buf__append(&b->names, names, len);
	buf__putc(&b->names, '\0');
	if (buf__error(&b->names))
		return buf__error(&b->names);
	cut_names(b->names.data + base, len);
	*ret_base = base;
	return 0;
}

int symtab_builder__add_name(struct symtab_builder *b, const char *stem, const char *ending,
			     uint32_t *ret)
{
	size_t base = b->names.len;

	buf__append(&b->names, stem, strnlen(stem, SYMTAB_NAME_MAX));
	buf__append(&b->names, ending, strlen(ending) + 1);
	if (buf__error(&b->names))
		return buf__error(&b->names);
	*ret = base;
	return 0;
}

int symtab_builder__add(struct symtab_builder *b, const struct candidate *c)
{
	struct candidate copy = *c;

	if (c->end <= c->value || c->name >= b->names.len || !b->names.data[c->name])
		return 0;
	copy.order = b->candidates.len;
	return vec_push(&b->candidates, copy);
}

static size_t underscores(const char *name)
{
	size_t n = 0;

	while (n < NAME_COMPARE_MAX && name[n] == '_')
		n++;
	return n;
}

bool candidate__is_better(const struct symtab_builder *b, const struct candidate *a,
			  const struct candidate *than)
{
	const char *name_a = b->names.data + a->name, *name_b = b->names.data + than->name;
	size_t n_a, n_b;

	if (a->sized != than->sized)
		return a->sized;
	if (a->weak != than->weak)
		return than->weak;
	if (a->global != than->global)
		return a->global;
	n_a = underscores(name_a);
	n_b = underscores(name_b);
	if (n_a != n_b)
		return n_a < n_b;
	n_a = strnlen(name_a, NAME_COMPARE_MAX);
	n_b = strnlen(name_b, NAME_COMPARE_MAX);
	if (n_a != n_b)
		return n_a > n_b;
	return a->order < than->order;
}

/* By address; at one address the sized ones first, the largest of them first. */
static int compare_candidates(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->sized != b->sized)
		return a->sized ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/*
 * One candidate an extent stays, the best of its aliases; one without a size only where none with
 * a size begins, and it reaches to the next symbol's beginning at most. They are sorted.
 */
static void drop_aliases(struct symtab_builder *b)
{
	struct candidate *c = b->candidates.data;
	size_t kept = 0, nr = b->candidates.len;

	for (size_t i = 0, next; i < nr; i = next) {
		const struct candidate *best = &c[i];

		for (next = i + 1; next < nr && c[next].value == c[i].value; next++) {
			if (c[next].sized != c[i].sized || (c[i].sized && c[next].end != c[i].end))
				break;
			if (candidate__is_better(b, &c[next], best))
				best = &c[next];
		}
		c[kept++] = *best;
		if (c[kept - 1].sized) {
			while (next < nr && c[next].value == c[kept - 1].value && !c[next].sized)
				next++;
		} else if (next < nr && c[kept - 1].end > c[next].value) {
			c[kept - 1].end = c[next].value;
		}
	}
	b->candidates.len = kept;
}

/* The sweep. `open` holds the symbols that began and haven't been seen to end, innermost last. */
struct sweep {
	struct symtab *st;
	const struct candidate *candidates;
	VEC(struct open_symbol {
		uint32_t index;	 /* into candidates */
		uint32_t extent; /* in st, or WHOLE while no piece of it was made */
		uint64_t end;
	})
	open;
	uint64_t pos;
};

static int emit_piece(struct sweep *s, struct open_symbol *o, uint64_t end)
{
	const struct candidate *c = &s->candidates[o->index];

	if (o->extent == WHOLE && (s->pos != c->value || end != o->end)) {
		int err = vec_push(&s->st->extents, (struct extent){ c->value, o->end });

		if (err)
			return err;
		o->extent = s->st->extents.len - 1;
	}
	return vec_push(&s->st->pieces, (struct piece){ s->pos, end, c->name, o->extent });
}

/* Makes the pieces from s->pos up to an address. */
static int advance(struct sweep *s, uint64_t to)
{
	while (s->open.len && s->pos < to) {
		struct open_symbol *innermost = &s->open.data[s->open.len - 1];
		uint64_t end = innermost->end < to ? innermost->end : to;

		if (innermost->end > s->pos) {
			int err = emit_piece(s, innermost, end);

			if (err)
				return err;
			s->pos = end;
		}
		if (innermost->end <= s->pos)
			s->open.len--;
	}
	s->pos = to;
	return 0;
}

static int sweep(struct sweep *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct candidate *c = &s->candidates[i];
		struct open_symbol o = { .index = i, .extent = WHOLE, .end = c->end };
		int err = advance(s, c->value);

		if (err)
			return err;
		while (s->open.len && s->open.data[s->open.len - 1].end <= c->value)
			s->open.len--;
		/* A label inside a function does not reach out of it. */
		if (!c->sized && s->open.len && s->open.data[s->open.len - 1].end < o.end)
			o.end = s->open.data[s->open.len - 1].end;
		err = vec_push(&s->open, o);
		if (err)
			return err;
	}
	return advance(s, UINT64_MAX);
}

/*
 * Keeps the names that are in use, in the order of their addresses; .strtab holds those of data,
 * files and aliases as well. Where names share bytes so much that copies would be larger (tails
 * of one string, in a hostile file), all stays as it is.
 */
static void compact_names(struct symtab *st, struct buf *names)
{
	size_t len = 0;
	char *kept;

	vec_for_each(&st->pieces, p) {
		len += strlen(names->data + p->name) + 1;
		if (len >= names->len)
			break;
	}
	kept = len < names->len ? malloc(len ? len : 1) : NULL;
	if (!kept) {
		st->names = names->data;
		names->data = NULL;
		buf__done(names);
		return;
	}
	st->names = kept;
	len = 0;
	vec_for_each(&st->pieces, p) {
		size_t n = strlen(names->data + p->name) + 1;

		memcpy(kept + len, names->data + p->name, n);
		p->name = len;
		len += n;
	}
	buf__done(names);
}

/* Gives back what a vec has to spare. */
#define vec_shrink(v)                                                                       \
	do {                                                                                \
		void *__data = (v)->len ? realloc((v)->data, (v)->len * sizeof(*(v)->data)) \
					: NULL;                                             \
		if (__data) {                                                               \
			(v)->data = __data;                                                 \
			(v)->cap = (v)->len;                                                \
		}                                                                           \
	} while (0)

int symtab_builder__finish(struct symtab_builder *b, struct symtab **ret)
{
	struct symtab *st = calloc(1, sizeof(*st));
	struct sweep s = { .st = st };
	int err;

	if (!st)
		return -ENOMEM;
	if (b->candidates.len) {
		qsort(b->candidates.data, b->candidates.len, sizeof(*b->candidates.data),
		      compare_candidates);
		drop_aliases(b);
	}
	vec_init(&st->pieces, 2 * (size_t)SYMTAB_MAX);
	vec_init(&st->extents, SYMTAB_MAX);
	vec_init(&s.open, SYMTAB_MAX);
	s.candidates = b->candidates.data;
	err = vec_reserve(&st->pieces, b->candidates.len);
	if (!err)
		err = sweep(&s, b->candidates.len);
	vec_done(&s.open);
	if (err) {
		symtab__free(st);
		return err == -E2BIG ? -ENOMEM : err;
	}
	st->nr_symbols = b->candidates.len;
	st->sources = b->sources;
	vec_done(&b->candidates);
	compact_names(st, &b->names);
	vec_shrink(&st->pieces);
	vec_shrink(&st->extents);
	*ret = st;
	return 0;
}

void symtab__free(struct symtab *st)
{
	if (!st)
		return;
	vec_done(&st->pieces);
	vec_done(&st->extents);
	free(st->names);
	free(st);
}

bool symtab__lookup(const struct symtab *st, uint64_t vaddr, struct symbol *ret)
{
	size_t low = 0, high = st->pieces.len;
	const struct piece *p;

	/* The first piece that ends behind vaddr. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (st->pieces.data[mid].end <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == st->pieces.len || st->pieces.data[low].start > vaddr)
		return false;
	p = &st->pieces.data[low];
	ret->name = st->names + p->name;
	if (p->extent == WHOLE) {
		ret->value = p->start;
		ret->size = p->end - p->start;
	} else {
		const struct extent *e = &st->extents.data[p->extent];

		ret->value = e->value;
		ret->size = e->end - e->value;
	}
	return true;
}

size_t symtab__count(const struct symtab *st)
{
	return st->nr_symbols;
}

unsigned int symtab__sources(const struct symtab *st)
{
	return st->sources;
}
