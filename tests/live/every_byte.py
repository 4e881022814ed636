#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a perf.data file with one sample at each byte of an ELF file's code.

    every_byte.py BINARY OUT.data

The file says that one process mapped the whole of BINARY, from its first segment on, at a
place where perf2bolt 19 computes the right base; so perf2bolt -nl tells how BOLT names each
address. Format: linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt.
"""
import os
import struct
import sys

PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS = 1, 2, 4, 8
RECORD_MMAP2, RECORD_COMM, RECORD_SAMPLE = 10, 3, 9
SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_CPU, SAMPLE_PERIOD = 1, 2, 4, 1 << 7, 1 << 8
ATTR_SIZE = 112
MISC_USER = 2
PID, TID, BASE = 4242, 4242, 0x555500000000


def code_of(elf):
    """(type, first PT_LOAD's vaddr, [(addr, size)] of the sections of code)"""
    e_type, = struct.unpack_from("<H", elf, 16)
    phoff, shoff = struct.unpack_from("<QQ", elf, 32)
    phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", elf, 54)
    loads, sections = [], []
    for i in range(phnum):
        p = struct.unpack_from("<IIQQQQQQ", elf, phoff + i * phentsize)
        if p[0] == PT_LOAD:
            loads.append(p)
    for i in range(shnum):
        s = struct.unpack_from("<IIQQQQIIQQ", elf, shoff + i * shentsize)
        if s[2] & SHF_ALLOC and s[2] & SHF_EXECINSTR and s[1] != SHT_NOBITS:
            sections.append((s[3], s[5]))
    return e_type, loads, sections


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def sample_id(time):
    return struct.pack("<IIQII", PID, TID, time, 0, 0)


def main():
    path, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(path, "rb") as f:
        elf = f.read()
    e_type, loads, sections = code_of(elf)
    assert loads and loads[0][2] == 0, "the first segment must begin at offset 0"
    bias = BASE if e_type == 3 else 0
    start = bias + loads[0][3]
    end = bias + max(p[3] + p[6] for p in loads)

    name = os.path.basename(path).encode()
    data = [record(RECORD_COMM, 1 << 13,
                   struct.pack("<II", PID, TID) + name[:15].ljust(16, b"\0") + sample_id(1)),
            record(RECORD_MMAP2, MISC_USER,
                   struct.pack("<IIQQQIIQQII", PID, TID, start, (end - start + 4095) & ~4095, 0,
                               8, 1, os.stat(path).st_ino, 0, 5, 2) +
                   path.encode() + bytes(8 - len(path.encode()) % 8) + sample_id(2))]
    time = 10
    for addr, size in sections:
        for vaddr in range(addr, addr + size):
            time += 1
            data.append(record(RECORD_SAMPLE, MISC_USER,
                               struct.pack("<QIIQIIQ", bias + vaddr, PID, TID, time, 0, 0, 1)))
    data = b"".join(data)

    sample_type = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_PERIOD
    # sample_id_all, exclude_guest, comm, mmap, mmap2, task, use_clockid, comm_exec
    flags = 1 << 18 | 1 << 20 | 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23 | 1 << 24 | 1 << 25
    attr = struct.pack("<IIQQQQQ", 1, ATTR_SIZE, 0, 1000000, sample_type, 0, flags)
    attr = attr.ljust(ATTR_SIZE, b"\0")
    attr = attr[:92] + struct.pack("<i", 1) + attr[96:]  # CLOCK_MONOTONIC
    header = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, ATTR_SIZE + 16, 104, ATTR_SIZE + 16,
                         104 + ATTR_SIZE + 16, len(data), 0, 0) + bytes(32)
    with open(out, "wb") as f:
        f.write(header + attr + bytes(16) + data)


if __name__ == "__main__":
    main()
