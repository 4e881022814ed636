/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that were mapped executable, each once.
 *
 * While it runs a DSO is identified by (device, inode, generation) of its mapping, as the mapping
 * record or /proc/PID/maps state them. The file is opened when it is first seen, while the process
 * that maps it is there, and the descriptor kept: later the file may be deleted or replaced.
 *
 * Where stat() states another device or inode than mappings do, a mapping's identity is not one
 * file's alone: overlayfs (from 6.7) states the real inode number of whichever layer, btrfs one
 * device for all of its subvolumes. There each sighting's file is looked at, and told from others
 * by what stat() states. If it can't be any more, as the process is gone, it is the file that is
 * known by its identity and path, or, if there are several, none: such frames get no name.
 */
#ifndef EBOLT_PROC_DSO_H
#define EBOLT_PROC_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hashmap.h"
#include "base/helper.h"
#include "base/vec.h"
#include "object/elf_file.h"

#define DSOS_MAX       (1u << 20)
#define DSO_MAPPED_MAX 6 /* distinct (len, pgoff) of a DSO's mappings that are remembered */
/*
 * Files that no sample hit so far and that are kept open all the same, lest they be gone when one
 * does. Of more, the oldest are closed; a sample opens them again. Where few descriptors can be
 * had, at most half of them are for such files.
 */
#define DSOS_IDLE_MAX 1024
/* A file that could not be opened is tried again so often. */
#define DSO_OPEN_TRIES 8
/* Files of one identity, of which most have another generation. */
#define DSOS_OF_ONE_ID_MAX 1024
/* How often it is looked at which file a mapping is of, a second. */
#define DSO_LOOKS_PER_SEC 10000
#define DSO_PATHS_MAX	  (256u << 20) /* bytes of their paths, in all */
/* So many DSOs are never too many. Of more, those that nothing needs are forgotten
 * (proc/dso_sweep.h). */
#define DSO_SWEEP_MIN 4096
/* Mapping records that were foreseen, and whose turn is to come. */
#define DSO_RECALLS 2048

struct dso_id {
	uint32_t maj, min;
	uint64_t ino;
	uint64_t gen;
	bool gen_known; /* /proc/PID/maps doesn't tell it */
};

/* What stat() states of an open file: two files that are there at once never have the same. */
struct dso_stat {
	uint64_t dev, ino;
};

enum dso_kind {
	DSO_FILE,
	DSO_VDSO,
	DSO_FREE, /* a place for another */
};

struct dso {
	struct dso_id id;
	uint8_t kind;	    /* enum dso_kind */
	int fd;		    /* of the file; -1 where it could not be opened */
	int open_error;	    /* negative errno, when fd is -1 */
	uint8_t tries;	    /* openings that failed while its process lived */
	struct dso_stat st; /* once it was open */
	bool was_open;	    /* st is known */
	bool unsure;	    /* one of several, and not known which: never open */
	bool hit;	    /* a sample was in it */
	bool needed;	    /* something has it mapped, as of the sweep */
	uint32_t seen_in;   /* the table's sweeps, when it was seen last */
	bool short_of_fds;  /* counted: there was no descriptor for it */
	bool jit_marker;    /* called like a jitdump (proc/jit_files.h) */
	char *path;	    /* as the mapping stated it */
	struct elf_mapped mapped[DSO_MAPPED_MAX]; /* mappings seen, to decide between segments */
	uint32_t nr_mapped;
};

/* Which file a mapping record is of, found when it was foreseen: see struct dso_sighting.time. */
struct dso_recall {
	uint64_t time, start;
	uint32_t pid, dso;
};

/* Comparisons of text that may have moved (proc/moved_text.h); all saved up at first. */
#define MOVED_TEXT_PER_SEC 50
#define MOVED_TEXT_SAVED   1000

struct moved_text_budget {
	uint64_t left;
	uint64_t as_of;	  /* ns, CLOCK_MONOTONIC */
	uint64_t refused; /* comparisons for which there was none */
};

/* The mapping that struct frame.mapped (profile/profile.h) names, or NULL. */
static inline const struct elf_mapped *dso__mapped(const struct dso *d, uint8_t mapped)
{
	return mapped && mapped <= d->nr_mapped ? &d->mapped[mapped - 1] : NULL;
}

struct dso_table {
	VEC(struct dso) dsos;
	struct hashmap index;
	VEC(uint32_t) free_places;
	size_t path_bytes;
	uint32_t sweeps;
	size_t sweep_at;	   /* so many DSOs: see which are needed */
	uint64_t sweep_not_before; /* ns */
	struct helper helper;	   /* reads what may never be read */
	struct moved_text_budget comparisons;
	bool no_map_files; /* as where the kernel refuses that */
	size_t nr_open, max_open;
	size_t nr_idle, max_idle; /* open, but not hit */
	size_t hand;		  /* of closing idle ones, an index into dsos */
	uint64_t short_of_fds;	  /* files that were not opened for want of descriptors */
	uint64_t looks_since;	  /* ns; the begin of the second that looks_left is of */
	uint32_t looks_left;
	struct dso_recall recalls[DSO_RECALLS];
	void *vdso; /* the image of this machine's 64-bit vdso, or NULL */
	size_t vdso_len;
	uint32_t vdso_index;
};

/* A mapping that a file is known by, and where to find the process that has it. */
struct dso_sighting {
	struct dso_id id;
	const char *path;
	size_t path_len;
	pid_t pid, tid; /* tid: another thread, if the leader has exited; or 0 */
	uint64_t start, end, pgoff;
	uint64_t time;	 /* ns, of the record that states it; 0: it is so now */
	uint32_t mnt_ns; /* inode number of the process's mount namespace; 0: not known */
	bool by_path;	 /* not by map_files */
};

int dso_table__init(struct dso_table *t);
void dso_table__done(struct dso_table *t);

/* How many there are, with the vdso. */
static inline size_t dso_table__len(const struct dso_table *t)
{
	return t->dsos.len - t->free_places.len;
}

/*
 * The DSO of a mapping, opened and added if new. 0, -E2BIG or -ENOMEM. The index holds until the
 * next sweep but one, and for as long as a sample hit it or a mapping that the sweep finds has it.
 */
int dso_table__see(struct dso_table *t, const struct dso_sighting *s, uint32_t *ret_index);
/*
 * A sample hit it, in the mapping of this sighting: from now on it stays open, and is opened if it
 * isn't. A process that has just gone can't help to open it: the next hit tries again.
 */
void dso_table__hit(struct dso_table *t, uint32_t index, const struct dso_sighting *s);
/* Would dso_table__hit() change nothing? */
static inline bool dso__is_hit(const struct dso *d)
{
	return d->hit && (d->fd >= 0 || d->tries >= DSO_OPEN_TRIES);
}

/* The vdso's index (its image is ebolt's own: the kernel gives every 64-bit process the same). */
int dso_table__vdso(struct dso_table *t, uint32_t *ret_index);

/*
 * Sweeping: when it is due (now: ns), who has mappings marks what is needed. What neither is nor
 * was hit nor seen since the last sweep is closed and forgotten, and its index goes to another.
 */
bool dso_table__sweep_due(const struct dso_table *t, uint64_t now);
void dso_table__need(struct dso_table *t, uint32_t index);
void dso_table__sweep(struct dso_table *t, uint64_t now);

/*
 * Opens a DSO for reading symbols. 0, or a negative errno (that of the first opening, or
 * -ENOEXEC: not an ELF file). The caller closes it with elf_file__close().
 */
int dso_table__elf(const struct dso_table *t, uint32_t index, struct elf_file **ret);

#endif
