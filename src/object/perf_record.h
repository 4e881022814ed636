/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PERF_RECORD_*: the records that perf events write into their rings, and that perf.data files
 * consist of (layout: the comments in include/uapi/linux/perf_event.h).
 *
 * A record is {type, misc, size} and a body by its type. With sample_id_all, which is required
 * here, records other than samples end in a trailer that says when and where they were written;
 * its fields depend on the event's sample_type. All values are in the writer's byte order.
 *
 * The bytes are not trusted: paths and names are of the recorded processes' choosing, and a file
 * may hold anything.
 */
#ifndef EBOLT_OBJECT_PERF_RECORD_H
#define EBOLT_OBJECT_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/record.h"
#include "base/buf.h"

#define PERF_RECORD_BYTES_MAX 65535 /* the header's size field has 16 bits */

/* How to read the records of an event: of its perf_event_attr. */
struct perf_record_format {
	uint64_t sample_type; /* PERF_SAMPLE_* */
	bool swap;	      /* written in the other byte order */
};

/* The trailer; 0 where the event doesn't record it. */
struct perf_record_id {
	uint32_t pid, tid;
	uint64_t time; /* of the clock that the event was opened with */
	uint64_t id;
	uint32_t cpu;
};

/* The types that are decoded; others give -ENOTSUP. */
enum perf_record_kind {
	PERF_REC_MMAP, /* PERF_RECORD_MMAP and MMAP2 */
	PERF_REC_COMM,
	PERF_REC_FORK,
	PERF_REC_EXIT,
	PERF_REC_KSYMBOL,
	PERF_REC_LOST,	       /* records of any type */
	PERF_REC_LOST_SAMPLES, /* samples */
};

#define PERF_BUILD_ID_MAX 20

/* A decoded record. Strings are borrowed from the bytes, and NUL-terminated there. */
struct perf_record {
	enum perf_record_kind kind;
	struct perf_record_id id;
	union {
		struct {
			uint32_t pid, tid;
			uint64_t start, len, pgoff; /* bytes */
			uint32_t maj, min;	    /* these four: 0 with a build-id */
			uint64_t ino, gen;
			uint32_t prot, flags; /* PROT_*, MAP_*; of MMAP: 0 flags */
			uint8_t build_id[PERF_BUILD_ID_MAX];
			uint8_t build_id_len; /* 0: there is none */
			const char *path;
			size_t path_len;
		} mmap;
		struct {
			uint32_t pid, tid;
			bool exec;
			const char *comm;
			size_t comm_len;
		} comm;
		struct {
			uint32_t pid, ppid, tid, ptid;
			uint64_t time;
		} task;
		struct {
			uint64_t addr;
			uint32_t len;
			uint16_t type; /* PERF_RECORD_KSYMBOL_TYPE_* */
			bool unregister;
			const char *name;
			size_t name_len;
		} ksymbol;
		struct {
			uint64_t id, count;
		} lost;
	};
};

/*
 * Decodes one record; len is what its header's size says or more (the rest is ignored).
 * 0; -EBADMSG: the bytes contradict themselves; -ENOTSUP: a type not listed above.
 */
int perf_record__decode(const void *bytes, size_t len, const struct perf_record_format *format,
			struct perf_record *ret);

/*
 * Appends the record in the form of bpf/record.h, at a length that is a multiple of 8. 0;
 * -ENOTSUP for what has no such form: samples that were lost, a mapping with a build-id in place
 * of its inode; -E2BIG or -ENOMEM from the buffer.
 */
int perf_record__to_rec(const struct perf_record *pr, struct buf *out);

#endif
