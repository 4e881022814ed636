#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
BOLT takes the profile: of a PIE as clang and lld link it by default, where the first executable
segment doesn't start at a page and perf2bolt 19 maps no sample.
"""

from ebolt_test import *

BRANCHY = workload("branchy")


@case
def llvm_bolt_reads_the_profile_and_the_optimised_program_does_the_same():
    needs(LLVM + "/llvm-bolt")
    d = tempdir()
    ledger = record("-F", 997, "-o", d + "/b.folded", "-o", d + "/b.fdata", "--binary", BRANCHY,
                    "--", BRANCHY, 5)
    stacks = folded(d + "/b.folded", ledger)
    head, records = fdata(d + "/b.fdata")
    # BOLT divides a block's count by its instructions only for an event whose name says so.
    check(re.search(rb"cycles|instructions", head), f"event names: {head!r}")

    # The same samples, by the other output's look-up: function by function. BOLT calls a local
    # symbol name/N.
    by_function = {}
    for (name, _), n in records.items():
        name = re.sub(rb"/\d+$", b"", name)
        by_function[name] = by_function.get(name, 0) + n
    counts = leaves(stacks)
    note(by_function)
    for name in (b"interpret", b"sort_table", b"hash_table", b"main"):
        equal(by_function.get(name, 0), counts.get(name, 0), f"samples in {name}")
    check(by_function.get(b"sort_table", 0) > 100, "samples in sort_table")

    # Offsets lie inside their functions: nm's sizes are the second opinion.
    sizes = {}
    nm = subprocess.run([LLVM + "/llvm-nm", "-S", BRANCHY], stdout=subprocess.PIPE, check=True)
    for line in nm.stdout.splitlines():
        m = re.fullmatch(rb"[0-9a-f]+ ([0-9a-f]+) [tT] (\S+)", line)
        if m:
            sizes[m[2]] = int(m[1], 16)
    for (name, off), _ in records.items():
        base = re.sub(rb"/\d+$", b"", name)
        check(base not in sizes or off < sizes[base], f"{name} {off:x} is outside the function")

    bolt = subprocess.run([LLVM + "/llvm-bolt", BRANCHY, "-o", d + "/b.bolt", "-data",
                           d + "/b.fdata", "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort+",
                           "-dyno-stats"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = bolt.stdout.decode(errors="replace")
    equal(bolt.returncode, 0, f"llvm-bolt:\n{text}\n")
    m = re.search(r"(\d+) out of (\d+) functions in the binary \(.*\) have non-empty", text)
    check(m, f"llvm-bolt says nothing of functions with a profile:\n{text}")
    note(m[0])
    named = sum(1 for n in by_function if n in sizes)
    equal(int(m[1]), named, "functions with a profile")

    def run(program):
        return subprocess.run([program, "-n", "30000"], stdout=subprocess.PIPE, check=True).stdout
    equal(run(d + "/b.bolt"), run(BRANCHY), "what the programs print")


@case
def the_binary_is_found_by_identity_not_by_name():
    d = tempdir()
    os.mkdir(d + "/one")
    os.mkdir(d + "/two")
    # Two programs of one base name; and the profiled one's file is gone while it runs.
    one = shutil.copy(workload("busy"), d + "/one/prog")
    two = shutil.copy(workload("mix"), d + "/two/prog")
    copy = shutil.copy(two, d + "/kept")
    loads = [Process([one, "3600"]), Process([two, "3600"])]
    wait_until("exec", lambda: os.readlink(f"/proc/{loads[1].pid}/exe") == two)
    os.unlink(two)
    pids = ",".join(str(x.pid) for x in loads)
    ledger = record("-p", pids, "-F", 997, "-d", 3, "-o", d + "/a.folded", "-o", d + "/a.fdata",
                    "--binary", copy)
    for load in loads:
        load.end()
    _, records = fdata(d + "/a.fdata")
    counts = leaves(folded(d + "/a.folded", ledger))
    names = {b"mix_heavy", b"mix_medium", b"mix_light"}
    for name in names:
        equal(sum(n for (x, _), n in records.items() if x == name), counts[name], name)
    check(counts.get(b"busy_spin", 0) > 0, "the other program ran too")
    equal(sum(n for (x, _), n in records.items() if x == b"busy_spin"), 0, "of the other program")


main()
