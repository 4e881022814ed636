#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The right file, wherever it is and whatever its name is.

`one` and `two` are alike but for the names of their functions, so that another file than the one
that ran would give plausible, wrong names. Each case has a file of the one kind run, most with one
of the other kind where a look at the path would find it; attached to, and launched.
"""

import ctypes
import mmap

from ebolt_test import *

HZ = 1999
BLOCKS = 20000 if not VM else 16000
ONE, TWO = workload("one"), workload("two")
LIBC = ctypes.CDLL(None, use_errno=True)


class Burner(Process):
    """Runs `one` or `two` at a path: says "ready", burns until it is ended."""

    def __init__(self, argv, **kw):
        super().__init__([*argv, "ready", "forever"], **kw)
        self.wait_line("out", rb"^ready$")

    def stop(self):
        """{function: blocks}"""
        self.signal(signal.SIGTERM)
        return self.counts()

    def counts(self):
        equal(self.wait(), 0, f"exit status of {self.argv}: {self.err}")
        return {k: int(v) for k, v in re.findall(r"(\w+_[abc])=(\d+)", self.out)}


def judge(found, truth):
    n = sum(v for k, v in found.items() if re.fullmatch(rb"(one|two)_[abc]", k))
    other = {k: v for k, v in found.items()
             if re.match(rb"(one|two)_", k) and k.decode() not in truth}
    check(not other, f"another file's functions: {other}; truth {truth}")
    for k, v in truth.items():
        ok, text = within(found.get(k.encode(), 0), n, v / sum(truth.values()))
        check(ok, f"{k}: {text}")
    nameless = {k: v for k, v in found.items() if k.startswith(b"[")}
    check(not nameless, f"without a name: {nameless}")
    check(n > 100 and n >= 0.9 * sum(found.values()), f"elsewhere: {found}")


def own(found):
    """Without what the C library's start-up and the shells around it did."""
    return {k: v for k, v in found.items() if not re.match(rb"\[(?!one|two|unknown|anon)", k)}


def attached(argv, after=lambda: None, options=(), **kw):
    """Attaches to a burner once `after` has done what it does to the file: (burner, leaves)."""
    out = tempdir() + "/a.folded"
    burner = Burner(argv, **kw)
    after()
    ledger = record_until_busy([burner.pid], 0.5, "-p", burner.pid, "-F", HZ, "--no-kernel", "-o",
                               out, *options)
    return burner, leaves(folded(out, ledger))


def attach_and_judge(*args, **kw):
    burner, found = attached(*args, **kw)
    judge(own(found), burner.stop())


def launch_and_judge(argv, meanwhile=None, options=(), **kw):
    """Launched under ebolt; meanwhile: what happens to the file while it runs."""
    out = tempdir() + "/l.folded"
    steps = [f"burn:{BLOCKS // 2}", "ready", f"burn:{2 * BLOCKS}"]
    recording = Recording("-F", HZ, "--no-kernel", "-o", out, *options, "--", *argv, *steps,
                          ready=False, **kw)
    if meanwhile:
        recording.wait_line("out", rb"^ready$")
        meanwhile()
    ledger = recording.finish()
    truth = {}
    for k, v in re.findall(r"(\w+_[abc])=(\d+)", recording.out):
        truth[k] = truth.get(k, 0) + int(v)
    judge(own(leaves(folded(out, ledger))), truth)


def both(argv, meanwhile=None, again=lambda: None, **kw):
    launch_and_judge(argv, meanwhile, **kw)
    again()
    attach_and_judge(argv, after=meanwhile or (lambda: None), **kw)


def copy(what, path):
    shutil.copy2(what, path)
    return path


# ---- the file goes, or another comes -------------------------------------------------------------


@case
def deleted_while_it_runs():
    path = copy(ONE, tempdir() + "/program")
    both([path], meanwhile=lambda: os.unlink(path), again=lambda: copy(ONE, path))


@case
def replaced_by_another_while_it_runs():
    d = tempdir()
    path = copy(ONE, d + "/program")

    def replace():
        os.rename(copy(TWO, d + "/new"), path)

    both([path], meanwhile=replace, again=lambda: os.rename(copy(ONE, d + "/new"), path))


