"""Cases of ONNX Runtime's own ops: inputs, attributes and how exactly the results must agree."""

from dataclasses import dataclass, field, replace

import numpy as np

RNG = np.random.default_rng(7)


@dataclass
class Case:
    op: str
    feeds: dict  # name -> array, or None for an input that is left out
    outputs: tuple = ("out",)  # "": an output that is left out
    attributes: dict = field(default_factory=dict)
    domain: str = "com.microsoft"
    steps: int = 0  # quantised results may differ by this much
    tolerance: float = 2e-5

    def __or__(self, feeds):
        """The case with other inputs of these names."""
        return replace(self, feeds=self.feeds | feeds)

    def __str__(self):
        attributes = ",".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op}({','.join(k for k, v in self.feeds.items() if v is not None)}){attributes}"


def case(op, feeds, outputs=("out",), *, domain="com.microsoft", steps=0, tolerance=2e-5, **attributes):
    return Case(op, feeds, outputs, attributes, domain, steps, tolerance)


def real(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def bytes_(dtype, *shape, least=None, most=None):
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min if least is None else least, (limits.max if most is None else most) + 1, shape).astype(dtype)


def weights(dtype, *shape):
    """Of 7 bits if signed: ONNX Runtime adds pairs of products of u8 and i8 in 16 bits on processors without VNNI."""
    return bytes_(dtype, *shape, least=-64, most=63) if dtype == np.int8 else bytes_(dtype, *shape)


def scale(value):
    return np.array(value, np.float32)


def int32(*values):
    return np.array(values, np.int32)


def halved(feeds):
    return {k: v.astype(np.float16) if v is not None and v.dtype == np.float32 else v for k, v in feeds.items()}


X = real(2, 3, 8)

ACTIVATIONS = [
    case("Gelu", {"x": X}),
    case("FastGelu", {"x": X}),
    case("FastGelu", {"x": X, "bias": real(8)}),
    case("BiasGelu", {"x": X, "bias": real(8)}),
    case("QuickGelu", {"x": X}),
    case("QuickGelu", {"x": X, }, alpha=0.7),
]

FUSED = ["Relu", "Sigmoid", "Tanh", ("LeakyRelu", 0.2), ("Clip", -0.5, 0.5), ("HardSigmoid", 0.3, 0.4)]


def fused_conv(activation):
    name, *parameters = (activation,) if isinstance(activation, str) else activation
    attributes = {"activation_params": list(parameters)} if parameters else {}
    return case("FusedConv", {"x": real(1, 3, 6, 6), "w": real(4, 3, 3, 3), "b": real(4)}, activation=name, pads=[1, 1, 1, 1], **attributes)


CONV = {"x": real(1, 4, 6, 6), "w": real(4, 2, 3, 3)}
CONVOLUTIONS = [
    *map(fused_conv, FUSED),
    case("FusedConv", {**CONV, "b": None, "z": real(1, 4, 2, 2)}, activation="Relu", group=2, strides=[2, 2]),
    case("FusedConv", {**CONV, "b": real(4), "z": real(1, 4, 2, 2)}, group=2, dilations=[2, 2]),
    case("FusedConv", CONV, activation="HardSwish", group=2),
]

