// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts the parts of src/collect together: the sampling event and its BPF program, the sample
 * ring, the task records, and the merge that orders them.
 *
 * When it wakes. Samples wake nobody: a timer drains their ring every 100 ms. Task records wake
 * with the first one, so that a process of a few milliseconds can still be found in /proc;
 * for 10 ms after that they are not listened to, however many come, and then drained and listened
 * to again. One epoll descriptor, which holds the two timers and that of the task records, stands
 * for all.
 */
#include "source/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/hotplug.h"
#include "collect/reader.h"
#include "collect/sampler.h"
#include "collect/targets.h"
#include "collect/tasks.h"
#include "collect/why.h"
#include "source/live_check.h"
#include "source/merge.h"

#define NS_PER_MS	  1000000ull
#define SAMPLES_PERIOD_NS (100 * NS_PER_MS)
#define REST_NS		  (10 * NS_PER_MS)

/*
 * What a record may take from its time stamp until it can be read. Tens of microseconds, were it
 * not for hosts that take the CPU away from a guest.
 */
#define APPEAR_NS (2 * NS_PER_MS)

/* Room for the longest stall that shall lose nothing. */
#define SAMPLE_BYTES   400
#define STALL_SECONDS  3
#define RING_BYTES_MIN (256u << 10)
#define RING_BYTES_MAX (64u << 20)

#define DEFAULT_FREQ 99

struct live {
	struct source source; /* first: a struct source * is a struct live * */
	struct features features;
	struct cpu_list cpus;
	struct sampler sampler;
	struct collector *collector;
	struct reader reader;
	struct tasks *tasks;
	struct merge merge;
	uint64_t cutoff; /* of the last round */
	int epoll_fd, samples_timer, rest_timer;
	struct hotplug *hotplug;
	struct rec_lost gap; /* of a CPU that came, yet to be told; hdr.time 0: there is none */
	bool all_cpus;	     /* not only those that were asked for */
	bool running;	     /* between start and stop */
	bool resting;	     /* task records are not listened to until the rest timer fires */
	bool targets_only;
	struct buf notes;
};

static int set_timer(int fd, uint64_t first_ns, uint64_t period_ns)
{
	struct itimerspec when = {
		.it_value = { .tv_nsec = first_ns },
		.it_interval = { .tv_nsec = period_ns },
	};

	return timerfd_settime(fd, 0, &when, NULL) ? -errno : 0;
}

/* Whether a timer has fired since this was last asked. */
static bool timer_fired(int fd)
{
	uint64_t times;

	return read(fd, &times, sizeof(times)) == sizeof(times);
}

static int listen_to_tasks(struct live *l, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0 };

	if (l->resting == !on)
		return 0;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, tasks__fd(l->tasks), &ev))
		return -errno;
	l->resting = !on;
	return 0;
}

struct add_task_ctx {
	struct live *l;
	const struct source_sink *sink;
};

static int add_task(void *ctx, const struct rec_hdr *rec)
{
	struct add_task_ctx *c = ctx;

	if (c->sink->foresee)
		c->sink->foresee(c->sink->ctx, rec);
	return merge__add_task(&c->l->merge, rec);
}

static int add_samples(struct live *l)
{
	const struct rec_sample *rec;
	size_t len;
	int err = 0;

	reader__begin(&l->reader);
	while (!err && (rec = reader__next(&l->reader, &len)))
		err = merge__add_sample(&l->merge, &rec->hdr);
	return err;
}

/* A CPU came online. -ENODEV: and went again. */
static int sample_on(struct live *l, int cpu)
{
	struct sampler_cpu *c = sampler__on_cpu(&l->sampler, cpu);
	int err;

	if (!l->all_cpus && !cpu_list__has(&l->cpus, cpu))
		return 0;
	if (c)
		collector__detach(l->collector, c->fd);
	err = sampler__reopen(&l->sampler, cpu);
	if (err)
		return err;
	c = sampler__on_cpu(&l->sampler, cpu);
	err = collector__attach(l->collector, c->fd);
	return err || !l->running ? err : sampler_cpu__enable(c);
}

