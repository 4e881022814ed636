#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Processes, images, mappings, libraries and threads that come and go: nothing is unaccounted for,
and memory does not grow with how many there were.

CHURN_SECONDS: how long; 40 by default. 600 is the long run.
"""

from ebolt_test import *

SECONDS = int(os.environ.get("CHURN_SECONDS", "40"))
HZ = 499
# What may still grow: the profile, by stacks that were not seen before, of which a storm in the
# kernel makes ever new ones. Everything else (processes, mappings, files) must not.
GROWTH_SHARE, GROWTH_BYTES = 0.10, 4 << 20
STRESS = ["--fork", "1", "--exec", "1", "--mmap", "1", "--mmap-bytes", "32M", "--dynlib", "1",
          "--pthread", "1", "--pthread-max", "64", "--mremap", "1", "--mremap-bytes", "4M"]


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return int(re.search(r"^Pss:\s+(\d+) kB", f.read(), re.M)[1]) * 1024


def watch(recording, loads):
    """[(seconds, Pss in bytes)] once a second, as long as the loads run."""
    began, points = time.monotonic(), []
    while any(load.popen.poll() is None for load in loads):
        points.append((time.monotonic() - began, pss(recording.pid)))
        check(points[-1][0] < 2 * SECONDS + 60, "the storm does not end")
        time.sleep(1)
    return points


def loads_of(seconds):
    loads = [Workload("churn", seconds)]
    if shutil.which("stress-ng"):
        d = tempdir()
        loads.append(Process(["stress-ng", "-q", "--temp-path", d, "--timeout", str(seconds),
                              *STRESS]))
    else:
        note("stress-ng is not installed: only our own storm")
    return loads


@case
def a_storm_leaves_the_ledger_exact_and_memory_flat():
    out = tempdir() + "/churn.folded"
    recording = Recording("-v", "-a", "-F", HZ, "-o", out)
    cpu, began = cpu_seconds(recording.pid), time.monotonic()
    loads = loads_of(SECONDS)
    points = watch(recording, loads)
    cpu, wall = cpu_seconds(recording.pid) - cpu, time.monotonic() - began
    truth = loads[0].result()
    note(", ".join(f"{v} x {k}" for k, v in truth.items()))
    ledger = recording.stop()  # its identity is checked
    note(ledger.line)
    note(f"ebolt took {100 * cpu / wall:.1f}% of a CPU, "
         f"{100 * cpu / wall / os.cpu_count():.1f}% of the machine")
    for line in recording.err.splitlines():
        if re.search(r"distinct stacks|read again", line):
            note(line)

    tenth = len(points) // 10
    early = max(x for _, x in points[tenth:2 * tenth + 1])
    late = max(x for _, x in points[-tenth - 1:])
    note("Pss in MB, by tenths of the run: " +
         " ".join(f"{points[i * (len(points) - 1) // 10][1] / 1e6:.1f}" for i in range(11)))
    check(late <= early * (1 + GROWTH_SHARE) + GROWTH_BYTES,
          f"Pss grew from {early} in the second tenth to {late} in the last")

    stacks = folded(out, ledger)
    equal(ledger.causes.get("maps_dropped", 0), 0, "mappings for which there was no room")
    cold = {s.leaf: s.count for s in stacks if re.match(rb"(first|second)_cold_", s.leaf)}
    check(not cold, f"in functions that never run: {cold}")
    hot = leaves(stacks)
    check(hot.get(b"first_a", 0) > 0 and hot.get(b"second_a", 0) > 0,
          "the libraries that came and went have no samples")
    unknown = hot.get(b"[unknown]", 0)
    note(f"{unknown} of {ledger.aggregated} samples end where nothing is known to be mapped")
    if "task_lost" not in ledger.causes:
        check(unknown <= 0.01 * ledger.aggregated, f"{unknown} unknown of {ledger.aggregated}")


main()
