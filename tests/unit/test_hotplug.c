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

static void test_socket(void **state)
{
	int fd = hotplug__open(), cpu = -1;

	if (fd < 0)
		skip();
	assert_int_equal(hotplug__next(fd, &cpu), 0);
	assert_int_equal(cpu, -1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_online),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_not_terminated),
		cmocka_unit_test(test_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
