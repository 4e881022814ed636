# SPDX-License-Identifier: GPL-2.0-or-later
"""
What the live tests share: TAP, running ebolt and workloads, reading what ebolt writes.

A test file is a program: it defines cases with @case and ends with main(). Run alone it finds
the build by itself:

    tests/live/test_truth.py [CASE...]

The rules that keep these tests honest on a busy machine: nothing sleeps to wait for an event
(ebolt says "ebolt: recording" on standard error once it samples; workloads are waited for by
pid), only processes started here are ended, by pid, and a tolerance is a number of standard
deviations of a stated distribution, never a guess.
"""

import ctypes
import fnmatch
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
EBOLT = os.environ.get("EBOLT", os.path.join(BUILD, "ebolt"))
WORKLOADS = os.environ.get("WORKLOADS", os.path.join(BUILD, "workloads"))
LLVM = "/usr/lib/llvm-19/bin"
SAN = bool(os.environ.get("SAN"))
# In an emulated machine (tests/vm): slow CPUs, which a busy host makes late as well.
VM = bool(os.environ.get("EBOLT_VM"))
# The share of the samples due that arrive for certain: emulated CPUs deliver a half to three
# quarters of 997 Hz, and the seconds in which they load ebolt's programs may count as due.
DELIVERED = 0.3 if VM else 1.0
# How many times longer a program runs where the start of its process (exec, dynamic linking) is to
# count as little: an emulated CPU translates code anew for each process.
LONGER = 10 if VM else 1
# Options for every `ebolt record`, such as "--disable-feature X".
EXTRA_ARGS = os.environ.get("EBOLT_EXTRA_ARGS", "").split()

# ---- cases ---------------------------------------------------------------------------------


class Skip(Exception):
    """Raised by a case that can't be had on this machine; says why."""


CASES = []
CLEANUPS = []


def case(fn):
    CASES.append(fn)
    return fn


def note(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(a, b, what):
    check(a == b, f"{what}: {a!r} is not {b!r}")


def why_not():
    """Why live tests can't run here, or None: asks the kernel, not ebolt."""
    if os.geteuid() != 0:
        return "needs root"
    libc = ctypes.CDLL(None, use_errno=True)
    nr_bpf, nr_perf = {"x86_64": (321, 298), "aarch64": (280, 241)}[os.uname().machine]

    class ProgLoad(ctypes.Structure):
        # union bpf_attr of BPF_PROG_LOAD (5), as far as prog_flags.
        _fields_ = [("type", ctypes.c_uint32), ("cnt", ctypes.c_uint32),
                    ("insns", ctypes.c_uint64), ("license", ctypes.c_uint64),
                    ("rest", ctypes.c_uint64 * 12)]

    # r0 = 0; exit
    insns = ctypes.create_string_buffer(bytes.fromhex("b700000000000000" "9500000000000000"))
    gpl = ctypes.create_string_buffer(b"GPL")
    attr = ProgLoad(7, 2, ctypes.addressof(insns), ctypes.addressof(gpl))  # PERF_EVENT
    fd = libc.syscall(nr_bpf, 5, ctypes.byref(attr), ctypes.sizeof(attr))
    if fd < 0:
        return "BPF programs can't be loaded: " + os.strerror(ctypes.get_errno())
    os.close(fd)
    # struct perf_event_attr, 64 bytes: type 1 (software), size, config 0 (cpu-clock), period.
    event = (ctypes.c_uint64 * 8)(1 | 64 << 32, 0, 1000000)
    fd = libc.syscall(nr_perf, event, -1, 0, -1, 0)
    if fd < 0:
        return "cpu-clock can't be opened: " + os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def main(why_not=why_not):
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return
    names = sys.argv[1:]
    cases = [c for c in CASES if not names or any(fnmatch.fnmatch(c.__name__, n) for n in names)]
    failed = 0
    print(f"1..{len(cases)}", flush=True)
    for number, fn in enumerate(cases, 1):
        name = fn.__name__.replace("_", " ")
        started = time.monotonic()
        try:
            fn()
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except BaseException as error:  # also an interrupt: the workloads must be ended
            failed += 1
            print(f"not ok {number} - {name}")
            if not isinstance(error, AssertionError):
                note(traceback.format_exc())
            else:
                note(error)
            if isinstance(error, KeyboardInterrupt):
                sys.exit(1)
        finally:
            while CLEANUPS:
                CLEANUPS.pop()()
            note(f"{time.monotonic() - started:.1f} s")
            sys.stdout.flush()
    sys.exit(1 if failed else 0)


def tempdir():
    path = tempfile.mkdtemp(prefix="ebolt-test-")
    CLEANUPS.append(lambda: shutil.rmtree(path, ignore_errors=True))
    return path


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")


def needs_unshare():
    """A mount namespace of one's own: not to be had in a chroot that is no mount point."""
    needs("unshare")
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    if done.returncode:
        raise Skip("no mount namespace of one's own: " + done.stderr.strip())


def needs_others_to_reach(path):
    """Somebody without rights can read it: not so where a directory above is closed to others."""
    needs("setpriv")
    if subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r",
                       path]).returncode:
        raise Skip(f"another user can't read {path}")


