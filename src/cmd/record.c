// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ebolt record: opens everything, runs one epoll loop until the recording ends, writes outputs.
 *
 * The order at the start matters: outputs are checked and opened before anything is sampled; the
 * task sources are attached before /proc is read, so that nothing falls between; targets are known
 * before sampling starts, and a command runs only then.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/command.h"
#include "cmd/record_opts.h"
#include "collect/bpf_ksyms.h"
#include "session.h"
#include "source/live.h"

/* How long a command may take to end before it is said that it is waited for. */
#define PATIENCE_MS 2000

enum wake {
	WAKE_SOURCE,
	WAKE_SIGNAL,
	WAKE_DURATION,
	WAKE_TICK,
	WAKE_COMMAND,
	WAKE_TARGET,
};

struct recording {
	struct record_opts opts;
	struct session *session;
	struct source *source;
	struct source_sink sink;
	struct command command;
	int epoll, signals, duration, tick;
	int *target_fds; /* a pidfd for each -p process */
	int nr_targets_alive;
	uint64_t losses_listed; /* of task records, after which BPF programs were listed again */
	bool ended, wrong_usage;
	struct command_env env; /* as it was at the start */
};

static int watch(struct recording *r, int fd, enum wake wake, uint32_t index)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)index << 32 | wake };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int open_timer(struct recording *r, enum wake wake, uint64_t ns, bool repeat, int *ret_fd)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC },
	};

	if (repeat)
		when.it_interval = when.it_value;
	*ret_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*ret_fd < 0 || timerfd_settime(*ret_fd, 0, &when, NULL))
		return -errno;
	return watch(r, *ret_fd, wake, 0);
}

/*
 * Ending signals come through a descriptor: nothing is interrupted half-way. They stay blocked to
 * the last, since timeout(1) and terminals send the one that ends a recording more than once.
 */
static int open_signals(struct recording *r)
{
	struct sigaction hangup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* Under nohup(1) it is ignored, and has no meaning then. */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	/* A closed pipe and a file's limit show as a failed write, with its message. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Where it is ignored the kernel keeps no exit status. */
	signal(SIGCHLD, SIG_DFL);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signals < 0)
		return -errno;
	return watch(r, r->signals, WAKE_SIGNAL, 0);
}

/* What all of a recording hangs on, and what fails only for want of descriptors or memory. */
static int open_base(struct recording *r)
{
	int err = command_env__take(&r->env);

	if (!err) {
		r->epoll = epoll_create1(EPOLL_CLOEXEC);
		err = r->epoll < 0 ? -errno : 0;
	}
	if (!err) {
		r->session = session__new(&r->opts.session);
		err = r->session ? 0 : -ENOMEM;
	}
	if (err)
		pr_err("cannot begin to record: %s%s", strerror(-err),
		       err == -EMFILE ? "; raise the limit (ulimit -n)" : "");
	return err;
}

static int open_target(struct recording *r, int i)
{
	int fd = syscall(SYS_pidfd_open, r->opts.pids[i], 0);

	if (fd < 0)
		return -errno;
	r->target_fds[i] = fd;
	r->nr_targets_alive++;
	return watch(r, fd, WAKE_TARGET, i);
}

static int open_targets(struct recording *r)
{
	int err = 0;

	r->target_fds = calloc(r->opts.nr_pids + 1, sizeof(*r->target_fds));
	if (!r->target_fds)
		return -ENOMEM;
	for (int i = 0; i < r->opts.nr_pids; i++)
		r->target_fds[i] = -1;
	for (int i = 0; i < r->opts.nr_pids && !err; i++) {
		err = open_target(r, i);
		/* A thread's id gives EINVAL up to Linux 6.8, then ENOENT. */
		if (err == -ESRCH)
			pr_err("-p %d: no such process", r->opts.pids[i]);
		else if (err == -EINVAL || err == -ENOENT)
			pr_err("-p %d: a thread, not a process; give its process's id",
			       r->opts.pids[i]);
		else if (err)
			pr_err("-p %d: %s", r->opts.pids[i], strerror(-err));
	}
	return err;
}

/*
 * Programs that were there before have no record, and those of which the record was lost have none
 * either. Without one they are "[kernel]".
 */
static void list_bpf_programs(struct recording *r)
{
	if (bpf_ksyms__list(r->sink.record, r->sink.ctx))
		pr_debug("the BPF programs that run already could not be listed");
}

