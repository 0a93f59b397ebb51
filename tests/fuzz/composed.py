"""Families of ops that Rondel composes of others: recurrent cells, normalisations, attention, quantisation, resampling.

Most of them round, so they are written into programs that are compared among Rondel's own ways only.
"""

from __future__ import annotations

import numpy as np

from .blocks import is_float
from .values import F32, Unfit

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
I8, U8, I32 = np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int32)


def _rounds(g):
    if g.writer.mood.exact:
        raise Unfit("it rounds")


def _weights(g, dtype, shape):
    return g.constant((g.writer.array(F32, shape) / 4).astype(dtype))


def _steady(v):
    return v.wobble == 0 and len({s.shape for s in v.samples if s is not None}) == 1


def recurrent(g):
    """RNN, GRU or LSTM with every option, over what has three axes."""
    _rounds(g)
    w, rng = g.writer, g.writer.random
    x = g.pick(lambda v: is_float(v) and v.rank in (2, 3) and v.dtype.itemsize > 1 and v.sample.size < 300)
    if x.rank == 2:
        x = g.emit("Unsqueeze", [x, g.list(rng.choice([0, 1]))])
    op = rng.choice(list(GATES))
    way = rng.choice(["forward", "forward", "reverse", "bidirectional"])
    directions, hidden = (2 if way == "bidirectional" else 1), rng.choice([1, 2, 3])
    attributes = {"hidden_size": hidden, "direction": way}
    batch_axis = 1
    if w.chance(0.3):
        attributes["layout"], batch_axis = 1, 0
    if w.chance(0.2):
        attributes["clip"] = rng.choice([0.5, 2.0])
    if w.chance(0.3):
        choices = ["Relu", "Tanh", "Sigmoid", "HardSigmoid", "Softsign"]
        attributes["activations"] = [rng.choice(choices) for _ in ACTIVATIONS[op] * directions]
    if op == "GRU" and w.chance(0.5):
        attributes["linear_before_reset"] = 1
    rows = GATES[op] * hidden
    inputs = [x, _weights(g, x.dtype, (directions, rows, x.shape[2])), _weights(g, x.dtype, (directions, rows, hidden))]
    inputs.append(_weights(g, x.dtype, (directions, 2 * rows)) if w.chance(0.7) else None)
    if _steady(x) and w.chance(0.5):
        steps, batch = x.shape[1 - batch_axis], x.shape[batch_axis]
        lengths = np.array([rng.randint(0, steps) for _ in range(batch)], np.int32)
        inputs.append(g.constant(lengths) if w.chance(0.6) else None)
        state = (directions, batch, hidden) if batch_axis == 1 else (batch, directions, hidden)
        inputs.append(_weights(g, x.dtype, state))
        if op == "LSTM":
            inputs.append(_weights(g, x.dtype, state))
            inputs.append(_weights(g, x.dtype, (directions, 3 * hidden)) if w.chance(0.5) else None)
    while inputs[-1] is None:
        inputs.pop()
    g.emit(op, inputs, attributes, outputs=rng.randint(1, 3 if op == "LSTM" else 2))


