// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kallsyms tells where symbols begin, never where they end:
 *
 *	ffffffff81000000 T _text
 *	ffffffffc0601000 t nf_hook	[nf_tables]
 *
 * So each reaches to the next one, of whatever type, data too: what follows a function's code is
 * not its own. The kernel proper ends its code with symbols of its own, _etext and _einittext,
 * which end the last function and name nothing. Behind the last symbol of a module the next one can
 * be gigabytes away: there the module's end bounds it, as /proc/modules has it, and code of
 * neither (BPF programs, trampolines; they come unsorted at the end of the file) ORPHAN_MAX.
 */
#include "object/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"

#define NAMES_MAX   (512u << 20) /* bytes */
#define MODULES_MAX 65536
/* Bytes of one name; the kernel's own limit is 512 (KSYM_NAME_LEN). */
#define NAME_LEN_MAX 1024
/* The farthest that a symbol of no known module reaches where no other follows. */
#define ORPHAN_MAX (64u << 10)

#define KERNEL 0 /* index of the kernel proper among the modules */

struct entry {
	uint64_t addr, end;
	uint32_t name; /* offset in names */
	uint32_t module : 16;
	uint32_t text : 1, weak : 1, global : 1;
	uint32_t spare : 13;
};

struct module {
	uint32_t name;	/* offset in names */
	uint64_t start; /* 0: not in /proc/modules */
	uint64_t end;
};

struct kallsyms {
	VEC(struct entry) entries; /* sorted; in the end only text */
	VEC(struct module) modules;
	struct hashmap module_index;
	struct buf names;
	uint64_t etext, einittext; /* 0: not seen */
	size_t bad_lines;
};

/* A piece of text; both files are taken apart into words that blanks separate. */
struct word {
	const char *s;
	size_t len;
};

static struct word next_word(const char **pos, const char *end)
{
	struct word w;

	while (*pos < end && (**pos == ' ' || **pos == '\t'))
		(*pos)++;
	w.s = *pos;
	while (*pos < end && **pos != ' ' && **pos != '\t')
		(*pos)++;
	w.len = *pos - w.s;
	return w;
}

static bool parse_number(struct word w, unsigned int base, uint64_t *ret)
{
	uint64_t n = 0;

	if (!w.len)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		char c = w.s[i];
		unsigned int d = c >= '0' && c <= '9'	? c - '0'
				 : c >= 'a' && c <= 'f' ? c - 'a' + 10
							: 16;

		if (d >= base || n > (UINT64_MAX - d) / base)
			return false;
		n = n * base + d;
	}
	*ret = n;
	return true;
}

static int add_name(struct kallsyms *ks, struct word w, uint32_t *ret)
{
	size_t at = ks->names.len;

	buf__append(&ks->names, w.s, w.len);
	buf__putc(&ks->names, '\0');
	*ret = at;
	return buf__error(&ks->names);
}

struct module_probe {
	const struct kallsyms *ks;
	struct word name;
};

static bool same_module(const void *ctx, uint32_t i)
{
	const struct module_probe *p = ctx;
	const char *have = p->ks->names.data + p->ks->modules.data[i].name;

	return !strncmp(have, p->name.s, p->name.len) && !have[p->name.len];
}

/* The index of a module, added if it is new. */
static int module_of(struct kallsyms *ks, struct word name, uint32_t *ret)
{
	struct module_probe probe = { .ks = ks, .name = name };
	uint64_t hash = hash_bytes(name.s, name.len);
	struct module m = {};
	int err;

	*ret = hashmap__find(&ks->module_index, hash, same_module, &probe);
	if (*ret != HASHMAP_NONE)
		return 0;
	err = add_name(ks, name, &m.name);
	if (!err)
		err = vec_push(&ks->modules, m);
	if (!err)
		err = hashmap__add(&ks->module_index, hash, ks->modules.len - 1);
	*ret = ks->modules.len - 1;
	return err;
}

/* "name size refs deps state 0xADDR ..."; where the address is hidden it is 0. */
static int parse_module_line(struct kallsyms *ks, const char *pos, const char *end)
{
	struct word name = next_word(&pos, end), size = next_word(&pos, end), addr;
	uint64_t bytes, start;
	uint32_t i;
	int err;

	for (int skipped = 0; skipped < 3; skipped++)
		next_word(&pos, end);
	addr = next_word(&pos, end);
	if (!name.len || name.len > NAME_LEN_MAX || memchr(name.s, '\0', name.len) ||
	    !parse_number(size, 10, &bytes) || addr.len < 3 || addr.s[0] != '0' ||
	    addr.s[1] != 'x' ||
	    !parse_number((struct word){ addr.s + 2, addr.len - 2 }, 16, &start) ||
	    bytes > UINT64_MAX - start) {
		ks->bad_lines++;
		return 0;
	}
	err = module_of(ks, name, &i);
	if (!err && i != KERNEL) {
		ks->modules.data[i].start = start;
		ks->modules.data[i].end = start + bytes;
	}
	return err;
}

static bool is_word(struct word w, const char *s)
{
	return strlen(s) == w.len && !memcmp(s, w.s, w.len);
}

