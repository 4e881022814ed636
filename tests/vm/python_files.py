#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Prints the files of Python's library that programs need: tests/vm/python_files.py PROGRAM...

The virtual machine gets these instead of the whole library, which would make up most of its
memory disk. Found by importing, in this process, what the programs name in import statements
(anywhere in them), and looking at what is loaded then. Modules beside a program are not imported,
but read like it.
"""

import ast
import importlib
import os
import sys

# What the library loads when it is needed, and not before.
LATER = ["encodings.ascii", "encodings.latin_1", "encodings.utf_8", "encodings.idna", "locale",
         "site", "linecache", "tokenize", "traceback", "zlib", "bz2", "lzma"]


def imported(path):
    with open(path, "rb") as f:
        tree = ast.parse(f.read(), path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def main():
    todo, seen, names = list(sys.argv[1:]), set(), set(LATER)
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imported(path):
            beside = os.path.join(os.path.dirname(path), name.split(".")[0] + ".py")
            if os.path.exists(beside):
                todo.append(beside)
            else:
                names.add(name)
    for name in sorted(names):
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # a function of a module, or what is not there outside the machine either
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    library = os.path.dirname(os.__file__) + "/"
    for path in sorted(f for f in files if f and f.startswith(library)):
        print(path)


main()