/*
 * Bounds of what is held: task records of full rings, which in our form are less than twice as
 * long, and as many held; and what a full sample ring adds to the most records that those bytes can
 * be.
 */
static void merge_bounds(const struct live *l, size_t *ret_records, size_t *ret_bytes)
{
	size_t bytes = 4 * tasks__ring_bytes(l->tasks) + l->reader.bytes;

	*ret_bytes = bytes;
	*ret_records = l->reader.bytes / (sizeof(struct rec_sample) + 8) + 1 +
		       bytes / sizeof(struct rec_lost);
}

static int cpu_came(struct live *l, int cpu)
{
	size_t records, bytes;
	bool some_lost = false;
	int err = tasks__reopen(l->tasks, cpu, &some_lost);

	if (!err) {
		merge_bounds(l, &records, &bytes);
		err = merge__raise(&l->merge, records, bytes);
	}
	if (!err)
		err = sample_on(l, cpu);
	if (err == -ENODEV)
		return 0;
	/* It came since the last round, which handed out what is not newer than its cutoff. */
	if (!err && some_lost && !l->gap.hdr.time)
		l->gap.hdr.time = l->cutoff + 1;
	return err;
}

/*
 * To be called right after the task records were drained (nothing is in the rings of CPUs that are
 * gone), and before any sample is handed out that is newer than the last cutoff.
 */
static int look_for_cpus(struct live *l)
{
	int cpu, err;

	while ((err = hotplug__next(l->hotplug, &cpu)) == 1) {
		err = cpu_came(l, cpu);
		if (err)
			break;
	}
	if (!l->gap.hdr.time)
		return err;
	l->gap.hdr.type = REC_LOST;
	l->gap.hdr.length = sizeof(l->gap);
	l->gap.until = clock__now();
	/* If there is no room for it: in the next round. */
	if (!merge__add_task(&l->merge, &l->gap.hdr))
		l->gap.hdr.time = 0;
	return err;
}

/*
 * One round, in the order that source/merge.h explains. `last`: nothing comes after, so nothing
 * is held. *ret_tasks: task records that came.
 */
static int drain(struct live *l, const struct source_sink *sink, bool last, size_t *ret_tasks)
{
	struct add_task_ctx ctx = { .l = l, .sink = sink };
	uint64_t cutoff = clock__now() - APPEAR_NS;
	int err = add_samples(l), cpus_err;

	*ret_tasks = tasks__drain(l->tasks, add_task, &ctx);
	cpus_err = last ? 0 : look_for_cpus(l);
	/* Behind a record that is still being written there may be older ones than the cutoff. */
	if (reader__blocked(&l->reader) || tasks__blocked(l->tasks))
		cutoff = l->cutoff;
	l->cutoff = cutoff;
	if (sink->round)
		sink->round(sink->ctx);
	if (!err)
		err = merge__run(&l->merge, last ? UINT64_MAX : cutoff, sink);
	/* The samples were used in place: only now may the kernel write over them. */
	reader__release(&l->reader);
	return err ? err : cpus_err;
}

static int live_start(struct source *src)
{
	struct live *l = (struct live *)src;
	int err = set_timer(l->samples_timer, SAMPLES_PERIOD_NS, SAMPLES_PERIOD_NS);

	l->running = !err;
	return err ? err : sampler__enable(&l->sampler);
}

static int live_fd(struct source *src)
{
	return ((struct live *)src)->epoll_fd;
}

