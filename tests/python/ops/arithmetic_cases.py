"""Cases for the differential test of ops (op_cases.py): element by element, reductions, searches along an axis."""

import numpy as np
import op_inputs
from op_inputs import EVERYTHING, FLOATS, INTEGERS, REALS, SIGNED, UNSIGNED, draw, extremes, i64


def unary(low=-4.0, high=4.0, special=True, whole_range=False, **attributes):
    def cases(rng, dtype, opset):
        for shape in op_inputs.SHAPES:
            x = extremes(rng, dtype, shape) if whole_range else draw(rng, dtype, shape, low, high, special)
            yield [x], attributes, 1

    return cases


def binary(low=-4.0, high=4.0, special=True, whole_range=False, nonzero=False, right=None, attributes=lambda d: {}):
    def cases(rng, dtype, opset):
        for a_shape, b_shape in op_inputs.PAIRS:
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
    for shape in op_inputs.SHAPES:
        x = draw(rng, dtype, shape, special=False)  # infinities are unspecified if a bound is missing
        if opset < 11:
            yield [x], {"min": -1.0, "max": 2.0}, 1
            continue
        low, high = (np.array(v).astype(x.dtype) for v in (1, 3))
        yield [x, low, high], {}, 1
        yield [x, None, high], {}, 1
        yield [x, low], {}, 1


def mod(rng, dtype, opset):
    for a_shape, b_shape in op_inputs.PAIRS:
        a, b = draw(rng, dtype, a_shape, -50, 50, False), draw(rng, dtype, b_shape, -9, 9, False)
        b = np.where(b == 0, np.ones_like(b), b)
        yield [a, b], {"fmod": 1}, 1
        if dtype in INTEGERS:
            yield [a, b], {"fmod": 0}, 1


def shift(rng, dtype, opset):
    for a_shape, b_shape in op_inputs.PAIRS:
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
}
