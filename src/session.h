/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: a source's records on one side, a profile and its outputs on the other. The one
 * place that knows them all.
 */
#ifndef EBOLT_SESSION_H
#define EBOLT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "output/output.h"
#include "profile/profile.h"
#include "profile/resolve.h"
#include "source/source.h"

struct session_opts {
	struct profile_opts profile;
	struct resolve_opts resolve;
	struct output_opts output;
	bool srcline; /* JIT code with its source lines, where they are known */
	/* As if the kernel had no such feature (collect/features.h). */
	bool no_kcmp, no_map_files;
};

struct session;

struct session *session__new(const struct session_opts *opts); /* NULL for want of memory */
void session__free(struct session *s);

/*
 * Adds an output, checks it and opens its file. spec: "PATH" (the format by its ending) or
 * "FORMAT:PATH". 0, or a negative errno after an error message; -EINVAL: wrong usage.
 */
int session__add_output(struct session *s, const char *spec);

/* Reads /proc for what already runs. 0 or a negative errno. */
int session__read_proc(struct session *s);

/* Where the source puts its records. */
struct source_sink session__sink(struct session *s);

/* Due every second or so: forgets what is gone. now: CLOCK_MONOTONIC, ns. */
/* How many times task records were lost, and with them perhaps those of kernel text. */
uint64_t session__task_losses(const struct session *s);
void session__tick(struct session *s, uint64_t now);

/*
 * Writes all outputs, says what was left out, and closes the ledger. event_name and time_based
 * are of the recording. 0, or -EIO where an output failed (each was said).
 */
int session__finish(struct session *s, const struct source_counts *counts, const char *event_name,
		    bool time_based);

/* Prints the ledger, the last line of a recording. */
void session__print_ledger(const struct session *s);

#endif
