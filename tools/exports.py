#!/usr/bin/env python3
"""Lists what librondel exports: tools/exports.py LIBRARY [--write].

Prints the functions and objects of the library that are compiled once, by their C++ names. --write writes the
list to src/exports.txt; a test compares it with the library. Symbols of inline functions are in each program that
uses them, so they are not listed. A test checks that all symbols are in namespace rondel (`foreign`).
"""

import argparse
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "src" / "exports.txt"
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
OURS = ("rondel::", "typeinfo for rondel::", "typeinfo name for rondel::", "vtable for rondel::", "guard variable for rondel::")


def symbols(library):
    """(kind, name) of each exported symbol. Kinds are nm's: T a function, D, B, R an object, V, W, u weak ones."""
    command = ["nm", "--dynamic", "--defined-only", "--demangle", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [tuple(line.replace(STRING, "std::string").split(" ", 2)[1:]) for line in lines]


def listed(library):
    """The names that the list must have."""
    return sorted({name for kind, name in symbols(library) if kind in "TDBR"})


def foreign(library):
    """Exported names that are not Rondel's."""
    return sorted({name for _, name in symbols(library) if not is_ours(name)})


def is_ours(name):
    function = name.split("(")[0].rsplit(" ", 1)[-1]  # of a template, nm also gives the type of its result
    return name.startswith(OURS) or function.startswith("rondel::")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", metavar="LIBRARY", help="a librondel.so")
    parser.add_argument("--write", action="store_true", help=f"write the list to src/{LIST.name}")
    arguments = parser.parse_args()
    try:
        text = "".join(f"{name}\n" for name in listed(arguments.library))
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"exports.py: cannot list {arguments.library}: {getattr(error, 'stderr', '') or error}")
    if arguments.write:
        LIST.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