def normalized(g):
    """Normalisations over the last axes, over channels, over one axis."""
    _rounds(g)
    w, rng = g.writer, g.writer.random
    op = rng.choice([
        "LayerNormalization", "LayerNormalization", "RMSNormalization", "LogSoftmax", "Softmax", "Hardmax", "LpNormalization", "InstanceNormalization",
        *(["GroupNormalization"] if w.mood.opset >= 21 else []), "LRN", "BatchNormalization", "MeanVarianceNormalization",
    ])  # fmt: skip
    channels = op in ("InstanceNormalization", "GroupNormalization", "LRN", "BatchNormalization")
    x = g.pick(lambda v: is_float(v) and v.rank >= (3 if channels else 1) and (op != "MeanVarianceNormalization" or v.rank == 4))
    if op in ("LayerNormalization", "RMSNormalization"):
        axis = rng.randint(-x.rank, x.rank - 1)
        shape = x.shape[axis:] if axis < 0 else x.shape[axis - x.rank :]
        inputs = [x, g.constant(w.array(x.dtype, shape if _steady(x) else (1,)))]
        if op == "LayerNormalization" and w.chance(0.6):
            inputs.append(g.constant(w.array(x.dtype, shape if _steady(x) else (1,))))
        g.emit(op, inputs, {"axis": axis, "epsilon": rng.choice([1e-5, 0.5])}, like=x)
    elif not channels:
        axis = {} if op == "MeanVarianceNormalization" else {"axis": rng.randint(-x.rank, x.rank - 1)}
        g.emit(op, [x], {**axis, **({"p": rng.choice([1, 2])} if op == "LpNormalization" else {})}, like=x)
    elif op == "LRN":
        g.emit(op, [x], {"size": rng.choice([1, 2, 3])}, like=x)
    else:
        maps = x.shape[1]
        if len({s.shape[1] for s in x.samples if s is not None}) > 1 or x.wobble:
            raise Unfit("the number of channels is not certain")
        scale, shift, mean = (g.constant(w.array(x.dtype, (maps,))) for _ in range(3))
        if op == "BatchNormalization":
            variance = g.constant(np.abs(w.array(F32, (maps,)).astype(np.float32) + 0.5).astype(x.dtype))
            g.emit(op, [x, scale, shift, mean, variance], like=x)
        else:
            groups = {"num_groups": rng.choice([n for n in (1, 2, 3, max(1, maps)) if maps % n == 0])} if op == "GroupNormalization" else {}
            g.emit(op, [x, scale, shift], groups, like=x)


def activation(g):
    _rounds(g)
    a = g.pick(is_float)
    op = g.writer.random.choice(["Gelu", "Elu", "Celu", "Selu", "HardSigmoid", "HardSwish", "Mish", "Softsign", "Shrink"])
    g.bounded(g.emit(op, [a], {"approximate": "tanh"} if op == "Gelu" and g.writer.chance(0.5) else None, like=a))


def attention(g):
    """Attention of a query over keys and values, as one op or spelled with products and Softmax."""
    _rounds(g)
    w, rng = g.writer, g.writer.random
    q = g.pick(lambda v: is_float(v) and v.rank in (2, 3, 4) and v.shape[-1])
    k = g.pick(lambda v: v.dtype == q.dtype and v.rank == q.rank and v.shape[-1] == q.shape[-1] and v.shape[:-2] == q.shape[:-2] and g.steady_with(q)(v))
    v = g.pick(lambda x: x.dtype == q.dtype and x.rank == q.rank and x.shape[:-1] == k.shape[:-1] and (x.shape_id == k.shape_id or x.wobble == 0 == k.wobble))
    if w.mood.opset >= 23 and q.rank == 4 and all(x.shape[1] for x in q.samples if x is not None) and w.chance(0.7):
        attributes = {"is_causal": 1} if w.chance(0.3) else {}
        if w.chance(0.3):
            attributes["scale"] = rng.choice([0.5, 1.0])
        inputs = [q, k, v]
        if w.chance(0.3):
            inputs.append(g.pick(lambda m: m.dtype == q.dtype and m.rank == 2 and m.shape == (q.shape[2], k.shape[2]) and _steady(m)))
        g.emit("Attention", inputs, attributes)
        return
    order = [*range(q.rank - 2), q.rank - 1, q.rank - 2]
    scores = g.emit("MatMul", [q, g.emit("Transpose", [k], {"perm": order})])
    scores = g.emit("Mul", [scores, g.number(rng.choice([0.25, 0.5]), q.dtype)], like=scores)
    g.emit("MatMul", [g.emit("Softmax", [scores], {"axis": -1}, like=scores), v])


