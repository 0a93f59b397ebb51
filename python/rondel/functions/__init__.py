"""Operators as functions of arrays.

>>> from rondel.functions import onnx
>>> onnx.add([1, 2], 3)
array([4, 5])
"""

import importlib

__all__ = ["onnx"]


def __getattr__(name):
    """The functions are made when they are first asked for."""
    if name == "onnx":
        return importlib.import_module(".onnx", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
