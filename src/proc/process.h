/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which process had what mapped executable.
 *
 * The source hands out task records and samples as one sequence in order of time. So the table
 * holds one state, that of the time reached, and a look-up at a sample is a look-up at the
 * sample's time: exec, PID reuse and MAP_FIXED need no history.
 *
 * What ran before the recording is read from /proc, after the task sources were attached: a
 * process that was read at time T ignores records older than T, and later ones apply as they come.
 * One that is read later (it was evicted, or records were lost) is read for a sample that is older
 * than the reading, between which there may be an exec: what was read holds for later samples only.
 */
#ifndef EBOLT_PROC_PROCESS_H
#define EBOLT_PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bpf/record.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "proc/dso.h"
#include "proc/shared_vm.h"

#define PROCESSES_MAX	 (1u << 18)
#define PROCESS_MAPS_MAX (1u << 16) /* executable mappings of one process */

enum mapping_kind {
	MAPPING_FILE, /* also the vdso: dso, pgoff */
	MAPPING_ANON,
};

struct mapping {
	uint64_t start, end; /* [start, end) */
	uint64_t pgoff;	     /* bytes; offset in the file of start */
	uint64_t since;	     /* ns, of the last record of it; 0: read from /proc */
	uint64_t gone;	     /* ns; then it was first seen not to be there; 0: it wasn't */
	uint32_t dso;
	uint8_t kind;
	bool moved; /* MAPPING_FILE: the file's text, in anonymous memory (proc/moved_text.h) */
};

struct jit_files;
struct jit_space;

/* A reading of what is mapped, until its time is reached (proc/process_check.h). */
struct process_check {
	struct process *stated; /* NULL: none; nothing but its mappings */
	uint64_t from, until;	/* ns; of the reading */
	uint64_t due, wait;	/* ns; of the next one */
	uint64_t as_of;		/* the process's, when they were set */
};

struct process {
	uint32_t pid;
	uint64_t start_ticks; /* /proc/PID/stat field 22; 0: not known yet */
	uint64_t as_of;	      /* ns; records older than this are part of what is known */
	/*
	 * Changes whenever the mappings do, and is never used again for others: names the
	 * content, so that a child that has its parent's mappings has its parent's version.
	 */
	uint64_t version;
	uint64_t exec_ahead;	  /* ns; of an exec record whose turn is still to come; or 0 */
	uint64_t losses;	  /* the table's, as of which the mappings are complete */
	uint64_t exec_at;	  /* ns; of the exec that began its image; 0: none known */
	uint64_t sure_from;	  /* ns; it was read until then, and holds of no time before */
	VEC(struct mapping) maps; /* by start, not overlapping */
	size_t prune_at;	  /* so many mappings: see which of them are still there */
	uint64_t prune_after;	  /* ns; but not before */
	uint64_t reread_at;	  /* ns; /proc/PID/maps is not read again before */
	uint64_t reread_wait;	  /* ns; doubles with every reading that was in vain */
	uint64_t exited_at;	  /* ns; a thread exited then, maybe the last; 0: lives */
	uint64_t look_at;	  /* ns; then /proc is asked whether it lives; 0: not in `exited` */
	struct process_check check;
	struct jit_space *jit; /* its JIT code (proc/jit_files.h); NULL: none */
	bool used;	       /* sampled since the eviction's hand came by */
};

struct process_stats {
	uint64_t rereads;	/* of /proc/PID/maps, for an address that nothing covered */
	uint64_t checks;	/* of what is known against /proc/PID/maps */
	uint64_t came_unseen;	/* mappings that they found in place of others */
	uint64_t maps_dropped;	/* mappings over PROCESS_MAPS_MAX, or no memory */
	uint64_t procs_dropped; /* processes for which there was no memory */
	uint64_t procs_evicted; /* to make room; read from /proc again when sampled again */
	uint64_t ignored_old;	/* records older than what was read */
};

/* So many more until a second after `since` (ns). */
struct process_budget {
	uint64_t since, left;
};

struct process_table {
	VEC(struct process *) procs; /* NULL: a free place */
	VEC(uint32_t) free_places;
	VEC(uint32_t) exited; /* pids to look at when they may be gone */
	struct hashmap by_pid;
	struct dso_table *dsos; /* borrowed */
	struct jit_files *jit;	/* borrowed; NULL: JIT code isn't looked for */
	struct shared_vm shared;
	size_t max_procs; /* PROCESSES_MAX, but for tests */
	size_t hand;	  /* of the eviction, an index into procs */
	uint64_t next_version;
	uint64_t losses;     /* how often task records were lost */
	uint64_t lost_until; /* ns; the end of the last loss */
	struct process_budget reread_budget, stale_budget, check_budget;
	struct process_stats stats;
};

void process_table__init(struct process_table *t, struct dso_table *dsos);
void process_table__done(struct process_table *t);

/* Reads all processes of /proc. 0 or a negative errno (processes that end meanwhile are none). */
int process_table__read_proc(struct process_table *t);

/*
 * Reads one process anew, over what was known of it. NULL: there is no such process, it can't be
 * read, or there is no room.
 */
struct process *process_table__read(struct process_table *t, uint32_t pid);

/* Applies a task record (any type; others are ignored). Never fails: what can't be kept is counted.
 */
void process_table__apply(struct process_table *t, const struct rec_hdr *rec);

/*
 * Looks at a task record before its turn to be applied has come: opens the file of a new mapping
 * while the process that has it is still there, and notes that an image ends.
 */
void process_table__foresee(struct process_table *t, const struct rec_hdr *rec);

/*
 * The process of a sample. One that isn't known, that is stale, or that had the pid before (records
 * were lost), is read from /proc if it is still the sample's process. NULL: nothing is known of it,
 * as of one whose pid another has by now.
 */
struct process *process_table__find(struct process_table *t, uint32_t pid, uint64_t start_ticks);

/*
 * Whether what the process had mapped at `time` (ns) is not known: task records may have been lost
 * and it could not be read again, or it was read after that time.
 */
static inline bool process_table__is_stale(const struct process_table *t, const struct process *p,
					   uint64_t time)
{
	return p->losses != t->losses || time < p->sure_from;
}

/*
 * Whether a sample can't be looked up since task records were lost, which may have been its
 * process's own. p: that process, if it is stale, or NULL if process_table__find() found none: then
 * it must have begun before the end of the last loss.
 */
bool process_table__may_be_lost(const struct process_table *t, const struct process *p,
				uint64_t start_ticks);

/* The mapping that holds addr, or NULL. Borrowed until the next change. */
const struct mapping *process__lookup(const struct process *p, uint64_t addr);

/*
 * Below this no function begins that holds addr: it lies in one mapping, or in several of anonymous
 * memory without a gap. Where addr is in none, it isn't in the one before either.
 */
uint64_t process__code_floor(const struct process *p, uint64_t addr);

/* Where the file of a MAPPING_FILE can be found. Strings are borrowed from the DSO table. */
struct dso_sighting process__sighting(const struct process *p, const struct mapping *m,
				      const struct dso_table *dsos);

/*
 * Reads /proc/PID/maps again for an address that nothing covers, at a bounded rate, and adds what
 * is mapped now where nothing was known to be. True: the mappings changed, look again.
 */
bool process_table__reread(struct process_table *t, struct process *p);

/* Forgets processes that exited a while before `now` (ns, CLOCK_MONOTONIC), also if unwaited for.
 */
void process_table__reap(struct process_table *t, uint64_t now);

#endif
