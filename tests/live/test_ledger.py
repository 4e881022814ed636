#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing vanishes: the identity (checked whenever a Ledger is made), loss, missed runs."""

from ebolt_test import *

CPU = max(os.sched_getaffinity(0))


def per_cpu(stderr):
    """{cpu: (fired, missed)} as -v prints them."""
    return {int(c): (int(f), int(m)) for c, f, m in
            re.findall(r"cpu (\d+): fired=(\d+) missed=(\d+)", stderr)}


def identity_at(hz, seconds):
    out = tempdir() + "/a.folded"
    load = Workload("busy", 3600)
    short = Workload("shortlived", 3600)
    recording = Recording("-a", "-v", "-F", hz, "-d", seconds, "-o", out, ready=False)
    ledger = recording.finish()
    load.stop()
    short.stop()
    folded(out, ledger)
    note(ledger.line)
    # One CPU is always busy.
    check(ledger.fired >= 0.9 * DELIVERED * hz * seconds, f"fired too few: {ledger.line}")
    cpus = per_cpu(recording.err)
    equal(sum(f for f, _ in cpus.values()), ledger.fired, "fired, summed over CPUs")
    equal(sum(m for _, m in cpus.values()), ledger.missed, "missed, summed over CPUs")


@case
def the_identity_holds_at_49_hz():
    identity_at(49, 4)


@case
def the_identity_holds_at_99_hz():
    identity_at(99, 4)


@case
def the_identity_holds_at_4999_hz():
    identity_at(4999, 4)


@case
def the_identity_holds_for_one_process_among_many():
    out = tempdir() + "/a.folded"
    other = Workload("busy", 3600)
    load = Workload("busy", 3600)
    ledger = record("-p", load.pid, "-F", 997, "-d", 3, "-o", out)
    load.stop()
    other.stop()
    stacks = folded(out, ledger)
    note(ledger.line)
    check(ledger.filtered > 0, f"another program was busy too: {ledger.line}")
    equal({s.comm for s in stacks}, {b"busy"}, "comms")


@case
def a_stopped_ebolt_loses_on_purpose_and_says_so():
    out = tempdir() + "/a.folded"
    loads = [Workload("busy", 3600) for _ in os.sched_getaffinity(0)]
    recording = Recording("-a", "-F", 4999, "--ring-size", "256K", "-o", out)
    # The sleeps are the stimulus here: for how long ebolt can't read its ring.
    time.sleep(0.5)
    recording.signal(signal.SIGSTOP)
    time.sleep(3)
    recording.signal(signal.SIGCONT)
    time.sleep(1)
    ledger = recording.stop()
    for load in loads:
        load.stop()
    note(ledger.line)
    folded(out, ledger)
    # 3 s x 4999 Hz x 150 bytes at least are 2 MB a CPU; the ring holds an eighth of that.
    lost = ledger.causes.get("ring_full", 0)
    check(lost > (100 if VM else 4999), f"lost too little: {ledger.line}")
    # It went on afterwards: the last second alone brings 4999 samples a CPU, of which at least
    # half must be there however busy the machine is.
    check(ledger.aggregated > 0.5 * DELIVERED * 4999, f"aggregated too little: {ledger.line}")


def fired_and_missed(recording, seconds, hz):
    fired, missed = per_cpu(recording.err)[CPU]
    note(f"cpu {CPU}: fired {fired} + missed {missed}, of {seconds * hz}")
    # The CPU is never idle, so its timer is due seconds x Hz times. 1%: what the issue asks for;
    # start and stop of the events cost some milliseconds of the ten seconds.
    check(abs(fired + missed - seconds * hz) <= 0.01 * seconds * hz,
          f"fired {fired} + missed {missed} is not {seconds * hz} within 1%")
    return fired, missed


@case
def fired_and_missed_are_seconds_times_hz():
    out = tempdir() + "/a.folded"
    load = Workload("busy", 3600, CPU)
    recording = Recording("-a", "-v", "-F", 997, "-d", 10, "-o", out, ready=False)
    recording.finish()
    load.stop()
    fired_and_missed(recording, 10, 997)


@case
def missed_runs_beside_another_tracer_are_counted():
    needs("bpftrace")
    out = tempdir() + "/a.folded"
    load = Workload("syscalls", 3600, CPU)
    # bpftrace finds tracepoints in tracefs, which containers and small systems don't mount: a
    # mount namespace of its own has it, and leaves no trace.
    needs_unshare()
    tracer = Process(["unshare", "--mount", "/bin/sh", "-c",
                      "mountpoint -q /sys/kernel/tracing || "
                      "mount -t tracefs tracefs /sys/kernel/tracing; exec bpftrace -B line -e '"
                      "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }"
                      "interval:ms:100 { printf(\"traces\\n\"); }'"])
    tracer.wait_line("out", rb"^traces")
    recording = Recording("-a", "-v", "-F", 997, "-d", 10, "-o", out, ready=False)
    recording.finish()
    tracer.signal(signal.SIGINT)
    tracer.wait()
    load.stop()
    _, missed = fired_and_missed(recording, 10, 997)
    # A third of the runs, where this was first seen; that some are missed is what makes it a
    # test of anything.
    check(missed > 10, "the other tracer made the kernel drop no run")


main()
