// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What BOLT 19 makes of a file, case by case; tests/live/test_fdata.sh compares the same
 * shapes and whole programs with what perf2bolt says.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "elf_builder.h"
#include "object/bolt_symtab.h"

#define TEXT 0x1000
#define DATA 0x3000

enum { SEC_TEXT = 1, SEC_DATA, SEC_TBSS, SEC_EH_FRAME };

/* .text of 0x100 bytes, .data, .tbss, an .eh_frame (may be empty), and these symbols. */
static struct elf_builder *build(const struct eb_sym *syms, size_t nr, const void *eh,
				 size_t eh_len)
{
	struct elf_builder *eb = elf_builder__new(EM_X86_64);
	Elf64_Shdr data = { .sh_type = SHT_PROGBITS,
			    .sh_flags = SHF_ALLOC | SHF_WRITE,
			    .sh_addr = DATA };
	Elf64_Shdr tbss = { .sh_type = SHT_NOBITS,
			    .sh_flags = SHF_ALLOC | SHF_WRITE | SHF_TLS,
			    .sh_addr = DATA + 0x100 };
	Elf64_Shdr eh_frame = { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = 0x2000 };

	assert_int_equal(elf_builder__text(eb, ".text", TEXT, 0x100), SEC_TEXT);
	assert_int_equal(elf_builder__section(eb, ".data", data, NULL, 0x100), SEC_DATA);
	assert_int_equal(elf_builder__section(eb, ".tbss", tbss, NULL, 0x10), SEC_TBSS);
	assert_int_equal(elf_builder__section(eb, ".eh_frame", eh_frame, eh, eh_len), SEC_EH_FRAME);
	elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_LOAD,
					    .p_flags = PF_R | PF_X,
					    .p_offset = eb->shdrs[SEC_TEXT].sh_offset,
					    .p_vaddr = TEXT,
					    .p_filesz = 0x100,
					    .p_memsz = 0x100 });
	elf_builder__symbols(eb, SHT_SYMTAB, syms, nr);
	return eb;
}

static struct bolt_symtab *load(struct elf_builder *eb)
{
	struct elf_file *ef = elf_builder__open(eb);
	struct bolt_symtab *bs = NULL;
	const char *why = NULL;

	assert_int_equal(bolt_symtab__load(ef, &bs, &why), 0);
	assert_null(why);
	elf_file__close(ef);
	free(eb);
	return bs;
}

static struct bolt_symtab *load_symbols(const struct eb_sym *syms, size_t nr)
{
	struct elf_builder *eb = build(syms, nr, NULL, 0);

	elf_builder__finish(eb);
	return load(eb);
}

/* The function at vaddr, as "name+0x1" or "name/2+0x1"; "-" where there is none. */
static void check_at(const struct bolt_symtab *bs, uint64_t vaddr, const char *expected)
{
	struct bolt_function f;
	char text[256] = "-";

	if (bolt_symtab__lookup(bs, vaddr, &f)) {
		assert_true(vaddr - f.vaddr < f.size);
		snprintf(text, sizeof(text), f.local ? "%s/%u+0x%x" : "%s%.0u+0x%x", f.name,
			 f.local, (unsigned int)(vaddr - f.vaddr));
	}
	assert_string_equal(text, expected);
}

#define FUNC(name, value, size, bind)                       \
	{                                                   \
		name, value, size, STT_FUNC, bind, SEC_TEXT \
	}
#define NOTYPE(name, value, bind)                          \
	{                                                  \
		name, value, 0, STT_NOTYPE, bind, SEC_TEXT \
	}

