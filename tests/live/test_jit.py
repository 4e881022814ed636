#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Real runtimes' JIT code, named while it runs.

perf samples the same run, at the same frequency, at its own moments. Its names come from
`perf inject --jit` where the runtime writes a jitdump, and from the perf map where it writes that.
Where perf names none (bun, whose file has a name of its own kind) the shares can't be compared, but
all is to be named all the same.
"""

from jit_test import *

MS = 4000
JIT = os.path.join(ROOT, "tests/workloads/jit")


def perf(*args):
    done = subprocess.run(["perf", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode:
        # What is ebolt's has been checked by then. perf fails where it lost records in a storm.
        raise Skip(f"perf {args[0]} can't read what perf recorded: " +
                   " ".join(done.stderr.decode(errors="replace").split())[-200:])
    return done.stdout


def perf_leaves(data, pid):
    """({name: samples} of JIT code, all samples) as perf has them."""
    out = perf("script", "-i", data, "-G", "-F", "pid,ip,sym,dso")
    counts, total = {}, 0
    for line in out.splitlines():
        m = re.match(rb"\s*(-?\d+)\s+([0-9a-f]+)\s+(.*?)(?:\+0x[0-9a-f]+)? \(([^()]*)\)\s*$", line)
        if not m or int(m[1]) != pid:
            continue
        total += 1
        if b"/jitted-" in m[4] or re.search(rb"/perf-\d+\.map", m[4]):
            counts[m[3]] = counts.get(m[3], 0) + 1
    return counts, total


def compare_with_perf(named, total, theirs, n_theirs):
    """
    The five functions with most samples: that each has its name here too. Their shares are printed,
    not judged: a loop whose rounds all take the same time is seen by each sampler at moments of its
    own (52% beside 32% were seen of one function, with all samples named by both).
    """
    check(sum(theirs.values()) > 200, f"perf named little: {theirs}")
    for name in sorted(theirs, key=theirs.get, reverse=True)[:5]:
        ours = named.get(name, 0)
        off = abs(ours / total - theirs[name] / n_theirs)
        text = same_share(ours, total, theirs[name], n_theirs)[1]
        note(f"{name.decode(errors='replace')}: {text}, {100 * off:.2f} points")
        check(ours or theirs[name] < 0.05 * n_theirs, f"only perf has {name}: {theirs[name]}")


def record_beside_perf(argv, inject, env=None, d=None, beside=True):
    """Both record one run of a runtime, from before its beginning to its end."""
    d = d or tempdir()
    runtime = Runtime(argv, cwd=d, env={**os.environ, **(env or {})})
    if beside:
        needs("perf")
        peer = Process(["perf", "record", "-k", "mono", "-e", "cpu-clock", "-F", str(HZ), "-a",
                        "-o", d + "/perf.data", "--", "sleep", "3600"])
        wait_until("perf to start", lambda: children_sleep(peer.pid))
    recording = Recording("-p", runtime.pid, "-F", HZ, "--annotate", "-o", d + "/a.folded")
    runtime.open()
    equal(runtime.wait(), 0, f"exit status of {argv}: {runtime.err}")
    ledger = recording.finish()
    note(ledger.line)
    stacks = folded(d + "/a.folded", ledger)
    named = check_named(stacks)
    equal(warnings_of(recording), [], "warnings")
    if not beside:
        return named
    peer.signal(signal.SIGINT)
    peer.wait()
    data = d + "/perf.data"
    if inject:
        perf("inject", "-j", "-i", data, "-o", d + "/inject.data")
        data = d + "/inject.data"
    theirs, n_theirs = perf_leaves(data, runtime.pid)
    compare_with_perf(named, total(stacks), theirs, n_theirs)
    return named


def children_sleep(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            children = f.read().split()
        return any(os.readlink(f"/proc/{c}/exe").endswith(("sleep", "coreutils"))
                   for c in children)
    except OSError:
        return False


@case
def node_perf_prof():
    needs("node")
    record_beside_perf(["node", "--perf-prof", f"{JIT}/hot.js", str(MS)], inject=True)


@case
def node_perf_basic_prof():
    needs("node")
    record_beside_perf(["node", "--perf-basic-prof", f"{JIT}/hot.js", str(MS)], inject=False)


@case
def java_with_a_map_at_its_exit():
    needs("java", "javac")
    d = tempdir()
    subprocess.run(["javac", "-d", d, f"{JIT}/Hot.java"], check=True, stdin=subprocess.DEVNULL)
    record_beside_perf(["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
                        "Hot", str(MS)], inject=False, d=d)


@case
def php_tracing():
    needs("php")
    if b"Zend OPcache" not in subprocess.run(
            ["php", "-d", "zend_extension=opcache.so", "-v"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout:
        raise Skip("php has no opcache")
    record_beside_perf(["php", "-d", "zend_extension=opcache.so", "-d", "opcache.enable_cli=1",
                        "-d", "opcache.jit=tracing", "-d", "opcache.jit_buffer_size=64M",
                        "-d", "opcache.jit_debug=0x20", f"{JIT}/hot.php", str(MS)], inject=True)


def erlang(what, inject):
    needs("erl", "erlc")
    d = tempdir()
    subprocess.run(["erlc", "-o", d, f"{JIT}/hot.erl"], check=True, stdin=subprocess.DEVNULL)
    flavor = subprocess.run(["erl", "-noshell", "-eval",
                             "io:format(\"~p\", [erlang:system_info(emu_flavor)]), halt(0)."],
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    if flavor != b"jit":
        raise Skip(f"this erl has no JIT compiler, but {flavor.decode(errors='replace')}")
    record_beside_perf(["erl", "+JPperf", what, "-noshell", "-eval", f"hot:main({MS})."],
                       inject=inject, d=d)


@case
def erlang_dump():
    erlang("dump", True)


@case
def erlang_map():
    erlang("map", False)


@case
def lli_mcjit():
    needs("lli-19", "clang-19")
    d = tempdir()
    subprocess.run(["clang-19", "-O1", "-S", "-emit-llvm", f"{JIT}/hot.c", "-o", d + "/hot.ll"],
                   check=True, stdin=subprocess.DEVNULL)
    record_beside_perf(["lli-19", "-jit-kind=mcjit", d + "/hot.ll", str(MS)], inject=True,
                       env={"JITDUMPDIR": d}, d=d)


@case
def mono_jitmap():
    needs("mono", "mcs")
    d = tempdir()
    subprocess.run(["mcs", f"-out:{d}/hot.exe", f"{JIT}/Hot.cs"], check=True,
                   stdin=subprocess.DEVNULL)
    record_beside_perf(["mono", "--jitmap", d + "/hot.exe", str(MS)], inject=False, d=d)


def bun():
    """The machine's, or that of npm, which is fetched once."""
    path = f"{BUILD}/bun/node_modules/@oven/bun-linux-x64/bin/bun"
    if shutil.which("bun") or os.path.exists(path):
        return shutil.which("bun") or path
    needs("npm")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix",
                           f"{BUILD}/bun", "@oven/bun-linux-x64"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=200)
    if done.returncode or not os.path.exists(path):
        raise Skip(f"bun can't be had from npm: {done.stderr.strip()[-200:]}")
    return path


