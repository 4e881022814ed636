// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "object/proc_stat.h"
#include "proc/mappings.h"
#include "proc/process_check.h"

#define LEN (4 * 4096)

static struct dso_table dsos;
static struct process_table table;
static struct process *self;
static char *text; /* of a file, executable */

static void *map(void *at, int fd)
{
	int flags = MAP_PRIVATE | (at ? MAP_FIXED : 0) | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *p = mmap(at, LEN, PROT_READ | PROT_EXEC, flags, fd, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static const struct mapping *known_at(const void *addr)
{
	return process__lookup(self, (uintptr_t)addr);
}

/* As for a sample at `time` in the text: reads now, whatever the waits say, if nothing is read. */
static void check_at(uint64_t time)
{
	if (self->check.wait)
		self->check.due = 0;
	process_table__check(&table, self, (uintptr_t)text, time);
}

static int setup(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	text = map(NULL, fd);
	close(fd);
	assert_int_equal(dso_table__init(&dsos), 0);
	process_table__init(&table, &dsos);
	self = process_table__read(&table, getpid());
	assert_non_null(self);
	assert_int_equal(known_at(text)->kind, MAPPING_FILE);
	/* First sampled: not looked at before a while has passed. */
	process_table__check(&table, self, (uintptr_t)text, clock__now());
	assert_int_equal(table.stats.checks, 0);
	return 0;
}

static int teardown(void **state)
{
	process_table__done(&table);
	dso_table__done(&dsos);
	munmap(text, LEN);
	return 0;
}

/* Anonymous code comes by mremap(), which no record tells of. */
static void move_code_over_text(void)
{
	char *code = map(NULL, -1);

	munmap(text, LEN);
	assert_ptr_equal(mremap(code, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, text), text);
}

static void what_came_unseen_is_taken_over_when_its_time_is_reached(void **state)
{
	uint64_t version = self->version, before = clock__now();

	move_code_over_text();
	check_at(before);
	assert_int_equal(table.stats.checks, 1);
	/* Samples of before the reading are still in what was there. */
	check_at(before);
	check_at(self->check.until - 1);
	assert_int_equal(known_at(text)->kind, MAPPING_FILE);
	assert_int_equal(self->version, version);
	check_at(clock__now());
	assert_int_equal(known_at(text)->kind, MAPPING_ANON);
	assert_int_equal(table.stats.came_unseen, 1);
	assert_int_not_equal(self->version, version);
	/* Looked at again soon. */
	assert_int_equal(self->check.wait, CHECK_WAIT_MIN);
}

static void what_is_unmapped_is_no_more(void **state)
{
	munmap(text + 4096, 4096);
	check_at(clock__now());
	assert_non_null(known_at(text + 4096));
	check_at(clock__now());
	assert_null(known_at(text + 4096));
	assert_int_equal(known_at(text)->kind, MAPPING_FILE);
	assert_int_equal(known_at(text + 2 * 4096)->kind, MAPPING_FILE);
	assert_int_equal(known_at(text + 2 * 4096)->pgoff, 2 * 4096);
	assert_int_equal(table.stats.came_unseen, 0);
}

static void what_is_as_known_changes_nothing(void **state)
{
	uint64_t version = self->version;

	for (int i = 0; i < 3; i++) {
		check_at(clock__now());
		check_at(clock__now());
	}
	assert_int_equal(table.stats.checks, 3);
	assert_int_equal(self->version, version);
	assert_int_equal(self->check.wait, 8 * CHECK_WAIT_MIN);
}

static void what_has_a_record_since_stays(void **state)
{
	struct mapping m;

	move_code_over_text();
	check_at(clock__now());
	/* Then something else is mapped there, as its record says. */
	m = *known_at(text);
	m.since = clock__now();
	assert_int_equal(mappings__cover(self, &m), 0);
	check_at(clock__now());
	assert_int_equal(known_at(text)->kind, MAPPING_FILE);
	assert_int_equal(table.stats.came_unseen, 0);
}

static void another_image_has_nothing_of_it(void **state)
{
	move_code_over_text();
	check_at(clock__now());
	self->as_of = clock__now();
	check_at(clock__now());
	assert_int_equal(known_at(text)->kind, MAPPING_FILE);
	assert_null(self->check.stated);
}

/* Moved there, as to huge pages: the bytes are the file's. */
static void moved_text_stays_its_files(void **state)
{
	char *copy = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(copy != MAP_FAILED);
	memcpy(copy, text, LEN);
	assert_int_equal(mprotect(copy, LEN, PROT_READ | PROT_EXEC), 0);
	assert_ptr_equal(mremap(copy, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, text), text);
	for (int i = 0; i < 4; i++)
		check_at(clock__now());
	assert_int_equal(known_at(text)->kind, MAPPING_FILE);
	assert_true(known_at(text)->moved);
	/* And when that is replaced it isn't any more. */
	move_code_over_text();
	check_at(clock__now());
	check_at(clock__now());
	assert_int_equal(known_at(text)->kind, MAPPING_ANON);
}

static void no_more_than_so_many_a_second(void **state)
{
	uint64_t started = clock__now(), seconds;

	for (int i = 0; i < 200; i++)
		check_at(clock__now());
	seconds = (clock__now() - started) / NSEC_PER_SEC + 1;
	assert_in_range(table.stats.checks, 1, CHECKS_PER_SEC * (seconds + 1));
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_came_unseen_is_taken_over_when_its_time_is_reached),
		T(what_is_unmapped_is_no_more),
		T(what_is_as_known_changes_nothing),
		T(what_has_a_record_since_stays),
		T(another_image_has_nothing_of_it),
		T(moved_text_stays_its_files),
		T(no_more_than_so_many_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
