#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way to end a recording: outputs are whole, or not there; exit statuses."""

import random

from ebolt_test import *


def outputs_are_whole(d, ledger):
    stacks = folded(d + "/a.folded", ledger)
    _, records = fdata(d + "/a.fdata")
    # The same samples in both: leaves in the program's own functions, and the records.
    own = {b"busy_spin", b"main"}
    equal(sum(n for (name, _), n in records.items() if name in own),
          sum(n for leaf, n in leaves(stacks).items() if leaf in own), "samples in the binary")
    equal(sorted(os.listdir(d)), ["a.fdata", "a.folded"], "files")


def both(d):
    return ["-F", 997, "-o", d + "/a.folded", "-o", d + "/a.fdata", "--binary", workload("busy")]


def stopped_by(sig):
    d = tempdir()
    load = Workload("busy", 3600)
    recording = Recording("-p", load.pid, *both(d))
    time.sleep(1)  # what is recorded
    ledger = recording.stop(sig)
    load.stop()
    outputs_are_whole(d, ledger)


@case
def sigint_writes_every_output():
    stopped_by(signal.SIGINT)


@case
def sigterm_writes_every_output():
    stopped_by(signal.SIGTERM)


@case
def sighup_writes_every_output():
    stopped_by(signal.SIGHUP)


@case
def the_duration_ends_a_recording():
    d = tempdir()
    load = Workload("busy", 3600)
    started = time.monotonic()
    ledger, expected = sample_process(load, 997, 2, *both(d)[2:])
    took = time.monotonic() - started
    load.stop()
    outputs_are_whole(d, ledger)
    # Beside the two seconds: loading the programs, reading /proc, writing.
    check(2 <= took < 12, f"-d 2 took {took} s")
    # One CPU for two seconds gives 1994 samples at most.
    check(0.5 * DELIVERED * expected < ledger.aggregated < 2.02 * 997,
          f"{ledger.line}, expected {expected}")


@case
def the_commands_end_ends_a_recording():
    d = tempdir()
    ledger = record(*both(d), "--", workload("busy"), 1)
    outputs_are_whole(d, ledger)


@case
def the_targets_end_ends_a_recording():
    d = tempdir()
    gate = Gate("busy", 2)
    recording = Recording("-p", gate.pid, *both(d))
    gate.open()
    gate.wait()
    outputs_are_whole(d, recording.finish(timeout=10))


@case
def kill_9_leaves_no_partial_output():
    load = Workload("busy", 3600)
    for i in range(8):
        d = tempdir()
        recording = Recording("-a", *both(d))
        time.sleep(0.3)  # what is recorded
        if i >= 2:
            # At any moment of what follows a stop, writing included.
            recording.signal(signal.SIGINT)
            time.sleep(random.uniform(0, 0.15))
        recording.signal(signal.SIGKILL)
        recording.wait()
        files = sorted(os.listdir(d))
        note(f"{i}: {files}")
        for name in files:
            # A file that is there is whole.
            check(name in ("a.folded", "a.fdata"), f"left behind: {name}")
            (folded if name == "a.folded" else fdata)(d + "/" + name)
    load.stop()


@case
def an_older_output_is_replaced_whole():
    d = tempdir()
    with open(d + "/a.folded", "w") as f:
        f.write("old 1\n" * 100000)
    os.chmod(d + "/a.folded", 0o644)
    recording = Recording("-F", 997, "-o", d + "/a.folded", "--", workload("busy"), 1)
    with open(d + "/a.folded") as f:
        equal(f.readline(), "old 1\n", "the old file while recording")
    ledger = recording.finish()
    folded(d + "/a.folded", ledger)


@case
def standard_output_takes_an_output():
    recording = Recording("-q", "-a", "-F", 99, "-d", 1, "-o", "folded:-", ready=False)
    load = Workload("busy", 3600)
    ledger = recording.finish()
    load.stop()
    equal(recording.err, ledger.line + "\n", "with -q, standard error holds the ledger alone")
    d = tempdir()
    with open(d + "/a.folded", "w") as f:
        f.write(recording.out)
    folded(d + "/a.folded", ledger)


def status_of(status, script):
    d = tempdir()
    ledger = record("-F", 997, "-o", d + "/a.folded", "--", "/bin/sh", "-c",
                    f"{workload('busy')} 0.3 >/dev/null; {script}", status=status)
    folded(d + "/a.folded", ledger)


@case
def the_commands_exit_status_is_passed_on():
    status_of(0, "exit 0")
    status_of(7, "exit 7")


@case
def the_commands_signal_is_passed_on():
    status_of(128 + 9, "kill -9 $$")
    status_of(128 + 15, "kill $$")


@case
def a_stopped_command_is_ended_too():
    d = tempdir()
    status = 128 + signal.SIGTERM
    record("-d", 1, "-o", d + "/a.folded", "--", "/bin/sh", "-c", "kill -STOP $$", status=status)


@case
def a_command_that_goes_on_is_said_and_killed_upon_another_signal():
    d = tempdir()
    recording = Recording("-d", 1, "-o", d + "/a.folded", "--", "/bin/sh", "-c",
                          "trap '' TERM; while :; do sleep 1; done")
    recording.wait_line("err", rb"waiting for /bin/sh \(process \d+\)")
    check(os.path.exists(d + "/a.folded"), "the output is there before the command ends")
    recording.stop(status=128 + signal.SIGKILL)


@case
def the_status_is_known_also_where_children_are_ignored():
    d = tempdir()
    record("-o", d + "/a.folded", "--", "/bin/sh", "-c", "exit 7", status=7,
           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


@case
def under_nohup_a_hangup_ends_nothing():
    d = tempdir()
    recording = Recording("-a", "-o", d + "/a.folded",
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    recording.signal(signal.SIGHUP)
    time.sleep(0.5)  # in which it would end
    equal(recording.popen.poll(), None, "exit status after the hangup")
    recording.stop()


@case
def a_signal_at_any_moment_leaves_whole_outputs_and_a_ledger():
    for i in range(8):
        d = tempdir()
        recording = Recording("-a", "-F", 997, "-o", d + "/a.folded")
        for _ in range(30):
            if recording.popen.poll() is None:
                recording.signal(random.choice((signal.SIGINT, signal.SIGTERM)))
            time.sleep(random.uniform(0, 0.01))
        ledger = recording.finish()
        if ledger.aggregated:
            folded(d + "/a.folded", ledger)


@case
def a_command_that_does_not_exist_is_told():
    for argv, status in ((["/nonexistent/program"], 127), (["/etc/passwd"], 126)):
        d = tempdir()
        done = ebolt("record", "-F", "99", "-o", d + "/a.folded", "--", *argv)
        text = done.stderr.decode()
        note(f"{done.returncode}: {text}")
        check(argv[0] in text, f"doesn't name {argv[0]}:\n{text}")
        # What a shell gives, or ebolt's own failure.
        check(done.returncode in (1, status), f"exit status {done.returncode}")
        equal(os.listdir(d), [], "files")


@case
def a_command_gets_its_standard_streams_and_arguments():
    d = tempdir()
    done = subprocess.run([EBOLT, "record", "-q", "-F", "997", "-o", d + "/a.folded", "--",
                           "/bin/sh", "-c", f'cat; {workload("busy")} 0.3 >&2; echo "$1"', "sh",
                           "-d"],
                          input=b"in\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.stdout, b"in\n-d\n", "standard output")
    equal(done.returncode, 0, "exit status")


main()
