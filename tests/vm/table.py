#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What tests/vm/run saw, as the tables of docs/kernel-support.md:

    tests/vm/table.py [--write | --check] [SUMMARY [DOCUMENT]]

--write replaces them; --check fails where a kernel of the summary has
other features than the document says, or a failed test. Without either they are printed.
"""

import os
import re
import sys

BEGIN, END = "<!-- tests/vm/table.py --write -->\n", "<!-- end -->\n"
# Those of doctor's lines that look like a feature's name, but are of the machine, not the kernel.
NO_FEATURES = ("kernel", "lockdown", "sampling")
KERNELS = ["5.10", "6.1", "6.12", "7"]


class Machine:
    def __init__(self, line):
        (self.kernel, self.variant, self.release, self.selected, passed, failed, skipped, again,
         seconds, doctor) = line.rstrip("\n").split("\t")
        self.passed, self.failed, self.skipped = int(passed), int(failed), int(skipped)
        self.again, self.seconds = int(again), int(seconds)
        verdicts = dict(x.split("=", 1) for x in doctor.split(";") if "=" in x)
        self.features = {k: v for k, v in verdicts.items()
                         if re.fullmatch(r"[a-z]+(-[a-z]+)*", k) and k not in NO_FEATURES}

    @property
    def version(self):
        return re.match(r"\d+\.\d+(\.\d+)?", self.release)[0]


def row(cells):
    return "| " + " | ".join(map(str, cells)) + " |\n"


def feature_table(machines):
    """A line a feature, a column a kernel; of the machines that boot a kernel as it is."""
    plain = {m.kernel: m for m in machines if m.variant == "default"}
    kernels = [k for k in KERNELS if k in plain]
    text = row(["feature", *(plain[k].version for k in kernels)])
    text += row(["---"] * (len(kernels) + 1))
    names = sorted({f for m in plain.values() for f in m.features})
    for name in names:
        verdicts = (plain[k].features.get(name, "missing") for k in kernels)
        text += row([f"`{name}`", *("yes" if v == "ok" else "fallback" for v in verdicts)])
    return text


def run_table(machines):
    text = row(["kernel", "variant", "tests", "passed", "failed", "skipped", "failed once",
                "seconds"])
    text += row(["---"] * 8)
    for m in machines:
        tests = "`" + m.selected.replace("|", "\\|") + "`"
        text += row([m.release, m.variant, tests, m.passed, m.failed, m.skipped, m.again,
                     m.seconds])
    return text


def check(machines, document):
    """What the document says otherwise of the kernels that ran."""
    block = document.split(BEGIN)[1].split(END)[0]
    rows = [[c.strip() for c in line.strip("|\n ").split("|")] for line in block.splitlines()]
    head = next(r for r in rows if r[0] == "feature")
    columns = {v: head.index(v) for v in head[1:]}
    said = {r[0].strip("`"): r for r in rows if r[0].startswith("`")}
    for m in machines:
        if m.failed:
            yield f"Linux {m.release}, {m.variant}: {m.failed} failed"
        same = [c for v, c in columns.items() if v.split(".")[:1] == m.version.split(".")[:1] and
                (m.kernel == "7" or v.split(".")[:2] == m.version.split(".")[:2])]
        if m.variant != "default" or not same:
            continue
        for name in sorted(m.features.keys() | said.keys()):
            has = "yes" if m.features.get(name) == "ok" else "fallback"
            says = said[name][same[0]] if name in said else "nothing"
            if has != says:
                yield f"Linux {m.release}: {name}: {has}, the document says {says}"


def main():
    modes = [a for a in sys.argv[1:] if a.startswith("--")]
    paths = [a for a in sys.argv[1:] if not a.startswith("--")] + ["build/vm/summary.tsv",
                                                                   "docs/kernel-support.md"]
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    with open(paths[0]) as f:
        machines = [Machine(line) for line in f]
    if modes == ["--check"]:
        with open(paths[1]) as f:
            wrong = list(check(machines, f.read()))
        print("\n".join(wrong) or f"{paths[1]} agrees with {len(machines)} runs")
        return 1 if wrong else 0
    tables = "\n" + feature_table(machines) + "\n" + run_table(machines) + "\n"
    if modes != ["--write"]:
        print(tables)
        return 0
    with open(paths[1]) as f:
        before, rest = f.read().split(BEGIN)
    with open(paths[1], "w") as f:
        f.write(before + BEGIN + tables + END + rest.split(END)[1])
    return 0


sys.exit(main())
