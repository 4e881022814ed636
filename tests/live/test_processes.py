#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What processes do to themselves, and still each sample is of the function that ran.

The workloads `one` and `two` and the libraries `first` and `second` have equal functions at equal
offsets under other names: whoever takes one's address for the other's gets a plausible, wrong
name. They print how many blocks of 20 us each function did; that is the truth.
"""

from ebolt_test import *

HZ = 1999
BLOCKS = 25000 if not VM else 16000  # half a second, or more
IMAGES = ("one", "two", "first", "second")
FIRST, SECOND = workload("libfirst.so"), workload("libsecond.so")
ONE, TWO = workload("one"), workload("two")


def truth_of(output):
    """{function: blocks}, of lines that may come more than once."""
    done = {}
    for line in output.splitlines():
        m = re.fullmatch(r"(\w+_[abc])=(\d+)", line)
        if m:
            done[m[1]] = done.get(m[1], 0) + int(m[2])
    return done


def judge(found, truth, unnamed=0, least=0.9):
    """
    The leaves against the blocks. unnamed: the most samples that may have no name at all. least:
    the share of the samples that has to be in the images' functions; the rest is start-up.
    """
    burnt = {k.decode(): v for k, v in found.items()
             if any(k.startswith(f"{x}_".encode()) for x in IMAGES)}
    n, blocks = sum(burnt.values()), sum(truth.values())
    wrong = {k: v for k, v in burnt.items() if not truth.get(k)}
    check(not wrong, f"in functions that did not run: {wrong}; truth {truth}")
    for k, v in truth.items():
        # A lot is drawn every 20 us, a sample is taken every 500: binomial.
        ok, text = within(burnt.get(k, 0), n, v / blocks)
        check(ok, f"{k}: {text}")
    nameless = {k: v for k, v in found.items()
                if re.match(rb"\[(unknown|anon|one|two|lib(first|second)\.so)", k)}
    check(sum(nameless.values()) <= unnamed, f"without a name: {nameless}")
    check(n > 100, f"too few samples: {found}")
    # Starting takes an emulated CPU ten times as long.
    check(n >= least * (0.6 if VM else 1) * sum(found.values()), f"elsewhere: {found}")
    note(f"{n} of {sum(found.values())}, {sum(nameless.values())} without a name")


def launched(*steps, program=ONE, options=(), **kw):
    """Runs the steps under ebolt: {leaf: samples}, judged."""
    out = tempdir() + "/p.folded"
    recording = Recording("-F", HZ, "--no-kernel", "-o", out, *options, "--", program, *steps,
                          ready=False)
    ledger = recording.finish()
    check(recording.out.endswith("\n"), recording.err)
    judge(leaves(folded(out, ledger)), truth_of(recording.out), **kw)
    return recording.out


def attached(*steps, program=ONE, **kw):
    """Attaches when the steps are done, and something burns."""
    out = tempdir() + "/p.folded"
    process = Process([program, *steps, "ready", "forever"])
    process.wait_line("out", rb"^ready$")
    before = truth_of(process.out)
    ledger = record_until_busy([process.pid], 0.5, "-p", process.pid, "-F", HZ, "--no-kernel",
                               "-o", out)
    process.signal(signal.SIGTERM)
    equal(process.wait(), 0, process.err)
    truth = {k: v - before.get(k, 0) for k, v in truth_of(process.out).items()}
    judge(leaves(folded(out, ledger)), truth, **kw)


BURN = f"burn:{BLOCKS}"


# ---- exec, fork and their like -------------------------------------------------------------------


@case
def exec_after_exec_in_one_pid():
    launched(BURN, f"exec:{TWO}", BURN, f"exec:{ONE}", f"burn:{BLOCKS // 2}")


@case
def exec_by_another_thread_than_the_leader():
    launched(BURN, f"texec:{TWO}", BURN, f"texec:{ONE}", f"burn:{BLOCKS // 2}")


@case
def samples_within_exec_between_two_programs_at_one_address():
    # Until exec is done the saved registers are the old program's, and soon the new one is mapped:
    # there the caller's address is in a function that never runs.
    out = tempdir() + "/p.folded"
    pair = [workload("exec_a"), workload("exec_b")]
    ledger = record("-F", HZ, "-o", out, "--", *pair, 1000 if VM else 20000)
    kept = dropped = user = 0
    for stack in folded(out, ledger):
        ours = [f for f in stack.frames if re.match(rb"[ab]_(execs|never)$|(begin|_start)$", f)]
        kernel_only = stack.frames and not ours
        check(not any(f.endswith(b"_never") for f in ours), f"what never ran: {stack.raw}")
        check(not any(re.match(rb"\[(unknown|anon|exec_)", f) for f in stack.frames),
              f"without a name: {stack.raw}")
        # The kernel gives the process the new program's comm before it maps that.
        other = {b"exec_a": b"b_", b"exec_b": b"a_"}.get(stack.comm, b"?")
        check(not any(f.startswith(other) for f in ours), f"the other program's code: {stack.raw}")
        dropped += stack.count * bool(kernel_only)
        user += stack.count * (stack.frames == ours)
        kept += stack.count * (bool(ours) and stack.frames != ours)
    note(f"{user} in user mode, {kept} in the kernel with a caller, {dropped} without")
    # What comes before the new memory is taken up is still called by the old program, for certain.
    check(kept > 20 and dropped > 20, f"{kept} and {dropped} samples within exec")


@case
def fork_then_exec_in_the_child():
    launched(f"lib:{FIRST}", "fork", BURN, "fork", f"exec:{TWO}", BURN)


@case
def vfork_and_posix_spawn():
    launched(BURN, f"vfork:{TWO}", BURN, f"spawn:{ONE}", BURN)


@case
def a_child_in_the_same_memory():
    launched(f"lib:{FIRST}", "vm", BURN, f"exec:{TWO}", f"burn:{BLOCKS // 2}")


@case
def what_a_child_in_the_same_memory_maps():
    # The child's mappings are the parent's too, and the other way round.
    launched("vm", f"lib:{FIRST}", BURN, "vm", f"fixed:{SECOND}", BURN)


@case
def what_another_process_in_the_same_memory_maps_over_code():
    # The record is of a child; the code of its parent changes by it. That the two share is asked of
    # the kernel, so the child must live for as long as a record waits.
    launched(f"lib:{FIRST}", BURN, f"helper:fixed:{SECOND}", BURN, f"helper:fixed:{FIRST}", BURN)


@case
def what_a_child_in_the_same_memory_maps_where_the_kernel_does_not_tell_that_it_shares():
    # The parent's first sample there has /proc/PID/maps read again.
    launched(f"helper:lib:{SECOND}", BURN, options=("--disable-feature", "kcmp"))


@case
def threads_that_share_a_library():
    launched(f"lib:{FIRST}", "threads:3", f"burn:{BLOCKS // 2}")


@case
def a_leader_that_exits_first():
    # Half of it after the two seconds for which an exited process is kept for certain.
    launched("leader", BURN, f"lib:{FIRST}", f"burn:{8 * BLOCKS}")


@case
def a_pid_that_is_another_programs_at_once():
    launched(f"again:{BLOCKS}:{TWO}", BURN)


@case
def a_pid_that_is_another_programs_within_a_clock_tick():
    # Start times count in ticks of 10 ms: these two have the same.
    launched(f"lib:{FIRST}", "fork", f"again:1:{TWO}", f"again:1:{ONE}", BURN)


@case
def a_process_without_root_and_capabilities():
    needs_others_to_reach(FIRST)
    launched("nobody", BURN, f"lib:{FIRST}", BURN, f"exec:{TWO}", BURN)


@case
def attached_to_a_process_without_root():
    needs_others_to_reach(FIRST)
    attached("nobody", f"lib:{FIRST}")


@case
def attached_to_threads_whose_leader_has_exited():
    attached(f"lib:{FIRST}", "leader")


# ---- mappings ------------------------------------------------------------------------------------


@case
def map_fixed_over_another_files_code():
    launched(f"lib:{FIRST}", BURN, f"fixed:{SECOND}", BURN, f"fixed:{FIRST}", BURN)


@case
def attached_after_map_fixed():
    attached(f"lib:{FIRST}", f"fixed:{SECOND}")


@case
def dlopen_where_another_library_was():
    output = launched(f"lib:{FIRST}", BURN, "close", f"lib:{SECOND}", f"burn:{2 * BLOCKS}", "close",
                      f"lib:{FIRST}", BURN)
    places = re.findall(r"at=(\w+)", output)
    note(f"libraries at {places}")


@case
def munmap_then_mmap_at_the_same_place():
    launched(f"lib:{FIRST}", BURN, "unmap", f"map:{SECOND}", BURN)


@case
def one_page_made_writable_while_it_runs():
    launched(f"lib:{FIRST}", BURN, "split", BURN, f"exec:{TWO}", BURN, "split", BURN)


@case
def all_of_the_text_made_writable():
    launched("rwx", BURN, f"lib:{FIRST}", "split", "rwx", BURN)


@case
def attached_after_the_text_was_split():
    attached("split")
    attached(f"lib:{FIRST}", "split")


@case
def attached_after_the_text_was_made_writable():
    attached("rwx")


@case
def code_moved_by_mremap():
    # Nothing tells of it: the first sample there has /proc/PID/maps read again.
    launched(f"lib:{FIRST}", BURN, "mremap", f"burn:{4 * BLOCKS}")


@case
def attached_after_mremap():
    attached(f"lib:{FIRST}", "mremap")


@case
def code_moved_by_mremap_while_attached():
    out = tempdir() + "/p.folded"
    gate = Gate("one", f"lib:{FIRST}", BURN, "mremap", f"burn:{2 * BLOCKS}", "mremap",
                f"burn:{2 * BLOCKS}")
    recording = Recording("-p", gate.pid, "-F", HZ, "--no-kernel", "-o", out)
    gate.open()
    gate.result()
    ledger = recording.finish()
    judge(leaves(folded(out, ledger)), truth_of(gate.out))


main()
