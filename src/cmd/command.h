/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command that `ebolt record -- COMMAND` runs: forked first, so that it can be followed from
 * its first instruction, and let go once sampling runs.
 */
#ifndef EBOLT_CMD_COMMAND_H
#define EBOLT_CMD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t pid;    /* 0: none */
	int pidfd;    /* readable when it has ended */
	int release;  /* pipe: closed to let it go */
	int exec_err; /* pipe: an errno where exec failed */
	bool reaped;
	int status; /* of wait(), once reaped */
};

#define COMMAND_NONE                                       \
	{                                                  \
		.pidfd = -1, .release = -1, .exec_err = -1 \
	}

/* Forks; the child waits. mask: its signal mask. 0 or a negative errno. */
int command__fork(struct command *c, char **argv, const sigset_t *mask);
/* Lets it exec. 0, or the negative errno with which exec failed (it is gone then). */
int command__release(struct command *c);
/* Ends it by SIGTERM if it still runs, and waits for it. */
void command__end(struct command *c);
/* Its exit status as a shell gives it: the code, or 128 + the signal. After its end. */
int command__exit_status(const struct command *c);
void command__done(struct command *c);

#endif
