// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BOLT doesn't take an ELF file's symbols as they stand. It sorts all that are in memory, data
 * included, by address (at one address: functions first, section symbols last, else in the
 * table's order) and walks over them once:
 *
 *  - A local symbol is renamed to name/N, N counting the local symbols of that name so far; so the
 *    number of a function depends on data symbols too. A name that starts with ".L" gets "PG" in
 *    front, a symbol without a name is ANONYMOUS.N.
 *  - In a section of code, any symbol that lies in no earlier function begins one: also NOTYPE and
 *    section symbols. Further symbols at its address are aliases; the first gives the name.
 *  - A symbol inside [value, value + size) of the latest function begins none: it is a label, or
 *    another entry of that function. The size is the larger of the symbol's and of the FDE's that
 *    starts at the same address.
 *  - PLT stubs become functions, "puts@PLT", if their slot has a relocation by a symbol; the start
 *    of a PLT section that isn't such a stub is "__BOLT_PSEUDO_.plt". Then FDEs that start outside
 *    all functions do, "__BOLT_FDE_FUNCat1234".
 *  - At last each function is stretched to the next function or symbol, or its section's end,
 *    past labels that may lie in a function's body.
 *
 * One step of BOLT's is left out: in a binary without relocations it takes that stretch back
 * where what follows a function's stated size isn't padding by its disassembler's lights.
 * Samples there can't matter: BOLT has no instructions to put them on.
 */
#include "object/bolt_symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "object/bolt_symtab_build.h"
#include "object/elf_syms.h"
#include "object/fde_ranges.h"
#include "object/plt.h"

/* A symbol in the order of the walk. */
struct entry {
	uint64_t addr;
	uint32_t index; /* in .symtab */
	uint8_t order;	/* among those at one address */
	bool dropped;	/* doesn't limit the function before it */
};

struct local_name {
	const char *name;
	uint32_t count;
};

struct loader {
	const struct elf_file *ef;
	struct bolt_symtab *bs;
	struct elf_syms syms, dynsyms;
	VEC(struct entry) entries;
	VEC(struct local_name) locals;
	struct hashmap local_index;
	struct fde_ranges fdes;
	struct plt plt;
	uint32_t nr_anonymous;
	const char *why;
};

/* BOLT 19's lists; what stands in other sections is no stub to it. */
static bool is_plt_section(const struct loader *l, const char *name)
{
	static const char *const x86[] = { ".plt", ".plt.got", ".plt.sec" };
	static const char *const arm64[] = { ".plt", ".plt.got", ".iplt" };
	bool is_arm64 = elf_file__machine(l->ef) == EM_AARCH64;

	for (size_t i = 0; i < ARRAY_SIZE(x86); i++)
		if (!strcmp(name, is_arm64 ? arm64[i] : x86[i]))
			return true;
	return false;
}

static bool is_local(const GElf_Sym *sym)
{
	return GELF_ST_BIND(sym->st_info) == STB_LOCAL;
}

static unsigned int type_of(const GElf_Sym *sym)
{
	return GELF_ST_TYPE(sym->st_info);
}

static const struct bolt_section *section_of(const struct loader *l, const GElf_Sym *sym)
{
	bool real = sym->st_shndx != SHN_UNDEF && sym->st_shndx < l->bs->sections.len;

	return real ? &l->bs->sections.data[sym->st_shndx] : NULL;
}

/* The symbol's name, a section symbol's being its section's. */
static const char *name_of(const struct loader *l, const GElf_Sym *sym)
{
	const struct bolt_section *s = section_of(l, sym);
	const char *name = elf_syms__name(&l->syms, sym);

	return !*name && type_of(sym) == STT_SECTION && s ? s->name : name;
}

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static int read_section(struct loader *l, Elf_Scn *scn)
{
	struct bolt_section s;
	GElf_Shdr shdr;

	if (!gelf_getshdr(scn, &shdr))
		return -EBADMSG;
	s = (struct bolt_section){ .addr = shdr.sh_addr,
				   .size = shdr.sh_size,
				   .flags = shdr.sh_flags,
				   .name = elf_file__section_name(l->ef, &shdr) };
	/* A wrapped end would make every check against it wrong. */
	if (s.addr + s.size < s.addr)
		s.size = 0;
	/* .tbss takes no addresses: what follows it has the same ones. */
	if (shdr.sh_type == SHT_NOBITS && s.flags & SHF_TLS)
		s.flags &= ~(uint64_t)SHF_ALLOC;
	if (!strcmp(s.name, ".rela.text"))
		l->bs->has_relocs = true;
	return vec_push(&l->bs->sections, s);
}

static int by_section_addr(const void *a, const void *b, void *sections)
{
	const struct bolt_section *x = (struct bolt_section *)sections + *(const uint32_t *)a;
	const struct bolt_section *y = (struct bolt_section *)sections + *(const uint32_t *)b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return 0;
}

static int read_sections(struct loader *l)
{
	struct bolt_symtab *bs = l->bs;
	Elf_Scn *scn = NULL;
	int err;

	err = vec_push(&bs->sections, (struct bolt_section){ .name = "" });
	while (!err && (scn = elf_nextscn(elf_file__elf(l->ef), scn)))
		err = read_section(l, scn);
	for (uint32_t i = 1; i < bs->sections.len && !err; i++)
		if (bs->sections.data[i].flags & SHF_ALLOC && bs->sections.data[i].size)
			err = vec_push(&bs->by_addr, i);
	if (!err && bs->by_addr.len)
		qsort_r(bs->by_addr.data, bs->by_addr.len, sizeof(*bs->by_addr.data),
			by_section_addr, bs->sections.data);
	return err;
}

/* arm64's marks of code ($x) and data ($d). */
static bool is_marker(const struct loader *l, const GElf_Sym *sym, const char *name)
{
	return elf_file__machine(l->ef) == EM_AARCH64 && type_of(sym) == STT_NOTYPE &&
	       name[0] == '$' && (name[1] == 'x' || name[1] == 'd') && (!name[2] || name[2] == '.');
}

static bool is_walked(const struct loader *l, const GElf_Sym *sym, const char *name)
{
	const struct bolt_section *s = section_of(l, sym);

	if (sym->st_shndx != SHN_ABS && !(s && s->flags & SHF_ALLOC))
		return false;
	return type_of(sym) != STT_FILE && sym->st_value && !is_marker(l, sym, name) &&
	       strcmp(name, "__hot_start") && strcmp(name, "__hot_end");
}

static int by_walk(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* The symbols that BOLT walks over, in its order. */
static int sort_symbols(struct loader *l)
{
	for (size_t i = 1; i < l->syms.nr; i++) {
		struct entry e = { .index = i };
		GElf_Sym sym;
		const char *name;
		int err;

		elf_syms__get(&l->syms, i, &sym);
		name = elf_syms__name(&l->syms, &sym);
		if (starts_with(name, "__asan_init") ||
		    starts_with(name, "__llvm_coverage_mapping")) {
			l->why = "it was built with AddressSanitizer or coverage, which BOLT "
				 "refuses; build it without";
			return -ENOTSUP;
		}
		if (!is_walked(l, &sym, name))
			continue;
		e.addr = sym.st_value;
		e.order = type_of(&sym) == STT_FUNC ? 0 : type_of(&sym) == STT_SECTION ? 2 : 1;
		err = vec_push(&l->entries, e);
		if (err)
			return err;
	}
	if (l->entries.len)
		qsort(l->entries.data, l->entries.len, sizeof(*l->entries.data), by_walk);
	return 0;
}

struct local_probe {
	const struct loader *l;
	const char *name;
};

static bool same_local(const void *ctx, uint32_t i)
{
	const struct local_probe *p = ctx;

	return !strcmp(p->l->locals.data[i].name, p->name);
}

/* N of the next local symbol of this name. */
static int number_local(struct loader *l, const char *name, uint32_t *ret)
{
	struct local_probe probe = { .l = l, .name = name };
	uint64_t hash = hash_bytes(name, strlen(name));
	uint32_t i = hashmap__find(&l->local_index, hash, same_local, &probe);
	int err;

	if (i == HASHMAP_NONE) {
		i = l->locals.len;
		err = vec_push(&l->locals, (struct local_name){ .name = name });
		if (!err)
			err = hashmap__add(&l->local_index, hash, i);
		if (err)
			return err;
	}
	*ret = ++l->locals.data[i].count;
	return 0;
}

/* Adds a function whose name is what stands in names from f->name on, but for its NUL. */
static int add_function(struct bolt_symtab *bs, const struct bolt_symtab_function *f)
{
	buf__putc(&bs->names, '\0');
	return buf__error(&bs->names) ?: vec_push(&bs->functions, *f);
}

static struct bolt_symtab_function *last_function(const struct loader *l)
{
	size_t nr = l->bs->functions.len;

	return nr ? &l->bs->functions.data[nr - 1] : NULL;
}

/* May the symbol lie in the body of f, or where f, whose size isn't known, may reach? */
static bool valid_in_scope(const struct loader *l, const struct bolt_symtab_function *f,
			   const GElf_Sym *sym)
{
	const struct bolt_section *s = &l->bs->sections.data[f->section];

	if (!bolt_contains(s->addr, s->size, sym->st_value))
		return false;
	if (!sym->st_size && bolt_contains(f->vaddr, f->size, sym->st_value))
		return true;
	return type_of(sym) == STT_NOTYPE && is_local(sym);
}

/* Does the symbol begin a function, or name one that begins there? */
static bool begins_function(const struct loader *l, struct entry *e, const GElf_Sym *sym)
{
	const struct bolt_section *s = section_of(l, sym);
	const struct bolt_symtab_function *f = last_function(l);
	bool inside;

	if (!s || !(s->flags & SHF_EXECINSTR) || !bolt_contains(s->addr, s->size, sym->st_value))
		return false;
	if (!f)
		return true;
	inside = bolt_contains(f->vaddr, f->size, sym->st_value);
	if (type_of(sym) != STT_FUNC)
		return !inside && !(!f->size && valid_in_scope(l, f, sym));
	if (!inside || f->vaddr == sym->st_value)
		return true;
	/* Another entry of f: a function by its type, which doesn't limit f all the same. */
	e->dropped = !valid_in_scope(l, f, sym);
	return false;
}

static int walk_symbol(struct loader *l, struct entry *e)
{
	struct bolt_symtab *bs = l->bs;
	uint32_t local = 0, anonymous = 0;
	const struct bolt_section *s;
	const struct fde_range *fde;
	struct bolt_symtab_function *f;
	const char *name;
	GElf_Sym sym;
	int err = 0;

	elf_syms__get(&l->syms, e->index, &sym);
	s = section_of(l, &sym);
	name = name_of(l, &sym);
	if (type_of(&sym) == STT_SECTION && s && is_plt_section(l, s->name))
		return 0;
	if (!*name)
		anonymous = l->nr_anonymous++;
	else if (is_local(&sym))
		err = number_local(l, name, &local);
	if (err || !begins_function(l, e, &sym))
		return err;
	fde = fde_ranges__at(&l->fdes, sym.st_value);
	if (fde && fde->len > sym.st_size)
		sym.st_size = fde->len;
	f = last_function(l);
	if (f && f->vaddr == sym.st_value) {
		if (f->size < sym.st_size)
			f->size = sym.st_size;
		return 0;
	}
	f = &(struct bolt_symtab_function){ .vaddr = sym.st_value,
					    .size = sym.st_size,
					    .name = bs->names.len,
					    .local = local,
					    .section = sym.st_shndx };
	if (!*name)
		buf__printf(&bs->names, "ANONYMOUS.%u", anonymous);
	else if (starts_with(name, ".L"))
		buf__puts(&bs->names, "PG");
	buf__puts(&bs->names, name);
	return add_function(bs, f);
}

static int by_function_vaddr(const void *a, const void *b)
{
	const struct bolt_symtab_function *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return 0;
}

static void sort_functions(struct bolt_symtab *bs)
{
	if (bs->functions.len)
		qsort(bs->functions.data, bs->functions.len, sizeof(*bs->functions.data),
		      by_function_vaddr);
}

/* Is there one of the first n functions that starts at vaddr? */
static bool is_start(const struct bolt_symtab *bs, size_t n, uint64_t vaddr)
{
	const struct bolt_symtab_function *f = bolt_symtab__before(bs, n, vaddr);

	return f && f->vaddr == vaddr;
}

/* A stub for a function of this very file goes by the first of that function's aliases. */
static int add_stub(struct loader *l, const struct plt_stub *stub, size_t nr)
{
	struct bolt_symtab *bs = l->bs;
	uint32_t section = bolt_symtab__section_at(bs, stub->vaddr);
	const struct bolt_symtab_function *target;
	_cleanup_free_ char *alias = NULL;
	uint32_t at = bs->names.len;

	if (!stub->name || !section || is_start(bs, nr, stub->vaddr) ||
	    !is_plt_section(l, bs->sections.data[section].name))
		return 0;
	target = stub->value ? bolt_symtab__before(bs, nr, stub->value) : NULL;
	if (target && target->vaddr == stub->value) {
		/* Appending may move the names. */
		alias = strdup(bs->names.data + target->name);
		if (!alias)
			return -ENOMEM;
	}
	buf__puts(&bs->names, alias ? alias : stub->name);
	if (alias && target->local)
		buf__printf(&bs->names, "/%u", target->local);
	buf__puts(&bs->names, "@PLT");
	return add_function(bs, &(struct bolt_symtab_function){
					.vaddr = stub->vaddr, .name = at, .section = section });
}

static int add_plt(struct loader *l)
{
	struct bolt_symtab *bs = l->bs;
	size_t nr = bs->functions.len;
	int err = 0;

	for (size_t i = 0; i < l->plt.stubs.len && !err; i++)
		err = add_stub(l, &l->plt.stubs.data[i], nr);
	sort_functions(bs);
	nr = bs->functions.len;
	for (uint32_t i = 1; i < bs->sections.len && !err; i++) {
		const struct bolt_section *s = &bs->sections.data[i];
		uint32_t at = bs->names.len;

		if (!(s->flags & SHF_ALLOC) || !s->size || !is_plt_section(l, s->name) ||
		    is_start(bs, nr, s->addr))
			continue;
		buf__printf(&bs->names, "__BOLT_PSEUDO_%s", s->name);
		err = add_function(bs, &(struct bolt_symtab_function){
					       .vaddr = s->addr, .name = at, .section = i });
	}
	sort_functions(bs);
	return err;
}

/* Code that only its FDE tells of. */
static int add_fdes(struct loader *l)
{
	struct bolt_symtab *bs = l->bs;
	size_t nr = bs->functions.len;
	uint64_t fde_end = 0; /* of the FDE that became a function last */
	int err = 0;

	vec_for_each(&l->fdes.ranges, r) {
		const struct bolt_symtab_function *f = bolt_symtab__before(bs, nr, r->start);
		uint32_t section = bolt_symtab__section_at(bs, r->start), at = bs->names.len;

		if ((f && (f->vaddr == r->start || bolt_contains(f->vaddr, f->size, r->start))) ||
		    r->start < fde_end || !(bs->sections.data[section].flags & SHF_EXECINSTR))
			continue;
		buf__printf(&bs->names, "__BOLT_FDE_FUNCat%llx", (unsigned long long)r->start);
		err = add_function(bs, &(struct bolt_symtab_function){ .vaddr = r->start,
								       .size = r->len,
								       .name = at,
								       .section = section });
		if (err)
			break;
		fde_end = r->start + r->len;
	}
	sort_functions(bs);
	return err;
}

/* From the sizes that are stated to how far BOLT lets each function reach. */
static void stretch(struct loader *l)
{
	struct bolt_symtab *bs = l->bs;
	size_t at = 0; /* the first symbol that may limit the function */

	for (size_t i = 0; i < bs->functions.len; i++) {
		struct bolt_symtab_function *f = &bs->functions.data[i];
		uint64_t next = i + 1 < bs->functions.len ? f[1].vaddr : UINT64_MAX;
		const struct bolt_section *s = &bs->sections.data[f->section];
		uint64_t end = s->addr + s->size < next ? s->addr + s->size : next;

		while (at < l->entries.len && l->entries.data[at].addr <= f->vaddr)
			at++;
		for (; at < l->entries.len && l->entries.data[at].addr < next; at++) {
			GElf_Sym sym;

			elf_syms__get(&l->syms, l->entries.data[at].index, &sym);
			if (!l->entries.data[at].dropped && !valid_in_scope(l, f, &sym))
				break;
		}
		if (at < l->entries.len && l->entries.data[at].addr < end)
			end = l->entries.data[at].addr;
		/* Where a symbol stands in the middle, the function keeps its stated size. */
		if (f->size < end - f->vaddr)
			f->size = end - f->vaddr;
		if (f->size > s->addr + s->size - f->vaddr)
			f->size = s->addr + s->size - f->vaddr;
	}
}

static int read_fdes(struct loader *l)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_file__section(l->ef, ".eh_frame", &shdr);
	size_t len;
	int err;

	if (!scn)
		return 0;
	err = elf_file__section_bytes(l->ef, scn, &bytes, &len);
	if (err)
		return err == -ENOENT ? 0 : err;
	return fde_ranges__parse(bytes, len, shdr.sh_addr, &l->fdes);
}

static int read_tables(struct loader *l)
{
	int err;

	l->why = bolt_symtab__refusal(l->ef);
	if (l->why)
		return -ENOTSUP;
	err = read_sections(l);
	if (!err)
		err = elf_syms__read(l->ef, SHT_SYMTAB, &l->syms);
	if (err)
		return err;
	if (l->syms.nr > BOLT_SYMBOLS_MAX)
		return -E2BIG;
	err = elf_syms__read(l->ef, SHT_DYNSYM, &l->dynsyms);
	if (err && err != -ENOENT)
		return err;
	err = plt__read(l->ef, err ? NULL : &l->dynsyms, &l->plt);
	if (err)
		return err;
	return read_fdes(l);
}

static int load(struct loader *l)
{
	int err;

	err = read_tables(l);
	if (!err)
		err = sort_symbols(l);
	for (size_t i = 0; i < l->entries.len && !err; i++)
		err = walk_symbol(l, &l->entries.data[i]);
	if (!err)
		err = add_plt(l);
	if (!err)
		err = add_fdes(l);
	if (!err)
		stretch(l);
	vec_for_each(&l->bs->sections, s)
		s->name = NULL;
	return err;
}

int bolt_symtab__load(const struct elf_file *ef, struct bolt_symtab **ret, const char **ret_why)
{
	struct loader l = { .ef = ef };
	int err;

	l.bs = calloc(1, sizeof(*l.bs));
	if (!l.bs)
		return -ENOMEM;
	vec_init(&l.bs->functions, BOLT_SYMBOLS_MAX);
	vec_init(&l.bs->sections, BOLT_SECTIONS_MAX);
	vec_init(&l.bs->by_addr, BOLT_SECTIONS_MAX);
	buf__init(&l.bs->names, BOLT_NAMES_MAX);
	vec_init(&l.entries, BOLT_SYMBOLS_MAX);
	vec_init(&l.locals, BOLT_SYMBOLS_MAX);
	hashmap__init(&l.local_index, BOLT_SYMBOLS_MAX);

	err = load(&l);
	elf_syms__done(&l.syms);
	elf_syms__done(&l.dynsyms);
	vec_done(&l.entries);
	vec_done(&l.locals);
	hashmap__done(&l.local_index);
	fde_ranges__done(&l.fdes);
	plt__done(&l.plt);
	if (err) {
		if (err == -ENOTSUP)
			*ret_why = l.why;
		bolt_symtab__free(l.bs);
		return err;
	}
	*ret = l.bs;
	return 0;
}