def quantized(g):
    """Numbers of 8 bits, there and back; products of them."""
    w, rng = g.writer, g.writer.random
    form = rng.choice(["quantize", "quantize", "back", "product", "product", "dynamic"])
    if form == "quantize":
        a, to = g.pick(lambda v: v.dtype == F32 and all(np.isfinite(x).all() for x in v.samples if x is not None)), rng.choice([I8, U8])
        g.emit("QuantizeLinear", [a, g.number(rng.choice([0.5, 1, 2]), F32), g.number(rng.randint(0, 3), to)], like=a)
    elif form == "back":
        a = g.pick(lambda v: v.dtype in (I8, U8))
        g.emit("DequantizeLinear", [a, g.number(rng.choice([0.5, 1, 2]), F32), g.number(rng.randint(0, 3), a.dtype)], like=a)
    elif form == "dynamic":
        _rounds(g)
        g.emit("DynamicQuantizeLinear", [g.pick(lambda v: v.dtype == F32 and v.sample.size)], outputs=3)
    else:
        a = g.pick(lambda v: v.dtype in (I8, U8) and v.rank > 1)
        if len({s.shape[-1] for s in a.samples if s is not None}) > 1 or a.wobble:
            raise Unfit("the number of columns is not certain")
        b = g.constant(w.array(rng.choice([I8, U8]), (a.shape[-1], rng.choice([1, 2, 3]))))
        zeros = g.number(rng.randint(0, 2), a.dtype), g.number(rng.randint(0, 2), b.dtype)
        if w.chance(0.6):
            g.emit("MatMulInteger", [a, b, *zeros][: rng.randint(2, 4)])
        else:
            # The reference evaluator rounds after it has added the zero point; an even one shows no difference.
            scales = [g.number(rng.choice([0.5, 1, 2]), F32) for _ in range(3)]
            g.emit("QLinearMatMul", [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], g.number(rng.choice([0, 2]), a.dtype)])


def resampled(g):
    """Resize, ConvTranspose, ReverseSequence, Det."""
    w, rng = g.writer, g.writer.random
    form = rng.choice(["resize", "transposed", "reversed", "reversed", "det"])
    if form == "reversed":
        x = g.pick(lambda v: v.rank >= 2 and _steady(v) and 0 not in v.shape)
        turned = rng.randint(0, 1)
        lengths = g.constant(np.array([rng.randint(1, x.shape[turned]) for _ in range(x.shape[1 - turned])], np.int64))
        g.emit("ReverseSequence", [x, lengths], {"time_axis": turned, "batch_axis": 1 - turned}, like=x)
    elif form == "resize":
        x = g.pick(lambda v: v.dtype == F32 and v.rank in (3, 4) and 0 not in v.shape)
        _rounds(g)  # the reference evaluator makes the lowest number of an infinity, also where nothing is computed
        mode = rng.choice(["nearest", "nearest", "linear"])
        scales = g.constant(np.array([1, 1, *(rng.choice([1, 2, 0.5, 1.5]) for _ in x.shape[2:])], np.float32))
        g.emit("Resize", [x, None, scales], {"mode": mode, "coordinate_transformation_mode": rng.choice(["asymmetric", "half_pixel"]), "nearest_mode": "floor"})
    elif form == "transposed":
        _rounds(g)
        x = g.pick(lambda v: is_float(v) and v.rank in (3, 4) and 0 not in v.shape and _steady(v))
        kernel = [rng.randint(1, 2) for _ in x.shape[2:]]
        g.bounded(g.emit("ConvTranspose", [x, g.constant(w.array(x.dtype, (x.shape[1], rng.choice([1, 2]), *kernel)))], {"strides": [rng.randint(1, 2) for _ in kernel]}))
    else:
        _rounds(g)
        g.bounded(g.emit("Det", [g.pick(lambda v: is_float(v) and v.rank >= 2 and v.shape[-1] == v.shape[-2])]))


FAMILIES = {
    "recurrent": recurrent, "normalized": normalized, "activation": activation, "attention": attention, "quantized": quantized, "resampled": resampled,
}  # fmt: skip
