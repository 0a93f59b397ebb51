"""Sequences are lists of arrays; an optional is its value, or None."""

from __future__ import annotations

import numpy as np


def _position(values, position, most):
    at = int(position.item())
    assert -len(values) <= at < most, "the position is out of range"
    return at + len(values) if at < 0 else at


def at(a, values, position):
    return values[_position(values, position, len(values))]


def insert(a, values, tensor, position=None):
    k = len(values) if position is None else _position(values, position, len(values) + 1)
    return [*values[:k], tensor, *values[k:]]


def erase(a, values, position=None):
    assert values, "the sequence is empty"
    k = len(values) - 1 if position is None else _position(values, position, len(values))
    return values[:k] + values[k + 1 :]


def split(a, x, lengths=None):
    axis = a.get("axis", 0)
    extent = x.shape[axis]
    if lengths is None:
        parts = [np.take(x, [k], axis) for k in range(extent)]
        return parts if a.get("keepdims", 1) else [np.squeeze(p, axis) for p in parts]
    if lengths.ndim == 0:
        step = int(lengths)
        assert step > 0, "a length of 0"
        lengths = [min(step, extent - k) for k in range(0, extent, step)]
    lengths = [int(n) for n in lengths]
    assert sum(lengths) == extent and min(lengths, default=0) >= 0, "the lengths do not add up"
    return np.split(x, np.cumsum(lengths)[:-1].tolist(), axis) if lengths else []


def joined(a, values):
    assert values, "the sequence is empty"
    if a.get("new_axis"):
        return np.stack(values, a["axis"])
    assert all(v.ndim for v in values), "a scalar has no axis"
    return np.concatenate(values, a["axis"])


def element(a, value=None):
    assert value is not None, "the optional is empty"
    return value


OPS = {
    "SequenceEmpty": lambda a: [],
    "SequenceConstruct": lambda a, *xs: list(xs),
    "SequenceInsert": insert,
    "SequenceErase": erase,
    "SequenceAt": at,
    "SequenceLength": lambda a, values: np.array(len(values), np.int64),
    "SplitToSequence": split,
    "ConcatFromSequence": joined,
    "Optional": lambda a, value=None: value,
    "OptionalHasElement": lambda a, value=None: np.array(value is not None),
    "OptionalGetElement": element,
}
