"""`If`s whose branches give unlike ranks, as exporters write `squeeze` of an unknown shape, and what reads them."""

from __future__ import annotations

import numpy as np

from .blocks import Block, float_or_int
from .straight import partner
from .values import BOOL, I64, Unfit

FORMS = ["same", "wider", "first", "sum", "all"]
ENDINGS = ["sum", "sum", "greatest", "size", "flat", "added", "added", "added", "open"]


def ranked(g):
    """An If, nodes that read what it gives, and mostly one whose result has the same rank in all trips."""
    w, rng = g.writer, g.writer.random
    v = g.pick(lambda v: float_or_int(v) and v.rank < 4 and v.sample.size < 200)
    made = _squeezed(g, v) if v.rank and w.chance(0.4) else _chosen(g, v)
    for _ in range(rng.choice([0, 1, 1, 2])):
        made = g.emit(rng.choice(["Add", "Mul", "Max"]), [made, partner(g, made)]) if w.chance(0.6) else g.emit(rng.choice(["Neg", "Abs"]), [made])
    if w.chance(0.2):
        made = _stacked(g, made)
    _ended(g, g.bounded(made), v, rng.choice(ENDINGS))


def _squeezed(g, v):
    """v without its first axis, if that has one element; else v."""
    rows = g.emit("Compress", [v, _some(g, v)], {"axis": 0}) if g.writer.chance(0.6) else v
    shape = g.emit("Shape", [rows])
    chosen = g.emit("Equal", [g.emit("Gather", [shape, g.number(0)]), g.number(1)])
    return _if(g, chosen, rows, "first" if rows.shape[0] == 1 or g.writer.chance(0.5) else "squeezed", "same")


def _some(g, v):
    """A bool for each row of v."""
    numbers = g.emit("Range", [g.number(0), g.emit("Gather", [g.emit("Shape", [v]), g.number(0)]), g.number(1)])
    return g.emit("Less", [numbers, g.emit("Add", [g.scalar(), g.number(1)])])


def _chosen(g, v):
    """One of two forms of v of unlike ranks, as a condition from data says."""
    rng = g.writer.random
    then, otherwise = rng.sample(FORMS if v.rank else ["same", "wider"], 2)
    return _if(g, g.condition(), v, then, otherwise)


def _if(g, chosen, v, *forms):
    blocks = [Block(g.writer, g) for _ in forms]
    given = [_formed(b, v, form) for b, form in zip(blocks, forms, strict=True)]
    if given[0].rank == given[1].rank:
        raise Unfit("the same rank")
    then, otherwise = (b.finish("branch", [x]) for b, x in zip(blocks, given, strict=True))
    facts = [{"dtype": v.dtype, "varies": max(chosen.varies, v.varies), "wobble": max(chosen.varies, v.wobble), "unranked": chosen.varies > 0 or v.unranked}]
    return g.emit("If", [chosen], {"then_branch": then, "else_branch": otherwise}, facts=facts)


def _formed(g, v, form):
    """All forms broadcast to `wider`."""
    if form == "wider":
        return g.emit("Unsqueeze", [v, g.list(0)])
    if form == "first":
        return g.emit("Gather", [v, g.number(0)], {"axis": 0})
    if form == "squeezed":
        return g.emit("Squeeze", [v, g.list(0)])
    if form in ("sum", "all"):
        axes = [0] if form == "sum" else list(range(v.rank))
        return g.emit("ReduceMax", [v, g.list(*axes)], {"keepdims": 0})
    return g.emit("Identity", [v])


def _stacked(g, v):
    """An inner loop stacks what has the rank of v. It makes a trip: of an empty stack only the model may tell the rank."""
    count = g.emit("Add", [g.emit("Mod", [g.scalar(), g.number(3)]), g.number(1)])
    inner = Block(g.writer, g, loop=True)
    sets = g.writer.mood.feed_sets
    trip = inner.add_input("tensor", I64, [np.array(0, np.int64)] * sets, varies=inner.depth)
    going = inner.add_input("tensor", BOOL, [np.array(True)] * sets, varies=inner.depth)
    number = inner.emit("CastLike" if g.writer.mood.opset >= 15 else "Identity", [trip, v] if g.writer.mood.opset >= 15 else [v])
    item = inner.emit("Add", [v, number])
    graph = inner.finish("loop", [inner.emit("Identity", [going]), item])
    return g.emit("Loop", [count, None], {"body": graph}, facts=[{"dtype": v.dtype, "varies": g.depth, "wobble": g.depth, "unranked": True}])


def _ended(g, made, v, ending):
    match ending:
        case "sum" | "greatest":
            g.emit("ReduceSum" if ending == "sum" else "ReduceMax", [made], {"keepdims": 0}, steady=True)
        case "size":
            g.emit("Size", [made], steady=True)
        case "flat":
            g.emit("Reshape", [made, g.list(-1)]).unranked = False
        case "added":
            wider = g.emit("Unsqueeze", [v, g.list(0)])
            total = g.emit("Add", [made, wider])
            if total.shapes == wider.shapes:  # the Reshape tells the rank, which an empty stack needs
                told = g.emit("Reshape", [total, g.emit("Shape", [wider])], like=wider)
                told.unranked, told.wobble = v.unranked, v.wobble


FAMILIES = {"ranked": ranked}
