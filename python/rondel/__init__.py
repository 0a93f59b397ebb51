"""Rondel runs tensor programs that have loops in them.

>>> import rondel
>>> session = rondel.InferenceSession("model.onnx")   # doctest: +SKIP
>>> session.run(None, {"x": x})                       # doctest: +SKIP
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import capi
from . import not_here as _not_here
from .binding import IOBinding, SessionIOBinding
from .compiled import CompiledModel, CompileReport, compile_model, load_compiled
from .custom_ops import TensorType, register_op, registered_ops, unregister_op
from .device import OrtDevice, OrtDeviceVendorId
from .enumerations import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
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
from .logs import set_default_logger_callback, set_default_logger_severity, set_default_logger_verbosity
from .metadata import ModelMetadata, NodeArg
from .missing_names import missing as _missing
from .options import RunOptions, SessionOptions, set_seed
from .ort_value import OrtValue, copy_tensors
from .providers import get_all_providers, get_available_providers
from .runtime import disable_telemetry_events, enable_telemetry_events, get_build_info, get_device, get_version_string
from .session import InferenceSession
from .sparse import OrtSparseFormat, SparseTensor

if _TYPE_CHECKING:
    # Not serve: type checkers would read FastAPI and gRPC for everybody.
    from . import as_onnxruntime, backend, code_cache, deepx, functions, mdf, network, prediction, sweeps, torch, train

#: modules that are loaded when they are first used
_LAZY = ("as_onnxruntime", "backend", "code_cache", "deepx", "functions", "mdf", "network", "prediction", "ray", "serve", "sweeps", "torch", "train")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise _missing(__name__, _not_here.MODULE, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


__version__ = get_version_string()
__all__ = [
    "CallerError",
    "Cancelled",
    "CompileReport",
    "CompiledModel",
    "DeadlineExceeded",
    "Error",
    "ExportReport",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InternalError",
    "LimitExceeded",
    "ModelMetadata",
    "ModelWarning",
    "NodeArg",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtSparseFormat",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "TensorType",
    "UnsupportedError",
    "compile_model",
    "copy_tensors",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "export",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "grad",
    "inspect",
    "jvp",
    "load_compiled",
    "register_op",
    "registered_ops",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
    "trace_passes",
    "unregister_op",
    "value_and_grad",
]
