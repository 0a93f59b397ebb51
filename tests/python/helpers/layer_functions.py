"""What each layer other than a loop or conditional boundary computes, in NumPy: the functions f of the formal semantics."""

from __future__ import annotations

import numpy as np

from rondel import network as trt


def apply(layer, inputs):
    """The layer's outputs for these inputs: an array, or a list of arrays."""
    for kind, function in FUNCTIONS.items():
        if isinstance(layer, kind):
            return function(layer, *inputs)
    raise NotImplementedError(f"layer {layer.name} ({type(layer).__name__}) is not known to the tests' NumPy")


def constant(layer):
    return np.asarray(layer.weights).reshape(tuple(layer.shape))


def divide(a, b):
    if a.dtype.kind == "f":
        return a / b
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


ELEMENTWISE = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "SUB": np.subtract,
    "DIV": divide,
    "POW": np.power,
    "FLOOR_DIV": np.floor_divide,
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "LESS": np.less,
}
UNARY = {
    "NEG": np.negative,
    "ABS": np.abs,
    "NOT": np.logical_not,
    "SIGN": np.sign,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "SQRT": np.sqrt,
    "EXP": np.exp,
    "LOG": np.log,
}
ACTIVATION = {
    "RELU": lambda layer, x: np.maximum(x, x.dtype.type(0)),
    "CLIP": lambda layer, x: np.clip(x, x.dtype.type(layer.alpha), x.dtype.type(layer.beta)),
    "TANH": lambda layer, x: np.tanh(x),
    "SIGMOID": lambda layer, x: (1 / (1 + np.exp(-x))).astype(x.dtype),
}
REDUCE = {"SUM": np.sum, "PROD": np.prod, "MAX": np.max, "MIN": np.min}


def axes_in(mask, rank):
    return tuple(k for k in range(rank) if mask >> k & 1)


def reduce(layer, x):
    options = {"dtype": x.dtype} if layer.op.name in ("SUM", "PROD") else {}
    return REDUCE[layer.op.name](x, axis=axes_in(layer.axes, x.ndim), keepdims=layer.keep_dims, **options)


def shuffle(layer, x, reshape=None):
    x = x.transpose(first) if (first := order(layer.first_transpose, x.ndim)) else x
    extents = layer.reshape_dims if reshape is None else reshape.tolist()
    if extents is not None:
        keep = layer.zero_is_placeholder
        x = x.reshape([x.shape[k] if e == 0 and keep else int(e) for k, e in enumerate(extents)])
    return x.transpose(second) if (second := order(layer.second_transpose, x.ndim)) else x


def order(permutation, rank):
    return None if permutation is None else tuple(permutation)[:rank]


def slice_(layer, x):
    at = zip(layer.start, layer.shape, layer.stride, x.shape, strict=True)
    for axis, (start, extent, stride, _) in enumerate(at):
        x = np.take(x, [start + stride * k for k in range(extent)], axis)
    return x


def product(layer, a, b):
    def operand(x, op):
        return x.swapaxes(-1, -2) if op == trt.MatrixOperation.TRANSPOSE else x

    a, b = operand(a, layer.op0), operand(b, layer.op1)
    vectors = (layer.op0 == trt.MatrixOperation.VECTOR, layer.op1 == trt.MatrixOperation.VECTOR)
    made = (a[..., None, :] if vectors[0] else a) @ (b[..., :, None] if vectors[1] else b)
    made = made[..., 0] if vectors[1] else made
    return made[..., 0, :] if vectors[0] and not vectors[1] else made[..., 0] if all(vectors) else made


def cast(layer, x):
    to = np.dtype(trt.nptype(layer.to_type))
    return x != 0 if to == np.bool_ else x.astype(to)


def softmax(layer, x):
    axes = axes_in(layer.axes, x.ndim)
    shifted = np.exp(x - x.max(axes, keepdims=True))
    return shifted / shifted.sum(axes, keepdims=True)


FUNCTIONS = {
    trt.IConstantLayer: constant,
    trt.IElementWiseLayer: lambda layer, a, b: ELEMENTWISE[layer.op.name](a, b),
    trt.IUnaryLayer: lambda layer, x: UNARY[layer.op.name](x),
    trt.IActivationLayer: lambda layer, x: ACTIVATION[layer.type.name](layer, x),
    trt.IReduceLayer: reduce,
    trt.IShuffleLayer: shuffle,
    trt.ISliceLayer: slice_,
    trt.IConcatenationLayer: lambda layer, *xs: np.concatenate(xs, layer.axis),
    trt.IGatherLayer: lambda layer, x, k: np.take(x, k, layer.axis),
    trt.ISelectLayer: lambda layer, c, a, b: np.where(c, a, b),
    trt.ICastLayer: cast,
    trt.IIdentityLayer: lambda layer, x: x,
    trt.IShapeLayer: lambda layer, x: np.array(x.shape, np.int64),
    trt.IMatrixMultiplyLayer: product,
    trt.ISoftMaxLayer: softmax,
    trt.IUnsqueezeLayer: lambda layer, x, axes: np.expand_dims(x, tuple(axes.reshape(-1).tolist())),
    trt.ISqueezeLayer: lambda layer, x, axes: np.squeeze(x, tuple(axes.reshape(-1).tolist())),
}