GEMM = {"a": real(3, 4), "b": real(4, 5), "c": real(5)}
GEMMS = [
    *(case("FusedGemm", GEMM, activation=name) for name in ("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign")),
    *(case("FusedGemm", GEMM, activation=name, activation_alpha=0.3) for name in ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu")),
    case("FusedGemm", GEMM, activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4),
    case("FusedGemm", GEMM, activation="Selu", activation_alpha=1.5, activation_gamma=1.1),
    case("FusedGemm", {"a": real(4, 3), "b": real(5, 4)}, activation="Relu", transA=1, transB=1, alpha=0.5),
    case("FusedGemm", GEMM, activation="Relu", alpha=0.5, beta=2.0),
]

MATMULS = [
    case("FusedMatMul", {"a": real(2, 3, 4), "b": real(2, 4, 5)}, alpha=0.5),
    case("FusedMatMul", {"a": real(2, 4, 3), "b": real(4, 5)}, transA=1),
    case("FusedMatMul", {"a": real(2, 3, 4), "b": real(2, 5, 4)}, transB=1, alpha=2.0),
    case("FusedMatMul", {"a": real(4, 3), "b": real(5, 4)}, transA=1, transB=1),
    case("FusedMatMul", {"a": real(3, 2, 6, 4), "b": real(2, 6, 4, 5)}, transBatchA=1),
    case("FusedMatMul", {"a": real(2, 6, 3, 4), "b": real(5, 2, 6, 4)}, transBatchB=1, transB=1),
    case("FusedMatMul", {"a": real(4, 2, 6, 3), "b": real(4, 2, 6, 5)}, transBatchA=1, transBatchB=1, transA=1),
    case("FusedMatMul", {"a": real(3, 4, dtype=np.float64), "b": real(4, 5, dtype=np.float64)}, alpha=0.5),
    case("TransposeMatMul", {"a": real(4, 3), "b": real(4, 5)}, transA=1, alpha=0.5),
]

INVERSES = [
    case("Inverse", {"x": real(2, 4, 4)}, tolerance=2e-4),
    case("Inverse", {"x": real(3, 3, dtype=np.float64)}),
    case("Inverse", {"x": real(2, 2, 2, dtype=np.float16)}, tolerance=5e-2),
    *(case("Inverse", {"x": (np.eye(size) * number).astype(dtype)}) for size, number, dtype in ((16, 1e-25, "float32"), (16, 1e25, "float32"), (8, 1e-45, "float64"), (4, 1e-90, "float64"), (2, 1e300, "float64"), (1, 0.5, "float64"))),
]


def n_bits(bits, columns, block, zero=None, dtype=np.float32, **attributes):
    rows, blocks = 5, -(-columns // block)
    packed = {
        "a": real(2, 3, columns, dtype=dtype),
        "b": bytes_(np.uint8, rows, blocks, block * bits // 8),
        "scales": real(rows * blocks, dtype=dtype),
        "zero": {"bytes": bytes_(np.uint8, rows * -(-blocks * bits // 8)), "real": real(rows, blocks, dtype=dtype)}.get(zero),
        "g_idx": None,
        "bias": real(rows, dtype=dtype) if zero else None,
    }
    tolerance = 2e-5 if dtype == np.float32 else 3e-2
    return case("MatMulNBits", packed, tolerance=tolerance, K=columns, N=rows, bits=bits, block_size=block, **attributes)


FEW_BITS = [
    *(n_bits(bits, 40, 16, zero) for bits in (2, 4, 8) for zero in (None, "bytes")),
    n_bits(4, 64, 32, "real"),
    n_bits(4, 48, 16, "bytes", np.float16),
    n_bits(4, 64, 32, "bytes", accuracy_level=1),
    *(
        case("MatMulNBits", {**n_bits(4, columns, 16).feeds, "g_idx": bytes_(np.int32, given, least=0, most=1)}, K=columns, N=5, bits=4, block_size=16)
        for columns, given in ((32, 32), (40, 48))
    ),
    case("MatMulNBits", n_bits(4, 40, 16, "bytes").feeds | {"scales": real(5, 3), "zero": bytes_(np.uint8, 5, 2)}, K=40, N=5, block_size=16),
]



def bnb4(kind, rows, columns, block):
    numbers = rows * columns
    feeds = {"a": real(3, columns), "b": bytes_(np.uint8, -(-numbers // 2)), "scales": np.abs(real(-(-numbers // block)))}
    return case("MatMulBnb4", feeds, K=columns, N=rows, block_size=block, quant_type=kind)


def block_table(bits, zero=False, width=64, **attributes):
    """Rows of numbers that are packed in bytes."""
    blocks = width // 16
    feeds = {"data": bytes_(np.uint8, 6, width * bits // 8), "at": np.array([[0, 5], [2, 2]]), "scales": real(6, blocks)}
    if zero:
        feeds["zero"] = bytes_(np.uint8, 6, -(-blocks * bits // 8))
    return case("GatherBlockQuantized", feeds, bits=bits, block_size=16, gather_axis=0, quantize_axis=1, **attributes)


FEW_BITS += [
    *(bnb4(kind, 5, 32, 16) for kind in (0, 1)),
    bnb4(1, 3, 21, 16),
    *(block_table(bits, zero) for bits in (2, 4, 8) for zero in (False, True)),
    block_table(4, True, 48),
]

LAYER = {"x": X, "skip": real(2, 3, 8), "gamma": real(8)}
IDS = bytes_(np.int32, 2, 4, least=0, most=9)
EMBEDDING = {
    "ids": IDS,
    "segments": IDS % 2,
    "words": real(10, 8),
    "positions": real(6, 8),
    "segment_table": real(2, 8),
    "gamma": real(8),
    "beta": real(8),
}


def quantised_embedding(of, **more):
    tables = {k: weights(of, *v.shape) for k, v in EMBEDDING.items() if v.dtype == np.float32}
    order = ["ids", "segments", "words", "positions", "segment_table", "gamma", "beta"]
    inputs = {k: tables.get(k, EMBEDDING[k]) for k in order} | {"mask": None}
    inputs |= {f"{k}_scale": scale(0.01 * (i + 1)) for i, k in enumerate(tables)}
    inputs |= {f"{k}_zero": np.array(3 * i, of) for i, k in enumerate(tables)}
    return case("QEmbedLayerNormalization", inputs | more, ("out", "lengths"), epsilon=1e-3)


NO_SEGMENTS = dict.fromkeys(["segments", "segment_table", "segment_table_scale", "segment_table_zero"])
NORMALIZATIONS = [
    case("SkipLayerNormalization", LAYER),
    case("SkipLayerNormalization", {**LAYER, "beta": real(8), "bias": real(8)}, ("out", "", "", "sum"), epsilon=1e-3),
    case("SkipLayerNormalization", {**LAYER, "skip": real(3, 8), "beta": None, "bias": real(8)}),
    case("SkipLayerNormalization", halved(LAYER), tolerance=2e-3),
    case("SkipSimplifiedLayerNormalization", LAYER),
    case("SkipSimplifiedLayerNormalization", {**LAYER, "bias": real(8)}, ("out", "", "", "sum"), epsilon=1e-3),
    case("SkipSimplifiedLayerNormalization", halved(LAYER), tolerance=2e-3),
    case("SimplifiedLayerNormalization", {"x": X, "gamma": real(8)}, domain=""),
    case("SimplifiedLayerNormalization", {"x": X, "gamma": real(3, 8)}, domain="", axis=1, epsilon=1e-2),
    case("EmbedLayerNormalization", EMBEDDING, ("out", "lengths")),
    case("EmbedLayerNormalization", {**EMBEDDING, "mask": int32([1, 1, 1, 0], [1, 0, 0, 0])}, ("out", "lengths", "sum"), epsilon=1e-3),
    case("EmbedLayerNormalization", {**EMBEDDING, "mask": None, "at": bytes_(np.int32, 2, 4, least=0, most=5)}, ("out", "lengths")),
    case("EmbedLayerNormalization", {**EMBEDDING, "segments": None, "segment_table": None}, ("out", "lengths")),
    *(quantised_embedding(of, mask=int32([1, 1, 1, 0], [1, 0, 0, 0])) for of in (np.uint8, np.int8)),
    quantised_embedding(np.uint8, **NO_SEGMENTS),
]

HEADS, SIZE = 2, 4
WIDTH = HEADS * SIZE


def attention(**more):
    inputs = {"x": X[..., :5], "w": real(5, 3 * WIDTH), "b": real(3 * WIDTH), "mask": None, "past": None, "bias": None}
    return inputs | more


MASK_2D, MASK_3D = int32([1, 1, 0], [0, 1, 1]), bytes_(np.int32, 2, 3, 3, least=0, most=1)
PAST = real(2, 2, HEADS, 2, SIZE)
LEFT_PADDED, LEAST = int32([0, 0, 1], [0, 1, 1]), float(np.finfo(np.float32).min)
ATTENTIONS = [
    case("Attention", attention(), num_heads=HEADS),
    case("Attention", attention(mask=int32(2, 3)), num_heads=HEADS),
    case("Attention", attention(mask=int32(2, 3, 1, 0)), num_heads=HEADS, mask_filter_value=-50.0),
    case("Attention", attention(mask=MASK_2D), num_heads=HEADS, unidirectional=1),
    case("Attention", attention(mask=MASK_3D), num_heads=HEADS, scale=0.3),
    case("Attention", attention(mask=int32([0, 0, 0], [1, 1, 1])), num_heads=HEADS),
    case("Attention", attention(bias=real(1, HEADS, 3, 3)), num_heads=HEADS),
    case("Attention", attention(bias=real(2, 1, 3, 3), mask=int32(2, 3)), num_heads=HEADS),
    case("Attention", attention(past=PAST), ("out", "present"), num_heads=HEADS, unidirectional=1),
    case("Attention", attention(past=PAST, mask=bytes_(np.int32, 2, 5, least=0, most=1)), ("out", "present"), num_heads=HEADS),
    case("Attention", attention(), ("out", "present"), num_heads=HEADS),
    case("Attention", attention(w=real(5, 28), b=real(28)), num_heads=HEADS, qkv_hidden_sizes=[8, 8, 12]),
    *(case("Attention", attention(mask=LEFT_PADDED), num_heads=HEADS, unidirectional=1, mask_filter_value=value) for value in (LEAST, -np.inf)),
]


def heads(length=5, **more):
    inputs = {"q": X, "k": real(2, length, WIDTH), "v": real(2, length, WIDTH)}
    return inputs | dict.fromkeys(["b", "mask", "bias", "past_k", "past_v"]) | more


CACHE = {"past_k": real(2, HEADS, 2, SIZE), "past_v": real(2, HEADS, 2, SIZE)}
PRESENT = ("out", "present_k", "present_v")
MULTI_HEAD = [
    case("MultiHeadAttention", heads(), num_heads=HEADS),
    case("MultiHeadAttention", heads(v=real(2, 5, 12), b=real(28)), num_heads=HEADS, scale=0.2),
    case("MultiHeadAttention", heads(b=real(24)), PRESENT, num_heads=HEADS),
    case("MultiHeadAttention", heads(mask=int32([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])), num_heads=HEADS),
    case("MultiHeadAttention", heads(mask=bytes_(np.int32, 2, 3, 5, least=0, most=1)), num_heads=HEADS),
    case("MultiHeadAttention", heads(mask=int32(3, 4)), num_heads=HEADS, mask_filter_value=-30.0),
    case("MultiHeadAttention", heads(bias=real(1, HEADS, 3, 5)), num_heads=HEADS),
    case("MultiHeadAttention", heads(bias=real(2, 1, 3, 5), mask=int32([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])), num_heads=HEADS),
    case("MultiHeadAttention", heads(3), num_heads=HEADS, unidirectional=1),
    case("MultiHeadAttention", heads(3, bias=real(2, HEADS, 3, 5), **CACHE), PRESENT, num_heads=HEADS, unidirectional=1),
    case("MultiHeadAttention", heads(k=real(2, HEADS, 5, SIZE), v=real(2, HEADS, 5, SIZE)), num_heads=HEADS),
    case("MultiHeadAttention", heads(k=real(2, HEADS, 5, SIZE), v=real(2, HEADS, 5, SIZE), b=real(24)), num_heads=HEADS),
    case("MultiHeadAttention", heads(3, mask=LEFT_PADDED), num_heads=HEADS, unidirectional=1, mask_filter_value=LEAST),
]


def grouped(batch=2, length=3, past=None, last=None, total=None, packed=False, **more):
    """`last`: the position of the last key of each batch element."""
    head, kv = 16, 2
    new = [None, None] if packed else [real(batch, length, kv * head), real(batch, length, kv * head)]
    old = [None, None] if past is None else [real(batch, kv, past, head), real(batch, kv, past, head)]
    inputs = {
        "q": real(batch, length, (8 if packed else 4) * head),
        "k": new[0],
        "v": new[1],
        "past_k": old[0],
        "past_v": old[1],
        "last": int32(*(last or [length - 1] * batch)),
        "total": int32(total or length),
        "cos": real(12, head // 2),
        "sin": real(12, head // 2),
        "at": None,
        "bias": None,
        "sink": None,
    }
    return inputs | more


def gqa(feeds, **attributes):
    tolerance = 2e-3 if feeds["q"].dtype == np.float16 else 2e-5
    return case("GroupQueryAttention", feeds, PRESENT, tolerance=tolerance, num_heads=4, kv_num_heads=2, **attributes)


def masked_bias(rows, columns=None):
    """Of the first batch element, the first query attends to no key."""
    bias = real(2, 1, rows, columns or rows)
    bias[0, :, 0] = -np.inf
    return bias


GROUPED = [
    gqa(grouped()),
    gqa(grouped(packed=True), scale=0.3),
    gqa(grouped(), do_rotary=1),
    gqa(grouped(packed=True), do_rotary=1, rotary_interleaved=1),
    gqa(grouped(length=1, past=4, last=[4, 4], total=5), do_rotary=1),
    gqa(grouped(length=1, past=4, last=[2, 4], total=5), do_rotary=1),
    gqa(grouped(length=1, past=8, last=[2, 4], total=5), do_rotary=1),
    gqa(grouped(batch=1, past=4, last=[6], total=7), do_rotary=1),
    gqa(grouped(past=0), do_rotary=1),
    gqa(grouped(past=8), do_rotary=1),
    gqa(grouped(length=5), local_window_size=2),
    gqa(grouped(length=5), softcap=1.5),
    gqa(grouped(length=5), smooth_softmax=1),
    gqa(grouped(length=5, sink=real(4))),
    gqa(grouped(length=5, bias=real(1, 1, 5, 5))),
    gqa(grouped(length=5, bias=real(2, 4, 5, 5)), softcap=2.0),
    gqa(grouped(length=1, past=8, last=[4, 4], total=5, bias=real(2, 1, 1, 5))),
    gqa(grouped(at=np.array([[4, 7, 2], [1, 2, 3]])), do_rotary=1),
    gqa(grouped(length=1, past=4, last=[2, 4], total=5, at=np.array([[3], [7]])), do_rotary=1),
    gqa(grouped(), causal=0),
    gqa(grouped(), softcap=-1.0),
    gqa(grouped(length=5, bias=masked_bias(5))),
    gqa(grouped(length=1, past=8, last=[4, 4], total=5, bias=masked_bias(1, 5))),
    gqa(halved(grouped())),
]


STATE = ("out", "present")


def linear(heads=(4, 2, 2), length=4, size=3, value_size=5, past=False, decay=None, beta=None, **attributes):
    """`heads`: of queries, keys and values. `decay` and `beta`: the elements of their last axes."""
    queries, keys, values = heads
    feeds = {"q": real(2, length, queries * size), "k": real(2, length, keys * size) / np.float32(2), "v": real(2, length, values * value_size)}
    feeds["past"] = real(2, values, size, value_size) if past else None
    feeds["decay"] = -np.abs(real(2, length, decay)) if decay else None
    feeds["beta"] = np.abs(real(2, length, beta)) if beta else None
    return case("LinearAttention", feeds, STATE, q_num_heads=queries, kv_num_heads=values, **attributes)


def causal_conv(x=(2, 3, 5), size=4, channels=3, past=None, bias=True, **attributes):
    feeds = {"x": real(*x), "w": real(channels, 1, size), "b": real(channels) if bias else None, "past": real(*past) if past else None}
    return case("CausalConvWithState", feeds, STATE, **attributes)


LINEAR = [
    linear(decay=6, beta=2),
    linear(decay=2, beta=1, past=True, scale=0.3),
    linear(update_rule="linear", past=True),
    linear(update_rule="gated", decay=2),
    linear(update_rule="delta", beta=2, length=1, past=True),
    linear(heads=(4, 1, 2), decay=6, beta=2),
    linear(heads=(2, 4, 4), decay=4, beta=4, past=True),
    linear(heads=(2, 1, 4), decay=4, beta=4),
    linear(decay=6, beta=2, length=0, past=True),
    causal_conv(),
    causal_conv(past=(2, 3, 3), bias=False),
    causal_conv(past=(2, 3, 6), dilation=2, activation="silu"),
    causal_conv(x=(2, 3, 1), activation="swish"),
    causal_conv(x=(2, 3, 0), past=(2, 3, 3)),
    causal_conv(x=(2, 5, 2, 3), channels=6, channels_last=1),
    causal_conv(x=(2, 2, 3), past=(2, 6, 3), dilation=2, channels_last=1, activation="silu"),
    causal_conv(size=1, past=(2, 3, 0)),
]


def rotary(x, at, size=SIZE, **attributes):
    return case("RotaryEmbedding", {"x": x, "at": np.array(at), "cos": real(9, size // 2), "sin": real(9, size // 2)}, **attributes)


AT = [[0, 1, 2], [5, 3, 4]]
ROTARY = [
    rotary(X, AT),
    rotary(X, [4], interleaved=1),
    rotary(X, [4], num_heads=2),
    rotary(real(2, 3, 16), AT, interleaved=1, num_heads=2, rotary_embedding_dim=4),
    rotary(real(2, 2, 3, 8), AT, num_heads=2, rotary_embedding_dim=4),
    rotary(real(2, 2, 3, 4), AT),
]


def quantised_cases(dtype):
    low = np.iinfo(dtype).min

    def zero(value):
        return np.array(value + low, dtype)

    x = {"x": bytes_(dtype, 3, 4, 20), "x_scale": scale(0.05), "x_zero": zero(120)}
    image = {"x": bytes_(dtype, 2, 5, 5, 5), "x_scale": scale(0.05), "x_zero": zero(120), "y_scale": scale(0.03), "y_zero": zero(130)}
    b = {"b": bytes_(dtype, 20), "b_scale": scale(0.03), "b_zero": zero(130)}
    y = {"y_scale": scale(0.05), "y_zero": zero(100)}
    chances = {"y_scale": scale(1 / 256), "y_zero": zero(0)}
    pool = dict(kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    conv = {
        "x": bytes_(dtype, 1, 4, 4, 4),
        "x_scale": scale(0.02),
        "x_zero": zero(120),
        "w": weights(np.int8, 3, 4, 2, 2),
        "w_scale": scale([0.01, 0.02, 0.03]),
        "w_zero": np.zeros(3, np.int8),
        "y_scale": scale(0.5),
        "y_zero": zero(100),
        "bias": bytes_(np.int32, 3, least=-500, most=500),
    }
    yield case("QLinearAdd", x | b | y, steps=1)
    yield case("QLinearAdd", {k: v[:, :1] if v.ndim == 3 else v for k, v in x.items()} | b | y, steps=1)
    yield case("QLinearMul", x | b | y, steps=1)
    yield case("QLinearSigmoid", x | chances, steps=1)
    yield case("QLinearLeakyRelu", x | y, alpha=0.2, steps=1)
    yield case("QLinearLeakyRelu", x | y, steps=1)
    yield case("QLinearSoftmax", x | chances, opset=13, steps=1)
    yield case("QLinearSoftmax", x | chances, opset=13, axis=1, steps=1)
    yield case("QLinearSoftmax", x | chances, opset=12, axis=1, steps=1)
    for last in (0, 1):
        yield case("QLinearGlobalAveragePool", image, channels_last=last, steps=1)
        yield case("QLinearAveragePool", image, channels_last=last, **pool, steps=1)
        yield case("QLinearAveragePool", image, channels_last=last, count_include_pad=1, ceil_mode=1, **pool, steps=1)
        yield case("QLinearConv", conv, channels_last=last, pads=[1, 1, 0, 0])
    yield case("QLinearConcat", y | {"x": bytes_(dtype, 2, 3), "x_scale": scale(0.02), "x_zero": zero(120)} | {"b": bytes_(dtype, 2, 4), "b_scale": scale(0.07), "b_zero": zero(130)}, axis=1)
    yield case("QLinearWhere", {"c": np.array([True, False] * 10)} | x | b | y)
    yield case("NhwcMaxPool", {"x": bytes_(dtype, 1, 5, 5, 3)}, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 0, 0])
    for of in (np.uint8, np.int8) if dtype == np.uint8 else (np.int8,):
        a, w = bytes_(dtype, 2, 4, 6), weights(of, 6, 5)
        lists = {"scale": np.abs(real(5)), "zero": np.array([1, 2, 3, 4, 5], of)}
        yield case("MatMulIntegerToFloat", {"a": a, "w": w, "a_scale": scale(0.02), "w_scale": scale(0.03)})
        yield case("MatMulIntegerToFloat", {"a": a, "w": w, "a_scale": scale(0.02), "w_scale": lists["scale"], "a_zero": zero(120), "w_zero": lists["zero"], "bias": real(5)})
        yield case("MatMulIntegerToFloat", {"a": a[0, 0], "w": w[:, 0], "a_scale": scale([0.02]), "w_scale": scale([0.03])})
        yield case("MatMulIntegerToFloat", {"a": a[0], "w": w[:, 0], "a_scale": scale([0.02]), "w_scale": scale([0.03])})
        gemm = {"a": a[0], "a_scale": scale(0.02), "a_zero": zero(120)}
        yield case("QGemm", gemm | {"w": w, "w_scale": scale(0.03), "w_zero": np.array(3, of)})
        yield case("QGemm", gemm | {"a": a[0].T, "w": w.T, "w_scale": lists["scale"], "w_zero": lists["zero"], "c": bytes_(np.int32, 5, least=-500, most=500)}, transA=1, transB=1, alpha=0.7)
        yield case("QGemm", gemm | {"w": w, "w_scale": scale(0.03), "w_zero": np.array(3, of), "c": bytes_(np.int32, 1, 5, least=-500, most=500), "y_scale": scale(0.6), "y_zero": zero(100)}, steps=1)


def dynamic_cases(of):
    x, w = bytes_(np.uint8, 2, 3, 5), weights(of, 5, 3 * WIDTH)
    scales = {"b": real(3 * WIDTH), "x_scale": scale(0.02), "w_scale": scale(0.01), "mask": None, "x_zero": np.array(120, np.uint8), "w_zero": np.array(4, of)}
    yield case("DynamicQuantizeMatMul", {"a": X, "w": weights(of, 8, 5), "w_scale": scale(0.03)})
    yield case("DynamicQuantizeMatMul", {"a": X[0], "w": weights(of, 8, 5), "w_scale": np.abs(real(5)), "w_zero": np.array([1, 2, 3, 4, 5], of), "bias": real(5)})
    yield case("DynamicQuantizeMatMul", {"a": X[0, 0], "w": weights(of, 8), "w_scale": scale([0.03])})
    yield case("QAttention", {"x": x, "w": w} | scales, num_heads=HEADS, tolerance=1e-4)
    yield case("QAttention", {"x": x, "w": w} | scales | {"mask": int32(2, 3), "w_scale": np.abs(real(24)) / 50}, num_heads=HEADS, tolerance=1e-4)
    yield case("QAttention", {"x": x, "w": w} | scales | {"past": PAST}, ("out", "present"), num_heads=HEADS, unidirectional=1, tolerance=1e-4)


def lstm(of, directions=1, by_column=False, **more):
    hidden, inputs = 4, 3
    parameters = (directions, 4 * hidden) if by_column else (directions,)
    zeros = np.full(parameters, 0 if of == np.int8 else 120, of)
    feeds = {"x": real(4, 2, inputs), "w": weights(of, directions, inputs, 4 * hidden), "r": weights(of, directions, hidden, 4 * hidden), "b": real(directions, 8 * hidden)}
    feeds |= dict.fromkeys(["lengths", "h", "c", "p"])
    feeds |= {"w_scale": np.abs(real(*parameters)) / 100, "w_zero": zeros, "r_scale": np.abs(real(*parameters)) / 100, "r_zero": zeros}
    return feeds | more


STATES = ("out", "out_h", "out_c")
STARTS = {"h": real(1, 2, 4), "c": real(1, 2, 4), "p": real(1, 12)}
LSTMS = [
    *(case("DynamicQuantizeLSTM", lstm(of, by_column=by_column), STATES, hidden_size=4) for of in (np.uint8, np.int8) for by_column in (False, True)),
    case("DynamicQuantizeLSTM", lstm(np.uint8, 2), STATES, hidden_size=4, direction="bidirectional"),
    case("DynamicQuantizeLSTM", lstm(np.int8, **STARTS), STATES, hidden_size=4, direction="reverse"),
    case("DynamicQuantizeLSTM", lstm(np.int8, b=None), STATES, hidden_size=4, clip=2.0, input_forget=1),
    # A state that has ended is 0 there when the batch is quantised, and stays here.
    case("DynamicQuantizeLSTM", lstm(np.uint8, lengths=int32(4, 2)), STATES, hidden_size=4, tolerance=5e-3),
]

QUANTISED = [
    *quantised_cases(np.uint8),
    *quantised_cases(np.int8),
    *dynamic_cases(np.uint8),
    *dynamic_cases(np.int8),
    *LSTMS,
    case("QuantizeLinear", {"x": real(3, 4), "scale": np.abs(real(3)), "zero": bytes_(np.uint16, 3)}, axis=0),
    case("QuantizeLinear", {"x": real(3, 4), "scale": scale(0.1), "zero": np.array(3, np.int16)}),
    case("DequantizeLinear", {"x": bytes_(np.int16, 3, 4), "scale": np.abs(real(4)), "zero": bytes_(np.int16, 4)}, axis=1),
]

GRID = {"x": real(1, 2, 4, 5), "grid": real(1, 3, 2, 2)}
MOVEMENT = [
    case("Trilu", {"x": X}),
    case("Trilu", {"x": X, "k": np.array(1)}, upper=0),
    case("ExpandDims", {"x": X, "axis": np.array(1, np.int32)}),
    case("GatherND", {"x": X, "at": np.array([[0, 1], [1, 2]])}),
    case("GatherND", {"x": X, "at": int32([0, 1], [1, -2])}),
    case("GridSample", GRID),
    *(case("GridSample", GRID, mode=mode, padding_mode=padding, align_corners=1, tolerance=1e-4) for mode, padding in (("nearest", "border"), ("bicubic", "zeros"), ("bilinear", "reflection"))),
    case("Pad", {"x": X[0], "pads": np.array([[1, 0, 0, 2]]), "value": scale(2)}),
    case("Pad", {"x": X[0], "pads": np.array([1, 0, 0, 2])}, mode="reflect"),
    case("Range", {"start": np.array(1), "end": np.array(9), "step": np.array(3)}),
    case("Range", {"start": scale(1), "end": scale(5)}),
    case("Unique", {"x": scale([3, 1, 3, 2, 1])}, ("out", "at", "counts")),
]

CASES = [*ACTIVATIONS, *CONVOLUTIONS, *GEMMS, *MATMULS, *INVERSES, *FEW_BITS, *NORMALIZATIONS, *ATTENTIONS, *MULTI_HEAD, *GROUPED, *ROTARY, *LINEAR, *QUANTISED, *MOVEMENT]
