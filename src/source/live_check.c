// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/live_check.h"

#include <errno.h>
#include <unistd.h>

#include "collect/features.h"
#include "collect/sampler.h"
#include "collect/why.h"
#include "source/live.h"

int live_check__namespaces(char **ret_why)
{
	if (access("/proc/self", F_OK)) {
		*ret_why = why__format("/proc isn't mounted here, which says what runs; mount it "
				       "(mount -t proc proc /proc)");
		return -ENOENT;
	}
	if (!why__in_initial_pid_ns()) {
		*ret_why = why__format("this is not the initial pid namespace, so the kernel's "
				       "process ids can't be told apart here; run on the host, or "
				       "in a container with the host's pid namespace (--pid=host)");
		return -EPERM;
	}
	if (!why__in_initial_time_ns()) {
		*ret_why = why__format("this is not the initial time namespace, so the kernel's "
				       "times can't be compared with those here; run outside of it "
				       "(nsenter --time=/proc/1/ns/time)");
		return -EPERM;
	}
	return 0;
}

int live__check(const struct live_opts *o, char **ret_why)
{
	const char *const *feature = o->disable_features;
	struct cpu_list cpus = { 0 };
	int err = o->cpus ? cpu_list__parse(&cpus, o->cpus) : 0;

	cpu_list__done(&cpus);
	if (err == -ENOMEM)
		return err;
	while (feature && *feature && feature__by_name(*feature) != FEATURES)
		feature++;
	if (err)
		*ret_why = why__format("CPUs \"%s\": %s", o->cpus,
				       err == -ERANGE ? "no machine has such a CPU"
						      : "not a list such as 0-3,8");
	else if (o->event && !event_info__by_name(o->event))
		*ret_why = why__format("event %s: unknown; known are %s", o->event,
				       event_info__names());
	else if (feature && *feature)
		*ret_why = why__format("feature %s: unknown; ebolt doctor lists them", *feature);
	else
		return 0;
	return -EINVAL;
}
