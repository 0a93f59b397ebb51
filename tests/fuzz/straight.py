"""Families of ops that compute: element by element, reductions, products."""

from __future__ import annotations

import numpy as np

from .blocks import float_or_int, is_float
from .values import BOOL, ELEMENT_TYPES, F32, I64, STORED, STRING, Unfit

DTYPES = [d for d in ELEMENT_TYPES if d != STRING]


def _goes_with(a, b):
    try:
        return np.broadcast_shapes(a.shape, b.shape) is not None
    except ValueError:
        return False


def partner(g, a, dtype=None, larger=False):
    """A value that broadcasts with `a`, of its dtype: an existing one or a constant. larger: the result may have more axes."""
    w, rng = g.writer, g.writer.random
    dtype = dtype or a.dtype
    steady = g.steady_with(a)
    ones = [k for k, e in enumerate(a.shape) if e == 1]
    if ones and not a.unranked and w.chance(w.mood.stretched):
        return _stretching(g, a, ones, dtype)
    try:
        if w.chance(0.4):
            return g.pick(lambda v: v.dtype == dtype and v.shape != a.shape and _goes_with(a, v) and steady(v), unranked=a.unranked)
        if w.chance(0.85):
            return g.pick(lambda v: v.dtype == dtype and _goes_with(a, v) and steady(v))
    except Unfit:
        pass
    shape = [e if w.chance(0.6) and a.wobble == 0 and not a.unranked else 1 for e in a.shape[rng.randint(0, a.rank) :]]
    if a.unranked:
        shape = []
    if w.chance(0.1) and not a.unranked:
        shape = [rng.choice([1, 2]), *(1 for _ in a.shape)]
    return g.constant(w.array(dtype, shape))


def _stretching(g, a, ones, dtype):
    """A value that has more than one element where `a` has one, which may be so only in this run."""
    w, rng = g.writer, g.writer.random
    try:
        if w.chance(0.6):
            larger = lambda v: any(e > 1 for e in v.shape[v.rank - a.rank + ones[0] :][:1]) if v.rank >= a.rank else False  # noqa: E731
            return g.pick(lambda v: v.dtype == dtype and larger(v) and _goes_with(a, v) and g.steady_with(a)(v))
    except Unfit:
        pass
    first = rng.choice([0, ones[0]])
    return g.constant(w.array(dtype, [rng.choice([1, 2, 3]) if e == 1 else e if a.wobble == 0 else 1 for e in a.shape[first:]]))


def _like(a, b):
    """The operand whose shape the result has in every trip, as far as that is certain."""
    if a.shape_id == b.shape_id or (b.sample.size == 1 and b.rank <= a.rank and b.wobble == 0 and not b.unranked):
        return a
    return b if a.sample.size == 1 and a.rank <= b.rank and a.wobble == 0 and not a.unranked else None


def _binary(g, op, a, b, attributes=None):
    if g.writer.chance(0.4):
        a, b = b, a
    return g.emit(op, [a, b], attributes, like=_like(a, b))


def arithmetic(g):
    a = g.pick(float_or_int, unranked=True)
    op = g.writer.random.choice(["Add", "Sub", "Mul", "Mul", "Max", "Min"])
    made = _binary(g, op, a, partner(g, a))
    if op in ("Mul", "Add", "Sub"):
        g.bounded(made)


def fused(g):
    """A product and a sum, which may be contracted."""
    a = g.pick(is_float)
    product = _binary(g, "Mul", a, partner(g, a))
    g.bounded(_binary(g, g.writer.random.choice(["Add", "Sub"]), product, partner(g, product)))


def division(g):
    a, w = g.pick(float_or_int), g.writer
    if a.dtype.kind in "iu":
        divisor = g.emit("Max", [partner(g, a), g.number(w.random.choice([1, 2, 3]), a.dtype)])
        _op = w.random.choice(["Div", "Mod"])
        g.emit(_op, [a, divisor], {"fmod": 1} if _op == "Mod" and w.chance(0.3) else None, like=_like(a, divisor))
    else:
        divisor = g.number(w.random.choice([2, 4, 0.5, -2]), a.dtype)
        g.emit("Div", [a, divisor], like=a)


def unary(g):
    a, w = g.pick(unranked=True), g.writer
    if a.dtype == STRING:
        ops = ["Identity"]
    elif a.dtype == BOOL:
        ops = ["Not", "Not", "Identity"]
    elif a.dtype.kind in "iu":
        ops = ["Neg", "Abs", "Sign", "BitwiseNot", "Identity", "Relu"]
    else:
        ops = ["Neg", "Abs", "Relu", "Sign", "Floor", "Ceil", "Round", "Identity", "LeakyRelu", "ThresholdedRelu"]
    op = w.random.choice(ops)
    attributes = {"alpha": w.random.choice([0.5, 0.25, 2.0])} if op == "LeakyRelu" else None
    g.emit(op, [a], attributes, like=a)


