// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which tables a file's symbols are read from: symtab__load().
 *
 *	.symtab			has all; then nothing else is needed
 *	a debug file's .symtab	has all
 *	.dynsym			what is exported,
 *	.gnu_debugdata		and what isn't, where a distribution provides it
 *
 * PLT stubs are added in each case: no table has them.
 */
#include "object/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "object/debug_file.h"
#include "object/elf_syms.h"
#include "object/plt.h"
#include "object/symtab_build.h"

/* Bytes of PLT stubs' names; beyond, in a hostile file, stubs stay without one. */
#define PLT_NAMES_MAX (64u << 20)

/* Where code is: the bounds of executable sections, by section index. */
struct code_sections {
	struct {
		uint64_t start, end; /* vaddr; end 0: not code */
	} * sections;
	size_t nr;
};

static int code_sections__read(const struct elf_file *ef, struct code_sections *ret)
{
	Elf *elf = elf_file__elf(ef);
	GElf_Shdr sh;

	ret->nr = 0;
	if (elf_getshdrnum(elf, &ret->nr) || !ret->nr) {
		ret->sections = NULL;
		return 0;
	}
	ret->sections = calloc(ret->nr, sizeof(*ret->sections));
	if (!ret->sections)
		return -ENOMEM;
	for (size_t i = 1; i < ret->nr; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);

		if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    sh.sh_addr > UINT64_MAX - sh.sh_size)
			continue;
		ret->sections[i].start = sh.sh_addr;
		ret->sections[i].end = sh.sh_addr + sh.sh_size;
	}
	return 0;
}

/*
 * Mapping symbols say whether code or data follows ("ELF for the Arm 64-bit Architecture", 5.5.5):
 * $x or $d, alone or before a dot.
 */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') && (!name[2] || name[2] == '.');
}

/* False: no candidate. name and order are left to the caller. */
static bool to_candidate(const GElf_Sym *sym, const char *name, const struct code_sections *code,
			 struct candidate *ret)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
	uint64_t section_end;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	/* Also leaves out SHN_UNDEF and the reserved indices. */
	if (sym->st_shndx >= code->nr || !code->sections[sym->st_shndx].end)
		return false;
	section_end = code->sections[sym->st_shndx].end;
	if (sym->st_value < code->sections[sym->st_shndx].start || sym->st_value >= section_end)
		return false;
	if (is_mapping_symbol(name))
		return false;
	*ret = (struct candidate){ .value = sym->st_value, .end = section_end };
	if (sym->st_size) {
		ret->sized = true;
		ret->end = sym->st_size > UINT64_MAX - sym->st_value ? UINT64_MAX
								     : sym->st_value + sym->st_size;
	}
	ret->weak = bind == STB_WEAK;
	ret->global = bind != STB_LOCAL;
	return true;
}

static int add_syms(struct symtab_builder *b, const struct elf_file *ef,
		    const struct elf_syms *syms, unsigned int source)
{
	struct code_sections code;
	size_t before = b->candidates.len;
	struct candidate c;
	uint32_t base;
	int err = code_sections__read(ef, &code);

	if (err)
		return err;
	if (syms->names)
		err = symtab_builder__add_names(b, syms->names, syms->names_len, &base);
	for (size_t i = 0; syms->names && i < syms->nr && !err; i++) {
		GElf_Sym sym;

		elf_syms__get(syms, i, &sym);
		if (sym.st_name >= syms->names_len ||
		    !to_candidate(&sym, syms->names + sym.st_name, &code, &c))
			continue;
		c.name = base + sym.st_name;
		err = symtab_builder__add(b, &c);
	}
	free(code.sections);
	if (b->candidates.len > before)
		b->sources |= source;
	return err;
}

static int add_table(struct symtab_builder *b, const struct elf_file *ef, uint32_t sh_type,
		     unsigned int source)
{
	struct elf_syms syms;
	int err = elf_syms__read(ef, sh_type, &syms);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = add_syms(b, ef, &syms, source);
	elf_syms__done(&syms);
	return err;
}

/* A file of others' making that is no good is as good as none: only -ENOMEM is an error. */
static int add_debug_file(struct symtab_builder *b, const struct elf_file *ef,
			  const struct symtab_opts *opts)
{
	const char *root = opts && opts->debug_root ? opts->debug_root : DEBUG_ROOT;
	_cleanup_close_ int fd = -1;
	struct elf_file *debug;
	int err = debug_file__open(ef, opts ? opts->path : NULL, root, &fd);

	if (!err)
		err = elf_file__open_fd(fd, &debug);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = add_table(b, debug, SHT_SYMTAB, SYMTAB_FROM_DEBUG_FILE);
	elf_file__close(debug);
	return err == -ENOMEM ? err : 0;
}

static int add_debugdata(struct symtab_builder *b, const struct elf_file *ef)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct elf_file *mini;
	size_t len;
	int err = debugdata__read(ef, &bytes, &len);

	if (!err)
		err = elf_file__open_mem(bytes, len, &mini);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = add_table(b, mini, SHT_SYMTAB, SYMTAB_FROM_DEBUGDATA);
	elf_file__close(mini);
	return err == -ENOMEM ? err : 0;
}

