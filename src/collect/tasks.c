// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collect/mmap_sideband.h"
#include "collect/task_kprobes.h"
#include "collect/why.h"

/* Of a CPU, where the side-band only carries records of kernel text. */
#define KSYMBOL_RING_BYTES (64u << 10)

struct tasks {
	struct task_kprobes *kprobes; /* NULL: the side-band has it all */
	struct sideband *sideband;    /* NULL: there is nothing for it to carry */
	int epoll_fd;
};

static int watch(struct tasks *t, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static void open_kprobes(struct tasks *t, struct features *features, char **ret_note)
{
	struct task_kprobes_opts o = { .btf = features->btf };

	if (features->has[FEATURE_TASK_KPROBES] && task_kprobes__open(&o, &t->kprobes, ret_note))
		features->has[FEATURE_TASK_KPROBES] = false;
}

static int open_sideband(struct tasks *t, const struct features *features,
			 const struct cpu_list *cpus, char **ret_why)
{
	struct sideband_opts o = {
		.cpus = cpus,
		.ring_bytes = t->kprobes ? KSYMBOL_RING_BYTES : 0,
		.no_tasks = t->kprobes,
		.ksymbol = features->has[FEATURE_KSYMBOL],
		.lost_count = features->has[FEATURE_LOST_COUNT],
	};

	if (t->kprobes && !o.ksymbol)
		return 0;
	return sideband__open(&o, &t->sideband, ret_why);
}

int tasks__open(struct features *features, const struct cpu_list *cpus, struct tasks **ret,
		char **ret_note, char **ret_why)
{
	struct tasks *t = calloc(1, sizeof(*t));
	int err = 0;

	*ret_note = NULL;
	if (!t)
		return -ENOMEM;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0)
		err = -errno;
	if (!err) {
		open_kprobes(t, features, ret_note);
		err = open_sideband(t, features, cpus, ret_why);
	}
	if (!err && t->kprobes)
		err = watch(t, task_kprobes__fd(t->kprobes));
	if (!err && t->sideband)
		err = watch(t, sideband__fd(t->sideband));
	if (err) {
		tasks__free(t);
		return err;
	}
	*ret = t;
	return 0;
}

void tasks__free(struct tasks *t)
{
	if (!t)
		return;
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	task_kprobes__free(t->kprobes);
	sideband__free(t->sideband);
	free(t);
}

int tasks__reopen(struct tasks *t, int cpu, bool *ret_lost)
{
	/* Kprobes know no CPUs. */
	*ret_lost = !t->kprobes;
	return t->sideband ? sideband__reopen(t->sideband, cpu) : 0;
}

int tasks__fd(const struct tasks *t)
{
	return t->epoll_fd;
}

void tasks__settle(struct tasks *t)
{
	/* The ring of the kprobes is ready by what it holds, and needs no such thing. */
	if (t->sideband)
		sideband__settle(t->sideband);
}

size_t tasks__drain(struct tasks *t, int (*fn)(void *ctx, const struct rec_hdr *rec), void *ctx)
{
	size_t records = t->sideband ? sideband__drain(t->sideband, fn, ctx) : 0;

	return records + (t->kprobes ? task_kprobes__drain(t->kprobes, fn, ctx) : 0);
}

bool tasks__blocked(const struct tasks *t)
{
	return t->kprobes && task_kprobes__blocked(t->kprobes);
}

uint64_t tasks__lost(const struct tasks *t)
{
	return (t->sideband ? sideband__lost(t->sideband) : 0) +
	       (t->kprobes ? task_kprobes__lost(t->kprobes) : 0);
}

void tasks__update_lost(struct tasks *t)
{
	if (t->sideband)
		sideband__update_lost(t->sideband);
}

size_t tasks__ring_bytes(const struct tasks *t)
{
	return (t->sideband ? sideband__ring_bytes(t->sideband) : 0) +
	       (t->kprobes ? task_kprobes__ring_bytes(t->kprobes) : 0);
}
