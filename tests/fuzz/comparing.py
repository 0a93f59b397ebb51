"""Whether two results are equal."""

from __future__ import annotations

import numpy as np


def difference(got, want, bitwise, unknown_extents=False):
    """The first difference of two lists of outputs: (position, words); None if there is none.

    bitwise: zeros must have the same sign, too. NaNs are equal, whatever their bits. unknown_extents: arrays without elements may
    have other extents.
    """
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        if unknown_extents and _empty_alike(a, b):
            continue
        words = _value(a, b, bitwise)
        if words:
            return k, words
    return None


def _empty_alike(a, b):
    """Whether both are arrays without elements of one dtype and rank."""
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and (a.dtype, a.ndim) == (b.dtype, b.ndim) and a.size == 0 == b.size


def _value(a, b, bitwise):
    if isinstance(b, list):
        if not isinstance(a, list) or len(a) != len(b):
            return f"a sequence of {len(a) if isinstance(a, list) else a} instead of {len(b)} tensors"
        return next((f"element {k}: {words}" for k, (x, y) in enumerate(zip(a, b, strict=True)) if (words := _value(x, y, bitwise))), None)
    if b is None or a is None:
        return None if a is b else f"{a} instead of {b}"
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {list(a.shape)} instead of {list(b.shape)}"
    if b.dtype.kind in "OUS":
        return None if a.tolist() == b.tolist() else f"{short(a)} instead of {short(b)}"
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} instead of {b.dtype}"
    if a.tobytes() == b.tobytes():
        return None
    if b.dtype.kind not in "biu":
        x, y = a.astype(np.float64), b.astype(np.float64)
        equal = ((x == y) & ((np.signbit(x) == np.signbit(y)) | (not bitwise))) | (np.isnan(x) & np.isnan(y))
        if equal.all():
            return None
    return f"{short(a)} instead of {short(b)}"


def short(x):
    text = np.array2string(np.asarray(x), separator=", ", threshold=40).replace("\n", "")
    return text if len(text) < 300 else text[:300] + "..."
