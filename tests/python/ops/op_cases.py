"""Inputs for the differential test of ops: for each op, the tensors and attributes worth trying.

A case is a list of input arrays (None: left out), the attributes, and the number of outputs. Differences between opsets
(an attribute that became an input) are handled here, by the argument `opset`.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx

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


def unary(low=-4.0, high=4.0, special=True, whole_range=False, **attributes):
    def cases(rng, dtype, opset):
        for shape in SHAPES:
            x = extremes(rng, dtype, shape) if whole_range else draw(rng, dtype, shape, low, high, special)
            yield [x], attributes, 1

    return cases


def binary(low=-4.0, high=4.0, special=True, whole_range=False, nonzero=False, right=None, attributes=lambda d: {}):
    def cases(rng, dtype, opset):
        for a_shape, b_shape in PAIRS:
            make = extremes if whole_range and dtype in INTEGERS else lambda *k: draw(*k, low, high, special)
            a, b = make(rng, dtype, a_shape), make(rng, dtype, b_shape)
            if right:
                b = draw(rng, dtype, b_shape, *right, special)
            if nonzero:
                b = np.where(b == 0, np.ones_like(b), b)
            yield [a, b], attributes(dtype), 1

    return cases


def variadic(rng, dtype, opset):
    for count in (1, 2, 3):
        yield [draw(rng, dtype, (2, 3)) for _ in range(count)], {}, 1
    if opset >= 8:
        yield [draw(rng, dtype, s) for s in ((2, 1), (3,), ())], {}, 1
        yield [draw(rng, dtype, s) for s in ((0, 3), (1, 3))], {}, 1


def clip(rng, dtype, opset):
    for shape in SHAPES:
        x = draw(rng, dtype, shape, special=False)  # infinities are unspecified if a bound is missing
        if opset < 11:
            yield [x], {"min": -1.0, "max": 2.0}, 1
            continue
        low, high = (np.array(v).astype(x.dtype) for v in (1, 3))
        yield [x, low, high], {}, 1
        yield [x, None, high], {}, 1
        yield [x, low], {}, 1


def mod(rng, dtype, opset):
    for a_shape, b_shape in PAIRS:
        a, b = draw(rng, dtype, a_shape, -50, 50, False), draw(rng, dtype, b_shape, -9, 9, False)
        b = np.where(b == 0, np.ones_like(b), b)
        yield [a, b], {"fmod": 1}, 1
        if dtype in INTEGERS:
            yield [a, b], {"fmod": 0}, 1


def shift(rng, dtype, opset):
    for a_shape, b_shape in PAIRS:
        bits = np.iinfo(dtype).bits
        a, b = extremes(rng, dtype, a_shape), draw(rng, dtype, b_shape, 0, bits - 1)
        yield [a, b], {"direction": "LEFT"}, 1
        yield [a, b], {"direction": "RIGHT"}, 1


def where(rng, dtype, opset):
    for shapes in (((), (), ()), ((3,), (2, 3), ()), ((2, 1), (3,), (2, 3)), ((0, 1), (3,), (1,))):
        c, a, b = shapes
        yield [draw(rng, "bool", c), draw(rng, dtype, a), draw(rng, dtype, b)], {}, 1


def reduction(axes_input_from, empty=True, low=-4.0, high=4.0):
    def cases(rng, dtype, opset):
        for shape, axes in (
            ((2, 3, 4), [1]),
            ((2, 3, 4), [0, 2]),
            ((2, 3, 4), None),
            ((2, 3, 4), [-1]),
            ((5,), [0]),
            ((70, 3), [0]),
            ((3, 300), [1]),
            ((2, 0, 3), [1]),
            ((2, 0, 3), [0]),
        ):
            if 0 in shape and (not empty or opset < 20):
                continue
            if axes and axes[0] < 0 and opset < 11:
                continue
            x = draw(rng, dtype, shape, low, high, special=False)
            for keepdims in (0, 1):
                attributes = {"keepdims": keepdims}
                if axes is None:
                    yield [x], attributes, 1
                elif opset >= axes_input_from:
                    yield [x, i64(*axes)], attributes, 1
                else:
                    yield [x], {**attributes, "axes": axes}, 1
        x = draw(rng, dtype, (), low, high, special=False)
        yield [x], {"keepdims": 0}, 1
        if opset >= axes_input_from:
            yield [x[None]], {"keepdims": 0, "noop_with_empty_axes": 1}, 1

    return cases


def arg_extreme(rng, dtype, opset):
    for shape, axis in (((2, 3, 4), 1), ((7,), 0), ((3, 40), -1), ((1, 1), 0)):
        if axis < 0 and opset < 11:
            continue
        x = draw(rng, dtype, shape, -3, 3, special=False)
        ties = np.zeros_like(x)
        for keepdims in (0, 1):
            yield [x], {"axis": axis, "keepdims": keepdims}, 1
            if opset >= 12:
                yield [ties], {"axis": axis, "keepdims": keepdims, "select_last_index": 1}, 1


def cumsum(rng, dtype, opset):
    for shape, axis in (((5,), 0), ((2, 3, 4), 1), ((2, 3), -1), ((0, 3), 0)):
        x = draw(rng, dtype, shape, special=False)
        for exclusive in (0, 1):
            for reverse in (0, 1):
                yield [x, np.array(axis, np.int64)], {"exclusive": exclusive, "reverse": reverse}, 1


def topk(rng, dtype, opset):
    for shape, axis, k in (((7,), 0, 3), ((2, 9), 1, 9), ((3, 4, 5), 1, 2), ((3, 4), 0, 0)):
        x = draw(rng, dtype, shape, -9, 9, special=False)
        if dtype in FLOATS:
            x = rng.permutation(int(np.prod(shape))).reshape(shape).astype(x.dtype)  # no ties: the index of a tie is unspecified
        if opset < 10:
            if k:
                yield [x], {"axis": axis, "k": k}, 2
            continue
        yield [x, i64(k)], {"axis": axis}, 2
        if opset >= 11:
            yield [x, i64(k)], {"axis": axis - len(shape), "largest": 0}, 2


def softmax(rng, dtype, opset):
    for shape, axis in (((2, 5), 1), ((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3, 4), 0), ((1, 300), 1)):
        yield [draw(rng, dtype, shape, -9, 9, special=False)], {"axis": axis}, 1


def granularities(rng, shape, opset):
    """The granularities of scales for a tensor of rank 2: (shape of the scale, attributes)."""
    yield (), {}
    if opset >= 13:
        yield (shape[1],), {"axis": 1}
        yield (shape[0],), {"axis": -2}
    if opset >= 21:
        yield (shape[0], -(-shape[1] // 4)), {"axis": 1, "block_size": 4}


def quantize(rng, dtype, opset):
    shape = (3, 12)
    x = draw(rng, dtype, shape, -300, 300, special=False)
    for scales, attributes in granularities(rng, shape, opset):
        scale = rng.uniform(0.5, 4, scales).astype(np.float32)
        if dtype == "float16":  # the scale's type sets the precision of the quotient, but ONNX Runtime uses float32: powers of 2 are exact in both
            scale = (2.0 ** rng.integers(0, 4, scales)).astype(np.float16)
        yield [x, scale], attributes, 1
        for kind in ("uint8", "int8", *(["int16", "uint16", "int4", "uint4"] if opset >= 21 else [])):
            yield [x, scale, draw(rng, kind, scales, 0, 7)], attributes, 1
        if opset >= 21:
            yield [x, scale], {**attributes, "output_dtype": onnx.TensorProto.INT16}, 1


def dequantize(rng, dtype, opset):
    shape = (3, 12)
    x = draw(rng, dtype, shape, 0 if dtype.startswith("u") else -7, 7)
    for scales, attributes in granularities(rng, shape, opset):
        for kind in ("float32", *(["float16"] if opset >= 19 else [])):
            scale = rng.uniform(0.5, 4, scales).astype(kind)
            yield [x, scale], attributes, 1
            if dtype != "int32":
                yield [x, scale, draw(rng, dtype, scales, 0, 7)], attributes, 1


def matmul(rng, dtype, opset):
    for a, b in (
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((65, 33), (33, 17)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
    ):
        yield [draw(rng, dtype, a, special=False), draw(rng, dtype, b, special=False)], {}, 1


def gemm(rng, dtype, opset):
    for ta in (0, 1):
        for tb in (0, 1):
            a = draw(rng, dtype, (3, 2) if ta else (2, 3), special=False)
            b = draw(rng, dtype, (4, 3) if tb else (3, 4), special=False)
            for c in ((4,), (2, 1), (2, 4), (), None):
                if c is None and opset < 11:
                    continue
                inputs = [a, b] if c is None else [a, b, draw(rng, dtype, c, special=False)]
                scale = {"alpha": 0.5, "beta": 2.0} if dtype in FLOATS else {}
                yield inputs, {"transA": ta, "transB": tb, **scale}, 1


def conv(rng, dtype, opset):
    for x, w, attributes in (
        ((1, 2, 7), (3, 2, 3), {}),
        ((2, 2, 5, 6), (4, 2, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 4, 6, 6), (4, 2, 3, 2), {"group": 2, "strides": [2, 1]}),
        ((1, 3, 8, 8), (3, 1, 3, 3), {"group": 3, "dilations": [2, 2]}),
        ((1, 1, 5, 5), (1, 1, 2, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 1, 5, 5), (1, 1, 2, 2), {"auto_pad": "SAME_LOWER"}),
        ((1, 1, 5, 5), (1, 1, 3, 3), {"auto_pad": "VALID"}),
        ((1, 2, 4, 4, 4), (2, 2, 2, 2, 2), {"pads": [0, 1, 0, 1, 0, 1]}),
    ):
        inputs = [draw(rng, dtype, x, special=False), draw(rng, dtype, w, special=False)]
        yield inputs, attributes, 1
        yield [*inputs, draw(rng, dtype, w[:1], special=False)], attributes, 1


def lstm(rng, dtype, opset):
    steps, batch, width, hidden = 5, 2, 3, 4
    for direction in ("forward", "reverse", "bidirectional"):
        count = 2 if direction == "bidirectional" else 1

        def t(*shape):
            return draw(rng, dtype, shape, -1, 1, special=False)

        base = [t(steps, batch, width), t(count, 4 * hidden, width), t(count, 4 * hidden, hidden)]
        attributes = {"hidden_size": hidden, "direction": direction}
        yield base, attributes, 3
        bias, lens = t(count, 8 * hidden), np.array([5, 3], np.int32)
        state = [t(count, batch, hidden), t(count, batch, hidden)]
        yield [*base, bias], attributes, 3
        yield [*base, bias, lens, *state], attributes, 3
        # Without clip: ONNX Runtime computes h from the unclipped cell, and the reference evaluator ignores clip.
        yield [*base, bias, None, *state, t(count, 3 * hidden)], attributes, 3


def shape_of(rng, dtype, opset):
    for shape in SHAPES:
        yield [draw(rng, dtype, shape)], {}, 1
    if opset >= 15:
        for start, end in ((1, None), (0, 2), (-2, -1), (5, 9), (-9, 2)):
            attributes = {"start": start} if end is None else {"start": start, "end": end}
            yield [draw(rng, dtype, (2, 3, 4))], attributes, 1


def size(rng, dtype, opset):
    for shape in SHAPES:
        yield [draw(rng, dtype, shape)], {}, 1


def reshape(rng, dtype, opset):
    for shape, target in (((2, 3, 4), (6, 4)), ((2, 3, 4), (0, -1)), ((6,), (-1,)), ((1,), ()), ((0, 3), (0, 5))):
        yield [draw(rng, dtype, shape), i64(*target)], {}, 1
    if opset >= 14:
        yield [draw(rng, dtype, (0, 3)), i64(3, 0)], {"allowzero": 1}, 1


def squeeze(rng, dtype, opset):
    for shape, axes in (((1, 3, 1), [0]), ((1, 3, 1), [0, 2]), ((1, 3, 1), None), ((1,), [0]), ((1, 3, 1), [-1])):
        if axes and axes[0] < 0 and opset < 11:
            continue
        x = draw(rng, dtype, shape)
        if axes is None:
            yield [x], {}, 1
        elif opset < 13:
            yield [x], {"axes": axes}, 1
        else:
            yield [x, i64(*axes)], {}, 1


def unsqueeze(rng, dtype, opset):
    for shape, axes in (((), [0]), ((3,), [0, 2]), ((2, 3), [1]), ((2, 3), [-1]), ((3,), [3, 0, 1])):
        if opset < 11 and (min(axes) < 0 or axes != sorted(axes)):
            continue
        x = draw(rng, dtype, shape)
        yield ([x], {"axes": axes}, 1) if opset < 13 else ([x, i64(*axes)], {}, 1)


def flatten(rng, dtype, opset):
    for shape, axis in (((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), 3), ((5,), 1), ((0, 3), 1)):
        yield [draw(rng, dtype, shape)], {"axis": axis}, 1


def transpose(rng, dtype, opset):
    for shape, perm in (((2, 3, 4), [2, 0, 1]), ((2, 3, 4), None), ((), None), ((5,), [0]), ((0, 3), [1, 0]), ((40, 33), [1, 0])):
        yield [draw(rng, dtype, shape)], {} if perm is None else {"perm": perm}, 1


def concat(rng, dtype, opset):
    for shapes, axis in ((((2, 3), (1, 3)), 0), (((2, 3), (2, 0), (2, 5)), 1), (((4,),), 0), (((2, 3), (2, 1)), -1)):
        if axis < 0 and opset < 11:
            continue
        yield [draw(rng, dtype, s) for s in shapes], {"axis": axis}, 1


def split(rng, dtype, opset):
    for shape, axis, parts in (((6, 2), 0, [1, 2, 3]), ((2, 6), 1, [6, 0]), ((6,), 0, None)):
        x = draw(rng, dtype, shape)
        if parts is None:
            yield [x], {"axis": axis, **({"num_outputs": 3} if opset >= 18 else {})}, 3
        elif opset < 13:
            yield [x], {"axis": axis, "split": parts}, len(parts)
        else:
            yield [x, i64(*parts)], {"axis": axis}, len(parts)
    if opset >= 18:
        yield [draw(rng, dtype, (7, 2))], {"axis": 0, "num_outputs": 3}, 3


def slice_(rng, dtype, opset):
    x = draw(rng, dtype, (5, 6))
    for starts, ends, axes, steps in (
        ([1], [4], [0], [1]),
        ([0, 2], [5, 99], [0, 1], [1, 1]),
        ([-3], [-1], [1], [1]),
        ([0], [6], [1], [2]),
        ([-1], [-99], [0], [-1]),
        ([4, 5], [0, 1], [0, 1], [-2, -3]),
        ([3], [2], [0], [1]),
        ([0], [2**63 - 1], [-1], [1]),
    ):
        if opset < 10:
            if steps == [1] * len(steps) and min(axes) >= 0:
                yield [x], {"starts": starts, "ends": ends, "axes": axes}, 1
            continue
        yield [x, i64(*starts), i64(*ends), i64(*axes), i64(*steps)], {}, 1
    if opset >= 10:
        yield [x, i64(1, 1), i64(3, 3)], {}, 1
        yield [x, *(np.array([v], np.int32) for v in (1, 4, 0))], {}, 1


def gather(rng, dtype, opset):
    for shape, axis, indices in (
        ((5,), 0, np.array(2)),
        ((5, 3), 0, np.array([0, 4, 0])),
        ((5, 3), 1, np.array([[0, 2], [1, 1]])),
        ((2, 3, 4), -1, np.array([3])),
        ((5, 3), 0, np.zeros((0,))),
        ((5, 3), 0, np.array([-1, -5])),
    ):
        if opset < 11 and (axis < 0 or indices.min(initial=0) < 0):
            continue
        for kind in (np.int64, np.int32):
            yield [draw(rng, dtype, shape), indices.astype(kind)], {"axis": axis}, 1


def expand(rng, dtype, opset):
    for shape, target in (((3, 1), (2, 3, 4)), ((), (2, 2)), ((3,), (1,)), ((1,), (0,)), ((2, 3), (3,))):
        yield [draw(rng, dtype, shape), i64(*target)], {}, 1


def tile(rng, dtype, opset):
    for shape, repeats in (((3,), (2,)), ((2, 3), (2, 1)), ((2, 3), (0, 2)), ((2, 1, 3), (1, 4, 2))):
        yield [draw(rng, dtype, shape), i64(*repeats)], {}, 1


def pad(rng, dtype, opset):
    for shape, pads in (((3,), [1, 2]), ((2, 3), [0, 1, 1, 0]), ((3, 4), [1, 1, 1, 1]), ((4, 5), [-1, 0, 1, -2])):
        x = draw(rng, dtype, shape)
        for mode in ("constant", "edge", "reflect", "wrap"):
            if (mode == "wrap" and opset < 19) or (mode != "constant" and min(pads) < 0):
                continue
            if opset < 11:
                yield [x], {"mode": mode, "pads": pads, **({"value": 2.0} if mode == "constant" else {})}, 1
            elif mode == "constant":
                yield [x, i64(*pads), draw(rng, dtype, (), 1, 3, False)], {"mode": mode}, 1
                if dtype != "string":  # the reference evaluator pads strings with the number 0
                    yield [x, i64(*pads)], {"mode": mode}, 1
            else:
                yield [x, i64(*pads)], {"mode": mode}, 1
    if opset >= 18:
        yield [draw(rng, dtype, (2, 3)), i64(1, 2), draw(rng, dtype, (), 1, 3, False), i64(-1)], {}, 1


def trilu(rng, dtype, opset):
    for shape, k in (((3, 4), 0), ((2, 3, 3), 1), ((4, 2), -1), ((0, 3), 0)):
        for upper in (0, 1):
            yield [draw(rng, dtype, shape), np.array(k, np.int64)], {"upper": upper}, 1
    yield [draw(rng, dtype, (3, 3))], {}, 1


def range_(rng, dtype, opset):
    kind = dtype_of(dtype)
    for bounds in ((0, 5, 1), (1, 10, 3), (5, 5, 1), (5, 0, 1), (9, 0, -2)):
        yield [np.array(v).astype(kind) for v in bounds], {}, 1


def nonzero(rng, dtype, opset):
    for shape in ((5,), (2, 3, 4), (0,), (1, 70)):
        x = draw(rng, dtype, shape, special=False)
        if dtype != "string":
            x = np.where(rng.random(shape) < 0.5, x, np.zeros_like(x))
        yield [x], {}, 1


# op -> (dtypes, cases, rtol for float32). rtol 0: bit for bit.
def compress(rng, dtype, opset):
    for shape, axis, count in (((3, 4), 0, 3), ((3, 4), 1, 2), ((2, 3, 4), None, 20), ((5,), None, 5), ((0, 3), 0, 0), ((2, 0), 1, 0)):
        x, chosen = draw(rng, dtype, shape), draw(rng, "bool", (count,))
        yield [x, chosen], {} if axis is None else {"axis": axis}, 1
        yield [x, np.zeros_like(chosen)], {} if axis is None else {"axis": axis}, 1
        if opset >= 11 and axis is not None:
            yield [x, chosen], {"axis": axis - len(shape)}, 1


def reverse_sequence(rng, dtype, opset):
    for shape, batch, time in (((4, 3), 1, 0), ((3, 4), 0, 1), ((5, 2, 3), 1, 0), ((2, 5, 3), 0, 1), ((0, 2), 1, 0), ((2, 0), 1, 0)):
        lengths = rng.integers(0, shape[time] + 1, shape[batch])
        yield [draw(rng, dtype, shape), lengths], {"batch_axis": batch, "time_axis": time}, 1


def tensor_scatter(rng, dtype, opset):
    for shape, axis, count in (((2, 3, 4, 5), 2, 1), ((2, 3, 4, 5), 2, 3), ((3, 6, 2), 1, 6), ((2, 7), 1, 2), ((2, 4, 3), 2, 0)):
        part = tuple(count if a == axis else n for a, n in enumerate(shape))
        x, update = draw(rng, dtype, shape), draw(rng, dtype, part)
        for mode in ("linear", "circular"):
            attributes = {"axis": axis - (axis % 2) * len(shape), "mode": mode}
            yield [x, update], attributes, 1
            least = shape[axis] - count + 1 if mode == "linear" else 50
            yield [x, update, rng.integers(0, least, shape[0])], attributes, 1


def non_max_suppression(rng, dtype, opset):
    def f32(value):
        return np.array([value], np.float32)

    for batch, classes, n in ((1, 1, 1), (2, 3, 7), (1, 2, 90), (1, 1, 0)):
        boxes = rng.uniform(0, 1, (batch, n, 4)).astype(np.float32)
        scores = np.round(rng.uniform(0, 1, (batch, classes, n)), 1).astype(np.float32)  # with ties
        for centered in (0, 1):
            attributes = {"center_point_box": centered}
            yield [boxes, scores, i64(4), f32(0.5), f32(0.3)], attributes, 1
            yield [boxes, scores, i64(n), f32(0.1)], attributes, 1
            yield [boxes, scores, np.array(2**40, np.int64), None, np.array(0.5, np.float32)], attributes, 1
        yield [boxes, scores], {}, 1


BYTES = ["uint8", "int8"]


def bytes_of(rng, kind, shape):
    """Bytes whose products ONNX Runtime adds exactly: without VNNI it adds pairs of products of u8 and i8 in 16 bits."""
    low, high = (0, 255) if kind == "uint8" else (-64, 63)
    return rng.integers(low, high, shape, endpoint=True).astype(kind)


def matmul_integer(rng, dtype, opset):
    for a, b in (
        ((2, 3), (3, 4)),
        ((1, 64), (64, 100)),
        ((2, 33), (33, 37)),
        ((3, 7), (7, 33)),
        ((4, 5), (5, 16)),
        ((13, 130), (130, 50)),
        ((2, 3, 5), (5, 4)),
        ((2, 3, 5), (2, 5, 4)),
        ((2, 1, 3, 5), (4, 5, 17)),
        ((5,), (5, 3)),
        ((3, 5), (5,)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
    ):
        for kind in BYTES:
            x, y = bytes_of(rng, dtype, a), bytes_of(rng, kind, b)
            yield [x, y], {}, 1
            yield [x, y, bytes_of(rng, dtype, ()), bytes_of(rng, kind, ())], {}, 1
            if len(b) == 2:
                yield [x, y, None, bytes_of(rng, kind, b[1:])], {}, 1


def conv_integer(rng, dtype, opset):
    for x, w, attributes in (
        ((1, 2, 7), (3, 2, 3), {}),
        ((2, 2, 5, 6), (4, 2, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 16, 9, 9), (20, 16, 1, 1), {}),
        ((1, 4, 6, 6), (4, 2, 3, 2), {"group": 2, "strides": [2, 1]}),
        ((1, 3, 8, 8), (3, 1, 3, 3), {"group": 3, "dilations": [2, 2]}),
        ((1, 1, 5, 5), (1, 1, 2, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 24, 20, 20), (9, 24, 3, 3), {"pads": [0, 1, 2, 1]}),
    ):
        for kind in BYTES:
            a, b = bytes_of(rng, dtype, x), bytes_of(rng, kind, w)
            yield [a, b], attributes, 1
            yield [a, b, bytes_of(rng, dtype, ()), bytes_of(rng, kind, ())], attributes, 1
            yield [a, b, None, bytes_of(rng, kind, w[:1])], attributes, 1


def scale_of(rng, shape):
    return rng.uniform(0.01, 0.1, shape).astype(np.float32)


def q_linear_matmul(rng, dtype, opset):
    for a, b in (((2, 3), (3, 4)), ((3, 70), (70, 33)), ((2, 3, 5), (2, 5, 4))):
        for kind in BYTES:
            for scales in ((), b[-1:]) if len(b) == 2 else ((),):
                left = [bytes_of(rng, dtype, a), scale_of(rng, ()), bytes_of(rng, dtype, ())]
                right = [bytes_of(rng, kind, b), scale_of(rng, scales), bytes_of(rng, kind, scales)]
                yield [*left, *right, scale_of(rng, ()), bytes_of(rng, dtype, ())], {}, 1


def q_linear_conv(rng, dtype, opset):
    for x, w, attributes in (
        ((1, 2, 5, 6), (4, 2, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((2, 4, 6, 6), (4, 2, 3, 2), {"group": 2, "strides": [2, 1]}),
        ((1, 3, 8, 8), (3, 1, 3, 3), {"group": 3, "dilations": [2, 2]}),
    ):
        for scales in ((), w[:1]):
            left = [bytes_of(rng, dtype, x), scale_of(rng, ()), bytes_of(rng, dtype, ())]
            right = [bytes_of(rng, "int8", w), scale_of(rng, scales), np.zeros(scales, np.int8)]
            result = [scale_of(rng, ()), bytes_of(rng, dtype, ())]
            yield [*left, *right, *result], attributes, 1
            yield [*left, *right, *result, rng.integers(-500, 500, w[:1]).astype(np.int32)], attributes, 1


def conv_transpose(rng, dtype, opset):
    for x, w, attributes in (
        ((1, 2, 4), (2, 3, 3), {}),
        ((2, 3, 4, 5), (3, 2, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 2, 3, 4), (2, 2, 3, 2), {"strides": [2, 3], "output_padding": [1, 2], "dilations": [2, 1]}),
        ((1, 4, 3, 3), (4, 2, 2, 2), {"group": 2, "pads": [0, 1, 1, 0]}),
        ((2, 3, 5, 5), (3, 1, 3, 3), {"group": 3, "strides": [2, 2]}),
        ((1, 1, 3, 3), (1, 2, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 1, 3, 3), (1, 2, 3, 3), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
        ((1, 1, 3, 3), (1, 2, 3, 3), {"auto_pad": "VALID", "strides": [2, 1]}),
        ((1, 1, 3, 3), (1, 2, 3, 3), {"output_shape": [10, 8], "strides": [3, 2], "output_padding": [1, 1]}),
        ((1, 2, 2, 3, 2), (2, 2, 2, 2, 2), {"strides": [1, 2, 1]}),
    ):
        inputs = [draw(rng, dtype, x, special=False), draw(rng, dtype, w, special=False)]
        yield inputs, attributes, 1
        maps = w[1] * attributes.get("group", 1)
        if maps == w[1] or dtype == "float32":  # the reference evaluator adds the bias of the first group to all
            yield [*inputs, draw(rng, dtype, (maps,), special=False)], attributes, 1


def max_unpool(rng, dtype, opset):
    for shape, attributes, whole in (((2, 3, 4), {"kernel_shape": [2], "strides": [2]}, 8), ((1, 2, 3, 2), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 0]}, 24)):
        count = int(np.prod(shape))
        x = draw(rng, dtype, shape, special=False)
        at = rng.permutation(shape[0] * shape[1] * whole)[:count].reshape(shape)
        yield [x, at], attributes, 1


def resize(rng, dtype, opset):
    f32 = lambda *values: np.array(values, np.float32)
    modes = ["nearest"] if dtype not in ("float32", "float64") else ["nearest", "linear", "cubic"]
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", *(["half_pixel_symmetric"] if opset >= 19 else [])]
    for mode in modes:
        x = draw(rng, dtype, (1, 2, 4, 5), special=False)
        if opset == 10:
            if mode != "cubic":
                yield [x, f32(1, 1, 2, 3)], {"mode": mode}, 1
            continue
        for how in coordinates:
            attributes = {"mode": mode, "coordinate_transformation_mode": how}
            yield [x, None if opset > 11 else f32(), f32(1, 1, 2, 1.6)], attributes, 1
            yield [x, None if opset > 11 else f32(), f32(1, 1, 0.5, 0.8)], attributes, 1
            if opset >= 13:
                yield [x, None, None, i64(1, 2, 7, 3)], attributes, 1
            if mode == "nearest":
                for nearest in ("round_prefer_ceil", "floor", "ceil"):
                    yield [x, None if opset > 11 else f32(), f32(1, 1, 0.75, 2)], {**attributes, "nearest_mode": nearest}, 1
            if mode == "cubic":
                yield [x, None if opset > 11 else f32(), f32(1, 1, 1.5, 0.8)], {**attributes, "cubic_coeff_a": -0.5, "exclude_outside": 1}, 1
        crop = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 10.0}
        yield [x, f32(0, 0, 0.2, 0.1, 1, 1, 1.3, 0.8), f32(1, 1, 2, 1.5) if opset < 13 else None, None if opset < 13 else i64(1, 2, 3, 4)], crop, 1
        if opset >= 18:
            yield [x, None, None, i64(6, 4)], {"mode": mode, "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, 1
            yield [x, None, None, i64(6, 4)], {"mode": mode, "axes": [3, -2], "keep_aspect_ratio_policy": "not_smaller"}, 1
            yield [x, None, f32(0.5)], {"mode": mode, "axes": [2]}, 1


def det(rng, dtype, opset):
    for shape in ((1, 1), (3, 3), (2, 4, 4), (2, 0, 5, 5), (40, 40)):
        yield [draw(rng, dtype, shape, -1, 1, special=False)], {}, 1


def lrn(rng, dtype, opset):
    for shape, size in (((2, 5, 3, 1), 3), ((1, 4, 2, 3), 5), ((2, 3, 2, 2), 1), ((1, 2, 2, 2), 9)):
        yield [draw(rng, dtype, shape, special=False)], {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 2.0}, 1


def grid_sample(rng, dtype, opset):
    names = ("linear", "nearest", "cubic") if opset >= 20 else ("bilinear", "nearest", "bicubic")
    grids = [((2, 3, 4, 5), (2, 3, 2, 2)), ((1, 1, 3, 3), (1, 4, 4, 2)), ((1, 1, 1, 4), (1, 2, 3, 2))]
    for mode in names:
        for x, grid in [*grids, *([((1, 2, 3, 4, 2), (1, 2, 2, 3, 3))] if opset >= 20 and "cubic" not in mode else [])]:
            for padding in ("zeros", "border", "reflection"):
                for aligned in (0, 1):
                    values = [draw(rng, dtype, x, special=False), rng.uniform(-1.6, 1.6, grid).astype(dtype_of(dtype))]
                    yield values, {"mode": mode, "padding_mode": padding, "align_corners": aligned}, 1


def affine_grid(rng, dtype, opset):
    for size in ((1, 2, 3, 4), (3, 1, 2, 5), (1, 1, 2, 3, 4), (2, 3, 2, 2, 3), (0, 1, 2, 2), (2, 1, 1, 3)):
        axes = len(size) - 2
        for aligned in (0,) if 1 in size[2:] else (0, 1):  # a single aligned element is at 1 for ONNX Runtime, at -1 for ONNX's reference
            yield [draw(rng, dtype, (size[0], axes, axes + 1), special=False), np.array(size)], {"align_corners": aligned}, 1


def lp_pool(rng, dtype, opset):
    for shape, attributes in (
        ((2, 3, 9), {"kernel_shape": [3]}),
        ((1, 2, 5, 6), {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 0, 0, 2]}),
        ((1, 2, 6, 5), {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 1, 4, 3, 5), {"kernel_shape": [2, 2, 2]}),
        *(((1, 2, 9, 8), {"kernel_shape": [2, 2], "dilations": [2, 3], "strides": [1, 2]}) for _ in range(opset >= 18)),
    ):
        for p in (1, 2, 3):
            yield [draw(rng, dtype, shape, special=False)], {**attributes, "p": p}, 1


def dft(rng, dtype, opset):
    for shape, axis, length in (((1, 16, 1), 1, None), ((2, 12, 2), 1, None), ((2, 3, 30, 1), 2, 24), ((2, 5, 3, 2), 1, 7), ((1, 17, 1), 1, None), ((1, 74, 2), 1, 90)):
        for inverse, onesided in ((0, 0), (0, 1), (1, 0)):
            if shape[-1] == 2 and onesided:
                continue
            x = draw(rng, dtype, shape, special=False)
            attributes = {"inverse": inverse, "onesided": onesided}
            n = None if length is None else i64(length).reshape(())
            if opset < 20:
                yield [x, n], {**attributes, "axis": axis}, 1
            else:
                yield [x, n, i64(axis).reshape(())], attributes, 1


def stft(rng, dtype, opset):
    scalar = lambda n: i64(n).reshape(())
    for length, step, frame, windowed, onesided in ((64, 8, 16, True, 1), (50, 7, 20, True, 0), (33, 5, 11, False, 1)):
        x = draw(rng, dtype, (2, length, 1), special=False)
        window = draw(rng, dtype, (frame,), special=False) if windowed else None
        yield [x, scalar(step), window, scalar(frame)], {"onesided": onesided}, 1


def mel_weight_matrix(rng, dtype, opset):
    for bands, length, rate, low, high in ((8, 16, 8192, 0, 4096), (20, 400, 16000, 80, 7600), (3, 64, 8000, 100, 3000)):
        whole = [np.array(n, np.int64) for n in (bands, length, rate)]
        yield [*whole, *(np.array(f, np.float32) for f in (low, high))], {}, 1


def regions(rng, dtype, count):
    corners = rng.uniform(-1, 9, (count, 2, 2))
    return np.concatenate([corners.min(1), corners.max(1)], 1).astype(dtype_of(dtype))


def roi_align(rng, dtype, opset):
    x = draw(rng, dtype, (2, 3, 9, 8), special=False)
    modes = ("half_pixel", "output_half_pixel") if opset >= 16 else (None,)
    for coordinates in modes:
        for samples in (0, 2):
            attributes = {"output_height": 3, "output_width": 2, "sampling_ratio": samples, "spatial_scale": 0.8}
            if coordinates:
                attributes["coordinate_transformation_mode"] = coordinates
            yield [x, regions(rng, dtype, 5), i64(0, 1, 1, 0, 1)], attributes, 1


def max_roi_pool(rng, dtype, opset):
    x = draw(rng, dtype, (2, 3, 9, 8), special=False)
    batch = np.array([[0], [1], [1], [0]], dtype_of(dtype))
    for scale in (1.0, 0.5):
        rois = np.concatenate([batch, np.clip(regions(rng, dtype, 4), 0, 7)], 1)
        yield [x, rois], {"pooled_shape": [2, 3], "spatial_scale": scale}, 1


def deform_conv(rng, dtype, opset):
    for groups, offset_groups, stride, dilation, pad in ((1, 1, 1, 1, 0), (2, 1, 2, 1, 1), (1, 2, 1, 2, 1), (2, 2, 2, 1, 0)):
        x, w = (rng.uniform(0.5, 1.5, shape).astype(dtype_of(dtype)) for shape in ((2, 4, 7, 6), (6, 4 // groups, 3, 2)))
        high, wide = ((e + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for e, k in ((7, 3), (6, 2)))
        offset = rng.uniform(-2, 2, (2, offset_groups * 12, high, wide)).astype(dtype_of(dtype))
        mask = rng.uniform(0, 1, (2, offset_groups * 6, high, wide)).astype(dtype_of(dtype))
        bias = draw(rng, dtype, (6,), special=False)
        attributes = {"group": groups, "offset_group": offset_groups, "strides": [stride] * 2, "dilations": [dilation] * 2, "pads": [pad] * 4}
        for inputs in ([x, w, offset], [x, w, offset, bias], [x, w, offset, bias, mask], [x, w, offset, None, mask]):
            yield inputs, attributes, 1


def tf_idf_vectorizer(rng, dtype, opset):
    words = np.array(["a", "b", "c", "d"], object)
    pool = [0, 1, 2, 0, 1, 1, 2, 2, 0, 0, 1, 2]  # 3 unigrams, 3 bigrams, 1 trigram
    of_pool = {"pool_strings": [str(words[k]) for k in pool]} if dtype == "string" else {"pool_int64s": pool}
    counted = {"ngram_counts": [0, 3, 9], "ngram_indexes": [0, 2, 1, 5, 4, 3, 3], **of_pool}
    for shape in ((12,), (3, 9), (2, 1)):
        tokens = rng.integers(0, 4, shape)
        x = words[tokens] if dtype == "string" else tokens.astype(dtype_of(dtype))
        for mode in ("TF", "IDF", "TFIDF"):
            for shortest, longest, skipped in ((1, 1, 0), (1, 2, 0), (2, 2, 3), (1, 3, 1), (3, 3, 5)):
                lengths = {"min_gram_length": shortest, "max_gram_length": longest, "max_skip_count": skipped, "mode": mode}
                for weights in ({}, {"weights": [0.5, 1.0, 2.0, 0.25, 3.0, 1.5, 4.0]}) if mode != "TF" else ({},):
                    yield [x], {**counted, **lengths, **weights}, 1


def regex_full_match(rng, dtype, opset):
    words = np.array(["", "a", "ab", "abab", "AB", "a.b", "x@y.org", "é", "12"], object)
    for pattern in (r"(ab)*", r"[a-z]+", r"(?i)ab", r".", r"\w+@\w+\.(org|com)", r"\d{2}", ""):
        for shape in ((9,), (2, 3), ()):
            yield [np.array(words[rng.integers(0, len(words), shape)], object).reshape(shape)], {"pattern": pattern}, 1


def string_concat(rng, dtype, opset):
    for a, b in PAIRS:
        yield [draw(rng, dtype, a), draw(rng, dtype, b)], {}, 1


def string_split(rng, dtype, opset):
    words = np.array(["a,b", "", ",", "a, b ,c", "  one two  ", "é,ü", "x"], object)
    for shape in ((3,), (2, 2), (), (1, 3)):
        for attributes in ({"delimiter": ","}, {}, {"delimiter": ",", "maxsplit": 1}, {"maxsplit": 1}):
            yield [np.array(words[rng.integers(0, len(words), shape)], object).reshape(shape)], attributes, 2


def string_normalizer(rng, dtype, opset):
    words = np.array(["Monday", "monday", "tuesday", "a", "TUESDAY"], object)  # onnx's reference drops empty texts
    for shape in ((6,), (1, 5)):
        for change in ("NONE", "LOWER", "UPPER"):
            for sensitive in (0, 1) if change != "NONE" else (1,):  # onnx's reference compares the case all the same
                x = words[rng.integers(0, len(words), shape)]
                yield [x], {"case_change_action": change, "is_case_sensitive": sensitive, "stopwords": ["monday"]}, 1


OPS = {
    "Add": (REALS, binary(), 0),
    "Sub": (REALS, binary(), 0),
    "Mul": (REALS, binary(), 0),
    "Div": (REALS, binary(nonzero=True), 0),
    "Neg": (FLOATS + SIGNED, unary(), 0),
    "Abs": (REALS, unary(), 0),
    "Reciprocal": (FLOATS, unary(), 1e-6),
    "Sqrt": (FLOATS, unary(0, 100), 1e-6),
    "Exp": (FLOATS, unary(), 2e-6),
    "Log": (FLOATS, unary(0, 100), 2e-6),
    "Pow": (FLOATS + ["int32", "int64"], binary(0.5, 4, special=False, right=(0, 3)), 1e-5),
    "Mod": (INTEGERS + ["float32", "float64"], mod, 0),
    "Sign": (REALS, unary(special=False), 0),  # the sign of NaN is unspecified
    "Floor": (FLOATS, unary(), 0),
    "Ceil": (FLOATS, unary(), 0),
    "Round": (FLOATS, unary(), 0),
    "Clip": (REALS, clip, 0),
    "Min": (REALS, variadic, 0),
    "Max": (REALS, variadic, 0),
    "Sum": (FLOATS, variadic, 1e-6),
    "Mean": (FLOATS, variadic, 1e-6),
    "Relu": (FLOATS + SIGNED, unary(), 0),
    "Tanh": (FLOATS, unary(), 5e-6),
    "Sigmoid": (FLOATS, unary(), 5e-6),
    "Erf": (FLOATS, unary(), 5e-6),
    "Sin": (FLOATS, unary(special=False), 5e-6),
    "Cos": (FLOATS, unary(special=False), 5e-6),
    "And": (["bool"], binary(), 0),
    "Or": (["bool"], binary(), 0),
    "Xor": (["bool"], binary(), 0),
    "Not": (["bool"], unary(), 0),
    "Equal": (EVERYTHING, binary(-2, 2), 0),
    "Greater": (REALS, binary(-2, 2), 0),
    "GreaterOrEqual": (REALS, binary(-2, 2), 0),
    "Less": (REALS, binary(-2, 2), 0),
    "LessOrEqual": (REALS, binary(-2, 2), 0),
    "BitwiseAnd": (INTEGERS, binary(whole_range=True), 0),
    "BitwiseOr": (INTEGERS, binary(whole_range=True), 0),
    "BitwiseXor": (INTEGERS, binary(whole_range=True), 0),
    "BitwiseNot": (INTEGERS, unary(whole_range=True), 0),
    "BitShift": (UNSIGNED, shift, 0),
    "Where": (EVERYTHING, where, 0),
    "Identity": (EVERYTHING, unary(), 0),
    "ReduceSum": (REALS, reduction(13), 1e-5),
    "ReduceMean": (REALS, reduction(18, empty=False), 1e-5),
    "ReduceMax": (REALS, reduction(18), 0),
    "ReduceMin": (REALS, reduction(18), 0),
    "ReduceProd": (["float32", "float64", "int32", "int64"], reduction(18, low=0.5, high=1.5), 1e-4),
    "ReduceL1": (["float32", "float64", "int32", "int64"], reduction(18), 1e-5),
    "ReduceL2": (["float32", "float64"], reduction(18), 1e-5),
    "ReduceLogSum": (["float32", "float64"], reduction(18, low=0.5), 1e-5),
    "ReduceLogSumExp": (["float32", "float64"], reduction(18), 1e-5),
    "ReduceSumSquare": (["float32", "float64", "int32", "int64"], reduction(18), 1e-5),
    "ArgMax": (REALS, arg_extreme, 0),
    "ArgMin": (REALS, arg_extreme, 0),
    "CumSum": (["float32", "float64", "int32", "int64"], cumsum, 1e-5),
    "TopK": (REALS, topk, 0),
    "Softmax": (FLOATS, softmax, 1e-5),
    "QuantizeLinear": (["float32", "float16", "int32"], quantize, 0),
    "DequantizeLinear": (["int8", "uint8", "int16", "uint16", "int32", "int4", "uint4"], dequantize, 0),
    "MatMul": (["float32", "float64", "float16", "int32", "int64", "uint32", "uint64"], matmul, 1e-4),
    "Gemm": (["float32", "float64", "float16", "int32", "int64"], gemm, 1e-4),
    "Conv": (["float32", "float64", "float16"], conv, 1e-4),
    "LSTM": (["float32"], lstm, 1e-4),
    "Shape": (EVERYTHING, shape_of, 0),
    "Size": (EVERYTHING, size, 0),
    "Reshape": (EVERYTHING, reshape, 0),
    "Squeeze": (EVERYTHING, squeeze, 0),
    "Unsqueeze": (EVERYTHING, unsqueeze, 0),
    "Flatten": (EVERYTHING, flatten, 0),
    "Transpose": (EVERYTHING, transpose, 0),
    "Concat": (EVERYTHING, concat, 0),
    "Split": (EVERYTHING, split, 0),
    "Slice": (EVERYTHING, slice_, 0),
    "Gather": (EVERYTHING, gather, 0),
    "Expand": (EVERYTHING, expand, 0),
    "Tile": (EVERYTHING, tile, 0),
    "Pad": (EVERYTHING, pad, 0),
    "Trilu": ([d for d in EVERYTHING if d != "string"], trilu, 0),  # the reference evaluator writes the number 0 among strings
    "Range": (["float32", "float64", "int16", "int32", "int64"], range_, 1e-6),
    "NonZero": (["float32", "float64", "int32", "int64", "uint8", "bool"], nonzero, 0),
    "Compress": (EVERYTHING, compress, 0),
    "ReverseSequence": (EVERYTHING, reverse_sequence, 0),
    "TensorScatter": (EVERYTHING, tensor_scatter, 0),
    "NonMaxSuppression": (["float32"], non_max_suppression, 0),
    "MatMulInteger": (BYTES, matmul_integer, 0),
    "ConvInteger": (BYTES, conv_integer, 0),
    "QLinearMatMul": (BYTES, q_linear_matmul, 0),
    "QLinearConv": (BYTES, q_linear_conv, 0),
    "ConvTranspose": (["float32", "float64", "float16"], conv_transpose, 1e-4),
    "MaxUnpool": (["float32", "float64"], max_unpool, 0),
    "Det": (["float32", "float64"], det, 1e-3),
    "LRN": (["float32"], lrn, 1e-5),
    "GridSample": (["float32", "float64"], grid_sample, 1e-3),
    "AffineGrid": (["float32", "float64"], affine_grid, 1e-5),
    "LpPool": (["float32"], lp_pool, 1e-5),
    "DFT": (["float32", "float64"], dft, 1e-5),
    "STFT": (["float32", "float64"], stft, 1e-5),
    "MelWeightMatrix": (["int64"], mel_weight_matrix, 1e-5),
    "RoiAlign": (["float32", "float64"], roi_align, 1e-4),
    "MaxRoiPool": (["float32"], max_roi_pool, 0),
    "RegexFullMatch": (["string"], regex_full_match, 0),
    "TfIdfVectorizer": (["int32", "int64", "string"], tf_idf_vectorizer, 0),
    "DeformConv": (["float32", "float64"], deform_conv, 1e-4),
    "StringConcat": (["string"], string_concat, 0),
    "StringSplit": (["string"], string_split, 0),
    "StringNormalizer": (["string"], string_normalizer, 0),
    "Resize": ([*FLOATS, "int32", "uint8", "string", "bool"], resize, 1e-4),
}
