"""States that change one extent, alone or two alike, and what reads them: caches, logs, windows that slide."""

from __future__ import annotations

import itertools

import numpy as np

from .blocks import Block, float_or_int, is_float
from .values import BOOL, STRING, Unfit

FORMS = ["after", "after", "after", "before", "twice", "several", "slides", "limited", "less", "branch", "branch", "inner", "inner", "anew"]
_shape_ids = itertools.count(-1, -1)  # of no other value


class Growth:
    """How one state, or two that begin alike, change their extent on an axis in each trip. Stands for the last values' shapes, too."""

    def __init__(self, g, body):
        w = g.writer
        first = g.pick(lambda v: 0 < v.rank < 4 and v.sample.size < 200)
        self.grows_on, self.shape_id = w.random.randrange(first.rank), next(_shape_ids)
        self.form = w.random.choice(FORMS)
        alike = lambda v: v.dtype == first.dtype and (v.shape_id == first.shape_id or v.shapes == first.shapes and v.wobble == 0 == first.wobble)  # noqa: E731
        self.initials = [first, g.pick(alike)] if w.chance(0.5) else [first]
        self.others_wobble = max(v.wobble for v in self.initials)
        self.facts = {"grows_on": self.grows_on, "others_wobble": self.others_wobble}
        facts = {"varies": body.depth, "wobble": body.depth, "shape_id": next(_shape_ids), **self.facts}
        self.states = [body.add_input("tensor", v.dtype, v.samples, **facts) for v in self.initials]
        self.made = None

    def next_of(self, body, state):
        if self.made is None:
            self.step(body)
        return self.made[self.states.index(state)]

    def step(self, body):
        """Emits the states' next values; they stay as they are if no row fits."""
        self.made = self.states
        try:
            self.made = self._made(body)
        except Unfit:
            pass

    def _made(self, body):
        row = _row(body, self.states[0], self.grows_on)
        rows = [row] if len(self.states) == 1 else [row, _alike(body, row)]
        if self.form == "branch":
            return self._in_a_branch(body, rows)
        if self.form in ("inner", "anew"):
            return self._in_a_loop(body)
        made = []
        for state, row in zip(self.states, rows, strict=True):
            made.append(self._joined(body, state, row, made[0] if made else None))
        return made

    def _joined(self, g, state, row, like):
        """The next value of one state. like: that of the other."""
        axis = self.grows_on

        def concat(*parts):
            return g.emit("Concat", list(parts), {"axis": axis}, like=like)

        def cut(v, start):
            return g.emit("Slice", [v, g.list(start), g.list(2**31), g.list(axis)], like=like)

        match self.form:
            case "after":
                made = concat(state, row)
            case "before":
                made = concat(row, state)
            case "twice":
                made = g.emit("Concat", [g.emit("Concat", [state, row], {"axis": axis}), row], {"axis": axis}, like=like)
            case "several":
                made = concat(state, row, row)
            case "slides":
                made = concat(cut(state, 1), row)
            case "limited":
                made = cut(concat(state, row), -3)
            case "less":
                made = cut(state, 1)
        made.grows_like(self)
        return made

    def _in_a_branch(self, g, rows):
        """A row is joined if a condition from data holds."""
        chosen = g.condition()
        blocks = [Block(g.writer, g) for _ in range(2)]
        joined = [blocks[0].emit("Concat", [s, r], {"axis": self.grows_on}) for s, r in zip(self.states, rows, strict=True)]
        kept = [blocks[1].emit("Identity", [s]) for s in self.states]
        branches = {"then_branch": blocks[0].finish("branch", joined), "else_branch": blocks[1].finish("branch", kept)}
        shape_id = next(_shape_ids)
        facts = [{"dtype": s.dtype, "varies": g.depth, "wobble": g.depth, "shape_id": shape_id, **self.facts} for s in self.states]
        made = g.emit("If", [chosen], branches, outputs=len(facts), facts=facts)
        return made if len(facts) > 1 else [made]


    def _in_a_loop(self, g):
        """An inner loop joins rows to the states, or, anew, to their first rows."""
        w, rng, axis = g.writer, g.writer.random, self.grows_on
        anew = self.form == "anew"
        begin = [g.emit("Slice", [s, g.list(0), g.list(1), g.list(axis)]) for s in self.states] if anew else self.states
        if anew and w.chance(0.6):
            count = g.emit("Gather", [g.emit("Shape", [self.states[0]]), g.number(axis)])
        else:
            count = g.number(rng.choice([0, 1, 1, 2, 3]))
        inner = Block(w, g, loop=True)
        sets = w.mood.feed_sets
        inner.add_input("tensor", np.dtype(np.int64), [np.array(0, np.int64)] * sets, varies=inner.depth)
        going = inner.add_input("tensor", np.dtype(bool), [np.array(True)] * sets, varies=inner.depth)
        grown = [inner.add_input("tensor", v.dtype, v.samples, varies=inner.depth, wobble=inner.depth) for v in begin]
        row = _row(inner, self.states[0], axis)
        rows = [row, _alike(inner, row)]
        longer = [inner.emit("Concat", [v, r] if rng.random() < 0.8 else [r, v], {"axis": axis}) for v, r in zip(grown, rows)]
        graph = inner.finish("loop", [inner.emit("Identity", [going]), *longer])
        shape_id = next(_shape_ids)
        facts = [{"dtype": s.dtype, "varies": g.depth, "wobble": g.depth, "shape_id": shape_id, **self.facts} for s in self.states]
        made = g.emit("Loop", [count, None, *begin], {"body": graph}, outputs=len(facts), facts=facts)
        return made if len(facts) > 1 else [made]


