"""Each workload in Rondel and in other runtimes, in turn, in one process; one table.

    python bench/run.py                       all workloads
    python bench/run.py --only scalar_loop    one of them (may be given again)
    python bench/run.py --quick               three rounds instead of eleven, memory not measured

The table is also written to build/bench/latest.json. JAX takes part where it is installed. Exit
code: 0; 1 when outputs differ from ONNX Runtime's by more than the workload allows; 2 when a
workload could not run.
"""

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

from harness import BENCH, PEERS, disagreement, measure, measuring, peak_memory
from workloads import NAMES, load

RESULTS = BENCH.parent / "build" / "bench" / "latest.json"
FOOT = """\
trip: median of {rounds} rounds of calls through Python (as many as take 20 ms), divided by the trips;
engines take turns in one process, one thread each. ratio: ONNX Runtime's time divided by Rondel's.
limit: Rondel's time as a part of the limit in bench/README.md. by hand: bench/by_hand.cpp, compiled
with -O3. load: making the session and its first run, minus a second run. peak: the memory that
loading and running add, at most, to a fresh process with only that engine.
{processor}, {cores} cores, {date}."""


def main(arguments=None):
    options = parse(arguments)
    engines = [name for name in PEERS if name == "by hand" or importlib.util.find_spec(name)]
    for needed in ("rondel", "onnxruntime"):
        if needed not in engines:
            print(f"{needed} is not installed; ./dev setup installs it", file=sys.stderr)
            return 2
    rounds = 3 if options.quick else 11
    rows, failed = [], []
    for name in options.only or NAMES:
        try:
            rows.append(measure_one(name, engines, rounds, memory=not options.quick))
        except Exception as failure:  # the other workloads may still run
            failed.append(name)
            say(f"{name}: {type(failure).__name__}: {failure}\n")
    say("")
    print(table(rows))
    where = measuring.describe_machine()
    print(FOOT.format(rounds=rounds, **where))
    write(rows, where | {"rounds": rounds})
    for row in rows:
        if not row["agrees"]:
            print(f"{row['name']}: outputs differ from ONNX Runtime's by {row['difference']:.1e}")
    if failed:
        print(f"could not run: {', '.join(failed)}")
        return 2
    return 0 if all(row["agrees"] for row in rows) else 1


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=NAMES, metavar="NAME", help=", ".join(NAMES)
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, memory not measured")
    return parser.parse_args(arguments)


def measure_one(name, engines, rounds, memory):
    """One row of the table, in the form that is written to the JSON file."""
    say(f"{name} ...")
    workload = load(name)
    takes_part = {"jax": workload.jax, "by hand": workload.by_hand}
    taking_part = [engine for engine in engines if takes_part.get(engine, True)]
    measured = measure(
        workload, taking_part, rounds, lambda done: say(f"{name} ... round {done} of {rounds}")
    )
    if memory:
        say(f"{name} ... memory")
        for engine in taking_part:
            measured[engine].peak_mib = peak_memory(engine, name)
    difference = disagreement(measured["rondel"].outputs, measured["onnxruntime"].outputs)
    mine, theirs = measured["rondel"].trip_ns, measured["onnxruntime"].trip_ns
    limit_ns = workload.limit_ns
    if workload.limit_by_hand:
        limit_ns = workload.limit_by_hand * measured["by hand"].trip_ns
    elif workload.limit_ratio:
        limit_ns = workload.limit_ratio * theirs
    return {
        "name": name,
        "doc": workload.doc,
        "trips": workload.trips,
        "limit_ns": limit_ns,
        "ratio": theirs / mine,
        "part_of_limit": mine / limit_ns if limit_ns else None,
        "difference": difference,
        "agrees": difference <= workload.tolerance,
        "engines": {
            engine: {"trip_ns": m.trip_ns, "load_ms": m.load_ms, "peak_mib": m.peak_mib}
            for engine, m in measured.items()
        },
    }


def table(rows):
    """The table: a line for each workload and engine, Rondel's first."""
    from rondel.texts import render  # not above: `main` says where rondel is not installed

    head = [
        "workload",
        "engine",
        "trips",
        "trip ns",
        "ratio",
        "limit",
        "load ms",
        "peak MiB",
        "equal",
    ]
    cells = []
    for row in rows:
        for engine, m in row["engines"].items():
            first = engine == "rondel"
            limit = f"{row['part_of_limit']:.0%}" if first and row["limit_ns"] else ""
            cells.append(
                [
                    row["name"] if first else "",
                    engine,
                    f"{row['trips']:,}" if first else "",
                    f"{m['trip_ns']:,.1f}" if m["trip_ns"] < 1000 else f"{m['trip_ns']:,.0f}",
                    f"{row['ratio']:.2f}x" if first else "",
                    limit,
                    f"{m['load_ms']:.1f}",
                    "" if m["peak_mib"] is None else f"{m['peak_mib']:.1f}",
                    ("yes" if row["agrees"] else "NO") if first else "",
                ]
            )
    return render(head, cells, right=head[2:-1])


def write(rows, where):
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    versions = {}
    for engine in PEERS:
        if engine in sys.modules:
            versions[engine] = getattr(sys.modules[engine], "__version__", "")
    RESULTS.write_text(
        json.dumps({"where": where, "versions": versions, "rows": rows}, indent=1) + "\n"
    )


def say(text):
    """Writes progress to stderr: redrawn on a terminal; elsewhere only complete lines are written."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
    elif text.endswith("\n"):
        sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
