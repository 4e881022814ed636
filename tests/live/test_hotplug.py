#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
A CPU goes away during a recording and comes back: what runs on it then is sampled and named, and
the time without it is not counted as missed. Only in a virtual machine (tests/vm).
"""

from ebolt_test import *

HZ = 997
CPU = 1
ONLINE = f"/sys/devices/system/cpu/cpu{CPU}/online"


def set_online(value):
    with open(ONLINE, "w") as f:
        f.write(value)


def on_cpu():
    os.sched_setaffinity(0, {CPU})


def cpu_counts(stderr):
    """(fired, missed) of the CPU, over all its lives, as -v prints them."""
    found = re.findall(rf"cpu {CPU}: fired=(\d+) missed=(\d+)", stderr)
    check(found, f"cpu {CPU} is not in:\n{stderr}")
    return sum(int(f) for f, _ in found), sum(int(m) for _, m in found)


def hotplug(*options):
    if not VM:
        raise Skip("takes a CPU away: only in a virtual machine")
    if not os.access(ONLINE, os.W_OK):
        raise Skip(f"CPU {CPU} can't be taken offline")
    CLEANUPS.append(lambda: set_online("1"))
    out = tempdir() + "/a.folded"
    started = time.monotonic()
    recording = Recording("-a", "-v", "-F", HZ, *options, "-o", out)
    before = Workload("busy", 3, CPU)
    equal(before.wait(), 0, "exit status before")
    gone = time.monotonic()
    set_online("0")
    time.sleep(3)  # the time in which nothing can be sampled there
    back = time.monotonic()
    set_online("1")
    # At once: its exec and its mappings are announced on a CPU whose events are not yet open again.
    after = Workload("mix", 6, preexec_fn=on_cpu)
    truth = after.result()
    ended = time.monotonic()
    ledger = recording.stop()
    note(ledger.line)

    stacks = folded(out, ledger)
    counts = leaves(stacks)
    names = ("heavy", "medium", "light")
    n = sum(counts.get(b"mix_" + x.encode(), 0) for x in names)
    due = int(truth["cpu_ns"]) / 1e9 * HZ
    note(f"{n} samples after its return, {due:.0f} due")
    check(n > 0.8 * DELIVERED * due, f"{n} samples after the CPU's return, {due:.0f} were due")
    # All samples of the program are in its functions but for a few in exec, the linker and main:
    # a program whose mappings were not seen has unnamed ones instead.
    mine = total(stacks, lambda s: s.comm == b"mix" and s.leaf in (b"[unknown]", b"[mix]"))
    check(mine <= 0.01 * n, f"{mine} samples of the program are unnamed, {n} named")
    blocks = sum(int(truth[x]) for x in names)
    for x in names:
        ok, text = within(counts.get(b"mix_" + x.encode(), 0), n, int(truth[x]) / blocks)
        check(ok, f"{x}: {text}")

    # The CPU was due no more than Hz x the time that it was there; a tenth of a second stands for
    # the moments at which it really left and returned.
    fired, missed = cpu_counts(recording.err)
    there = (gone - started) + (ended - back) + 0.1
    note(f"cpu {CPU}: fired {fired} + missed {missed}, there for {there:.1f} s")
    check(fired + missed <= HZ * there,
          f"fired {fired} + missed {missed}: more than {HZ} Hz x {there:.1f} s")
    equal(ledger.lost, 0, f"lost ({ledger.line})")


@case
def a_cpu_that_returns_is_sampled_again():
    hotplug()


@case
def a_cpu_that_returns_is_sampled_again_without_optional_features():
    names = [m[1] for m in re.finditer(r"^\w+ +([a-z]+(?:-[a-z]+)+): ",
                                       ebolt("doctor").stdout.decode(), re.M)]
    hotplug(*(x for name in names for x in ("--disable-feature", name)))


@case
def a_cpu_that_returns_unannounced_is_sampled_again():
    # Which CPUs are online is looked at every second then.
    hotplug("--disable-feature", "uevents")


main()