static void locals_are_numbered_by_address(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("helper", TEXT + 0x20, 0x10, STB_LOCAL),
		FUNC("helper", TEXT, 0x10, STB_LOCAL),
		FUNC("other", TEXT + 0x10, 0x10, STB_LOCAL),
		/* Data counts; thread-local zeros, file symbols and what has no address don't. */
		{ "helper", TEXT - 0x10, 8, STT_OBJECT, STB_LOCAL, SHN_ABS },
		{ "other", DATA, 8, STT_OBJECT, STB_LOCAL, SEC_DATA },
		{ "other", 8, 8, STT_TLS, STB_LOCAL, SEC_TBSS },
		{ "helper", 0, 0, STT_FILE, STB_LOCAL, SHN_ABS },
		{ "helper", 0, 0, STT_NOTYPE, STB_LOCAL, SHN_UNDEF },
		FUNC("helper", TEXT + 0x30, 0x10, STB_GLOBAL),
		FUNC("weak", TEXT + 0x40, 0x10, STB_WEAK),
	};
	struct bolt_symtab *bs = load_symbols(syms, ARRAY_SIZE(syms));

	assert_int_equal(bolt_symtab__count(bs), 5);
	check_at(bs, TEXT + 1, "helper/2+0x1");
	check_at(bs, TEXT + 0x10, "other/1+0x0");
	check_at(bs, TEXT + 0x20, "helper/3+0x0");
	check_at(bs, TEXT + 0x30, "helper+0x0");
	check_at(bs, TEXT + 0x40, "weak+0x0");
	bolt_symtab__free(bs);
}

static void equal_addresses_keep_functions_first_then_table_order(void **state)
{
	const struct eb_sym syms[] = {
		/* First in the table, but no functions: they neither name nor take number 1. */
		{ "", TEXT, 0, STT_SECTION, STB_LOCAL, SEC_TEXT },
		NOTYPE("label", TEXT, STB_LOCAL),
		NOTYPE("same", TEXT + 0x20, STB_LOCAL),
		FUNC("f", TEXT, 0x10, STB_LOCAL),
		FUNC("b", TEXT + 0x10, 0x10, STB_WEAK),
		FUNC("a", TEXT + 0x10, 0x10, STB_GLOBAL),
		FUNC("same", TEXT + 0x20, 4, STB_LOCAL),
		/* The largest alias tells the size: so the label is inside. */
		FUNC("larger", TEXT + 0x20, 0x10, STB_GLOBAL),
		FUNC("smaller", TEXT + 0x20, 2, STB_GLOBAL),
		NOTYPE("inside", TEXT + 0x28, STB_GLOBAL),
	};
	struct bolt_symtab *bs = load_symbols(syms, ARRAY_SIZE(syms));

	assert_int_equal(bolt_symtab__count(bs), 3);
	check_at(bs, TEXT, "f/1+0x0");
	check_at(bs, TEXT + 0x10, "b+0x0");
	check_at(bs, TEXT + 0x28, "same/1+0x8");
	bolt_symtab__free(bs);
}

static void section_symbols_come_last(void **state)
{
	const struct eb_sym syms[] = {
		{ "", TEXT, 0, STT_SECTION, STB_LOCAL, SEC_TEXT },
		NOTYPE("entry", TEXT, STB_GLOBAL),
	};
	struct bolt_symtab *bs = load_symbols(syms, 2);

	check_at(bs, TEXT, "entry+0x0");
	bolt_symtab__free(bs);
	/* Alone, one begins a function of the section's name. */
	bs = load_symbols(syms, 1);
	check_at(bs, TEXT + 1, ".text/1+0x1");
	bolt_symtab__free(bs);
}

static void functions_reach_to_the_next_symbol(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("sized", TEXT + 0x10, 8, STB_GLOBAL),
		FUNC("sizeless", TEXT + 0x20, 0, STB_GLOBAL),
		NOTYPE("asm_entry", TEXT + 0x30, STB_GLOBAL),
		{ "table", TEXT + 0x40, 8, STT_OBJECT, STB_GLOBAL, SEC_TEXT },
		FUNC("last", TEXT + 0xf0, 4, STB_GLOBAL),
	};
	struct bolt_symtab *bs = load_symbols(syms, ARRAY_SIZE(syms));

	check_at(bs, TEXT + 0xf, "-");
	assert_int_equal(bolt_symtab__gap(bs, TEXT + 0xf), BOLT_GAP_CODE);
	check_at(bs, TEXT + 0x1f, "sized+0xf");
	check_at(bs, TEXT + 0x2f, "sizeless+0xf");
	check_at(bs, TEXT + 0x3f, "asm_entry+0xf");
	/* Data among code begins a "function" too. */
	check_at(bs, TEXT + 0x50, "table+0x10");
	check_at(bs, TEXT + 0xff, "last+0xf");
	check_at(bs, TEXT + 0x100, "-");
	assert_int_equal(bolt_symtab__gap(bs, TEXT + 0x100), BOLT_GAP_NO_CODE);
	assert_int_equal(bolt_symtab__gap(bs, DATA), BOLT_GAP_NO_CODE);
	bolt_symtab__free(bs);
}