def _row(g, state, axis):
    """What is joined to a state: rows of constants and of numbers from the trip, an older value, or the sum of the state."""
    w, rng, dtype = g.writer, g.writer.random, state.dtype
    form = rng.choice(["found", "total", "scaled", "scaled", "fixed"])
    try:
        if form == "found":
            return g.pick(lambda v: v.dtype == dtype and v.rank == state.rank and v.wobble == 0 and _goes_behind(state, v, axis))
        if form == "total" and float_or_int(state):
            return g.bounded(_reduced(g, "ReduceSum", state, axis, keep=1))
    except Unfit:
        pass
    extents = list(state.shape)
    extents[axis] = rng.choice([1, 1, 1, 1, 2, 0])
    row = g.constant(w.array(dtype, extents))
    if form == "fixed" or not float_or_int(state):
        return row
    return g.bounded(g.emit(rng.choice(["Add", "Mul"]), [row, g.scalar(dtype)], like=row))


def _goes_behind(state, v, axis):
    return all(k == axis or e == state.shape[k] for k, e in enumerate(v.shape))


def _alike(g, row):
    """Another row of the same shape."""
    if row.dtype in (BOOL, STRING) or not float_or_int(row) or row.dtype.kind == "u":
        return row
    return g.emit(g.writer.random.choice(["Neg", "Abs", "Identity"]), [row], like=row)


def _reduced(g, op, a, axis, keep):
    axes_are_inputs = g.writer.mood.opset >= (13 if op == "ReduceSum" else 18)
    inputs, attributes = ([a, g.list(axis)], {}) if axes_are_inputs else ([a], {"axes": [axis]})
    return g.emit(op, inputs, {**attributes, "keepdims": keep}, steady=True, facts=[{"wobble": a.others_wobble}])


# ---- readers ------------------------------------------------------------------------------------------------


def cache(g):
    """What reads a value that grows on one axis."""
    a = g.pick(lambda v: v.grows_on is not None and float_or_int(v))
    g.writer.random.choice([_attend, _attend, _project, _total, _recent, _length, _masked, _shifted, _paired])(g, a, a.grows_on)


def _attend(g, a, axis):
    """Products of queries with the rows, the results' products with rows of a value that grows alike."""
    w, rng = g.writer, g.writer.random
    if axis != a.rank - 2 or a.rank < 2:
        raise Unfit("rows are not the last axis but one")
    turned = g.emit("Transpose", [a], {"perm": [*range(axis), axis + 1, axis]})
    query = g.constant(w.array(a.dtype, [*a.shape[:axis], rng.choice([1, 1, 2]), a.shape[-1]]))
    if w.chance(0.5):
        query = g.emit("Add", [query, g.scalar(a.dtype)], like=query)
    scores = g.bounded(g.emit("MatMul", [query, turned]))
    if is_float(a) and not w.mood.exact:
        scores = g.emit("Softmax", [scores], {"axis": -1}, like=scores)
    values = g.pick(lambda v: v.dtype == a.dtype and v.shape_id == a.shape_id)
    g.bounded(g.emit("MatMul", [scores, values], facts=[{"wobble": a.others_wobble}]))


def _project(g, a, axis):
    """A product of all rows with weights."""
    if a.rank < 2 or axis == a.rank - 1:
        raise Unfit("the inner extent changes")
    weights = g.constant(g.writer.array(a.dtype, [a.shape[-1], g.writer.random.choice([1, 3, 17])]))
    g.bounded(g.emit("MatMul", [a, weights], facts=[{"grows_on": axis, "others_wobble": a.others_wobble}]))


def _total(g, a, axis):
    op = g.writer.random.choice(["ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin"])
    made = _reduced(g, op, a, axis, g.writer.random.randint(0, 1))
    if op == "ReduceSum":
        g.bounded(made)


def _recent(g, a, axis):
    """The last rows, or all but some."""
    start = g.writer.random.choice([-1, -2, -4, 1, 2])
    g.emit("Slice", [a, g.list(start), g.list(2**31), g.list(axis)], facts=[{"grows_on": axis, "others_wobble": a.others_wobble}])


def _length(g, a, axis):
    length = g.emit("Gather", [g.emit("Shape", [a]), g.number(axis)])
    if g.writer.chance(0.4):
        g.emit("Range", [g.number(0), length, g.number(1)])


def _masked(g, a, axis):
    """Rows before a position, zeros after it."""
    positions = g.emit("Range", [g.number(0), g.extent(a, axis), g.number(1)])
    for _ in range(a.rank - 1 - axis):
        positions = g.emit("Unsqueeze", [positions, g.list(-1)])
    early = g.emit("Less", [positions, g.scalar()])
    g.emit("Where", [early, a, g.number(0, a.dtype)], like=a)


def _shifted(g, a, axis):
    g.bounded(g.emit("Sub", [a, _reduced(g, "ReduceMax", a, axis, keep=1)], like=a))


def _paired(g, a, axis):
    """Element by element with a value that grows alike."""
    b = g.pick(lambda v: v is not a and v.dtype == a.dtype and v.shape_id == a.shape_id)
    g.bounded(g.emit(g.writer.random.choice(["Add", "Sub", "Mul"]), [a, b], like=a))


FAMILIES = {"cache": cache}