static int live_dispatch(struct source *src, const struct source_sink *sink)
{
	struct live *l = (struct live *)src;
	bool rested = timer_fired(l->rest_timer);
	size_t tasks;
	int err;

	timer_fired(l->samples_timer);
	if (rested)
		tasks__settle(l->tasks);
	err = drain(l, sink, false, &tasks);
	if (err)
		return err;
	/* What is held needs no hurry: it was foreseen. */
	if (tasks) {
		if (l->resting && !rested)
			return 0; /* the timer is running */
		err = set_timer(l->rest_timer, REST_NS, 0);
		return err ? err : listen_to_tasks(l, false);
	}
	return rested ? listen_to_tasks(l, true) : 0;
}

static int live_stop(struct source *src, const struct source_sink *sink)
{
	struct live *l = (struct live *)src;
	int disable_err = sampler__disable(&l->sampler);
	size_t tasks;
	int err = drain(l, sink, true, &tasks);

	tasks__update_lost(l->tasks);
	set_timer(l->samples_timer, 0, 0);
	set_timer(l->rest_timer, 0, 0);
	return err ? err : disable_err;
}

/*
 * How many samples of a CPU the kernel dropped. Of a clock event the program counted them (see
 * bpf/grid.bpf.h). Any other event has a count of its own: what no fire stands for was missed,
 * beyond the part that leads to the next fire.
 */
static uint64_t cpu_missed(const struct live *l, const struct sampler_cpu *cpu,
			   const struct cpu_state *s)
{
	uint64_t count, rest, mean;

	if (sampler__grid_period(&l->sampler))
		return (int64_t)s->counts.missed > 0 ? s->counts.missed : 0;
	if (!s->nr_periods || sampler_cpu__count(cpu, &count) || count <= s->period_sum)
		return 0;
	rest = count - s->period_sum;
	mean = s->period_sum / s->nr_periods;
	return rest >= s->period_last && mean ? rest / mean : 0;
}

static void live_counts(struct source *src, struct source_counts *ret)
{
	struct live *l = (struct live *)src;
	struct source_counts sum = { 0 };

	for (size_t i = 0; i < collector__nr_cpus(l->collector); i++) {
		const struct cpu_state *s = collector__cpu_state(l->collector, i);

#define STAT(name, kind, help) sum.name += s->counts.name;
#include "../../bpf/stats.def"
#undef STAT
	}
	sum.missed = 0;
	vec_for_each(&l->sampler.cpus, cpu)
		sum.missed += cpu_missed(l, cpu, collector__cpu_state(l->collector, cpu->cpu));
	sum.task_lost += tasks__lost(l->tasks);
	*ret = sum;
}

static void live_free(struct source *src)
{
	struct live *l = (struct live *)src;

	/* The event first: its program uses the maps. */
	sampler__done(&l->sampler);
	reader__done(&l->reader);
	collector__free(l->collector);
	tasks__free(l->tasks);
	merge__done(&l->merge);
	cpu_list__done(&l->cpus);
	buf__done(&l->notes);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->samples_timer >= 0)
		close(l->samples_timer);
	if (l->rest_timer >= 0)
		close(l->rest_timer);
	hotplug__free(l->hotplug);
	free(l);
}

static const struct source_ops live_ops = {
	.start = live_start,
	.fd = live_fd,
	.dispatch = live_dispatch,
	.stop = live_stop,
	.counts = live_counts,
	.free = live_free,
};

static int choose_cpus(struct live *l, const char *list, char **ret_why)
{
	struct cpu_list online;
	int err = cpu_list__read(&online, "online");

	if (err) {
		*ret_why = why__format("/sys/devices/system/cpu/online: %s; is sysfs mounted?",
				       strerror(-err));
		return err;
	}
	if (!list) {
		l->cpus = online;
		return 0;
	}
	err = cpu_list__parse(&l->cpus, list);
	for (size_t i = 0; !err && i < l->cpus.cpus.len; i++) {
		if (cpu_list__has(&online, l->cpus.cpus.data[i]))
			continue;
		err = -ENODEV;
		*ret_why = why__format("CPU %d: offline, or there is no such CPU; "
				       "/sys/devices/system/cpu/online lists those that can be "
				       "sampled",
				       l->cpus.cpus.data[i]);
	}
	cpu_list__done(&online);
	return err;
}

