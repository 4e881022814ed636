// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/fs.h>

#include "proc/dso.h"
#include "proc/dso_sweep.h"
#include "proc/process.h"

/* A pid that can't be running: over the kernel's PID_MAX_LIMIT of 4 Mi. */
#define PID_GONE 5000001
#define FILES	 20

static struct dso_table dsos;
static char dir[] = "/tmp/ebolt-test-XXXXXX", paths[FILES][64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/ebolt-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < FILES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%d", dir, i);
		close(creat(paths[i], 0600));
	}
	assert_int_equal(dso_table__init(&dsos), 0);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < FILES; i++)
		unlink(paths[i]);
	rmdir(dir);
	dso_table__done(&dsos);
	return 0;
}

/* This process has file i, by its path: nothing is mapped at the sighting's address. */
static struct dso_sighting sighting(int i)
{
	struct stat st;

	assert_int_equal(stat(paths[i], &st), 0);
	return (struct dso_sighting){
		.id = { .maj = major(st.st_dev), .min = minor(st.st_dev), .ino = st.st_ino },
		.path = paths[i],
		.path_len = strlen(paths[i]),
		.pid = getpid(),
		.start = 0x1000,
		.end = 0x2000
	};
}

static uint32_t see(int i)
{
	struct dso_sighting s = sighting(i);
	uint32_t index;

	assert_int_equal(dso_table__see(&dsos, &s, &index), 0);
	return index;
}

static void hit(int i, uint32_t index)
{
	struct dso_sighting s = sighting(i);

	dso_table__hit(&dsos, index, &s);
}

static bool is_open(uint32_t index)
{
	return dsos.dsos.data[index].fd >= 0;
}

static void idle_files_leave_half_of_the_descriptors(void **state)
{
	assert_true(dsos.max_idle <= dsos.max_open / 2);
	assert_true(dsos.max_idle <= DSOS_IDLE_MAX);
}

static void a_hit_takes_the_descriptor_of_an_idle_file(void **state)
{
	uint32_t index[FILES];

	dsos.max_open = 8;
	dsos.max_idle = 8;
	for (int i = 0; i < FILES; i++)
		index[i] = see(i);
	for (int i = 0; i < 8; i++) {
		hit(i, index[i]);
		assert_true(is_open(index[i]));
	}
	assert_int_equal(dsos.nr_open, 8);
	assert_int_equal(dsos.nr_idle, 0);
	assert_int_equal(dsos.short_of_fds, 0);
	/* None is idle any more. What isn't hit has nothing to say. */
	for (int n = 0; n < 3; n++)
		for (int i = 8; i < FILES; i++)
			see(i);
	assert_int_equal(dsos.short_of_fds, 0);
	/* Counted once a file. */
	for (int n = 0; n < 3; n++) {
		hit(8, index[8]);
		hit(9, index[9]);
	}
	assert_false(is_open(index[8]));
	assert_int_equal(dsos.dsos.data[index[8]].open_error, -EMFILE);
	assert_int_equal(dsos.short_of_fds, 2);
}

/* Closed as idle; then its first sample is of a process that has just gone. */
static void a_hit_that_could_not_open_is_followed_by_others(void **state)
{
	struct dso_sighting gone = sighting(0);
	uint32_t a, b;

	dsos.max_open = 2;
	dsos.max_idle = 1;
	a = see(0);
	b = see(1);
	assert_false(is_open(a));
	assert_true(is_open(b));
	gone.pid = PID_GONE;
	gone.path = "/no/such";
	gone.path_len = strlen(gone.path);
	for (int i = 0; i < 3 * DSO_OPEN_TRIES; i++) {
		dso_table__hit(&dsos, a, &gone);
		assert_false(is_open(a));
		assert_false(dso__is_hit(&dsos.dsos.data[a]));
	}
	hit(0, a);
	assert_true(is_open(a));
	assert_true(dso__is_hit(&dsos.dsos.data[a]));
	assert_int_equal(dsos.nr_open, 2);
	assert_int_equal(dsos.nr_idle, 1);
}

static void what_a_living_process_cannot_show_is_given_up(void **state)
{
	struct dso_sighting s = sighting(0);
	uint32_t a;

	s.id.ino++;
	s.path = "/no/such";
	s.path_len = strlen(s.path);
	for (int i = 0; i < 3 * DSO_OPEN_TRIES; i++) {
		assert_int_equal(dso_table__see(&dsos, &s, &a), 0);
		dso_table__hit(&dsos, a, &s);
	}
	assert_int_equal(dsos.dsos.data[a].tries, DSO_OPEN_TRIES);
	assert_true(dso__is_hit(&dsos.dsos.data[a]));
}

