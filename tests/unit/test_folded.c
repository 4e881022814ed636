// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/output.h"
#include "output/output_file.h"
#include "profile/profile.h"
#include "profile/resolve.h"

struct fixture {
	struct profile *p;
	struct name of_frame[64];
	struct names names;
	struct output_opts opts;
};

static void start(struct fixture *f, struct profile_opts opts)
{
	memset(f, 0, sizeof(*f));
	f->p = profile__new(&opts);
	f->opts.by_pid = opts.by_pid;
	f->opts.by_tid = opts.by_tid;
	f->names.of_frame = f->of_frame;
}

/* A frame whose name is given; its index. */
static uint32_t frame(struct fixture *f, struct name name)
{
	struct frame fr = { .kind = FRAME_KERNEL, .off = f->p->frames.len };
	uint32_t i;

	assert_int_equal(profile__frame(f->p, &fr, &i), 0);
	f->of_frame[i] = name;
	return i;
}

static uint32_t sym(struct fixture *f, const char *name)
{
	return frame(f, (struct name){ .name = name, .reason = NAME_SYMBOL });
}

static void add(struct fixture *f, const char *comm, int nr_kernel, int nr_user, uint8_t flags,
		const uint32_t *frames)
{
	struct stack key = { .comm = comm,
			     .pid = 12,
			     .tid = 34,
			     .nr_kernel = nr_kernel,
			     .nr_user = nr_user,
			     .flags = flags };

	assert_int_equal(profile__add(f->p, &key, frames), 0);
}

/* Writes, compares, and frees. */
static void expect(struct fixture *f, const char *want)
{
	struct output_input in = { .profile = f->p, .names = &f->names, .opts = &f->opts };
	struct output_result result = { 0 };
	char *text = NULL, *why = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(output_folded.write(NULL, &in, out, &result, &why), 0);
	fclose(out);
	assert_string_equal(text, want);
	assert_int_equal(result.samples, f->p->samples);
	free(text);
	profile__free(f->p);
}

static void root_to_leaf_user_then_kernel(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	/* Leaf first, as sampled. */
	uint32_t frames[] = { sym(&f, "kleaf"), sym(&f, "kroot"), sym(&f, "leaf"),
			      sym(&f, "main") };

	add(&f, "prog", 2, 2, 0, frames);
	add(&f, "prog", 2, 2, 0, frames);
	expect(&f, "prog;main;leaf;kroot;kleaf 2\n");
}

static void escapes_what_breaks_the_format(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	uint32_t frames[] = { sym(&f, "a;b\\c\nd\x7f \xff\xc3\xa4\xe2\x82\xac\xc0\x80") };

	add(&f, "x;y\t", 0, 1, 0, frames);
	expect(&f, "x\\x3by\\x09;a\\x3bb\\\\c\\x0ad\\x7f \\xff\xc3\xa4\xe2\x82\xac\\xc0\\x80 1\n");
}

static void utf8_at_its_edges(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	/* Overlong, surrogate, over U+10FFFF, cut short; U+10FFFF itself. */
	uint32_t frames[] = { sym(
		&f, "\xe0\x80\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xf4\x8f\xbf\xbf|\xe2\x82") };

	add(&f, "", 0, 1, 0, frames);
	expect(&f, ";\\xe0\\x80\\x80|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80|\xf4\x8f\xbf\xbf|"
		   "\\xe2\\x82 1\n");
}

static void what_is_no_symbol_stands_in_brackets(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	uint32_t frames[] = {
		frame(&f, (struct name){ .reason = NAME_NO_SYMBOL,
					 .module = "kernel",
					 .kernel = true }),
		frame(&f, (struct name){ .reason = NAME_NO_SYMBOL, .module = "/usr/lib/lib;x.so" }),
		frame(&f, (struct name){ .reason = NAME_NO_SYMBOL, .module = "[vdso]" }),
		frame(&f, (struct name){ .reason = NAME_NO_MAPPING }),
		frame(&f, (struct name){ .reason = NAME_ANON }),
		frame(&f, (struct name){ .reason = NAME_VSYSCALL }),
		sym(&f, "[unknown]"),
	};

	add(&f, "c", 1, 6, 0, frames);
	expect(&f,
	       "c;\\x5bunknown];[vsyscall];[anon];[unknown];[vdso];[lib\\x3bx.so];[kernel] 1\n");
}