static void inner_symbols_are_entries_of_the_outer_function(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("outer", TEXT, 0x20, STB_GLOBAL),
		FUNC("inner", TEXT + 8, 8, STB_GLOBAL),
		NOTYPE("global_label", TEXT + 0xc, STB_GLOBAL),
		NOTYPE("label", TEXT + 0x28, STB_LOCAL),
		/* Reaches past outer's stated end, from inside of it. */
		FUNC("late", TEXT + 0x18, 0x40, STB_LOCAL),
		FUNC("next", TEXT + 0x60, 8, STB_GLOBAL),
		/* A function without a size keeps local labels, but no global ones. */
		FUNC("bare", TEXT + 0x80, 0, STB_GLOBAL),
		NOTYPE("bare_label", TEXT + 0x88, STB_LOCAL),
		NOTYPE("bare_global", TEXT + 0x90, STB_GLOBAL),
	};
	struct bolt_symtab *bs = load_symbols(syms, ARRAY_SIZE(syms));

	check_at(bs, TEXT + 8, "outer+0x8");
	check_at(bs, TEXT + 0x1c, "outer+0x1c");
	/* The local label lies past the stated end: a function of its own. */
	check_at(bs, TEXT + 0x27, "outer+0x27");
	check_at(bs, TEXT + 0x28, "label/1+0x0");
	check_at(bs, TEXT + 0x5f, "label/1+0x37");
	check_at(bs, TEXT + 0x8f, "bare+0xf");
	check_at(bs, TEXT + 0x90, "bare_global+0x0");
	bolt_symtab__free(bs);
}

/* A sized symbol that is no function, in the middle: the function ends where it says. */
static void data_inside_ends_the_stretch(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("f", TEXT, 0x20, STB_GLOBAL),
		{ "table", TEXT + 0x10, 4, STT_OBJECT, STB_LOCAL, SEC_TEXT },
		FUNC("next", TEXT + 0x40, 8, STB_GLOBAL),
	};
	struct bolt_symtab *bs = load_symbols(syms, ARRAY_SIZE(syms));

	check_at(bs, TEXT + 0x1f, "f+0x1f");
	check_at(bs, TEXT + 0x20, "-");
	bolt_symtab__free(bs);
}

static void special_names(void **state)
{
	const struct eb_sym syms[] = {
		FUNC(".Lprivate", TEXT, 8, STB_LOCAL),
		FUNC("", TEXT + 0x10, 8, STB_GLOBAL),
		FUNC("", TEXT + 0x20, 8, STB_LOCAL),
		FUNC("__hot_start", TEXT + 0x24, 0, STB_GLOBAL),
		FUNC("__hot_end", TEXT + 0x30, 0, STB_GLOBAL),
		FUNC("foo@@V1", TEXT + 0x40, 8, STB_GLOBAL),
		NOTYPE("$x", TEXT + 0x50, STB_LOCAL), /* a marker on arm64 alone */
		/* At the section's end, and outside of it. */
		FUNC("end", TEXT + 0x100, 0, STB_GLOBAL),
		FUNC("outside", TEXT - 8, 8, STB_GLOBAL),
	};
	struct bolt_symtab *bs = load_symbols(syms, ARRAY_SIZE(syms));

	check_at(bs, TEXT, "PG.Lprivate/1+0x0");
	check_at(bs, TEXT + 0x10, "ANONYMOUS.0+0x0");
	check_at(bs, TEXT + 0x3f, "ANONYMOUS.1+0x1f");
	check_at(bs, TEXT + 0x40, "foo@@V1+0x0");
	check_at(bs, TEXT + 0x50, "$x/1+0x0");
	assert_int_equal(bolt_symtab__count(bs), 5);
	bolt_symtab__free(bs);
}

