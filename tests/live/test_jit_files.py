#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The files of JIT runtimes, with fakejit: it tells what CPU time it spent in which of its functions,
and does what a runtime does at times, or must not do.
"""

from jit_test import *


class Times(dict):
    """{name: ns} as fakejit tells it, and how many samples were in no JIT code, of any phase."""

    def __init__(self, text, stacks):
        for line in text.splitlines():
            name, ns = line.split("=")
            self[name] = self.get(name, 0) + int(ns)
        named, nameless = jit_leaves(stacks)
        self.others = total(stacks) - sum(named.values()) - nameless


def fakejit(mode, seconds=1, args=(), d=None):
    """Runs it under ebolt: ({name: samples}, nameless, {name: ns} of fakejit, recording)."""
    d = d or tempdir()
    argv = [workload("fakejit"), mode, str(seconds), d]
    load = Runtime(argv)
    recording = Recording("-p", load.pid, "-F", HZ, "--annotate", *args, "-o", d + "/a.folded")
    load.open()
    equal(load.wait(120), 0, f"exit status of {argv}: {load.err}")
    recording.ledger = recording.finish()
    note(recording.ledger.line)
    stacks = folded(d + "/a.folded", recording.ledger)
    times = Times(load.out, stacks)
    named, nameless = jit_leaves(stacks)
    return named, nameless, times, recording


def check_times(named, times, names=None):
    """
    Each function has its share of the samples, but for some at the phases' borders. An emulated CPU
    delivers now more, now less of them: there each has some.
    """
    names = names or {x: x.encode() for x in times}
    n, ns = sum(named.values()), sum(times.values())
    check(n > (10 if VM else 100), f"few samples: {named}")
    for key, name in names.items():
        share = times[key] / ns
        off = abs(named.get(name, 0) - share * n)
        text = f"{name}: {named.get(name, 0)} of {n}, expected {share * n:.0f}"
        note(text)
        slack = 4 * binomial_sd(n, share) + 3 * len(times) + times.others
        check(named.get(name, 0) > 0 if VM else off <= slack, text)
    equal({k: v for k, v in named.items() if k not in names.values()}, {}, "other names")


def exact(mode, args=()):
    named, nameless, times, recording = fakejit(mode, args=args)
    equal(nameless, 0, "samples without a name")
    equal(warnings_of(recording), [], "warnings")
    check_times(named, times)


@case
def what_is_loaded_has_its_time():
    exact("plain")


@case
def an_address_has_the_name_that_it_had_at_the_time():
    exact("again")


@case
def a_dump_that_is_unlinked_at_once():
    exact("unlinked")


@case
def what_is_only_written_at_the_end():
    exact("late")


@case
def what_moves_keeps_its_name():
    exact("moved")


@case
def a_dump_that_shrinks_keeps_what_was_read():
    exact("shrunk")


@case
def a_child_has_the_code_that_its_parent_had():
    exact("forked")


@case
def a_map_that_grows():
    exact("map")


@case
def a_map_that_is_written_at_the_end():
    exact("map-at-exit")


@case
def a_map_written_at_the_end_by_a_process_that_is_long_gone():
    d = tempdir()
    holder = Runtime(["/bin/sh", "-c", f"{workload('fakejit')} map-at-exit 1 {d}; sleep 4; exit 0"])
    recording = Recording("-p", holder.pid, "-F", HZ, "--annotate", "-o", d + "/a.folded")
    holder.open()
    equal(holder.wait(), 0, "exit status")
    stacks = folded(d + "/a.folded", recording.finish())
    named, nameless = jit_leaves(stacks)
    equal(nameless, 0, "samples without a name")
    check_times(named, Times(holder.out, stacks))


@case
def a_map_names_an_address_again():
    exact("map-again")


@case
def another_image_has_none_of_the_code():
    for mode in ("exec", "map-exec"):
        named, nameless, times, _ = fakejit(mode)
        check_times({**named, b"none": nameless}, times, {"before": b"before", "first": b"none"})


@case
def lines_stand_behind_the_name():
    named, _, times, _ = fakejit("lines", args=["--srcline"])
    check_times(named, times, {"first": b"first (dir/file; x.js:17)", "second": b"second"})
    named, _, times, _ = fakejit("lines")
    check_times(named, times)


@case
def names_of_the_writer_s_choosing():
    d = tempdir()
    named, nameless, times, _ = fakejit("hostile-names", d=d)
    check_times({**named, b"": nameless}, times,
                {"odd": b"a;b\nc\x1b[31m\xff\\ 17", "empty": b"", "brackets": b"[kernel]"})
    check(b"[jit]_[j]" in {s.raw[-1] for s in folded(d + "/a.folded")}, "no [jit]")


@case
def a_torn_line_renames_no_library():
    load = Runtime([workload("fakejit"), "nothing", "60", tempdir()])
    load.open()
    try:
        wait_until("it has code", lambda: "200000000000-" in open(f"/proc/{load.pid}/maps").read())
        with open(f"/proc/{load.pid}/maps") as f:
            libc = next(int(x.split("-")[0], 16) for x in f if "/libc.so" in x and " r-xp " in x)
        # A size that has the next line's digits behind it.
        with open(f"/tmp/perf-{load.pid}.map", "w") as f:
            print("200000000000 5fff00000000 torn", file=f)
        wanted = ("200000000010", f"{libc + 16:x}")
        if libc >= 0x7fff00000000:
            raise Skip("libc is above what the line covers")
        done = ebolt("resolve", "-p", load.pid, *wanted).stdout.decode().splitlines()
        check(done[0].startswith(f"{wanted[0]} torn+0x10"), done[0])
        check("torn" not in done[1] and "/libc.so" in done[1], done[1])
    finally:
        load.end()


def reasons(mode, reason, warning=None, cause=None):
    d = tempdir()
    named, nameless, times, recording = fakejit(mode, 0.7, d=d)
    equal(named, {}, "names")
    raw = {s.raw[-1] for s in folded(d + "/a.folded")} & set(NO_NAME)
    equal(raw, {reason}, "why there is no name")
    check(nameless > (5 if VM else 50), f"{nameless} samples")
    warnings = warnings_of(recording)
    if not warning:
        equal(warnings, [], "warnings")
        return
    equal(len(warnings), 1, f"warnings: {warnings}")
    check(warning in warnings[0], warnings[0])
    equal(recording.ledger.causes.get(cause), 1, recording.ledger.line)


@case
def why_there_is_no_name():
    reasons("nothing", b"[anon]")
    reasons("no-marker", b"[jit: no marker]_[j]")
    reasons("no-dump", b"[jit: refused]_[j]", "not a jitdump", "jit_refused")


@case
def files_that_are_refused():
    refused = b"[jit: refused]_[j]"
    for mode, warning in (("map-link", "a link"), ("map-fifo", "not a regular file"),
                          ("map-directory", "not a regular file"), ("map-of-another", "owned"),
                          ("map-old", "older than the process"), ("dump-of-another", "owned")):
        reasons(mode, refused, warning, "jit_refused")


@case
def a_device_is_not_opened():
    d = tempdir()
    if Process([workload("fakejit"), "device", "0.01", d]).wait() == 77:
        raise Skip(f"no device can be made in {d}")
    reasons("device", b"[jit: refused]_[j]", "not a regular file", "jit_refused")


@case
def times_of_another_clock():
    named, nameless, times, recording = fakejit("tsc")
    equal(nameless, 0, "samples without a name")
    check_times(named, times)
    warnings = warnings_of(recording)
    check(len(warnings) == 1 and "TSC" in warnings[0], f"warnings: {warnings}")


@case
def a_dump_is_read_up_to_where_it_is_wrong():
    named, nameless, times, recording = fakejit("spoilt")
    check_times({**named, b"none": nameless}, times, {"first": b"first", "second": b"none"})
    equal(recording.ledger.causes.get("jit_spoilt"), 1, recording.ledger.line)
    equal(len(warnings_of(recording)), 1, recording.err)


@case
def terabytes_of_nothing():
    for mode in ("sparse", "sparse-records"):
        d = tempdir()
        try:
            with open(d + "/probe", "w") as f:
                os.ftruncate(f.fileno(), 1 << 40)
            os.unlink(d + "/probe")
        except OSError as error:
            raise Skip(f"no file of a terabyte in {d}: {error}")
        named, nameless, times, _ = fakejit(mode, d=d)
        check_times(named, times)
        equal(nameless, 0, "samples without a name")


def peak_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1])


@case
def a_million_functions_take_bounded_memory():
    d = tempdir()
    load = Runtime([workload("fakejit"), "endless", "3", d])
    recording = Recording("-p", load.pid, "-F", HZ, "--annotate", "-o", d + "/a.folded")
    # Until the recording ends it is there to be asked.
    before, peak = peak_kb(recording.pid), 0
    load.open()
    while load.popen.poll() is None:
        try:
            peak = max(peak, peak_kb(recording.pid))
        except (OSError, TypeError):
            break
        time.sleep(0.05)
    ledger = recording.finish()
    size = os.path.getsize(f"{d}/jit-{load.pid}.dump")
    note(f"{size >> 20} MiB of dump; peak {peak} KiB, {before} before; {ledger.line}")
    if not SAN:
        check(peak - before < 64 << 10, f"{peak - before} KiB more")
    named, _ = jit_leaves(folded(d + "/a.folded", ledger))
    check(named.get(b"last", 0) > (10 if VM else 100), f"{named}")
    check(VM or ledger.causes.get("jit_forgotten", 0) > 0, ledger.line)


@case
def bad_neighbours_harm_nobody():
    d = tempdir()
    bad = [Runtime([workload("fakejit"), mode, "1.5", d]) for mode in
           ("spoilt", "no-dump", "sparse", "long-name", "endless", "map-fifo", "map-link",
            "hostile-names")]
    good = Runtime([workload("fakejit"), "again", "1.5", d])
    recording = Recording("-a", "-F", HZ, "--annotate", "--pid", "-o", d + "/a.folded")
    for process in (*bad, good):
        process.open()
    for process in (good, *bad):
        equal(process.wait(120), 0, f"exit status of {process.argv}")
    stacks = [s for s in folded(d + "/a.folded", recording.stop())
              if s.comm == b"fakejit-%d" % good.pid]
    named, nameless = jit_leaves(stacks)
    check_times(named, Times(good.out, stacks))
    equal(nameless, 0, "samples without a name")


main()
