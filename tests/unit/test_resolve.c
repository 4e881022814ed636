// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "elf_builder.h"
#include "profile/ledger.h"
#include "profile/resolve.h"

/*
 * Two executable segments, page-aligned both in the file and in memory, that claim the same page of
 * the file: [0x1000, 0x3000) at 0x11000 and [0x2000, 0x4000) at 0x22000; each has a function there.
 */
static int two_segments(void)
{
	static const struct eb_sym syms[] = {
		{ "first", 0x12800, 0x200, STT_FUNC, STB_GLOBAL, 1 },
		{ "second", 0x22800, 0x200, STT_FUNC, STB_GLOBAL, 2 },
	};
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	int fd = memfd_create("two", MFD_CLOEXEC);

	elf_builder__text(eb, ".text", 0x11000, 0x2000);
	elf_builder__text(eb, ".text2", 0x22000, 0x2000);
	for (int i = 0; i < 2; i++)
		elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_LOAD,
						    .p_flags = PF_R | PF_X,
						    .p_offset = 0x1000 + 0x1000 * i,
						    .p_vaddr = 0x11000 + 0x11000 * i,
						    .p_filesz = 0x2000,
						    .p_memsz = 0x2000 });
	elf_builder__symbols(eb, SHT_SYMTAB, syms, ARRAY_SIZE(syms));
	elf_builder__finish(eb);
	assert_int_equal(write(fd, eb->bytes, eb->len), eb->len);
	return fd;
}

struct world {
	struct profile *profile;
	struct dso_table dsos;
	struct names *names;
};

static uint32_t frame(struct world *w, uint64_t off, uint8_t mapped)
{
	const struct frame f = { .kind = FRAME_NATIVE, .off = off, .mapped = mapped };
	uint32_t i;

	assert_int_equal(profile__frame(w->profile, &f, &i), 0);
	return i;
}

/* n samples with this leaf, all with the same caller. */
static uint32_t sample(struct world *w, uint64_t off, uint8_t mapped, int n)
{
	const struct stack key = { .comm = "x", .nr_user = 2 };
	const uint32_t frames[] = { frame(w, off, mapped), frame(w, 0x9000, 0) };

	while (n--)
		assert_int_equal(profile__add(w->profile, &key, frames), 0);
	return frames[0];
}

static void the_mapping_decides_and_the_rest_is_counted(void **state)
{
	const uint64_t base = 0x7f0000000000;
	const struct resolve_opts resolve = { 0 };
	const struct profile_opts opts = { 0 };
	struct dso d = {
		.fd = two_segments(),
		.path = strdup("/two"),
		.mapped = { { base + 0x11000, 0x2000, 0x1000 },
			    { base + 0x22000, 0x2000, 0x2000 } },
		.nr_mapped = 2,
	};
	struct world w = { .profile = profile__new(&opts) };
	uint32_t first, second, unknown, outside;

	assert_int_equal(dso_table__init(&w.dsos), 0);
	assert_int_equal(vec_push(&w.dsos.dsos, d), 0);
	first = sample(&w, 0x2810, 1, 3);
	second = sample(&w, 0x2810, 2, 5);
	unknown = sample(&w, 0x2810, 0, 7);
	outside = sample(&w, 0x5000, 0, 11);
	assert_int_not_equal(first, second);

	assert_int_equal(names__resolve(w.profile, &w.dsos, &resolve, &w.names), 0);
	assert_string_equal(w.names->of_frame[first].name, "first");
	assert_string_equal(w.names->of_frame[second].name, "second");
	assert_int_equal(w.names->of_frame[unknown].reason, NAME_AMBIGUOUS);
	assert_int_equal(w.names->of_frame[outside].reason, NAME_NO_SEGMENT);
	/* In samples; callers don't count. */
	assert_int_equal(w.names->samples_by_reason[NAME_AMBIGUOUS], 7);
	assert_int_equal(w.names->samples_by_reason[NAME_NO_SEGMENT], 11);
	assert_int_equal(w.names->troubles.len, 2);
	vec_for_each(&w.names->troubles, t) {
		bool ambiguous = t->reason == NAME_AMBIGUOUS;

		assert_int_equal(t->samples, ambiguous ? 7 : 11);
		assert_int_equal(t->frames, ambiguous ? 1 : 2);
		assert_int_equal(t->load[0].vaddr, ambiguous ? 0x11000 : 0x22000);
		assert_int_equal(t->load[1].vaddr, ambiguous ? 0x22000 : 0);
	}
	names__free(w.names);
	dso_table__done(&w.dsos);
	profile__free(w.profile);
}

static void the_ledger_has_them_outside_its_sum(void **state)
{
	struct ledger l = { .aggregated = 5 };
	struct buf b;

	l.count[LEDGER_fired] = 5;
	l.count[LEDGER_no_segment] = 2;
	l.count[LEDGER_ambiguous] = 1;
	assert_true(ledger__close(&l));
	buf__init(&b, 1000);
	ledger__format(&l, &b);
	assert_string_equal(b.data, "ledger: fired=5 aggregated=5 filtered=0 lost=0 missed=0 "
				    "(no_segment=2 ambiguous=1)");
	buf__done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mapping_decides_and_the_rest_is_counted),
		cmocka_unit_test(the_ledger_has_them_outside_its_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
