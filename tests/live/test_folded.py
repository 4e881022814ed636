#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Folded stacks: names of every kind, the escapes, the options that change what is in a line."""

from ebolt_test import *


def sample(name, *options, seconds=3, hz=997, args=()):
    """Records a workload from its exec to its end: (its key=value lines, stacks, ledger)."""
    out = tempdir() + "/a.folded"
    recording = Recording("-F", hz, *options, "-o", out, "--", workload(name), seconds, *args,
                          ready=False)
    ledger = recording.finish()
    return recording.out, folded(out, ledger), ledger


def in_hex(output, key):
    return {bytes.fromhex(line.split("=")[1]) for line in output.splitlines()
            if line.startswith(key + "=")}


@case
def thread_names_of_any_bytes_come_back_unchanged():
    output, stacks, _ = sample("rename")
    names = in_hex(output, "comm")
    equal(len(names), 11, "names given")
    seen = {s.comm for s in stacks if b"rename_work" in s.frames}
    # Before its first line a thread has the program's name.
    equal(seen - {b"rename"}, names, "names seen")


@case
def symbols_of_any_bytes_come_back_unchanged():
    output, stacks, _ = sample("odd_symbols", "--no-demangle")
    names = in_hex(output, "symbol")
    equal(len(names), 7, "symbols")
    seen = {s.leaf for s in stacks if s.raw[-1] != b"[unknown]"}
    check(names <= seen, f"not seen: {names - seen}")
    # Plain brackets are never a symbol's.
    check(any(s.raw[-1].startswith(b"\\x5bunknown") for s in stacks), "[unknown], the symbol")


@case
def annotations_tell_the_kernel_from_a_symbol_that_looks_so():
    _, stacks, _ = sample("odd_symbols", "--annotate")
    mine = [s.raw[-1] for s in stacks if unescape(s.raw[-1]) == b"odd_[k]"]
    check(mine, "odd_[k], the symbol, was not seen")
    check(not any(x.endswith(b"_[k]") for x in mine), f"looks like the kernel's: {mine}")


@case
def cxx_names_are_demangled_unless_told_not_to():
    plain = {s.leaf for s in sample("cxx")[1]}
    check(b"shapes::grid<unsigned long, 3>::fill(unsigned long)" in plain, plain)
    check(b"shapes::grid<unsigned long, 3>::operator()(char const*, unsigned long)" in plain, plain)
    mangled = {s.leaf for s in sample("cxx", "--no-demangle")[1]}
    check(b"_ZN6shapes4gridImLi3EE4fillEm" in mangled, mangled)
    check(b"_ZN6shapes4gridImLi3EEclEPKcm" in mangled, mangled)


@case
def plt_stubs_are_named_by_what_they_call():
    # Half a percent of the time: perf says the same of this loop.
    _, stacks, _ = sample("plt", hz=4999, seconds=5)
    counts = leaves(stacks)
    note({k: v for k, v in counts.items() if b"callee" in k})
    check(any(k.startswith(b"callee_return@") for k in counts), sorted(counts))
    # An emulated CPU takes its time at jumps, not in the function.
    share = 0.25 if VM else 0.5
    check(counts.get(b"callee_return", 0) > share * total(stacks), "most is in the function itself")


@case
def the_vdso_has_names():
    _, stacks, _ = sample("vdso")
    inside = total(stacks, lambda s: b"clock_gettime" in s.leaf)
    note(f"{inside} of {total(stacks)} in clock_gettime")
    # Wherever the time goes in detail (the C library's wrapper has the same name), nearly all
    # of it goes there.
    check(inside > 0.7 * total(stacks), f"{inside} of {total(stacks)}: {leaves(stacks)}")
    check(any(b"vdso" in s.leaf for s in stacks), "__vdso_clock_gettime")


@case
def no_kernel_leaves_neither_kernel_samples_nor_kernel_frames():
    _, both, _ = sample("syscalls", "--annotate", "--user", "--kernel")
    check(any(s.raw[-1].endswith(b"_[k]") for s in both), "kernel frames, when asked for both")
    _, stacks, ledger = sample("syscalls", "--annotate", "--no-kernel")
    check(stacks and not any(f.endswith(b"_[k]") for s in stacks for f in s.raw), "kernel frames")
    check(ledger.filtered > 0, f"samples of kernel mode were filtered: {ledger.line}")


@case
def no_user_leaves_neither_user_samples_nor_user_frames():
    _, stacks, ledger = sample("syscalls", "--annotate", "--no-user")
    check(stacks, "stacks")
    bad = [s.raw for s in stacks if not all(f.endswith(b"_[k]") for f in s.raw[1:])]
    check(not bad, f"user frames: {bad[:3]}")
    check(ledger.filtered > 0, f"samples of user mode were filtered: {ledger.line}")


@case
def kernel_frames_follow_user_frames():
    _, stacks, _ = sample("syscalls", "--annotate")
    for s in stacks:
        kernel = [f.endswith(b"_[k]") for f in s.raw[1:]]
        equal(kernel, sorted(kernel), f"user frames, then kernel frames: {s.raw}")
    # Not main: the C library's syscall() has no frame, and hides who called it.
    check(any(b"syscall" in s.raw and s.raw[-1].endswith(b"_[k]") for s in stacks),
          "a stack from user code into the kernel")


@case
def pid_and_tid_stand_beside_the_comm():
    out = tempdir() + "/a.folded"
    load = Workload("threads", 3600)
    wait_until("the threads", lambda: len(os.listdir(f"/proc/{load.pid}/task")) == 5)
    tids = set(os.listdir(f"/proc/{load.pid}/task"))
    record("-p", load.pid, "-F", 997, "-d", 2, "--tid", "-o", out)
    seen = {s.comm.decode() for s in folded(out)}
    check(seen <= {f"threads-{load.pid}/{t}" for t in tids}, seen)
    equal(len(seen), 4, f"busy threads seen ({seen})")
    record("-p", load.pid, "-F", 997, "-d", 1, "--pid", "-o", out)
    equal({s.comm.decode() for s in folded(out)}, {f"threads-{load.pid}"}, "comms")
    load.stop()


main()
