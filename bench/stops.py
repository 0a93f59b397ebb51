"""How long runs go on after their deadline, for each kind of long work; one table.

    ./dev bench stops               seven runs each, by native code and by the interpreter
    ./dev bench stops --only top    cases whose names contain "top" (may be given again)

docs/loops.md promises a millisecond. The runs are those of tests/python/helpers/long_runs.py; the deadline is 50 ms.
The time is measured in Python around the call, and so includes raising the error. -: the machine is so fast that the run ended before.
"""

import os
import statistics
import sys

from commands import ROOT, Parser, Table, machine, require

sys.path.insert(0, str(ROOT / "tests" / "python" / "helpers"))
from long_runs import CASES, overrun, session_of  # noqa: E402

WAYS = {"native": "1", "interpreted": "0"}  #: name to RONDEL_JIT


def main(arguments=None):
    options = Parser("stops", __doc__, CASES, rounds=7).parse_args(arguments)
    require("rondel")
    table = Table("ms over", CASES, *(f"{way}, {figure}" for way in WAYS for figure in ("median", "most")))
    for name in options.rows:
        graph, feeds = CASES[name]
        given, cells = feeds(), []
        for jit in WAYS.values():
            try:
                cells += [f"{ms:.2f}" for ms in late(graph, given, jit, options.rounds)]
            except AssertionError:  # the run ended before its deadline
                cells += ["-", "-"]
        table.add(name, *cells)
    print(machine())
    return 0


def late(graph, feeds, jit, rounds):
    """(median, maximum) of the overrun, in milliseconds."""
    os.environ["RONDEL_JIT"] = jit
    session = session_of(graph)
    times = [overrun(session, feeds) * 1e3 for _ in range(rounds)]
    return statistics.median(times), max(times)


if __name__ == "__main__":
    sys.exit(main())
