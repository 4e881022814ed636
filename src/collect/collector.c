// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two BPF objects: sample, and targets where children are followed. They share their maps: the
 * first one makes them, the second is given their descriptors before it is loaded.
 */
#include "collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "collect/libbpf_log.h"
#include "collect/perf_event.h"
#include "collect/sampler.h"
#include "collect/why.h"
#include "sample.skel.h"
#include "targets.skel.h"

/* Map sizes have 32 bits, and libbpf rounds rings up to a power of two. */
#define RING_BYTES_MAX (1u << 31)

/* A link to a perf event. */
struct attached {
	int event_fd; /* borrowed */
	int link_fd;
};

struct collector {
	struct sample_bpf *sample;
	struct targets_bpf *targets; /* NULL: everything is recorded */
	const struct features *features;
	VEC(struct bpf_link *) links;
	VEC(int) fds; /* tracepoint events */
	VEC(struct attached) attached;
	const struct cpu_state *states;
	size_t nr_states, states_bytes;
};

/* Where a map of a wanted size can't be had, that is the reason for a failed load. */
static char *why_no_ring(const struct collector *c, const struct collector_opts *o)
{
	_cleanup_close_ int fd = -1;
	int err = -E2BIG;

	if (o->ring_bytes <= RING_BYTES_MAX && c->sample) {
		fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "probe", 0, 0, collector__ring_bytes(c),
				    NULL);
		err = -errno;
	}
	if (fd >= 0 || (err != -ENOMEM && err != -E2BIG))
		return NULL;
	return why__format("a sample ring of %zu KiB: %s; lower -F, or make the ring smaller",
			   o->ring_bytes / 1024,
			   err == -E2BIG ? "larger than the kernel has them" : strerror(-err));
}

static int load_sample(struct collector *c, const struct collector_opts *o,
		       const struct bpf_config *config)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .btf_custom_path = o->features->btf);
	struct sample_bpf *s;
	int err;

	if (o->ring_bytes > RING_BYTES_MAX)
		return -E2BIG;
	s = sample_bpf__open_opts(&open_opts);
	if (!s)
		return -errno;
	c->sample = s;
	s->rodata->config = *config;
	err = bpf_map__set_max_entries(s->maps.cpu_states, c->nr_states);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.samples, o->ring_bytes);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.targets,
					       config->targets_only ? TARGETS_MAX : 1);
	return err ? err : sample_bpf__load(s);
}

static int map_states(struct collector *c)
{
	size_t page = getpagesize();
	void *states;

	c->states_bytes = (c->nr_states * sizeof(struct cpu_state) + page - 1) & ~(page - 1);
	states = mmap(NULL, c->states_bytes, PROT_READ, MAP_SHARED,
		      bpf_map__fd(c->sample->maps.cpu_states), 0);
	if (states == MAP_FAILED)
		return -errno;
	c->states = states;
	return 0;
}

static int attach_tracepoint(struct collector *c, struct bpf_program *prog, const char *category,
			     const char *name)
{
	int id = tracepoint__id(category, name);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
	};
	int fd, err;

	if (id < 0)
		return id;
	/* The program runs in every process, whichever this event is of. */
	fd = perf_event__open(&attr, 0, -1);
	if (fd < 0)
		return -errno;
	err = vec_push(&c->fds, fd);
	if (err) {
		close(fd);
		return err;
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

static int attach_raw(struct collector *c, struct bpf_program *prog, const char *name)
{
	struct bpf_link *link = bpf_program__attach_raw_tracepoint(prog, name);
	int err;

	if (!link)
		return -errno;
	err = vec_push(&c->links, link);
	if (err)
		bpf_link__destroy(link);
	return err;
}

/* The maps of the sample object, so that both work on the same. */
static int share_maps(struct collector *c)
{
	const struct {
		struct bpf_map *from, *to;
	} maps[] = {
		{ c->sample->maps.cpu_states, c->targets->maps.cpu_states },
		{ c->sample->maps.samples, c->targets->maps.samples },
		{ c->sample->maps.targets, c->targets->maps.targets },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(maps) && !err; i++)
		err = bpf_map__reuse_fd(maps[i].to, bpf_map__fd(maps[i].from));
	return err;
}

static int load_targets(struct collector *c, const struct bpf_config *config)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .btf_custom_path = c->features->btf);
	bool classic = c->features->has[FEATURE_TRACEPOINTS];
	int err;

	c->targets = targets_bpf__open_opts(&open_opts);
	if (!c->targets)
		return -errno;

	const struct {
		const char *category, *name;
		struct bpf_program *prog, *raw;
	} hooks[] = {
#define HOOK(name) c->targets->progs.name, c->targets->progs.name##_raw
		{ "task", "task_newtask", HOOK(on_new) },
		{ "sched", "sched_process_exit", HOOK(on_exit) },
		{ "sched", "sched_process_free", HOOK(on_free) },
#undef HOOK
	};

	c->targets->rodata->config = *config;
	err = share_maps(c);
	for (size_t i = 0; i < ARRAY_SIZE(hooks) && !err; i++)
		err = bpf_program__set_autoload(classic ? hooks[i].raw : hooks[i].prog, false);
	if (!err)
		err = targets_bpf__load(c->targets);
	for (size_t i = 0; i < ARRAY_SIZE(hooks) && !err; i++)
		err = classic ? attach_tracepoint(c, hooks[i].prog, hooks[i].category,
						  hooks[i].name)
			      : attach_raw(c, hooks[i].raw, hooks[i].name);
	return err;
}