@case
def replaced_and_the_new_one_runs_too():
    d, out = tempdir(), tempdir() + "/a.folded"
    path = copy(ONE, d + "/program")
    old = Burner([path])
    os.rename(copy(TWO, d + "/new"), path)
    new = Burner([path])
    ledger = record_until_busy([old.pid, new.pid], 0.3, "-p", f"{old.pid},{new.pid}", "-F", HZ,
                               "--no-kernel", "--pid", "-o", out)
    stacks = folded(out, ledger)
    for burner in (old, new):
        name = f"program-{burner.pid}".encode()
        judge(leaves([s for s in stacks if s.comm == name]), burner.stop())


@case
def renamed_while_it_runs():
    d = tempdir()
    path = copy(ONE, d + "/program")

    def rename():
        os.rename(path, d + "/elsewhere")
        copy(TWO, path)

    both([path], meanwhile=rename, again=lambda: os.rename(d + "/elsewhere", path))


@case
def a_memfd():
    def memfd():
        fd = os.memfd_create("one", 0)
        with open(ONE, "rb") as f:
            os.write(fd, f.read())
        os.set_inheritable(fd, True)
        return fd

    fd = memfd()
    both([f"/proc/self/fd/{fd}"], pass_fds=[fd])
    bolt_profile([f"/proc/self/fd/{fd}"], ONE, ONE, pass_fds=[fd])
    os.close(fd)


@case
def without_map_files():
    # Then a file is what its path says, or nothing: no names rather than another file's.
    off = ("--disable-feature", "map-files")
    d = tempdir()
    path = copy(ONE, d + "/program")
    attach_and_judge([path], options=off)
    burner, found = attached([path], lambda: os.rename(copy(TWO, d + "/new"), path), options=off)
    burner.stop()
    named = {k: v for k, v in found.items() if re.match(rb"(one|two)_", k)}
    check(not named, f"names of a file that can't be had: {named}")
    check(found.get(b"[program (deleted)]", 0) > 100, f"elsewhere: {found}")


@case
def a_name_that_ends_in_deleted():
    path = copy(ONE, tempdir() + "/program (deleted)")
    copy(TWO, path[:-len(" (deleted)")])
    both([path])
    both([path], meanwhile=lambda: os.unlink(path), again=lambda: copy(ONE, path))


@case
def few_descriptors():
    # Files that no sample hits are mapped first: more than may be open at a limit of 1,024.
    d = tempdir()
    held = []
    for i in range(600):
        with open(f"{d}/{i}", "w+b") as f:
            f.truncate(4096)
            held.append(mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE,
                                  mmap.PROT_READ | mmap.PROT_EXEC))
    limit = (ctypes.c_uint64 * 2)(1024, 1024)
    burner, out = Burner([ONE]), d + "/out.folded"
    recording = Recording("-p", burner.pid, "-F", HZ, "--no-kernel", "-o", out,
                          preexec_fn=lambda: LIBC.setrlimit(7, ctypes.byref(limit)))
    limits = open(f"/proc/{recording.pid}/limits").read()
    check(re.search(r"Max open files +1024 +1024 ", limits), limits)
    before = cpu_seconds(burner.pid)
    wait_until("CPU time", lambda: cpu_seconds(burner.pid) - before >= 0.5 / DELIVERED, 120)
    ledger = recording.stop()
    for m in held:
        m.close()
    check("files_unopened" not in ledger.causes, ledger.line)
    judge(own(leaves(folded(out, ledger))), burner.stop())


# ---- names ---------------------------------------------------------------------------------------


@case
def two_files_of_one_base_name():
    d, out = tempdir(), tempdir() + "/a.folded"
    paths = []
    for i, what in enumerate((ONE, TWO)):
        os.mkdir(f"{d}/{i}")
        paths.append(copy(what, f"{d}/{i}/program"))
    first, second = Burner([paths[0]]), Burner([paths[1]])
    recording = Recording("-a", "-F", HZ, "--no-kernel", "--pid", "-o", out)
    third = Burner([paths[1]])
    wait_until("CPU time", lambda: cpu_seconds(third.pid) > 0.3, 120)
    ledger = recording.stop()
    stacks = folded(out, ledger)
    for burner in (first, second, third):
        name = f"program-{burner.pid}".encode()
        judge(own(leaves([s for s in stacks if s.comm == name])), burner.stop())


