// SPDX-License-Identifier: GPL-2.0-or-later
#include "object/perf_record.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "base/cursor.h"

#define HEADER_BYTES 8

/* The size of the trailer: 8 bytes for each of these that is recorded. */
static size_t id_bytes(uint64_t sample_type)
{
	static const uint64_t fields[] = {
		PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,	 PERF_SAMPLE_IDENTIFIER,
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		n += sample_type & fields[i] ? 8 : 0;
	return n;
}

static void decode_id(struct cursor *c, uint64_t sample_type, struct perf_record_id *id)
{
	if (sample_type & PERF_SAMPLE_TID) {
		id->pid = cursor__u32(c);
		id->tid = cursor__u32(c);
	}
	if (sample_type & PERF_SAMPLE_TIME)
		id->time = cursor__u64(c);
	if (sample_type & PERF_SAMPLE_ID)
		id->id = cursor__u64(c);
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		cursor__skip(c, 8);
	if (sample_type & PERF_SAMPLE_CPU) {
		id->cpu = cursor__u32(c);
		cursor__skip(c, 4);
	}
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		id->id = cursor__u64(c);
}

/* The id of a mapped file in MMAP2: build-id or device and inode in the same 24 bytes. */
static void decode_file_id(struct cursor *c, bool build_id, struct perf_record *r)
{
	const uint8_t *bytes;

	if (!build_id) {
		r->mmap.maj = cursor__u32(c);
		r->mmap.min = cursor__u32(c);
		r->mmap.ino = cursor__u64(c);
		r->mmap.gen = cursor__u64(c);
		return;
	}
	r->mmap.build_id_len = cursor__u8(c);
	cursor__skip(c, 3);
	bytes = cursor__bytes(c, PERF_BUILD_ID_MAX);
	if (!bytes || r->mmap.build_id_len > PERF_BUILD_ID_MAX)
		c->bad = true;
	else
		memcpy(r->mmap.build_id, bytes, r->mmap.build_id_len);
}

static void decode_mmap(struct cursor *c, uint32_t type, uint16_t misc, struct perf_record *r)
{
	r->kind = PERF_REC_MMAP;
	r->mmap.pid = cursor__u32(c);
	r->mmap.tid = cursor__u32(c);
	r->mmap.start = cursor__u64(c);
	r->mmap.len = cursor__u64(c);
	r->mmap.pgoff = cursor__u64(c);
	if (type == PERF_RECORD_MMAP2) {
		decode_file_id(c, misc & PERF_RECORD_MISC_MMAP_BUILD_ID, r);
		r->mmap.prot = cursor__u32(c);
		r->mmap.flags = cursor__u32(c);
	} else {
		/* All that the old record says is whether it is of executable memory. */
		r->mmap.prot = PROT_READ | (misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : PROT_EXEC);
	}
	r->mmap.path = cursor__str(c, &r->mmap.path_len);
}

static void decode_ksymbol(struct cursor *c, struct perf_record *r)
{
	r->kind = PERF_REC_KSYMBOL;
	r->ksymbol.addr = cursor__u64(c);
	r->ksymbol.len = cursor__u32(c);
	r->ksymbol.type = cursor__u16(c);
	r->ksymbol.unregister = cursor__u16(c) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	r->ksymbol.name = cursor__str(c, &r->ksymbol.name_len);
}

static void decode_task(struct cursor *c, enum perf_record_kind kind, struct perf_record *r)
{
	r->kind = kind;
	r->task.pid = cursor__u32(c);
	r->task.ppid = cursor__u32(c);
	r->task.tid = cursor__u32(c);
	r->task.ptid = cursor__u32(c);
	r->task.time = cursor__u64(c);
}

static int decode_body(struct cursor *c, uint32_t type, uint16_t misc, struct perf_record *r)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mmap(c, type, misc, r);
		return 0;
	case PERF_RECORD_COMM:
		r->kind = PERF_REC_COMM;
		r->comm.pid = cursor__u32(c);
		r->comm.tid = cursor__u32(c);
		r->comm.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
		r->comm.comm = cursor__str(c, &r->comm.comm_len);
		return 0;
	case PERF_RECORD_FORK:
		decode_task(c, PERF_REC_FORK, r);
		return 0;
	case PERF_RECORD_EXIT:
		decode_task(c, PERF_REC_EXIT, r);
		return 0;
	case PERF_RECORD_KSYMBOL:
		decode_ksymbol(c, r);
		return 0;
	case PERF_RECORD_LOST:
		r->kind = PERF_REC_LOST;
		r->lost.id = cursor__u64(c);
		r->lost.count = cursor__u64(c);
		return 0;
	case PERF_RECORD_LOST_SAMPLES:
		r->kind = PERF_REC_LOST_SAMPLES;
		r->lost.count = cursor__u64(c);
		return 0;
	default:
		return -ENOTSUP;
	}
}