static void another_path_of_one_file_is_the_same(void **state)
{
	struct dso_sighting s = sighting(0);
	uint32_t a = see(0), b;

	assert_int_equal(unlink(paths[1]), 0);
	assert_int_equal(link(paths[0], paths[1]), 0);
	assert_int_equal(see(1), a);
	/* stat states what mappings do: no other file can have this identity. */
	s.pid = PID_GONE;
	s.path = "/gone";
	s.path_len = strlen(s.path);
	assert_int_equal(dso_table__see(&dsos, &s, &b), 0);
	assert_int_equal(b, a);
}

static uint32_t see_gone(const char *path, uint64_t time)
{
	struct dso_sighting s = sighting(0);
	uint32_t i;

	s.pid = PID_GONE;
	s.path = path;
	s.path_len = strlen(path);
	s.time = time;
	assert_int_equal(dso_table__see(&dsos, &s, &i), 0);
	return i;
}

/* As where mappings state one identity for two files: that one's stat differs. */
static void pretend_another(uint32_t index, unsigned int n)
{
	dsos.dsos.data[index].st.dev += n;
}

static void a_file_of_another_generation_is_not_opened(void **state)
{
	struct dso_sighting s = sighting(0);
	unsigned int gen;
	uint32_t a, b;
	int fd = open(paths[0], O_RDONLY);
	bool has_gen = !ioctl(fd, FS_IOC_GETVERSION, &gen);

	close(fd);
	if (!has_gen)
		skip();
	/* Its inode has been taken by the one that is there now. */
	s.id.gen = gen + 1;
	s.id.gen_known = true;
	assert_int_equal(dso_table__see(&dsos, &s, &a), 0);
	assert_false(is_open(a));
	s.id.gen = gen;
	assert_int_equal(dso_table__see(&dsos, &s, &b), 0);
	assert_int_not_equal(b, a);
	assert_true(is_open(b));
	assert_int_equal(see(0), b);
	assert_int_equal(dsos.nr_open, 1);
}

static void what_can_not_be_told_apart_has_no_file(void **state)
{
	uint32_t a = see(0), b, unsure, other;

	pretend_another(a, 1);
	/* Known by identity and path, and nothing else is. */
	assert_int_equal(see_gone(paths[0], 0), a);
	/* By another path it may be anything. */
	other = see_gone("/elsewhere", 0);
	assert_int_not_equal(other, a);
	assert_false(is_open(other));
	assert_int_equal(see_gone("/elsewhere", 0), other);
	/* The same path leads to another file now. */
	dsos.dsos.data[other].unsure = true;
	b = see(0);
	assert_int_not_equal(b, a);
	assert_true(is_open(b));
	pretend_another(b, 2);
	unsure = see_gone(paths[0], 0);
	assert_int_not_equal(unsure, a);
	assert_int_not_equal(unsure, b);
	assert_false(is_open(unsure));
	assert_int_equal(see_gone(paths[0], 0), unsure);
	assert_int_equal(dsos.dsos.len, 4);
}

static void a_record_is_of_the_file_that_was_seen_when_it_was_foreseen(void **state)
{
	struct dso_sighting s = sighting(0);
	uint32_t a = see(0), b, c;

	pretend_another(a, 1);
	s.time = 5;
	assert_int_equal(dso_table__see(&dsos, &s, &b), 0);
	assert_int_not_equal(b, a);
	pretend_another(b, 2);
	/* The process has gone meanwhile, or has another file there. */
	assert_int_equal(dso_table__see(&dsos, &s, &c), 0);
	assert_int_equal(c, b);
	s.time = 6;
	assert_int_equal(dso_table__see(&dsos, &s, &c), 0);
	assert_int_not_equal(c, a);
	assert_int_not_equal(c, b);
}

/* Sweeps, with one file mapped. */
static void sweep(uint32_t needed)
{
	if (needed != UINT32_MAX)
		dso_table__need(&dsos, needed);
	dso_table__sweep(&dsos, 1);
}

