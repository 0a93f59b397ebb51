"""Run one model in two engines and compare: results and time.

Both engines are used through the same few calls, because Rondel's `InferenceSession` has the
API of ONNX Runtime's: only the import of a program changes.
"""

import time
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import onnxruntime
import rondel


def session(engine, model):
    """A session of `engine` (the module `rondel` or `onnxruntime`) on one thread.

    model: a path, the bytes of a model, or a ModelProto.
    """
    options = engine.SessionOptions()
    options.intra_op_num_threads = 1
    if engine is onnxruntime and hasattr(model, "SerializeToString"):
        model = model.SerializeToString()  # Rondel also takes the ModelProto as it is.
    return engine.InferenceSession(model, options)


def both(model):
    """The same model in Rondel and in ONNX Runtime."""
    return session(rondel, model), session(onnxruntime, model)


def alternately(first, second, repeats, report=None):
    """Median seconds of two functions, called in turn: first, second, second, first, ...

    Calling them in turn exposes both to the same load of the machine. One call of each comes before
    the first measured call, so that compilation and cold caches are not measured.
    report: called with the number of rounds done so far.
    """
    first(), second()
    seconds = {first: [], second: []}
    for done in range(repeats):
        for run in (first, second) if done % 2 == 0 else (second, first):
            start = time.perf_counter()
            run()
            seconds[run].append(time.perf_counter() - start)
        if report:
            report(done + 1)
    return median(seconds[first]), median(seconds[second])


def largest_difference(got, reference):
    """max |got - reference|; infinite if the shapes differ, or if only one of two elements is NaN."""
    got, reference = np.asarray(got), np.asarray(reference)
    if got.shape != reference.shape:
        return float("inf")
    if got.size == 0:
        return 0.0
    got, reference = got.astype(np.float64), reference.astype(np.float64)
    same = (got == reference) | (np.isnan(got) & np.isnan(reference))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(got - reference))
    return float(np.nan_to_num(difference, nan=np.inf, posinf=np.inf).max())


@dataclass
class Outcome:
    """The result of one part of the demo; one row of the final table."""

    part: str  #: its name
    result: str  #: the result, in a few words
    reference: str  #: the origin of the expected result
    difference: float  #: the largest difference from the reference
    tolerance: float  #: the largest difference that still counts as equal
    rondel_seconds: float
    onnxruntime_seconds: float
    faults: list = field(default_factory=list)  #: other faults, as sentences

    @property
    def agrees(self):
        return self.difference <= self.tolerance and not self.faults

    @property
    def ratio(self):
        """How many times faster Rondel was."""
        return self.onnxruntime_seconds / self.rondel_seconds
