#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Agreement with perf, sampling the same machine at the same time.

Both open cpu-clock on every CPU at 997 Hz, so both see the same work, each at its own moments.
What perf does otherwise: it samples idle tasks too (pid 0, left out here), and it shows an address
without a symbol as [unknown], where ours names the file in brackets.
"""

from ebolt_test import *

HZ, SECONDS = 997, 8


def perf_script(data, *args):
    out = subprocess.run(["perf", "script", "-i", data, *args], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return out.decode(errors="replace").splitlines()


def kernel_aliases():
    """{name: one name for all names of its address}: which of them to take is a matter of taste."""
    first, alias = {}, {}
    with open("/proc/kallsyms") as f:
        for line in f:
            address, kind, name = line.split()[:3]
            if kind in "tTwW":
                alias[name] = first.setdefault(address, name)
    return alias


def simple(name):
    """A C++ name without arguments, as perf prints it, and without what perf leaves out or not."""
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return name.split("(")[0].split(" ")[-1] or name


def merged(counts, alias):
    sums = {}
    for name, n in counts.items():
        name = simple(alias.get(name, name))
        sums[name] = sums.get(name, 0) + n
    return sums


@case
def the_top_10_functions_of_the_machine_agree():
    needs("perf")
    d = tempdir()
    loads = [Workload("mix", 3600), Workload("branchy", 3600), Workload("syscalls", 3600)]
    perf = Process(["perf", "record", "-e", "cpu-clock", "-F", str(HZ), "-g", "-a", "-o",
                    d + "/perf.data", "--", "sleep", "3600"])
    # perf creates its file before it starts its events, and says nothing when it did: it has
    # when its child, which waits for that, has become `sleep`.
    def child_runs():
        try:
            with open(f"/proc/{perf.pid}/task/{perf.pid}/children") as f:
                children = f.read().split()
            return any(os.readlink(f"/proc/{c}/exe").endswith(("sleep", "coreutils"))
                       for c in children)
        except OSError:
            return False
    recording = Recording("-a", "-F", HZ, "-o", d + "/a.folded", "-o", d + "/mix.fdata",
                          "--binary", workload("mix"))
    wait_until("perf to start", child_runs)
    time.sleep(SECONDS)
    perf.signal(signal.SIGINT)
    ledger = recording.stop()
    perf.wait()
    for load in loads:
        load.stop()

    # "pid ip sym (dso)"; -G: the leaf alone.
    theirs, mix_theirs, n_theirs = {}, 0, 0
    for line in perf_script(d + "/perf.data", "-G", "-F", "pid,ip,sym,dso"):
        m = re.match(r"\s*(-?\d+)\s+([0-9a-f]+)\s+(.*?)(?:\+0x[0-9a-f]+)? \((.*)\)\s*$", line)
        check(m, f"perf script: {line!r}")
        if m[1] == "0":
            continue
        n_theirs += 1
        theirs[m[3]] = theirs.get(m[3], 0) + 1
        mix_theirs += m[4] == workload("mix")

    stacks = folded(d + "/a.folded", ledger)
    n_ours = total(stacks)
    ours = {k.decode(errors="replace"): v for k, v in leaves(stacks).items()}
    note(f"{n_ours} samples, perf {n_theirs}; {ledger.line}")
    check(min(n_ours, n_theirs) > HZ * SECONDS, "one CPU at least was always busy")
    bad = []
    # Without a symbol it is no function: ours says which file, theirs [unknown].
    theirs.pop("[unknown]", None)
    alias = kernel_aliases()
    theirs, ours = merged(theirs, alias), merged(ours, alias)
    for name in sorted(theirs, key=theirs.get, reverse=True)[:10]:
        ok, text = same_share(ours.get(name, 0), n_ours, theirs[name], n_theirs)
        note(f"{name}: {text}")
        if not ok:
            bad.append(f"{name}: {text}")
    check(not bad, "\n".join(bad))

    _, records = fdata(d + "/mix.fdata")
    ok, text = same_share(sum(records.values()), n_ours, mix_theirs, n_theirs)
    note(f"the binary mix: {text}")
    check(ok, f"the binary mix: {text}")


main()
