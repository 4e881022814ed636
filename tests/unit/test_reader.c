// SPDX-License-Identifier: GPL-2.0-or-later
/* The BPF ring buffer's reader, over a file that is laid out as the kernel lays out a ring. */
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "collect/reader.h"
#include "unit.h"

#define RING 4096

/* What the kernel would write to. */
struct fake {
	int fd;
	uint8_t *memory; /* consumer's page, producer's page, the ring twice */
	struct reader reader;
};

static uint64_t *word(struct fake *f, size_t at)
{
	return (uint64_t *)(f->memory + at);
}

static int setup(void **state)
{
	static struct fake f;
	size_t page = getpagesize(), size = 2 * page + 2 * RING;

	f.fd = memfd_create("ring", MFD_CLOEXEC);
	if (f.fd < 0 || ftruncate(f.fd, size))
		return -1;
	f.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	*state = &f;
	return f.memory == MAP_FAILED ? -1 : reader__open(&f.reader, f.fd, RING);
}

static int teardown(void **state)
{
	struct fake *f = *state;

	munmap(f->memory, 2 * getpagesize() + 2 * RING);
	reader__done(&f->reader);
	close(f->fd);
	return 0;
}

/* Writes a record of len bytes, all of the value; its header has the flags. */
static void write_rec(struct fake *f, uint32_t len, uint8_t value, uint32_t flags)
{
	size_t page = getpagesize();
	uint64_t *produced = word(f, page);
	uint8_t bytes[8 + 256] = { 0 };

	memcpy(bytes, &(uint32_t){ len | flags }, 4);
	memset(bytes + 8, value, len);
	/* Both copies of the ring, as the kernel maps the same pages twice. */
	for (size_t i = 0; i < 8 + len; i++) {
		size_t at = (*produced + i) % RING;

		f->memory[2 * page + at] = f->memory[2 * page + RING + at] = bytes[i];
	}
	*produced += (8 + len + 7) / 8 * 8;
}

static void expect(struct fake *f, size_t len, uint8_t value)
{
	const uint8_t *rec;
	size_t got;

	rec = reader__next(&f->reader, &got);
	assert_non_null(rec);
	assert_int_equal(got, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(rec[i], value);
}

static void expect_end(struct fake *f)
{
	size_t len;

	assert_null(reader__next(&f->reader, &len));
}

static void test_rounds(void **state)
{
	struct fake *f = *state;

	reader__begin(&f->reader);
	expect_end(f);
	reader__release(&f->reader);

	write_rec(f, 16, 1, 0);
	write_rec(f, 13, 2, 0); /* padded */
	reader__begin(&f->reader);
	write_rec(f, 8, 3, 0); /* not of this round */
	expect(f, 16, 1);
	expect(f, 13, 2);
	expect_end(f);
	/* The room is given back at the end, not before. */
	assert_int_equal(*word(f, 0), 0);
	reader__release(&f->reader);
	assert_int_equal(*word(f, 0), 24 + 24);
	reader__begin(&f->reader);
	expect(f, 8, 3);
	expect_end(f);
	reader__release(&f->reader);
	assert_int_equal(*word(f, 0), *word(f, getpagesize()));
}

static void test_wraps(void **state)
{
	struct fake *f = *state;

	for (int i = 0; i < 1000; i++) {
		write_rec(f, 200 + i % 50, i, 0);
		write_rec(f, 100, i + 1, 0);
		reader__begin(&f->reader);
		expect(f, 200 + i % 50, i);
		expect(f, 100, i + 1);
		expect_end(f);
		reader__release(&f->reader);
	}
	assert_true(*word(f, 0) > 10 * RING);
}

static void test_discarded_and_busy(void **state)
{
	struct fake *f = *state;
	uint64_t busy_at;

	write_rec(f, 8, 1, 0);
	write_rec(f, 8, 2, BPF_RINGBUF_DISCARD_BIT);
	write_rec(f, 8, 3, 0);
	busy_at = *word(f, getpagesize());
	write_rec(f, 8, 4, BPF_RINGBUF_BUSY_BIT);
	write_rec(f, 8, 5, 0);
	reader__begin(&f->reader);
	expect(f, 8, 1);
	expect(f, 8, 3);
	expect_end(f);
	reader__release(&f->reader);
	assert_int_equal(*word(f, 0), busy_at);

	/* Committed: it and what was behind it come. */
	f->memory[2 * getpagesize() + busy_at % RING + 3] = 0;
	reader__begin(&f->reader);
	expect(f, 8, 4);
	expect(f, 8, 5);
	expect_end(f);
	reader__release(&f->reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wraps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_discarded_and_busy, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
