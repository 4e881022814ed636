// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child: waits for the release, then becomes the command. Its parent may end before. */
static void __attribute__((noreturn))
become(char **argv, const struct command_env *env, int release, int exec_err)
{
	char c;
	int err;

	if (read(release, &c, 1) != 1)
		_exit(125);
	sigaction(SIGPIPE, &env->sigpipe, NULL);
	sigaction(SIGXFSZ, &env->sigxfsz, NULL);
	sigaction(SIGCHLD, &env->sigchld, NULL);
	sigprocmask(SIG_SETMASK, &env->mask, NULL);
	setrlimit(RLIMIT_NOFILE, &env->nofile);
	execvp(argv[0], argv);
	err = errno;
	if (write(exec_err, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int command_env__take(struct command_env *env)
{
	if (sigprocmask(SIG_SETMASK, NULL, &env->mask) || sigaction(SIGPIPE, NULL, &env->sigpipe) ||
	    sigaction(SIGXFSZ, NULL, &env->sigxfsz) || sigaction(SIGCHLD, NULL, &env->sigchld) ||
	    getrlimit(RLIMIT_NOFILE, &env->nofile))
		return -errno;
	return 0;
}

int command__fork(struct command *c, char **argv, const struct command_env *env)
{
	int release[2], exec_err[2], err;

	if (pipe2(release, O_CLOEXEC))
		return -errno;
	if (pipe2(exec_err, O_CLOEXEC)) {
		err = -errno;
		close(release[0]);
		close(release[1]);
		return err;
	}
	c->pid = fork();
	if (!c->pid) {
		close(release[1]);
		close(exec_err[0]);
		become(argv, env, release[0], exec_err[1]);
	}
	err = c->pid < 0 ? -errno : 0;
	close(release[0]);
	close(exec_err[1]);
	c->release = release[1];
	c->exec_err = exec_err[0];
	if (err) {
		c->pid = 0;
		return err;
	}
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return -errno;
	fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
	return 0;
}

static void reap(struct command *c)
{
	while (!c->reaped && waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->reaped = true;
}

int command__release(struct command *c)
{
	int err = 0;
	ssize_t n;

	if (write(c->release, "", 1) != 1)
		return -errno;
	close_fd(&c->release);
	/* The pipe closes by a successful exec. */
	do {
		n = read(c->exec_err, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close_fd(&c->exec_err);
	if (n != sizeof(err))
		return 0;
	reap(c);
	return -err;
}

bool command__has_ended(struct command *c)
{
	if (c->pid && !c->reaped && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->reaped = true;
	return !c->pid || c->reaped;
}

void command__signal(struct command *c, int sig)
{
	/* Not yet waited for, so the pid is still its own. */
	if (!command__has_ended(c))
		kill(c->pid, sig);
}

int command__exit_status(const struct command *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void command__done(struct command *c)
{
	/* Where recording never began, the child sees its pipe close and leaves. */
	close_fd(&c->release);
	if (c->pid && !c->reaped)
		reap(c);
	close_fd(&c->exec_err);
	close_fd(&c->pidfd);
}
