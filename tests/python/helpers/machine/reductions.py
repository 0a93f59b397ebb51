"""Ops that combine the elements along axes."""

from __future__ import annotations

import numpy as np

from .elementwise import small, wide


def axes_of(a, x, axes):
    """The axes of a reduction: an attribute or an input; None for all, () for none."""
    axes = a.get("axes", axes)
    if axes is None or len(axes) == 0:
        return () if a.get("noop_with_empty_axes") else None
    return tuple(int(k) for k in axes)


def reduction(function):
    def computed(a, x, axes=None):
        along = axes_of(a, x, axes)
        if along == ():
            return function(x, (), True) if function is not _sum else x
        return function(x, along, bool(a.get("keepdims", 1))).astype(x.dtype)

    return wide(computed)


def _least(dtype):
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype == bool else -np.inf


def _greatest(dtype):
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return True if dtype == bool else np.inf


def _sum(x, along, keep):
    return np.sum(x, axis=along, dtype=x.dtype, keepdims=keep)


def _max(x, along, keep):
    return np.max(x, axis=along, keepdims=keep, initial=_least(x.dtype))


def _min(x, along, keep):
    return np.min(x, axis=along, keepdims=keep, initial=_greatest(x.dtype))


def _mean(x, along, keep):
    count = x.size if along is None else np.prod([x.shape[k] for k in along], dtype=int)
    assert count, "a mean of nothing"
    return _sum(x, along, keep) / np.array(count, x.dtype)


def arg(function):
    def computed(a, x):
        axis, keep = a.get("axis", 0), bool(a.get("keepdims", 1))
        assert x.shape[axis], "an extreme of nothing"
        y = x.astype(np.float32) if small(x) else x
        if a.get("select_last_index", 0):
            found = x.shape[axis] - 1 - function(np.flip(y, axis), axis=axis, keepdims=keep)
        else:
            found = function(y, axis=axis, keepdims=keep)
        return np.asarray(found).astype(np.int64)

    return computed


def cum_sum(a, x, axis):
    assert x.ndim > 0, "a scalar has no axis"  # NumPy makes a list of it
    k = int(axis.item())
    y = np.flip(x, k) if a.get("reverse") else x
    total = np.cumsum(y, k, dtype=np.float32 if small(x) else x.dtype).astype(x.dtype)
    if a.get("exclusive"):
        total = total - y
    return np.flip(total, k) if a.get("reverse") else total


def top_k(a, x, k):
    """The k largest or smallest elements, sorted; of equal elements the earlier one first."""
    assert k.ndim < 2, "k is a list of one number"
    axis, count = a.get("axis", -1), int(k.item())
    assert 0 <= count <= x.shape[axis], "k is out of range"
    assert x.dtype.kind in "iu" or not np.any(np.isnan(x.astype(np.float64))), "the order of NaN is not specified"
    y = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    if a.get("largest", 1):
        y = ~y if x.dtype.kind in "iu" else -y
    at = np.take(np.argsort(y, axis=axis, kind="stable"), np.arange(count), axis=axis)
    return [np.take_along_axis(x, at, axis), at.astype(np.int64)]


def softmax(a, x):
    axis = a.get("axis", -1)
    raised = np.exp(x - np.max(x, axis, keepdims=True, initial=-np.inf))
    return raised / np.sum(raised, axis, keepdims=True)


def hardmax(a, x):
    axis = a.get("axis", -1)
    best = np.expand_dims(np.argmax(x, axis), axis)
    made = np.zeros_like(x)
    np.put_along_axis(made, best, np.ones((), x.dtype), axis)
    return made


OPS = {
    "ReduceSum": reduction(_sum),
    "ReduceMax": reduction(_max),
    "ReduceMin": reduction(_min),
    "ReduceMean": reduction(_mean),
    "ReduceProd": reduction(lambda x, along, keep: np.prod(x, axis=along, dtype=x.dtype, keepdims=keep)),
    "ReduceL1": reduction(lambda x, along, keep: _sum(np.abs(x), along, keep)),
    "ReduceSumSquare": reduction(lambda x, along, keep: _sum(x * x, along, keep)),
    "ArgMax": arg(np.argmax),
    "ArgMin": arg(np.argmin),
    "CumSum": cum_sum,
    "TopK": top_k,
    "Softmax": wide(softmax),
    "Hardmax": wide(hardmax),
}
