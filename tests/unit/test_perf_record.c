// SPDX-License-Identifier: GPL-2.0-or-later
/* PERF_RECORD_* byte by byte, as include/uapi/linux/perf_event.h lays them out. */
#include <errno.h>
#include <sys/mman.h>

#include <linux/perf_event.h>

#include "object/perf_record.h"
#include "unit.h"

#define SIDEBAND (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* A record under construction, in either byte order. */
struct rec {
	uint8_t bytes[PERF_RECORD_BYTES_MAX + 1];
	size_t len;
	bool swap;
};

static void put(struct rec *r, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		r->bytes[r->len + i] = ((const uint8_t *)bytes)[r->swap ? len - 1 - i : i];
	r->len += len;
}

static void u16(struct rec *r, uint16_t v)
{
	put(r, &v, 2);
}

static void u32(struct rec *r, uint32_t v)
{
	put(r, &v, 4);
}

static void u64(struct rec *r, uint64_t v)
{
	put(r, &v, 8);
}

static void begin(struct rec *r, uint32_t type, uint16_t misc)
{
	r->len = 0;
	u32(r, type);
	u16(r, misc);
	u16(r, 0);
}

/* A string with its NUL, padded to a multiple of 8. */
static void str(struct rec *r, const char *s)
{
	size_t len = strlen(s) + 1;

	memcpy(r->bytes + r->len, s, len);
	r->len += len;
	while (r->len % 8)
		r->bytes[r->len++] = 0;
}

static void set_size(struct rec *r, uint16_t size)
{
	size_t len = r->len;

	r->len = 6;
	u16(r, size);
	r->len = len;
}

/* The trailer of the side-band's events, and the size. */
static void end(struct rec *r)
{
	u32(r, 1001);
	u32(r, 1002);
	u64(r, 123456789012345);
	u32(r, 3);
	u32(r, 0);
	set_size(r, r->len);
}

static void mmap2(struct rec *r, const char *path)
{
	begin(r, PERF_RECORD_MMAP2, 0);
	u32(r, 11);
	u32(r, 12);
	u64(r, 0x7f0000001000);
	u64(r, 0x2000);
	u64(r, 0x5000);
	u32(r, 0xfe);
	u32(r, 1);
	u64(r, 424242);
	u64(r, 77);
	u32(r, PROT_READ | PROT_EXEC);
	u32(r, MAP_PRIVATE);
	str(r, path);
	end(r);
}

static int decode(const struct rec *r, struct perf_record *ret)
{
	struct perf_record_format f = { .sample_type = SIDEBAND, .swap = r->swap };

	return perf_record__decode(r->bytes, r->len, &f, ret);
}

static void check_trailer(const struct perf_record *pr)
{
	assert_int_equal(pr->id.pid, 1001);
	assert_int_equal(pr->id.tid, 1002);
	assert_int_equal(pr->id.time, 123456789012345);
	assert_int_equal(pr->id.cpu, 3);
}

