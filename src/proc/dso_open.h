/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding and opening the file behind a mapping, for dso.c. Regular files only.
 *
 * A path is no identity: the file may be deleted, replaced, in another mount namespace, or a
 * memfd that never had a path. So the file is opened through what holds it, in this order:
 *
 *	/proc/PID/map_files/START-END	the mapping's own file, also when unlinked
 *	/proc/PID/root + path		the path as the process sees it
 *	path				as we see it
 *
 * and each is accepted only if its identity is the mapping's. Where stat() states the device and
 * inode that the mapping has, it is this file and no other. Elsewhere (struct dso_stat) the kernel
 * is asked what it calls a mapping of the candidate; it may call two files the same, so the place
 * has to be right too: map_files only while its path is still the sighting's, the path of a file
 * that isn't deleted, and our own path only for a process of our mount namespace.
 *
 * All this is done in the helper: a file system may be served by a process that never answers, and
 * map_files waits while another reader holds the lock of the process's memory.
 */
#ifndef EBOLT_PROC_DSO_OPEN_H
#define EBOLT_PROC_DSO_OPEN_H

#include "proc/dso.h"

struct dso_opened {
	struct dso_stat st;
	bool gen_known; /* not every file system has generations */
	uint32_t gen;
};

/*
 * Opens the file of a sighting. want: which one it must be, by stat; or NULL. 0, or a negative
 * errno. The caller owns the descriptor.
 */
int dso_open__sighting(struct helper *h, const struct dso_sighting *s, const struct dso_stat *want,
		       int *ret_fd, struct dso_opened *ret);

/*
 * What stat states of the file, without opening it and without asking whoever serves it. 0 or a
 * negative errno: the process is gone, or has something else mapped there.
 */
int dso_open__look(struct helper *h, const struct dso_sighting *s, struct dso_stat *ret);

/* Does stat state of the file what its mappings state? Then nothing else has this identity. */
bool dso_stat__is_of(const struct dso_stat *st, const struct dso_id *id);

/* Two paths of mappings, but for " (deleted)". */
bool dso_open__same_path(const char *a, size_t a_len, const char *b, size_t b_len);

/* Is there nothing left of the process through which its files could be found? */
bool dso_open__is_gone(const struct dso_sighting *s);

#endif
