"""Refuses arithmetic whose bits may depend on the order of evaluation.

Sums and products of floats are exact in every order if their operands are multiples of 1/16 and small enough for the
mantissa of their dtype. A single correctly rounded operation (Add, Div, Sqrt) has the same bits anyway; but Mul may be
contracted with an Add, so it must be exact, too.
"""

from __future__ import annotations

import math

import numpy as np

from .faults import Inexact

GRID = 16.0  #: operands are multiples of 1 / GRID
MANTISSA = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def before(op, attributes, inputs):
    """Raises Inexact if the results of this op would depend on the order of evaluation."""
    check = CHECKS.get(op)
    if check:
        check(attributes, *inputs)


def _float(x):
    return x is not None and not isinstance(x, list) and x.dtype.name in MANTISSA


def _most(x, what):
    """The largest absolute value of x, whose elements must be multiples of 1 / GRID."""
    wide = x.astype(np.float64) * GRID
    if not np.all(np.isfinite(wide)) or not np.array_equal(wide, np.rint(wide)):
        raise Inexact(f"{what}: elements that are no multiples of 1/16")
    return float(np.abs(wide).max(initial=0)) / GRID


def _fits(value, unit, dtype, what):
    """Checks that all multiples of `unit` up to `value` are numbers of this dtype."""
    if value / unit > 2 ** MANTISSA[dtype.name]:
        raise Inexact(f"{what}: sums beyond the mantissa")


def _product(attributes, *inputs):
    if _float(inputs[0]):
        value = math.prod(_most(x, "Mul") for x in inputs)
        _fits(value, _unit(inputs[0]) * _unit(inputs[-1]), inputs[0].dtype, "Mul")


def _unit(x):
    """The largest power of two, at most 1, of which all elements are multiples."""
    wide = x.astype(np.float64)
    return next((u for u in (1.0, 0.5, 0.25, 0.125) if np.array_equal(wide / u, np.rint(wide / u))), 1 / GRID)


def _sum(attributes, x, *rest):
    if _float(x):
        _fits(_most(x, "sum") * max(1, x.size), _unit(x), x.dtype, "sum")


def _sum_of_all(attributes, *inputs):
    if _float(inputs[0]):
        _fits(sum(_most(x, "Sum") for x in inputs), min(_unit(x) for x in inputs), inputs[0].dtype, "Sum")


def _sum_of_squares(attributes, x, *rest):
    if _float(x):
        _fits(_most(x, "sum") ** 2 * max(1, x.size), _unit(x) ** 2, x.dtype, "sum")


def _mean(attributes, x, axes=None):
    _sum(attributes, x)
    axes = attributes.get("axes", axes)
    if axes is not None and len(axes) == 0:
        axes = None
    count = x.size if axes is None else math.prod(x.shape[int(a)] for a in axes)
    if _float(x) and (count == 0 or count & (count - 1)):
        raise Inexact("a mean of a number of elements that is no power of two")
    if not _float(x):
        raise Inexact("a mean of integers")


def _mean_of_all(attributes, *inputs):
    _sum_of_all(attributes, *inputs)
    if len(inputs) & (len(inputs) - 1):
        raise Inexact("a mean of a number of inputs that is no power of two")


def _product_of_all(attributes, x, *rest):
    if _float(x):
        magnitudes = np.maximum(np.abs(x.astype(np.float64)), 1)
        _most(x, "product")
        if _unit(x) < 1:
            raise Inexact("a product of fractions")
        _fits(float(np.prod(magnitudes)), 1.0, x.dtype, "product")


def _products(attributes, a, b, *rest):
    if _float(a):
        depth = max(a.shape[-1] if a.ndim else 1, 1)
        depth = max(depth, math.prod(b.shape[1:])) if "kernel_shape" in attributes or "group" in attributes else max(depth, *b.shape, 1)
        value = _most(a, "product") * _most(b, "product") * depth
        value += sum(_most(c, "product") for c in rest if c is not None)
        scale = abs(attributes.get("alpha", 1.0)), abs(attributes.get("beta", 1.0))
        if any(s not in (0.5, 1.0, 2.0) for s in scale):
            raise Inexact("a scale that is no power of two")
        _fits(2 * value, _unit(a) * _unit(b) * 0.25, a.dtype, "product")


def _power(attributes, x, y):
    if _float(x):
        exponents = y.astype(np.float64)
        if not np.all((exponents >= 0) & (exponents <= 3) & (exponents == np.rint(exponents))) or _unit(x) < 1:
            raise Inexact("a power that is not exact")
        _fits(_most(x, "Pow") ** 3, 1.0, x.dtype, "Pow")


def _cast(attributes, x):
    from .elementwise import dtype_of

    to = np.dtype(dtype_of(attributes["to"]))
    if x.dtype.name.startswith(("float", "bfloat")) and to.kind in "iu":
        wide = x.astype(np.float64)
        limits = np.iinfo(to)
        if not np.all(np.isfinite(wide)) or not np.all((np.trunc(wide) >= limits.min) & (np.trunc(wide) <= min(limits.max, 2**62))):
            raise Inexact("a number that the integer type does not hold")


def _scatter(attributes, data, indices, updates):
    if attributes.get("reduction", "none") != "none" and _float(data):
        count = max(1, updates.size)
        value = _most(data, "scatter") + _most(updates, "scatter") * count
        if attributes["reduction"] == "mul":
            value = max(1.0, _most(data, "scatter")) * max(1.0, _most(updates, "scatter")) ** min(count, 60)
            if _unit(data) < 1 or _unit(updates) < 1:
                raise Inexact("a product of fractions")
        _fits(value, min(_unit(data), _unit(updates)), data.dtype, "scatter")


def _pool(attributes, x):
    _sum(attributes, x)
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" or (any(attributes.get("pads", [])) and not attributes.get("count_include_pad")):
        raise Inexact("a mean under windows of different sizes")
    count = math.prod(attributes["kernel_shape"])
    if count & (count - 1):
        raise Inexact("a mean of a number of elements that is no power of two")


def _range(attributes, start, limit, delta):
    if _float(start):
        for x in (start, limit, delta):
            _fits(_most(x, "Range") * 64, 1 / GRID, x.dtype if x.dtype.itemsize > 2 else np.dtype(np.float32), "Range")


CHECKS = {
    "Mul": _product, "Pow": _power, "Sum": _sum_of_all, "Mean": _mean_of_all, "Cast": _cast, "Range": _range,
    "ReduceSum": _sum, "ReduceL1": _sum, "ReduceMean": _mean, "ReduceProd": _product_of_all, "ReduceSumSquare": _sum_of_squares,
    "CumSum": _sum, "MatMul": _products, "Gemm": _products, "Conv": _products, "AveragePool": _pool,
    "ScatterElements": _scatter, "ScatterND": _scatter, "LeakyRelu": lambda a, x: _sum(a, x), "PRelu": _product,
    "Einsum": lambda a, *xs: _products(a, *xs) if len(xs) > 1 else _sum(a, *xs),
}  # fmt: skip
