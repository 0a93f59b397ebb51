"""Cases for the differential test of ops (op_cases.py): shapes, movement of elements, selections."""

import numpy as np
import op_inputs
from op_inputs import EVERYTHING, draw, dtype_of, i64


def shape_of(rng, dtype, opset):
    for shape in op_inputs.SHAPES:
        yield [draw(rng, dtype, shape)], {}, 1
    if opset >= 15:
        for start, end in ((1, None), (0, 2), (-2, -1), (5, 9), (-9, 2)):
            attributes = {"start": start} if end is None else {"start": start, "end": end}
            yield [draw(rng, dtype, (2, 3, 4))], attributes, 1


def size(rng, dtype, opset):
    for shape in op_inputs.SHAPES:
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


OPS = {
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
}
