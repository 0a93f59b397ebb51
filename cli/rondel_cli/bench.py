"""`rondel bench`: how fast is this model, and how much memory does it take?"""

import argparse
import importlib.util
import json
import os

import numpy as np

import rondel
from rondel.benchmarking import ENGINES, SETTLING, benchmark, core_count
from rondel.progress import Progress
from rondel.texts import render

from .feeds import add_input_option, extents_option, filled_feeds
from .numbers import at_least_one, count
from .table import add_model_options, coloured, session_options


def add_to(commands):
    parser = commands.add_parser(
        "bench",
        help="measure a model, beside ONNX Runtime where that is installed",
        description="Measures a model: loading and the first run, each time in a new process (import excluded); warm runs, the engines in turn; "
        "peak memory. Inputs that are not given are random numbers of the declared type.",
        epilog="examples:\n"
        "  rondel bench model.onnx                               random inputs; extents that the model leaves open are 1\n"
        "  rondel bench model.onnx --extent batch=8 --extent n=128\n"
        "  rondel bench model.onnx -i x=x.npy --threads 1 --json > times.json\n\n"
        "A measurement takes about 20 seconds for each number of threads, longer if loading or a run is slow.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    add_input_option(parser)
    extents_option(parser)
    parser.add_argument("--threads", type=at_least_one, action="append", metavar="N", help="threads of one op; may be given again (1, and one per core)")
    parser.add_argument("--rounds", type=at_least_one, default=11, metavar="N", help="how many times warm runs are measured (11)")
    parser.add_argument("--cold", type=at_least_one, default=5, metavar="N", help="how many new processes load and run it, of each engine (5)")
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="the seed of random inputs (0)")
    parser.add_argument("--only", action="store_true", help="Rondel only")
    parser.add_argument("--json", action="store_true", help="print all that was measured as JSON instead of a table")
    parser.set_defaults(act=act)


def act(options):
    chosen = session_options(options)
    session = rondel.InferenceSession(options.model, chosen)
    feeds = filled_feeds(session, options.input, options.seed, options.extent)
    engines = [name for name in ENGINES if name == "rondel" or (not options.only and importlib.util.find_spec(name))]
    threads = list(dict.fromkeys(options.threads or [1, core_count()]))
    progress = Progress(True, "measuring", 0)
    ours = {"loop_cond": options.loop_cond, "external_data_dir": options.external_data_dir}
    try:
        found = benchmark(os.path.abspath(options.model), feeds, engines, threads, options.rounds, options.cold, ours, progress.update)
    finally:
        progress.clear()
    found = {"model": options.model, "inputs": {name: _type(value) for name, value in feeds.items()}, **found}
    print(json.dumps(found, indent=1) if options.json else _text(found, engines, options))
    return 0


def _type(value):
    array = np.asarray(value)
    return f"{'str' if array.dtype == object else array.dtype.name}[{','.join(map(str, array.shape))}]"


def _text(found, engines, options):
    lines = [f"input  {name}: {kind}" for name, kind in found["inputs"].items()]
    header = ("engine", "threads", "load ms", "first run ms", "warm ms", "peak MiB", "ratio", "difference")
    table = render(header, [_row(row, engines[0]) for row in found["rows"]], right=header[1:]).splitlines()
    lines += ["", *table, ""]
    lines += dict.fromkeys(f"{row['engine']} does not run it: {row['error']}" for row in found["rows"] if "error" in row)
    machine = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    notes = [
        f"load and first run: medians of {found['cold_rounds']} new processes; warm: of {_rounds(found['rows'])}, the engines in turn; (lower to upper quartile).",
        f"peak: what loading and {SETTLING:.0f} s of runs add, at most, to a process. ratio: of the warm times, to rondel's. difference: of the outputs,",
        "relative to 1 + their size.",
        f"{versions}; {machine['processor']}, {machine['cores']} cores, {machine['date']}",
    ]
    if "onnxruntime" not in engines and not options.only:
        notes.append("ONNX Runtime is not installed; with it, this table compares both: pip install onnxruntime")
    return "\n".join(lines + [coloured(note, "2") for note in notes])


def _rounds(rows):
    """"11 rounds"; fewer than were asked for, if runs are slow."""
    counts = {len(row["warm"]["all"]) for row in rows if "warm" in row}
    least, most = min(counts), max(counts)
    return f"{most} round{'s' if most > 1 else ''}" if least == most else f"{least} to {most} rounds, by threads"


def _row(row, first):
    if "error" in row:
        return (row["engine"], row["threads"], "-", "-", "-", "-", "-", "-")
    peak = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:.1f}"
    compared = ("", "") if row["engine"] == first else (f"{row['ratio']:.2f}x", f"{row['difference']:.1e}")
    return (row["engine"], row["threads"], _times(row["load"]), _times(row["first_run"]), _times(row["warm"]), peak, *compared)


def _times(summary):
    median, low, high = (_milliseconds(summary[key]) for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def _milliseconds(seconds):
    """Three significant digits: 0.0123, 1.23, 123"""
    return np.format_float_positional(float(f"{seconds * 1e3:.3g}"), trim="-")
