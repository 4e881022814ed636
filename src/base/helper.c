// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define NSEC_PER_MSEC 1000000ull

struct request {
	HELPER_FN((*fn));
	size_t text_max;
	uint8_t arg[HELPER_ARG_MAX]; /* as much of it as there is */
};

/* Followed by text_len bytes, in messages of HELPER_TEXT_CHUNK at most. */
struct reply {
	int result;
	size_t text_len;
};

union fd_message {
	struct cmsghdr hdr;
	char room[CMSG_SPACE(sizeof(int))];
};

void helper__init(struct helper *h)
{
	*h = (struct helper){ .sock = -1, .wait_left = HELPER_WAIT_MAX };
}

/* Frees the places of those that are gone by now. */
static void reap(struct helper *h)
{
	for (size_t i = 0; i < HELPER_STUCK_MAX; i++)
		if (h->stuck[i] && waitpid(h->stuck[i], NULL, WNOHANG))
			h->stuck[i] = 0;
}

size_t helper__stuck(const struct helper *h)
{
	size_t n = 0;

	for (size_t i = 0; i < HELPER_STUCK_MAX; i++)
		n += h->stuck[i] != 0;
	return n;
}

/* There is room for it among the stuck, or else it would not have been started. */
static void abandon(struct helper *h)
{
	if (!h->pid)
		return;
	kill(h->pid, SIGKILL);
	for (size_t i = 0; i < HELPER_STUCK_MAX; i++) {
		if (h->stuck[i])
			continue;
		h->stuck[i] = h->pid;
		break;
	}
	h->pid = 0;
	close(h->sock);
	h->sock = -1;
}

void helper__done(struct helper *h)
{
	abandon(h);
	reap(h);
}

/* ---- messages, with a descriptor or -1 ------------------------------------------------------ */

static ssize_t send_message(int sock, struct iovec *iov, size_t nr, int fd)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = nr };
	union fd_message control = { 0 };

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.hdr = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(sizeof(fd)) };
		memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL);
}

static ssize_t receive_message(int sock, void *bytes, size_t len, int *ret_fd)
{
	union fd_message control;
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*ret_fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(*ret_fd)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return n;
}

/* ---- in the child --------------------------------------------------------------------------- */

static bool send_reply(int sock, int result, const struct buf *text, int fd)
{
	struct reply reply = { .result = result, .text_len = text->len };
	struct iovec iov = { .iov_base = &reply, .iov_len = sizeof(reply) };

	if (send_message(sock, &iov, 1, fd) < 0)
		return false;
	for (size_t at = 0; at < text->len;) {
		size_t left = text->len - at;
		ssize_t n = send(sock, text->data + at,
				 left < HELPER_TEXT_CHUNK ? left : HELPER_TEXT_CHUNK, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
	}
	return true;
}

/* Whoever waits for the end of ebolt's outputs must not wait for a child that is stuck. */
static int keep_only(int sock)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(sock, 3) < 0)
		return -1;
	if (syscall(SYS_close_range, 4, ~0u, 0))
		for (int fd = 4; fd < sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
	return 3;
}

static _Noreturn void serve(int sock)
{
	static struct request r;
	struct buf text;
	bool sent = true;
	ssize_t n;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "ebolt-helper");
	sock = keep_only(sock);
	while (sent && (n = receive_message(sock, &r, sizeof(r), &fd)) > 0) {
		int result, ret_fd = -1;

		buf__init(&text, r.text_max);
		result = r.fn(r.arg, n - offsetof(struct request, arg), fd, &text, &ret_fd);
		sent = send_reply(sock, result, &text, ret_fd);
		buf__done(&text);
		cleanup__close(&fd);
		cleanup__close(&ret_fd);
	}
	_exit(0);
}

/* ---- in the parent -------------------------------------------------------------------------- */

static int start(struct helper *h)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	h->pid = fork();
	if (!h->pid)
		serve(pair[1]);
	close(pair[1]);
	if (h->pid < 0) {
		int err = -errno;

		h->pid = 0;
		close(pair[0]);
		return err;
	}
	h->sock = pair[0];
	return 0;
}

