"""How long runs go on after their deadline, for each kind of long work; one table.

    python bench/stops.py             seven runs each, by native code and by the interpreter
    python bench/stops.py --only top  cases whose names contain "top"

docs/loops.md promises a millisecond. The runs are those of tests/python/helpers/long_runs.py; the deadline is 50 ms.
The time is measured in Python around the call, and so includes raising the error.
"""

import argparse
import os
import statistics
import sys

from harness import BENCH

sys.path.insert(0, str(BENCH.parent / "tests" / "python" / "helpers"))
from long_runs import CASES, overrun, session_of  # noqa: E402

RUNS = 7


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="a part of the names")
    options = parser.parse_args(arguments)
    print(f"{'':33} {'native':>17} {'interpreted':>17}")
    print(f"{'ms over, of ' + str(RUNS) + ' runs':33} {'median':>8} {'most':>8} {'median':>8} {'most':>8}")
    for case, (graph, feeds) in CASES.items():
        if options.only in case:
            given = feeds()
            try:
                columns = [late(graph, given, jit) for jit in ("1", "0")]
            except AssertionError as early:  # on a fast machine, the run ends before its deadline
                print(f"{case:33} {early}")
                continue
            print(f"{case:33} " + " ".join(f"{ms:8.2f}" for pair in columns for ms in pair), flush=True)


def late(graph, feeds, jit):
    """(median, maximum) of the overrun, in milliseconds."""
    os.environ["RONDEL_JIT"] = jit
    session = session_of(graph)
    times = [overrun(session, feeds) * 1e3 for _ in range(RUNS)]
    return statistics.median(times), max(times)


if __name__ == "__main__":
    main()
