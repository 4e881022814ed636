#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ebolt resolve beside readelf and llvm-symbolizer, which read the files by other code."""

from ebolt_test import *

ELF = workload("mix")


def readelf(option, path):
    return subprocess.run(["readelf", option, path], capture_output=True, check=True,
                          text=True).stdout


def loads(path):
    """(offset, vaddr, filesz, executable) of each PT_LOAD, by readelf."""
    text = readelf("-lW", path)
    return [(int(m[1], 16), int(m[2], 16), int(m[3], 16), "E" in m[4]) for m in re.finditer(
        r"LOAD +(0x\S+) (0x\S+) 0x\S+ (0x\S+) 0x\S+ ([RWE ]+?) +0x", text)]


def functions(path):
    """(vaddr, size, name) of each sized function that no other one shares its address with."""
    text = readelf("-sW", path)
    found = {}
    for m in re.finditer(r"^ *\d+: ([0-9a-f]+) +(\d+) FUNC +\w+ +\w+ +\d+ (\S+)", text, re.M):
        if int(m[2]):
            found.setdefault(int(m[1], 16), set()).add((int(m[2]), m[3]))
    return [(v, *next(iter(s))) for v, s in found.items() if len(s) == 1]


def offset(path, vaddr):
    return next(off + vaddr - v for off, v, size, x in loads(path) if x and v <= vaddr < v + size)


def numbers(path, vaddr, size):
    """The segment and the symbol of a function, as resolve prints them."""
    off, v, filesz, _ = next(l for l in loads(path) if l[3] and l[1] <= vaddr < l[1] + l[2])
    return f"segment={off:#x}+{filesz:#x}@{v:#x} symbol={vaddr:#x}+{size:#x}"


@case
def every_function_of_a_file():
    wanted = [(offset(ELF, v + d), v, d, name, numbers(ELF, v, size))
              for v, size, name in functions(ELF) for d in {0, size - 1}]
    check(len(wanted) > 5, f"readelf knows {len(wanted)} places")
    done = ebolt("resolve", ELF, "-", input="".join(f"{w[0]:#x}\n" for w in wanted).encode())
    equal(done.returncode, 0, "exit status")
    equal(done.stdout.decode().splitlines(),
          [f"{off:#x} vaddr={v + d:#x} {name}+{d:#x}" for off, v, d, name, _ in wanted], "lines")
    done = ebolt("resolve", "-v", ELF, "-", input="".join(f"{w[0]:#x}\n" for w in wanted).encode())
    equal([x for x in done.stdout.decode().splitlines() if not x.startswith(" ")],
          [f"{off:#x} vaddr={v + d:#x} {name}+{d:#x} {n}" for off, v, d, name, n in wanted],
          "lines")


@case
def what_cannot_be_resolved_says_why():
    done = ebolt("resolve", ELF, "0xfffffff0", f"{offset(ELF, functions(ELF)[0][0]):x}")
    equal(done.returncode, 1, "exit status")
    lines = done.stdout.decode().splitlines()
    # Which it might have been: the last one; there is none above.
    off, vaddr, size, _ = max(l for l in loads(ELF) if l[3])
    equal(lines[0], "0xfffffff0 unresolved: no executable segment holds the offset", "line")
    verbose = ebolt("resolve", "-v", ELF, "0xfffffff0").stdout.decode().splitlines()
    equal(verbose[0], f"{lines[0]} below={off:#x}+{size:#x}@{vaddr:#x}", "line")
    check(" vaddr=" in lines[1], lines[1])
    equal(ebolt("resolve", "/etc/passwd", "0").returncode, 1, "not an ELF file")
    equal(ebolt("resolve", "/no/such/file", "0").returncode, 1, "no file")
    equal(ebolt("resolve", ELF, "nonsense").returncode, 2, "not a number")
    equal(ebolt("resolve", ELF).returncode, 2, "nothing to resolve")


@case
def standard_streams_that_fail_are_told():
    def run(stdin, stdout=subprocess.DEVNULL):
        return subprocess.run([EBOLT, "resolve", ELF, "-"], stdin=stdin, stdout=stdout,
                              stderr=subprocess.PIPE)

    directory = os.open("/", os.O_RDONLY)
    done = run(directory)
    os.close(directory)
    equal(done.returncode, 1, "exit status where standard input is a directory")
    check(b"standard input: Is a directory" in done.stderr, done.stderr)
    with open("/dev/zero") as endless:
        equal(run(endless).returncode, 2, "exit status of endless NULs")
    with open(tempdir() + "/numbers", "w+") as numbers, open("/dev/full", "w") as full:
        numbers.write("1\n" * 100000)
        numbers.seek(0)
        done = run(numbers, full)
    equal(done.returncode, 1, "exit status where standard output is full")
    check(b"standard output: No space left" in done.stderr, done.stderr)


@case
def addresses_of_a_running_process():
    program = Workload("busy", 60)
    try:
        wait_until("it has been executed", lambda: os.path.exists(f"/proc/{program.pid}/exe") and
                   os.readlink(f"/proc/{program.pid}/exe") == os.path.realpath(workload("busy")))
        exe = os.path.realpath(workload("busy"))
        with open(f"/proc/{program.pid}/maps") as f:
            start_addr, pgoff = next((int(l.split("-")[0], 16), int(l.split()[2], 16))
                                     for l in f if l.rstrip().endswith(exe) and " r-xp " in l)
        vaddr, size, name = next(f for f in functions(exe) if f[2] == "main")
        addr = start_addr + offset(exe, vaddr) - pgoff
        done = ebolt("resolve", "-p", program.pid, f"{addr:x}", "1", "ffffffffff600000")
        lines = done.stdout.decode().splitlines()
        check(lines[0].startswith(f"{addr:x} vaddr={vaddr:#x} main+0x0 "
                                  f"mapping={start_addr:#x}-"), lines[0])
        check(lines[0].endswith(f" off={offset(exe, vaddr):#x} {numbers(exe, vaddr, size)} "
                                f"dso={exe}"), lines[0])
        equal(lines[1], "1 unresolved: no mapping covers the address", "address 1")
        equal(lines[2], "ffffffffff600000 unresolved: the vsyscall page", "the vsyscall page")
        equal(done.returncode, 1, "exit status")
    finally:
        program.end()


main()