static void jit_code_and_why_it_has_no_name(void **state)
{
	for (int annotate = 0; annotate < 2; annotate++) {
		struct fixture f;

		start(&f, (struct profile_opts){ 0 });
		f.opts.annotate = annotate;
		uint32_t frames[] = {
			frame(&f, (struct name){ .name = "f;_[j]",
						 .reason = NAME_SYMBOL,
						 .jit = true }),
			frame(&f, (struct name){ .reason = NAME_JIT_NO_MARKER, .jit = true }),
			frame(&f, (struct name){ .reason = NAME_JIT_REFUSED, .jit = true }),
			frame(&f, (struct name){ .reason = NAME_JIT_NO_ENTRY, .jit = true }),
			frame(&f, (struct name){ .reason = NAME_JIT_NAMELESS, .jit = true }),
			frame(&f, (struct name){ .reason = NAME_ANON }),
		};

		add(&f, "c", 0, 6, 0, frames);
		expect(&f, annotate ? "c;[anon];[jit]_[j];[jit: no entry]_[j];[jit: refused]_[j];"
				      "[jit: no marker]_[j];f\\x3b_\\x5bj]_[j] 1\n"
				    : "c;[anon];[jit];[jit: no entry];[jit: refused];"
				      "[jit: no marker];f\\x3b_[j] 1\n");
	}
}

static void annotation_is_no_part_of_a_name(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	f.opts.annotate = true;
	uint32_t frames[] = {
		frame(&f,
		      (struct name){ .name = "sys_read", .reason = NAME_SYMBOL, .kernel = true }),
		sym(&f, "evil_[k]"),
	};

	add(&f, "c", 1, 1, 0, frames);
	expect(&f, "c;evil_\\x5bk];sys_read_[k] 1\n");
}

static void cut_stacks_say_so(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	uint32_t frames[] = { sym(&f, "k"), sym(&f, "u") };

	add(&f, "c", 1, 1, STACK_USER_TRUNCATED | STACK_KERNEL_TRUNCATED, frames);
	add(&f, "c", 1, 1, 0, frames);
	expect(&f, "c;[truncated];u;[truncated];k 1\nc;u;k 1\n");
}

static void equal_texts_are_one_line(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	uint32_t a[] = { sym(&f, "same") }, b[] = { sym(&f, "same") };

	add(&f, "c", 0, 1, 0, a);
	add(&f, "c", 0, 1, 0, b);
	add(&f, "c", 1, 0, 0, b);
	expect(&f, "c;same 3\n");
}

static void sorted_as_sort_does(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ 0 });
	uint32_t a[] = { sym(&f, "a") }, a_bang[] = { sym(&f, "a !") }, ab[] = { sym(&f, "b"), 0 },
		 umlaut[] = { sym(&f, "\xc3\xa4") };

	add(&f, "c", 0, 1, 0, umlaut);
	add(&f, "c", 0, 2, 0, ab);
	add(&f, "c", 0, 1, 0, a);
	add(&f, "c", 0, 1, 0, a_bang);
	add(&f, "b", 0, 0, 0, NULL);
	/* Byte order of the whole lines: "c;a !..." before "c;a 1". */
	expect(&f, "b 1\nc;a ! 1\nc;a 1\nc;a;b 1\nc;\xc3\xa4 1\n");
}

static void pid_and_tid_stand_beside_the_comm(void **state)
{
	struct fixture f;

	start(&f, (struct profile_opts){ .by_pid = true });
	add(&f, "c", 0, 0, 0, NULL);
	expect(&f, "c-12 1\n");
	start(&f, (struct profile_opts){ .by_tid = true });
	add(&f, "c", 0, 0, 0, NULL);
	expect(&f, "c-12/34 1\n");
}

static char dir[] = "/tmp/ebolt-test-XXXXXX";

static void path_in_dir(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s/%s", dir, name);
}

