/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command that `ebolt record -- COMMAND` runs: forked first, so that it can be followed from
 * its first instruction, and let go once sampling runs.
 */
#ifndef EBOLT_CMD_COMMAND_H
#define EBOLT_CMD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
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

/* What a command inherits and ebolt changes for itself: the command is to run as without ebolt. */
struct command_env {
	sigset_t mask;
	struct sigaction sigpipe, sigxfsz, sigchld;
	struct rlimit nofile;
};

/* Takes what this process has now, before anything is changed. 0 or a negative errno. */
int command_env__take(struct command_env *env);

/* Forks; the child waits. 0 or a negative errno. */
int command__fork(struct command *c, char **argv, const struct command_env *env);
/* Lets it exec. 0, or the negative errno with which exec failed (it is gone then). */
int command__release(struct command *c);
/* Whether it has ended, or none was started. Doesn't wait. */
bool command__has_ended(struct command *c);
/* Sends it a signal, if it hasn't ended. */
void command__signal(struct command *c, int sig);
/* Its exit status as a shell gives it: the code, or 128 + the signal. After its end. */
int command__exit_status(const struct command *c);
void command__done(struct command *c);

#endif
