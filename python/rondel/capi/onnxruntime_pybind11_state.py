"""onnxruntime's module of bindings: its exceptions, options, values and functions."""

from typing import Any

from ..binding import SessionIOBinding
from ..device import OrtDevice
from ..enumerations import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from ..logs import set_default_logger_callback, set_default_logger_severity, set_default_logger_verbosity
from ..metadata import ModelMetadata, NodeArg
from ..missing_names import missing
from ..not_here import CAPI, MODULE
from ..onnxruntime_errors import (
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoaded,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,  # noqa: A004: onnxruntime's name
    RuntimeException,
)
from ..options import RunOptions, SessionOptions, set_seed
from ..ort_value import OrtValue, OrtValueVector, copy_tensors
from ..providers import get_all_providers, get_available_providers
from ..runtime import disable_telemetry_events, enable_telemetry_events, get_build_info, get_device, get_version_string
from ..sparse import OrtSparseFormat, SparseCooView, SparseCsrView, SparseTensor
from .handles import is_dlpack_uint8_tensor


def get_default_session_options() -> SessionOptions:
    return SessionOptions()


def __getattr__(name: str) -> Any:
    raise missing(__name__, CAPI | MODULE, name)


__all__ = [
    "EPFail", "EngineError", "ExecutionMode", "ExecutionOrder", "Fail", "GraphOptimizationLevel", "InvalidArgument", "InvalidGraph",
    "InvalidProtobuf", "ModelLoaded", "ModelMetadata", "NoModel", "NoSuchFile", "NodeArg", "NotFound", "NotImplemented", "OrtDevice",
    "OrtSparseFormat", "OrtValue", "OrtValueVector", "RunOptions", "RuntimeException", "SessionIOBinding", "SessionOptions",
    "SparseCooView", "SparseCsrView", "SparseTensor", "copy_tensors", "disable_telemetry_events", "enable_telemetry_events",
    "get_all_providers", "get_available_providers", "get_build_info", "get_default_session_options", "get_device",
    "get_version_string", "is_dlpack_uint8_tensor", "set_default_logger_callback", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_seed",
]  # fmt: skip
