"""./dev fuzz: looks for programs that Rondel runs wrongly, and for files that it does not refuse cleanly.

    ./dev fuzz programs [SECONDS]  random programs with loops, in all ways to run them, beside an oracle
    ./dev fuzz models [SECONDS]    damaged model files, which must be refused with an error of Rondel's
    ./dev fuzz deepx [SECONDS]     mutated programs for the deepx parser and server

`./dev fuzz NAME --help` says more. Each seed gives one program or file in any process, so a fault is run again by its seed. The exit
code is 1 if there is a fault.
"""

import argparse
import importlib
import os
import sys

KINDS = {"programs": "fuzz.fuzz_programs", "models": "fuzz.fuzz_models", "deepx": "fuzz.fuzz_deepx"}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in KINDS:
        print(__doc__)
        return 0 if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") else 2
    os.environ.setdefault("RONDEL_VERIFY", "1")  # each storage plan is proved
    os.environ.setdefault("RONDEL_CACHE_DIR", "off")  # what is tried is compiled
    return importlib.import_module(KINDS[sys.argv[1]]).main(sys.argv[2:])


def parser(name, about, examples):
    """The options that all kinds have."""
    made = argparse.ArgumentParser(prog=f"./dev fuzz {name}", description=about, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("seconds", nargs="?", type=float, help="how long (default: 60 seconds, or until --count is reached)")
    made.add_argument("--seed", type=int, help="the first seed (default: a random one, which is printed)")
    made.add_argument("--count", type=int, help="how many seeds")
    made.add_argument("--jobs", type=int, default=2, help="worker processes (default: 2)")
    return made


if __name__ == "__main__":
    sys.exit(main())