static int files_in_dir(void)
{
	char command[128];
	int n = -1;
	FILE *f;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void a_file_appears_whole(void **state)
{
	struct output_file *of;
	char path[128], text[16] = { 0 };
	FILE *f;

	path_in_dir(path, sizeof(path), "out");
	for (int round = 0; round < 2; round++) { /* new, then over the old one */
		assert_int_equal(output_file__open(path, &of), 0);
		fprintf(output_file__stream(of), "round %d", round);
		assert_int_equal(files_in_dir(), round);
		assert_int_equal(output_file__commit(of), 0);
		output_file__close(of);
		assert_int_equal(files_in_dir(), 1);
	}
	f = fopen(path, "r");
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "round 1");
	unlink(path);
}

static void an_abandoned_file_leaves_nothing(void **state)
{
	struct output_file *of;
	char path[128];

	path_in_dir(path, sizeof(path), "out");
	assert_int_equal(output_file__open(path, &of), 0);
	fputs("half", output_file__stream(of));
	output_file__close(of);
	assert_int_equal(files_in_dir(), 0);
}

static void a_link_keeps_pointing(void **state)
{
	struct output_file *of;
	char path[128], link[128];
	struct stat st;

	path_in_dir(path, sizeof(path), "target");
	path_in_dir(link, sizeof(link), "link");
	close(open(path, O_CREAT | O_WRONLY, 0644));
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(output_file__open(link, &of), 0);
	fputs("through", output_file__stream(of));
	assert_int_equal(output_file__commit(of), 0);
	output_file__close(of);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 7);
	unlink(link);
	unlink(path);
}

static void a_full_disk_is_an_error(void **state)
{
	struct output_file *of;

	assert_int_equal(output_file__open("/dev/full", &of), 0);
	fputs("x", output_file__stream(of));
	assert_int_equal(output_file__commit(of), -ENOSPC);
	output_file__close(of);
}

static void a_directory_is_an_error(void **state)
{
	struct output_file *of;

	assert_int_equal(output_file__open(dir, &of), -EISDIR);
	assert_int_equal(output_file__open("/no/such/dir/x", &of), -ENOENT);
}

static void formats_by_name_and_ending(void **state)
{
	assert_ptr_equal(output_format__by_name("folded:x", 6), &output_folded);
	assert_null(output_format__by_name("folde", 5));
	assert_ptr_equal(output_format__by_path("a/b.folded"), &output_folded);
	assert_ptr_equal(output_format__by_path("b.fdata"), &output_fdata);
	assert_null(output_format__by_path(".folded"));
	assert_null(output_format__by_path("x.svgz"));
}

static ssize_t too_large(void *cookie, const char *data, size_t size)
{
	errno = EFBIG;
	return 0;
}

/* The write that fails is one of many, and the stream itself forgets why. */
static void a_failed_write_says_why(void **state)
{
	struct fixture f;
	struct output_input in = { .names = &f.names, .opts = &f.opts };
	struct output_result result = { 0 };
	char *why = NULL, comm[16], buffer[64];
	FILE *out;

	start(&f, (struct profile_opts){ 0 });
	in.profile = f.p;
	for (int i = 0; i < 26; i++) {
		snprintf(comm, sizeof(comm), "program-%c", 'a' + i);
		add(&f, comm, 0, 1, 0, (uint32_t[]){ sym(&f, "main") });
	}
	out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = too_large });
	assert_int_equal(setvbuf(out, buffer, _IOFBF, sizeof(buffer)), 0);
	assert_int_equal(output_folded.write(NULL, &in, out, &result, &why), -EFBIG);
	assert_true(ferror(out));
	fclose(out);
	profile__free(f.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_to_leaf_user_then_kernel),
		cmocka_unit_test(escapes_what_breaks_the_format),
		cmocka_unit_test(utf8_at_its_edges),
		cmocka_unit_test(what_is_no_symbol_stands_in_brackets),
		cmocka_unit_test(jit_code_and_why_it_has_no_name),
		cmocka_unit_test(annotation_is_no_part_of_a_name),
		cmocka_unit_test(cut_stacks_say_so),
		cmocka_unit_test(equal_texts_are_one_line),
		cmocka_unit_test(sorted_as_sort_does),
		cmocka_unit_test(pid_and_tid_stand_beside_the_comm),
		cmocka_unit_test(a_file_appears_whole),
		cmocka_unit_test(an_abandoned_file_leaves_nothing),
		cmocka_unit_test(a_link_keeps_pointing),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(a_failed_write_says_why),
		cmocka_unit_test(a_directory_is_an_error),
		cmocka_unit_test(formats_by_name_and_ending),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