int perf_record__decode(const void *bytes, size_t len, const struct perf_record_format *format,
			struct perf_record *ret)
{
	struct cursor c = cursor__over(bytes, len), trailer;
	size_t id_len = id_bytes(format->sample_type);
	struct perf_record r;
	uint32_t type;
	uint16_t misc, size;
	int err;

	memset(&r, 0, sizeof(r));
	c.swap = format->swap;
	type = cursor__u32(&c);
	misc = cursor__u16(&c);
	size = cursor__u16(&c);
	if (c.bad || size < HEADER_BYTES + id_len || size > len)
		return -EBADMSG;

	trailer = cursor__over((const uint8_t *)bytes + size - id_len, id_len);
	trailer.swap = format->swap;
	c.end = trailer.pos;
	err = decode_body(&c, type, misc, &r);
	if (err)
		return err;
	decode_id(&trailer, format->sample_type, &r.id);
	if (c.bad || trailer.bad)
		return -EBADMSG;
	*ret = r;
	return 0;
}

/* Appends a record's fixed part and, if it has one, the string that ends it; sets its length. */
static int append(struct buf *out, struct rec_hdr *hdr, size_t fixed, const char *s, size_t s_len)
{
	static const char zeros[8];
	size_t len = fixed + (s ? s_len + 1 : 0), padded = (len + 7) & ~(size_t)7;

	hdr->length = padded;
	buf__append(out, hdr, fixed);
	if (s)
		buf__append(out, s, s_len);
	buf__append(out, zeros, padded - fixed - (s ? s_len : 0));
	return buf__error(out);
}

static int mmap_to_rec(const struct perf_record *pr, struct rec_hdr hdr, struct buf *out)
{
	struct rec_mmap m = {
		.hdr = hdr,
		.pid = pr->mmap.pid,
		.tid = pr->mmap.tid,
		.start = pr->mmap.start,
		.len = pr->mmap.len,
		.pgoff = pr->mmap.pgoff,
		.maj = pr->mmap.maj,
		.min = pr->mmap.min,
		.ino = pr->mmap.ino,
		.gen = pr->mmap.gen,
		.prot = pr->mmap.prot,
		.flags = pr->mmap.flags,
	};

	if (pr->mmap.build_id_len)
		return -ENOTSUP;
	m.hdr.type = REC_MMAP;
	return append(out, &m.hdr, offsetof(struct rec_mmap, path), pr->mmap.path,
		      pr->mmap.path_len);
}

static int comm_to_rec(const struct perf_record *pr, struct rec_hdr hdr, struct buf *out)
{
	struct rec_comm c = { .hdr = hdr, .pid = pr->comm.pid, .tid = pr->comm.tid };
	size_t len = pr->comm.comm_len;

	c.hdr.type = REC_COMM;
	c.hdr.flags = pr->comm.exec ? REC_F_EXEC : 0;
	memcpy(c.comm, pr->comm.comm, len < REC_COMM_LEN ? len : REC_COMM_LEN - 1);
	return append(out, &c.hdr, sizeof(c), NULL, 0);
}

static int task_to_rec(const struct perf_record *pr, struct rec_hdr hdr, struct buf *out)
{
	struct rec_task t = {
		.hdr = hdr,
		.pid = pr->task.pid,
		.tid = pr->task.tid,
		.ppid = pr->task.ppid,
		.ptid = pr->task.ptid,
	};

	t.hdr.type = pr->kind == PERF_REC_FORK ? REC_FORK : REC_EXIT;
	return append(out, &t.hdr, sizeof(t), NULL, 0);
}

static int ksymbol_to_rec(const struct perf_record *pr, struct rec_hdr hdr, struct buf *out)
{
	struct rec_ksymbol k = {
		.hdr = hdr,
		.addr = pr->ksymbol.addr,
		.len = pr->ksymbol.len,
		.ksym_type = pr->ksymbol.type,
	};

	k.hdr.type = REC_KSYMBOL;
	k.hdr.flags = pr->ksymbol.unregister ? REC_F_UNREGISTER : 0;
	return append(out, &k.hdr, offsetof(struct rec_ksymbol, name), pr->ksymbol.name,
		      pr->ksymbol.name_len);
}

int perf_record__to_rec(const struct perf_record *pr, struct buf *out)
{
	struct rec_hdr hdr = { .time = pr->id.time, .cpu = pr->id.cpu };
	struct rec_lost lost = { .hdr = hdr, .count = pr->lost.count, .until = hdr.time };

	switch (pr->kind) {
	case PERF_REC_MMAP:
		return mmap_to_rec(pr, hdr, out);
	case PERF_REC_COMM:
		return comm_to_rec(pr, hdr, out);
	case PERF_REC_FORK:
	case PERF_REC_EXIT:
		return task_to_rec(pr, hdr, out);
	case PERF_REC_KSYMBOL:
		return ksymbol_to_rec(pr, hdr, out);
	case PERF_REC_LOST:
		lost.hdr.type = REC_LOST;
		return append(out, &lost.hdr, sizeof(lost), NULL, 0);
	default:
		return -ENOTSUP;
	}
}