def wait_until(what, condition, timeout=20):
    """For states that nothing announces: asks again every 5 ms."""
    end = time.monotonic() + timeout
    while not condition():
        check(time.monotonic() < end, f"waited {timeout} s for {what}")
        time.sleep(0.005)


# ---- processes -----------------------------------------------------------------------------


class Process:
    """A child whose output is collected, and which is gone when the case ends."""

    def __init__(self, argv, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        self.argv = argv
        self.lines = {"out": [], "err": []}
        self.changed = threading.Condition()
        self.popen = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
        self.pid = self.popen.pid
        self.threads = [threading.Thread(target=self._read, args=a, daemon=True)
                        for a in (("out", self.popen.stdout), ("err", self.popen.stderr))]
        for thread in self.threads:
            thread.start()
        CLEANUPS.append(self.end)

    def _read(self, which, pipe):
        for line in pipe:
            with self.changed:
                self.lines[which].append(line)
                self.changed.notify_all()
        with self.changed:
            self.lines[which].append(None)
            self.changed.notify_all()

    def text(self, which):
        with self.changed:
            return b"".join(x for x in self.lines[which] if x).decode(errors="replace")

    @property
    def out(self):
        return self.text("out")

    @property
    def err(self):
        return self.text("err")

    def wait_line(self, which, pattern, timeout=60):
        """Waits for a line; the process's end before it is a failure."""
        def found():
            return next((x for x in self.lines[which] if x is None or re.search(pattern, x)), b"")
        with self.changed:
            check(self.changed.wait_for(lambda: found() != b"", timeout),
                  f"{self.argv}: no line like {pattern} in {timeout} s")
            line = found()
        check(line is not None, f"{self.argv}: ended without a line like {pattern}:\n{self.err}")
        return line.decode(errors="replace")

    def signal(self, sig):
        self.popen.send_signal(sig)

    def wait(self, timeout=60):
        try:
            status = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.argv}: still running after {timeout} s:\n{self.err}")
        for thread in self.threads:
            thread.join(5)
        return status

    def end(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


class Workload(Process):
    """A program of tests/workloads."""

    def __init__(self, name, *args, **kw):
        super().__init__([workload(name), *map(str, args)], **kw)

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.result()

    def result(self):
        equal(self.wait(), 0, f"exit status of {self.argv}")
        return dict(line.split("=", 1) for line in self.out.splitlines() if "=" in line)


def cpu_seconds(pid):
    """What the process's first thread has had of the CPUs."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def workload(name):
    return os.path.join(WORKLOADS, name)


class Gate(Process):
    """A process that does nothing until opened, and then becomes a workload, in the same pid."""

    def __init__(self, name, *args):
        super().__init__(["/bin/sh", "-c", 'read x; exec "$@"', "sh", workload(name),
                          *map(str, args)], stdin=subprocess.PIPE)

    def open(self):
        self.popen.stdin.write(b"\n")
        self.popen.stdin.close()

    result = Workload.result


class Recording(Process):
    """`ebolt record ...`; returns once it samples."""

    def __init__(self, *args, ready=True, **kw):
        super().__init__([EBOLT, "record", *EXTRA_ARGS, *map(str, args)], **kw)
        if ready:
            self.wait_line("err", rb"^ebolt: recording", 120)

    def stop(self, sig=signal.SIGINT, status=0):
        self.signal(sig)
        return self.finish(status)

    def finish(self, status=0, timeout=120):
        """Waits for the end, and checks what holds for every recording."""
        equal(self.wait(timeout), status, f"exit status of {self.argv}:\n{self.err}\n")
        return Ledger(self.err)


def sample_process(load, hz, seconds, *args):
    """
    Records a single-threaded process that is always busy: (ledger, samples to expect). On a
    machine with other work the process has a share of a CPU only, so what to expect is counted:
    its CPU time while ebolt recorded, and also wrote its outputs, times the frequency.
    """
    recording = Recording("-p", load.pid, "-F", hz, "-d", seconds, *args)
    before = cpu_seconds(load.pid)
    ledger = recording.finish()
    return ledger, (cpu_seconds(load.pid) - before) * hz


def cpu_seconds_of_all_threads(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def record_until_busy(pids, seconds, *args):
    """Records until each of the processes has had so much of the CPUs: the ledger."""
    seconds /= DELIVERED
    recording = Recording(*args)
    before = {pid: cpu_seconds_of_all_threads(pid) for pid in pids}
    wait_until("CPU time", lambda: all(cpu_seconds_of_all_threads(pid) - before[pid] >= seconds
                                       for pid in pids), 120)
    return recording.stop()


def record(*args, status=0, **kw):
    return Recording(*args, ready=False, **kw).finish(status)


def ebolt(*args, timeout=60, **kw):
    """Runs a command that is expected to end by itself; the finished subprocess."""
    if "input" not in kw:
        kw["stdin"] = subprocess.DEVNULL
    if args[:1] == ("record",):
        args = ("record", *EXTRA_ARGS, *args[1:])
    return subprocess.run([EBOLT, *map(str, args)], timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


# ---- what ebolt writes ---------------------------------------------------------------------


class Ledger:
    """The ledger line; making one checks that it is the last line and that its identity holds."""

    # Named with the causes, but of task records, not of samples.
    OUTSIDE = ("task_lost", "targets_full", "maps_dropped", "procs_evicted",
               "files_unopened", "no_segment", "ambiguous", "jit_refused", "jit_spoilt",
               "jit_forgotten")

    def __init__(self, stderr):
        lines = stderr.splitlines()
        m = re.fullmatch(r"ledger: fired=(\d+) aggregated=(\d+) filtered=(\d+) lost=(\d+) "
                         r"missed=(\d+)(?: \(([^()]*)\))?", lines[-1] if lines else "")
        check(m, f"the last line is no ledger:\n{stderr}")
        numbers = map(int, m.groups()[:5])
        self.fired, self.aggregated, self.filtered, self.lost, self.missed = numbers
        self.line = lines[-1]
        self.causes = {k: int(v) for k, v in
                       (x.split("=") for x in re.split(r"[ ,]+", m.group(6) or "") if x)}
        equal(self.fired, self.aggregated + self.filtered + self.lost,
              f"aggregated + filtered + lost ({self.line})")
        check(0 not in self.causes.values(), f"a cause of 0 is named: {self.line}")
        equal(sum(n for cause, n in self.causes.items() if cause not in self.OUTSIDE),
              self.lost, f"the causes' sum ({self.line})")
        check("unaccounted" not in self.causes, f"samples vanished: {self.line}")


ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2})")


def unescape(field):
    """A folded field's original bytes."""
    rest = ESCAPE.sub(b"", field)
    check(b"\\" not in rest, f"not an escape: {field!r}")
    return ESCAPE.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1][1:], 16)]), field)


