"""Matrix products, convolutions and pooling."""

from __future__ import annotations

import itertools

import numpy as np

from .elementwise import wide


def mat_mul(a, x, y):
    return np.asarray(np.matmul(x, y))


def gemm(a, x, y, c=None):
    x, y = (x.T if a.get("transA") else x), (y.T if a.get("transB") else y)
    assert x.ndim == y.ndim == 2, "no matrices"
    made = x @ y
    if a.get("alpha", 1.0) != 1.0:
        made = made * np.array(a["alpha"], x.dtype)
    if c is not None:
        assert np.broadcast_shapes(made.shape, c.shape) == made.shape, "c is too large"
        made = made + (c if a.get("beta", 1.0) == 1.0 else c * np.array(a["beta"], x.dtype))
    return made


def einsum(a, *xs):
    return np.asarray(np.einsum(a["equation"], *xs)).astype(xs[0].dtype)


def _windows(a, x, kernel, padding):
    """(offset in the kernel, the elements there of all windows) for each offset."""
    rank = len(kernel)
    pads, strides = a.get("pads", [0] * 2 * rank), a.get("strides", [1] * rank)
    dilations = a.get("dilations", [1] * rank)
    amounts = [(0, 0), (0, 0), *((pads[k], pads[rank + k]) for k in range(rank))]
    padded = np.pad(x, amounts, constant_values=padding)
    spans = [(kernel[k] - 1) * dilations[k] + 1 for k in range(rank)]
    counts = [(padded.shape[2 + k] - spans[k]) // strides[k] + 1 for k in range(rank)]
    assert all(c > 0 for c in counts), "no window fits"
    for offset in itertools.product(*(range(k) for k in kernel)):
        cut = tuple(
            slice(o * d, o * d + (c - 1) * s + 1, s) for o, d, c, s in zip(offset, dilations, counts, strides, strict=True)
        )
        yield offset, padded[(slice(None), slice(None), *cut)]


def conv(a, x, w, bias=None):
    groups = a.get("group", 1)
    assert x.shape[1] == w.shape[1] * groups and w.shape[0] % groups == 0, "the channels do not go together"
    total = 0
    for offset, seen in _windows(a, x, w.shape[2:], 0):
        taps = w[(slice(None), slice(None), *offset)]
        parts = [
            np.einsum("nc...,mc->nm...", part, tap)
            for part, tap in zip(np.split(seen, groups, 1), np.split(taps, groups, 0), strict=True)
        ]
        total = total + np.concatenate(parts, 1)
    return total if bias is None else total + bias.reshape(-1, *[1] * (x.ndim - 2))


def max_pool(a, x):
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    made = None
    for _, seen in _windows(a, x, a["kernel_shape"], least):
        made = seen if made is None else np.maximum(made, seen)
    counts = sum(seen for _, seen in _windows(a, np.ones(x.shape, np.int64), a["kernel_shape"], 0))
    return [np.where(counts > 0, made, 0).astype(x.dtype)]  # of padding alone: 0, as docs/ops.md says


def average_pool(a, x):
    total = sum(seen for _, seen in _windows(a, x, a["kernel_shape"], 0))
    return total / np.array(np.prod(a["kernel_shape"]), x.dtype)


OPS = {
    "MatMul": wide(mat_mul),
    "Gemm": wide(gemm),
    "Einsum": wide(einsum),
    "Conv": wide(conv),
    "MaxPool": max_pool,
    "AveragePool": wide(average_pool),
    "GlobalMaxPool": lambda a, x: x.max(tuple(range(2, x.ndim)), keepdims=True),
}
