"""Inputs for the differential test of ops: dtypes, shapes, and random elements."""

import ml_dtypes
import numpy as np

FLOATS = ["float32", "float64", "float16", "bfloat16"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
REALS = FLOATS + INTEGERS
EVERYTHING = [*REALS, "bool", "string", "complex64", "complex128"]
SHAPES = [(), (0,), (1,), (5,), (2, 3, 4), (3, 0), (1, 257)]

PAIRS = [
    ((), ()),
    ((4,), ()),
    ((), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1, 4), (3, 1)),
    ((0, 3), (3,)),
    ((1,), (0,)),
    ((4, 5), (4, 5)),
    ((67,), (67,)),
]


def dtype_of(name):
    if name == "string":
        return np.dtype(object)
    return np.dtype(getattr(ml_dtypes, name, name))


def draw(rng, dtype, shape, low=-4.0, high=4.0, special=True):
    """Random elements of a dtype between two bounds; if `special`, floats include zeros, infinities and NaN."""
    count = int(np.prod(shape, dtype=int))
    kind = dtype_of(dtype)
    if dtype == "string":
        words = np.array(["", "a", "b", "abc", "é", "a longer string than any small buffer"], object)
        return words[rng.integers(0, len(words), count)].reshape(shape)
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    if dtype.startswith("complex"):
        return (rng.uniform(low, high, count) + 1j * rng.uniform(low, high, count)).astype(kind).reshape(shape)
    if dtype in INTEGERS:
        low = max(low, 0) if dtype in UNSIGNED else low
        values = rng.integers(int(low), int(high) + 1, count)
        return values.astype(kind).reshape(shape)
    values = rng.uniform(low, high, count)
    if special and count > 3:
        strewn = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], count)
        values = np.where(rng.random(count) < 0.1, strewn, values)
    return values.astype(kind).reshape(shape)


def extremes(rng, dtype, shape):
    """Integers from the whole range of their dtype; floats as by `draw`."""
    if dtype not in INTEGERS:
        return draw(rng, dtype, shape)
    limits = np.iinfo(dtype)
    count = int(np.prod(shape, dtype=int))
    return rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True).reshape(shape)


def i64(*values):
    return np.array(values, np.int64)