/* CPU numbers may have gaps, so what counts is the highest. */
static int count_states(size_t *ret)
{
	struct cpu_list possible;
	int err = cpu_list__read(&possible, "possible");

	if (!err && !possible.cpus.len)
		err = -EINVAL;
	if (!err)
		*ret = possible.cpus.data[possible.cpus.len - 1] + 1;
	cpu_list__done(&possible);
	return err;
}

static int open_all(struct collector *c, const struct collector_opts *o, char **ret_why)
{
	struct bpf_config config = o->config;
	long max_stack = why__sysctl("kernel/perf_event_max_stack", REC_STACK_MAX);
	int err = count_states(&c->nr_states);

	if (err) {
		*ret_why = why__format("/sys/devices/system/cpu/possible: %s", strerror(-err));
		return err;
	}
	config.max_stack = max_stack > 0 && max_stack < REC_STACK_MAX ? max_stack : REC_STACK_MAX;
	config.task_btf = o->features->has[FEATURE_TASK_BTF];
	config.idle_switches = o->features->has[FEATURE_IDLE_SWITCHES];
	err = load_sample(c, o, &config);
	if (err) {
		*ret_why = why_no_ring(c, o);
		if (!*ret_why)
			*ret_why =
				libbpf_log__why("loading the BPF programs", o->features->btf, err);
		return err;
	}
	err = map_states(c);
	if (err) {
		*ret_why = why__format("mapping the counters of %zu CPUs: %s", c->nr_states,
				       strerror(-err));
		return err;
	}
	if (!config.targets_only)
		return 0;
	err = load_targets(c, &config);
	if (err)
		*ret_why = libbpf_log__why("following child processes", o->features->btf, err);
	return err;
}

int collector__open(const struct collector_opts *opts, struct collector **ret, char **ret_why)
{
	struct collector *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->features = opts->features;
	vec_init(&c->links, 16);
	vec_init(&c->fds, 16);
	vec_init(&c->attached, CPUS_MAX);
	libbpf_log__start();
	err = open_all(c, opts, ret_why);
	if (err) {
		collector__free(c);
		return err;
	}
	*ret = c;
	return 0;
}

void collector__free(struct collector *c)
{
	if (!c)
		return;
	vec_for_each(&c->links, link)
		bpf_link__destroy(*link);
	vec_done(&c->links);
	vec_for_each(&c->fds, fd)
		close(*fd);
	vec_done(&c->fds);
	vec_for_each(&c->attached, a)
		close(a->link_fd);
	vec_done(&c->attached);
	if (c->states)
		munmap((void *)c->states, c->states_bytes);
	targets_bpf__destroy(c->targets);
	sample_bpf__destroy(c->sample);
	free(c);
}

int collector__attach(struct collector *c, int perf_fd)
{
	struct bpf_program *prog = c->sample->progs.on_sample;
	int err, link_fd;

	if (!c->features->has[FEATURE_PERF_LINK])
		return ioctl(perf_fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) ? -errno : 0;

	/* libbpf's own attach would enable the event, and close it with the link. */
	link_fd = bpf_link_create(bpf_program__fd(prog), perf_fd, BPF_PERF_EVENT, NULL);
	if (link_fd < 0)
		return -errno;
	err = vec_push(&c->attached, (struct attached){ perf_fd, link_fd });
	if (err)
		close(link_fd);
	return err;
}

void collector__detach(struct collector *c, int perf_fd)
{
	for (size_t i = 0; i < c->attached.len; i++) {
		if (c->attached.data[i].event_fd != perf_fd)
			continue;
		close(c->attached.data[i].link_fd);
		vec_remove(&c->attached, i, 1);
		return;
	}
}

int collector__ring_fd(const struct collector *c)
{
	return bpf_map__fd(c->sample->maps.samples);
}

size_t collector__ring_bytes(const struct collector *c)
{
	return bpf_map__max_entries(c->sample->maps.samples);
}

const struct cpu_state *collector__cpu_state(const struct collector *c, int cpu)
{
	return cpu >= 0 && (size_t)cpu < c->nr_states ? &c->states[cpu] : NULL;
}

size_t collector__nr_cpus(const struct collector *c)
{
	return c->nr_states;
}

int collector__add_target(struct collector *c, pid_t pid)
{
	__u32 key = pid, live = TARGET_LIVE;

	return bpf_map_update_elem(bpf_map__fd(c->sample->maps.targets), &key, &live, BPF_NOEXIST)
		       ? -errno
		       : 0;
}

bool collector__is_target(const struct collector *c, pid_t pid)
{
	__u32 key = pid, state;

	return !bpf_map_lookup_elem(bpf_map__fd(c->sample->maps.targets), &key, &state);
}

void collector__remove_target(struct collector *c, pid_t pid)
{
	__u32 key = pid;

	bpf_map_delete_elem(bpf_map__fd(c->sample->maps.targets), &key);
}
