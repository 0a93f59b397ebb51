"""Operators as functions of arrays.

>>> from rondel.functions import onnx
>>> onnx.add([1, 2], 3)
array([4, 5])
"""

from . import onnx

__all__ = ["onnx"]
