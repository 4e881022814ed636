#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
ebolt jitdump: dumps made here, beside a plain search over what was put in; the dumps of real
runtimes in ../shared/corpus/jit, beside what perf said of the same samples, and the malformed ones
there, beside their manifest. Needs no root.
"""

import json
import random
import struct

from ebolt_test import *

CORPUS = os.path.join(ROOT, "..", "shared", "corpus", "jit")
T = 10**12
ADDR = 0x7e0000000000
# Where perf named nothing.
BETTER = {"bun-jitdump", "java17-jvmti-tsc", "jitlink19-orc"}


class Dump:
    """Writes a jitdump, and remembers what is valid where and when."""

    def __init__(self, order="<"):
        self.order = order
        self.bytes = struct.pack(order + "6I2Q", 0x4A695444, 1, 40, 62, 0, 1, T, 0)
        # [time, number, start, end, name, index, end of validity, whether it was loaded there]
        self.functions = []

    def record(self, number, time, body):
        self.bytes += struct.pack(self.order + "IIQ", number, 16 + len(body), time) + body
        return self

    def load(self, time, addr, size, name, index=0, code=None):
        self.functions.append([time, len(self.functions), addr, addr + size, name, index, None,
                               True])
        return self.record(0, time, struct.pack(self.order + "IIQQQQ", 1, 1, addr, addr, size,
                                                index) +
                           name.encode(errors="surrogateescape") + b"\0" +
                           (bytes(size) if code is None else code))

    def move(self, time, old, new, index=0):
        found = [f for f in self.functions if f[2] == old and f[0] <= time and f[6] is None]
        found = [f for f in found if f[5] == index] or found
        f = max(found, key=lambda f: f[:2])
        f[6] = time
        size = f[3] - f[2]
        self.functions.append([time, len(self.functions), new, new + size, f[4], f[5], None,
                               False])
        return self.record(1, time, struct.pack(self.order + "IIQQQQQ", 1, 1, new, old, new, size,
                                                index))

    def debug(self, time, addr, entries):
        body = struct.pack(self.order + "QQ", addr, len(entries))
        for at, line, file in entries:
            body += struct.pack(self.order + "QII", at, line, 0) + file + b"\0"
        return self.record(2, time, body)

    def name(self, time, addr):
        """By a search of all: the latest up to then, or else the earliest loaded after."""
        here = [f for f in self.functions if f[2] <= addr < f[3]]
        valid = [f for f in here if f[0] <= time and (f[6] is None or time < f[6])]
        f = max(valid, key=lambda f: f[:2]) if valid else \
            min((f for f in here if f[0] > time and f[7]), key=lambda f: f[:2], default=None)
        return f"{f[4]}+{addr - f[2]:#x}" if f else "?"

    def write(self, path=None):
        path = path or tempdir() + "/jit-1.dump"
        with open(path, "wb") as f:
            f.write(self.bytes)
        return path


def jitdump(*args, status=0, **kw):
    done = ebolt("jitdump", *args, **kw)
    equal(done.returncode, status, f"exit status of {args}: {done.stderr.decode()}")
    return done.stdout.decode().splitlines()


def lookup(path, questions, status=0):
    text = "".join(f"{time} {addr:x}\n" for time, addr in questions)
    lines = jitdump(path, "--lookup", status=status, input=text.encode())
    equal(len(lines), len(questions), "answers")
    return lines


def verdict(lines):
    """The words of the last line."""
    return dict(word.split("=") for word in lines[-1].split())


def corpus():
    if not os.path.isdir(CORPUS):
        raise Skip("no ../shared/corpus/jit")
    return CORPUS


@case
def records_are_listed():
    d = Dump()
    d.record(4, T, struct.pack("<QQQ", 4, 4, 8) + bytes(4))
    d.debug(T + 1, ADDR, [(ADDR + 0x40, 3, b"a.js"), (ADDR + 0x48, 4, b"\xff")])
    d.load(T + 1, ADDR, 32, "JS:*a; b\\c", 7)
    d.move(T + 2, ADDR, ADDR + 0x1000, 7)
    d.record(9, T + 3, b"what").record(3, T + 4, b"")
    size = len(d.bytes)
    d.bytes += b"tail"
    expected = [
        f"0x28 {T} unwinding size=4 eh_frame_hdr=4 mapped=8",
        f"0x54 {T + 1} debug {ADDR:#x} entries=2",
        f"0x{0x54 + 32 + 21 + 18:x} {T + 1} load {ADDR:#x} 0x20 index=7 JS:*a; b\\c",
        f"0x{size - 16 - 20 - 64:x} {T + 2} move {ADDR:#x} 0x20 to={ADDR + 0x1000:#x} index=7",
        f"0x{size - 16 - 20:x} {T + 3} other id=9 size=20",
        f"0x{size - 16:x} {T + 4} close",
        "file=ok records=6 tail=4 warnings=0",
    ]
    path = d.write()
    equal(jitdump(path), expected, "lines")
    equal(jitdump(path, "--check"), expected[-1:], "lines of --check")
    # From a pipe as well, whatever is there at once.
    with open(path, "rb") as f:
        equal(jitdump("/dev/stdin", input=f.read()), expected, "lines of a pipe")


@case
def problems_have_their_offsets():
    d = Dump().load(T, ADDR, 16, "one")
    at = [0, len(d.bytes)]
    d.load(T, 0xffffffff81000000, 16, "kernel's")
    at.append(len(d.bytes))
    d.record(1, T, struct.pack("<IIQQQQQ", 1, 1, ADDR, 0x1000, ADDR, 16, 9))
    at.append(len(d.bytes))
    d.debug(T, ADDR + 64, [(ADDR + 63, 1, b"a.c")])
    at[-1] = len(d.bytes)  # it shows once there is a function
    d.load(T, ADDR + 64, 16, "whose lines are bad")
    at.append(len(d.bytes))
    d.bytes += struct.pack("<IIQ", 0, 8, T) + bytes(64)
    d.bytes = d.bytes[:4] + struct.pack("<I", 2) + d.bytes[8:]
    for args, status in ([], 0), (["--check"], 1):
        lines = jitdump(d.write(), *args, status=status)
        found = [int(line.split()[0], 16) for line in lines if " problem: " in line]
        equal(found, at, "offsets")
        equal(lines[-1], f"file=ok records=5 tail={16 + 64} warnings=5", "sum")


@case
def what_cannot_be_used_fails():
    d = tempdir()
    whole = Dump().load(T, ADDR, 16, "f").write(d + "/jit-1.dump")
    for name, content, word in ("empty", b"", "retry"), ("cut", b"DTiJ" + bytes(20), "retry"), \
            ("text", b"x" * 100, "reject"), ("zeros", bytes(5000), "retry"):
        path = f"{d}/{name}"
        with open(path, "wb") as f:
            f.write(content)
        for args in [], ["--check"]:
            equal(verdict(jitdump(path, *args, status=1))["file"], word, name)
        equal(lookup(path, [(T, ADDR)], status=1), ["?"], f"look-up in {name}")
    for path in d + "/none", d, "/dev/null":
        jitdump(path, status=1)
    os.mkfifo(d + "/fifo")  # which nobody writes
    jitdump(d + "/fifo", status=1)
    for args in [], [whole, whole], [whole, "--nonsense"], [whole, "--check", "--lookup"]:
        jitdump(*args, status=2)
    for line in "x 1", "1", "1 x", "1 2x", "-1 2", "1 -2", "1,2", f"{2**64} 1", f"1 {2**64:x}":
        equal(jitdump(whole, "--lookup", status=2, input=f"{T} {ADDR:x}\n{line}\n".encode()), [],
              f"answers to {line!r}")


@case
def questions_come_in_any_order():
    d = Dump().load(T, ADDR, 16, "one").load(T + 10, ADDR, 16, "two").load(T + 20, ADDR, 8, "")
    path = d.write()
    equal(lookup(path, [(T + 20, ADDR + 7), (T + 5, ADDR + 1), (T + 15, ADDR), (T + 20, ADDR + 8),
                        (T, ADDR + 16), (T - 5, ADDR)]),
          [f"[jit {ADDR:#x}]+0x7", "one+0x1", "two+0x0", "two+0x8", "?", "one+0x0"], "answers")
    # As samples.tsv files are: comments, more columns, empty lines, 0x.
    text = f"# time addr\n\n{T}\t{ADDR:#x}\tanything\n  {T}   {ADDR + 1:x}  \r\n"
    equal(jitdump(path, "--lookup", input=text.encode()), ["one+0x0", "one+0x1"], "answers")
    equal(jitdump(path, "--lookup"), [], "no questions")


@case
def names_stay_on_their_line():
    d = Dump()
    d.load(T, ADDR, 16, "void A.b(int; char)\n1 2")
    d.load(T, ADDR + 16, 16, "\x1b[31m\x7f é€😀\udcff \\n")
    d.load(T, ADDR + 32, 16, "n" * 70000)
    equal(lookup(d.write(), [(T, ADDR), (T, ADDR + 16), (T, ADDR + 32)]),
          ["void A.b(int; char)\\x0a1 2+0x0", "\\x1b[31m\\x7f é€😀\\xff \\n+0x0",
           "n" * 4096 + "+0x0"], "answers")


def random_dump(rng, order):
    d = Dump(order)
    for i in range(rng.randrange(1, 120)):
        time = T + rng.randrange(1000)
        addr = ADDR + rng.randrange(64) * 16
        d.load(time, addr, rng.choice([8, 16, 16, 48, 200]), f"f{i}", rng.randrange(4))
    return d


@case
def random_dumps_beside_a_plain_search():
    seed = random.randrange(10**6)
    note(f"seed {seed}")
    rng = random.Random(seed)
    for n in range(60 if not SAN else 20):
        d = random_dump(rng, "<>"[n % 2])
        questions = [(T + rng.randrange(-100, 1200), ADDR + rng.randrange(64 * 16 + 200))
                     for _ in range(500)]
        answers = lookup(d.write(), questions)
        for (time, addr), answer in zip(questions, answers):
            equal(answer, d.name(time, addr), f"dump {n}: at {time} {addr:x}")


@case
def code_that_moves():
    seed = random.randrange(10**6)
    note(f"seed {seed}")
    rng = random.Random(seed)
    for n in range(30):
        # As a collector that compacts does it: each function somewhere of its own.
        d = Dump()
        free = [ADDR + i * 256 for i in range(200)]
        rng.shuffle(free)
        places = {}
        for time in range(T, T + 300):
            if not places or rng.random() < 0.4 and len(free) > 1:
                index = len(d.functions) + 1000
                places[index] = free.pop()
                d.load(time, places[index], rng.randrange(1, 256), f"f{index}", index)
            else:
                index = rng.choice(list(places))
                new = free.pop()
                d.move(time, places[index], new, index)
                free.insert(0, places[index])
                places[index] = new
        questions = [(T + rng.randrange(300), ADDR + rng.randrange(200 * 256))
                     for _ in range(500)]
        for (time, addr), answer in zip(questions, lookup(d.write(), questions)):
            expected = d.name(time, addr)
            equal(answer, expected, f"dump {n}: at {time} {addr:x}")


@case
def a_gigabyte_in_little_memory():
    path = tempdir() + "/jit-1.dump"
    code = 60 << 20
    with open(path, "wb") as f:
        f.write(Dump().bytes)
        for i in range(18):  # of holes: as large as can be, and nothing on the disk
            d = Dump().load(T + i, ADDR + i * code, code, f"f{i}", code=b"")
            record = d.bytes[40:]
            f.write(record[:4] + struct.pack("<I", len(record) + code) + record[8:])
            f.seek(code, os.SEEK_CUR)
        f.truncate(f.tell())
        size = f.tell()
    check(size > 10**9, f"{size} bytes")
    for args in [], ["--check"], ["--lookup"]:
        with open("/dev/null") as null:
            child = subprocess.Popen([EBOLT, "jitdump", path, *args], stdin=null,
                                     stdout=subprocess.PIPE)
            out = child.stdout.read().decode()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        equal(status, 0, "status")
        if not args:
            equal(verdict(out.splitlines())["records"], "18", "records")
        if not SAN:
            check(usage.ru_maxrss < 64 << 10, f"{args}: {usage.ru_maxrss} KiB")
    equal(lookup(path, [(T + 99, ADDR + 17 * code + 5)]), ["f17+0x5"], "answer")


@case
def a_sparse_terabyte():
    d = Dump().load(T, ADDR, 16, "f")
    path = d.write()
    os.truncate(path, 1 << 40)
    lines = jitdump(path, timeout=20)
    equal(lines[-1], f"file=ok records=1 tail={(1 << 40) - len(d.bytes)} warnings=0", "sum")
    equal(lookup(path, [(T, ADDR)]), ["f+0x0"], "answer")


@case
def perf_maps_too():
    path = tempdir() + "/perf-1.map"
    with open(path, "wb") as f:
        f.write(b"7e0000000000 40 first\n0x7e0000000010 0x10 JS:~f over\n two lines\n"
                b"7e0000000000 0 nothing\n"
                b"7e0000000030 10 no end")
    equal(jitdump(path), ["0x7e0000000000 0x40 first", "0x7e0000000010 0x10 JS:~f over",
                          "0x7e0000000030 0x10 no end",
                          "file=ok records=3 tail=0 warnings=1"], "lines")
    equal(lookup(path, [(T, ADDR + i) for i in (0, 0x10, 0x1f, 0x20, 0x3f, 0x40)]),
          ["first+0x0", "JS:~f over+0x0", "JS:~f over+0xf", "first+0x20", "no end+0xf", "?"],
          "answers")
    jitdump(path, "--check", status=1)
    with open(path, "wb") as f:
        f.write(b"nothing of the kind\n")
    equal(verdict(jitdump(path, status=1))["file"], "reject", "verdict")


@case
def malformed_dumps_of_the_corpus():
    bad = corpus() + "/bad/"
    with open(bad + "manifest.json") as f:
        manifest = json.load(f)
    base, t0, phase = int(manifest["base"], 16), manifest["t0"], manifest["phase_ns"]
    equal(len(manifest["cases"]), 56, "cases")
    for c in manifest["cases"]:
        path, what, expect = bad + c["file"], c["case"], c["expect"]
        usable = expect["file"] == "ok"
        said = verdict(jitdump(path, status=0 if usable else 1))
        equal(said["file"], expect["file"], what)
        for word, key in ("records", "records"), ("tail", "tail"):
            if expect[key] is not None:
                equal(int(said[word]), expect[key], f"{what}: {word}")
        equal(said["warnings"] != "0", expect["warn"], f"{what}: warnings")
        jitdump(path, "--check", status=0 if usable and not expect["warn"] else 1)
        questions = [(t0 + p * phase + phase // 2, base + int(f[1]) * 0x100 + 4)
                     for p, f, _ in expect["lookups"]]
        for (_, f, symbol), answer in zip(expect["lookups"],
                                          lookup(path, questions, status=0 if usable else 1)):
            # Only this one begins elsewhere than what was asked for.
            at = int(f[1]) * 0x100 + 4 if symbol == "big" else 4
            wanted = {None: ["?"], "[jit]": [f"[jit {base:#x}]+0x4"],
                      "f0?": ["?", "f0+0x4"],
                      "esc:void A.b(int; char)\n1 2": ["void A.b(int; char)\\x0a1 2+0x4"],
                      "esc:ta\tb\x1b[31m": ["ta\\x09b\\x1b[31m+0x4"],
                      "esc:\\xff\\xfe": ["\\xff\\xfe\\xc3+0x4"],
                      "long:N*70000": ["N" * 4096 + "+0x4"]}.get(symbol, [f"{symbol}+{at:#x}"])
            check(answer in wanted, f"{what}: {f}: {answer[:100]!r} is not {symbol!r}")


JVM_TYPES = dict(B="byte", C="char", D="double", F="float", I="int", J="long", S="short", V="void",
                 Z="boolean")


def as_perf_writes_java(name):
    """LHot;loop(I)J: perf writes such names as Hot.loop(int)."""
    m = re.fullmatch(r"L([^;]+);([^(;]+)\(([BCDFIJSZ]*)\)[BCDFIJSVZ]", name)
    if not m:
        return name
    return f"{m[1].replace('/', '.')}.{m[2]}({', '.join(JVM_TYPES[c] for c in m[3])})"


def read_loads(path):
    """The loads of a well-formed dump, by a few lines of other code."""
    with open(path, "rb") as f:
        data = f.read()
    d, at = Dump(), 40
    tsc = data[32] == 1
    while at + 16 <= len(data):
        number, size, time = struct.unpack_from("<IIQ", data, at)
        if number == 0:
            addr, length = struct.unpack_from("<QQ", data, at + 32)
            name = data[at + 56:data.index(b"\0", at + 56)].decode()
            d.functions.append([0 if tsc else time, len(d.functions), addr, addr + length, name, 0,
                                None, True])
        at += size
    return d


@case
def samples_of_real_runtimes():
    names = sorted(f[:-len(".samples.tsv")] for f in os.listdir(corpus())
                   if f.endswith(".samples.tsv"))
    check(len(names) >= 13, f"only {names}")
    for name in names:
        with open(f"{CORPUS}/{name}.samples.tsv") as f:
            rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
        questions = [(int(time), int(addr, 16)) for time, addr, _ in rows]
        files = [f"{CORPUS}/{name}{end}" for end in (".dump", ".map")]
        files = [f for f in files if os.path.exists(f)]
        check(files, f"{name}: no file")
        for path in files:
            answers = lookup(path, questions)
            if name in BETTER:
                loads = read_loads(path)
                equal({symbol for _, _, symbol in rows}, {"[unknown]"}, "what perf said")
                equal(answers, [loads.name(*q) for q in questions], name)
                check("?" not in answers, f"{name}: some have no name")
                continue
            for (time, addr, symbol), answer in zip(rows, answers):
                known = as_perf_writes_java(answer.rpartition("+")[0]) or "[unknown]"
                check(known == symbol or symbol == "[unknown]",
                      f"{path}: {time} {addr}: {answer!r} is not {symbol!r}")
            note(f"{os.path.basename(path)}: {len(rows)} samples")


@case
def the_manual_names_every_option():
    done = ebolt("jitdump", "--help")
    equal(done.returncode, 0, "exit status of --help")
    with open(ROOT + "/docs/man/ebolt-jitdump.1") as f:
        manual = f.read().replace("\\-", "-")
    for option in set(re.findall(r"(?<![\w-])--[a-z-]+", done.stdout.decode())):
        check(option in manual, f"not in ebolt-jitdump.1: {option}")


# Nothing here samples.
main(lambda: None)
