/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files in which JIT runtimes tell of their code: which process has which, read while they are
 * written.
 *
 * A space is what is known of the JIT code of one image of a process: from the mapping of a jitdump
 * (its marker: a mapping that announces the file, nothing more), or of executable anonymous memory,
 * to the exec or the end. Whoever mapped a dump has its code; the ids in its records mean nothing.
 *
 * Order of use. jit_files__foresee() as soon as a mapping is read, since the process may be gone
 * when its turn comes. jit_files__mapped() in its turn. jit_files__poll() before the samples of a
 * round are looked up: what was written before them is known then, but for what a runtime still
 * keeps in its buffer. So a look-up may be made only of times up to jit_space__settled(): that of
 * the dump's last record, or JIT_WAIT_NS ago. After an end the files are read to theirs; the space
 * goes when whoever still has look-ups to make of it has taken it by jit_files__next_complete().
 */
#ifndef EBOLT_PROC_JIT_FILES_H
#define EBOLT_PROC_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "proc/dso.h"
#include "proc/jit_code.h"
#include "proc/jit_dump.h"
#include "proc/jit_map.h"
#include "proc/jit_who.h"

/* How long a sample waits for a record that is newer. */
#define JIT_WAIT_NS	      1000000000ull
#define JIT_SPACES_MAX	      8192  /* processes; of more nothing is known */
#define JIT_SPACE_UNNAMED     16384 /* addresses of a process that may yet get a name */
#define JIT_SPACE_DUMPS	      16    /* of one process */
#define JIT_FILES_MAX	      4096 /* descriptors, of all; or an eighth of the limit, if that is less */
#define JIT_MESSAGES_MAX      1000	 /* further refusals are only counted */
#define JIT_MESSAGE_PATHS_MAX (4u << 20) /* bytes of their paths */
/* How often those are looked at that no sample is of. */
#define JIT_IDLE_NS 1000000000ull
/* Read of all files in a round: a tenth of a second, at most, in which rings aren't drained. */
#define JIT_POLL_BYTES (32u << 20)

enum jit_why {
	JIT_WHY_ANON,	   /* no file of the process is known: maybe no JIT code */
	JIT_WHY_NO_MARKER, /* it writes a jitdump, but has not mapped it: can't be trusted */
	JIT_WHY_REFUSED,   /* it has files, and none could be used */
	JIT_WHY_NO_ENTRY,  /* they say nothing of the address */
};

struct jit_space_dump {
	uint32_t dso;
	struct jit_dump *dump; /* NULL: refused */
};

struct jit_unnamed {
	uint64_t addr;
	uint64_t start; /* no function at addr begins below */
	uint64_t time;	/* of the first sample */
	uint32_t frame; /* of the profile */
};

struct jit_space {
	uint32_t id;	/* never used again for another */
	uint32_t place; /* index into jit_files.spaces */
	struct jit_who who;
	uint64_t began;	  /* ns; the exec that began the image; 0: none is known */
	bool replaced;	  /* ended by an exec: what has its files' names is another image's */
	bool asked;	  /* who is known */
	bool sampled;	  /* since the last poll */
	uint64_t poll_at; /* ns; not polled before if it isn't sampled */
	VEC(struct jit_space_dump) dumps;
	struct jit_code *code; /* of the dumps, and what was inherited; NULL: none */
	struct jit_map map;
	struct jit_code *map_code; /* NULL: none */
	uint64_t settled;	   /* ns */
	uint64_t ended_at;	   /* ns; 0: lives */
	uint64_t version;	   /* changes whenever there may be names for more addresses */
	bool complete;		   /* no more will be read */
	bool taken;		   /* and no more looked up */
	bool no_marker;
	bool refused;
	uint64_t scan_at, scan_wait; /* ns; its descriptors are not looked at before */
	/* Addresses of samples that nothing is known of so far, for whoever looks them up. */
	VEC(struct jit_unnamed) unnamed;
	uint64_t named_version; /* as of which they were looked up */
};

