// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that grow between polls whose times are stated here, and samples that wait for them. The
 * process is this one: its /tmp and its users are asked for.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "jitdump_builder.h"
#include "proc/jit_files.h"
#include "proc/jit_message.h"
#include "profile/jit_wait.h"

#define S 1000000000ull

static struct profile *profile;
static struct dso_table dsos;
static struct jit_files *files;
static struct jit_wait jit_wait;
static struct jit_space *space;
static struct jitdump_builder b;
static int fd;
static size_t written;
static char map_path[64];

static int setup(void **state)
{
	profile = profile__new(&(struct profile_opts){ 0 });
	assert_int_equal(dso_table__init(&dsos), 0);
	files = jit_files__new(&dsos, true);
	assert_non_null(files);
	jit_wait__init(&jit_wait, profile, files, true);
	space = jit_files__space(files, getpid(), 0);
	assert_non_null(space);
	jb__init(&b, false);
	fd = -1;
	written = 0;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	return 0;
}

static int teardown(void **state)
{
	unlink(map_path);
	jb__done(&b);
	jit_wait__done(&jit_wait);
	jit_files__free(files);
	dso_table__done(&dsos);
	profile__free(profile);
	return 0;
}

/* A file that never had a name. The table closes it. */
static uint32_t new_dump(void)
{
	struct dso d = { .kind = DSO_FILE, .path = strdup("/tmp/jit-1.dump"), .jit_marker = true };

	d.fd = fd = memfd_create("jit-1.dump", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(vec_push(&dsos.dsos, d), 0);
	return dsos.dsos.len - 1;
}

static void open_dump(void)
{
	jit_files__mapped(files, space, new_dump());
}

/* What was built since, up to `cut` bytes before its end. */
static void flush_but(size_t cut)
{
	size_t n = b.out.len - cut - written;

	assert_int_equal(pwrite(fd, b.out.data + written, n, written), n);
	written += n;
}

static const char *at(uint64_t time, uint64_t addr)
{
	static struct jit_hit hit;

	return jit_space__lookup(space, time, addr, 0, &hit) ? hit.name : "";
}

static void a_dump_is_read_as_it_grows(void **state)
{
	open_dump();
	jit_files__poll(files, 10 * S);
	assert_int_equal(jit_space__settled(space), 9 * S);
	jb__header(&b);
	jb__load(&b, 10 * S + 1, 0x1000, 0x40, "f");
	jb__load(&b, 10 * S + 2, 0x2000, 0x40, "g");
	flush_but(10);
	/* Without samples it is looked at less often. */
	jit_files__poll(files, 10 * S + 4);
	assert_int_equal(files->stats.bytes, 0);
	space->sampled = true;
	jit_files__poll(files, 10 * S + 5);
	assert_string_equal(at(10 * S + 1, 0x1000), "f");
	assert_string_equal(at(10 * S + 1, 0x2000), "");
	assert_int_equal(jit_space__settled(space), 10 * S + 1);
	flush_but(0);
	jit_files__poll(files, 10 * S + 6);
	assert_string_equal(at(10 * S + 2, 0x2000), "g");
	assert_int_equal(jit_space__settled(space), 10 * S + 2);
	/* Each byte once. */
	assert_int_equal(files->stats.bytes, b.out.len);
	/* Who says nothing is not waited for any longer. */
	jit_files__poll(files, 20 * S);
	assert_int_equal(jit_space__settled(space), 19 * S);
}

static void zeros_are_waited_at(void **state)
{
	open_dump();
	jb__header(&b);
	jb__load(&b, S, 0x1000, 0x40, "f");
	flush_but(0);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	for (uint64_t i = 0; i < 10; i++)
		jit_files__poll(files, (2 + i) * S);
	assert_string_equal(at(S, 0x1000), "f");
	assert_true(files->stats.bytes < 1 << 20);
	jb__load(&b, 20 * S, 0x2000, 0x40, "g");
	flush_but(0);
	jit_files__poll(files, 30 * S);
	assert_string_equal(at(30 * S, 0x2000), "g");
	assert_int_equal(files->stats.spoilt, 0);
}

static void what_shrinks_begins_again(void **state)
{
	open_dump();
	jb__header(&b);
	jb__load(&b, S, 0x1000, 0x40, "f");
	flush_but(0);
	jit_files__poll(files, 2 * S);
	assert_int_equal(ftruncate(fd, 0), 0);
	jit_files__poll(files, 3 * S);
	buf__clear(&b.out);
	written = 0;
	jb__header(&b);
	jb__load(&b, 4 * S, 0x2000, 0x40, "g");
	flush_but(0);
	jit_files__poll(files, 5 * S);
	assert_string_equal(at(5 * S, 0x1000), "f");
	assert_string_equal(at(5 * S, 0x2000), "g");
}

static void an_end_is_read_to_the_end(void **state)
{
	open_dump();
	jb__header(&b);
	jit_files__poll(files, S);
	jb__load(&b, S, 0x1000, 0x40, "f");
	flush_but(0);
	assert_null(jit_files__next_complete(files));
	jit_space__end(space, S);
	jit_files__poll(files, S + 1);
	assert_ptr_equal(jit_files__next_complete(files), space);
	assert_int_equal(jit_space__settled(space), UINT64_MAX);
	assert_string_equal(at(S, 0x1000), "f");
	jit_files__forget(files, space);
	assert_null(jit_files__next_complete(files));
}

static void a_child_inherits_and_goes_on(void **state)
{
	struct jit_space *child, *parent = space;

	open_dump();
	jb__header(&b);
	jb__load(&b, S, 0x1000, 0x40, "f");
	flush_but(0);
	jit_files__poll(files, 2 * S);
	child = jit_files__fork(files, parent, getpid(), 2 * S);
	assert_non_null(child);
	jb__load(&b, 3 * S, 0x1000, 0x40, "g");
	flush_but(0);
	jit_files__poll(files, 4 * S);
	assert_string_equal(at(4 * S, 0x1000), "g");
	jit_files__forget(files, parent);
	space = child;
	assert_string_equal(at(4 * S, 0x1000), "f");
}

static void older_code_is_hidden_by_a_later_mapping(void **state)
{
	struct jit_hit hit;

	open_dump();
	jb__header(&b);
	jb__load(&b, S, 0x1000, 0x40, "f");
	flush_but(0);
	jit_files__poll(files, 2 * S);
	assert_true(jit_space__lookup(space, 5 * S, 0x1000, S, &hit));
	assert_false(jit_space__lookup(space, 5 * S, 0x1000, S + 1, &hit));
}

static bool message(const char *part)
{
	struct jit_message m;
	struct buf text;
	bool found;

	if (!jit_files__message(files, &m))
		return false;
	buf__init(&text, 4096);
	jit_message__format(&m, &text);
	found = strstr(text.data, part) && jit_message__is_warning(&m);
	buf__done(&text);
	return found;
}

static void what_is_wrong_is_said_once(void **state)
{
	open_dump();
	jb__header(&b);
	jb__load(&b, S, 0x1000, 0x40, "f");
	jb__zeros(&b, 4);
	buf__append(&b.out, "\1\0\0\0garbage\n", 12);
	jb__load(&b, S, 0x2000, 0x40, "g");
	flush_but(0);
	for (int i = 0; i < 3; i++)
		jit_files__poll(files, (2 + i) * S);
	assert_string_equal(at(2 * S, 0x1000), "f");
	assert_string_equal(at(2 * S, 0x2000), "");
	assert_int_equal(files->stats.spoilt, 1);
	assert_true(message("size"));
	assert_false(message(""));
	/* A file that is mapped again is known. */
	jit_files__mapped(files, space, 0);
	assert_int_equal(space->dumps.len, 1);
}

static void of_many_dumps_the_first_are_read(void **state)
{
	for (int i = 0; i < JIT_SPACE_DUMPS + 4; i++)
		open_dump();
	assert_int_equal(space->dumps.len, JIT_SPACE_DUMPS);
	assert_int_equal(files->stats.refused, 4);
	assert_true(message("too many"));
	assert_false(message(""));
}

static void another_s_dump_is_refused(void **state)
{
	uint32_t dso = new_dump();

	if (geteuid())
		skip();
	assert_int_equal(fchown(fd, 12345, 12345), 0);
	jit_files__mapped(files, space, dso);
	assert_int_equal(files->stats.refused, 1);
	assert_true(message("owned"));
	assert_int_equal(jit_space__why(space, S), JIT_WHY_REFUSED);
}

static void a_library_of_that_name_is_none(void **state)
{
	uint32_t dso = new_dump();

	assert_int_equal(pwrite(fd, "\177ELF", 4, 0), 4);
	jit_files__mapped(files, space, dso);
	assert_int_equal(files->stats.refused, 0);
	assert_false(message(""));
	assert_false(jit_space__has_code(space));
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void append_map(const char *text)
{
	FILE *f = fopen(map_path, "a");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_map_has_the_times_of_its_readings(void **state)
{
	jit_files__poll(files, S);
	assert_int_equal(jit_space__settled(space), UINT64_MAX);
	append_map("1000 40 f\n");
	jit_files__poll(files, 10 * S);
	assert_string_equal(at(S, 0x1000), "f");
	jit_files__poll(files, 20 * S);
	assert_int_equal(jit_space__settled(space), 20 * S);
	append_map("1000 40 g\n2000 40 unfin");
	jit_files__poll(files, 30 * S);
	/* The first was there at 20, and the second at 30. */
	assert_string_equal(at(20 * S - 1, 0x1000), "f");
	assert_string_equal(at(20 * S, 0x1000), "g");
	assert_string_equal(at(20 * S, 0x2000), "");
	append_map("ished\n3000 40 last");
	jit_space__end(space, 40 * S);
	jit_files__poll(files, 40 * S);
	assert_string_equal(at(40 * S, 0x2000), "unfinished");
	assert_string_equal(at(40 * S, 0x3000), "last");
}

static void a_map_that_is_replaced_is_read_anew(void **state)
{
	append_map("1000 40 f\n");
	jit_files__poll(files, 10 * S);
	unlink(map_path);
	append_map("2000 40 g\n");
	jit_files__poll(files, 20 * S);
	assert_string_equal(at(20 * S, 0x1000), "f");
	assert_string_equal(at(20 * S, 0x2000), "g");
	assert_int_equal(truncate(map_path, 0), 0);
	append_map("3000 40 h\n");
	jit_files__poll(files, 30 * S);
	assert_string_equal(at(30 * S, 0x3000), "h");
}

static void what_is_no_file_of_the_process_is_no_map(void **state)
{
	assert_int_equal(symlink("/etc/passwd", map_path), 0);
	jit_files__poll(files, 10 * S);
	assert_true(message("link"));
	unlink(map_path);
	assert_int_equal(mkfifo(map_path, 0666), 0);
	jit_files__poll(files, 20 * S);
	assert_true(message("regular"));
	unlink(map_path);
	assert_int_equal(files->stats.refused, 2);
	/* It may come yet. */
	append_map("1000 40 f\n");
	jit_files__poll(files, 30 * S);
	assert_string_equal(at(30 * S, 0x1000), "f");
}

static void a_map_of_the_image_before_is_not_read(void **state)
{
	append_map("1000 40 f\n");
	usleep(50000);
	space = jit_files__space(files, getpid(), clock__now());
	assert_non_null(space);
	jit_files__poll(files, 10 * S);
	assert_string_equal(at(S, 0x1000), "");
	assert_true(message("exec"));
	append_map("2000 40 g\n");
	jit_files__poll(files, 20 * S);
	assert_string_equal(at(S, 0x2000), "g");
}

static void at_an_exec_the_next_image_s_map_is_not_opened(void **state)
{
	jit_files__poll(files, S);
	append_map("1000 40 f\n");
	space->replaced = true;
	jit_space__end(space, 10 * S);
	jit_files__poll(files, 10 * S);
	assert_string_equal(at(S, 0x1000), "");
	assert_true(space->complete);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* start: of the mapping that addr lies in. */
static void sample_in(uint64_t time, uint64_t addr, uint32_t native, uint64_t start)
{
	struct stack key = { .comm = "x", .nr_kernel = 1, .nr_user = 1 };
	struct jit_frame user = { .addr = addr, .native = native, .start = start };
	struct frame kernel = { .kind = FRAME_KERNEL, .off = 7 };
	uint32_t k;

	assert_int_equal(profile__frame(profile, &kernel, &k), 0);
	assert_int_equal(jit_wait__add(&jit_wait, space, time, &key, &k, &user), 0);
}

static void sample(uint64_t time, uint64_t addr, uint32_t native)
{
	sample_in(time, addr, native, 0);
}

static const struct frame *frame_of(size_t stack)
{
	const struct stack *s = &profile->stacks.data[stack];

	assert_int_equal(profile->frames.data[profile__stack_frames(profile, s)[0]].off, 7);
	return &profile->frames.data[profile__stack_frames(profile, s)[1]];
}

static void a_sample_waits_for_a_newer_record(void **state)
{
	open_dump();
	jb__header(&b);
	jb__load(&b, S, 0x1000, 0x40, "f");
	flush_but(0);
	jit_files__poll(files, 2 * S);
	sample(2 * S, 0x1000, JIT_FRAME_ANON);
	sample(3 * S, 0x1000, JIT_FRAME_ANON);
	assert_int_equal(profile->samples, 0);
	jb__load(&b, 2 * S + 5, 0x1000, 0x40, "g");
	flush_but(0);
	jit_files__poll(files, 3 * S);
	jit_wait__settle(&jit_wait);
	assert_int_equal(profile->samples, 1);
	assert_string_equal(frame_of(0)->name, "f");
	assert_true(frame_of(0)->named_jit);
	/* None came, for as long as a sample waits. */
	jit_files__poll(files, 3 * S + JIT_WAIT_NS);
	jit_wait__settle(&jit_wait);
	assert_int_equal(profile->samples, 2);
	assert_string_equal(frame_of(1)->name, "g");
}

static void what_is_told_at_the_end_names_what_was_counted(void **state)
{
	jit_files__poll(files, S);
	sample(S, 0x1000, JIT_FRAME_ANON);
	sample(2 * S, 0x1000, JIT_FRAME_ANON);
	sample(2 * S, 0x2000, JIT_FRAME_ANON);
	assert_int_equal(profile->samples, 3);
	assert_int_equal(profile->stacks.len, 2);
	assert_int_equal(frame_of(0)->reason, UNKNOWN_ANON);
	append_map("1000 40 f\n");
	jit_space__end(space, 3 * S);
	jit_files__poll(files, 3 * S);
	jit_wait__settle(&jit_wait);
	assert_int_equal(files->spaces.len, 0);
	assert_string_equal(frame_of(0)->name, "f");
	assert_int_equal(frame_of(1)->kind, FRAME_UNKNOWN);
	assert_int_equal(frame_of(1)->reason, UNKNOWN_JIT_NO_ENTRY);
	assert_int_equal(jit_wait.nr_unnamed, 0);
}

static void a_recording_ends_before_the_process(void **state)
{
	jit_files__poll(files, S);
	sample(S, 0x1000, JIT_FRAME_ANON);
	append_map("1000 40 f\n2000 40 unfin");
	jit_files__poll_last(files);
	jit_wait__settle(&jit_wait);
	assert_string_equal(frame_of(0)->name, "f");
	/* It is being written: half a line is no name. */
	assert_string_equal(at(2 * S, 0x2000), "");
	/* Its process has it still, until that is forgotten too. */
	assert_int_equal(files->spaces.len, 1);
	jit_space__end(space, 2 * S);
}

static void addresses_without_a_name_are_bounded(void **state)
{
	size_t frames;

	for (uint64_t i = 0; i < JIT_SPACE_UNNAMED; i++)
		sample(S, 0x1000 + i, JIT_FRAME_ANON);
	frames = profile->frames.len;
	for (uint64_t i = 0; i < 1000; i++)
		sample(S, 0x100000 + i, JIT_FRAME_ANON);
	assert_int_equal(profile->frames.len, frames + 1);
	assert_int_equal(jit_wait.unkept, 1000);
	assert_int_equal(profile->samples, JIT_SPACE_UNNAMED + 1000);
	/* What is known goes on. */
	sample(S, 0x1000, JIT_FRAME_ANON);
	assert_int_equal(jit_wait.unkept, 1000);
}

static void what_is_native_stays_unless_it_is_told_of(void **state)
{
	struct frame native = { .kind = FRAME_NATIVE, .dso = 3, .off = 99 };
	uint32_t n;

	assert_int_equal(profile__frame(profile, &native, &n), 0);
	append_map("1000 40 f\n");
	jit_files__poll(files, S);
	sample(S, 0x1000, n);
	sample(S, 0x2000, n);
	sample(S, 0x3000, JIT_FRAME_NO_MAPPING);
	assert_string_equal(frame_of(0)->name, "f");
	assert_int_equal(frame_of(1)->off, 99);
	assert_int_equal(frame_of(2)->reason, UNKNOWN_NO_MAPPING);
}

/* A line whose size has another line's digits behind it. */
static void what_begins_outside_of_a_file_is_not_its_code(void **state)
{
	struct frame native = { .kind = FRAME_NATIVE, .dso = 3, .off = 99 };
	uint32_t n;

	assert_int_equal(profile__frame(profile, &native, &n), 0);
	append_map("4000 7f0000000040 torn\n");
	jit_files__poll(files, S);
	sample_in(S, 0x5010, n, 0x5000);
	sample_in(S, 0x4010, n, 0x4000);
	assert_int_equal(frame_of(0)->off, 99);
	assert_string_equal(frame_of(1)->name, "torn");
}

static void what_begins_before_a_gap_is_not_its_code(void **state)
{
	append_map("4000 7f0000000040 torn\n");
	jit_files__poll(files, S);
	sample_in(S, 0x7010, JIT_FRAME_ANON, 0x7000);
	sample_in(S, 0x9010, JIT_FRAME_NO_MAPPING, 0x9000);
	sample_in(S, 0x4010, JIT_FRAME_ANON, 0x3000);
	assert_int_equal(frame_of(0)->kind, FRAME_UNKNOWN);
	assert_int_equal(frame_of(1)->reason, UNKNOWN_NO_MAPPING);
	assert_string_equal(frame_of(2)->name, "torn");
	/* Nor is it when it is asked again, at the end. */
	jit_space__end(space, 2 * S);
	jit_files__poll(files, 2 * S);
	jit_wait__settle(&jit_wait);
	assert_int_equal(frame_of(0)->reason, UNKNOWN_JIT_NO_ENTRY);
}

static void code_that_came_later_is_not_what_ran(void **state)
{
	struct frame native = { .kind = FRAME_NATIVE, .dso = 3, .off = 99 };
	uint32_t n;

	assert_int_equal(profile__frame(profile, &native, &n), 0);
	open_dump();
	jb__header(&b);
	jb__load(&b, 5 * S, 0x1000, 0x40, "f");
	flush_but(0);
	jit_files__poll(files, 10 * S);
	sample(S, 0x1000, n);
	sample(S, 0x1000, JIT_FRAME_ANON);
	sample(5 * S, 0x1000, n);
	assert_int_equal(frame_of(0)->off, 99);
	assert_string_equal(frame_of(1)->name, "f");
	assert_int_equal(profile->stacks.data[1].count, 2);
}

static void lines_and_empty_names(void **state)
{
	size_t at_debug;

	open_dump();
	jb__header(&b);
	at_debug = jb__debug(&b, S, 0x1000, 1);
	jb__entry(&b, 0x1000, 17, "a.js");
	jb__end(&b, at_debug);
	jb__load(&b, S, 0x1000, 0x40, "f");
	jb__load(&b, S, 0x2000, 0x40, "");
	flush_but(0);
	jit_files__poll(files, 2 * S);
	sample(S, 0x1010, JIT_FRAME_ANON);
	sample(S, 0x2010, JIT_FRAME_ANON);
	assert_string_equal(frame_of(0)->name, "f (a.js:17)");
	assert_int_equal(frame_of(1)->reason, UNKNOWN_JIT_NAMELESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dump_is_read_as_it_grows),
		TEST(zeros_are_waited_at),
		TEST(what_shrinks_begins_again),
		TEST(an_end_is_read_to_the_end),
		TEST(a_child_inherits_and_goes_on),
		TEST(older_code_is_hidden_by_a_later_mapping),
		TEST(what_is_wrong_is_said_once),
		TEST(of_many_dumps_the_first_are_read),
		TEST(another_s_dump_is_refused),
		TEST(a_library_of_that_name_is_none),
		TEST(a_map_has_the_times_of_its_readings),
		TEST(a_map_that_is_replaced_is_read_anew),
		TEST(what_is_no_file_of_the_process_is_no_map),
		TEST(a_map_of_the_image_before_is_not_read),
		TEST(at_an_exec_the_next_image_s_map_is_not_opened),
		TEST(a_sample_waits_for_a_newer_record),
		TEST(what_is_told_at_the_end_names_what_was_counted),
		TEST(a_recording_ends_before_the_process),
		TEST(addresses_without_a_name_are_bounded),
		TEST(what_is_native_stays_unless_it_is_told_of),
		TEST(what_begins_outside_of_a_file_is_not_its_code),
		TEST(what_begins_before_a_gap_is_not_its_code),
		TEST(code_that_came_later_is_not_what_ran),
		TEST(lines_and_empty_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
