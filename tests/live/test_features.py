#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fallback records as well as what it stands in for; doctor's verdict is the truth here."""

from ebolt_test import *


def doctor():
    done = ebolt("doctor")
    return done.returncode, [re.match(r"(ok|degraded|missing) +([^:]+): (.*)", line)
                             for line in done.stdout.decode().splitlines()]


def features():
    """Those lines of doctor's that --disable-feature takes."""
    names = [m[2] for m in doctor()[1]]
    known = [n for n in names if re.fullmatch(r"[a-z]+(-[a-z]+)*", n) and
             b"unknown" not in ebolt("record", "--disable-feature", n, "-F", 99, "-d", 0.1,
                                     "-o", "folded:/dev/null").stderr]
    check(len(known) >= 3, f"features: {known} of {names}")
    return known


@case
def doctor_says_what_a_recording_does():
    status, lines = doctor()
    check(all(lines), "each line is: verdict, what, why")
    missing = [m[0] for m in lines if m[1] == "missing"]
    recorded = ebolt("record", "-F", "99", "-d", "0.2", "-o", "folded:/dev/null").returncode
    equal((status, missing), (recorded, []), "doctor and a recording")


def follows_children(*options):
    out = tempdir() + "/f.folded"
    recording = Recording("-F", 997, *options, "-o", out, "--", workload("forker"), 2, ready=False)
    ledger = recording.finish()
    seen = {f for s in folded(out, ledger) for f in s.frames}
    for name in (b"burn_parent", b"burn_child", b"burn_grandchild"):
        check(name in seen, f"{options}: no sample in {name.decode()}: {ledger.line}")
    # Three busy processes need more than one sample in 997 Hz x 1 s whatever else runs; that the
    # ledger's sums hold was checked when it was read.
    check(ledger.aggregated > 100, f"{options}: {ledger.line}")
    return recording.err


@case
def every_fallback_alone_records_and_follows_children():
    for name in features():
        err = follows_children("--disable-feature", name)
        check(name in err, f"{name}: the fallback in use is not said:\n{err}")


@case
def all_fallbacks_together_record_and_follow_children():
    follows_children(*(x for name in features() for x in ("--disable-feature", name)))


@case
def an_unknown_feature_is_named():
    done = ebolt("record", "--disable-feature", "nonsense", "-d", 1, "-o", "folded:/dev/null")
    check(done.returncode == 2 and b"nonsense" in done.stderr, done.stderr)


main()
