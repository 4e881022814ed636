// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "profile/demangle.h"

static void expect(const char *mangled, const char *want)
{
	_cleanup_free_ char *got = demangle__name(mangled);

	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, want);
}

static void demangles_cxx(void **state)
{
	expect("_Z3addii", "add(int, int)");
	expect("_ZN3foo3barERKSsPFvvE", "foo::bar(std::string const&, void (*)())");
	expect("_ZNKSt6vectorIiSaIiEE4sizeEv",
	       "std::vector<int, std::allocator<int> >::size() const");
	expect("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]");
	expect("_ZTV3foo", "vtable for foo");
}

static void demangles_rust(void **state)
{
	expect("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
	       "core::fmt::Formatter::write_str");
	expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
	       "17h930b740aa94f1d3aE",
	       "<Test + 'static as foo::Bar<Test>>::bar");
	expect("_RNvNtC4core3fmt5write", "core::fmt::write");
	expect("_RNvC6_123foo3bar", "123foo::bar");
	expect("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	       "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_\u10d2\u10d4\u10db"
	       "\u10e0\u10d8\u10d4\u10da\u10d8_\u10e1\u10d0\u10d3\u10d8\u10da\u10d8");
}

static void keeps_the_ending_of_stubs(void **state)
{
	expect("_Z3addii@plt", "add(int, int)@plt");
	expect("puts@plt", NULL);
	expect("@plt", NULL);
}

static void leaves_others_alone(void **state)
{
	expect("", NULL);
	expect("main", NULL);
	expect("_start", NULL);
	expect("_Z", NULL);
	expect("_R", NULL);
	expect("_Zgarbage", NULL);
	expect("_ZN3foo", NULL);
	/* A type, and another compiler's: not what names functions here. */
	expect("i", NULL);
	expect("?f@@YAXXZ", NULL);
}

/* Each type is a pair of the one before: depth N has 2^N of the innermost. */
static void bounds_endless_names(void **state)
{
	struct buf name;
	time_t start = time(NULL);

	buf__init(&name, 65536);
	buf__puts(&name, "_Z1f1BIccES_IS0_S0_E");
	for (int i = 1; i < 64; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char seq[4] = { digits[i % 36] };

		if (i >= 36)
			snprintf(seq, sizeof(seq), "%c%c", digits[i / 36], digits[i % 36]);
		buf__printf(&name, "S_IS%s_S%s_E", seq, seq);
		if (i == 3)
			expect(name.data, "f(B<char, char>, "
					  "B<B<char, char>, B<char, char> >, "
					  "B<B<B<char, char>, B<char, char> >, B<B<char, char>, "
					  "B<char, char> > >, "
					  "B<B<B<B<char, char>, B<char, char> >, B<B<char, char>, "
					  "B<char, char> > >, "
					  "B<B<B<char, char>, B<char, char> >, B<B<char, char>, "
					  "B<char, char> > > >, "
					  "B<B<B<B<B<char, char>, B<char, char> >, B<B<char, "
					  "char>, B<char, char> > >, "
					  "B<B<B<char, char>, B<char, char> >, B<B<char, char>, "
					  "B<char, char> > > >, "
					  "B<B<B<B<char, char>, B<char, char> >, B<B<char, char>, "
					  "B<char, char> > >, "
					  "B<B<B<char, char>, B<char, char> >, B<B<char, char>, "
					  "B<char, char> > > > >)");
	}
	/* Not refused for its length, which is over at 1,024: that would prove nothing. */
	assert_true(name.len < 1024);
	expect(name.data, NULL);
	assert_true(time(NULL) - start < 10);
	buf__done(&name);
}

static void bounds_depth_and_length(void **state)
{
	_cleanup_free_ char *name = malloc(DEMANGLE_INPUT_MAX + 2);
	char *got;

	/* Pointers to pointers to ..., one level a letter. */
	memset(name, 'P', DEMANGLE_INPUT_MAX);
	memcpy(name, "_Z1f", 4);
	name[DEMANGLE_INPUT_MAX - 1] = 'c';
	name[DEMANGLE_INPUT_MAX] = '\0';
	expect(name, NULL);
	/* 1,024 bytes are what libiberty's recursion limit lets through in C++. */
	memcpy(name, "_Z1018", 6);
	memset(name + 6, 'x', 1018);
	name[1024] = '\0';
	memcpy(name, "_Z1017", 6);
	name[1023] = 'v';
	got = demangle__name(name);
	assert_non_null(got);
	assert_int_equal(strlen(got), 1017 + 2);
	free(got);
	/* Rust's identifiers may be as long as a name may be. */
	memset(name, 'x', DEMANGLE_INPUT_MAX + 1);
	memcpy(name, "_RNvC1a16373", 12);
	name[12 + 16373 - 1] = '\0';
	expect(name, NULL); /* one byte short */
	name[12 + 16373 - 1] = 'x';
	name[12 + 16373] = '\0';
	assert_int_equal(strlen(name), DEMANGLE_INPUT_MAX + 1);
	expect(name, NULL); /* one byte too many, though well-formed */
	memcpy(name, "_RNvC1a16372", 12);
	name[DEMANGLE_INPUT_MAX] = '\0';
	got = demangle__name(name);
	assert_non_null(got);
	assert_int_equal(strlen(got), strlen("a::") + 16372);
	free(got);
}

/* A real library's names, against c++filt; it reads the same list, so lines correspond. */
static void agrees_with_cxxfilt(void **state)
{
	/* c++filt also spells std::string and its like out, which perf doesn't: left out. */
	static const char list[] = "nm -D --defined-only /usr/lib/x86_64-linux-gnu/libstdc++.so.6 "
				   "2>/dev/null | sed -n 's/.* [TW] \\(_Z[^@]*\\).*/\\1/p' | "
				   "grep -v 'S[siodb]'";
	_cleanup_free_ char *mangled = NULL, *demangled = NULL;
	size_t mangled_cap = 0, demangled_cap = 0, checked = 0;
	char filtered[512];
	FILE *names, *want;

	if (system("c++filt --version >/dev/null 2>&1")) {
		print_message("no c++filt\n");
		skip();
	}
	snprintf(filtered, sizeof(filtered), "%s | c++filt", list);
	names = popen(list, "r");
	want = popen(filtered, "r");
	while (getline(&mangled, &mangled_cap, names) > 0) {
		assert_true(getline(&demangled, &demangled_cap, want) > 0);
		mangled[strcspn(mangled, "\n")] = '\0';
		demangled[strcspn(demangled, "\n")] = '\0';
		expect(mangled, strcmp(mangled, demangled) ? demangled : NULL);
		checked++;
	}
	pclose(names);
	pclose(want);
	print_message("%zu names\n", checked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangles_cxx),
		cmocka_unit_test(demangles_rust),
		cmocka_unit_test(keeps_the_ending_of_stubs),
		cmocka_unit_test(leaves_others_alone),
		cmocka_unit_test(bounds_endless_names),
		cmocka_unit_test(bounds_depth_and_length),
		cmocka_unit_test(agrees_with_cxxfilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
