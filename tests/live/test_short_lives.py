#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two thousand processes of 5 to 20 ms, 8 at a time: named, and each by its own file."""

from ebolt_test import *

# An emulated CPU takes a process's start ten times as long, and 2,000 of them too long.
PROCESSES, FACTOR = (300, 10) if VM else (2000, 1)
AT_ONCE = 8
HZ = 997
# What a program's functions begin with. Its loader and its C library are its own too.
OWN = {b"one": (b"one_",), b"two": (b"two_", b"first_"), b"row": (b"row_",)}
ANY = tuple(x for own in OWN.values() for x in own)
# So long may the first run take if there is to be a second one: on an idle machine it takes 13 s.
BUSY = 90
C_LIBRARY = re.compile(rb"\[(ld-linux|libc\.so)")


def c_library_has_symbols():
    """Its debug file is a package of its own, libc6-dbg."""
    return os.path.isdir("/usr/lib/debug/.build-id")


took = 0


@case
def samples_of_short_lived_processes_end_in_names():
    global took
    out, began = tempdir() + "/short.folded", time.monotonic()
    recording = Recording("-F", HZ, "--no-kernel", "-o", out, "--", workload("crowd"), PROCESSES,
                          AT_ONCE, FACTOR, ready=False)
    ledger = recording.finish(timeout=280)
    took = time.monotonic() - began
    stacks = [s for s in folded(out, ledger) if s.comm in OWN]
    n = total(stacks)
    user = int(re.search(r"user_ns=(\d+)", recording.err)[1]) / 1e9
    note(f"{PROCESSES} processes, {user:.1f} s of user time, {n} samples; {ledger.line}")
    # The kernel splits user from system time by its own ticks, so not to the percent.
    check(n > 0.8 * DELIVERED * user * HZ, f"{n} samples in {user} s")
    check("task_lost" not in ledger.causes, f"task records were lost: {ledger.line}")

    wrong = {(s.comm, s.leaf): s.count for s in stacks
             if s.leaf.startswith(ANY) and not s.leaf.startswith(OWN[s.comm])}
    check(not wrong, f"credited to another binary: {wrong}")
    cold = {s.leaf for s in stacks if b"cold" in s.leaf}
    check(not cold, f"credited to what never runs: {cold}")

    nameless = {}
    for s in stacks:
        if s.leaf.startswith(b"["):
            nameless[s.leaf] = nameless.get(s.leaf, 0) + s.count
    note(f"without a name: {nameless} of {n}, {100 * sum(nameless.values()) / n:.2f}%")
    if not c_library_has_symbols():
        note("the C library has no symbols here: its samples don't count")
        nameless = {k: v for k, v in nameless.items() if not C_LIBRARY.match(k)}
    check(sum(nameless.values()) <= 0.01 * n, f"without a name: {nameless} of {n}")


@case
def perf_on_the_same_run_for_comparison():
    needs("perf")
    if took > BUSY:
        raise Skip(f"the machine is busy: the first run took {took:.0f} s")
    data = tempdir() + "/perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(HZ), "-o", data, "--",
                    workload("crowd"), str(PROCESSES), str(AT_ONCE), str(FACTOR)], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    script = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    n = named = 0
    for line in script.stdout.splitlines():
        m = re.match(rb"\s*(\S+)\s+[0-9a-f]+ (.+)", line)
        if m and m[1] in OWN:
            n += 1
            named += b"[unknown]" not in m[2]
    check(n > 0, "perf sampled nothing")
    note(f"perf names {named} of {n} samples, {100 * named / n:.2f}%")


main()
