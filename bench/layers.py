"""Single ops at the sizes that they have in models; rows of bench/models.py, whose other ops are small unless they work element by element."""

import numpy as np

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape, np.float32)


def integers(*values):
    return np.array(values, np.int64)


def codes(dtype, *shape):
    """Numbers that stand for quantized ones."""
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape).astype(dtype)


QUANTIZED = np.array(0.1, np.float32), np.array(128, np.uint8)  #: scale and zero point
QUANTIZED_WEIGHTS = np.array(0.1, np.float32), np.array(0, np.int8)


def quantized_conv(x, w, **attributes):
    return [codes(np.uint8, *x), *QUANTIZED, codes(np.int8, *w), *QUANTIZED_WEIGHTS, *QUANTIZED], attributes


#: Of an op: its inputs, and its attributes.
LAYERS = {
    "Transpose": [
        ([floats(256, 256)], {"perm": [1, 0]}),
        ([floats(1024, 1024)], {"perm": [1, 0]}),
        ([floats(4, 12, 128, 64)], {"perm": [0, 1, 3, 2]}),
        ([floats(4, 128, 12, 64)], {"perm": [0, 2, 1, 3]}),
        ([floats(8, 32, 56, 56)], {"perm": [0, 2, 3, 1]}),
        ([codes(np.uint8, 1, 224, 224, 3)], {"perm": [0, 3, 1, 2]}),
    ],
    "SpaceToDepth": [([floats(1, 16, 64, 64)], {"blocksize": 2})],
    "Sigmoid": [([floats(64, 256, 7, 7)], {}), ([floats(8, 64, 56, 56)], {})],
    "BatchNormalization": [
        ([floats(64, 256, 7, 7), *(floats(256) for _ in range(3)), abs(floats(256))], {}),
        ([floats(8, 64, 28, 28), *(floats(64) for _ in range(3)), abs(floats(64))], {}),
    ],
    "ReduceSum": [
        ([floats(8, 64, 28, 28), integers(2, 3)], {}),
        ([floats(8, 64, 28, 28), integers(0, 2, 3)], {}),
        ([floats(8, 64, 7, 7), integers(0, 2, 3)], {}),
    ],
    "Pow": [([abs(floats(64, 512)), np.array(exponent, np.float32)], {}) for exponent in (2, 3, 0.5, 2.5)],
    "Cast": [([floats(64, 512)], {"to": to}) for to in (2, 6, 7)],  # to u8, i32, i64
    "QuantizeLinear": [([floats(64, 512), *QUANTIZED], {})],
    "DequantizeLinear": [([codes(np.uint8, 64, 512), *QUANTIZED], {})],
    "QLinearMatMul": [([codes(np.uint8, 16, 256), *QUANTIZED, codes(np.int8, 256, 256), *QUANTIZED_WEIGHTS, *QUANTIZED], {})],
    "MatMulInteger": [
        ([codes(np.uint8, 128, 768), codes(np.int8, 768, 768), QUANTIZED[1]], {}),
        ([codes(np.uint8, 1, 768), codes(np.int8, 768, 3072), QUANTIZED[1]], {}),
    ],
    "QLinearConv": [
        quantized_conv((1, 32, 28, 28), (32, 32, 3, 3), pads=[1, 1, 1, 1]),
        quantized_conv((1, 256, 14, 14), (256, 256, 3, 3), pads=[1, 1, 1, 1]),
        quantized_conv((1, 64, 56, 56), (64, 64, 1, 1)),
        quantized_conv((1, 64, 28, 28), (64, 1, 3, 3), pads=[1, 1, 1, 1], group=64),
    ],
    "Tile": [([floats(8, 1, 64), integers(1, 32, 1)], {}), ([floats(4, 50, 30), integers(1, 1, 3)], {})],
    "Conv": [
        ([floats(1, 64, 28, 28), floats(64, 64, 3, 3)], {"pads": [1, 1, 1, 1]}),
        ([floats(1, 64, 28, 28), floats(64, 1, 3, 3)], {"pads": [1, 1, 1, 1], "group": 64}),
    ],
    "Gemm": [([floats(32, 256), floats(128, 256), floats(128)], {"transB": 1})],
}


def title(op, inputs, attributes):
    """Op, what it reads (the numbers if they are few, else the shape), attributes."""

    def shown(x):
        return f"{x:g}" if x.ndim == 0 else str(x.tolist() if x.size <= 3 else list(x.shape)).replace(" ", "")

    return " ".join([op, *map(shown, inputs), *(f"{name} {value}" for name, value in attributes.items())])