/* "ADDR TYPE NAME" and, after a tab, "[MODULE]". */
static int parse_symbol_line(struct kallsyms *ks, const char *pos, const char *end)
{
	struct word addr = next_word(&pos, end), type = next_word(&pos, end),
		    name = next_word(&pos, end), module = next_word(&pos, end);
	struct entry e = {};
	uint32_t i = KERNEL;
	int err = 0;

	if (!parse_number(addr, 16, &e.addr) || type.len != 1 || !name.len ||
	    name.len > NAME_LEN_MAX || memchr(name.s, '\0', name.len) ||
	    (module.len &&
	     (module.len < 3 || module.s[0] != '[' || module.s[module.len - 1] != ']' ||
	      memchr(module.s, '\0', module.len)))) {
		ks->bad_lines++;
		return 0;
	}
	if (!e.addr) /* hidden, or an offset into per-CPU data */
		return 0;
	if (module.len)
		err = module_of(ks, (struct word){ module.s + 1, module.len - 2 }, &i);
	else if (is_word(name, "_etext"))
		ks->etext = e.addr;
	else if (is_word(name, "_einittext"))
		ks->einittext = e.addr;
	if (err)
		return err;
	e.module = i;
	e.text = strchr("tTwW", type.s[0]) && type.s[0];
	e.weak = type.s[0] == 'w' || type.s[0] == 'W';
	e.global = type.s[0] == 'T' || type.s[0] == 'W';
	if (e.text) {
		err = add_name(ks, name, &e.name);
		if (err)
			return err;
	}
	return vec_push(&ks->entries, e);
}

static int each_line(struct kallsyms *ks, const char *text, size_t len,
		     int (*parse)(struct kallsyms *, const char *, const char *))
{
	const char *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		const char *line_end = nl ? nl : end;
		int err = line_end > text ? parse(ks, text, line_end) : 0;

		if (err)
			return err;
		text = nl ? nl + 1 : end;
	}
	return 0;
}

/* By address; as names are added in the file's order, their offsets tell which came first. */
static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static bool is_better(const struct kallsyms *ks, const struct entry *a, const struct entry *than)
{
	const char *name_a = ks->names.data + a->name, *name_b = ks->names.data + than->name;
	size_t n_a = strspn(name_a, "_"), n_b = strspn(name_b, "_");

	if (a->weak != than->weak)
		return than->weak;
	if (a->global != than->global)
		return a->global;
	if (n_a != n_b)
		return n_a < n_b;
	return strlen(name_a) > strlen(name_b);
}

/* Where a symbol's region ends, at the farthest. */
static uint64_t bound_of(const struct kallsyms *ks, const struct entry *e)
{
	const struct module *m = &ks->modules.data[e->module];

	if (e->module == KERNEL && (e->addr == ks->etext || e->addr == ks->einittext))
		return e->addr;
	if (e->addr >= m->start && e->addr < m->end)
		return m->end;
	return e->addr > UINT64_MAX - ORPHAN_MAX ? UINT64_MAX : e->addr + ORPHAN_MAX;
}

/* Of each address one text symbol is left, with its end; all else goes. */
static void settle(struct kallsyms *ks)
{
	struct entry *e = ks->entries.data;
	size_t kept = 0, nr = ks->entries.len;

	for (size_t i = 0, next; i < nr; i = next) {
		const struct entry *best = NULL;
		uint64_t bound;

		for (next = i; next < nr && e[next].addr == e[i].addr; next++) {
			if (e[next].text && (!best || is_better(ks, &e[next], best)))
				best = &e[next];
		}
		if (!best)
			continue;
		e[kept] = *best;
		bound = bound_of(ks, &e[kept]);
		e[kept].end = next < nr && e[next].addr < bound ? e[next].addr : bound;
		if (e[kept].end > e[kept].addr)
			kept++;
	}
	ks->entries.len = kept;
}

int kallsyms__parse(const char *text, size_t len, const char *modules, size_t modules_len,
		    struct kallsyms **ret)
{
	struct kallsyms *ks = calloc(1, sizeof(*ks));
	uint32_t kernel;
	int err;

	if (!ks)
		return -ENOMEM;
	vec_init(&ks->entries, KALLSYMS_MAX);
	vec_init(&ks->modules, MODULES_MAX);
	hashmap__init(&ks->module_index, MODULES_MAX);
	buf__init(&ks->names, NAMES_MAX);
	err = module_of(ks, (struct word){ "", 0 }, &kernel);
	if (!err && modules)
		err = each_line(ks, modules, modules_len, parse_module_line);
	if (!err)
		err = each_line(ks, text, len, parse_symbol_line);
	if (!err && !ks->entries.len)
		err = -ENODATA;
	if (err) {
		kallsyms__free(ks);
		return err;
	}
	qsort(ks->entries.data, ks->entries.len, sizeof(*ks->entries.data), compare_entries);
	settle(ks);
	*ret = ks;
	return 0;
}

void kallsyms__free(struct kallsyms *ks)
{
	if (!ks)
		return;
	vec_done(&ks->entries);
	vec_done(&ks->modules);
	hashmap__done(&ks->module_index);
	buf__done(&ks->names);
	free(ks);
}

bool kallsyms__lookup(const struct kallsyms *ks, uint64_t addr, struct kallsyms_symbol *ret)
{
	size_t low = 0, high = ks->entries.len;
	const struct entry *e;

	/* The first entry that ends behind addr. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ks->entries.data[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == ks->entries.len || ks->entries.data[low].addr > addr)
		return false;
	e = &ks->entries.data[low];
	*ret = (struct kallsyms_symbol){
		.name = ks->names.data + e->name,
		.module = ks->names.data + ks->modules.data[e->module].name,
		.addr = e->addr,
		.size = e->end - e->addr,
	};
	return true;
}

size_t kallsyms__count(const struct kallsyms *ks)
{
	return ks->entries.len;
}

size_t kallsyms__bad_lines(const struct kallsyms *ks)
{
	return ks->bad_lines;
}
