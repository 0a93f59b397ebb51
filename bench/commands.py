"""What the commands of this folder share: options, the choice of rows, tables that grow row by row, processes with one engine, where files are.

Imports no engine and nothing large: a process that measures an engine holds nothing else.
"""

import argparse
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "bench"  #: what is measured or compiled
MOST_LISTED = 50  #: rows that --help and errors name; of more, they name some


def _module(path):
    """A file of the package as a module of its own, so that rondel is not imported."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


measuring = _module("python/rondel/benchmarking.py")
at_least_one = _module("cli/rondel_cli/numbers.py").at_least_one
ENGINES = measuring.ENGINES  #: Rondel and the one that it is compared with


class Parser(argparse.ArgumentParser):
    """The options of `./dev bench NAME`: the help begins with the file's docstring. rows: the names that --only chooses from.
    rounds: how many there are without --rounds; None: there is no such option.
    """

    def __init__(self, name, doc, rows=(), rounds=None):
        super().__init__(prog=f"./dev bench {name}".rstrip(), description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._rows = list(rows)
        if rows:
            about = "the row of that name, else those whose names contain it; may be given again"
            self.add_argument("--only", action="append", metavar="TEXT", help=about)
            self.epilog = textwrap.fill(f"rows: {self._listed()}", 120)
        if rounds is not None:
            self.add_argument("--rounds", type=at_least_one, default=rounds, metavar="N", help=f"how many times each figure is measured ({rounds})")

    def parse_args(self, *given, **more):
        """The options; `rows` are those that are chosen, in their order. From now on, what is measured is compiled: there is no folder of code."""
        options = super().parse_args(*given, **more)
        os.environ.setdefault("RONDEL_CACHE_DIR", "off")
        if self._rows:
            chosen = {name for text in options.only or [""] for name in self._named(text)}
            options.rows = [name for name in self._rows if name in chosen]
        return options

    def _named(self, text):
        found = [text] if text in self._rows else [name for name in self._rows if text in name]
        if not found:
            self.error(f"--only: no row is named '{text}' or has that in its name; rows: {self._listed()}")
        return found

    def _listed(self):
        if len(self._rows) <= MOST_LISTED:
            return "; ".join(self._rows)
        return f"{'; '.join(self._rows[:: len(self._rows) // 20])}; {len(self._rows)} in all"


def require(*modules):
    """Ends the program with exit code 2 if a module that is measured is not installed."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{' and '.join(missing)}: not installed; ./dev setup installs what is measured", file=sys.stderr)
        sys.exit(2)


class Table:
    """A table whose rows are printed as they are measured: names flush left in the first column, figures flush right in the others."""

    def __init__(self, title, names, *columns):
        self._widths = [max(map(len, [title, *names])), *(max(len(column), 8) for column in columns)]
        self.add(title, *columns)
        self.add(*("-" * width for width in self._widths))

    def add(self, name, *cells):
        columns = [name.ljust(self._widths[0]), *(cell.rjust(width) for cell, width in zip(cells, self._widths[1:], strict=True))]
        print("  ".join(columns).rstrip(), flush=True)


def machine():
    """Where and when: the last line of what a command prints."""
    return "{processor}, {cores} cores, {date}.".format(**measuring.describe_machine())


def in_new_process(file, *arguments, given=None, cache="off"):
    """What a script prints in a process of its own, read as JSON. given: is pickled to its stdin. cache: the folder of compiled code."""
    answer = subprocess.run(
        [sys.executable, file, *arguments],
        input=pickle.dumps(given), capture_output=True, check=False, env=os.environ | {"RONDEL_CACHE_DIR": str(cache)},
    )  # fmt: skip
    if answer.returncode != 0:
        raise RuntimeError(f"{Path(file).name} {' '.join(arguments)} failed:\n{answer.stderr.decode(errors='replace')}")
    return json.loads(answer.stdout.splitlines()[-1])


def given():
    """What `in_new_process` gave to this process."""
    return pickle.load(sys.stdin.buffer)