static int send_request(int sock, HELPER_FN((*fn)), const void *arg, size_t arg_len, int fd,
			size_t text_max)
{
	struct request head = { .fn = fn, .text_max = text_max };
	struct iovec iov[] = {
		{ .iov_base = &head, .iov_len = offsetof(struct request, arg) },
		{ .iov_base = (void *)arg, .iov_len = arg_len },
	};

	return send_message(sock, iov, 2, fd) < 0 ? -errno : 0;
}

/* One message, or a part of it where it is longer. 0: the child is gone. */
static ssize_t receive(int sock, uint64_t deadline, void *bytes, size_t len, int *ret_fd)
{
	struct pollfd poll_sock = { .fd = sock, .events = POLLIN };
	uint64_t now = clock__now();
	ssize_t n;

	*ret_fd = -1;
	while (!(n = poll(&poll_sock, 1,
			  now < deadline ? (deadline - now) / NSEC_PER_MSEC + 1 : 0))) {
		now = clock__now();
		if (now >= deadline)
			return -ETIMEDOUT;
	}
	if (n > 0)
		n = receive_message(sock, bytes, len, ret_fd);
	return n < 0 ? -errno : n;
}

static int receive_text(int sock, uint64_t deadline, size_t len, struct buf *text)
{
	char chunk[HELPER_TEXT_CHUNK];

	while (len) {
		_cleanup_close_ int none;
		ssize_t n = receive(sock, deadline, chunk, sizeof(chunk), &none);

		if (n == -EINTR)
			continue;
		if (n <= 0 || (size_t)n > len)
			return n < 0 ? n : -ECHILD;
		if (text)
			buf__append(text, chunk, n);
		len -= n;
	}
	return 0;
}

static int receive_reply(int sock, uint64_t deadline, struct buf *text, int *ret_result,
			 int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct reply reply;
	ssize_t n;
	int err;

	do
		n = receive(sock, deadline, &reply, sizeof(reply), &fd);
	while (n == -EINTR);
	if (n != sizeof(reply))
		return n < 0 ? n : -ECHILD;
	err = receive_text(sock, deadline, reply.text_len, text);
	if (err)
		return err;
	*ret_result = reply.result;
	if (ret_fd)
		*ret_fd = steal_fd(&fd);
	return 0;
}

/* How long a call may take now. */
static uint64_t patience(struct helper *h, uint64_t now)
{
	h->wait_left += (now - h->wait_as_of) / HELPER_WAIT_SHARE;
	h->wait_as_of = now;
	if (h->wait_left > HELPER_WAIT_MAX)
		h->wait_left = HELPER_WAIT_MAX;
	return h->wait_left > HELPER_WAIT_MIN ? h->wait_left : HELPER_WAIT_MIN;
}

int helper__call(struct helper *h, HELPER_FN((*fn)), const void *arg, size_t arg_len, int fd,
		 struct buf *ret_text, int *ret_fd)
{
	uint64_t wait = patience(h, clock__now());
	int err = 0, result = 0;

	if (ret_fd)
		*ret_fd = -1;
	if (arg_len > HELPER_ARG_MAX)
		return -E2BIG;
	reap(h);
	if (helper__stuck(h) == HELPER_STUCK_MAX) {
		h->refused++;
		return -EBUSY;
	}
	if (!h->pid)
		err = start(h);
	if (err)
		return err;
	err = send_request(h->sock, fn, arg, arg_len, fd, ret_text ? ret_text->max : 0);
	if (!err)
		err = receive_reply(h->sock, clock__now() + wait, ret_text, &result, ret_fd);
	if (!err)
		return result;
	/* Out of step with the child: the next call has another. */
	abandon(h);
	if (err == -ETIMEDOUT) {
		h->late++;
		h->wait_left -= wait < h->wait_left ? wait : h->wait_left;
	}
	return err;
}
