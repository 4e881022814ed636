/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting the samples that never arrived.
 *
 * cpu-clock and task-clock fire from a high-resolution timer whose expiries stand on a grid: each
 * is exactly one period after the one before, and when the interrupt comes late by more than a
 * period the timer moves on to the next grid point. So the distance of two fires, in periods,
 * tells how often the program should have run in between. It doesn't where another BPF program
 * was active on the CPU, where the kernel throttled the event, or where interrupts were off.
 *
 * Lateness has one sign: a fire is never before its grid point. The grid point of a fire is
 * therefore the last one before it, and the grid is placed by the earliest fires: one that is
 * early pulls it at once, late ones push it by 1/256 of their lateness, so it also follows when
 * the kernel restarts the timer elsewhere (throttling). An eighth of a period of tolerance
 * absorbs what reading the clock adds. The sum is signed: should a fire be taken for its
 * successor, then its successor is taken for no progress, and the two cancel.
 *
 * Fires in the idle task are not samples, and how many there would have been while the CPU
 * slept can't be told apart from dropped ones. So a gap counts only where the CPU was busy all
 * along: neither end in the idle task, and the idle task not left in between, which its own
 * context switch counter says. (It leaves the CPU by being preempted: nivcsw.) What the
 * kernel drops in a gap with idle time in it is not counted.
 *
 * Compiles on the host too, where the unit test is.
 */
#ifndef EBOLT_GRID_BPF_H
#define EBOLT_GRID_BPF_H

#include "config.h"

/* The fires missed since the one before: usually 0, negative when an earlier one was too many. */
static __always_inline __s64 grid__fire(struct cpu_grid *g, __u64 period, __u64 now, bool busy,
					__u64 idle_switches)
{
	__u64 tolerance = period / 8, ahead, points;
	__s64 missed = 0, late;

	if (!g->point) {
		g->point = now;
	} else {
		ahead = now + tolerance - g->point;
		points = ahead / period;
		late = (__s64)(ahead - points * period) - (__s64)tolerance;
		g->point += points * period + (late < 0 ? late : late >> 8);
		if (busy && g->busy && idle_switches == g->idle_switches)
			missed = (__s64)points - 1;
	}
	g->busy = busy;
	g->idle_switches = idle_switches;
	return missed;
}

#endif
