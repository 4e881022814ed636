// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf_builder.h"
#include "output/fdata.h"
#include "output/output.h"
#include "proc/dso.h"
#include "profile/profile.h"

#define TEXT 0x2000 /* vaddr */

static const uint8_t id_one[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const uint8_t id_two[8] = { 8, 7, 6, 5, 4, 3, 2, 1 };

/* A binary as a file without a name: memfds are regular files, each of its own inode. */
struct binary {
	int fd;
	char path[64];
	uint64_t text; /* offset in the file */
	struct stat st;
};

/*
 * .text of 0x40 bytes: a gap of 0x10, main, a local "a b\" at 0x20. The segment begins 0x10 bytes
 * before .text and ends 0x10 after it. extra: zeros in the file before, for another layout.
 */
static struct binary binary__new(const void *id, size_t extra)
{
	const struct eb_sym syms[] = {
		{ "main", TEXT + 0x10, 8, STT_FUNC, STB_GLOBAL, 1 },
		{ "a b\\", TEXT + 0x20, 8, STT_FUNC, STB_LOCAL, 1 },
	};
	_cleanup_free_ struct elf_builder *eb = elf_builder__new(EM_X86_64);
	struct binary b = { .fd = memfd_create("binary", MFD_CLOEXEC) };

	elf_builder__append(eb, NULL, 0x100 + extra);
	elf_builder__text(eb, ".text", TEXT, 0x40);
	b.text = eb->shdrs[1].sh_offset;
	elf_builder__append(eb, NULL, 0x100);
	elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_LOAD,
					    .p_flags = PF_R | PF_X,
					    .p_offset = b.text - 0x10,
					    .p_vaddr = TEXT - 0x10,
					    .p_filesz = 0x60,
					    .p_memsz = 0x60 });
	if (id) {
		int note = elf_builder__build_id(eb, id, 8);

		elf_builder__phdr(eb, (Elf64_Phdr){ .p_type = PT_NOTE,
						    .p_offset = eb->shdrs[note].sh_offset,
						    .p_filesz = eb->shdrs[note].sh_size,
						    .p_align = 4 });
	}
	elf_builder__symbols(eb, SHT_SYMTAB, syms, ARRAY_SIZE(syms));
	elf_builder__finish(eb);
	assert_int_equal(write(b.fd, eb->bytes, eb->len), eb->len);
	assert_int_equal(fstat(b.fd, &b.st), 0);
	snprintf(b.path, sizeof(b.path), "/proc/self/fd/%d", b.fd);
	return b;
}

struct world {
	struct profile *profile;
	struct dso_table dsos;
	struct output_opts opts;
};

static struct world world__new(const struct binary *binary)
{
	const struct profile_opts opts = { 0 };
	struct world w = {
		.profile = profile__new(&opts),
		.opts = { .binary = binary->path, .event_name = "cpu-clock", .time_based = true }
	};

	assert_non_null(w.profile);
	assert_int_equal(dso_table__init(&w.dsos), 0);
	return w;
}

static void world__done(struct world *w)
{
	dso_table__done(&w->dsos);
	profile__free(w->profile);
}

/* The binary as it was seen mapped; its index. The path never counts. */
static uint32_t see(struct world *w, const struct binary *b)
{
	const struct dso dso = { .id = { .maj = major(b->st.st_dev),
					 .min = minor(b->st.st_dev),
					 .ino = b->st.st_ino },
				 .fd = dup(b->fd),
				 .path = strdup("/same/name") };

	assert_int_equal(vec_push(&w->dsos.dsos, dso), 0);
	return w->dsos.dsos.len - 1;
}

/* Samples whose leaf is here, called from `caller`; kernel: the interrupt hit the kernel. */
static void sample(struct world *w, uint32_t dso, uint64_t off, uint64_t caller, bool kernel, int n)
{
	const struct frame k = { .kind = FRAME_KERNEL, .off = 0xffffffff81000000 };
	const struct frame u = { .kind = FRAME_NATIVE, .dso = dso, .off = off };
	const struct frame c = { .kind = FRAME_NATIVE, .dso = dso, .off = caller };
	const struct stack key = { .comm = "x", .nr_kernel = kernel, .nr_user = 2 };
	uint32_t frames[3], *at = frames;

	if (kernel)
		assert_int_equal(profile__frame(w->profile, &k, at++), 0);
	assert_int_equal(profile__frame(w->profile, &u, at++), 0);
	assert_int_equal(profile__frame(w->profile, &c, at++), 0);
	while (n--)
		assert_int_equal(profile__add(w->profile, &key, frames), 0);
}

