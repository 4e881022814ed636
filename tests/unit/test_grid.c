// SPDX-License-Identifier: GPL-2.0-or-later
/* Counting missed fires of a clock event, on made-up times. */
#include "unit.h"

#include "../../bpf/grid.bpf.h"

#define PERIOD 1003009ull /* 997 Hz */
#define START  77777777777ull

struct clock {
	struct cpu_grid grid;
	int64_t missed;
	uint64_t idle_switches;
};

static void fire(struct clock *c, uint64_t point, int64_t late)
{
	c->missed +=
		grid__fire(&c->grid, PERIOD, START + point * PERIOD + late, true, c->idle_switches);
}

/* Late by up to nine tenths of a period, at random: nothing was missed, and that is what it says.
 */
static void test_jitter(void **state)
{
	unsigned int seed = 1;
	struct clock c = { 0 };

	for (uint64_t i = 0; i < 100000; i++)
		fire(&c, i, rand_r(&seed) % 8 ? rand_r(&seed) % 20000 : rand_r(&seed) % 800000);
	assert_int_equal(c.missed, 0);
}

/* A third of the fires never happen, whatever the lateness of the others. */
static void test_dropped(void **state)
{
	unsigned int seed = 2;
	struct clock c = { 0 };
	int64_t dropped = 0;

	fire(&c, 0, 1000);
	for (uint64_t i = 1; i < 100000; i++) {
		if (i < 99999 && rand_r(&seed) % 3 == 0)
			dropped++;
		else
			fire(&c, i, rand_r(&seed) % 300000);
	}
	assert_int_equal(c.missed, dropped);
}

/* So late that the next grid points pass by: the timer skips them, which counts. */
static void test_very_late(void **state)
{
	struct clock c = { 0 };

	for (uint64_t i = 0; i < 100; i++)
		fire(&c, i, 2000);
	fire(&c, 100, 5 * PERIOD + PERIOD / 2);
	assert_int_equal(c.missed, 5);
	for (uint64_t i = 106; i < 200; i++)
		fire(&c, i, 2000);
	assert_int_equal(c.missed, 5);
}

/* Taken for its successor, which then is no progress: the two cancel. */
static void test_mistaken(void **state)
{
	struct clock c = { 0 };

	for (uint64_t i = 0; i < 1000; i++)
		fire(&c, i, i % 10 == 9 ? PERIOD * 95 / 100 : 0);
	fire(&c, 1000, 0);
	assert_int_equal(c.missed, 0);
}

/* The first fire was late, so the grid is placed too late; the next ones are early against it. */
static void test_late_start(void **state)
{
	struct clock c = { 0 };

	fire(&c, 0, PERIOD / 10);
	for (uint64_t i = 1; i < 1000; i++)
		fire(&c, i, 0);
	assert_int_equal(c.missed, 0);
}

/* The timer is restarted later by part of a period, again and again: nothing adds up. */
static void test_restarted(void **state)
{
	struct clock c = { 0 };
	uint64_t phase = 0;

	for (uint64_t i = 0; i < 200000; i++) {
		if (i % 1000 == 0)
			phase += PERIOD * 3 / 10;
		c.missed +=
			grid__fire(&c.grid, PERIOD, START + i * PERIOD + phase + i % 5000, true, 0);
	}
	assert_int_equal(c.missed, 0);
}

static void test_slow_clock(void **state)
{
	struct clock c = { 0 };

	/* The grid is 1 in 10000 slower than we think: followed, not added up. */
	for (uint64_t i = 0; i < 200000; i++)
		c.missed +=
			grid__fire(&c.grid, PERIOD, START + i * (PERIOD + PERIOD / 10000), true, 0);
	assert_int_equal(c.missed, 0);
}

static void test_idle(void **state)
{
	struct clock c = { 0 };

	fire(&c, 0, 100);
	fire(&c, 1, 100);
	/* Slept and came back: the gap can't be told from missed fires, so it isn't counted. */
	c.idle_switches++;
	fire(&c, 500, 100);
	assert_int_equal(c.missed, 0);
	fire(&c, 503, 100);
	assert_int_equal(c.missed, 2);
	/* Fires in the idle task, at either end. */
	c.missed += grid__fire(&c.grid, PERIOD, START + 600 * PERIOD, false, c.idle_switches);
	c.missed += grid__fire(&c.grid, PERIOD, START + 700 * PERIOD, false, c.idle_switches);
	c.idle_switches++;
	fire(&c, 800, 100);
	assert_int_equal(c.missed, 2);
	fire(&c, 802, 100);
	assert_int_equal(c.missed, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jitter),	   cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_very_late),  cmocka_unit_test(test_mistaken),
		cmocka_unit_test(test_late_start), cmocka_unit_test(test_restarted),
		cmocka_unit_test(test_slow_clock), cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
