#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What goes wrong is told before sampling starts, where it can be known: a message that names the
thing, on standard error; status 2 for wrong usage, 1 for the rest; and no file left behind.
"""

import resource

from ebolt_test import *


def fails(args, *wanted, status=1, cwd=None, program=None, prefix=()):
    """Runs `ebolt record`, and looks for each pattern in its message."""
    d = cwd or tempdir()
    done = subprocess.run([*prefix, program or EBOLT, *map(str, args)], cwd=d,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30)
    text = done.stderr.decode(errors="replace")
    note(f"{done.returncode}: {text}")
    equal(done.returncode, status, f"exit status:\n{text}\n")
    for pattern in wanted:
        check(re.search(pattern, text, re.I), f"no {pattern!r} in:\n{text}")
    check("ebolt: recording" not in text, f"told only after sampling began:\n{text}")
    equal(done.stdout, b"", "standard output")
    if not cwd:
        equal(os.listdir(d), [], "files left")
    return text


@case
def unknown_options_and_words_are_wrong_usage():
    fails(["record", "--no-such-option"], "no-such-option", status=2)
    fails(["no-such-command"], "no-such-command", status=2)
    fails(["record", "-o"], status=2)
    fails([], status=2)


@case
def bad_numbers_are_wrong_usage():
    for option, value in (("-F", "0"), ("-F", "fast"), ("-F", "-1"), ("-F", "99x"), ("-c", "0"),
                          ("-d", "never"), ("-p", "one"), ("-p", ""), ("--ring-size", "7Q"),
                          ("-F", " -1"), ("-F", "+9"), ("-c", str(2**63)), ("-p", " 1"),
                          ("--ring-size", " -1"), ("-C", "0-"), ("-C", "-1"),
                          ("-C", "9" * 12)):
        fails(["record", option, value, "-o", "a.folded"], re.escape(option) + "|" +
              re.escape(value or "empty"), status=2)


@case
def an_unknown_format_is_wrong_usage():
    fails(["record", "-d", 1, "-o", "a.nonsense"], "a.nonsense", "folded", status=2)
    fails(["record", "-d", 1, "-o", "nonsense:a"], "nonsense", status=2)


@case
def fdata_needs_a_binary():
    fails(["record", "-d", 1, "-o", "a.fdata"], "--binary", status=2)


@case
def a_missing_binary_is_named():
    fails(["record", "-d", 1, "-o", "a.fdata", "--binary", "/nonexistent/elf"],
          "/nonexistent/elf", "No such file")


@case
def a_binary_that_is_no_elf_file_is_named():
    fails(["record", "-d", 1, "-o", "a.fdata", "--binary", "/etc/passwd"], "/etc/passwd", "ELF")


@case
def a_stripped_binary_is_refused():
    needs("strip")
    d = tempdir()
    subprocess.run(["strip", "-o", d + "/stripped", workload("busy")], check=True)
    fails(["record", "-d", 1, "-o", "a.fdata", "--binary", d + "/stripped"], "stripped|symbol")


@case
def a_directory_that_is_not_there_is_named():
    fails(["record", "-d", 1, "-o", "/nonexistent/a.folded"], "/nonexistent", "No such file")


@case
def an_output_that_is_a_directory_is_named():
    d = tempdir()
    fails(["record", "-d", 1, "-o", "folded:" + d], d, "directory")


@case
def a_directory_that_can_not_be_written_to_is_named():
    # Where root may write everywhere: a place where nobody may.
    fails(["record", "-d", 1, "-o", "/proc/a.folded"], "/proc")


@case
def a_full_disk_is_told():
    load = Workload("busy", 3600)
    done = ebolt("record", "-a", "-d", 1, "-o", "folded:/dev/full")
    load.stop()
    text = done.stderr.decode()
    note(text)
    equal(done.returncode, 1, "exit status")
    check("/dev/full" in text and "No space left" in text, text)
    Ledger(text)


@case
def a_full_disk_leaves_no_file():
    d = tempdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=64", "tmpfs", d], check=True)
    CLEANUPS.append(lambda: subprocess.run(["umount", d], check=False))
    load = Workload("busy", 3600)
    recording = Recording("-a", "-F", 997, "-o", d + "/a.folded")
    with open(d + "/filler", "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError:
            pass
    time.sleep(0.5)  # what is recorded
    recording.signal(signal.SIGINT)
    equal(recording.wait(), 1, "exit status")
    load.stop()
    note(recording.err)
    check("a.folded" in recording.err and "No space left" in recording.err, recording.err)
    Ledger(recording.err)
    equal(os.listdir(d), ["filler"], "files")


@case
def a_process_that_is_not_there_is_named():
    with open("/proc/sys/kernel/pid_max") as f:
        pid = int(f.read()) - 1
    check(not os.path.exists(f"/proc/{pid}"), "the highest pid is in use")
    fails(["record", "-p", pid, "-d", 1, "-o", "a.folded"], str(pid), "no such process")


@case
def an_unknown_event_is_named():
    done = ebolt("record", "-e", "no-such-event", "-d", 1, "-o", "folded:/dev/null")
    note(done.stderr.decode())
    equal(done.returncode, 2, "exit status")
    check(b"no-such-event" in done.stderr and b"cpu-clock" in done.stderr,
          "names the event and one that works")


@case
def a_cpu_that_is_not_there_is_named():
    fails(["record", "-a", "-C", "4000", "-d", 1, "-o", "a.folded"], "4000", "cpu")


@case
def a_missing_proc_is_told():
    needs_unshare()
    text = fails(["-c", 'mount -t tmpfs none /proc && exec "$1" record -d 1 -o a.folded', "sh",
                  EBOLT], "/proc isn't mounted", program="/bin/sh", prefix=["unshare", "-m"])
    check("namespace" not in text, text)


@case
def a_ring_beyond_reason_is_told():
    done = ebolt("record", "-a", "--ring-size", "4096G", "-d", 1, "-o", "folded:/dev/null")
    note(done.stderr.decode())
    check(done.returncode in (1, 2), f"exit status {done.returncode}")
    check(re.search(rb"ring", done.stderr), "names the ring")


@case
def another_user_is_told_what_is_missing():
    needs("setpriv")
    d = tempdir()
    # Where that user can read it, whatever the checkout's permissions are.
    program = shutil.copy(EBOLT, d + "/ebolt")
    os.chmod(d, 0o755)
    out = d + "/out"
    os.mkdir(out)
    os.chmod(out, 0o777)
    text = fails(["record", "-a", "-d", 1, "-o", "a.folded"], "root|sudo|CAP_", cwd=out,
                 program=program, prefix=["setpriv", "--reuid=65534", "--regid=65534",
                                          "--clear-groups"])
    check("CAP_" in text or "sudo" in text, "a remedy")
    equal(os.listdir(out), [], "files")


@case
def outputs_that_spoil_each_other_are_wrong_usage():
    d = tempdir()
    os.symlink("a.folded", d + "/link")
    shutil.copy(workload("busy"), d + "/busy")
    for outputs in (["a.folded", "./a.folded"], ["folded:-", "folded:/dev/stdout"],
                    ["a.folded", "folded:link"]):
        text = fails(["record", "-d", 1, "-o", outputs[0], "-o", outputs[1]], "same place",
                     status=2, cwd=d)
        check("recording" not in text, text)
    fails(["record", "-d", 1, "-o", "fdata:busy", "--binary", "./busy"], "busy.*binary itself",
          status=2, cwd=d)
    equal(sorted(os.listdir(d)), ["busy", "link"], "files")
    with open(d + "/busy", "rb") as f:
        equal(f.read(4), b"\x7fELF", "the binary")


@case
def closed_streams_lend_no_number_to_a_file():
    d = tempdir()
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", EBOLT, "record",
                           "-v", "-F", "997", "-o", d + "/a.folded", "-o", d + "/b.folded", "--",
                           workload("busy"), "0.3"])
    equal(done.returncode, 0, "exit status")
    equal(total(folded(d + "/a.folded")), total(folded(d + "/b.folded")), "samples")


@case
def standard_output_that_can_not_be_written_to_is_told():
    for args in (["--help"], ["record", "--help"], ["--version"], ["doctor"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([EBOLT, *args], stdout=full, stderr=subprocess.PIPE)
        equal(done.returncode, 1, f"exit status of {args}")
        check(b"standard output: No space left" in done.stderr, done.stderr)


@case
def what_a_path_leads_to_is_known_before_sampling():
    d = tempdir()
    os.symlink("loop.folded", d + "/loop.folded")
    fails(["record", "-d", 1, "-o", "loop.folded"], "loop.folded: .*symbolic links", cwd=d)
    fails(["record", "-d", 1, "-o", "x" * 300 + ".folded"], "name too long", cwd=d)
    fails(["record", "-d", 1, "-o", "loop/a.folded"], "make the directory", cwd=d)
    with open("/dev/null") as unwritable:
        done = subprocess.run([EBOLT, "record", "-d", "1", "-o", "folded:-"], stdout=unwritable,
                              stderr=subprocess.PIPE)
    equal(done.returncode, 1, "exit status")
    check(b"-: cannot write" in done.stderr and b"recording" not in done.stderr, done.stderr)


@case
def a_link_to_nowhere_is_followed():
    d = tempdir()
    os.mkdir(d + "/sub")
    os.symlink("sub/new.folded", d + "/a.folded")
    record("-F", 997, "-o", d + "/a.folded", "--", workload("busy"), 0.2)
    check(os.path.islink(d + "/a.folded"), "the link was replaced")
    equal(os.listdir(d + "/sub"), ["new.folded"], "files")


@case
def a_hundred_outputs_of_one_run():
    d = tempdir()
    outputs = [x for i in range(100) for x in ("-o", f"{d}/{i}.folded")]
    ledger = record("-F", 997, *outputs, "--", workload("busy"), 0.2)
    for i in range(100):
        folded(f"{d}/{i}.folded", ledger)


@case
def hidden_kernel_addresses_are_told():
    d = tempdir()
    less = ["setpriv", "--bounding-set=-syslog", "--inh-caps=-all", "--"]
    if subprocess.run([*less, "grep", "-qv", "^0* ", "/proc/kallsyms"]).returncode == 0:
        raise Skip("kernel addresses are shown to everybody here")
    recording = Process([*less, EBOLT, "record", "-F", "997", "-o", d + "/a.folded", "--",
                         workload("syscalls"), "0.5"])
    equal(recording.wait(), 0, f"exit status:\n{recording.err}\n")
    ledger = Ledger(recording.err)
    check("CAP_SYSLOG" in recording.err, recording.err)
    stacks = folded(d + "/a.folded", ledger)
    check(any(s.leaf == b"[kernel]" for s in stacks), "no kernel frame")


@case
def a_file_size_limit_is_told():
    d = tempdir()
    recording = Recording("-o", d + "/a.folded", "-F", 997, "--", workload("busy"), 0.3,
                          ready=False, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_FSIZE, (16, 16)))
    recording.finish(status=1)
    check("a.folded: cannot write: File too large" in recording.err, recording.err)
    equal(os.listdir(d), [], "files left")


@case
def no_samples_are_said():
    d = tempdir()
    # A process that only sleeps, and a command of a millisecond: that is no failure, so the
    # command's status is passed on.
    sleeper = Process(["sleep", "60"])
    for args in (["-p", sleeper.pid, "-d", 1], ["-c", 10**9, "--", "/bin/true"]):
        recording = Recording("-o", d + "/a.folded", *args, ready=False)
        ledger = recording.finish()
        note(recording.err)
        equal(ledger.aggregated, 0, "aggregated")
        check("no samples" in recording.err, recording.err)
        with open(d + "/a.folded") as f:
            equal(f.read(), "", "the output")


@case
def a_binary_never_seen_running_is_said_and_fails():
    d = tempdir()
    load = Workload("busy", 3600)
    recording = Recording("-p", load.pid, "-F", 997, "-d", 1, "-o", d + "/a.folded", "-o",
                          d + "/a.fdata", "--binary", workload("mix"), ready=False)
    equal(recording.wait(), 1, f"exit status:\n{recording.err}\n")
    load.stop()
    note(recording.err)
    check(workload("mix") in recording.err, recording.err)
    # The other output has something to say.
    equal(os.listdir(d), ["a.folded"], "files")


main()
