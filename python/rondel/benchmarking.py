"""Times and memory of a model, in Rondel and in ONNX Runtime: `benchmark`, behind `rondel bench`.

This file imports neither engine when it is loaded: it also runs as a script, in the processes in which one engine is measured alone.
"""

import contextlib
import functools
import json
import os
import pickle
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ENGINES = ("rondel", "onnxruntime")


def benchmark(
    model: str | bytes,
    feeds: Mapping[str, Any],
    engines: Sequence[str] = ENGINES,
    threads: Sequence[int] = (1,),
    rounds: int = 11,
    cold_rounds: int = 5,
    options: Mapping[str, Any] | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measures a model cold and warm, in each engine with each number of threads.

    model: a path, or the bytes of an ONNX model. feeds: name to array. engines: modules with onnxruntime's interface; the first one is the
    one that the others are compared with. rounds: how many times each warm run is measured; fewer if they take more than `MOST_SECONDS`.
    options: name to value, set in Rondel's SessionOptions. report: is called with a line about what is being measured.

    Cold: `cold_rounds` new processes of each engine. The engine and the feeds are loaded when the clock starts; then the session is
    made (load) and run once (first_run). The memory that loading and `SETTLING` seconds of runs add to that process, at most, is its peak.
    Warm: the engines take turns in this process, each round in another order; a round is one run, or as many as take 20 ms.

    Returns a dict that JSON can hold: rows, each with engine, threads, load, first_run and warm (median, low, high: the quartiles; all: of
    each process or round; seconds), peak_bytes (None where the system does not tell), ratio (how many times as long as the first engine
    the warm run takes), difference (see `disagreement`; of the outputs after warming up), or error, if the engine does not run the model,
    here or in a process of its own; machine; versions.
    Raises the first engine's error.
    """
    rows = []
    for count in threads:
        rows += _measure(model, dict(feeds), list(engines), count, rounds, cold_rounds, dict(options or {}), report)
    used = {name: getattr(sys.modules.get(name), "__version__", "") for name in engines}
    return {"rows": rows, "rounds": rounds, "cold_rounds": cold_rounds, "machine": describe_machine(), "versions": used}


SETTLING = 1.0  #: seconds of runs after which an engine has compiled in the background what it will compile
PAUSE = 0.005  #: seconds between two engines: idle threads of the one spin for a while
MOST_SECONDS = 30.0  #: a warm measurement of slow runs ends after this time, but not before `LEAST_ROUNDS`
LEAST_ROUNDS = 3


def _measure(model, feeds, engines, threads, rounds, cold_rounds, options, report):
    """The rows of one number of threads."""
    named = f"{threads} thread" + ("" if threads == 1 else "s")
    report(f"loading, {named}")
    rows = {engine: {"engine": engine, "threads": threads} for engine in engines}
    calls, outputs, cold = {}, {}, {engine: [] for engine in engines}

    @contextlib.contextmanager
    def refusal_of(engine):
        """An error of any engine but the first one is its row, and it takes no further part."""
        try:
            yield
        except Exception as error:
            if engine == engines[0]:
                raise
            calls.pop(engine, None)
            rows[engine]["error"] = f"{type(error).__name__}: {error}"

    for engine in engines:
        with refusal_of(engine):
            call = functools.partial(make_session(engine, model, threads, options).run, None, feeds)
            call()
            calls[engine] = call
    for done, order in enumerate(turns(list(calls), cold_rounds)):
        report(f"cold, {named}: process {done * len(order) + 1} of {cold_rounds * len(order)}")
        for engine in order:
            with refusal_of(engine):
                if engine in calls:
                    cold[engine].append(in_own_process(engine, model, feeds, threads, options))
    for engine in list(calls):
        report(f"warming up {engine}, {named}")
        with refusal_of(engine):
            warm_up(calls[engine])
            outputs[engine] = calls[engine]()  # of the code that is timed
    warm = measure_in_turns(calls, rounds, lambda done: report(f"warm, {named}: round {done} of {rounds}"), PAUSE, MOST_SECONDS)
    first = median(warm[engines[0]])
    for engine in calls:
        row, peaks = rows[engine], [c["peak_bytes"] for c in cold[engine]]
        row["load"] = _summary([c["load"] for c in cold[engine]])
        row["first_run"] = _summary([c["first_run"] for c in cold[engine]])
        row["warm"] = _summary(warm[engine])
        row["peak_bytes"] = None if None in peaks else int(median(peaks))
        row["ratio"] = row["warm"]["median"] / first
        row["difference"] = disagreement(outputs[engine], outputs[engines[0]])
    return list(rows.values())


def make_session(engine: str, model: str | bytes, threads: int, options: Mapping[str, Any]) -> Any:
    """A session; `engine` is the name of a module with onnxruntime's interface."""
    module = __import__(engine)
    chosen = module.SessionOptions()
    chosen.intra_op_num_threads = threads
    if engine == "rondel":
        for name, value in options.items():
            setattr(chosen, name, value)
    else:
        chosen.log_severity_level = 3  # errors only
    return module.InferenceSession(model, chosen, providers=["CPUExecutionProvider"])


def turns(names: Iterable[Any], rounds: int) -> Iterator[list[Any]]:
    """The names in each round, each time beginning with another one."""
    names = list(names)
    for done in range(rounds):
        shift = done % len(names)
        yield names[shift:] + names[:shift]


def measure_in_turns(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    report: Callable[[int], None] = lambda done: None,
    pause: float = 0.0,
    most_seconds: float = float("inf"),
) -> dict[str, list[float]]:
    """The seconds of a call in each round, for each of these named functions. They take turns, each round in another order.

    Ends after `most_seconds`, but not before LEAST_ROUNDS.
    """
    begin = time.perf_counter()
    seconds = {name: [] for name in calls}
    for done, order in enumerate(turns(list(calls), rounds)):
        if done >= LEAST_ROUNDS and time.perf_counter() - begin > most_seconds:
            break
        for name in order:
            time.sleep(pause)
            seconds[name].append(seconds_per_call(calls[name]))
        report(done + 1)
    return seconds


def seconds_per_call(call: Callable[[], Any], at_least: float = 0.02) -> float:
    """The time of one call, averaged over calls that take this many seconds together.

    The first call finds the caches full of another engine's data.
    """
    begin = time.perf_counter()
    calls = elapsed = 0
    while elapsed < at_least:
        call()
        calls += 1
        elapsed = time.perf_counter() - begin
    return elapsed / calls


def warm_up(call: Callable[[], Any], seconds: float = SETTLING) -> None:
    """Calls for at least this many seconds: an engine may compile better code in the background."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        call()


def _summary(seconds):
    low, high = np.quantile(seconds, [0.25, 0.75])
    return {"median": median(seconds), "low": float(low), "high": float(high), "all": seconds}


def disagreement(got: Sequence[Any], reference: Sequence[Any]) -> float:
    """The largest |got - reference| / (1 + |reference|) of all outputs; infinite for other shapes, types that are no numbers and differ."""
    return max((_difference(g, r) for g, r in zip(got, reference, strict=True)), default=0.0)


def _difference(got, reference):
    if isinstance(reference, list):
        same = isinstance(got, list) and len(got) == len(reference)
        return max(map(_difference, got, reference), default=0.0) if same else float("inf")
    if isinstance(reference, dict):
        same = isinstance(got, dict) and list(got) == list(reference)
        return max((_difference(got[key], reference[key]) for key in reference), default=0.0) if same else float("inf")
    if reference is None or got is None:
        return 0.0 if got == reference else float("inf")
    g, r = np.asarray(got), np.asarray(reference)
    if g.shape != r.shape:
        return float("inf")
    if g.dtype.kind in "OUS" or r.dtype.kind in "OUS":
        return 0.0 if (g == r).all() else float("inf")
    if g.size == 0:
        return 0.0
    wide = np.complex128 if "c" in g.dtype.kind + r.dtype.kind else np.float64
    g, r = g.astype(wide), r.astype(wide)
    with np.errstate(invalid="ignore"):
        difference = np.where((g == r) | (np.isnan(g) & np.isnan(r)), 0.0, np.abs(g - r) / (1 + np.abs(r)))
    return float(np.nan_to_num(difference, nan=np.inf).max())


# ---- one engine in a process of its own ---------------------------------------------------------------------


def in_own_process(engine: str, model: str | bytes, feeds: Mapping[str, Any], threads: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Loads and runs a model in a new process: {"load", "first_run": seconds, "peak_bytes": bytes or None}."""
    start = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    answer = subprocess.run(
        [sys.executable, "-c", start, __file__],
        input=pickle.dumps((engine, model, feeds, threads, options)),
        capture_output=True,
        env={**os.environ, "PYTHONSAFEPATH": "1", "RONDEL_CACHE_DIR": "off"},  # it compiles for itself
        check=False,
    )
    if answer.returncode != 0:
        said = answer.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {answer.returncode}"]
        raise RuntimeError(f"{engine} failed in a process of its own: {said[-1]}")
    return json.loads(answer.stdout.splitlines()[-1])


def _measure_here(engine, model, feeds, threads, options):
    __import__(engine)
    with peak_memory() as peak:
        begin = time.perf_counter()
        session = make_session(engine, model, threads, options)
        loaded = time.perf_counter()
        session.run(None, feeds)
        ran = time.perf_counter()
        warm_up(functools.partial(session.run, None, feeds))
    return {"load": loaded - begin, "first_run": ran - loaded, "peak_bytes": peak["bytes"]}


@contextlib.contextmanager
def peak_memory() -> Iterator[dict[str, int | None]]:
    """Gives a dict, whose "bytes" are, after the block, what the block added to this process's resident memory at most.

    None where the system does not tell: it takes Linux, and may not be allowed in a container.
    """
    found = {"bytes": None}
    try:
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM, see proc(5)
        before = _status_kib("VmRSS")
    except OSError:
        yield found
        return
    yield found
    found["bytes"] = (_status_kib("VmHWM") - before) * 1024


def _status_kib(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise OSError(f"/proc/self/status has no {key}")


def describe_machine() -> dict[str, Any]:
    """{"processor": its name, "cores": as in `core_count`, "date": the local time}"""
    processor = platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    return {"processor": processor, "cores": core_count(), "date": time.strftime("%Y-%m-%d %H:%M")}


def core_count() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    print(json.dumps(_measure_here(*pickle.loads(sys.stdin.buffer.read()))))
