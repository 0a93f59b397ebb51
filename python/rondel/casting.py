"""Columns of tables as the inputs of a model: tables rarely have a model's own dtypes."""

from __future__ import annotations

import numpy as np

from .arrays import element_name, numpy_dtype


def fitting(x: np.ndarray, onnx_type: str) -> np.ndarray:
    """x in the dtype of an input ("tensor(float)") where that keeps its kind: integers may become floats, floats other floats, and integers
    other integers that hold them. Else x as it is, and the session says what is wrong."""
    if not onnx_type.startswith("tensor(") or x.dtype.kind not in "biuf":
        return x
    dtype = numpy_dtype(element_name(onnx_type))
    fits = _holds(dtype, x) if x.dtype.kind in "iu" and dtype.kind in "iu" else np.can_cast(x.dtype, dtype, "same_kind")
    return x.astype(dtype) if x.dtype != dtype and fits else x


def _holds(dtype, x):
    limits = np.iinfo(dtype)
    return not x.size or (limits.min <= int(x.min()) and int(x.max()) <= limits.max)
