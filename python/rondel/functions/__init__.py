"""Operators as functions of arrays.

>>> from rondel.functions import onnx
>>> onnx.add([1, 2], 3)
array([4, 5])

`trace(function, *examples)` makes a model from a Python function of arrays; `rondel.export` saves the model.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import onnx as onnx
    from .models import trace as trace

__all__ = ["onnx", "trace"]


def __getattr__(name: str) -> Any:
    """Makes the functions at their first use."""
    if name in __all__:
        onnx = importlib.import_module(".onnx", __name__)
        return onnx if name == "onnx" else importlib.import_module(".models", __name__).trace
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
