#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The ways to link a program that test_matrix.py tells apart: the table, and the builder.

    tests/live/links.py DIR     builds DIR/ROW/row for each row, or leaves DIR/ROW/why

Each row is the same source, tests/workloads/links and image.h, whose profile is known. The first
ones are those that were measured with perf2bolt, which maps the addresses of only some right. A row
for which a tool isn't there leaves that as its reason.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(HERE), "workloads", "links")

BIG = ("-DIMAGE_COLD=40000",)  # 160K of text
PIE = ("-fPIE",)
NO_PIE = ("-fno-PIE", "-mcmodel=small")
SO = ("-fPIC",)


class Row:
    def __init__(self, name, *link, cc=PIE, ld="lld", library=False, after=None):
        self.name, self.link, self.cc, self.ld = name, link, cc, ld
        self.library, self.after = library, after


def page(size):
    return f"-Wl,-z,max-page-size={size:#x}"


K4, K64, M2 = page(0x1000), page(0x10000), page(0x200000)


def debugdata(d, program):
    """Leaves the symbols in .gnu_debugdata alone, compressed, as Fedora ships programs."""
    run("objcopy", "--only-keep-debug", program, d + "/debug")
    run("strip", "--strip-debug", d + "/debug")
    run("xz", "-f", d + "/debug")
    run("strip", "-s", program)
    run("objcopy", f"--add-section=.gnu_debugdata={d}/debug.xz", program)


def symlink(d, program):
    os.rename(d + "/librow.so", d + "/librow.so.1.2")
    os.symlink("librow.so.1.2", d + "/librow.so.1")
    os.symlink("librow.so.1", d + "/librow.so")


TEXT2 = ("-DIMAGE_SECTION=__attribute__((section(\".text2\")))",)

TABLE = [
    Row("pie-small", "-pie"),
    Row("pie-160k-text-64k", "-pie", K64, cc=PIE + BIG),
    Row("pie-160k-text-2m", "-pie", M2, cc=PIE + BIG),
    Row("pie-100k-rodata-160k-text-64k", "-pie", K64, cc=PIE + BIG + ("-DIMAGE_RODATA=100000",)),
    Row("pie-160k-text", "-pie", cc=PIE + BIG),
    Row("separate-code-64k", "-pie", "-Wl,-z,separate-code", K64),
    Row("separate-loadable-segments-64k", "-pie", "-Wl,-z,separate-loadable-segments", K64),
    Row("no-rosegment", "-pie", "-Wl,--no-rosegment"),
    Row("no-pie-4k", "-no-pie", K4, cc=NO_PIE),
    Row("no-pie-64k", "-no-pie", K64, cc=NO_PIE),
    Row("gnu-pie-4k", "-pie", K4, ld="bfd"),
    Row("gnu-pie-64k", "-pie", K64, ld="bfd"),
    Row("gnu-pie-noseparate-code", "-pie", "-Wl,-z,noseparate-code", ld="bfd"),
    Row("so-small", library=True),
    Row("two-texts-in-64k", "-pie", K64, f"-Wl,-T,{SOURCE}/two_texts.ld", cc=PIE + TEXT2),
    # What the rest of the world links.
    Row("static", "-static", cc=NO_PIE),
    Row("static-pie", "-static-pie"),
    Row("gnu-static", "-static", cc=NO_PIE, ld="bfd"),
    Row("gnu-no-pie", "-no-pie", cc=NO_PIE, ld="bfd"),
    Row("gnu-no-pie-noseparate-code", "-no-pie", "-Wl,-z,noseparate-code", cc=NO_PIE, ld="bfd"),
    Row("gnu-no-pie-2m", "-no-pie", M2, cc=NO_PIE + BIG, ld="bfd"),
    Row("gnu-two-texts-in-64k", "-pie", K64, f"-Wl,-T,{SOURCE}/two_texts.ld", cc=PIE + TEXT2,
        ld="bfd"),
    Row("text-far", "-pie", "-Wl,--section-start=.text=0x40000000"),
    Row("gnu-text-far", "-no-pie", "-Wl,-Ttext=0x40000000", cc=NO_PIE, ld="bfd"),
    Row("so-160k-text-64k", K64, cc=SO + BIG, library=True),
    Row("so-linked-high", "-Wl,--image-base=0x10000000", cc=SO, library=True),
    Row("so-gnu-64k", K64, cc=SO, ld="bfd", library=True),
    Row("so-by-symlink", library=True, after=symlink),
    Row("gnu-debugdata", "-pie", after=debugdata),
    Row("gnu-debugdata-64k", "-pie", K64, cc=PIE + BIG, after=debugdata),
    Row("execstack", "-pie", "-Wl,-z,execstack"),
]


def run(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}:\n{done.stdout}")


def compile_and_link(row, d):
    clang = os.environ.get("WL_CLANG", "clang-19")
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g0", "-fno-omit-frame-pointer",
             "-mno-omit-leaf-frame-pointer", "-Wall", "-Wextra", "-Wno-unused-parameter"]
    link = [clang, f"-fuse-ld={row.ld}", "-Wl,--build-id"]
    program = d + "/row"
    if row.library:
        cc = SO if row.cc is PIE else row.cc
        run(clang, *flags, "-DIMAGE=row", *cc, "-c", "-o", d + "/l.o", SOURCE + "/library.c")
        run(*link, "-shared", "-Wl,-soname,librow.so", *row.link, "-o", d + "/librow.so",
            d + "/l.o")
        run(clang, *flags, "-fPIE", "-c", "-o", d + "/p.o", SOURCE + "/program.c")
        run(*link, "-pie", "-o", program, d + "/p.o", "-L" + d, "-lrow", "-Wl,-rpath,$ORIGIN")
    else:
        run(clang, *flags, "-DIMAGE=row", *row.cc, "-c", "-o", d + "/p.o", SOURCE + "/program.c")
        run(*link, *row.link, "-o", program, d + "/p.o")
    if row.after:
        row.after(d, program)
    for name in ("p.o", "l.o"):
        if os.path.exists(f"{d}/{name}"):
            os.unlink(f"{d}/{name}")


def build(where):
    os.makedirs(where, exist_ok=True)
    for row in TABLE:
        d = os.path.join(where, row.name)
        shutil.rmtree(d, ignore_errors=True)
        os.mkdir(d)
        try:
            compile_and_link(row, d)
        except FileNotFoundError as error:
            with open(d + "/why", "w") as f:
                f.write(f"no {error.filename}")


if __name__ == "__main__":
    build(sys.argv[1])