static void check_mmap2(struct rec *r)
{
	struct perf_record pr;

	mmap2(r, "/usr/lib/libx.so");
	assert_int_equal(decode(r, &pr), 0);
	check_trailer(&pr);
	assert_int_equal(pr.kind, PERF_REC_MMAP);
	assert_int_equal(pr.mmap.pid, 11);
	assert_int_equal(pr.mmap.tid, 12);
	assert_int_equal(pr.mmap.start, 0x7f0000001000);
	assert_int_equal(pr.mmap.len, 0x2000);
	assert_int_equal(pr.mmap.pgoff, 0x5000);
	assert_int_equal(pr.mmap.maj, 0xfe);
	assert_int_equal(pr.mmap.min, 1);
	assert_int_equal(pr.mmap.ino, 424242);
	assert_int_equal(pr.mmap.gen, 77);
	assert_int_equal(pr.mmap.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(pr.mmap.flags, MAP_PRIVATE);
	assert_int_equal(pr.mmap.build_id_len, 0);
	assert_string_equal(pr.mmap.path, "/usr/lib/libx.so");
	assert_int_equal(pr.mmap.path_len, 16);
}

static void test_mmap2(void **state)
{
	struct rec r = { 0 };

	check_mmap2(&r);
}

static void test_other_byte_order(void **state)
{
	struct rec r = { .swap = true };

	check_mmap2(&r);
}

static void test_mmap2_build_id(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;
	struct buf out;

	begin(&r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	u32(&r, 11);
	u32(&r, 12);
	u64(&r, 0x1000);
	u64(&r, 0x2000);
	u64(&r, 0);
	u32(&r, 20); /* its length in the first byte */
	for (int i = 0; i < 20; i++)
		r.bytes[r.len++] = 0xa0 + i;
	u32(&r, PROT_EXEC);
	u32(&r, 0);
	str(&r, "/bin/x");
	end(&r);
	assert_int_equal(decode(&r, &pr), 0);
	assert_int_equal(pr.mmap.build_id_len, 20);
	assert_int_equal(pr.mmap.build_id[0], 0xa0);
	assert_int_equal(pr.mmap.build_id[19], 0xb3);
	assert_int_equal(pr.mmap.ino, 0);
	assert_int_equal(pr.mmap.prot, PROT_EXEC);
	assert_string_equal(pr.mmap.path, "/bin/x");

	/* There is no inode to identify the file by. */
	buf__init(&out, 4096);
	assert_int_equal(perf_record__to_rec(&pr, &out), -ENOTSUP);
	assert_int_equal(out.len, 0);
	buf__done(&out);

	r.bytes[8 + 32] = 21; /* longer than the field */
	assert_int_equal(decode(&r, &pr), -EBADMSG);
}

static void test_mmap(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;

	for (int data = 0; data <= 1; data++) {
		begin(&r, PERF_RECORD_MMAP, data ? PERF_RECORD_MISC_MMAP_DATA : 0);
		u32(&r, 5);
		u32(&r, 6);
		u64(&r, 0x1000);
		u64(&r, 0x2000);
		u64(&r, 0x3000);
		str(&r, "//anon");
		end(&r);
		assert_int_equal(decode(&r, &pr), 0);
		check_trailer(&pr);
		assert_int_equal(pr.kind, PERF_REC_MMAP);
		assert_int_equal(pr.mmap.pgoff, 0x3000);
		assert_int_equal(pr.mmap.prot & PROT_EXEC, data ? 0 : PROT_EXEC);
		assert_string_equal(pr.mmap.path, "//anon");
	}
}

static void comm(struct rec *r, const char *name, uint16_t misc)
{
	begin(r, PERF_RECORD_COMM, misc);
	u32(r, 21);
	u32(r, 22);
	str(r, name);
	end(r);
}

static void test_comm(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;

	comm(&r, "a b;c", PERF_RECORD_MISC_COMM_EXEC);
	assert_int_equal(decode(&r, &pr), 0);
	check_trailer(&pr);
	assert_int_equal(pr.kind, PERF_REC_COMM);
	assert_int_equal(pr.comm.pid, 21);
	assert_int_equal(pr.comm.tid, 22);
	assert_true(pr.comm.exec);
	assert_string_equal(pr.comm.comm, "a b;c");
	comm(&r, "", 0);
	assert_int_equal(decode(&r, &pr), 0);
	assert_false(pr.comm.exec);
	assert_int_equal(pr.comm.comm_len, 0);
}

static void task(struct rec *r, uint32_t type)
{
	begin(r, type, 0);
	u32(r, 31);
	u32(r, 32);
	u32(r, 33);
	u32(r, 34);
	u64(r, 555);
	end(r);
}

static void test_fork_exit(void **state)
{
	static const struct {
		uint32_t type;
		int kind;
	} cases[] = { { PERF_RECORD_FORK, PERF_REC_FORK }, { PERF_RECORD_EXIT, PERF_REC_EXIT } };
	struct rec r = { 0 };
	struct perf_record pr;

	for (size_t i = 0; i < 2; i++) {
		task(&r, cases[i].type);
		assert_int_equal(decode(&r, &pr), 0);
		check_trailer(&pr);
		assert_int_equal(pr.kind, cases[i].kind);
		assert_int_equal(pr.task.pid, 31);
		assert_int_equal(pr.task.ppid, 32);
		assert_int_equal(pr.task.tid, 33);
		assert_int_equal(pr.task.ptid, 34);
		assert_int_equal(pr.task.time, 555);
	}
}

static void ksymbol(struct rec *r, const char *name, uint16_t flags)
{
	begin(r, PERF_RECORD_KSYMBOL, 0);
	u64(r, 0xffffffffc0123000);
	u32(r, 0x456);
	u16(r, PERF_RECORD_KSYMBOL_TYPE_BPF);
	u16(r, flags);
	str(r, name);
	end(r);
}

static void test_ksymbol(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;

	ksymbol(&r, "bpf_prog_0123_on_sample", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	assert_int_equal(decode(&r, &pr), 0);
	check_trailer(&pr);
	assert_int_equal(pr.kind, PERF_REC_KSYMBOL);
	assert_true(pr.ksymbol.addr == 0xffffffffc0123000);
	assert_int_equal(pr.ksymbol.len, 0x456);
	assert_int_equal(pr.ksymbol.type, PERF_RECORD_KSYMBOL_TYPE_BPF);
	assert_true(pr.ksymbol.unregister);
	assert_string_equal(pr.ksymbol.name, "bpf_prog_0123_on_sample");
}

static void lost(struct rec *r, uint32_t type)
{
	begin(r, type, 0);
	if (type == PERF_RECORD_LOST)
		u64(r, 9);
	u64(r, 4711);
	end(r);
}

static void test_lost(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;

	lost(&r, PERF_RECORD_LOST);
	assert_int_equal(decode(&r, &pr), 0);
	check_trailer(&pr);
	assert_int_equal(pr.kind, PERF_REC_LOST);
	assert_int_equal(pr.lost.id, 9);
	assert_int_equal(pr.lost.count, 4711);
	lost(&r, PERF_RECORD_LOST_SAMPLES);
	assert_int_equal(decode(&r, &pr), 0);
	assert_int_equal(pr.kind, PERF_REC_LOST_SAMPLES);
	assert_int_equal(pr.lost.count, 4711);
}

/* Every field that a trailer can have, in the kernel's order. */
static void test_trailer(void **state)
{
	struct perf_record_format f = {
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER |
			       PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
	};
	struct rec r = { 0 };
	struct perf_record pr;

	begin(&r, PERF_RECORD_EXIT, 0);
	for (int i = 0; i < 6; i++)
		u32(&r, i);
	u32(&r, 71);
	u32(&r, 72);
	u64(&r, 73);
	u64(&r, 74);
	u64(&r, 75);
	u32(&r, 76);
	u32(&r, 0);
	u64(&r, 77);
	set_size(&r, r.len);
	assert_int_equal(perf_record__decode(r.bytes, r.len, &f, &pr), 0);
	assert_int_equal(pr.id.pid, 71);
	assert_int_equal(pr.id.tid, 72);
	assert_int_equal(pr.id.time, 73);
	assert_int_equal(pr.id.cpu, 76);
	assert_int_equal(pr.id.id, 77);
	assert_int_equal(pr.task.ptid, 3);

	f.sample_type &= ~(uint64_t)PERF_SAMPLE_IDENTIFIER;
	set_size(&r, r.len - 8);
	assert_int_equal(perf_record__decode(r.bytes, r.len, &f, &pr), 0);
	assert_int_equal(pr.id.id, 74);
}

static void build(struct rec *r, int which)
{
	switch (which) {
	case 0:
		mmap2(r, "/a/path");
		return;
	case 1:
		comm(r, "name", 0);
		return;
	case 2:
		task(r, PERF_RECORD_FORK);
		return;
	case 3:
		ksymbol(r, "sym", 0);
		return;
	default:
		lost(r, PERF_RECORD_LOST);
	}
}

/*
 * Cut short, with the bytes (copied to memory of that very size, so that a sanitizer sees
 * overruns) or with the size field too: the first is always an error, the second never reads
 * past the end, and is an error where the body no longer fits.
 */
static void test_cut(void **state)
{
	struct perf_record_format f = { .sample_type = SIDEBAND };
	struct rec r = { 0 };
	struct perf_record pr;

	for (int which = 0; which < 5; which++) {
		size_t strings = which == 0 || which == 1 || which == 3;

		build(&r, which);
		for (size_t len = 0; len < r.len; len++) {
			uint8_t *cut = malloc(len ? len : 1);

			assert_non_null(cut);
			memcpy(cut, r.bytes, len);
			assert_int_equal(perf_record__decode(cut, len, &f, &pr), -EBADMSG);
			if (len >= 8) {
				uint16_t size = len;

				memcpy(cut + 6, &size, 2);
				int err = perf_record__decode(cut, len, &f, &pr);

				if (!strings)
					assert_int_equal(err, -EBADMSG);
				else
					assert_true(err == 0 || err == -EBADMSG);
			}
			free(cut);
		}
	}
}

static void test_hostile(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;

	/* A size smaller than the header, than the trailer, and one beyond the bytes. */
	mmap2(&r, "/x");
	for (int size = 0; size < 32; size++) {
		set_size(&r, size);
		assert_int_equal(decode(&r, &pr), -EBADMSG);
	}
	set_size(&r, r.len + 8);
	assert_int_equal(decode(&r, &pr), -EBADMSG);
	set_size(&r, 65535);
	assert_int_equal(decode(&r, &pr), -EBADMSG);

	/* More bytes behind the record are not its own. */
	set_size(&r, r.len);
	r.len += 8;
	assert_int_equal(decode(&r, &pr), 0);
	check_trailer(&pr);

	/* A string without an end: the trailer's zeros are not its NUL. */
	comm(&r, "1234567", 0);
	r.bytes[8 + 8 + 7] = 'x';
	assert_int_equal(decode(&r, &pr), -EBADMSG);

	begin(&r, PERF_RECORD_THROTTLE, 0);
	end(&r);
	assert_int_equal(decode(&r, &pr), -ENOTSUP);
	begin(&r, 0xffffffff, 0xffff);
	end(&r);
	assert_int_equal(decode(&r, &pr), -ENOTSUP);
}

static const struct rec_hdr *to_rec(const struct rec *r, struct buf *out)
{
	const struct rec_hdr *hdr;
	struct perf_record pr;

	assert_int_equal(decode(r, &pr), 0);
	buf__clear(out);
	assert_int_equal(perf_record__to_rec(&pr, out), 0);
	hdr = (const void *)out->data;
	assert_int_equal(hdr->length, out->len);
	assert_int_equal(hdr->length % 8, 0);
	assert_int_equal(hdr->time, 123456789012345);
	assert_int_equal(hdr->cpu, 3);
	return hdr;
}

static void test_to_rec(void **state)
{
	static const char long_comm[] = "a comm of more than sixteen bytes";
	const struct rec_mmap *m;
	const struct rec_comm *c;
	const struct rec_task *t;
	const struct rec_ksymbol *k;
	const struct rec_lost *l;
	struct rec r = { 0 };
	struct buf out;

	buf__init(&out, 4096);
	/* Every length of the path: the padding is of zeros and never missing. */
	for (size_t len = 0; len < 20; len++) {
		char path[32] = "";

		memset(path, 'p', len);
		mmap2(&r, path);
		m = (const void *)to_rec(&r, &out);
		assert_int_equal(m->hdr.type, REC_MMAP);
		assert_int_equal(m->start, 0x7f0000001000);
		assert_int_equal(m->len, 0x2000);
		assert_int_equal(m->pgoff, 0x5000);
		assert_int_equal(m->ino, 424242);
		assert_int_equal(m->gen, 77);
		assert_int_equal(m->maj, 0xfe);
		assert_int_equal(m->prot, PROT_READ | PROT_EXEC);
		assert_string_equal(m->path, path);
	}
	comm(&r, long_comm, PERF_RECORD_MISC_COMM_EXEC);
	c = (const void *)to_rec(&r, &out);
	assert_int_equal(c->hdr.type, REC_COMM);
	assert_int_equal(c->hdr.flags, REC_F_EXEC);
	assert_int_equal(c->tid, 22);
	assert_memory_equal(c->comm, long_comm, REC_COMM_LEN - 1);
	assert_int_equal(c->comm[REC_COMM_LEN - 1], 0);
	comm(&r, "x", 0);
	c = (const void *)to_rec(&r, &out);
	assert_int_equal(c->hdr.flags, 0);
	assert_string_equal(c->comm, "x");

	task(&r, PERF_RECORD_FORK);
	t = (const void *)to_rec(&r, &out);
	assert_int_equal(t->hdr.type, REC_FORK);
	assert_int_equal(t->pid, 31);
	assert_int_equal(t->ppid, 32);
	assert_int_equal(t->tid, 33);
	assert_int_equal(t->ptid, 34);
	task(&r, PERF_RECORD_EXIT);
	assert_int_equal(to_rec(&r, &out)->type, REC_EXIT);

	ksymbol(&r, "sym", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	k = (const void *)to_rec(&r, &out);
	assert_int_equal(k->hdr.type, REC_KSYMBOL);
	assert_int_equal(k->hdr.flags, REC_F_UNREGISTER);
	assert_int_equal(k->len, 0x456);
	assert_string_equal(k->name, "sym");
	ksymbol(&r, "sym", 0);
	assert_int_equal(to_rec(&r, &out)->flags, 0);

	lost(&r, PERF_RECORD_LOST);
	l = (const void *)to_rec(&r, &out);
	assert_int_equal(l->hdr.type, REC_LOST);
	assert_int_equal(l->count, 4711);
	buf__done(&out);
}

static void test_to_rec_bounded(void **state)
{
	struct rec r = { 0 };
	struct perf_record pr;
	struct buf out;

	mmap2(&r, "/usr/lib/libx.so");
	assert_int_equal(decode(&r, &pr), 0);
	buf__init(&out, 40);
	assert_int_equal(perf_record__to_rec(&pr, &out), -E2BIG);
	buf__done(&out);

	lost(&r, PERF_RECORD_LOST_SAMPLES);
	assert_int_equal(decode(&r, &pr), 0);
	buf__init(&out, 4096);
	assert_int_equal(perf_record__to_rec(&pr, &out), -ENOTSUP);
	buf__done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap2),	       cmocka_unit_test(test_other_byte_order),
		cmocka_unit_test(test_mmap2_build_id), cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_comm),	       cmocka_unit_test(test_fork_exit),
		cmocka_unit_test(test_ksymbol),	       cmocka_unit_test(test_lost),
		cmocka_unit_test(test_trailer),	       cmocka_unit_test(test_cut),
		cmocka_unit_test(test_hostile),	       cmocka_unit_test(test_to_rec),
		cmocka_unit_test(test_to_rec_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