enum jit_message_kind {
	JIT_MSG_OPEN,  /* could not be opened: error */
	JIT_MSG_OWNER, /* not the process's, nor root's */
	JIT_MSG_GONE,  /* the process was gone: whose it was to be can't be known */
	JIT_MSG_TOO_MANY,
	JIT_MSG_MAP,	 /* enum jit_map_refusal */
	JIT_MSG_UNREAD,	 /* not read from off on: it grew faster, or over the bound */
	JIT_MSG_PROBLEM, /* enum jitdump_problem, at off */
};

/* Something about a file that people should know, once. */
struct jit_message {
	uint8_t kind; /* enum jit_message_kind */
	uint8_t what; /* JIT_MSG_MAP, JIT_MSG_PROBLEM */
	int error;    /* JIT_MSG_OPEN: negative errno */
	uint32_t pid;
	uint64_t off;
	const char *path; /* borrowed from the struct jit_files */
};

struct jit_files_stats {
	uint64_t dumps, maps;	 /* that were read */
	uint64_t bytes;		 /* read of them */
	uint64_t refused;	 /* files */
	uint64_t spoilt;	 /* dumps whose rest is not read: rejected, or framing was lost */
	uint64_t spaces_dropped; /* processes over JIT_SPACES_MAX, or no memory */
};

/* What was asked of a process before its mapping's turn. */
struct jit_foreseen {
	uint64_t at; /* ns */
	struct jit_who who;
};

struct jit_files {
	struct dso_table *dsos; /* borrowed */
	struct strtab *paths;	/* of the messages */
	struct jit_pool *pool;
	VEC(struct jit_space *) spaces;
	VEC(struct jit_foreseen) foreseen;
	VEC(struct jit_message) messages; /* to be said */
	VEC(struct jit_message) said;
	struct jit_piece *piece;
	uint32_t last_id;
	size_t nr_fds, max_fds;
	size_t hand; /* where the next poll begins, an index into spaces */
	struct jit_files_stats stats;
};

/* NULL for want of memory. keep_lines: look-ups give lines. */
struct jit_files *jit_files__new(struct dso_table *dsos, bool keep_lines);
void jit_files__free(struct jit_files *jf);

/*
 * A mapping of a process, whose turn is to come: asks what can't wait. have: the process is known
 * to have a space.
 */
void jit_files__foresee(struct jit_files *jf, uint32_t pid, bool have);

/*
 * Makes a space for a process that has executable anonymous memory or a jitdump; NULL where there
 * is no room. began: the exec that began its image (ns), or 0.
 */
struct jit_space *jit_files__space(struct jit_files *jf, uint32_t pid, uint64_t began);
/* A process has mapped a jitdump (by its name; its magic will decide). */
void jit_files__mapped(struct jit_files *jf, struct jit_space *s, uint32_t dso);
/* A child, which has its parent's code as of `time`; NULL: where it has none. */
struct jit_space *jit_files__fork(struct jit_files *jf, const struct jit_space *parent,
				  uint32_t pid, uint64_t time);
/* The image is gone. The space must not be used by who ends it any more. */
void jit_space__end(struct jit_space *s, uint64_t now);

/* Reads what is new. now: CLOCK_MONOTONIC, ns. */
void jit_files__poll(struct jit_files *jf, uint64_t now);
/* Reads all that is left, a few seconds at most. All spaces are complete then: nothing comes. */
void jit_files__poll_last(struct jit_files *jf);

/* A space of which no more will be read, or NULL. */
struct jit_space *jit_files__next_complete(struct jit_files *jf);
/* No more look-ups will be made of it. */
void jit_files__forget(struct jit_files *jf, struct jit_space *s);

/* The next message; false: none. */
bool jit_files__message(struct jit_files *jf, struct jit_message *ret);

/* Up to this time (ns) samples may be looked up; they come in order of time. */
static inline uint64_t jit_space__settled(const struct jit_space *s)
{
	return s->settled;
}

/* Has it any file that could be looked into? */
bool jit_space__has_code(const struct jit_space *s);

/*
 * What is at addr, of the dumps first. since: what is known to be older than this (ns) isn't there
 * any more, since something else was mapped. False: nothing is known of it.
 */
bool jit_space__lookup(struct jit_space *s, uint64_t time, uint64_t addr, uint64_t since,
		       struct jit_hit *ret);

/* Why nothing is. May look at the process's descriptors. */
enum jit_why jit_space__why(struct jit_space *s, uint64_t now);

#endif