/* A CIE "zR" 0x1b, then FDEs [start, start + len), as in a section at 0x2000. */
static size_t make_eh_frame(uint8_t *out, const uint64_t (*fdes)[2], size_t nr)
{
	static const uint8_t cie[] = { 14,  0,	 0, 0, 0,    0,	 0, 0,	  1,
				       'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0 };
	size_t len = sizeof(cie);

	memcpy(out, cie, len);
	for (size_t i = 0; i < nr; i++) {
		const uint32_t fde[] = { 12, len + 4, fdes[i][0] - (0x2000 + len + 8), fdes[i][1] };

		memcpy(out + len, fde, sizeof(fde));
		len += sizeof(fde);
	}
	return len;
}

static void fdes_give_sizes_and_functions(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("f", TEXT, 4, STB_GLOBAL),
		NOTYPE("in_f", TEXT + 8, STB_GLOBAL),
		FUNC("g", TEXT + 0x40, 8, STB_GLOBAL),
	};
	const uint64_t fdes[][2] = {
		{ TEXT, 0x10 },	       /* larger than f's size: so in_f is inside */
		{ TEXT + 0x20, 0x10 }, /* no symbol */
		{ TEXT + 0x28, 4 },    /* inside of that */
		{ TEXT + 0x42, 2 },    /* inside of g */
	};
	uint8_t eh[256];
	struct elf_builder *eb =
		build(syms, ARRAY_SIZE(syms), eh, make_eh_frame(eh, fdes, ARRAY_SIZE(fdes)));
	struct bolt_symtab *bs;

	elf_builder__finish(eb);
	bs = load(eb);
	check_at(bs, TEXT + 8, "f+0x8");
	check_at(bs, TEXT + 0x1f, "f+0x1f");
	check_at(bs, TEXT + 0x28, "__BOLT_FDE_FUNCat1020+0x8");
	check_at(bs, TEXT + 0x3f, "__BOLT_FDE_FUNCat1020+0x1f");
	check_at(bs, TEXT + 0x42, "g+0x2");
	assert_int_equal(bolt_symtab__count(bs), 3);
	bolt_symtab__free(bs);
}

/* push; jmp (the header), then stubs that jump through slots: puts, f (defined here), IRELATIVE. */
static void plt_stubs_are_named_by_their_slots(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("f_first", TEXT, 4, STB_LOCAL),
		FUNC("f", TEXT, 4, STB_GLOBAL),
		{ "", 0x5000, 0, STT_SECTION, STB_LOCAL, 7 },
	};
	const struct eb_sym dyn[] = {
		{ "puts", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
		FUNC("f", TEXT, 4, STB_GLOBAL),
	};
	const uint64_t slots[] = { DATA + 0x10, DATA + 0x18, DATA + 0x20 };
	Elf64_Rela relas[] = {
		{ .r_offset = slots[1], .r_info = ELF64_R_INFO(2, R_X86_64_JUMP_SLOT) },
		{ .r_offset = slots[0], .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT) },
		{ .r_offset = slots[2],
		  .r_info = ELF64_R_INFO(0, R_X86_64_IRELATIVE),
		  .r_addend = TEXT },
	};
	struct elf_builder *eb = build(syms, ARRAY_SIZE(syms), NULL, 0);
	Elf64_Shdr rela = { .sh_type = SHT_RELA,
			    .sh_flags = SHF_ALLOC,
			    .sh_entsize = sizeof(relas[0]) };
	struct bolt_symtab *bs;
	uint8_t *plt;

	assert_int_equal(elf_builder__text(eb, ".plt", 0x5000, 0x40), 7);
	plt = eb->bytes + eb->shdrs[7].sh_offset;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t disp = slots[i] - (0x5000 + 16 * (i + 1) + 6);

		memcpy(plt + 16 * (i + 1), "\xff\x25", 2);
		memcpy(plt + 16 * (i + 1) + 2, &disp, 4);
	}
	rela.sh_link = elf_builder__symbols(eb, SHT_DYNSYM, dyn, ARRAY_SIZE(dyn));
	elf_builder__section(eb, ".rela.plt", rela, relas, sizeof(relas));
	elf_builder__finish(eb);
	bs = load(eb);
	check_at(bs, 0x5004, "__BOLT_PSEUDO_.plt+0x4");
	check_at(bs, 0x5010, "puts@PLT+0x0");
	check_at(bs, 0x5020, "f_first/1@PLT+0x0");
	check_at(bs, 0x5030, "f_first/1@PLT+0x10");
	bolt_symtab__free(bs);
}

