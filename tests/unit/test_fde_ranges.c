// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>

#include "object/fde_ranges.h"

#define VADDR 0x4000

/* A section that is put together record by record. */
struct section {
	uint8_t bytes[1024];
	size_t len;
};

static void put(struct section *s, uint64_t v, size_t size)
{
	assert_true(s->len + size <= sizeof(s->bytes));
	memcpy(s->bytes + s->len, &v, size);
	s->len += size;
}

/* A CIE with this augmentation string and data; its offset. */
static size_t put_cie(struct section *s, const char *aug, const void *data, size_t data_len)
{
	size_t at = s->len, body = 4 + 1 + strlen(aug) + 1 + 3 + data_len;

	put(s, body, 4);
	put(s, 0, 4);
	put(s, 1, 1);
	memcpy(s->bytes + s->len, aug, strlen(aug) + 1);
	s->len += strlen(aug) + 1;
	put(s, 1, 1);	 /* code alignment */
	put(s, 0x78, 1); /* data alignment -8 */
	put(s, 16, 1);	 /* return address */
	memcpy(s->bytes + s->len, data, data_len);
	s->len += data_len;
	return at;
}

/* An FDE with 4-byte pc-relative numbers (encoding 0x1b). */
static void put_fde(struct section *s, size_t cie, uint64_t start, uint32_t len)
{
	put(s, 4 + 8 + 1, 4);
	put(s, s->len - cie, 4);
	put(s, start - (VADDR + s->len), 4);
	put(s, len, 4);
	put(s, 0, 1);
}

static int parse(const struct section *s, struct fde_ranges *ret)
{
	return fde_ranges__parse(s->bytes, s->len, VADDR, ret);
}

static void check_range(const struct fde_ranges *fr, uint64_t start, uint64_t len)
{
	const struct fde_range *r = fde_ranges__at(fr, start);

	assert_non_null(r);
	assert_int_equal(r->start, start);
	assert_int_equal(r->len, len);
}

static void reads_pc_relative(void **state)
{
	struct section s = { .len = 0 };
	struct fde_ranges fr;
	size_t cie = put_cie(&s, "zR", "\x01\x1b", 2);

	/* Out of order, below and above the section. */
	put_fde(&s, cie, 0x9000, 0x20);
	put_fde(&s, cie, 0x1000, 0x10);
	put(&s, 0, 4);
	put_fde(&s, cie, 0x2000, 0x10); /* past the terminator */
	assert_int_equal(parse(&s, &fr), 0);
	assert_int_equal(fr.ranges.len, 2);
	check_range(&fr, 0x1000, 0x10);
	check_range(&fr, 0x9000, 0x20);
	assert_null(fde_ranges__at(&fr, 0x1001));
	assert_null(fde_ranges__at(&fr, 0x2000));
	fde_ranges__done(&fr);
}

/* The encoding stands behind what the other letters take: P an encoded pointer, L a byte. */
static void finds_the_encoding(void **state)
{
	struct section s = { .len = 0 };
	struct fde_ranges fr;
	size_t plr = put_cie(&s, "zPLR", "\x07\x9b\x44\x33\x22\x11\x1b\x1b", 8);
	size_t none = put_cie(&s, "", "", 0);

	put_fde(&s, plr, 0x1000, 0x10);
	/* Without an augmentation: absolute, 8 bytes. */
	put(&s, 4 + 16, 4);
	put(&s, s.len - none, 4);
	put(&s, 0x7000, 8);
	put(&s, 0x30, 8);
	/* And the first CIE again. */
	put_fde(&s, plr, 0x3000, 0x18);
	assert_int_equal(parse(&s, &fr), 0);
	assert_int_equal(fr.ranges.len, 3);
	check_range(&fr, 0x1000, 0x10);
	check_range(&fr, 0x3000, 0x18);
	check_range(&fr, 0x7000, 0x30);
	fde_ranges__done(&fr);
}

static void length_is_unsigned(void **state)
{
	struct section s = { .len = 0 };
	struct fde_ranges fr;

	put_fde(&s, put_cie(&s, "zR", "\x01\x1b", 2), 0x1000, 0x80000000);
	assert_int_equal(parse(&s, &fr), 0);
	check_range(&fr, 0x1000, 0x80000000);
	fde_ranges__done(&fr);
}

static void of_two_the_first_that_is_not_empty(void **state)
{
	struct section s = { .len = 0 };
	struct fde_ranges fr;
	size_t cie = put_cie(&s, "zR", "\x01\x1b", 2);

	put_fde(&s, cie, 0x1000, 0);
	put_fde(&s, cie, 0x1000, 0x10);
	put_fde(&s, cie, 0x1000, 0x20);
	assert_int_equal(parse(&s, &fr), 0);
	assert_int_equal(fr.ranges.len, 1);
	check_range(&fr, 0x1000, 0x10);
	fde_ranges__done(&fr);
}

/* Every cut of a good section: what stands before it is kept, and nothing else is read. */
static void survives_every_cut(void **state)
{
	struct section s = { .len = 0 };
	size_t cie = put_cie(&s, "zR", "\x01\x1b", 2), first;

	put_fde(&s, cie, 0x1000, 0x10);
	first = s.len;
	put_fde(&s, cie, 0x2000, 0x10);
	for (size_t len = 0; len <= s.len; len++) {
		uint8_t *exact = malloc(len ? len : 1);
		struct fde_ranges fr;
		int err;

		memcpy(exact, s.bytes, len);
		err = fde_ranges__parse(exact, len, VADDR, &fr);
		assert_int_equal(fr.ranges.len, (len >= first) + (len >= s.len));
		if (err)
			assert_int_equal(err, -EBADMSG);
		fde_ranges__done(&fr);
		free(exact);
	}
}

static void refuses_nonsense(void **state)
{
	struct section s = { .len = 0 };
	struct fde_ranges fr;
	size_t cie = put_cie(&s, "zR", "\x01\x1b", 2), at;

	/* A CIE pointer out of the section. */
	put_fde(&s, cie, 0x1000, 0x10);
	at = s.len;
	put_fde(&s, cie, 0x2000, 0x10);
	memset(s.bytes + at + 4, 0xff, 4);
	assert_int_equal(parse(&s, &fr), -EBADMSG);
	assert_int_equal(fr.ranges.len, 1);
	fde_ranges__done(&fr);

	/* One to another FDE. */
	memset(s.bytes + at + 4, 0, 4);
	s.bytes[at + 4] = 17 + 4;
	assert_int_equal(parse(&s, &fr), -EBADMSG);
	fde_ranges__done(&fr);

	/* Encodings that no FDE has: unknown format; indirect; relative to the text. */
	for (size_t i = 0; i < 3; i++) {
		struct section t = { .len = 0 };
		const char data[] = { 1, "\x1d\x9b\x2b"[i] };

		put_fde(&t, put_cie(&t, "zR", data, 2), 0x1000, 0x10);
		assert_int_equal(parse(&t, &fr), -EBADMSG);
		assert_int_equal(fr.ranges.len, 0);
		fde_ranges__done(&fr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_pc_relative),
		cmocka_unit_test(finds_the_encoding),
		cmocka_unit_test(length_is_unsigned),
		cmocka_unit_test(of_two_the_first_that_is_not_empty),
		cmocka_unit_test(survives_every_cut),
		cmocka_unit_test(refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