@case
def bun_where_perf_names_none():
    d = tempdir()
    named = record_beside_perf([bun(), f"{JIT}/hot.js", str(MS)], inject=False, beside=False, d=d,
                               env={"BUN_JSC_useJITDump": "1", "BUN_JSC_jitDumpDirectory": d})
    check(any(b"hotFib" in name for name in named), f"no hotFib in {named}")


def attached(option):
    """What node told long before; what it keeps in its buffer comes when it ends."""
    needs("node")
    d = tempdir()
    node = Process(["node", option, f"{JIT}/hot.js", str(2 * MS)], cwd=d)
    tmp_files_of(node.pid)
    wait_until("node to be warm", lambda: cpu_seconds(node.pid) > 1.5, 120)
    ledger = record("-p", node.pid, "-F", HZ, "--annotate", "-o", d + "/a.folded")
    named = check_named(folded(d + "/a.folded", ledger))
    for function in (b"hotFib", b"hotLoop", b"hotArea"):
        check(any(function in name for name in named), f"no {function} in {named}")


@case
def attached_to_a_warm_node_with_a_dump():
    attached("--perf-prof")


@case
def attached_to_a_warm_node_with_a_map():
    attached("--perf-basic-prof")


def first_in_its_namespace(option):
    """Pid 1 there, with a /tmp of its own, and gone a while before the recording ends."""
    needs("node")
    needs_unshare()
    d = tempdir()
    # The sources may lie in the /tmp that is hidden then.
    inner = "mount -t tmpfs none /tmp && cd /tmp && printf %s \"$js\" >hot.js && " \
            f"exec node {option} hot.js 2500"
    outer = f"js=$(cat {JIT}/hot.js); export js; " \
            f"unshare --mount --pid --fork sh -c '{inner}' || exit 1; sleep 3; exit 0"
    holder = Runtime(["/bin/sh", "-c", outer])
    recording = Recording("-p", holder.pid, "-F", HZ, "--annotate", "-o", d + "/a.folded")
    holder.open()
    equal(holder.wait(), 0, "exit status")
    named = check_named(folded(d + "/a.folded", recording.finish()))
    check(any(b"hotFib" in name for name in named), f"no hotFib in {named}: {holder.err}")


@case
def node_as_pid_1_with_a_dump_in_a_private_tmp():
    first_in_its_namespace("--perf-prof")


@case
def node_as_pid_1_with_a_map_in_a_private_tmp():
    first_in_its_namespace("--perf-basic-prof")


def lines_of_one_run():
    d = tempdir()
    record("-F", HZ, "--annotate", "--srcline", "-o", d + "/a.folded", "--", "node", "--perf-prof",
           f"{JIT}/hot.js", "1500", cwd=d)
    lines = {}
    for name, n in check_named(folded(d + "/a.folded")).items():
        m = re.search(rb"hot\.js:(\d+)\)$", name)
        if m:
            lines[int(m[1])] = lines.get(int(m[1]), 0) + n
    note(f"lines: {lines}")
    return lines


@case
def node_with_source_lines():
    needs("node")
    # V8 reads file names that it has freed: in many runs whole tables are garbage, and left out.
    for _ in range(6):
        lines = lines_of_one_run()
        if sum(lines.values()) > 500:
            break
    else:
        raise Skip("node wrote garbage for lines, six times")
    # Of the functions' lines these are in loops, or compute.
    check(set(lines) <= {3, 4, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, *range(26, 32)}, f"{lines}")
    check(lines.get(9, 0) + lines.get(10, 0) > 0.5 * sum(lines.values()), f"{lines}")


main()
