#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make install` leaves is a program that works alone, and man pages; uninstall takes all."""

from ebolt_test import *


def make(*args):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "B", "SAN")}
    done = subprocess.run(["make", "-s", *(["SAN=1"] if SAN else []), *args], cwd=ROOT, env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    equal(done.returncode, 0, f"make {args}:\n{done.stdout.decode()}\n")


def files_under(d):
    return sorted(os.path.relpath(os.path.join(path, name), d)
                  for path, _, names in os.walk(d) for name in names)


@case
def install_and_uninstall():
    d = tempdir()
    make("install", "DESTDIR=" + d, "PREFIX=/opt/e")
    pages = ["ebolt-doctor.1", "ebolt-jitdump.1", "ebolt-record.1", "ebolt-resolve.1", "ebolt.1"]
    equal(files_under(d), ["opt/e/bin/ebolt"] + ["opt/e/share/man/man1/" + p for p in pages],
          "files installed")
    # Alone in a directory, it samples: the BPF objects are inside.
    done = subprocess.run([d + "/opt/e/bin/ebolt", "record", "-F", "997", "-o", "a.folded", "--",
                           workload("busy"), "0.5"], cwd=d, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.returncode, 0, done.stderr.decode())
    folded(d + "/a.folded", Ledger(done.stderr.decode()))
    os.unlink(d + "/a.folded")
    make("uninstall", "DESTDIR=" + d, "PREFIX=/opt/e")
    equal(files_under(d), [], "files left")


@case
def the_manual_names_every_option():
    done = ebolt("record", "--help")
    equal(done.returncode, 0, "exit status of --help")
    with open(ROOT + "/docs/man/ebolt-record.1") as f:
        manual = f.read().replace("\\-", "-")
    options = set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", done.stdout.decode()))
    # Of the examples, not ebolt's.
    missing = {o for o in options if o not in manual}
    check(len(options) > 20, f"few options in --help: {options}")
    check(not missing, f"not in ebolt-record.1: {missing}")


main()