/* Checked beforehand, since what fails for want of descriptors deep in libbpf is hard to tell. */
static int check_nofile(const struct live *l, char **ret_why)
{
	/* The event and its link; the side-band, of all CPUs, whichever are sampled. */
	size_t need = 2 * l->cpus.cpus.len + sysconf(_SC_NPROCESSORS_ONLN) + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return 0;
	*ret_why = why__format("the limit of open files is %llu, sampling %zu CPUs needs %zu; "
			       "raise it (ulimit -n)",
			       (unsigned long long)limit.rlim_cur, l->cpus.cpus.len, need);
	return -EMFILE;
}

static int open_sampler(struct live *l, const struct live_opts *o, char **ret_why)
{
	struct sampler_opts so = {
		.event = event_info__by_name(o->event ? o->event : "cycles"),
		.freq = o->freq ? o->freq : DEFAULT_FREQ,
		.period = o->period,
		.include_idle = o->include_idle,
		.cpus = &l->cpus,
	};
	int err = sampler__open(&l->sampler, &so, ret_why);

	if (o->event || (err != -ENOENT && err != -EOPNOTSUPP && err != -ENODEV))
		return err;
	free(*ret_why);
	*ret_why = NULL;
	so.event = event_info__by_name("cpu-clock");
	buf__puts(&l->notes, "no hardware counters (PMU) here: sampling cpu-clock, not cycles\n");
	return sampler__open(&l->sampler, &so, ret_why);
}