class Stack:
    def __init__(self, line):
        m = re.fullmatch(rb"(.+) (\d+)", line, re.S)
        check(m, f"not a folded line: {line!r}")
        # As written: the symbol "[unknown]" is \\x5bunknown], a frame without a symbol [unknown].
        self.raw = m[1].split(b";")
        self.comm, *self.frames = (unescape(x) for x in self.raw)
        self.count = int(m[2])

    @property
    def leaf(self):
        return self.frames[-1] if self.frames else b""


def folded(path, ledger=None):
    """The stacks of a folded file, which must be well-formed, sorted, and as many as aggregated."""
    with open(path, "rb") as f:
        data = f.read()
    check(data.endswith(b"\n"), f"{path}: no final line end")
    lines = data[:-1].split(b"\n")
    for line in lines:
        check(not re.search(rb"[\x00-\x1f\x7f]", line), f"control byte in {line!r}")
        line.decode("utf-8")
    check(lines == sorted(lines), f"{path} is not in LC_ALL=C order")
    stacks = [Stack(line) for line in lines]
    equal(len({tuple(s.raw) for s in stacks}), len(stacks), "distinct stacks")
    if ledger:
        equal(sum(s.count for s in stacks), ledger.aggregated, "the sum of the counts")
    return stacks


def total(stacks, want=lambda s: True):
    return sum(s.count for s in stacks if want(s))


