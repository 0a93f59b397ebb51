"""Columns of tables as the inputs of a model: tables rarely have a model's own dtypes."""

from __future__ import annotations

import numpy as np

from .arrays import element_name, numbers_as, numpy_dtype
from .errors import CallerError


def fitting(x: np.ndarray, onnx_type: str, what: str) -> np.ndarray:
    """x in the dtype of an input ("tensor(float)") where that keeps its kind: integers may become floats, floats other floats, and integers
    other integers. Else x as it is, and the session says what is wrong.

    what: how errors name x. Raises CallerError for a number that the dtype does not hold: an integer beyond its range, a finite number
    that would become infinite.
    """
    if not onnx_type.startswith("tensor(") or x.dtype.kind not in "biuf":
        return x
    name = element_name(onnx_type)
    dtype = numpy_dtype(name)
    if x.dtype == dtype or not (x.dtype.kind in "iu" and dtype.kind in "iu" or np.can_cast(x.dtype, dtype, "same_kind")):
        return x
    try:
        return numbers_as(x, name)
    except ValueError as error:
        raise CallerError(f"{what}: {error}") from None
