"""Each workload in Rondel and in other runtimes, in turn, in one process; one table.

    ./dev bench                       all workloads
    ./dev bench --only scalar_loop    one of them (may be given again)
    ./dev bench --spellings           a line for each spelling of a loop, too
    ./dev bench --quick               three rounds instead of eleven, memory not measured

The table is also written to build/bench/latest.json. JAX takes part where it is installed
(.venv/bin/pip install jax). Exit code: 0; 1 when outputs differ from ONNX Runtime's by more than the
workload allows; 2 when a workload could not run. Other benchmarks: ./dev bench NAME, see bench/README.md.
"""

import importlib.util
import json
import sys

from commands import ENGINES, RESULTS, Parser, machine, measuring, require
from harness import PEERS, disagreement, measure, peak_memory
from workloads import NAMES, load

FOOT = """\
trip: median of {rounds} rounds of calls through Python (as many as take 20 ms), divided by the trips;
engines take turns in one process, one thread each. ratio: ONNX Runtime's time divided by Rondel's.
limit: Rondel's time as a part of the limit in bench/README.md. slowest spelling: of those in
bench/spellings.py, beside the time of the model as it is written; an f64 counts as two f32. by hand: bench/by_hand.cpp, compiled
with -O3. load: making the session and its first run, minus a second run. peak: the memory that
loading and running add, at most, to a fresh process with only that engine.
{machine}"""


def main(arguments=None):
    options = parse(arguments)
    require(*ENGINES)
    from rondel.progress import Progress  # not above: `require` says where rondel is not installed

    engines = [name for name in PEERS if name == "by hand" or importlib.util.find_spec(name)]
    rounds = 3 if options.quick else 11
    rows, failed, progress = [], [], Progress(True, "measuring", 0)
    for name in options.rows:
        try:
            rows.append(measure_one(name, engines, rounds, not options.quick, progress.update))
        except Exception as failure:  # the other workloads may still run
            failed.append(name)
            progress.clear()
            print(f"{name}: {type(failure).__name__}: {failure}", file=sys.stderr)
    progress.clear()
    print(table(rows, options.spellings))
    print(FOOT.format(rounds=rounds, machine=machine()))
    write(rows, rounds)
    for row in rows:
        if not row["agrees"]:
            print(f"{row['name']}: outputs differ from ONNX Runtime's by {row['difference']:.1e}")
    if failed:
        print(f"could not run: {', '.join(failed)}")
        return 2
    return 0 if all(row["agrees"] for row in rows) else 1


def parse(arguments):
    parser = Parser("", __doc__, NAMES)
    parser.add_argument("--spellings", action="store_true", help="a line for each spelling of a loop")
    parser.add_argument("--quick", action="store_true", help="three rounds, memory not measured")
    return parser.parse_args(arguments)


def measure_one(name, engines, rounds, memory, report):
    """One row of the table, in the form that is written to the JSON file."""
    report(name)
    workload = load(name)
    takes_part = {"jax": workload.jax, "by hand": workload.by_hand}
    taking_part = [engine for engine in engines if takes_part.get(engine, True)]
    measured = measure(workload, taking_part, rounds, lambda done: report(f"{name}: round {done} of {rounds}"))
    if memory:
        report(f"{name}: memory")
        for engine in taking_part:
            measured[engine].peak_mib = peak_memory(engine, name)
    theirs = measured["onnxruntime"]
    spelled = {who[1]: m for who, m in measured.items() if isinstance(who, tuple)}
    difference = max(disagreement(m.outputs, theirs.outputs) for m in measured.values())
    mine = measured["rondel"].trip_ns
    limit_ns = workload.limit_ns
    if workload.limit_by_hand:
        limit_ns = workload.limit_by_hand * measured["by hand"].trip_ns
    elif workload.limit_ratio:
        limit_ns = workload.limit_ratio * theirs.trip_ns
    return {
        "name": name,
        "doc": workload.doc,
        "trips": workload.trips,
        "limit_ns": limit_ns,
        "ratio": theirs.trip_ns / mine,
        "difference": difference,
        "agrees": difference <= workload.tolerance,
        "engines": {
            engine: {"trip_ns": m.trip_ns, "load_ms": m.load_ms, "peak_mib": m.peak_mib}
            for engine, m in measured.items()
            if engine in taking_part
        },
        "spellings": {
            name: {"trip_ns": m.trip_ns, "load_ms": m.load_ms, "cost": m.trip_ns / mine / (2 if name == "double" else 1)}
            for name, m in spelled.items()
        },
    }


def table(rows, spellings=False):
    """The table: a line for each workload and engine, Rondel's first; with `spellings` also one for each of those."""
    from rondel.texts import render

    head = ["workload", "engine", "trips", "trip ns", "ratio", "limit", "load ms", "peak MiB", "equal", "slowest spelling"]
    cells = []
    for row in rows:
        limit_ns = row["limit_ns"]
        for engine, m in row["engines"].items():
            first = engine == "rondel"
            cells.append(
                [
                    row["name"] if first else "",
                    engine,
                    f"{row['trips']:,}" if first else "",
                    nanoseconds(m["trip_ns"]),
                    f"{row['ratio']:.2f}x" if first else "",
                    f"{m['trip_ns'] / limit_ns:.0%}" if first and limit_ns else "",
                    f"{m['load_ms']:.1f}",
                    "" if m["peak_mib"] is None else f"{m['peak_mib']:.1f}",
                    ("yes" if row["agrees"] else "NO") if first else "",
                    slowest(row["spellings"]) if first else "",
                ]
            )
        for name, m in row["spellings"].items() if spellings else ():
            limit = f"{m['cost'] * row['engines']['rondel']['trip_ns'] / limit_ns:.0%}" if limit_ns else ""
            cells.append(["", f"  {name}", "", nanoseconds(m["trip_ns"]), "", limit, f"{m['load_ms']:.1f}", "", "", f"{m['cost']:.2f}x"])
    return render(head, cells, right=head[2:-2])


def nanoseconds(number):
    return f"{number:,.1f}" if number < 1000 else f"{number:,.0f}"


def slowest(spellings):
    """Of the spellings of a row, and the cost of it in the unit of the first one."""
    if not spellings:
        return ""
    name = max(spellings, key=lambda name: spellings[name]["cost"])
    return f"{name}, {spellings[name]['cost']:.2f}x the first"


def write(rows, rounds):
    """Writes the rows to build/bench/latest.json, with the machine and the versions."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    versions = {name: getattr(sys.modules[name], "__version__", "") for name in PEERS if name in sys.modules}
    found = {"where": measuring.describe_machine() | {"rounds": rounds}, "versions": versions, "rows": rows}
    (RESULTS / "latest.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
