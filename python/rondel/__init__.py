"""Rondel runs tensor programs that have loops in them.

>>> import rondel
>>> session = rondel.InferenceSession("model.onnx")   # doctest: +SKIP
>>> session.run(None, {"x": x})                       # doctest: +SKIP
"""

from . import deepx, train
from ._rondel import version as _version
from .errors import (
    CallerError,
    Cancelled,
    DeadlineExceeded,
    Error,
    InternalError,
    LimitExceeded,
    ModelWarning,
    UnsupportedError,
)
from .exporting import ExportReport, export
from .gradients import grad, jvp, value_and_grad
from .inspection import inspect, trace_passes
from .options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from .session import InferenceSession


def get_available_providers():
    """The names of the execution providers: only the CPU."""
    return ["CPUExecutionProvider"]


__version__ = _version()
__all__ = [
    "CallerError",
    "Cancelled",
    "DeadlineExceeded",
    "Error",
    "ExportReport",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "InferenceSession",
    "InternalError",
    "LimitExceeded",
    "ModelWarning",
    "RunOptions",
    "SessionOptions",
    "UnsupportedError",
    "deepx",
    "export",
    "get_available_providers",
    "grad",
    "inspect",
    "jvp",
    "trace_passes",
    "train",
    "value_and_grad",
]
