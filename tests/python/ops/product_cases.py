"""Cases for the differential test of ops (op_cases.py): products, convolutions, quantized ones among them, LSTM, determinants."""

import numpy as np
import onnx
from op_inputs import FLOATS, draw, dtype_of


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


def det(rng, dtype, opset):
    for shape in ((1, 1), (3, 3), (2, 4, 4), (2, 0, 5, 5), (40, 40)):
        yield [draw(rng, dtype, shape, -1, 1, special=False)], {}, 1


# ---- quantized -------------------------------------------------------------------------------------------


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


OPS = {
    "QuantizeLinear": (["float32", "float16", "int32"], quantize, 0),
    "DequantizeLinear": (["int8", "uint8", "int16", "uint16", "int32", "int4", "uint4"], dequantize, 0),
    "MatMul": (["float32", "float64", "float16", "int32", "int64", "uint32", "uint64"], matmul, 1e-4),
    "Gemm": (["float32", "float64", "float16", "int32", "int64"], gemm, 1e-4),
    "Conv": (["float32", "float64", "float16"], conv, 1e-4),
    "LSTM": (["float32"], lstm, 1e-4),
    "MatMulInteger": (BYTES, matmul_integer, 0),
    "ConvInteger": (BYTES, conv_integer, 0),
    "QLinearMatMul": (BYTES, q_linear_matmul, 0),
    "QLinearConv": (BYTES, q_linear_conv, 0),
    "ConvTranspose": (["float32", "float64", "float16"], conv_transpose, 1e-4),
    "Det": (["float32", "float64"], det, 1e-3),
    "DeformConv": (["float32", "float64"], deform_conv, 1e-4),
}