def leaves(stacks):
    """Samples by leaf function."""
    counts = {}
    for s in stacks:
        counts[s.leaf] = counts.get(s.leaf, 0) + s.count
    return counts


def fdata(path):
    """(event line, {(name, offset): count}) of a no_lbr file."""
    with open(path, "rb") as f:
        data = f.read()
    check(data.endswith(b"\n"), f"{path}: no final line end")
    head, *lines = data[:-1].split(b"\n")
    check(head.startswith(b"no_lbr"), f"{path} starts with {head!r}")
    records = {}
    for line in lines:
        m = re.fullmatch(rb"1 ((?:[^ \\]|\\.)+) ([0-9a-f]+) (\d+)", line)
        check(m, f"not a sample record: {line!r}")
        records[re.sub(rb"\\(.)", rb"\1", m[1]), int(m[2], 16)] = int(m[3])
    equal(len(records), len(lines), "distinct records")
    return head, records


# ---- statistics ----------------------------------------------------------------------------


def binomial_sd(n, p):
    return math.sqrt(n * p * (1 - p))


def binomial_tail(k, n, p):
    """The probability that of n samples, of which each hits with p, as many hit as k, or a number
    still further from the expected one on the same side."""
    if p <= 0 or p >= 1:
        return float(k == n * p)
    log_term = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) +
                k * math.log(p) + (n - k) * math.log1p(-p))
    term = total = math.exp(log_term)
    up = k >= n * p
    while (k < n if up else k > 0) and term > total * 1e-9:
        term *= (n - k) / (k + 1) * p / (1 - p) if up else k / (n - k + 1) * (1 - p) / p
        k += 1 if up else -1
        total += term
    return min(total, 1.0)


def within(observed, n, p, sds=4):
    """
    observed of n samples, of which each hits with probability p: whether that is as likely as a
    normal variable's being so many sd's off. Exact, not by the normal law: of something rare one
    sample is many sd's off and yet nothing odd.
    """
    sd = binomial_sd(n, p)
    off = abs(observed - n * p) / sd if sd else abs(observed - n * p)
    likely = 0 <= observed <= n and binomial_tail(observed, n, p) >= math.erfc(sds / 2**0.5) / 2
    return likely, f"{observed} of {n}, expected {n * p:.1f} (sd {sd:.1f}): {off:.2f} sd"


def share_of_cpu_time(observed, n, p):
    """
    within(), of samples against CPU times. An emulated CPU's time goes on while the host has none
    for it, but its samples don't come; so a task's part depends on where it ran. 12% off were seen,
    a quarter is allowed.
    """
    ok, text = within(observed, n, p)
    return ok or VM and abs(observed - n * p) <= 0.25 * n * p, text


def same_share(k1, n1, k2, n2, sds=4):
    """Whether two samples, k of n each, come from one share: the two-proportion z test."""
    p = (k1 + k2) / (n1 + n2)
    sd = math.sqrt(p * (1 - p) * (1 / n1 + 1 / n2))
    off = abs(k1 / n1 - k2 / n2) / sd if sd else 0.0
    return off <= sds, f"{k1}/{n1} and {k2}/{n2}: {off:.2f} sd"
