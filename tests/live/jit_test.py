# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of JIT code share."""

import glob

from ebolt_test import *

HZ = 997

NO_NAME = (b"[anon]", b"[unknown]", b"[jit: no marker]_[j]", b"[jit: no entry]_[j]",
           b"[jit: refused]_[j]", b"[jit]_[j]")


def jit_leaves(stacks):
    """({name: samples} of JIT code, samples of what has no name)."""
    named, nameless = {}, 0
    for s in stacks:
        raw = s.raw[-1]
        if raw in NO_NAME:
            nameless += s.count
        elif raw.endswith(b"_[j]"):
            name = s.leaf[:-len(b"_[j]")]
            named[name] = named.get(name, 0) + s.count
    return named, nameless


def check_named(stacks, what=""):
    named, nameless = jit_leaves(stacks)
    n = sum(named.values())
    lost = total(stacks, lambda s: s.raw[-1] == b"[mmap lost]")
    if lost:
        # On a machine that is so busy that ebolt can't drain its rings; the ledger tells.
        note(f"{what}{lost} samples while records of mappings were lost")
    note(f"{what}{n} samples in JIT code have a name, {nameless} none")
    check(n > 200 and n >= 0.99 * (n + nameless), f"{what}{nameless} of {n + nameless} JIT samples "
          f"have no name: {leaves(stacks)}")
    return named


def warnings_of(recording):
    """But for that of a machine too busy to answer ebolt's questions in time."""
    return [x for x in recording.err.splitlines() if "warning" in x and "took too long" not in x]


def tmp_files_of(pid):
    """What runtimes leave in /tmp is taken away, as are the files that perf makes of it."""
    def remove():
        for pattern in (f"jit-{pid}.dump", f"perf-{pid}.map", f"jitted-{pid}-*.so"):
            for path in glob.glob(f"/tmp/{pattern}"):
                os.unlink(path)
    CLEANUPS.append(remove)


class Runtime(Process):
    """Does nothing until opened, and then becomes the runtime, in the same pid."""

    def __init__(self, argv, **kw):
        super().__init__(["/bin/sh", "-c", 'read x; exec "$@"', "sh", *argv],
                         stdin=subprocess.PIPE, **kw)
        tmp_files_of(self.pid)

    open = Gate.open