/* Prepares and writes. *ret_text (for the caller to free) is what was written. */
static int write_it(struct world *w, char **ret_text, struct output_result *ret, char **ret_why)
{
	const struct output_input in = { .profile = w->profile,
					 .dsos = &w->dsos,
					 .opts = &w->opts };
	void *state = NULL;
	size_t len;
	FILE *f;
	int err = output_fdata.prepare(&w->opts, &state, ret_why);

	assert_int_equal(err, 0);
	f = open_memstream(ret_text, &len);
	err = output_fdata.write(state, &in, f, ret, ret_why);
	output_fdata.free(state);
	fclose(f);
	return err;
}

static void check_written(struct world *w, const char *expected, uint64_t samples, const char *note)
{
	struct output_result result = { 0 };
	_cleanup_free_ char *text = NULL, *why = NULL;

	assert_int_equal(write_it(w, &text, &result, &why), 0);
	assert_string_equal(text, expected);
	assert_int_equal(result.samples, samples);
	assert_non_null(result.notes);
	if (!strstr(result.notes, note))
		fail_msg("\"%s\" doesn't say \"%s\"", result.notes, note);
	free(result.notes);
}

static void check_nothing(struct world *w, const char *because)
{
	struct output_result result = { 0 };
	_cleanup_free_ char *text = NULL, *why = NULL;

	assert_int_equal(write_it(w, &text, &result, &why), -ENODATA);
	assert_non_null(why);
	if (!strstr(why, because))
		fail_msg("\"%s\" doesn't say \"%s\"", why, because);
	assert_null(result.notes);
}

static void sums_and_sorts(void **state)
{
	struct binary b = binary__new(id_one, 0);
	struct world w = world__new(&b);
	uint32_t dso = see(&w, &b);

	/* Two stacks of one leaf; padding past main's size; callers don't count. */
	sample(&w, dso, b.text + 0x11, b.text + 0x20, false, 3);
	sample(&w, dso, b.text + 0x11, b.text + 0x30, false, 4);
	sample(&w, dso, b.text + 0x1f, b.text + 0x20, false, 1);
	sample(&w, dso, b.text + 0x3f, b.text + 0x10, false, 2);
	sample(&w, dso, b.text + 0x12, b.text + 0x20, true, 100);
	check_written(&w,
		      "no_lbr cycles\n"
		      "1 a\\ b\\\\/1 1f 2\n"
		      "1 main 1 7\n"
		      "1 main f 1\n",
		      10, "has no relocations");
	world__done(&w);
	close(b.fd);
}

/* One build-id, several inodes; one name and offset. */
static void adds_up_what_has_the_build_id(void **state)
{
	struct binary b = binary__new(id_one, 0), copy = binary__new(id_one, 0);
	struct binary other = binary__new(id_two, 0), moved = binary__new(id_one, 0x40);
	struct world w = world__new(&b);

	sample(&w, see(&w, &copy), b.text + 0x10, 0, false, 1);
	sample(&w, see(&w, &b), b.text + 0x10, 0, false, 2);
	sample(&w, see(&w, &other), b.text + 0x10, 0, false, 4);
	sample(&w, see(&w, &moved), moved.text + 0x10, 0, false, 8);
	check_written(&w, "no_lbr cycles\n1 main 0 3\n", 3,
		      "left out 8 samples of a file that has the build-id of");
	world__done(&w);
	close(b.fd);
	close(copy.fd);
	close(other.fd);
	close(moved.fd);
}

static void without_a_build_id_the_inode_decides(void **state)
{
	struct binary b = binary__new(NULL, 0), twin = binary__new(NULL, 0);
	struct world w = world__new(&b);
	uint32_t dso = see(&w, &b);

	sample(&w, dso, b.text + 0x10, 0, false, 2);
	sample(&w, see(&w, &twin), b.text + 0x10, 0, false, 4);
	check_written(&w, "no_lbr cycles\n1 main 0 2\n", 2, "");
	/* The mapping's identity differs from stat's (overlayfs): the descriptor's counts. */
	w.dsos.dsos.data[dso].id.ino++;
	check_written(&w, "no_lbr cycles\n1 main 0 2\n", 2, "");
	/* No descriptor at all: the mapping's. */
	w.dsos.dsos.data[dso].id.ino--;
	close(w.dsos.dsos.data[dso].fd);
	w.dsos.dsos.data[dso].fd = -1;
	w.dsos.dsos.data[dso].open_error = -ENOENT;
	check_written(&w, "no_lbr cycles\n1 main 0 2\n", 2, "");
	world__done(&w);
	close(b.fd);
	close(twin.fd);
}

