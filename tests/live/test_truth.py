#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is sampled is what happened: against workloads that know their own profile."""

from ebolt_test import *


@case
def three_functions_get_their_60_30_10_percent():
    out = tempdir() + "/mix.folded"
    load = Workload("mix", 3600)
    ledger, expected = sample_process(load, 997, 10, "-o", out)
    truth = load.stop()
    counts = leaves(folded(out, ledger))
    names = ("heavy", "medium", "light")
    n = sum(counts.get(b"mix_" + x.encode(), 0) for x in names)
    blocks = sum(int(truth[x]) for x in names)
    # 10%: the time in which ebolt no longer samples but writes.
    check(n > 0.9 * DELIVERED * expected,
          f"{n} samples in the functions, expected {expected}: {ledger.line}")
    for x in names:
        # Which function a sample hits is a draw with the share of the blocks (a lot is drawn
        # anew every 20 us, 50 times between two samples): binomial. The blocks themselves are
        # so many that their own deviation over the recorded part of the run doesn't count.
        ok, text = within(counts.get(b"mix_" + x.encode(), 0), n, int(truth[x]) / blocks)
        note(f"{x}: {text}")
        check(ok, f"{x}: {text}")
    # The rest is main's schedule and the kernel's interrupts, next to nothing.
    check(n >= 0.98 * ledger.aggregated, f"{n} of {ledger.aggregated} in the three functions")


@case
def stacks_of_20_levels_are_complete():
    out = tempdir() + "/deep.folded"
    load = Workload("deep", 3600)
    ledger, expected = sample_process(load, 997, 5, "-o", out)
    load.stop()
    stacks = folded(out, ledger)
    levels = b";".join([b"main"] + [b"d%02d" % i for i in range(1, 21)] + [b"deep_leaf"])
    complete = total(stacks, lambda s: levels in b";".join(s.frames))
    note(f"{complete} of {ledger.aggregated} complete")
    check(ledger.aggregated > 0.8 * DELIVERED * expected, f"expected {expected}: {ledger.line}")
    check(complete >= 0.99 * ledger.aggregated, f"{complete} of {ledger.aggregated} complete")


@case
def the_caller_of_what_never_returns_is_named():
    out = tempdir() + "/noreturn.folded"
    load = Workload("noreturn", 3600)
    ledger, _ = sample_process(load, 997, 2, "-o", out)
    load.stop()
    stacks = folded(out, ledger)
    chain = b"main;noreturn_caller;noreturn_spin"
    right = total(stacks, lambda s: chain in b";".join(s.frames))
    note(f"{right} of {ledger.aggregated}")
    check(ledger.aggregated > 0 and right >= 0.99 * ledger.aggregated,
          f"{right} of {ledger.aggregated}: {[s.raw for s in stacks][:3]}")


@case
def threads_get_their_cpu_time():
    out = tempdir() + "/threads.folded"
    gate = Gate("threads", 5)
    recording = Recording("-p", gate.pid, "-F", 997, "-o", out)
    gate.open()
    truth = gate.result()
    ledger = recording.finish()  # with its target's end
    stacks = folded(out, ledger)
    names = ("zero", "one", "two", "three")
    counts = {x: total(stacks, lambda s: f"thread_{x}".encode() in s.frames) for x in names}
    n, cpu = sum(counts.values()), sum(int(truth[x]) for x in names)
    for x in names:
        # A thread has the CPU for some milliseconds at a time, so neighbouring samples mostly
        # repeat each other, but they also lie evenly in each turn: the deviation is below the
        # binomial one.
        ok, text = share_of_cpu_time(counts[x], n, int(truth[x]) / cpu)
        note(f"{x}: {text}")
        check(ok, f"{x}: {text}")


@case
def children_and_grandchildren_are_followed():
    out = tempdir() + "/forker.folded"
    gate = Gate("forker", 4)
    recording = Recording("-p", gate.pid, "-F", 997, "-o", out)
    gate.open()
    truth = gate.result()
    ledger = recording.finish()  # with its target's end
    stacks = folded(out, ledger)
    names = ("parent", "child", "grandchild")
    counts = {x: total(stacks, lambda s: f"burn_{x}".encode() in s.frames) for x in names}
    n, cpu = sum(counts.values()), sum(int(truth[x]) for x in names)
    for x in names:
        check(counts[x] > 0, f"no sample of the {x}")
        ok, text = share_of_cpu_time(counts[x], n, int(truth[x]) / cpu)
        note(f"{x}: {text}")
        check(ok, f"{x}: {text}")


@case
def short_lived_processes_are_named():
    out = tempdir() + "/short.folded"
    # Exec and dynamic linking are counted, too: they take an emulated CPU some 60 ms.
    seconds, longer = (8, 40) if VM else (4, 1)
    recording = Recording("-F", 997, "-o", out, "--", workload("shortlived"), seconds, longer,
                          ready=False)
    ledger = recording.finish()
    stacks = folded(out, ledger)
    n = total(stacks)
    named = total(stacks, lambda s: b"short_work" in s.frames)
    unknown = total(stacks, lambda s: s.leaf == b"[unknown]")
    note(f"{named} of {n} in short_work, {unknown} unknown")
    # Each process lives 5 to 20 ms and works for 12.5 ms on average beside 1 to 2 ms of exec,
    # dynamic linking and exit.
    cpu = int(re.search(r"cpu_ns=(\d+)", recording.out)[1]) / 1e9
    check(n > 0.9 * DELIVERED * cpu * 997, f"{cpu} s of CPU time: {ledger.line}")
    others = leaves([s for s in stacks if b"short_work" not in s.frames])
    check(named >= 0.75 * n, f"only {named} of {n} samples in short_work, beside it "
          f"{sorted(others.items(), key=lambda x: -x[1])[:10]}")
    # Woken at the first record, ebolt finds 97% of such processes still there; the file of all
    # of them is the same one, so that next to nothing is left unnamed.
    check(unknown <= 0.03 * n, f"{unknown} of {n} leaves unknown")


main()
