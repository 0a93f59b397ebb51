"""Ops that work element by element, with broadcasting."""

from __future__ import annotations

from functools import cache, reduce

import numpy as np
from onnx import helper


@cache
def dtype_of(element_type):
    """NumPy's dtype of a TensorProto type; strings are objects."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(element_type))


def small(x):
    """Whether x is a float of 16 bits, whose arithmetic is done in float32."""
    return x.dtype.itemsize == 2 and x.dtype.kind not in "iu"


def wide(function):
    """The function in float32 for floats of 16 bits: one rounding at the end."""

    def computed(attributes, x, *rest):
        if not small(x):
            return function(attributes, x, *rest)
        made = function(attributes, *(y if y is None or not small(y) else y.astype(np.float32) for y in (x, *rest)))
        return made.astype(x.dtype)

    return computed


def divide(a, x, y):
    if x.dtype.kind not in "iu":
        return x / y
    assert np.all(y != 0), "a division by zero"
    if x.dtype.kind == "i":
        assert not np.any((y == -1) & (x == np.iinfo(x.dtype).min)), "a quotient out of range"
    whole = np.floor_divide(x, y)
    return whole + ((whole < 0) & (whole * y != x)).astype(x.dtype)  # truncated, not floored


def modulo(a, x, y):
    if x.dtype.kind in "iu":
        assert np.all(y != 0), "a division by zero"
    return (np.fmod if a.get("fmod") else np.mod)(x, y)


def clip(a, x, low=None, high=None):
    assert all(np.ndim(bound) == 0 for bound in (low, high) if bound is not None), "a bound that is no scalar"
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def cast(a, x):
    return _cast(x, dtype_of(a["to"]))


def _cast(x, to):
    if to == object:
        assert x.dtype.kind in "iuO", "only integers are written as text"
        return np.array([str(v) for v in x.ravel().tolist()], object).reshape(x.shape)
    if x.dtype == object:
        return np.array([int(v) for v in x.ravel()], np.int64).reshape(x.shape).astype(to)
    if to == bool:
        return x != np.zeros((), x.dtype)
    if np.dtype(to).kind in "iu" and x.dtype.kind not in "iub":
        wide, range_ = np.trunc(x.astype(np.float64)), np.iinfo(to)
        assert np.all((wide >= float(range_.min)) & (wide < float(range_.max) + 1)), "what becomes of a number out of range is not specified"
    return x.astype(to)


def shift(a, x, y):
    assert np.all(y < x.dtype.itemsize * 8), "a shift beyond the width"
    return np.left_shift(x, y) if a["direction"] == "LEFT" else np.right_shift(x, y)


def power(a, x, y):
    if x.dtype.kind in "iu":
        assert np.all(y >= 0), "a negative power of an integer"
        return np.power(x, y.astype(x.dtype))
    return np.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)


def is_inf(a, x):
    positive, negative = a.get("detect_positive", 1), a.get("detect_negative", 1)
    return np.isinf(x) & (((x > 0) & bool(positive)) | ((x < 0) & bool(negative)))


def equal(a, x, y):
    return np.asarray(x == y).astype(bool)


def where(a, c, x, y):
    return np.where(c, x, y)


def variadic(function):
    return lambda a, *xs: reduce(function, xs)


def mean(a, *xs):
    return (reduce(np.add, xs) / np.array(len(xs), xs[0].dtype)).astype(xs[0].dtype)


def sign(a, x):
    return np.sign(x).astype(x.dtype)


def erf(a, x):
    from math import erf

    return np.array([erf(v) for v in x.astype(np.float64).ravel()]).reshape(x.shape).astype(x.dtype)


def relu(a, x):
    return np.maximum(x, np.zeros((), x.dtype))


def leaky(a, x):
    return np.where(x < 0, x * np.array(a.get("alpha", 0.01), x.dtype), x)


def thresholded(a, x):
    return np.where(x > np.array(a.get("alpha", 1.0), x.dtype), x, np.zeros((), x.dtype))


OPS = {
    "Add": lambda a, x, y: x + y,
    "Sub": lambda a, x, y: x - y,
    "Mul": lambda a, x, y: x * y,
    "Div": wide(divide),
    "Mod": wide(modulo),
    "Pow": power,
    "Neg": lambda a, x: -x,
    "Abs": lambda a, x: np.abs(x),
    "Sign": sign,
    "Floor": wide(lambda a, x: np.floor(x)),
    "Ceil": wide(lambda a, x: np.ceil(x)),
    "Round": wide(lambda a, x: np.rint(x)),
    "Reciprocal": wide(lambda a, x: np.ones((), x.dtype) / x),
    "Sqrt": wide(lambda a, x: np.sqrt(x)),
    "Exp": wide(lambda a, x: np.exp(x)),
    "Log": wide(lambda a, x: np.log(x)),
    "Tanh": wide(lambda a, x: np.tanh(x)),
    "Sin": wide(lambda a, x: np.sin(x)),
    "Cos": wide(lambda a, x: np.cos(x)),
    "Sigmoid": wide(lambda a, x: 1 / (1 + np.exp(-x))),
    "Softplus": wide(lambda a, x: np.log1p(np.exp(x))),
    "Erf": erf,
    "Max": variadic(np.maximum),
    "Min": variadic(np.minimum),
    "Sum": variadic(np.add),
    "Mean": mean,
    "Relu": relu,
    "LeakyRelu": leaky,
    "PRelu": lambda a, x, slope: np.where(x < 0, x * slope, x),
    "ThresholdedRelu": thresholded,
    "Clip": clip,
    "Not": lambda a, x: ~x,
    "And": lambda a, x, y: x & y,
    "Or": lambda a, x, y: x | y,
    "Xor": lambda a, x, y: x ^ y,
    "BitwiseAnd": lambda a, x, y: x & y,
    "BitwiseOr": lambda a, x, y: x | y,
    "BitwiseXor": lambda a, x, y: x ^ y,
    "BitwiseNot": lambda a, x: ~x,
    "BitShift": shift,
    "Less": lambda a, x, y: x < y,
    "LessOrEqual": lambda a, x, y: x <= y,
    "Greater": lambda a, x, y: x > y,
    "GreaterOrEqual": lambda a, x, y: x >= y,
    "Equal": equal,
    "Where": where,
    "IsNaN": lambda a, x: np.isnan(x),
    "IsInf": is_inf,
    "Cast": cast,
    "CastLike": lambda a, x, like: _cast(x, like.dtype),
    "Identity": lambda a, x: x,
    "Dropout": lambda a, x, *rest: x,
}