static void tells_what_is_in_no_function(void **state)
{
	struct binary b = binary__new(id_one, 0);
	struct world w = world__new(&b);
	uint32_t dso = see(&w, &b);

	sample(&w, dso, b.text + 0x10, 0, false, 1);
	sample(&w, dso, b.text + 0xf, 0, false, 2);
	sample(&w, dso, b.text + 0x40, 0, false, 4);
	sample(&w, dso, b.text + 0x80, 0, false, 8);
	check_written(
		&w, "no_lbr cycles\n1 main 0 1\n", 1,
		"are in no BOLT function (2 between functions, 4 outside the sections of code, "
		"8 at offsets that no executable segment holds)");
	world__done(&w);
	close(b.fd);
}

static void tells_why_there_is_nothing(void **state)
{
	struct binary b = binary__new(id_one, 0), moved = binary__new(id_one, 0x40);
	struct world w = world__new(&b);
	uint32_t dso;

	check_nothing(&w, "was never seen running");
	sample(&w, see(&w, &moved), moved.text + 0x10, 0, false, 1);
	check_nothing(&w, "its build-id but other segments");
	dso = see(&w, &b);
	check_nothing(&w, "ran, but no sample hit its own code (0 ");
	sample(&w, dso, b.text + 0x10, 0, true, 5);
	check_nothing(&w, "ran, but no sample hit its own code (5 ");
	sample(&w, dso, b.text, 0, false, 7);
	check_nothing(&w,
		      "was sampled 7 times, but never in a function that BOLT knows (7 between");
	world__done(&w);
	close(b.fd);
	close(moved.fd);
}

static void check_event(const char *name, bool time_based, const char *expected)
{
	struct buf out;

	buf__init(&out, 64);
	fdata__put_event(&out, name, time_based);
	assert_string_equal(out.data, expected);
	buf__done(&out);
}

static void events_make_bolt_normalise(void **state)
{
	check_event("cpu-clock", true, "cycles");
	check_event("task-clock", true, "cycles");
	check_event("cpu-cycles", true, "cpu-cycles");
	check_event("instructions:u", true, "instructions:u");
	check_event("cache-misses", false, "cache-misses");
	check_event("a b\nc", false, "a_b_c");
	check_event(NULL, true, "cycles");
	check_event(NULL, false, "unknown");
}

static void check_unprepared(const char *path, int expected, const char *because)
{
	const struct output_opts opts = { .binary = path };
	void *state = NULL;
	char *why = NULL;

	assert_int_equal(output_fdata.prepare(&opts, &state, &why), expected);
	assert_null(state);
	assert_non_null(why);
	if (!strstr(why, because))
		fail_msg("\"%s\" doesn't say \"%s\"", why, because);
	free(why);
}

static void refuses_early(void **state)
{
	struct binary b = binary__new(id_one, 0);
	int text = memfd_create("text", MFD_CLOEXEC);
	char path[64];

	check_unprepared(NULL, -EINVAL, "--binary");
	check_unprepared("/nonexistent/x", -ENOENT, "/nonexistent/x");
	check_unprepared("/proc/self", -EINVAL, "regular file");
	assert_int_equal(write(text, "#!/bin/sh\n", 10), 10);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", text);
	check_unprepared(path, -ENOEXEC, "isn't an ELF file");
	/* e_machine */
	assert_int_equal(pwrite(b.fd, "\xf3\0", 2, 18), 2);
	check_unprepared(b.path, -ENOTSUP, "x86-64 or arm64");
	close(text);
	close(b.fd);
}

static void tells_a_full_disk(void **state)
{
	struct binary b = binary__new(id_one, 0);
	struct world w = world__new(&b);
	const struct output_input in = { .profile = w.profile, .dsos = &w.dsos, .opts = &w.opts };
	struct output_result result = { 0 };
	FILE *full = fopen("/dev/full", "w");
	void *prepared = NULL;
	char *why = NULL;

	sample(&w, see(&w, &b), b.text + 0x10, 0, false, 1);
	assert_int_equal(output_fdata.prepare(&w.opts, &prepared, &why), 0);
	assert_int_equal(output_fdata.write(prepared, &in, full, &result, &why), -ENOSPC);
	assert_null(result.notes);
	output_fdata.free(prepared);
	fclose(full);
	free(why);
	world__done(&w);
	close(b.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_sorts),
		cmocka_unit_test(adds_up_what_has_the_build_id),
		cmocka_unit_test(without_a_build_id_the_inode_decides),
		cmocka_unit_test(tells_what_is_in_no_function),
		cmocka_unit_test(tells_why_there_is_nothing),
		cmocka_unit_test(events_make_bolt_normalise),
		cmocka_unit_test(refuses_early),
		cmocka_unit_test(tells_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
