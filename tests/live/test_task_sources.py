#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The two sources of task records, kprobes and the side-band, tell the same, record by record."""

from ebolt_test import *

SOURCES = os.path.join(BUILD, "tests", "live", "task_sources")


@case
def both_tell_the_same_of_a_storm():
    library = os.path.join(WORKLOADS, "libcallee.so")
    done = subprocess.run([SOURCES, workload("task_storm"), "4", "8", library],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
    text = done.stdout.decode(errors="replace")
    if done.returncode == 77:
        raise Skip(text.strip())
    check(done.returncode == 0, text)
    records = int(re.search(r"^(\d+) records of the side-band", text, re.M)[1])
    # 8 rounds of 4 processes make 51 records each at least, without what a kernel may refuse.
    check(records >= 4 * 8 * 40, text)
    note(text.strip())


@case
def kprobes_are_what_doctor_says():
    """Forced off, the side-band takes over; the workload's children are followed by both."""
    verdict = ebolt("doctor").stdout.decode()
    by_bpf = re.search(r"^ok +task records: by BPF", verdict, re.M) is not None
    feature = re.search(r"^(\w+) +task-kprobes:", verdict, re.M)[1]
    equal(feature == "ok", by_bpf, verdict)
    if not by_bpf:
        raise Skip("this kernel has no kprobes on perf_event_mmap()")
    for options in ((), ("--disable-feature", "task-kprobes")):
        out = tempdir() + "/a.folded"
        recording = Recording("-F", 997, *options, "-o", out, "--", workload("forker"), 2,
                              ready=False)
        ledger = recording.finish()
        seen = {f for s in folded(out, ledger) for f in s.frames}
        check({b"burn_parent", b"burn_child", b"burn_grandchild"} <= seen, f"{options}: {seen}")


@case
def types_from_a_file():
    """--btf with the kernel's own types in a file; with a file that is none, and one that isn't."""
    here = "/sys/kernel/btf/vmlinux"
    if not os.access(here, os.R_OK):
        raise Skip("this kernel has no BTF to copy")
    copy, bad = tempdir() + "/btf", tempdir() + "/bad"
    shutil.copyfile(here, copy)
    with open(bad, "w") as f:
        f.write("no types here\n")
    for options in (("--btf", copy), ("--btf", copy, "--disable-feature", "task-kprobes")):
        done = ebolt("record", *options, "-d", "0.3", "-o", "folded:/dev/null")
        equal(done.returncode, 0, done.stderr.decode())
    equal(ebolt("doctor", "--btf", copy).returncode, 0, "doctor")
    for path in (bad, bad + "-missing"):
        done = ebolt("record", "--btf", path, "-d", "0.3", "-o", "folded:/dev/null")
        equal(done.returncode, 1, path)
        check(path.encode() in done.stderr, done.stderr)


main()
