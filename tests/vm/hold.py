#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Keeps switched on what perf and tracing switch in the kernel's scheduler, for as long as a virtual
machine runs: tests/vm/hold.py; says "held" once it does.

The scheduler's static branches are patched while other CPUs run them, whenever a first event is
opened or a last one is closed. QEMU 7.2 translates a CPU's code at that CPU's own time, and can
catch one between the two: an "int3" that is nobody's, and the kernel panics.
"""

import ctypes
import os
import signal
import struct

NR_PERF_EVENT_OPEN = 298
SIZE = 64  # PERF_ATTR_SIZE_VER0
TYPE_SOFTWARE, TYPE_TRACEPOINT = 1, 2
SOFTWARE_EVENTS = range(11)  # PERF_COUNT_SW_*, up to CGROUP_SWITCHES
SCHED_EVENTS = ("sched_switch", "sched_wakeup", "sched_process_fork", "sched_process_exec")


def hold(kind, config, pid, cpu):
    """Opens a counter, which nobody reads and only this process's end closes."""
    attr = struct.pack("IIQ", kind, SIZE, config).ljust(SIZE, b"\0")
    ctypes.CDLL(None).syscall(NR_PERF_EVENT_OPEN, attr, pid, cpu, -1, 0)


for event in SOFTWARE_EVENTS:
    hold(TYPE_SOFTWARE, event, -1, 0)
hold(TYPE_SOFTWARE, 9, os.getpid(), -1)  # a dummy: only that it belongs to a task counts
for name in SCHED_EVENTS:
    with open(f"/sys/kernel/tracing/events/sched/{name}/id") as f:
        hold(TYPE_TRACEPOINT, int(f.read()), -1, 0)
print("held", flush=True)
signal.pause()