static int compare_resolvers(const void *pa, const void *pb)
{
	const struct plt_stub *a = pa, *b = pb;

	return a->resolver < b->resolver ? -1 : a->resolver > b->resolver;
}

/* The first stub with this resolver, or the end; sorted by it. */
static size_t first_of_resolver(const struct plt *plt, uint64_t resolver)
{
	size_t low = 0, high = plt->stubs.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (plt->stubs.data[mid].resolver < resolver)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * IRELATIVE slots have no symbol, only the address of the function that chooses what they get: the
 * best candidate there names them. found[i]: its index for the i-th stub (of several stubs with
 * one resolver, the first), or UINT32_MAX.
 */
static int find_resolvers(const struct symtab_builder *b, const struct plt *plt, uint32_t **ret)
{
	uint32_t *found = malloc(plt->stubs.len * sizeof(*found));

	if (!found)
		return -ENOMEM;
	memset(found, 0xff, plt->stubs.len * sizeof(*found));
	for (size_t i = 0; i < b->candidates.len; i++) {
		const struct candidate *c = &b->candidates.data[i];
		size_t s = first_of_resolver(plt, c->value);

		if (s == plt->stubs.len || plt->stubs.data[s].resolver != c->value || !c->value)
			continue;
		if (found[s] == UINT32_MAX ||
		    candidate__is_better(b, c, &b->candidates.data[found[s]]))
			found[s] = i;
	}
	*ret = found;
	return 0;
}

static int add_stubs(struct symtab_builder *b, struct plt *plt)
{
	_cleanup_free_ uint32_t *found = NULL;
	_cleanup_free_ char *copy = NULL;
	size_t names_before = b->names.len;
	int err;

	qsort(plt->stubs.data, plt->stubs.len, sizeof(*plt->stubs.data), compare_resolvers);
	err = find_resolvers(b, plt, &found);
	for (size_t i = 0, first = 0; !err && i < plt->stubs.len; i++) {
		const struct plt_stub *stub = &plt->stubs.data[i];
		struct candidate c = { .value = stub->vaddr,
				       .end = stub->vaddr + stub->size,
				       .sized = true };

		if (stub->resolver != plt->stubs.data[first].resolver)
			first = i;
		if (!stub->name && found[first] == UINT32_MAX)
			continue;
		if (b->names.len - names_before > PLT_NAMES_MAX)
			break;
		/* The names may move when one is added: add a copy. */
		free(copy);
		copy = strndup(stub->name ?: b->names.data + b->candidates.data[found[first]].name,
			       SYMTAB_NAME_MAX);
		if (!copy)
			return -ENOMEM;
		err = symtab_builder__add_name(b, copy, "@plt", &c.name);
		if (!err)
			err = symtab_builder__add(b, &c);
		if (!err)
			b->sources |= SYMTAB_FROM_PLT;
	}
	return err;
}

/* A stub lies in it and is the inner one. */
static int add_lazy_plt(struct symtab_builder *b, const struct plt *plt)
{
	struct candidate c = { .value = plt->lazy, .end = plt->lazy_end, .sized = true };
	int err = symtab_builder__add_name(b, ".plt", "", &c.name);

	if (!err)
		err = symtab_builder__add(b, &c);
	if (!err)
		b->sources |= SYMTAB_FROM_PLT;
	return err;
}

static int add_plt(struct symtab_builder *b, const struct elf_file *ef)
{
	struct elf_syms dynsym = {};
	struct plt plt;
	int err = elf_syms__read(ef, SHT_DYNSYM, &dynsym);

	if (err == -ENOMEM)
		return err;
	err = plt__read(ef, err ? NULL : &dynsym, &plt);
	if (!err && plt.stubs.len)
		err = add_stubs(b, &plt);
	if (!err && plt.lazy)
		err = add_lazy_plt(b, &plt);
	plt__done(&plt);
	elf_syms__done(&dynsym);
	return err;
}

static int add_all(struct symtab_builder *b, const struct elf_file *ef,
		   const struct symtab_opts *opts)
{
	int err = add_table(b, ef, SHT_SYMTAB, SYMTAB_FROM_SYMTAB);

	if (!err && !b->candidates.len && !(opts && opts->no_debug_files))
		err = add_debug_file(b, ef, opts);
	if (!err && !b->candidates.len) {
		err = add_table(b, ef, SHT_DYNSYM, SYMTAB_FROM_DYNSYM);
		if (!err)
			err = add_debugdata(b, ef);
	}
	return err ?: add_plt(b, ef);
}

int symtab__load(const struct elf_file *ef, const struct symtab_opts *opts, struct symtab **ret)
{
	struct symtab_builder b;
	int err = 0;

	symtab_builder__init(&b);
	/* In relocatable files values count from their section, so there are no vaddrs. */
	if (elf_file__type(ef) != ET_REL)
		err = add_all(&b, ef, opts);
	if (!err)
		err = symtab_builder__finish(&b, ret);
	symtab_builder__done(&b);
	return err;
}
