"""What a program is made of: each seed draws its own, uneven weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .values import BFLOAT16, BOOL, F32, I64, STORED, STRING

HUGE = 2**63 - 1
OTHER_DTYPES = [
    np.dtype(np.float64), np.dtype(np.float16), BFLOAT16, np.dtype(np.int32), np.dtype(np.int32), np.dtype(np.int16), np.dtype(np.int8), np.dtype(np.uint8),
    np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64), STRING,
]  # fmt: skip
OFTEN = {
    "arithmetic": 5, "reduce": 3, "matmul": 2, "fused": 2, "slices": 2, "gather": 2, "concat": 2, "where": 2, "reshape": 1.5, "loop": 2, "scan": 1.5,
}  # fmt: skip
READERS = ["arithmetic", "arithmetic", "fused", "where", "compare", "matmul", "concat", "reduce", "slices"]  #: of what a loop has just given
ENDINGS = ["count", "count", "count", "both", "both", "while", "huge", "ignored"]
THEMES = [
    ["sequence", "sequence_step", "sequence_read", "optional"],
    ["matmul", "gemm", "einsum", "windowed", "reduce"],
    ["found", "best", "ranges", "slices", "filled", "expand"],
    ["reshape", "transpose", "ones", "concat", "split"],
    ["gather", "gather_elements", "points", "one_hot"],
    ["arithmetic", "fused", "reduce", "where", "compare"],
]  #: families that are frequent together


@dataclass
class Mood:
    """The weights of one seed.

    weights: of each family of ops. control: the chance that the next node is a loop or an If. nested: the chance that the body of a
    loop begins with one. dtypes: of inputs and constants.
    tidy: the chance that a node reads what no other node has read. given: that one in a body reads an input of the model. extents, counts: what extents and trip counts are drawn from.
    feed_sets: sets of feeds that the program is written with. other_sets: further ones, made when it is finished, with counts
    from other_counts. resized: the chance that such a set has other extents.
    risk: the chance that something is written that may be wrong in other trips or for other feeds. exact: without ops that round.
    endings: what ends a loop. sure: the chance that an outermost loop makes two or three trips whatever the feeds are. from_data, from_inputs: the chance that a count comes from data, and from outside of all loops.
    ranks: of inputs. fixed: that an extent of an input is the same in all sets of feeds. items: how many values a loop stacks. states: how many a loop has. changing: the chance that a state changes its extents or rank. changes: which of both. growing: that a state of a loop, or two alike,
    only change one extent, by rows that are joined or left out. listed: that a state is a list of like tensors. moved: that its next value is an older one, such as another state. summed: that it adds up what does not depend on the trip.
    stretched: that an extent of 1 is broadcast.
    declared: weights of how much the file says about a shape: all extents, names, nothing of extents, no rank.
    """

    weights: dict
    control: float
    nested: float
    depth: int
    length: int
    body: int
    dtypes: list
    opset: int
    extents: list
    counts: list
    other_counts: list
    feed_sets: int
    other_sets: int
    risk: float
    exact: bool
    declared: list
    special: float
    bounded: float
    from_data: float
    from_inputs: float
    resized: float
    ranks: list
    fixed: float
    items: list
    sure: float
    tidy: float
    given: float
    endings: list
    states: list
    changing: float
    changes: list
    growing: float
    listed: float
    moved: float
    summed: float
    stretched: float


def mood(rng, families):
    """The mood of a seed. families: the names of all families of ops."""
    kind = rng.choices([_anything, _nests, _ended, _empty, _broken, _moved, _pointwise, _projected, _growing, _sliced, _found, _composed, _listed, _ranked, _reranked], [6, 2, 6, 4, 4, 6, 4, 2, 5, 3, 3, 3, 4, 3, 4])[0]
    made = kind(rng, families)
    if kind is not _composed and rng.random() < 0.12:
        made.opset = rng.choice([8, 9, 10, 11, 11, 12, 13, 13, 14, 15])
    if rng.random() < 0.15:
        made.dtypes = [*made.dtypes, rng.choice([*OTHER_DTYPES, *_stored(made.opset)])]
    return made


def _stored(opset):
    """The dtypes of STORED that ops of this opset move."""
    return [dtype for dtype, (_, _, since) in STORED.items() if since <= opset]


def _nests(rng, families):
    """Little but loops in loops, with counts from data that are mostly 1, whose results are read by frequent ops."""
    made = _anything(rng, families)
    frequent = {*READERS, "gather", "shapes", "reshape"}
    made.weights = {name: (OFTEN.get(name, 1) if name in frequent else 0.05) for name in families}
    scans = rng.random() < 0.3  # of rows, which are multiplied by weights
    made.weights.update({"loop": 1, "scan": 4, "matmul": 20} if scans else {"loop": 4, "scan": 1, "if": 0.5})
    made.control, made.nested, made.depth = 1, 1, rng.choice([2, 2, 3, 4])
    made.length, made.body = rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
    made.extents, made.counts = [1, 2, 3, 3], rng.choice([[1, 1, 1, 3], [1, 1, 0, 2], [1, 2, 3, 5]])
    made.dtypes = rng.choices([F32, F32, I64], k=3)
    made.from_data, made.from_inputs, made.tidy = 0.95, 0.3, 0.8
    return made


def _ended(rng, families):
    """Small programs: an inner loop that data end, mostly after one trip, whose stack one op reads beside what has more rows."""
    made = _nests(rng, families)
    made.weights.update({name: 0.05 for name in families})
    made.weights.update({name: OFTEN.get(name, 1) for name in READERS} | {"loop": 4, "scan": 0.5})
    made.depth, made.length, made.body = 2, 1, 1
    made.extents, made.counts = [1, 3, 3, 3], [1, 1, 1, 2, 3]
    made.dtypes, made.feed_sets, made.other_sets = [F32, I64], 1, 2
    made.endings, made.from_inputs, made.tidy = ["both", "both", "both", "huge", "huge", "count"], 0.8, 0.9
    made.declared = rng.choice([[0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0]])
    made.changing, made.stretched = 0.05, 0.9
    return made


def _empty(rng, families):
    """Small programs: loops that make no trip within loops that do, and readers of the shapes of their stacks."""
    made = _ended(rng, families)
    made.weights.update({"gemm": rng.choice([0, 4, 40]), "shapes": 2, "scan": 1})
    made.depth, made.body = rng.choice([2, 3, 3, 3]), rng.choice([1, 1, 1, 2])
    made.states, made.changing = [0, 0, 1], 0
    made.extents, made.counts, made.other_counts = [1, 2, 3], [1, 1, 2], [0, 0, 0, 1, 2]
    made.endings, made.from_inputs = [*["count"] * 5, "both"], 1
    made.declared = rng.choice([[0, 0, 0, 1], [0, 0, 0, 1], made.declared])
    made.stretched, made.risk, made.sure = 0.4, 0.5, 0.9
    return made


def _broken(rng, families):
    """Small programs: loops that make no trip for feeds with whose extents their bodies cannot run."""
    made = _empty(rng, families)
    made.weights.update({name: 0.05 for name in families} | {"loop": 4, "scan": 0.5, "arithmetic": 3, "reduce": 2})
    made.weights.update({name: rng.choice([0.3, 3, 10]) for name in ("gather_elements", "matmul", "concat", "split", "reshape", "gather", "points")})
    made.depth, made.body = rng.choice([1, 1, 1, 2]), rng.choice([1, 2, 3])
    made.states, made.items, made.summed, made.sure = [1, 1, 2], [0, 0, 1], 0.8, 0
    made.from_data, made.ranks, made.other_sets, made.resized, made.given = 0.1, [1, 1, 2, 2], 3, 0.9, 0.7
    made.dtypes, made.fixed = [F32, F32, I64], 0.4
    made.declared = rng.choice([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    return made


def _moved(rng, families):
    """Small programs: states of one type that loops in loops hand to each other."""
    made = _ended(rng, families)
    made.weights.update({name: 0.05 for name in families} | {"loop": 4, "arithmetic": 1})
    made.depth = rng.choice([2, 2, 3])
    made.extents, made.counts, made.dtypes = [3, 3, 3, 1], [1, 2, 3], [F32]
    made.endings, made.states, made.moved = ["count", "both"], [2, 2, 3], 0.8
    return made


def _pointwise(rng, families):
    """Small programs: loops of little but element-wise ops, whose trips may all run for some elements before the next ones."""
    made = _moved(rng, families)
    made.weights.update({"arithmetic": 6, "where": 2, "compare": 1, "fused": rng.choice([0, 0, 2]), "loop": 4, "scan": 1})
    made.depth, made.body, made.tidy = rng.choice([1, 1, 2]), rng.choice([1, 1, 2, 4]), 0.9
    made.extents = rng.choice([[2, 3], [1, 3, 17], [0, 1, 2, 3]])
    made.counts, made.other_counts = [2, 3, 5], [0, 1, 2, 7]
    made.endings, made.from_inputs, made.from_data = ["ignored", "ignored", "ignored", "count"], 0.8, 0.3
    made.states, made.moved, made.items, made.ranks = [1, 1, 2, 3], 0.2, [0, 0, 1], [1, 1, 1, 2]
    made.dtypes, made.declared = [F32, F32, rng.choice([F32, np.dtype(np.float64), I64])], rng.choice([[1, 0, 0, 0], [0, 1, 0, 0], [3, 2, 1, 0]])
    return made


def _projected(rng, families):
    """Small programs: scans of rows, in any direction, which the body multiplies by weights."""
    made = _moved(rng, families)
    made.weights.update({name: 0.05 for name in families} | {"scan": 3, "matmul": 5, "arithmetic": 1})
    made.depth, made.nested = rng.choice([[1, 0], [1, 0], [2, 1]])
    made.body, made.from_data, made.ranks = rng.choice([1, 2, 3]), 0.2, [1, 2, 2, 3]
    made.extents, made.dtypes = rng.choice([[2, 16, 16, 17], [2, 3, 3]]), [F32, F32, np.dtype(np.float64), I64]
    made.states, made.moved, made.stretched = [0, 1, 1], 0.2, 0.1
    made.declared = rng.choice([[1, 0, 0, 0], [3, 2, 1, 0]])
    return made


def _growing(rng, families):
    """Small programs: states that get a row more or less in each trip, alone or two alike, and what reads them: products, slices, lengths."""
    made = _ended(rng, families)
    made.weights.update({name: 0.05 for name in families})
    made.weights.update({"loop": 5, "if": 1, "cache": 10, "arithmetic": 1, "reduce": 1, "slices": 1, "concat": 1, "gather": 1, "shapes": 0.5})
    made.depth, made.length, made.body = rng.choice([1, 1, 2]), rng.choice([1, 1, 2]), rng.choice([1, 2, 3, 4])
    made.extents = rng.choice([[0, 1, 1, 2, 3], [1, 2, 3], [1, 1, 4, 16]])
    made.counts = rng.choice([[1, 2, 3, 5], [1, 1, 1, 2, 0], [3, 9, 40, 70]])
    made.other_counts, made.dtypes = rng.choice([[1, 2, 7, 33], [0, 1, 3]]), [F32, *rng.choices([F32, F32, I64, np.dtype(np.float64), np.dtype(np.float16), BOOL], k=2)]
    made.endings = ["count", "count", "count", "both", "while", "huge"]
    made.states, made.growing, made.changing, made.exact = [1, 1, 2], 0.85, 0.1, rng.random() < 0.9
    made.declared = rng.choice([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [4, 4, 4, 1]])
    made.stretched, made.from_data = 0.3, 0.6
    return made


def _sliced(rng, families):
    """Small programs: parts of values that trips and data choose, and what reads them."""
    made = _growing(rng, families)
    made.weights.update({"slices": 15, "ranges": 1, "shapes": 1, "loop": 3, "scan": 1, "reduce": 2, "matmul": 1})
    made.body, made.from_data = rng.choice([2, 3, 4, 6]), 0.9
    made.states, made.growing = [0, 1, 1, 2], rng.choice([0, 0.3])
    return made


def _found(rng, families):
    """Small programs: values whose extents data decide, and kernels that read what has such extents."""
    made = _sliced(rng, families)
    made.weights.update({"found": 12, "best": 6, "windowed": 3, "slices": 3, "concat": 3, "ones": 2, "gather": 2})
    made.changing, made.risk = rng.choice([0.1, 0.6]), max(made.risk, 0.3)
    return made


def _composed(rng, families):
    """Ops that Rondel composes of others, in loops and around them. Most of them round."""
    made = _anything(rng, families)
    made.weights.update({name: 0.3 for name in families})
    made.weights.update({"loop": 3, "scan": 3, "reshape": 2, "transpose": 1, "ones": 2, "arithmetic": 2, "reduce": 1, "matmul": 1})
    made.weights.update({name: rng.choice([1, 4, 12]) for name in ("recurrent", "normalized", "activation", "attention", "quantized", "resampled")})
    made.exact, made.opset = rng.random() < 0.2, rng.choice([17, 18, 20, 21, 22, 23, 24, 25])
    made.dtypes = [F32, F32, *rng.choices([F32, np.dtype(np.float64), np.dtype(np.float16), np.dtype(np.int8), np.dtype(np.uint8), I64], k=2)]
    made.extents, made.depth = rng.choice([[1, 2, 3], [1, 2, 2, 3, 4, 5], [0, 1, 2, 3], [2, 4, 8, 17]]), rng.choice([1, 1, 2])
    made.special = 0
    return made


def _listed(rng, families):
    """Small programs: states that are lists of like tensors, which trips read while they grow; lists as results."""
    made = _growing(rng, families)
    made.weights.update({"listed": 15, "sequence": 0.3, "sequence_step": 0.3, "cache": 0.5})
    made.states, made.growing, made.listed, made.changing = [1, 1, 2], 0.1, 0.85, 0
    return made


def _ranked(rng, families):
    """Small programs: values in loops whose rank data decide, and what reads them."""
    made = _ended(rng, families)
    made.weights.update({name: 0.05 for name in families})
    made.weights.update({"loop": 3, "scan": 1, "if": 0.5, "ranked": 10, "arithmetic": 1, "compare": 0.5, "reduce": 0.5, "found": 0.5})
    made.depth, made.length, made.body = rng.choice([1, 1, 2]), rng.choice([1, 1, 2]), rng.choice([1, 2, 3, 5])
    made.counts, made.other_counts = [1, 2, 3, 5], [0, 1, 3]
    made.endings, made.states, made.changing = ["count", "count", "both", "while"], [0, 1, 1, 2], 0.05
    made.stretched, made.from_data = 0.2, 0.8
    return made


def _reranked(rng, families):
    """Small programs: states that change their rank, within loops, and scans of them."""
    made = _ended(rng, families)
    made.weights.update({name: 0.05 for name in families} | {"loop": 3, "scan": 3, "reshape": 1, "arithmetic": 1})
    made.depth, made.body, made.counts = rng.choice([2, 3]), rng.choice([1, 2]), [1, 1, 2, 3]
    made.endings, made.states, made.changing, made.changes = ["count", "both"], [1, 1, 2], 0.9, ["rank"]
    made.risk = max(made.risk, 0.15)
    return made


def _anything(rng, families):
    opset = rng.choice([16, 17, 18, 19, 20, 21, 22, 23, 24, 25])
    weights = {name: rng.choice([0, 0.3, 1, 1, 1, 3, 8]) * OFTEN.get(name, 1) for name in families}
    for theme in THEMES:
        if rng.random() < 0.15:
            weights.update({name: 10 * OFTEN.get(name, 1) for name in theme})
    for name in ("loop", "if"):
        weights[name] = max(weights[name], 0.5)
    extents = [1, 2, 3, 4]
    if rng.random() < 0.7:
        extents += rng.choices([0, 1, 1, 2, 5, 7], k=3)
    if rng.random() < 0.2:
        extents += rng.choices([8, 16, 17, 33, 64, 130], k=2)
    if rng.random() < 0.3:
        extents = [1, 1, rng.choice([2, 3, 5])]
    counts = rng.choices([0, 1, 1, 2, 3, 5], k=4)
    if rng.random() < 0.2:
        counts = [1, 1, rng.choice([2, 3])]
    if rng.random() < 0.12:
        counts += [rng.choice([9, 17, 40, 150, 300])]
    return Mood(
        weights=weights,
        control=rng.choice([0.2, 0.35, 0.5, 0.7]),
        nested=rng.choice([0, 0.5, 1, 1]),
        depth=rng.choice([1, 2, 2, 3, 3, 4]),
        length=rng.choice([1, 1, 2, 2, 3, 4, 8]),
        body=rng.choice([1, 1, 2, 2, 3, 5]),
        dtypes=rng.choices([F32, F32, I64, BOOL], k=3)
        + rng.choices(OTHER_DTYPES, k=rng.choice([0, 0, 1, 2, 4]))
        + rng.choices(_stored(opset), k=rng.choice([0, 0, 0, 0, 0, 1, 3])),
        opset=opset,
        extents=extents,
        counts=counts,
        other_counts=[0, 1, 2, 3],
        feed_sets=rng.choice([1, 1, 2, 2]),
        other_sets=rng.choice([0, 1, 1]),
        risk=rng.choice([0.02, 0.05, 0.15, 0.3]),
        exact=rng.random() < 0.93,
        declared=rng.choice([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [3, 2, 2, 1], [1, 1, 1, 0], [8, 1, 1, 0]]),
        special=rng.choice([0, 0, 0, 0.05, 0.2]),
        bounded=rng.choice([0.5, 0.8, 0.95]),
        from_data=rng.choice([0.2, 0.5, 0.8]),
        from_inputs=rng.choice([0, 0, 0.3]),
        resized=0.4,
        ranks=[0, 1, 1, 2, 2, 3],
        fixed=0.25,
        items=[0, 1, 1, 2, 2, 3],
        sure=0,
        tidy=rng.choice([0.2, 0.5, 0.8]),
        given=0,
        endings=ENDINGS,
        states=[0, 1, 1, 1, 2, 2, 3],
        moved=rng.choice([0.1, 0.3]),
        summed=0.1,
        changing=rng.choice([0.1, 0.35, 0.5]),
        changes=["extents", "extents", "rank"],
        growing=rng.choice([0, 0.1, 0.3]),
        listed=rng.choice([0, 0, 0.2]),
        stretched=rng.choice([0.2, 0.4, 0.8]),
    )
