// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU lists, event names, and what can't be opened. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/sampler.h"
#include "unit.h"

static void check_list(const char *text, const char *expected)
{
	char got[256] = "";
	struct cpu_list l;

	assert_int_equal(cpu_list__parse(&l, text), 0);
	vec_for_each(&l.cpus, cpu)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%d ", *cpu);
	assert_string_equal(got, expected);
	cpu_list__done(&l);
}

static void check_bad(const char *text, int err)
{
	struct cpu_list l;

	assert_int_equal(cpu_list__parse(&l, text), err);
	assert_int_equal(l.cpus.len, 0);
}

static void test_cpu_list(void **state)
{
	check_list("0", "0 ");
	check_list("0-3,8\n", "0 1 2 3 8 ");
	check_list("8,1-2,2-3,0", "0 1 2 3 8 ");
	check_list("8191", "8191 ");
	check_bad("", -EINVAL);
	check_bad(",", -EINVAL);
	check_bad("1,", -EINVAL);
	check_bad("1-", -EINVAL);
	check_bad("-1", -EINVAL);
	check_bad("3-1", -EINVAL);
	check_bad("1 2", -EINVAL);
	check_bad("a", -EINVAL);
	check_bad("1\n2", -EINVAL);
	check_bad("8192", -ERANGE);
	check_bad("0-99999999999999999999", -ERANGE);
}

static void test_online(void **state)
{
	struct cpu_list l;

	assert_int_equal(cpu_list__read(&l, "online"), 0);
	assert_true(cpu_list__has(&l, l.cpus.data[0]));
	assert_false(cpu_list__has(&l, CPUS_MAX - 1));
	assert_int_equal(l.cpus.len, sysconf(_SC_NPROCESSORS_ONLN));
	cpu_list__done(&l);
	assert_int_equal(cpu_list__read(&l, "nothing"), -ENOENT);
}

static void test_events(void **state)
{
	static const char *const aliases[][2] = {
		{ "cycles", "cycles" },
		{ "cpu-cycles", "cycles" },
		{ "faults", "page-faults" },
		{ "cs", "context-switches" },
		{ "migrations", "cpu-migrations" },
		{ "branch-instructions", "branches" },
		{ "cpu-clock", "cpu-clock" },
	};
	char names[512], *save = NULL;

	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		assert_string_equal(event_info__by_name(aliases[i][0])->name, aliases[i][1]);
	assert_null(event_info__by_name(""));
	assert_null(event_info__by_name("cycle"));
	/* Each name that messages list is one. */
	snprintf(names, sizeof(names), "%s", event_info__names());
	for (char *n = strtok_r(names, ", ", &save); n; n = strtok_r(NULL, ", ", &save))
		assert_string_equal(event_info__by_name(n)->name, n);
	assert_true(event_info__by_name("cycles")->time_based);
	assert_true(event_info__by_name("cpu-clock")->clock);
	assert_false(event_info__by_name("page-faults")->time_based);
}

static void test_grid_period(void **state)
{
	struct sampler s = { .event = event_info__by_name("cpu-clock"), .freq = 997 };

	assert_int_equal(sampler__grid_period(&s), 1003009);
	s.period = 2500000;
	assert_int_equal(sampler__grid_period(&s), 2500000);
	s.period = 5;
	assert_int_equal(sampler__grid_period(&s), 10000);
	s.event = event_info__by_name("page-faults");
	assert_int_equal(sampler__grid_period(&s), 0);
}

/* An event or a rate that the kernel refuses is explained, with the remedy. */
static void test_refused(void **state)
{
	struct cpu_list l;
	struct sampler_opts o = {
		.event = event_info__by_name("cpu-clock"),
		.freq = 2000000000,
		.cpus = &l,
	};
	struct sampler s;
	char *why = NULL;
	int err;

	assert_int_equal(cpu_list__parse(&l, "0"), 0);
	err = sampler__open(&s, &o, &why);
	cpu_list__done(&l);
	assert_int_not_equal(err, 0);
	assert_non_null(why);
	if (err == -EACCES || err == -EPERM)
		assert_non_null(strstr(why, "CAP_PERFMON"));
	else
		assert_non_null(strstr(why, "kernel.perf_event_max_sample_rate"));
	free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_list), cmocka_unit_test(test_online),
		cmocka_unit_test(test_events),	 cmocka_unit_test(test_grid_period),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
