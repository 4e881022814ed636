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
# Rare stacks go to a file, so memory is to stay as large as it is, however many processes, files,
# mappings and stacks came and went. A storm in the kernel makes ever new stacks, an eighth of all
# samples; so there are two recordings of one storm, with the kernel and without it. What is left to
# grow is told apart: distinct frames (72 bytes with their index, which may double: 144), and tables
# that reach their full size late.
FRAME_BYTES = 144
SLACK_SHARE, SLACK_BYTES = 0.05, 2 << 20
STRESS = ["--fork", "1", "--exec", "1", "--mmap", "1", "--mmap-bytes", "32M", "--dynlib", "1",
          "--pthread", "1", "--pthread-max", "64", "--mremap", "1", "--mremap-bytes", "4M"]


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return int(re.search(r"^Pss:\s+(\d+) kB", f.read(), re.M)[1]) * 1024


def watch(recordings, loads):
    """[Pss in bytes of each recording] once a second, as long as the loads run."""
    end, points = time.monotonic() + 2 * SECONDS + 60, []
    while any(load.popen.poll() is None for load in loads):
        points.append([pss(recording.pid) for recording in recordings])
        check(time.monotonic() < end, "the storm does not end")
        time.sleep(1)
    return list(zip(*points))


def judge_memory(what, points, frames):
    """Between the first minute, or the second quarter of a shorter run, and the last tenth."""
    tenth = len(points) // 10
    first = min(60, len(points) // 2)
    early, late = max(points[first // 2:first + 1]), max(points[-tenth - 1:])
    note(f"Pss {what} in MB, by tenths of the run: " +
         " ".join(f"{points[i * (len(points) - 1) // 10] / 1e6:.1f}" for i in range(11)))
    bound = early * (1 + SLACK_SHARE) + SLACK_BYTES + FRAME_BYTES * frames
    check(late <= bound, f"Pss {what} grew from {early} to {late}, more than to {bound:.0f}")


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
    d = tempdir()
    whole = Recording("-v", "-a", "-F", HZ, "-o", d + "/whole.folded")
    user = Recording("-v", "-a", "-F", HZ, "--no-kernel", "-o", d + "/user.folded")
    cpu, began = cpu_seconds(whole.pid), time.monotonic()
    loads = loads_of(SECONDS)
    of_whole, of_user = watch((whole, user), loads)
    cpu, wall = cpu_seconds(whole.pid) - cpu, time.monotonic() - began
    truth = loads[0].result()
    note(", ".join(f"{v} x {k}" for k, v in truth.items()))
    note(f"ebolt took {100 * cpu / wall:.1f}% of a CPU, "
         f"{100 * cpu / wall / os.cpu_count():.1f}% of the machine")
    found, frames = [], []
    for what, recording in (("whole", whole), ("user", user)):
        ledger = recording.stop()  # its identity is checked
        note(f"{what}: {ledger.line}")
        for line in recording.err.splitlines():
            if re.search(r"distinct frames in|read again", line):
                note(line)
        frames.append(int(re.search(r"(\d+) distinct frames in", recording.err)[1]))
        equal(ledger.causes.get("maps_dropped", 0), 0, "mappings for which there was no room")
        found.append(folded(f"{d}/{what}.folded", ledger))
    judge_memory("without the kernel", of_user, frames[1])
    judge_memory("with it", of_whole, frames[0])

    hot, lost = leaves(found[1]), "task_lost" in ledger.causes
    cold = {k: v for k, v in hot.items() if re.match(rb"(first|second)_cold_", k)}
    check(not cold, f"in functions that never run: {cold}")
    check(hot.get(b"first_a", 0) > 0 and hot.get(b"second_a", 0) > 0,
          "the libraries that came and went have no samples")
    unknown = hot.get(b"[unknown]", 0)
    note(f"{unknown} of {ledger.aggregated} samples end where nothing is known to be mapped")
    check(lost or unknown <= 0.01 * ledger.aggregated, f"{unknown} of {ledger.aggregated}")


main()