static void check_refused(struct elf_builder *eb, const char *because)
{
	struct elf_file *ef = elf_builder__open(eb);
	struct bolt_symtab *bs;
	const char *why = NULL;

	assert_int_equal(bolt_symtab__load(ef, &bs, &why), -ENOTSUP);
	assert_non_null(why);
	if (!strstr(why, because))
		fail_msg("\"%s\" doesn't say \"%s\"", why, because);
	elf_file__close(ef);
	free(eb);
}

static struct elf_builder *build_with(const char *section)
{
	const struct eb_sym syms[] = { FUNC("f", TEXT, 4, STB_GLOBAL) };
	struct elf_builder *eb = build(syms, 1, NULL, 0);

	if (section)
		elf_builder__section(eb, section, (Elf64_Shdr){ .sh_type = SHT_NOTE }, "x", 1);
	elf_builder__finish(eb);
	return eb;
}

static void refuses_what_bolt_refuses(void **state)
{
	const struct eb_sym asan[] = { { "__asan_init", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF } };
	struct elf_builder *eb;

	eb = build_with(NULL);
	elf_builder__ehdr(eb)->e_type = ET_REL;
	check_refused(eb, "object file");
	eb = build_with(NULL);
	elf_builder__ehdr(eb)->e_type = ET_CORE;
	check_refused(eb, "neither a program");
	eb = build_with(NULL);
	elf_builder__ehdr(eb)->e_machine = EM_RISCV;
	check_refused(eb, "x86-64 or arm64");
	check_refused(build_with(".note.bolt_bat"), "translation table");
	check_refused(build_with(".note.bolt_info"), "processed it already");
	check_refused(build_with(".bolt.org.text"), "processed it already");
	eb = elf_builder__new(EM_X86_64);
	elf_builder__text(eb, ".text", TEXT, 16);
	elf_builder__finish(eb);
	check_refused(eb, "stripped");
	eb = build_with(NULL);
	elf_builder__shdr(eb, SEC_TEXT)->sh_type = SHT_NOBITS;
	check_refused(eb, "debug file");
	eb = build(asan, 1, NULL, 0);
	elf_builder__finish(eb);
	check_refused(eb, "AddressSanitizer");
}

static void tells_relocations(void **state)
{
	struct bolt_symtab *bs = load(build_with(NULL));

	assert_false(bolt_symtab__has_relocs(bs));
	bolt_symtab__free(bs);
	bs = load(build_with(".rela.text"));
	assert_true(bolt_symtab__has_relocs(bs));
	bolt_symtab__free(bs);
}

/* Values and sizes that wrap, sections that overlap: no crash, and each offset is in its extent. */
static void survives_nonsense(void **state)
{
	const struct eb_sym syms[] = {
		FUNC("huge", TEXT + 1, UINT64_MAX, STB_GLOBAL),
		FUNC("far", UINT64_MAX, UINT64_MAX, STB_GLOBAL),
		FUNC("wrong", TEXT + 2, 8, STB_GLOBAL),
		{ "no_section", TEXT + 3, 8, STT_FUNC, STB_GLOBAL, 0xfe00 },
		{ "abs", TEXT + 4, UINT64_MAX, STT_FUNC, STB_LOCAL, SHN_ABS },
	};
	struct elf_builder *eb = build(syms, ARRAY_SIZE(syms), NULL, 0);
	struct bolt_symtab *bs;

	elf_builder__finish(eb);
	elf_builder__shdr(eb, SEC_DATA)->sh_addr = UINT64_MAX - 8;
	bs = load(eb);
	check_at(bs, TEXT + 0x10, "huge+0xf");
	check_at(bs, TEXT, "-");
	check_at(bs, UINT64_MAX, "-");
	bolt_symtab__free(bs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locals_are_numbered_by_address),
		cmocka_unit_test(equal_addresses_keep_functions_first_then_table_order),
		cmocka_unit_test(section_symbols_come_last),
		cmocka_unit_test(functions_reach_to_the_next_symbol),
		cmocka_unit_test(inner_symbols_are_entries_of_the_outer_function),
		cmocka_unit_test(data_inside_ends_the_stretch),
		cmocka_unit_test(special_names),
		cmocka_unit_test(fdes_give_sizes_and_functions),
		cmocka_unit_test(plt_stubs_are_named_by_their_slots),
		cmocka_unit_test(refuses_what_bolt_refuses),
		cmocka_unit_test(tells_relocations),
		cmocka_unit_test(survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
