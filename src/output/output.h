/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output formats, one file each, over one small interface.
 *
 * An output is made and checked before sampling starts (so that a wrong binary or a directory
 * that can't be written to is told at once), and written once from the finished profile.
 */
#ifndef EBOLT_OUTPUT_OUTPUT_H
#define EBOLT_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct profile;
struct dso_table;
struct names;

struct output_opts {
	const char *binary;	/* --binary: the ELF file that a BOLT profile is of; or NULL */
	const char *event_name; /* of the recording, set before write */
	bool time_based;	/* the event counts time or cycles: BOLT shall normalise by it */
	bool annotate;		/* frames get _[k], _[j] */
	bool by_pid, by_tid;	/* the process and thread stand beside the comm */
};

/* What an output is written from. */
struct output_input {
	const struct profile *profile;
	const struct dso_table *dsos;
	const struct names *names; /* a name for each frame of the profile; profile/resolve.h */
	const struct output_opts *opts;
};

struct output_result {
	uint64_t samples; /* samples that are in the output */
	char *notes;	  /* for people: what was left out and why, one a line; allocated or NULL */
};

struct output_format {
	const char *name;   /* "folded" */
	const char *ending; /* ".folded" */
	bool needs_names;   /* input.names is used */
	/*
	 * Checks what can be checked before sampling, and prepares; NULL where there is nothing.
	 * 0 and *ret_state, or a negative errno and *ret_why (allocated: what, why, remedy).
	 */
	int (*prepare)(const struct output_opts *opts, void **ret_state, char **ret_why);
	/*
	 * Writes to f. 0; a negative errno, with *ret_why where there is more to say.
	 * -ENODATA: nothing to write (the caller leaves no file, and exits with 1).
	 */
	int (*write)(void *state, const struct output_input *in, FILE *f, struct output_result *ret,
		     char **ret_why);
	void (*free)(void *state);
};

extern const struct output_format output_folded, output_fdata;

/* By name, or by the ending of a path; NULL where there is none. */
const struct output_format *output_format__by_name(const char *name, size_t len);
const struct output_format *output_format__by_path(const char *path);

#endif
