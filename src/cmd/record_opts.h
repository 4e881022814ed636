/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `ebolt record`, parsed and checked. */
#ifndef EBOLT_CMD_RECORD_OPTS_H
#define EBOLT_CMD_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session.h"
#include "source/live.h"

#define RECORD_PIDS_MAX	    1024
#define RECORD_OUTPUTS_MAX  1024
#define RECORD_FEATURES_MAX 64

struct record_opts {
	struct live_opts live;
	struct session_opts session;
	const char *outputs[RECORD_OUTPUTS_MAX];
	int nr_outputs;
	pid_t pids[RECORD_PIDS_MAX];
	int nr_pids;
	uint64_t duration_ns; /* 0: until the command or the targets end, or a signal */
	char **command;	      /* NULL-terminated, or NULL */
	const char *disable_features[RECORD_FEATURES_MAX + 1];
};

/*
 * 0: go on; else done: *ret_status is the exit status (help was asked for, or the usage was wrong
 * and that was said). The strings are borrowed from argv.
 */
int record_opts__parse(struct record_opts *o, int argc, char **argv, int *ret_status);

#endif
