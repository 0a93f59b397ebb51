"""The names of `onnxruntime_pybind11_state`."""

from .onnxruntime_pybind11_state import *  # noqa: F403
from .onnxruntime_pybind11_state import __getattr__ as __getattr__
