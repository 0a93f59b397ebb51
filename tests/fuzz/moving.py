"""Families of ops that move elements, make shapes, or select by index; sequences and optionals."""

from __future__ import annotations

import numpy as np

from .blocks import float_or_int
from .values import ELEMENT_TYPES, I64, STORED, STRING, UNSIGNED_POWERS, Unfit


def ranked(least=1):
    return lambda v: v.rank >= least


def _axis(g, v):
    """An axis of v, from the front or from the end."""
    return g.writer.random.randint(-v.rank, v.rank - 1)


def transpose(g):
    a = g.pick(ranked())
    g.emit("Transpose", [a], {"perm": g.writer.random.sample(range(a.rank), a.rank)} if g.writer.chance(0.8) else None)


def reshape(g):
    rng = g.writer.random
    form = rng.choice(["flat", "keep", "computed", "fixed", "like"])
    if form == "flat":
        a = g.pick(unranked=True)
        g.emit("Reshape", [a, g.list(-1)], facts=[{"unranked": False}])
        return
    a = g.pick(ranked())
    if form == "keep":
        g.emit("Reshape", [a, g.list(*([0, -1] if a.rank > 1 else [-1, 1]))])
    elif form == "computed":
        shape = g.emit("Shape", [a])
        turned = g.emit("Gather", [shape, g.list(*rng.sample(range(a.rank), a.rank))])
        g.emit("Reshape", [a, turned])
    elif form == "fixed":
        size = a.sample.size
        splits = [e for e in (1, 2, 3, 4) if size and size % e == 0]
        if not splits:
            raise Unfit("nothing to split")
        first = rng.choice(splits)
        g.emit("Reshape", [a, g.list(*rng.choice([(first, -1), (-1, first), (first, size // first)]))])
    else:
        b = g.pick(lambda v: v.sample.size == a.sample.size and v.shape != a.shape and v.wobble == 0 == a.wobble)
        g.emit("Reshape", [a, g.emit("Shape", [b])])


def ones(g):
    """Axes of extent 1 added or removed; Flatten."""
    w, rng = g.writer, g.writer.random
    form = rng.choice(["unsqueeze", "squeeze", "flatten"])
    if form == "unsqueeze":
        a = g.pick(lambda v: v.rank < 4)
        g.emit("Unsqueeze", [a, g.list(rng.randint(-a.rank - 1, a.rank))])
    elif form == "squeeze":
        a = g.pick(lambda v: 1 in v.shape and (v.wobble == 0 or w.risky()))
        axis = rng.choice([k for k, e in enumerate(a.shape) if e == 1])
        g.emit("Squeeze", [a, g.list(axis - rng.choice([0, a.rank]))] if w.chance(0.8) else [a])
    else:
        a = g.pick()
        g.emit("Flatten", [a], {"axis": rng.randint(-a.rank, a.rank)})


def slices(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(ranked())
    axis = _axis(g, a)
    form = rng.choice(["fixed", "fixed", "back", "data", "data", "window"])
    if form == "fixed":
        start, end = rng.choice([(0, 1), (1, 2**31), (0, -1), (-1, 2**63 - 1), (0, 2), (-2, 9), (2, 1)])
        g.emit("Slice", [a, g.list(start), g.list(end), g.list(axis), *([g.list(rng.choice([1, 1, 2]))] if w.chance(0.6) else [])])
    elif form == "back":
        start, end = rng.choice([-1, -1, -1, -2, -4, 0, 2, 2**31]), rng.choice([-(2**63) + 1, -(2**63) + 1, -(2**63), 0, -1, -3])
        g.emit("Slice", [a, g.list(start), g.list(end), g.list(axis), g.list(rng.choice([-1, -2]))])
    elif form == "window":
        start = g.index(a, axis)
        starts = g.one(start)
        ends = g.one(g.emit("Add", [start, g.number(rng.choice([1, 1, 2]))]))
        g.emit("Slice", [a, starts, ends, g.list(axis)])
    else:
        ends = g.one(g.scalar())
        starts = g.one(g.scalar()) if w.chance(0.5) else g.list(rng.choice([0, 1, -2]))
        bounds = [starts, ends, g.list(axis)]
        made = g.emit("Slice", [a, *bounds])
        if a.wobble == 0:
            made.grows_on = axis % a.rank
        if w.chance(0.4):  # another one of the same shape
            same = lambda v: v is not a and (v.shape_id == a.shape_id or v.shapes == a.shapes and v.wobble == 0 == a.wobble)  # noqa: E731
            g.emit("Slice", [g.pick(same), *bounds], like=made)


def gather(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(ranked())
    axis = _axis(g, a)
    shape = rng.choice([(), (), (), (1,), (2,), (3,), (2, 2)])
    g.emit("Gather", [a, g.index(a, axis, shape)], {"axis": axis} if axis or w.chance(0.5) else None)


def gather_elements(g):
    w = g.writer
    a = g.pick(lambda v: v.rank > 0 and v.wobble == 0)
    axis = _axis(g, a)
    extents = [e if k != axis % a.rank else w.random.choice([1, 2, e]) for k, e in enumerate(a.shape)]
    if len({s.shape for s in a.samples if s is not None}) > 1:
        raise Unfit("extents that differ between runs")
    indices = g.constant(np.array([w.random.randint(0, max(0, a.shape[axis] - 1)) for _ in range(int(np.prod(extents)))], np.int64).reshape(extents))
    if w.chance(0.5):
        g.emit("GatherElements", [a, indices], {"axis": axis})
    else:
        reduction = w.random.choice(["none", "add", "mul"] + (["max", "min"] if w.mood.opset >= 18 else [])) if a.dtype != STRING and a.dtype not in STORED else "none"
        updates = g.constant(w.array(a.dtype, extents))
        g.emit("ScatterElements", [a, indices, updates], {"axis": axis, "reduction": reduction})


def points(g):
    """GatherND and ScatterND: the index of a row from data, or a list of points."""
    w, rng = g.writer, g.writer.random
    a = g.pick(ranked())
    if w.chance(0.6):
        row = g.one(g.index(a, 0))  # [1]: one point along the first axis
        if w.chance(0.5):
            row = g.emit("Unsqueeze", [row, g.list(0)])
    else:
        if a.wobble:
            raise Unfit("extents that change")
        depth = rng.randint(1, a.rank)
        rows = [[rng.randint(0, max(0, min(s.shape[k] for s in a.samples if s is not None) - 1)) for k in range(depth)] for _ in range(rng.randint(1, 3))]
        row = g.constant(np.array(rows, np.int64))
    if w.chance(0.4):
        g.emit("GatherND", [a, row])
        return
    depth, listed = row.shape[-1], row.shape[:-1]
    wanted = (*listed, *a.shape[depth:])
    updates = None
    if w.chance(0.6):
        with_shape = lambda v: v.dtype == a.dtype and v.shape == wanted and g.steady_with(a)(v)  # noqa: E731
        try:
            updates = g.pick(with_shape)
        except Unfit:
            pass
    if updates is None:
        if a.wobble or len({s.shape[depth:] for s in a.samples if s is not None}) > 1:
            taken = g.emit("GatherND", [a, row])
            updates = g.emit("Identity", [taken], like=taken)
        else:
            updates = g.constant(w.array(a.dtype, wanted))
    reduction = rng.choice(["none", "none", "add", "mul"]) if a.dtype != STRING and a.dtype not in STORED else "none"
    g.emit("ScatterND", [a, row, updates], {"reduction": reduction} if reduction != "none" else None, like=a)


def concat(g):
    rng = g.writer.random
    a = g.pick(ranked())
    axis = _axis(g, a)
    at = axis % a.rank

    def fits(v):
        same = v.rank == a.rank and all(k == at or e == a.shape[k] for k, e in enumerate(v.shape))
        return v.dtype == a.dtype and same and (v.rank == 1 or g.steady_with(a)(v))

    parts = [a, *(g.pick(fits) for _ in range(rng.choice([0, 1, 1, 1, 2])))]
    rng.shuffle(parts)
    g.emit("Concat", parts, {"axis": axis})


def split(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: v.rank > 0 and (v.wobble == 0 or w.risky()))
    axis = _axis(g, a)
    extent = a.shape[axis]
    count = rng.randint(1, min(3, max(1, extent)))
    if w.chance(0.6):
        cuts = sorted(rng.randint(0, extent) for _ in range(count - 1))
        lengths = np.diff([0, *cuts, extent])
        g.emit("Split", [a, g.constant(np.array(lengths, np.int64))], {"axis": axis}, outputs=count)
    elif w.mood.opset >= 18:
        g.emit("Split", [a], {"axis": axis, "num_outputs": count}, outputs=count)
    elif extent % count == 0:
        g.emit("Split", [a], {"axis": axis}, outputs=count)


def expand(g):
    w, rng = g.writer, g.writer.random
    a = g.pick()
    if w.chance(0.5):
        b = g.pick(lambda v: v.shape != a.shape)
        shape = g.emit("Shape", [b])
        if w.chance(0.4):
            shape = g.emit("Concat", [g.list(rng.choice([1, 2])), shape], {"axis": 0})
    else:
        shape = g.list(*(e if w.chance(0.5) else 1 for e in w.shape(rng.randint(max(0, min(a.rank, 3) - 1), 3))))
    if w.chance(0.3):
        extent = g.one(g.emit("Mod", [g.scalar(), g.number(4)]))
        shape = extent if w.chance(0.5) else g.emit("Concat", [extent, g.list(1)], {"axis": 0})
    g.emit("Expand", [a, shape])


def tile(g):
    w = g.writer
    a = g.pick(lambda v: 0 < v.rank < 4)
    if w.chance(0.3) and a.rank == 1:
        repeats = g.one(g.emit("Mod", [g.scalar(), g.number(4)]))
    else:
        repeats = g.list(*(w.random.choice([1, 1, 2, 3, 0] if w.chance(0.2) else [1, 1, 2]) for _ in range(a.rank)))
    g.emit("Tile", [a, _as_many_as_data_tell(g, repeats, a.rank) if w.chance(0.1) else repeats])


def pad(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: v.rank > 0 and v.dtype != STRING)
    mode = rng.choice(["constant", "constant", "constant", "edge", "reflect"] + (["wrap"] if w.mood.opset >= 19 else []))
    least = -1 if mode == "constant" and w.chance(0.3) else 0
    amounts, rest = [0, 0, 1, 2, least], []
    if w.mood.opset >= 18 and w.chance(0.3):
        pads, rest = g.list(rng.choice(amounts), rng.choice(amounts)), [None, g.list(_axis(g, a))]
    elif w.chance(0.3):
        pads = g.emit("Concat", [_pad_from_data(g, least) if w.chance(0.4) else g.list(rng.choice(amounts)) for _ in range(2 * a.rank)], {"axis": 0})
    else:
        pads = g.list(*(rng.choice(amounts) for _ in range(2 * a.rank)))
    if mode == "constant" and (a.dtype == UNSIGNED_POWERS or w.chance(0.5)):
        value = g.constant(w.array(a.dtype, ()))
        rest = [value, *rest[1:]]
    if w.chance(0.1):
        pads = _as_many_as_data_tell(g, pads, 2 if rest[1:] else 2 * a.rank)
    g.emit("Pad", [a, pads, *rest], {"mode": mode} if mode != "constant" else None)


def _as_many_as_data_tell(g, numbers, count):
    """All numbers of a list, as only the run knows; for other feeds, sometimes one too few."""
    end = g.emit("Add", [g.emit("Abs", [g.scalar()]), g.number(count - 1)]) if g.writer.chance(0.5) else g.emit("Max", [g.scalar(), g.number(count)])
    return g.emit("Slice", [numbers, g.list(0), g.one(end)])


def _pad_from_data(g, least):
    amount = g.emit("Mod", [g.scalar(), g.number(3)])
    return g.one(g.emit("Add", [amount, g.number(least)]) if least else amount)


def shapes(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(unranked=True)
    if a.unranked or w.chance(0.3):
        g.emit("Size", [a])
    else:
        attributes = {"start": rng.randint(-a.rank, a.rank), "end": rng.randint(-a.rank, a.rank)} if w.chance(0.3) else None
        g.emit("Shape", [a], attributes)


def filled(g):
    """ConstantOfShape, of the shape of another value or of extents from data."""
    w = g.writer
    shape = g.emit("Shape", [g.pick()]) if w.chance(0.6) else g.one(g.emit("Mod", [g.scalar(), g.number(4)]))
    g.emit("ConstantOfShape", [shape], {"value": w.array(w.random.choice([d for d in w.mood.dtypes if d != STRING and d not in STORED]), (1,))} if w.chance(0.8) else None)


def ranges(g):
    w, rng = g.writer, g.writer.random
    bounds = [g.number(rng.choice([0, 1, -2])), g.emit("Mod", [g.scalar(), g.number(6)]), g.number(rng.choice([1, 1, 2]))]
    if w.chance(0.2):
        bounds = [bounds[1], bounds[0], g.number(-1)]
    g.emit("Range", bounds)


def one_hot(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: v.dtype == I64 and v.rank < 3)
    axis = rng.randint(-a.rank - 1, a.rank)
    g.emit("OneHot", [a, g.number(rng.choice([1, 2, 3, 5])), g.constant(w.array(rng.choice(w.mood.dtypes), (2,)))], {"axis": axis})


def triangle(g):
    w = g.writer
    a = g.pick(lambda v: v.rank >= 2 and v.dtype != STRING)
    k = [g.number(w.random.randint(-2, 2))] if w.chance(0.5) else []
    if w.chance(0.15) and a.rank == 2:
        g.emit("EyeLike", [a], {"k": w.random.randint(-1, 1)})
    else:
        g.emit("Trilu", [a, *k], {"upper": w.random.randint(0, 1)}, like=a)


def found(g):
    """Ops whose output sizes depend on values."""
    rng = g.writer.random
    form = rng.choice(["NonZero", "Compress", "Unique"])
    if form == "NonZero":
        g.emit("NonZero", [g.pick(lambda v: v.dtype != STRING)])
    elif form == "Compress":
        selected(g)
    else:
        a = g.pick()
        axis = rng.choice([None, *range(a.rank)])
        outputs = rng.choice([1, 1, 4])
        attributes = {"sorted": rng.randint(0, 1), **({} if axis is None else {"axis": axis})}
        made = g.emit("Unique", [a], attributes, outputs=outputs)
        if outputs > 1:
            made[1].wobble = made[2].wobble = made[3].wobble = made[0].wobble


def selected(g):
    """The elements or slices that a mask from data selects."""
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: v.rank > 0)
    axis = None if w.chance(0.3) else _axis(g, a)
    if axis is None:
        length = g.emit("Size", [a])
    else:
        length = g.extent(a, axis)
    at = g.emit("Range", [g.number(0), length, g.number(1)])
    mask = g.emit("Less", [g.emit("Mod", [at, g.number(rng.randint(1, 4))]), g.emit("Mod", [g.scalar(), g.number(4)])])
    g.emit("Compress", [a, mask], {} if axis is None else {"axis": axis})


def best(g):
    w, rng = g.writer, g.writer.random
    a = g.pick(lambda v: v.rank > 0 and float_or_int(v))
    axis = _axis(g, a)
    k = g.emit("Min", [g.emit("Mod", [g.scalar(), g.number(4)]), g.extent(a, axis)]) if w.chance(0.5) else g.number(rng.randint(0, max(a.shape[axis], 1)))
    g.emit("TopK", [a, g.one(k)], {"axis": axis, "largest": rng.randint(0, 1)}, outputs=2)


def fresh(g):
    """A constant that later nodes may read."""
    w = g.writer
    made = g.constant(w.array(w.random.choice(w.mood.dtypes), w.shape()))
    if made.level == g.level:
        g.values.append(made)


# ---- sequences and optionals --------------------------------------------------------------------------------


def sequence(g):
    """A new sequence."""
    w, rng = g.writer, g.writer.random
    form = rng.choice(["empty", "construct", "split"])
    if form == "empty":
        dtype = rng.choice(w.mood.dtypes)
        g.emit("SequenceEmpty", [], {"dtype": ELEMENT_TYPES[dtype]}, kind="seq", dtype=dtype)
        return
    a = g.pick(ranked(0 if form == "construct" else 1))
    if form == "construct":
        parts = [a, *(g.pick(lambda v: v.dtype == a.dtype) for _ in range(rng.randint(0, 2)))]
        g.emit("SequenceConstruct", parts, kind="seq", dtype=a.dtype)
    else:
        lengths = [g.number(rng.choice([1, 2]))] if w.chance(0.4) else []
        attributes = {"axis": _axis(g, a)}
        if not lengths and w.chance(0.5):
            attributes["keepdims"] = 0
        g.emit("SplitToSequence", [a, *lengths], attributes, kind="seq", dtype=a.dtype)


def sequence_step(g):
    """A sequence with one tensor more or less."""
    w = g.writer
    s = g.pick(kind="seq")
    if w.chance(0.7):
        tensor = g.pick(lambda v: v.dtype == s.dtype, unranked=True)
        position = [g.emit("Mod", [g.scalar(), _length(g, s)])] if w.chance(0.3) else []
        g.emit("SequenceInsert", [s, tensor, *position], kind="seq", dtype=s.dtype)
    else:
        position = [g.emit("Mod", [g.scalar(), _length(g, s)])] if w.chance(0.5) else []
        g.emit("SequenceErase", [s, *position], kind="seq", dtype=s.dtype)


def _length(g, s):
    """The length of a sequence, at least 1."""
    return g.emit("Max", [g.emit("SequenceLength", [s]), g.number(1)])


def sequence_read(g):
    w, rng = g.writer, g.writer.random
    s = g.pick(kind="seq")
    form = rng.choice(["length", "at", "joined"])
    shapes_known = s.varies == 0 or w.risky()
    facts = [{"wobble": s.varies, "unranked": not shapes_known}]
    if form == "length":
        g.emit("SequenceLength", [s], steady=True)
    elif form == "at":
        g.emit("SequenceAt", [s, g.emit("Mod", [g.scalar(), _length(g, s)])], facts=facts)
    else:
        new = rng.randint(0, 1)
        rank = min((x.ndim for x in s.sample), default=0)
        g.emit("ConcatFromSequence", [s], {"axis": rng.randint(0, max(0, rank - 1 + new)), "new_axis": new}, facts=facts)


def optional(g):
    """Optionals made, asked and opened; values that are none, opened."""
    rng = g.writer.random
    form = rng.choice(["make", "has", "get", "pass"] if g.writer.mood.opset >= 18 else ["make", "has", "get"])
    if form == "pass":
        a = g.pick(kind=rng.choice(["tensor", "tensor", "seq"]))
        g.emit("OptionalGetElement", [a], like=a, kind=a.kind, dtype=a.dtype)
    elif form == "make":
        kind = rng.choice(["tensor", "tensor", "seq"])
        a = g.pick(kind=kind)
        g.emit("Optional", [a], kind="opt" if kind == "tensor" else "optseq", dtype=a.dtype)
    else:
        o = g.pick(kind=rng.choice(["opt", "opt", "optseq"]))
        if form == "has":
            g.emit("OptionalHasElement", [o])
        else:
            kind = "tensor" if o.kind == "opt" else "seq"
            g.emit("OptionalGetElement", [o], kind=kind, dtype=o.dtype, facts=[{"wobble": o.varies, "unranked": o.varies > 0}])


FAMILIES = {
    "transpose": transpose, "reshape": reshape, "ones": ones, "slices": slices, "gather": gather, "gather_elements": gather_elements, "points": points,
    "concat": concat, "split": split, "expand": expand, "tile": tile, "pad": pad, "shapes": shapes, "filled": filled, "ranges": ranges,
    "one_hot": one_hot, "triangle": triangle, "found": found, "best": best, "fresh": fresh, "sequence": sequence, "sequence_step": sequence_step,
    "sequence_read": sequence_read, "optional": optional,
}  # fmt: skip