def rounding(g):
    """Ops whose results are rounded: only in programs that are not compared with the oracle bit for bit."""
    if g.writer.mood.exact:
        a = g.pick(is_float)
        g.emit("Sqrt", [g.emit("Abs", [a], like=a)], like=a)
        return
    a = g.pick(is_float)
    op = g.writer.random.choice(["Exp", "Tanh", "Sigmoid", "Sin", "Cos", "Erf", "Softplus", "Reciprocal", "Softmax", "Sqrt"])
    if op == "Softmax" and not a.rank:
        raise Unfit("a scalar has no axis")
    g.bounded(g.emit(op, [a], like=a))


def compare(g):
    op = g.writer.random.choice(["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
    a = g.pick(float_or_int if op != "Equal" else lambda v: True)
    _binary(g, op, a, partner(g, a))


def logic(g):
    a = g.pick(lambda v: v.dtype == BOOL)
    _binary(g, g.writer.random.choice(["And", "Or", "Xor"]), a, partner(g, a))


def bits(g):
    a, w = g.pick(lambda v: v.dtype.kind in "iu"), g.writer
    if a.dtype.kind == "u" and w.chance(0.4):
        g.emit("BitShift", [a, g.number(w.random.randint(0, 7), a.dtype)], {"direction": w.random.choice(["LEFT", "RIGHT"])}, like=a)
    else:
        _binary(g, w.random.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), a, partner(g, a))


def where(g):
    a = g.pick()
    b = partner(g, a)
    c = partner(g, a if g.writer.chance(0.7) else b, BOOL)
    g.emit("Where", [c, *((a, b) if g.writer.chance(0.5) else (b, a))], like=a if a.shape_id == b.shape_id and c.rank == 0 else None)


def clip(g):
    a, w = g.pick(float_or_int), g.writer
    low = g.pick(lambda v: v.dtype == a.dtype and v.rank == 0) if w.chance(0.4) else g.number(w.random.randint(0, 2), a.dtype)
    high = g.number(w.random.randint(1, 5), a.dtype) if w.chance(0.7) else None
    g.emit("Clip", [a, low, *([high] if high else [])], like=a)


def cast(g):
    a, w = g.pick(lambda v: v.dtype != STRING, unranked=True), g.writer
    to = w.random.choice([F32, I64, BOOL, *w.mood.dtypes, w.random.choice(DTYPES)])
    if w.chance(0.1):
        like = g.pick(lambda v: v.dtype != STRING and v.dtype not in STORED)
        if a.dtype.kind != "c":
            g.emit("CastLike", [a, like], like=a)
    elif to != STRING and to not in STORED and a.dtype.kind != "c":
        g.emit("Cast", [a], {"to": ELEMENT_TYPES[to]}, like=a)
    elif to == STRING and a.dtype.kind in "iu":
        g.emit("Cast", [a], {"to": ELEMENT_TYPES[to]}, like=a)


def variadic(g):
    op = g.writer.random.choice(["Sum", "Mean", "Max", "Min"])
    a = g.pick(is_float if op in ("Sum", "Mean") else float_or_int)
    parts = [a, *(partner(g, a) for _ in range(g.writer.random.randint(0, 2)))]
    g.writer.random.shuffle(parts)
    g.emit(op, parts)


def power(g):
    a = g.pick(float_or_int)
    g.bounded(g.emit("Pow", [a, g.number(g.writer.random.choice([0, 1, 2, 2, 3]), a.dtype)], like=a))


def tests(g):
    g.emit(g.writer.random.choice(["IsNaN", "IsInf"]), [g.pick(is_float)])


# ---- reductions ---------------------------------------------------------------------------------------------

_AXES_ARE_INPUTS = {"ReduceSum": 13}


def reduce(g):
    w, rng = g.writer, g.writer.random
    op = rng.choice(["ReduceSum", "ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceSumSquare"])
    a = g.pick(lambda v: float_or_int(v) and (v.rank > 0 or w.chance(0.1)), unranked=True)
    keep = rng.randint(0, 1)
    attributes, inputs = {"keepdims": keep}, [a]
    everything = a.unranked or a.rank == 0 or w.chance(0.25)
    if not everything:
        axes = rng.sample(range(a.rank), rng.choice([1, 1, 1, min(2, a.rank)]))
        axes = [k - rng.choice([0, a.rank]) for k in axes]
        if w.mood.opset >= _AXES_ARE_INPUTS.get(op, 18):
            inputs.append(g.list(*axes))
        else:
            attributes["axes"] = axes
    made = g.emit(op, inputs, attributes, steady=everything and not keep)
    if op not in ("ReduceMax", "ReduceMin"):
        g.bounded(made)


def arg(g):
    a, rng = g.pick(lambda v: float_or_int(v) and v.rank), g.writer.random
    attributes = {"axis": rng.randint(-a.rank, a.rank - 1), "keepdims": rng.randint(0, 1), "select_last_index": rng.randint(0, 1)}
    g.emit(rng.choice(["ArgMax", "ArgMin"]), [a], attributes)


def cumulative(g):
    a, rng = g.pick(lambda v: float_or_int(v) and v.rank), g.writer.random
    axis = g.number(rng.randint(-a.rank, a.rank - 1))
    g.bounded(g.emit("CumSum", [a, axis], {"exclusive": rng.randint(0, 1), "reverse": rng.randint(0, 1)}, like=a))


# ---- products -----------------------------------------------------------------------------------------------


def _matmul_fits(a, b):
    if not a.rank or not b.rank:
        return False
    if a.shape[-1] != b.shape[-2 if b.rank > 1 else 0]:
        return False
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return False
    return True


def matmul(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: float_or_int(v) and v.rank > 0)
    steady = g.steady_with(a)
    try:
        if w.chance(0.2) and not a.wobble:
            raise Unfit("weights")
        b = g.pick(lambda v: v.dtype == a.dtype and _matmul_fits(a, v) and steady(v))
    except Unfit:
        if a.wobble:
            raise
        columns = [1, 2, 3] if a.shape[-1] < 8 else [3, 32, 32]
        extents = [a.shape[-1]] if w.chance(0.3) else [a.shape[-1], rng.choice(columns)]
        b = g.constant(w.array(a.dtype, extents))
    g.bounded(g.emit("MatMul", [a, b]))


def gemm(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: float_or_int(v) and v.rank == 2)
    turned = rng.randint(0, 1), rng.randint(0, 1)
    inner = a.shape[0 if turned[0] else 1]
    place = 1 if turned[1] else 0
    steady = g.steady_with(a)
    b = g.pick(lambda v: v.dtype == a.dtype and v.rank == 2 and v.shape[place] == inner and steady(v))
    attributes = {"transA": turned[0], "transB": turned[1]}
    if is_float(a) and w.chance(0.4):
        attributes.update(alpha=rng.choice([0.5, 2.0]), beta=rng.choice([0.5, 2.0, 1.0]))
    inputs = [a, b]
    if w.chance(0.5):
        outer = b.shape[1 - place]
        inputs.append(g.constant(w.array(a.dtype, rng.choice([(), (1,), (outer,)] if not (a.wobble or b.wobble) else [()]))))
    g.bounded(g.emit("Gemm", inputs, attributes))


def einsum(g):
    w = g.writer
    a = g.pick(lambda v: float_or_int(v) and v.rank in (1, 2, 3))
    if w.chance(0.3):
        letters = "ijk"[: a.rank]
        kept = "".join(w.random.sample(letters, w.random.randint(0, a.rank)))
        g.bounded(g.emit("Einsum", [a], {"equation": f"{letters}->{kept}"}))
        return
    b = g.pick(lambda v: v.dtype == a.dtype and v.rank and v.shape[0] == a.shape[-1] and g.steady_with(a)(v))
    left, right = "abcij"[: a.rank - 1] + "z", "z" + "uvw"[: b.rank - 1]
    out = [c for c in left + right if c != "z"]
    w.random.shuffle(out)
    g.bounded(g.emit("Einsum", [a, b], {"equation": f"{left},{right}->{''.join(out)}"}))


def windowed(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: is_float(v) and v.rank in (3, 4) and 0 not in v.shape and (v.wobble == 0 and len({s.shape for s in v.samples if s is not None}) == 1 or w.risky()))
    spatial = a.shape[2:]
    kernel = [rng.randint(1, min(3, e)) for e in spatial]
    pads = [rng.randint(0, k - 1) for k in kernel] + [rng.randint(0, k - 1) for k in kernel]
    attributes = {"kernel_shape": kernel, "pads": pads, "strides": [rng.randint(1, 2) for _ in kernel]}
    kind = rng.choice(["MaxPool", "AveragePool", *(["Conv", "Conv"] if w.mood.exact else [])])  # see Program.contracts
    if kind == "Conv":
        groups = a.shape[1] if w.chance(0.2) else 1
        maps = groups * rng.choice([1, 2, 3])
        weights = g.constant(w.array(a.dtype, (maps, a.shape[1] // groups, *kernel)))
        bias = [g.constant(w.array(a.dtype, (maps,)))] if w.chance(0.5) else []
        g.bounded(g.emit("Conv", [a, weights, *bias], {**attributes, "group": groups}))
    else:
        g.emit(kind, [a], {**attributes, **({"count_include_pad": 1} if kind == "AveragePool" else {})})


FAMILIES = {
    "arithmetic": arithmetic, "fused": fused, "division": division, "unary": unary, "rounding": rounding, "compare": compare, "logic": logic,
    "bits": bits, "where": where, "clip": clip, "cast": cast, "variadic": variadic, "power": power, "tests": tests, "reduce": reduce, "arg": arg,
    "cumulative": cumulative, "matmul": matmul, "gemm": gemm, "einsum": einsum, "windowed": windowed,
}  # fmt: skip
