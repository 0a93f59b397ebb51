"""Workloads and their measurement: the engines take turns in one process; times are medians.

The measuring itself is that of `rondel bench`. The peak memory of each engine is measured in a separate process (see `peak_memory`).
"""

import ctypes
import functools
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Callable, Optional

import numpy as np
from commands import RESULTS, ROOT, in_new_process, measuring
from onnx import numpy_helper, parser
from spellings import spell

ONE_THREAD_XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
PEERS = ("rondel", "onnxruntime", "jax", "by hand")
TOLERANCE = 1e-3  #: of `disagreement` between engines, where a row has none of its own; products are added in another order

disagreement, measure_in_turns, warm_up = measuring.disagreement, measuring.measure_in_turns, measuring.warm_up


@dataclass
class Workload:
    """A model, its feeds, and the number of trips of a call."""

    name: str
    doc: str  #: one line: what runs, with sizes
    model: Any  #: a serialized ModelProto; in a spelling, it may be a Network of rondel.network
    feeds: dict  #: name to array
    trips: int  #: number of trips of one call
    first: Optional[dict] = None  #: feeds that make the first run short, for measuring the time to load
    limit_ns: Optional[float] = None  #: the largest allowed time of a trip in Rondel
    limit_by_hand: Optional[float] = None  #: the largest allowed multiple of by_hand's time
    limit_ratio: Optional[float] = None  #: the largest allowed multiple of ONNX Runtime's time
    tolerance: float = 1e-5  #: bound of |difference| / (1 + |reference|), against ONNX Runtime
    call: Optional[Callable] = None  #: call(session, feeds) -> outputs, in several runs; default: one session.run
    jax: Optional[Callable] = None  #: jax() -> a function without arguments that returns the outputs
    by_hand: Optional[Callable] = None  #: the computation in C++: by_hand() -> (function, its outputs)
    spelled: Callable = dict  #: spellings of its own: spelled() -> {name: model}
    unspelled: tuple = ()  #: spellings (see spellings.py) that this workload has not

    def run(self, session, **instead):
        feeds = self.feeds | instead
        return self.call(session, feeds) if self.call else session.run(None, feeds)


@dataclass
class Measurement:
    """The result of one engine on one workload."""

    trip_ns: float
    load_ms: float  #: making the session and its first run, minus the time of a second run
    peak_mib: Optional[float]
    outputs: Any


def session(engine, model, threads=1, **options):
    """A session; `engine` is the name of a module with onnxruntime's interface. options: of Rondel's SessionOptions."""
    if hasattr(model, "build_session"):
        chosen = __import__(engine).SessionOptions()
        chosen.intra_op_num_threads = threads
        return model.build_session(chosen)
    return measuring.make_session(engine, model, threads, options)


def run_times(calls, rounds):
    """The seconds of each single call, for each of these named functions. They take turns as in `measure_in_turns`."""
    times = {who: [] for who in calls}

    def timed(who):
        begin = time.perf_counter()
        calls[who]()
        times[who].append(time.perf_counter() - begin)

    measure_in_turns({who: partial(timed, who) for who in calls}, rounds, pause=measuring.PAUSE, most_seconds=measuring.MOST_SECONDS)
    return times


def prepare(engine, workload):
    """Loads, compiles and runs: (function that makes one call, seconds to load).

    An engine may compile when the session is made or at the first run. So the time to load is the
    time to make the session and run it once, minus the time of a second run.
    """
    if engine == "by hand":
        library_by_hand()  # compiled for all workloads together: no part of the time to load
    start = time.perf_counter()
    if engine == "jax":
        os.environ.setdefault("XLA_FLAGS", ONE_THREAD_XLA)
        first = call = workload.jax()
    elif engine == "by hand":
        act, outputs = workload.by_hand()

        def call():
            act()
            return outputs

        first = call
    else:
        loaded = session(engine, workload.model)
        call = partial(workload.run, loaded)
        first = partial(workload.run, loaded, **(workload.first or {}))
    first()
    ready = time.perf_counter() - start
    start = time.perf_counter()
    first()
    usual = time.perf_counter() - start
    return call, max(0.0, ready - usual)


def measure(workload, engines, rounds, report=lambda done: None):
    """A Measurement for each engine, and for each (engine, spelling); they take turns, each round in another order."""
    prepared = {engine: prepare(engine, workload) for engine in engines}
    for name, spelled in spell(workload).items():
        prepared["rondel", name] = prepare("rondel", spelled)
    calls = {who: call for who, (call, _) in prepared.items()}
    for call in calls.values():
        warm_up(call)
    seconds = measure_in_turns(calls, rounds, report)
    outputs = {who: call() for who, call in calls.items()}  # of the code that was timed
    return {
        who: Measurement(
            trip_ns=median(seconds[who]) / workload.trips * 1e9,
            load_ms=ready * 1e3,
            peak_mib=None,
            outputs=outputs[who],
        )
        for who, (_, ready) in prepared.items()
    }


def from_text(text, opset=21, **weights):
    """A serialized model, from ONNX text without its header and from arrays."""
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}')
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    return model.SerializeToString()


def by_hand(name, *arguments):
    """Binds arguments to a function of by_hand.cpp: arrays as pointers, numbers by value."""
    function = getattr(library_by_hand(), name)
    function.restype = None
    types = {np.float32: ctypes.c_float, int: ctypes.c_int64}
    passed = [
        a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else types[type(a)](a)
        for a in arguments
    ]
    kept = arguments  # keeps the arrays alive as long as the function
    return lambda: (function(*passed), kept)[0]


@functools.cache
def library_by_hand():
    """by_hand.cpp, compiled for this machine."""
    library = RESULTS / "by_hand.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-std=c++20"]
    subprocess.run(["c++", *flags, ROOT / "bench" / "by_hand.cpp", "-o", library], check=True)
    return ctypes.CDLL(str(library))


def peak_memory(engine, name):
    """MiB that loading and running a workload adds to a fresh process; None where the system does not tell.

    The process imports the engine and builds the workload, resets the kernel's high-water mark,
    loads, runs twice, and prints the new high-water mark minus the memory in use before.
    """
    if engine in ("jax", "by hand"):
        return None
    return in_new_process(__file__, engine, name)


def _own_memory(engine, name):
    from workloads import load

    workload = load(name)
    __import__(engine)
    with measuring.peak_memory() as peak:
        loaded = session(engine, workload.model)
        for _ in range(2):
            workload.run(loaded)
    return None if peak["bytes"] is None else peak["bytes"] / 2**20


if __name__ == "__main__":
    print(json.dumps(_own_memory(*sys.argv[1:])))
