"""From a new process to the hundredth run: import, load, first run; a second process; fifty sessions. Beside ONNX Runtime; one table.

    python bench/cold.py                      the workloads of ./dev bench and the models of silero-vad
    python bench/cold.py --only short_loop    one of them (may be given again)

Each figure is the median of processes that take turns; one thread each.
"""

import argparse
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from harness import measuring

RUNS, SESSIONS = 100, 50
WAYS = {
    "onnxruntime": ("onnxruntime", None),
    "rondel, nothing compiled": ("rondel", "empty"),
    "rondel, second process": ("rondel", "filled"),
}  #: name to engine and state of the folder of compiled code
FOOT = f"""\
import: beyond NumPy's. load: making the session. run 1, runs 2-{RUNS}: together, in ms. all: import, load and {RUNS} runs. ratio: all of
ONNX Runtime's divided by this. peak: what all that adds to the process, at most. sessions: {SESSIONS} of the model, each run once; CPU
seconds of all threads, and MiB for each session after the first. Second process: a first
one ran the model for a second, so its code is in the folder of compiled code (rondel cache)."""


@dataclass
class Model:
    """A model and its feeds."""

    name: str
    model: bytes
    feeds: dict


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    rows = []
    for model in models(options.only):
        say(f"{model.name} ...")
        measured = measure(model, options.rounds)
        rows += [(model.name, way, measured[way]) for way in WAYS]
    say("")
    print(table(rows))
    where = measuring.describe_machine()
    print(f"{FOOT}\nMedian of {options.rounds} processes. {where['processor']}, {where['cores']} cores, {where['date']}.")
    return 0


def say(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def models(only):
    import workloads

    for name in workloads.NAMES:
        if only is None or name in only:
            made = workloads.load(name)
            if made.call is None:  # one run is one call
                yield Model(name, made.model, made.feeds)
    # Found without importing the package, which needs torch.
    package = Path(importlib.util.find_spec("silero_vad").origin).parent
    for path in sorted((package / "data").glob("*.onnx")):
        if only is None or path.stem in only:
            yield Model(path.stem, path.read_bytes(), zeros(path))


def zeros(path):
    """Feeds of a model of silero-vad: zeros, 16 kHz, extents that are not declared are those that its package feeds."""
    import onnx

    feeds = {}
    for port in onnx.load(path).graph.input:
        tensor = port.type.tensor_type
        shape = [d.dim_value or 1 for d in tensor.shape.dim]
        shape = {"input": [1, 576], "state": [2, 1, 128]}.get(port.name, shape)
        feeds[port.name] = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if "sr" in feeds:
        feeds["sr"] = np.full_like(feeds["sr"], 16_000)
    return feeds


def measure(model, rounds):
    """For each way: medians by figure."""
    with tempfile.TemporaryDirectory() as folder:
        filled, empty = Path(folder, "filled"), Path(folder, "empty")
        in_process("rondel", model, filled, "warm")
        found = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way, (engine, state) in WAYS.items():
                shutil.rmtree(empty, ignore_errors=True)
                cache = filled if state == "filled" else empty
                found[way].append(in_process(engine, model, cache, "runs"))
        result = {}
        for way, (engine, state) in WAYS.items():
            result[way] = {key: median(one[key] for one in found[way]) for key in found[way][0]}
            result[way] |= in_process(engine, model, filled if state == "filled" else Path(folder, "another"), "sessions")
        return result


def in_process(engine, model, cache, what):
    answer = subprocess.run(
        [sys.executable, __file__, "--here", engine, what],
        input=pickle.dumps((model.model, model.feeds)),
        capture_output=True,
        env=os.environ | {"RONDEL_CACHE_DIR": str(cache)},
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(f"{model.name} in {engine} failed:\n{answer.stderr.decode()}")
    return json.loads(answer.stdout.splitlines()[-1])


def runs_here(engine, model, feeds):
    with measuring.peak_memory() as peak:
        times = [time.perf_counter()]
        __import__(engine)
        times.append(time.perf_counter())
        session = measuring.make_session(engine, model, 1, {})
        times.append(time.perf_counter())
        session.run(None, feeds)
        times.append(time.perf_counter())
        for _ in range(RUNS - 1):
            session.run(None, feeds)
        times.append(time.perf_counter())
    steps = dict(zip(("import", "load", "first", "others"), np.diff(times).tolist(), strict=True))
    return steps | {"all": times[-1] - times[0], "peak": peak["bytes"]}


def warm_here(engine, model, feeds):
    session = measuring.make_session(engine, model, 1, {})
    measuring.warm_up(lambda: session.run(None, feeds))


def sessions_here(engine, model, feeds):
    __import__(engine)
    kept, before = [], time.process_time()
    for _ in range(SESSIONS):
        kept.append(measuring.make_session(engine, model, 1, {}))
        kept[-1].run(None, feeds)
        if len(kept) == 1:
            first = resident_bytes()
    return {"cpu": time.process_time() - before, "each": (resident_bytes() - first) / (SESSIONS - 1)}


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def table(rows):
    from rondel.texts import render  # not above: processes with another engine are without rondel

    head = ["model", "engine", "import", "load", "run 1", f"runs 2-{RUNS}", "all", "ratio", "peak MiB", "CPU s", "MiB each"]
    lines = []
    for name, way, figures in rows:
        reference = next(f for n, w, f in rows if n == name and w == "onnxruntime")
        ms = [f"{1e3 * figures[key]:.1f}" for key in ("import", "load", "first", "others", "all")]
        lines.append(
            [name if way == "onnxruntime" else "", way, *ms, f"{reference['all'] / figures['all']:.2f}",
             f"{(figures['peak'] or 0) / 2**20:.1f}", f"{figures['cpu']:.2f}", f"{figures['each'] / 2**20:.2f}"]
        )  # fmt: skip
    return render(head, lines, right=head[2:])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        act = {"runs": runs_here, "warm": warm_here, "sessions": sessions_here}[sys.argv[3]]
        print(json.dumps(act(sys.argv[2], *pickle.load(sys.stdin.buffer))))
    else:
        sys.exit(main())
