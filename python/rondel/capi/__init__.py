"""onnxruntime's inner modules by their names, for code that imports from them. All they have is in `rondel`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _pybind_state, onnxruntime_inference_collection, onnxruntime_pybind11_state

__all__ = ["_pybind_state", "onnxruntime_inference_collection", "onnxruntime_pybind11_state"]


def __getattr__(name: str) -> Any:
    """Loads an inner module when it is first used."""
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
