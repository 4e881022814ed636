// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs minimal.bpf.o on every CPU until it is killed: minimal OBJECT HZ. Like ebolt it drains the
 * ring every 100 ms; what comes out is dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

static int drop(void *ctx, void *data, size_t len)
{
	return 0;
}

static int fail(const char *what)
{
	fprintf(stderr, "minimal: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.exclude_idle = 1,
	};
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct ring_buffer *ring;
	int cpus = libbpf_num_possible_cpus();

	if (argc != 3) {
		fputs("usage: minimal OBJECT HZ\n", stderr);
		return 2;
	}
	attr.sample_freq = atoi(argv[2]);
	obj = bpf_object__open(argv[1]);
	if (!obj || bpf_object__load(obj))
		return fail(argv[1]);
	prog = bpf_object__find_program_by_name(obj, "minimal");
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "stacks"), drop, NULL, NULL);
	if (!prog || !ring)
		return fail("ring buffer");
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0 || !bpf_program__attach_perf_event(prog, fd))
			return fail("perf event");
	}
	for (;;) {
		usleep(100000);
		ring_buffer__consume(ring);
	}
}
