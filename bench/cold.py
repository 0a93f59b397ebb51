"""From a new process to the hundredth run: import, load, first run; a second process; fifty sessions. Beside ONNX Runtime; one table.

    ./dev bench cold                      the workloads of ./dev bench and the models of silero-vad
    ./dev bench cold --only short_loop    one of them (may be given again)

Each figure is the median of processes that take turns; one thread each. The fifty sessions are in one process.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from commands import ENGINES, Parser, given, in_new_process, machine, measuring, require

RUNS, SESSIONS = 100, 50
WAYS = {
    "onnxruntime": ("onnxruntime", "empty"),
    "rondel, nothing compiled": ("rondel", "empty"),
    "rondel, second process": ("rondel", "filled"),
}  #: name to engine and state of the folder of compiled code
FOOT = f"""\
import: beyond NumPy's. load: making the session. run 1, runs 2-{RUNS}: together, in ms. all: import, load and {RUNS} runs. ratio: all of
ONNX Runtime's divided by this. peak: what all that adds to the process, at most. CPU s, MiB each: of {SESSIONS} sessions of the model, each run
once: CPU seconds of all threads, and memory for each session after the first. Second process: a first one ran the model for a second, so its
code is in the folder of compiled code (rondel cache)."""


def main(arguments=None):
    require(*ENGINES)
    made = makers()
    options = Parser("cold", __doc__, made, rounds=5).parse_args(arguments)
    from rondel.progress import Progress  # not above: processes with another engine are without rondel

    rows, progress = [], Progress(True, "measuring", len(options.rows))
    for done, name in enumerate(options.rows):
        progress.update(done, name)
        model, feeds = made[name]()
        measured = measure(model, feeds, options.rounds)
        rows += [(name, way, measured[way]) for way in WAYS]
    progress.clear()
    print(table(rows))
    print(f"{FOOT}\nMedian of {options.rounds} processes. {machine()}")
    return 0


def makers():
    """Name to function that makes (model, feeds): the workloads whose call is one run, and the models of silero-vad."""
    import workloads
    from models import packaged_models

    def workload(name):
        made = workloads.load(name)
        return made.model, made.feeds

    found = {name: lambda name=name: workload(name) for name in workloads.NAMES if name not in workloads.OF_MANY_RUNS}
    return found | {case.name: case.make for case in packaged_models(["silero_vad"])}


def measure(model, feeds, rounds):
    """For each way: medians by figure."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {"filled": Path(folder, "filled"), "empty": Path(folder, "empty")}

        def figures(way, what):
            engine, state = WAYS[way]
            shutil.rmtree(caches["empty"], ignore_errors=True)
            return in_new_process(__file__, "--here", engine, what, given=(model, feeds), cache=caches[state])

        figures("rondel, second process", "warm")
        found = {way: [] for way in WAYS}
        for order in measuring.turns(WAYS, rounds):
            for way in order:
                found[way].append(figures(way, "runs"))
        medians = {way: {key: median(one[key] for one in found[way]) for key in found[way][0]} for way in WAYS}
        return {way: medians[way] | figures(way, "sessions") for way in WAYS}


# ---- in a process of its own --------------------------------------------------------------------------------


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


# ---- the table ----------------------------------------------------------------------------------------------


def table(rows):
    from rondel.texts import render

    head = ["model", "engine", "import", "load", "run 1", f"runs 2-{RUNS}", "all", "ratio", "peak MiB", "CPU s", "MiB each"]
    lines = []
    for name, way, figures in rows:
        reference = next(f for n, w, f in rows if n == name and w == "onnxruntime")
        ms = [f"{1e3 * figures[key]:.1f}" for key in ("import", "load", "first", "others", "all")]
        lines.append(
            [name if way == "onnxruntime" else "", way, *ms, f"{reference['all'] / figures['all']:.2f}",
             "" if figures["peak"] is None else f"{figures['peak'] / 2**20:.1f}", f"{figures['cpu']:.2f}", f"{figures['each'] / 2**20:.2f}"]
        )  # fmt: skip
    return render(head, lines, right=head[2:])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        act = {"runs": runs_here, "warm": warm_here, "sessions": sessions_here}[sys.argv[3]]
        print(json.dumps(act(sys.argv[2], *given())))
    else:
        sys.exit(main())