def named(name):
    path = copy(ONE, os.path.join(tempdir(), os.fsdecode(name)))
    launch_and_judge([path])
    attach_and_judge([path])


@case
def spaces_and_semicolons():
    named(b"a b;c  d;")
    named(b" ")


@case
def line_ends_and_backslashes():
    named(b"a\nb\n")
    named(b"\\012 \\x3b\\")
    # As a line of /proc/PID/maps would say it.
    named(b"x\n7f0000000000-7f0000001000 r-xp 00000000 08:01 5 \n")


@case
def utf8_and_what_is_none():
    named("\u00e9\u20ac\U0001f525".encode())
    named(b"\xff\xfe\xc3")


@case
def a_name_of_255_bytes():
    named(b"n" * 255)
    deep = tempdir()
    for _ in range(8):
        deep += "/" + "d" * 255
        os.mkdir(deep)
    path = copy(ONE, deep + "/" + "p" * 255)
    launch_and_judge([path])
    attach_and_judge([path])


# ---- what perf2bolt loses or gives to another ----------------------------------------------------


def functions_of(path):
    functions = {}
    for (name, _), n in fdata(path)[1].items():
        functions[name] = functions.get(name, 0) + n
    return functions


def bolt_profile(argv, binary, taken, after=lambda: None, options=(), beside=b"none", **kw):
    """
    Attaches, and writes folded and fdata of the same samples: function by function they must agree,
    and be true. taken: the ELF file that llvm-bolt is given, and must find all functions in.
    beside: how the functions begin of what else is recorded.
    """
    d = tempdir()
    burner, found = attached(argv, after, ("-o", d + "/a.fdata", "--binary", binary, *options),
                             **kw)
    found = {k: v for k, v in own(found).items() if not k.startswith(beside)}
    judge(found, burner.stop())
    functions = functions_of(d + "/a.fdata")
    hot = re.compile(rb"(one|two)_")
    equal({k: v for k, v in functions.items() if hot.match(k)},
          {k: v for k, v in found.items() if hot.match(k)}, "fdata and folded")
    check(os.path.exists(LLVM + "/llvm-bolt") or VM, "no llvm-bolt")
    if VM:
        return
    bolt = subprocess.run([LLVM + "/llvm-bolt", taken, "-o", d + "/a.bolt", "-data", d + "/a.fdata",
                           "-reorder-blocks=ext-tsp"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = bolt.stdout.decode(errors="replace")
    equal(bolt.returncode, 0, f"llvm-bolt:\n{text}\n")
    m = re.search(r"(\d+) out of \d+ functions in the binary \(.*\) have non-empty", text)
    check(m and int(m[1]) == len(functions), f"{functions}; llvm-bolt says:\n{text}")


@case
def fdata_of_a_text_split_by_mprotect():
    bolt_profile([ONE, "split"], ONE, ONE)


@case
def fdata_of_one_of_two_files_of_one_base_name():
    d = tempdir()
    os.mkdir(d + "/other")
    path, other = copy(ONE, d + "/program"), copy(TWO, d + "/other/program")
    burner = Burner([other])
    bolt_profile([path], path, path, options=("-p", burner.pid), beside=b"two_")
    burner.stop()


@case
def fdata_of_a_deleted_and_of_a_replaced_binary():
    d = tempdir()
    path = copy(ONE, d + "/program")
    bolt_profile([path], ONE, ONE, after=lambda: os.unlink(path))
    copy(ONE, path)
    bolt_profile([path], ONE, ONE, after=lambda: os.rename(copy(TWO, d + "/new"), path))


@case
def fdata_of_text_moved_by_mremap():
    d = tempdir()
    load = Workload("moved", 3600, "mremap")
    load.wait_line("out", rb"^moved$")
    ledger = record_until_busy([load.pid], 0.5, "-p", load.pid, "-F", HZ, "--no-kernel", "-o",
                               d + "/a.folded", "-o", d + "/a.fdata", "--binary",
                               workload("moved"))
    load.stop()
    n = functions_of(d + "/a.fdata").get(b"burn_moved", 0)
    equal(n, leaves(folded(d + "/a.folded", ledger))[b"burn_moved"], "samples in burn_moved")
    check(n > 100 and n > 0.9 * ledger.aggregated, f"{n}: {ledger.line}")


@case
def fdata_of_a_base_name_with_a_space():
    path = copy(ONE, tempdir() + "/a program")
    bolt_profile([path], path, path)


@case
def fdata_of_a_bolted_program():
    # With two executable segments. BOLT takes no BOLTed program again, so the names are checked.
    needs(LLVM + "/llvm-bolt")
    d = tempdir()
    subprocess.run([LLVM + "/llvm-bolt", ONE, "-o", d + "/program", "-reorder-blocks=reverse",
                    "-use-old-text=0"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    both([d + "/program"])


# ---- other views of the file system --------------------------------------------------------------


def mount(d, source, target, kind, options):
    done = subprocess.run(["mount", "-t", kind, "-o", options, source, target],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Skip(f"{kind} can't be mounted: {done.stdout.decode().strip()}")
    CLEANUPS.append(lambda: subprocess.run(["umount", "-l", target]))


def unshared(flags, script, *args):
    """A command that runs a script in namespaces of its own; the script execs the program."""
    needs("mount")
    needs_unshare()
    return ["unshare", *flags, "sh", "-e", "-c", script, "sh", *args]


@case
def another_mount_namespace():
    # The path is another program outside.
    d = tempdir()
    path = copy(TWO, d + "/program")
    script = ('exec 3<"$2"; mount -t tmpfs none "$3"; cat <&3 >"$1"; chmod 755 "$1"; p=$1; '
              'shift 3; exec "$p" "$@"')
    argv = unshared(["-m"], script, path, ONE, d)
    both(argv)


@case
def overlayfs():
    base = tempdir()
    mount(base, "none", base, "tmpfs", "mode=755")
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(f"{base}/{name}")
    copy(ONE, base + "/lower/program")
    copy(TWO, base + "/lower/changed")
    mount(base, "none", base + "/merged", "overlay",
          f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work")
    both([base + "/merged/program"])
    # Written to: it is of the upper layer then.
    copy(ONE, base + "/merged/changed")
    both([base + "/merged/changed"])
    # Unlinked: the lower file of the same name remains.
    path = base + "/merged/program"
    both([path], meanwhile=lambda: os.unlink(path), again=lambda: copy(ONE, path))


def both_of_one_identity(one, two):
    """Files of `one` and `two` for which mappings state the same device and inode, run at once."""
    def identity(burner, path):
        with open(f"/proc/{burner.pid}/maps") as f:
            return next(x.split()[3:5] for x in f if x.rstrip().endswith(path))
    out, burners = tempdir() + "/a.folded", [Burner([one]), Burner([two])]
    pids = [b.pid for b in burners]
    note(f"identities: {[identity(*x) for x in zip(burners, (one, two))]}")
    ledger = record_until_busy(pids, 0.3, "-p", ",".join(map(str, pids)), "-F", HZ, "--no-kernel",
                               "--pid", "-o", out)
    stacks = folded(out, ledger)
    for burner in burners:
        comm = f"{os.path.basename(burner.argv[0])}-{burner.pid}".encode()
        judge(own(leaves([s for s in stacks if s.comm == comm])), burner.stop())

    recording = Recording("-F", HZ, "--no-kernel", "-o", out, "--", "sh", "-c",
                          '"$1" "$3" & "$2" "$3" & wait', "sh", one, two, f"burn:{BLOCKS}",
                          ready=False)
    stacks = folded(out, recording.finish())
    counts = {k: int(v) for k, v in re.findall(r"(\w+_[abc])=(\d+)", recording.out)}
    for path, prefix in ((one, "one_"), (two, "two_")):
        comm = os.path.basename(path).encode()
        judge(own(leaves([s for s in stacks if s.comm == comm])),
              {k: v for k, v in counts.items() if k.startswith(prefix)})


def overlay_of_one_inode_number():
    """Of two file systems, with a file of `one` below and one of `two` above: the two paths."""
    base = tempdir()
    for name in ("below", "above", "merged"):
        os.mkdir(f"{base}/{name}")
    for name in ("below", "above"):
        mount(base, "none", f"{base}/{name}", "tmpfs", "mode=755")
    for name in ("upper", "work"):
        os.mkdir(f"{base}/above/{name}")
    ino = os.stat(copy(TWO, base + "/above/upper/two_above")).st_ino
    for i in range(100):
        path = copy(ONE, f"{base}/below/{i}")
        if os.stat(path).st_ino == ino:
            break
    else:
        raise Skip("tmpfs gave no file this inode number")
    os.rename(path, base + "/below/one_below")
    mount(base, "none", base + "/merged", "overlay",
          f"lowerdir={base}/below,upperdir={base}/above/upper,workdir={base}/above/work,xino=off")
    return base + "/merged/one_below", base + "/merged/two_above"


@case
def overlayfs_of_one_inode_number():
    both_of_one_identity(*overlay_of_one_inode_number())


@case
def overlayfs_of_one_inode_number_and_one_path():
    one, two = overlay_of_one_inode_number()
    out, old = tempdir() + "/a.folded", Burner([one])
    recording = Recording("-a", "-F", HZ, "--no-kernel", "--pid", "-o", out)
    os.rename(two, one)
    new = Burner([one])
    wait_until("CPU time", lambda: min(cpu_seconds(old.pid), cpu_seconds(new.pid)) > 0.3, 120)
    stacks = folded(out, recording.stop())
    for burner in (old, new):
        comm = f"one_below-{burner.pid}".encode()
        judge(own(leaves([s for s in stacks if s.comm == comm])), burner.stop())


@case
def overlayfs_in_another_mount_namespace():
    base = tempdir()
    mount(base, "none", base, "tmpfs", "mode=755")
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(f"{base}/{name}")
    copy(ONE, base + "/lower/program")
    copy(TWO, base + "/merged/program")
    script = ('mount -t overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" none '
              '"$1/merged"; p=$1/merged/program; shift; exec "$p" "$@"')
    argv = unshared(["-m"], script, base)
    probe = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    if probe.returncode:
        raise Skip("overlay can't be mounted: " + probe.stdout.decode().strip())
    both(argv)


def btrfs_with_subvolumes(*names):
    needs("mkfs.btrfs")
    d = tempdir()
    os.mkdir(d + "/mnt")
    with open(d + "/image", "wb") as f:
        f.truncate(256 << 20)
    subprocess.run(["mkfs.btrfs", "-q", d + "/image"], check=True, stderr=subprocess.DEVNULL)
    mount(d, d + "/image", d + "/mnt", "btrfs", "loop")
    for name in names:
        subprocess.run(["btrfs", "-q", "subvolume", "create", f"{d}/mnt/{name}"], check=True)
    return d + "/mnt"


@case
def btrfs():
    both([copy(ONE, btrfs_with_subvolumes("sub") + "/sub/program")])


@case
def btrfs_of_one_inode_number():
    # Each subvolume numbers its files anew.
    d = btrfs_with_subvolumes("first", "second")
    both_of_one_identity(copy(ONE, d + "/first/one_first"), copy(TWO, d + "/second/two_second"))


@case
def another_pid_namespace():
    d = tempdir()
    path = copy(ONE, d + "/program")
    # Not exec: the first process of a pid namespace ignores signals that it doesn't handle.
    argv = ["unshare", "-p", "--fork", "--kill-child", "--mount-proc", path]
    needs_unshare()
    launch_and_judge(argv)
    out = tempdir() + "/a.folded"
    burner = Burner(argv)
    child = int(open(f"/proc/{burner.pid}/task/{burner.pid}/children").read())
    ledger = record_until_busy([child], 0.5, "-p", child, "-F", HZ, "--no-kernel", "-o", out)
    os.kill(child, signal.SIGTERM)
    judge(leaves(folded(out, ledger)), burner.counts())


@case
def chroot():
    needs("ldd")
    d = tempdir()
    root = d + "/root"
    libraries = subprocess.run(["ldd", ONE], stdout=subprocess.PIPE, check=True).stdout.decode()
    for path in re.findall(r"(/\S+)", libraries):
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        copy(os.path.realpath(path), root + path)
    # The path in there is another program out here.
    os.makedirs(root + d)
    copy(ONE, root + d + "/program")
    copy(TWO, d + "/program")
    both(["chroot", root, d + "/program"])


main()
