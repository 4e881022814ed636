#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What was told while nobody could listen: ebolt is stopped, task records flood its rings, and what
is mapped after that has no record. No sample is credited to what was mapped before, and after the
loss all is right again.
"""

from ebolt_test import *

HZ = 499
BLOCKS = 25000  # of 20 us
FIRST, SECOND = workload("libfirst.so"), workload("libsecond.so")


class Stopped:
    """A recording that is stopped, and what floods its rings: 2 MiB of task records in all."""

    def __init__(self, recording):
        self.recording = recording

    def __enter__(self):
        self.recording.signal(signal.SIGSTOP)
        # Each CPU may have a ring of its own; a storm of a second fills half a MiB three times, on
        # an emulated CPU within ten.
        storms = [Process(["taskset", "-c", str(cpu), workload("churn"), "16" if VM else "4"])
                  for cpu in os.sched_getaffinity(0)]
        for storm in storms:
            equal(storm.wait(), 0, storm.err)
        return self

    def __exit__(self, *_):
        self.recording.signal(signal.SIGCONT)


def burnt(process, nr):
    """Waits until nr burns have been printed."""
    wait_until(f"burn {nr}", lambda: len(re.findall(r"_c=\d+", process.out)) >= nr, 120)


@case
def what_was_mapped_over_code_while_records_were_lost():
    needs("taskset")
    out = tempdir() + "/a.folded"
    recording = Recording("-a", "-v", "-F", HZ, "--no-kernel", "-o", out)
    process = Process([workload("one"), f"lib:{FIRST}", f"burn:{BLOCKS}", "input",
                       f"fixed:{SECOND}", f"burn:{BLOCKS}", "input", f"burn:{BLOCKS}"],
                      stdin=subprocess.PIPE)
    burnt(process, 1)
    with Stopped(recording):
        process.popen.stdin.write(b"\n")
        process.popen.stdin.flush()
        burnt(process, 2)
    # That it listens again is told by nothing; it takes its rings every 100 ms.
    time.sleep(1)
    process.popen.stdin.write(b"\n")
    process.popen.stdin.close()
    equal(process.wait(), 0, process.err)
    ledger = recording.stop()
    note(ledger.line)
    check(ledger.causes.get("task_lost", 0) > 0, "no task record was lost: nothing was tested")
    found = leaves([s for s in folded(out, ledger) if s.comm == b"one"])
    first, second = (sum(found.get(f"{x}_{y}".encode(), 0) for y in "abc")
                     for x in ("first", "second"))
    lost = found.get(b"[mmap lost]", 0)
    note(f"first {first}, second {second}, mmap lost {lost}, of all: {found}")
    n = first + second + lost
    check(n > 300 * DELIVERED, f"too few samples: {found}")
    # Three burns of the same length: the first is FIRST's, no other; the last is SECOND's, and
    # of the one between nothing is known while it lasts, or that it is SECOND's.
    # What ebolt had not taken from the ring when it was stopped, of 100 ms at most, lies after the
    # last time up to which all is known to have come: FIRST's too may be lost.
    untaken = min(max(n // 3 - first, 0), HZ // 10)
    ok, text = within(first + untaken, n, 1 / 3)
    check(ok, f"in first, with {untaken} not taken: {text}")
    check(within(second, n, 1 / 3)[0] or second > n / 3, f"in second: {second} of {n}")
    unknown = sum(v for k, v in found.items() if k in (b"[unknown]", b"[anon]"))
    check(unknown <= 2, f"unknown, and it isn't said why: {found}")


main()
