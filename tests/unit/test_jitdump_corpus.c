// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A dump that was copied while node wrote it, 2 MB of it: cut anywhere in its last 4096 bytes, and
 * read in pieces of 1 to 4096 bytes. Where ../shared/corpus isn't, there is nothing to test.
 */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "jitdump_digest.h"

#define DUMP TEST_SOURCE_DIR "/../shared/corpus/jit/live-node20.dump"

static struct buf dump;

/* The records that end at or before len, by the sizes that the file states and nothing else. */
static uint64_t count_records(size_t len, size_t *ret_end)
{
	uint64_t nr = 0;
	size_t at = 40;

	for (;;) {
		uint32_t size;

		if (len - at < 16)
			break;
		memcpy(&size, dump.data + at + 4, 4);
		if (size > len - at)
			break;
		at += size;
		nr++;
	}
	*ret_end = at;
	return nr;
}

static void cut_at_every_byte(void **state)
{
	for (size_t cut = 0; cut <= 4096; cut++) {
		size_t len = dump.len - cut, end;
		uint64_t nr = count_records(len, &end);
		struct digest d = digest__read(dump.data, len, len);
		struct digest upto = digest__read(dump.data, end, end);

		assert_int_equal(d.nr_records, nr);
		assert_int_equal(d.tail, len - end);
		assert_int_equal(d.hash, upto.hash);
		assert_int_equal(d.status, JITDUMP_OK);
	}
}

static void in_pieces_of_every_size(void **state)
{
	struct digest whole = digest__read(dump.data, dump.len, dump.len);
	size_t end;

	assert_int_equal(whole.nr_records, count_records(dump.len, &end));
	assert_in_range(whole.nr_records, 1000, 100000);
	for (size_t piece = 1; piece <= 4096; piece++) {
		struct digest d = digest__read(dump.data, dump.len, piece);

		assert_memory_equal(&d, &whole, sizeof(d));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(in_pieces_of_every_size),
	};

	int failed;

	buf__init(&dump, 64u << 20);
	if (access(DUMP, R_OK) || buf__read_path(&dump, DUMP)) {
		printf("1..0 # SKIP no ../shared/corpus/jit/live-node20.dump\n");
		return 0;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf__done(&dump);
	return failed;
}