static void what_nothing_needs_is_forgotten(void **state)
{
	uint32_t index[FILES], mapped, hot, vdso;
	size_t bytes;

	assert_int_equal(dso_table__vdso(&dsos, &vdso), 0);
	for (int i = 0; i < FILES; i++)
		index[i] = see(i);
	mapped = index[3];
	hot = index[4];
	hit(4, hot);
	/* Seen since the last sweep: their records' turn may be to come. */
	sweep(mapped);
	assert_int_equal(dso_table__len(&dsos), FILES + 1);
	assert_int_equal(see(5), index[5]);
	bytes = dsos.path_bytes;
	sweep(mapped);
	assert_int_equal(dso_table__len(&dsos), 4);
	assert_int_equal(dsos.nr_open, 3);
	assert_int_equal(dsos.nr_idle, 2);
	assert_true(dsos.path_bytes < bytes / 4);
	assert_int_equal(see(3), mapped);
	assert_int_equal(see(4), hot);
	assert_int_equal(see(5), index[5]);
	assert_string_equal(dsos.dsos.data[hot].path, paths[4]);
	assert_string_equal(dsos.dsos.data[vdso].path, "[vdso]");
	/* Their places go to others. */
	for (int n = 0; n < 3; n++) {
		for (int i = 0; i < FILES; i++) {
			index[i] = see(i);
			assert_true(is_open(index[i]));
			assert_string_equal(dsos.dsos.data[index[i]].path, paths[i]);
		}
		sweep(UINT32_MAX);
		sweep(UINT32_MAX);
		assert_int_equal(dso_table__len(&dsos), 2);
	}
	assert_int_equal(dsos.dsos.len, FILES + 1);
	assert_int_equal(dsos.nr_open, 1);
}

/* This process's own files are mapped, the others aren't. */
static void what_processes_have_mapped_is_needed(void **state)
{
	struct process_table table;
	const struct process *p;
	struct dso_sighting s;

	process_table__init(&table, &dsos);
	p = process_table__read(&table, getpid());
	assert_non_null(p);
	assert_true(p->maps.len > 1);
	for (int i = 0; i < FILES; i++)
		see(i);
	for (uint64_t n = 0; n < 3; n++) {
		dsos.sweep_at = 1;
		dso_sweep__run(&table, 1 + (n << 40));
	}
	vec_for_each(&p->maps, m) {
		if (m->kind != MAPPING_FILE)
			continue;
		assert_int_not_equal(dsos.dsos.data[m->dso].kind, DSO_FREE);
		s = process__sighting(p, m, &dsos);
		assert_true(s.path_len > 0);
	}
	vec_for_each(&dsos.dsos, d)
		if (d->path)
			assert_int_not_equal(strncmp(d->path, dir, strlen(dir)), 0);
	assert_true(dso_table__len(&dsos) <= p->maps.len);
	/* An exec: nothing of it is mapped any more. */
	table.procs.data[0]->maps.len = 0;
	for (uint64_t n = 3; n < 5; n++) {
		dsos.sweep_at = 1;
		dso_sweep__run(&table, 1 + (n << 40));
	}
	assert_true(dso_table__len(&dsos) <= 1); /* the vdso */
	process_table__done(&table);
}

static void a_forgotten_file_is_not_recalled(void **state)
{
	struct dso_sighting s = sighting(0);
	uint32_t a;

	s.time = 5;
	assert_int_equal(dso_table__see(&dsos, &s, &a), 0);
	sweep(UINT32_MAX);
	assert_int_equal(dso_table__see(&dsos, &s, &a), 0);
	sweep(UINT32_MAX);
	sweep(UINT32_MAX);
	assert_int_equal(dso_table__len(&dsos), 0);
	assert_int_equal(see(1), a);
	assert_int_equal(dso_table__see(&dsos, &s, &a), 0);
	assert_string_equal(dsos.dsos.data[a].path, paths[0]);
}

static void a_sweep_is_due_when_there_are_twice_as_many(void **state)
{
	const uint64_t sec = 1000000000;
	uint32_t i;

	assert_int_equal(dsos.sweep_at, DSO_SWEEP_MIN);
	dsos.sweep_at = FILES;
	for (i = 0; i < FILES - 1; i++)
		see(i);
	assert_false(dso_table__sweep_due(&dsos, 5 * sec));
	see(i);
	assert_true(dso_table__sweep_due(&dsos, 5 * sec));
	dso_table__sweep(&dsos, 5 * sec);
	assert_int_equal(dsos.sweep_at, DSO_SWEEP_MIN);
	dsos.sweep_at = FILES;
	assert_false(dso_table__sweep_due(&dsos, 5 * sec + sec / 2));
	assert_true(dso_table__sweep_due(&dsos, 6 * sec));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(idle_files_leave_half_of_the_descriptors, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_hit_takes_the_descriptor_of_an_idle_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_hit_that_could_not_open_is_followed_by_others,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_living_process_cannot_show_is_given_up,
						setup, teardown),
		cmocka_unit_test_setup_teardown(another_path_of_one_file_is_the_same, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_of_another_generation_is_not_opened, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_nothing_needs_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(what_processes_have_mapped_is_needed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_forgotten_file_is_not_recalled, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sweep_is_due_when_there_are_twice_as_many, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_can_not_be_told_apart_has_no_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_record_is_of_the_file_that_was_seen_when_it_was_foreseen, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