static void on_tick(struct recording *r)
{
	uint64_t losses = session__task_losses(r->session);

	session__tick(r->session, clock__now());
	/* At most once a tick, since all of kallsyms is read. */
	if (losses != r->losses_listed)
		list_bpf_programs(r);
	r->losses_listed = losses;
}

static int open_source(struct recording *r)
{
	_cleanup_free_ char *why = NULL;
	int err = live__open(&r->opts.live, &r->source, &why);

	if (err) {
		pr_err("%s", why ? why : strerror(-err));
		return err;
	}
	log__print_lines(LOG_INFO, live__notes(r->source));
	err = watch(r, r->source->ops->fd(r->source), WAKE_SOURCE, 0);
	if (err) {
		pr_err("cannot wait for samples: %s", strerror(-err));
		return err;
	}
	err = session__read_proc(r->session);
	if (err)
		pr_err("cannot read /proc: %s; is it mounted?", strerror(-err));
	if (!err)
		list_bpf_programs(r);
	return err;
}

static int add_targets(struct recording *r, const pid_t *pids, size_t nr)
{
	pid_t failed;
	int err = live__add_targets(r->source, pids, nr, &failed);

	if (err == -E2BIG)
		pr_err("with their descendants these are more processes than can be followed; "
		       "record all (-a)");
	else if (err && failed)
		pr_err("cannot follow process %d: %s", failed, strerror(-err));
	else if (err)
		pr_err("cannot follow the children of what is recorded: %s", strerror(-err));
	return err;
}

static int start_targets(struct recording *r)
{
	int err = 0;

	if (r->opts.nr_pids)
		err = add_targets(r, r->opts.pids, r->opts.nr_pids);
	if (!r->opts.command || err)
		return err;
	err = command__fork(&r->command, r->opts.command, &r->env);
	if (err) {
		pr_err("cannot run %s: %s%s", r->opts.command[0], strerror(-err),
		       err == -EMFILE ? "; raise the limit (ulimit -n)" : "");
		return err;
	}
	if (r->opts.live.targets_only)
		err = add_targets(r, &r->command.pid, 1);
	if (err)
		return err;
	err = watch(r, r->command.pidfd, WAKE_COMMAND, 0);
	if (err)
		pr_err("cannot wait for %s: %s", r->opts.command[0], strerror(-err));
	return err;
}

static int start(struct recording *r)
{
	int err = start_targets(r);

	if (err)
		return err;
	err = r->source->ops->start(r->source);
	if (err) {
		pr_err("cannot start sampling: %s", strerror(-err));
		return err;
	}
	if (r->opts.live.period)
		pr_info("recording %s, one sample in %" PRIu64, live__event_name(r->source),
			r->opts.live.period);
	else
		pr_info("recording %s at %" PRIu64 " Hz", live__event_name(r->source),
			r->opts.live.freq);
	if (r->opts.duration_ns)
		err = open_timer(r, WAKE_DURATION, r->opts.duration_ns, false, &r->duration);
	if (!err)
		err = open_timer(r, WAKE_TICK, NSEC_PER_SEC, true, &r->tick);
	if (err)
		pr_err("cannot set a timer: %s", strerror(-err));
	if (err || !r->opts.command)
		return err;
	err = command__release(&r->command);
	if (err)
		pr_err("cannot run %s: %s", r->opts.command[0], strerror(-err));
	return err;
}

static int open_all(struct recording *r)
{
	int err = open_base(r);

	if (err)
		return err;
	r->sink = session__sink(r->session);
	for (int i = 0; i < r->opts.nr_outputs; i++) {
		err = session__add_output(r->session, r->opts.outputs[i]);
		if (err) {
			r->wrong_usage = err == -EINVAL;
			return err;
		}
	}
	err = open_signals(r);
	if (err) {
		pr_err("cannot take signals: %s", strerror(-err));
		return err;
	}
	err = open_targets(r);
	return err ? err : open_source(r);
}

