// SPDX-License-Identifier: GPL-2.0-or-later
/* Feature names, and that disabling one by name reaches its fallback. */
#include <errno.h>

#include "collect/features.h"
#include "unit.h"

static void test_names(void **state)
{
	for (int i = 0; i < FEATURES; i++) {
		const struct feature_info *info = &feature_infos[i];

		assert_non_null(info->name);
		assert_non_null(info->help);
		assert_non_null(info->fallback);
		assert_non_null(info->probe);
		assert_int_equal(feature__by_name(info->name), i);
	}
	assert_int_equal(feature__by_name(""), FEATURES);
	assert_int_equal(feature__by_name("task"), FEATURES);
}

static void test_disabled(void **state)
{
	const char *const all[] = { "task-btf",	    "perf-link",  "idle-switches",
				    "ksymbol",	    "lost-count", "tracepoints",
				    "task-kprobes", "uevents",	  "kcmp",
				    "map-files",    NULL };
	const char *const one[] = { "ksymbol", NULL };
	struct features f, g;
	const char *unknown = NULL;

	assert_int_equal(features__probe(&f, all, NULL, &unknown), 0);
	for (int i = 0; i < FEATURES; i++) {
		assert_false(f.has[i]);
		assert_true(f.disabled[i]);
	}
	assert_int_equal(features__probe(&f, NULL, NULL, &unknown), 0);
	assert_int_equal(features__probe(&g, one, NULL, &unknown), 0);
	for (int i = 0; i < FEATURES; i++) {
		assert_false(f.disabled[i]);
		assert_int_equal(g.has[i], i == FEATURE_KSYMBOL ? false : f.has[i]);
	}
	assert_null(unknown);
}

static void test_unknown(void **state)
{
	const char *const names[] = { "ksymbol", "no-such", NULL };
	struct features f = { .has = { true } };
	const char *unknown = NULL;

	assert_int_equal(features__probe(&f, names, NULL, &unknown), -EINVAL);
	assert_string_equal(unknown, "no-such");
	assert_true(f.has[0]); /* untouched on failure */
}

static void test_tracepoint_id(void **state)
{
	assert_true(tracepoint__id("sched", "no_such_tracepoint") < 0);
	if (tracepoint__id("sched", "sched_process_exit") == -EPERM ||
	    tracepoint__id("sched", "sched_process_exit") == -EACCES)
		skip();
	assert_true(tracepoint__id("sched", "sched_process_exit") > 0);
	assert_int_not_equal(tracepoint__id("sched", "sched_process_exit"),
			     tracepoint__id("task", "task_newtask"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_tracepoint_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
