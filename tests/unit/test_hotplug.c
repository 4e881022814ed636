// SPDX-License-Identifier: GPL-2.0-or-later
/* Which uevents say that a CPU came online. */
#include <unistd.h>

#include "collect/hotplug.h"
#include "unit.h"

#define PARSE(text) hotplug__parse(text, sizeof(text))

static void test_online(void **state)
{
	/* As udevadm monitor --kernel --property shows them, a field a NUL. */
	assert_int_equal(PARSE("online@/devices/system/cpu/cpu1\0ACTION=online\0"
			       "DEVPATH=/devices/system/cpu/cpu1\0SUBSYSTEM=cpu\0SEQNUM=1"),
			 1);
	assert_int_equal(PARSE("x\0SUBSYSTEM=cpu\0DEVPATH=/devices/system/cpu/cpu8191\0"
			       "ACTION=online"),
			 8191);
}

static void test_others(void **state)
{
	assert_int_equal(PARSE("ACTION=offline\0DEVPATH=/devices/system/cpu/cpu1\0SUBSYSTEM=cpu"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0DEVPATH=/devices/system/cpu/cpu1\0SUBSYSTEM=mem"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0DEVPATH=/devices/system/cpu/cpufreq\0"
			       "SUBSYSTEM=cpu"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0DEVPATH=/devices/system/cpu/cpu\0SUBSYSTEM=cpu"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0DEVPATH=/devices/system/cpu/cpu1x\0SUBSYSTEM=cpu"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0DEVPATH=/devices/system/cpu/cpu8192\0"
			       "SUBSYSTEM=cpu"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0DEVPATH=/devices/system/cpu/cpu99999999999999999999"
			       "\0SUBSYSTEM=cpu"),
			 -1);
	assert_int_equal(PARSE("ACTION=online\0SUBSYSTEM=cpu"), -1);
}

static void test_not_terminated(void **state)
{
	static const char text[] = "ACTION=online\0DEVPATH=/devices/system/cpu/cpu1\0SUBSYSTEM=cpu";

	for (size_t len = 0; len < sizeof(text); len++) {
		char *exact = test_malloc(len + 1); /* so that what reads on is found */

		memcpy(exact, text, len);
		exact[len] = 'x';
		assert_int_equal(hotplug__parse(exact, len), -1);
		test_free(exact);
	}
}

static void check_added(const char *was, const char *is, const char *expected)
{
	struct cpu_list a, b, want, added;

	assert_int_equal(cpu_list__parse(&a, was), 0);
	assert_int_equal(cpu_list__parse(&b, is), 0);
	assert_int_equal(hotplug__added(&a, &b, &added), 0);
	assert_int_equal(cpu_list__parse(&want, expected), 0);
	assert_int_equal(added.cpus.len, want.cpus.len);
	for (size_t i = 0; i < want.cpus.len; i++)
		assert_int_equal(added.cpus.data[i], want.cpus.data[i]);
	cpu_list__done(&a);
	cpu_list__done(&b);
	cpu_list__done(&want);
	cpu_list__done(&added);
}

static void test_added(void **state)
{
	check_added("0-2", "0-5,8", "3-5,8");
	check_added("1-3", "0-2", "0");
}

/* None comes meanwhile; without uevents, none that was there is taken for new. */
static void open_and_ask(bool uevents)
{
	struct hotplug *h;
	int cpu = -1;

	assert_int_equal(hotplug__open(uevents, &h), 0);
	assert_int_equal(hotplug__fd(h) >= 0, uevents);
	assert_int_equal(hotplug__next(h, &cpu), 0);
	if (!uevents)
		usleep(1100000); /* it looks every second */
	assert_int_equal(hotplug__next(h, &cpu), 0);
	assert_int_equal(cpu, -1);
	hotplug__free(h);
}

static void test_uevents(void **state)
{
	if (!hotplug__has_uevents())
		skip();
	open_and_ask(true);
}

static void test_no_uevents(void **state)
{
	open_and_ask(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_online),	       cmocka_unit_test(test_others),
		cmocka_unit_test(test_not_terminated), cmocka_unit_test(test_added),
		cmocka_unit_test(test_uevents),	       cmocka_unit_test(test_no_uevents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