static size_t ring_bytes(const struct live *l)
{
	uint64_t grid = sampler__grid_period(&l->sampler), bytes = RING_BYTES_MIN;
	/* How often an event with a period fires can't be known; take it for a brisk one. */
	uint64_t freq = grid ? 1000000000 / grid : l->sampler.period ? 1000 : l->sampler.freq;
	uint64_t want = l->sampler.cpus.len * freq * SAMPLE_BYTES * STALL_SECONDS;

	while (bytes < want && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

static int open_collector(struct live *l, const struct live_opts *o, char **ret_why)
{
	struct collector_opts co = {
		.config = {
			.grid_period = sampler__grid_period(&l->sampler),
			.targets_only = o->targets_only,
			.no_kernel = o->no_kernel,
			.no_user = o->no_user,
			.include_idle = o->include_idle,
		},
		.ring_bytes = o->ring_bytes ? o->ring_bytes : ring_bytes(l),
		.features = &l->features,
	};
	int err = collector__open(&co, &l->collector, ret_why);

	for (size_t i = 0; !err && i < l->sampler.cpus.len; i++) {
		err = collector__attach(l->collector, l->sampler.cpus.data[i].fd);
		if (err)
			*ret_why = why__format("attaching the BPF program to %s on CPU %d: %s",
					       l->sampler.event->name, l->sampler.cpus.data[i].cpu,
					       strerror(-err));
	}
	if (err)
		return err;
	err = reader__open(&l->reader, collector__ring_fd(l->collector),
			   collector__ring_bytes(l->collector));
	if (err)
		*ret_why = why__format("mapping the sample ring of %zu KiB: %s",
				       collector__ring_bytes(l->collector) / 1024, strerror(-err));
	return err;
}

static int open_tasks(struct live *l, char **ret_why)
{
	_cleanup_free_ char *note = NULL;
	struct cpu_list online;
	/* Of all CPUs, whichever are sampled: a process may exec on one and run on another. */
	int err = cpu_list__read(&online, "online");

	if (!err)
		err = tasks__open(&l->features, &online, &l->tasks, &note, ret_why);
	if (note)
		buf__printf(&l->notes, "%s\n", note);
	cpu_list__done(&online);
	return err;
}

static int watch(struct live *l, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return fd < 0 || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int open_waiting(struct live *l)
{
	size_t records, bytes;
	int err;

	merge_bounds(l, &records, &bytes);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->samples_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->rest_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->epoll_fd < 0)
		return -errno;
	err = watch(l, l->samples_timer);
	if (!err)
		err = watch(l, l->rest_timer);
	if (!err)
		err = watch(l, tasks__fd(l->tasks));
	if (!err && hotplug__fd(l->hotplug) >= 0)
		err = watch(l, hotplug__fd(l->hotplug));
	return err ? err : merge__init(&l->merge, records, bytes);
}

static void note_fallbacks(struct live *l)
{
	for (int i = 0; i < FEATURES; i++) {
		bool matters = i == FEATURE_TRACEPOINTS	    ? l->targets_only
			       : i == FEATURE_IDLE_SWITCHES ? sampler__grid_period(&l->sampler) != 0
							    : true;

		if (!l->features.has[i] && matters)
			buf__printf(&l->notes, "%s %s: %s\n", feature_infos[i].name,
				    l->features.disabled[i] ? "disabled" : "not available",
				    feature_infos[i].fallback);
	}
}

static int open_parts(struct live *l, const struct live_opts *o, char **ret_why)
{
	const char *unknown;
	int err = live__check(o, ret_why);

	if (!err)
		err = live_check__namespaces(ret_why);
	if (err)
		return err;
	features__probe(&l->features, o->disable_features, o->btf, &unknown);
	/* Before any list of CPUs is read: one that comes meanwhile is opened once more. */
	err = hotplug__open(l->features.has[FEATURE_UEVENTS], &l->hotplug);
	if (!err)
		err = choose_cpus(l, o->cpus, ret_why);
	if (!err)
		err = check_nofile(l, ret_why);
	if (!err)
		err = open_sampler(l, o, ret_why);
	if (err)
		return err;
	err = open_collector(l, o, ret_why);
	if (!err)
		err = open_tasks(l, ret_why);
	if (!err)
		err = open_waiting(l);
	if (!err)
		note_fallbacks(l);
	return err;
}

int live__open(const struct live_opts *opts, struct source **ret, char **ret_why)
{
	struct live *l = calloc(1, sizeof(*l));
	char *why = NULL;
	int err;

	if (!l)
		return -ENOMEM;
	l->source.ops = &live_ops;
	l->epoll_fd = l->samples_timer = l->rest_timer = -1;
	l->all_cpus = !opts->cpus;
	l->targets_only = opts->targets_only;
	buf__init(&l->notes, 16 * 1024);
	err = open_parts(l, opts, &why);
	if (err) {
		*ret_why = why ? why : why__format("starting to sample: %s", strerror(-err));
		live_free(&l->source);
		return err;
	}
	*ret = &l->source;
	return 0;
}

int live__add_targets(struct source *src, const pid_t *pids, size_t nr, pid_t *ret_failed)
{
	return targets__add_all(((struct live *)src)->collector, pids, nr, ret_failed);
}

const char *live__event_name(const struct source *src)
{
	return ((const struct live *)src)->sampler.event->name;
}

bool live__event_is_time_based(const struct source *src)
{
	return ((const struct live *)src)->sampler.event->time_based;
}

bool live__tasks_by_bpf(const struct source *src)
{
	return ((const struct live *)src)->features.has[FEATURE_TASK_KPROBES];
}

const char *live__notes(const struct source *src)
{
	const struct live *l = (const struct live *)src;

	return l->notes.len ? l->notes.data : NULL;
}

void live__for_each_cpu(struct source *src,
			void (*fn)(void *ctx, int cpu, uint64_t fired, uint64_t missed), void *ctx)
{
	struct live *l = (struct live *)src;

	vec_for_each(&l->sampler.cpus, cpu) {
		const struct cpu_state *s = collector__cpu_state(l->collector, cpu->cpu);

		fn(ctx, cpu->cpu, s->counts.fired, cpu_missed(l, cpu, s));
	}
}
