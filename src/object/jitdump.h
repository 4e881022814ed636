/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: what a JIT runtime tells of the code that it makes, while it makes it (layout:
 * tools/perf/Documentation/jitdump-specification.txt in the kernel's source).
 *
 *	jitdump__init(&jd, &config);
 *	while ((n = pread(fd, bytes, sizeof(bytes), jitdump__off(&jd))) > 0) {
 *		jitdump__feed(&jd, bytes, n);
 *		while (jitdump__next(&jd, &rec))
 *			...
 *	}
 *	jitdump__done(&jd);
 *
 * The bytes come in pieces of any size; a record that is cut stays in the reader (of its code bytes
 * nothing is kept) until the rest comes, so a growing file is read once. A file that ends inside a
 * record is no error: the end is simply not there yet.
 *
 * The bytes are not trusted. Records are framed by their size alone, each field is bounded by its
 * record, and nothing is allocated by a count that the file declares. What is wrong is counted by
 * kind; the only allocation is for a cut record, of JITDUMP_DEBUG_MAX bytes at most.
 */
#ifndef EBOLT_OBJECT_JITDUMP_H
#define EBOLT_OBJECT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define JITDUMP_MAGIC	    0x4a695444u
#define JITDUMP_HEADER	    40u		      /* bytes; a header may state more */
#define JITDUMP_HEADER_MAX  4096u	      /* and is refused over this */
#define JITDUMP_RECORD_MAX  (64u << 20)	      /* bytes, 16 at least */
#define JITDUMP_NAME_MAX    4096u	      /* longer names are cut, between two characters */
#define JITDUMP_DEBUG_MAX   (8u << 20)	      /* larger DEBUG_INFO records are dropped */
#define JITDUMP_ADDR_LIMIT  (1ull << 56)      /* user space ends below, on every 64-bit machine */
#define JITDUMP_TIME_FUTURE 86400000000000ull /* ns after `now` that a time may be */

enum jitdump_status {
	JITDUMP_RETRY,	  /* no whole header yet: nothing usable, more may come */
	JITDUMP_OK,	  /* the header was accepted */
	JITDUMP_REJECTED, /* not a jitdump: don't look at it again */
	JITDUMP_STOPPED,  /* framing was lost: what was read holds, nothing more comes */
};

/* What is wrong with a file. Each kind is counted; the record concerned is dropped where said. */
enum jitdump_problem {
	JITDUMP_BAD_MAGIC,	 /* rejected */
	JITDUMP_BAD_HEADER_SIZE, /* below 40: taken as 40; over JITDUMP_HEADER_MAX: rejected */
	JITDUMP_BAD_VERSION,	 /* not 1; read as 1 */
	JITDUMP_BAD_MACHINE,	 /* not config.machine; names and addresses are used */
	JITDUMP_BAD_FLAGS,	 /* bits that mean nothing: all flags are ignored */
	JITDUMP_TSC,		 /* times are the CPU's TSC: all are 0 */
	JITDUMP_BAD_TIME,	 /* 0 or in the future: 0 */
	JITDUMP_BAD_SIZE,	 /* of a record: stopped */
	JITDUMP_NEW_HEADER,	 /* a header where a record should be: goes on with it */
	JITDUMP_SHORT_RECORD,	 /* too short for its kind: dropped */
	JITDUMP_BAD_NAME,	 /* a LOAD's name doesn't end in the record: dropped */
	JITDUMP_BAD_CODE,	 /* more code stated than the record holds: cut to that */
	JITDUMP_BAD_ADDR,	 /* a range that wraps, or not in user space: dropped */
	JITDUMP_BAD_DEBUG,	 /* entries that contradict the record, or too large: dropped */
	JITDUMP_BAD_UNWINDING,	 /* sizes that contradict the record: dropped */
	JITDUMP_NO_MEMORY,	 /* for a record that came in pieces: dropped */
	JITDUMP_NR_PROBLEMS,
};

/* A few words, for people. */
const char *jitdump_problem__text(enum jitdump_problem problem);

struct jitdump_config {
	/*
	 * The CLOCK_MONOTONIC time up to which records may have been written. The clock of a record
	 * is judged by plausibility: the header says nothing reliable about it. In a live reader
	 * set jd->config.now anew before each feed.
	 */
	uint64_t now;
	uint16_t machine; /* EM_*, as the process's; 0: any */
	/* May be NULL. off: in the file, of the record or header concerned. */
	void (*on_problem)(void *ctx, enum jitdump_problem problem, uint64_t off);
	void *ctx;
};

enum jitdump_kind {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG_INFO,
	JITDUMP_CLOSE,	   /* ends writing, not the code's validity; more may follow */
	JITDUMP_UNWINDING, /* of the next LOAD */
	JITDUMP_OTHER,	   /* of an unknown id, or dropped: only the first fields hold */
};

/* The entries of a DEBUG_INFO, checked: take a copy, and iterate it. */
struct jitdump_lines {
	const uint8_t *pos;
	uint64_t left; /* entries */
	bool swap;
	const char *file; /* of the last entry: the name \xff stands for it */
	size_t file_len;
};

struct jitdump_line {
	uint64_t addr; /* as written: some runtimes add 0x40, the size of an ELF header */
	uint32_t line, discriminator;
	const char *file; /* borrowed like the record, NUL-terminated, any bytes */
	size_t file_len;
};

/* Valid until the next call of jitdump__next() or jitdump__feed(). */
struct jitdump_record {
	enum jitdump_kind kind;
	uint32_t id, len; /* as written; bytes, with the prefix of 16 */
	uint64_t off;	  /* in the file */
	uint64_t time;	  /* CLOCK_MONOTONIC ns; 0: unknown, valid from the beginning */
	union {
		struct {
			uint32_t pid, tid; /* as written: of any namespace, or garbage */
			/* [addr, addr + size) is in user space. Size 0 covers nothing. */
			uint64_t addr, size, index;
			const char *name; /* name_len bytes, any but NUL; may be empty */
			size_t name_len;
			bool name_cut;
		} load;
		struct {
			uint32_t pid, tid;
			uint64_t from, to;
			uint64_t size; /* as written, not bounded: the loaded size counts */
			uint64_t index;
		} move;
		struct {
			uint64_t addr; /* the code_addr of the LOAD that it belongs to */
			uint64_t nr;
			struct jitdump_lines lines;
		} debug;
		struct {
			uint64_t unwind_size, eh_frame_hdr_size, mapped_size;
		} unwinding;
	};
};

/* The last header accepted. */
struct jitdump_header {
	uint32_t version, total_size, machine, pid;
	uint64_t timestamp, flags;
	bool swap; /* the other byte order */
	bool tsc;
};

struct jitdump {
	struct jitdump_config config;
	struct jitdump_header header;
	enum jitdump_status status;
	uint64_t nr_records; /* framed, so also dropped ones and those of unknown ids */
	uint64_t problems[JITDUMP_NR_PROBLEMS];

	/* private */
	const uint8_t *pos, *end; /* what is left of the piece */
	uint64_t fed;		  /* offset in the file of pos */
	uint64_t start;		  /* of the record or header that is being read */
	struct buf cut;		  /* its bytes so far, as many as are needed; code isn't */
	uint64_t name_end;	  /* offset in the record of a cut LOAD's NUL; 0: not yet seen */
	bool in_header;		  /* a header is being read */
	bool taken;		  /* the record from start on was handed out */
};

/* The config is copied. */
void jitdump__init(struct jitdump *jd, const struct jitdump_config *config);
void jitdump__done(struct jitdump *jd);

/* Bytes from jitdump__off() on; borrowed until jitdump__next() has returned false. */
void jitdump__feed(struct jitdump *jd, const void *bytes, size_t len);
/* False: the piece is used up (or nothing more comes: jd->status). */
bool jitdump__next(struct jitdump *jd, struct jitdump_record *ret);

/* The offset in the file of the byte to feed next; where reading stopped, if it did. */
uint64_t jitdump__off(const struct jitdump *jd);
/* Bytes fed that belong to no whole record (or header) yet. */
uint64_t jitdump__tail(const struct jitdump *jd);
/*
 * Whether the tail is zeros, at least 16: a file that was made larger than it is written yet. Read
 * on in the same pass, bytes other than zero behind them are an error. For a pass later on:
 * jitdump__rewind(), then jitdump__off() is where the zeros begin. (A poll needs to read no more
 * of them than the piece that it fed.)
 */
bool jitdump__in_zeros(const struct jitdump *jd);
void jitdump__rewind(struct jitdump *jd);
/* The file shrank or was replaced: begins at offset 0 with a header. Counts are kept. */
void jitdump__restart(struct jitdump *jd);

/* The sum of all problems. */
uint64_t jitdump__nr_problems(const struct jitdump *jd);

/* False at the end. */
bool jitdump_lines__next(struct jitdump_lines *lines, struct jitdump_line *ret);

#endif
