// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "object/proc_maps.h"

static void expect_path(const struct proc_maps_entry *e, const char *path)
{
	assert_int_equal(e->path_len, strlen(path));
	assert_memory_equal(e->path, path, e->path_len);
}

static void reads_lines(void **state)
{
	static const char text[] =
		"55d0c8a2f000-55d0c8b0f000 r-xp 0002f000 08:1f 393302      /usr/bin/bash\n"
		"7f1c2a400000-7f1c2a422000 rw-s ffffffff000 fff:fffff 18446744073709551615 /a b  "
		"c\\012"
		" (deleted)\n"
		"7f1c2a600000-7f1c2a601000 ---p 00000000 00:00 0 \n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]";
	struct proc_maps_entry e;
	struct proc_maps pm;

	proc_maps__init(&pm, text, strlen(text));
	assert_true(proc_maps__next(&pm, &e));
	assert_int_equal(e.start, 0x55d0c8a2f000);
	assert_int_equal(e.end, 0x55d0c8b0f000);
	assert_true(e.r && !e.w && e.x && !e.shared);
	assert_int_equal(e.pgoff, 0x2f000);
	assert_int_equal(e.maj, 8);
	assert_int_equal(e.min, 0x1f);
	assert_int_equal(e.ino, 393302);
	expect_path(&e, "/usr/bin/bash");
	assert_true(proc_maps__next(&pm, &e));
	assert_true(e.r && e.w && !e.x && e.shared);
	assert_int_equal(e.pgoff, 0xffffffff000);
	assert_int_equal(e.maj, 0xfff);
	assert_int_equal(e.min, 0xfffff);
	assert_int_equal(e.ino, UINT64_MAX);
	expect_path(&e, "/a b  c\\012 (deleted)");
	assert_true(proc_maps__next(&pm, &e));
	assert_true(!e.r && !e.w && !e.x && !e.shared);
	expect_path(&e, "");
	assert_true(proc_maps__next(&pm, &e));
	assert_int_equal(e.end, 0xffffffffff601000);
	expect_path(&e, "[vsyscall]");
	assert_false(proc_maps__next(&pm, &e));
	assert_int_equal(pm.bad_lines, 0);
}

static void counts_bad_lines(void **state)
{
	static const char *const bad[] = {
		"",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xq 0 0:0 0",
		"1000-2000 r-Xp 0 0:0 0",
		"1000-2000 r-xp 0 0:0",
		"1000-2000 r-xp 0 0:0 0x",
		"1000-2000 r-xp  0 0:0 0",
		"2000-2000 r-xp 0 0:0 0",
		"2000-1000 r-xp 0 0:0 0",
		"10000000000000000-20000000000000000 r-xp 0 0:0 0",
		"1000-2000 r-xp 0 100000000:0 0",
		"1000-2000 r-xp 0 0:0 18446744073709551616",
		"1000-2000 r-xp 0 0:0 f",
		"zz-2000 r-xp 0 0:0 0",
	};
	struct proc_maps_entry e;
	struct proc_maps pm;
	struct buf text;

	buf__init(&text, 65536);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		buf__printf(&text, "%s\n1000-2000 r-xp 0 0:0 %zu\n", bad[i], i);
	proc_maps__init(&pm, text.data, text.len);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(proc_maps__next(&pm, &e));
		assert_int_equal(e.ino, i);
		assert_int_equal(pm.bad_lines, i + 1);
	}
	assert_false(proc_maps__next(&pm, &e));
	buf__done(&text);
}

/* This process, with a file mapped that has an awkward name: against stat() and mmap(). */
static void agrees_with_the_kernel(void **state)
{
	char path[] = "/tmp/ebolt maps\n (deleted) XXXXXX", shown[128];
	int fd = mkstemp(path);
	struct proc_maps_entry e;
	struct proc_maps pm;
	struct buf text;
	struct stat st;
	bool found = false, code = false;
	char *at;

	assert_int_equal(ftruncate(fd, 3 * 4096), 0);
	assert_int_equal(fstat(fd, &st), 0);
	at = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 4096);
	assert_true(at != MAP_FAILED);
	buf__init(&text, 16 << 20);
	assert_int_equal(buf__read_path(&text, "/proc/self/maps"), 0);
	snprintf(shown, sizeof(shown), "/tmp/ebolt maps\\012%s", strchr(path, '\n') + 1);
	proc_maps__init(&pm, text.data, text.len);
	while (proc_maps__next(&pm, &e)) {
		uint64_t here = (uintptr_t)agrees_with_the_kernel;

		code |= here >= e.start && here < e.end && e.r && e.x && !e.w;
		if (e.start != (uintptr_t)at)
			continue;
		found = true;
		assert_int_equal(e.end - e.start, 8192);
		assert_int_equal(e.pgoff, 4096);
		assert_true(e.r && !e.w && !e.x && e.shared);
		assert_int_equal(e.ino, st.st_ino);
		expect_path(&e, shown);
	}
	assert_int_equal(pm.bad_lines, 0);
	assert_true(found);
	assert_true(code);
	munmap(at, 8192);
	unlink(path);
	close(fd);
	buf__done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines),
		cmocka_unit_test(counts_bad_lines),
		cmocka_unit_test(agrees_with_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