static int on_wake(struct recording *r, const struct epoll_event *ev)
{
	struct signalfd_siginfo info;
	uint64_t expirations;

	switch ((enum wake)(ev->data.u64 & UINT32_MAX)) {
	case WAKE_SOURCE:
		return r->source->ops->dispatch(r->source, &r->sink);
	case WAKE_TICK:
		if (read(r->tick, &expirations, sizeof(expirations)) == sizeof(expirations))
			on_tick(r);
		break;
	case WAKE_SIGNAL:
		/* Taken, or the wait for the command would find it again. */
		if (read(r->signals, &info, sizeof(info)) == sizeof(info))
			r->ended = true;
		break;
	case WAKE_DURATION:
	case WAKE_COMMAND:
		r->ended = true;
		break;
	case WAKE_TARGET:
		epoll_ctl(r->epoll, EPOLL_CTL_DEL, r->target_fds[ev->data.u64 >> 32], NULL);
		if (--r->nr_targets_alive == 0)
			r->ended = true;
		break;
	}
	return 0;
}

static int run(struct recording *r)
{
	struct epoll_event evs[16];

	while (!r->ended) {
		int n = epoll_wait(r->epoll, evs, ARRAY_SIZE(evs), -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			int err = on_wake(r, &evs[i]);

			if (err < 0)
				return err;
		}
	}
	return 0;
}

static void say_cpu(void *ctx, int cpu, uint64_t fired, uint64_t missed)
{
	pr_debug("cpu %d: fired=%" PRIu64 " missed=%" PRIu64, cpu, fired, missed);
}

/* What was recorded is written also where the recording ended by an error. */
static int finish(struct recording *r)
{
	struct source_counts counts;
	int err, stop_err;

	stop_err = r->source->ops->stop(r->source, &r->sink);
	if (stop_err)
		pr_err("the end of the recording could not be read: %s", strerror(-stop_err));
	r->source->ops->counts(r->source, &counts);
	live__for_each_cpu(r->source, say_cpu, NULL);
	err = session__finish(r->session, &counts, live__event_name(r->source),
			      live__event_is_time_based(r->source));
	return err ? err : stop_err;
}

static bool take_signals(struct recording *r)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		any = true;
	return any;
}

/*
 * A command that still runs is told to end, and waited for, since its status is to be ours. It may
 * have much to do upon SIGTERM, or ignore it: that is said, and a further signal kills it.
 */
static void end_command(struct recording *r)
{
	struct pollfd fds[] = {
		{ .fd = r->command.pidfd, .events = POLLIN },
		{ .fd = r->signals, .events = POLLIN },
	};
	bool said = false;

	command__signal(&r->command, SIGTERM);
	/* A stopped one takes no other signal. */
	command__signal(&r->command, SIGCONT);
	while (!command__has_ended(&r->command)) {
		int n = poll(fds, said ? 2 : 1, said ? -1 : PATIENCE_MS);

		if (said && fds[1].revents && take_signals(r))
			command__signal(&r->command, SIGKILL);
		if (n || said)
			continue;
		/* Those that came until now ended the recording. */
		take_signals(r);
		pr_warn("waiting for %s (process %d), which has not ended upon SIGTERM; "
			"interrupt once more to kill it",
			r->opts.command[0], r->command.pid);
		said = true;
	}
}

static void close_all(struct recording *r)
{
	command__done(&r->command);
	for (int i = 0; r->target_fds && i < r->opts.nr_pids; i++)
		if (r->target_fds[i] >= 0)
			close(r->target_fds[i]);
	free(r->target_fds);
	source__free(r->source);
	session__free(r->session);
	cleanup__close(&r->signals);
	cleanup__close(&r->duration);
	cleanup__close(&r->tick);
	cleanup__close(&r->epoll);
}

int cmd_record(int argc, char **argv)
{
	struct recording r = {
		.command = COMMAND_NONE, .epoll = -1, .signals = -1, .duration = -1, .tick = -1
	};
	int err, status;

	if (record_opts__parse(&r.opts, argc, argv, &status))
		return status;
	err = open_all(&r);
	if (!err)
		err = start(&r);
	if (err) {
		close_all(&r);
		return r.wrong_usage ? EXIT_USAGE : EXIT_FAILED;
	}
	err = run(&r);
	if (err)
		pr_err("the recording ended early: %s", strerror(-err));
	if (finish(&r))
		err = -EIO;
	end_command(&r);
	session__print_ledger(r.session);
	status = err ? EXIT_FAILED : r.opts.command ? command__exit_status(&r.command) : EXIT_OK;
	close_all(&r);
	return status;
}
