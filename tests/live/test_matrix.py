#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way to link: all samples named, each function with its share, none elsewhere."""

import links
from ebolt_test import *

HZ = 1999 if VM else 4999
CPU_MS = 2500 if VM else 400
BUILT = os.path.join(WORKLOADS, "links")
RESULTS = {}
FUNCTIONS = ("row_a", "row_b", "row_c")


class Run:
    """One run of a row's program: started before the recording, or while it runs."""

    def __init__(self, row, attached):
        path = os.path.join(BUILT, row.name, "row")
        self.attached = attached
        self.process = Process([path, str(CPU_MS)] + ["wait"] * attached,
                               stdin=subprocess.PIPE if attached else subprocess.DEVNULL)
        if attached:
            self.process.wait_line("out", rb"^ready$")

    def go(self):
        if self.attached:
            self.process.popen.stdin.close()

    def result(self):
        return Workload.result(self.process)


def why_not_built(row):
    try:
        with open(os.path.join(BUILT, row.name, "why")) as f:
            return f.read()
    except FileNotFoundError:
        return None


def sample_all():
    """All rows in one recording, two runs at a time: {(row, attached): (truth, stacks)}."""
    if not os.path.exists(BUILT):
        needs("clang-19", "ld.lld-19")
        links.build(BUILT)
    rows = [row for row in links.TABLE if not why_not_built(row)]
    out = tempdir() + "/all.folded"
    waiting = {row.name: Run(row, True) for row in rows}
    recording = Recording("-a", "-F", HZ, "--no-kernel", "--pid", "-o", out)
    runs = {}
    for row in rows:
        waiting[row.name].go()
        launched = Run(row, False)
        for run in (waiting[row.name], launched):
            runs[row.name, run.attached] = run, run.result()
    ledger = recording.stop()
    note(ledger.line)
    stacks = folded(out, ledger)
    for key, (run, truth) in runs.items():
        name = f"row-{run.process.pid}".encode()
        RESULTS[key] = truth, [s for s in stacks if s.comm == name]


def judge(row, attached):
    truth, stacks = RESULTS[row.name, attached]
    blocks = {x: int(truth[x]) for x in FUNCTIONS}
    found = leaves(stacks)
    counts = {x: found.get(x.encode(), 0) for x in FUNCTIONS}
    n = sum(counts.values())
    how = "attached" if attached else "launched"
    # Emulated, what arrives of 4999 Hz depends on what else the host does: enough to judge by.
    check(n > (400 if VM else 0.7 * CPU_MS / 1000 * HZ), f"{how}: too few: {found}")
    # What stands in brackets has a file, or not even that, but no name.
    image = b"[librow.so" if row.library else b"[row]"
    bad = {k: v for k, v in found.items()
           if k.startswith(image) or k in (b"[unknown]", b"[anon]") or b"cold" in k}
    check(not bad, f"{how}: not named, or in what never ran: {bad}")
    for x in FUNCTIONS:
        # A lot is drawn every 20 us, a sample is taken every 200 us: binomial.
        ok, text = within(counts[x], n, blocks[x] / sum(blocks.values()))
        check(ok, f"{how}: {x}: {text}")
    # Beside the functions there is only what draws the lots, and the clock; at a start, ld.so.
    check(n > 0.9 * total(stacks), f"{how}: elsewhere: {found}")
    return f"{how} {n} of {total(stacks)}"


def case_of(row):
    def fn():
        why = why_not_built(row)
        if why:
            raise Skip("not linked: " + why)
        check((row.name, True) in RESULTS, "nothing was sampled")
        note(", ".join(judge(row, attached) for attached in (True, False)))
    fn.__name__ = row.name
    return case(fn)


@case
def sampling_all_rows():
    sample_all()


for each in links.TABLE:
    case_of(each)

# A row alone needs the sampling too.
if len(sys.argv) > 1:
    sys.argv.append("sampling_all_rows")

main()
