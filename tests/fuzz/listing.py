"""States that are lists of like tensors, or optionals, and what reads them: tensors of one shape, or that differ in one extent."""

from __future__ import annotations

import machine
import numpy as np
from onnx import helper

from .blocks import Block, float_or_int
from .values import ELEMENT_TYPES, Unfit, Value

FORMS = ["last", "last", "last", "two", "first", "anywhere", "moves on", "less", "erased", "branch", "inner"]


def _items(w):
    """The extents of like tensors; None for the one in which they differ."""
    items = list(w.shape(w.random.choice([0, 1, 1, 2])))
    if items and w.chance(0.4):
        items[w.random.randrange(len(items))] = None
    return items


def _row(g, dtype, items):
    """A tensor with these extents."""
    w = g.writer
    extents = [w.random.choice([0, 1, 1, 2, 3]) if e is None else e for e in items]
    row = g.constant(w.array(dtype, extents))
    if not float_or_int(row) or w.chance(0.3):
        return row
    return g.bounded(g.emit(w.random.choice(["Add", "Mul"]), [row, g.scalar(dtype)], like=row))


def _parts(g):
    """A tensor in parts of lengths that are given, as a list; and the extents of the parts."""
    w, rng = g.writer, g.writer.random
    shape = list(w.shape(rng.choice([1, 2])))
    axis = rng.randrange(len(shape))
    x = _row(g, rng.choice(w.mood.dtypes), shape)
    if w.chance(0.5):
        lengths = g.number(rng.choice([1, 2, 3]))
    else:
        ends = sorted(rng.randint(0, shape[axis]) for _ in range(rng.choice([1, 2])))
        lengths = g.list(*(b - a for a, b in zip([0, *ends], [*ends, shape[axis]], strict=True)))
    items = [None if k == axis else e for k, e in enumerate(shape)]
    made = g.emit("SplitToSequence", [x, lengths], {"axis": axis}, kind="seq", dtype=x.dtype)
    made.items = items
    return made, items


def given(writer, root):
    """A list that is an input, of like tensors."""
    rng, items = writer.random, _items(writer)
    dtype = rng.choice(writer.mood.dtypes)
    extents = lambda: [rng.choice([0, 1, 2, 3]) if e is None else e for e in items]  # noqa: E731
    samples = [[writer.array(dtype, extents()) for _ in range(rng.randint(0, 3))] for _ in range(writer.mood.feed_sets)]
    made = root.add_input("seq", dtype, samples)
    made.items = items
    return made


class Changing:
    """How a state that is no tensor changes in each trip: to `_next`, or, if that cannot run, it stays as it is."""

    made = None

    def step(self, body):
        """Emits what reads the state, and its next value."""
        try:
            self.made = self._next(body)
        except Unfit:
            self.made = self.state

    def next_of(self, body, state):
        if self.made is None:
            self.step(body)
        return self.made


class Holding(Changing):
    """How a state that is an optional tensor changes in each trip; it begins empty, or holding one."""

    def __init__(self, g, body):
        w, rng = g.writer, g.writer.random
        self.dtype, self.items = rng.choice(w.mood.dtypes), _items(w)
        if w.mood.opset < 16:
            raise Unfit("optionals are of a later version")
        if w.chance(0.6):
            kind = helper.make_tensor_type_proto(ELEMENT_TYPES[self.dtype], self.items if w.chance(0.5) else None)
            self.initial = g.emit("Optional", [], {"type": kind}, kind="opt", dtype=self.dtype)
        else:
            self.initial = g.emit("Optional", [_row(g, self.dtype, self.items)], kind="opt", dtype=self.dtype)
        self.form = rng.choice(["set", "set", "branch", "branch", "emptied", "kept"])
        self.state = body.add_input("opt", self.dtype, self.initial.samples, varies=body.depth, wobble=body.depth)

    def _holding(self, g, value):
        return g.emit("Optional", [value], kind="opt", dtype=self.dtype)

    def _read(self, g):
        """The tensor that it holds, or another one."""
        has = g.emit("OptionalHasElement", [self.state])
        full, empty = Block(g.writer, g), Block(g.writer, g)
        try:
            held = full.emit("OptionalGetElement", [self.state], dtype=self.dtype, facts=[{"wobble": g.depth, "unranked": False}])
        except Unfit:  # it is empty in the first trip
            node = machine.Node("OptionalGetElement", [self.state.name], [g.writer.fresh()])
            full.nodes.append(node)
            like = _row(empty, self.dtype, self.items)
            held = Value(node.outputs[0], "tensor", self.dtype, like.samples, full.level, varies=g.depth, wobble=g.depth)
        other = _row(empty, self.dtype, self.items)
        branches = {"then_branch": full.finish("branch", [held]), "else_branch": empty.finish("branch", [other])}
        wobble = g.depth if None in self.items else 0
        return g.emit("If", [has], branches, facts=[{"dtype": self.dtype, "varies": g.depth, "wobble": wobble}])

    def _next(self, g):
        self._read(g)
        match self.form:
            case "kept":
                return self.state
            case "set":
                return self._holding(g, _row(g, self.dtype, self.items))
            case form:
                blocks = [Block(g.writer, g) for _ in range(2)]
                one = self._holding(blocks[0], _row(blocks[0], self.dtype, self.items))
                if form == "branch":
                    other = blocks[1].emit("Identity", [self.state], kind="opt", dtype=self.dtype)
                else:
                    kind = helper.make_tensor_type_proto(ELEMENT_TYPES[self.dtype], None)
                    other = blocks[1].emit("Optional", [], {"type": kind}, kind="opt", dtype=self.dtype)
                branches = {"then_branch": blocks[0].finish("branch", [one]), "else_branch": blocks[1].finish("branch", [other])}
                facts = [{"kind": "opt", "dtype": self.dtype, "varies": g.depth, "wobble": g.depth}]
                return g.emit("If", [g.condition()], branches, facts=facts)


class Listing(Changing):
    """How a state that is a list changes in each trip. Its tensors have the extents `items`; None where they differ."""

    def __init__(self, g, body):
        w, rng = g.writer, g.writer.random
        self.dtype, self.items = rng.choice(w.mood.dtypes), _items(w)
        there = [v for v in g.visible() if v.kind == "seq" and v.items is not None and v.varies == 0]
        if there and w.chance(0.4):
            self.initial = rng.choice(there)
            self.dtype, self.items = self.initial.dtype, self.initial.items
        elif w.chance(0.3):
            self.initial, self.items = _parts(g)
            self.dtype = self.initial.dtype
        elif w.chance(0.5):
            self.initial = g.emit("SequenceEmpty", [], {"dtype": ELEMENT_TYPES[self.dtype]}, kind="seq", dtype=self.dtype)
        else:
            rows = [self._row(g) for _ in range(rng.choice([1, 2, 3]))]
            self.initial = g.emit("SequenceConstruct", rows, kind="seq", dtype=self.dtype)
        self.initial.items = self.items
        self.form = rng.choice(FORMS)
        self.state = body.add_input("seq", self.dtype, self.initial.samples, varies=body.depth, wobble=body.depth)
        self.state.items = self.items

    def _row(self, g):
        return _row(g, self.dtype, self.items)

    def _changed(self, g, op, *inputs):
        made = g.emit(op, list(inputs), kind="seq", dtype=self.dtype)
        made.items = self.items
        return made

    def _with(self, g, s, *position):
        return self._changed(g, "SequenceInsert", s, self._row(g), *position)

    def _next(self, g):
        s = self.state
        match self.form:
            case "last":
                return self._with(g, s)
            case "two":
                return self._with(g, self._with(g, s))
            case "first":
                return self._with(g, s, g.number(0))
            case "anywhere":
                return self._with(g, s, _position(g, s))
            case "moves on":
                return self._changed(g, "SequenceErase", self._with(g, s), g.number(0))
            case "less":
                return self._changed(g, "SequenceErase", self._with(g, self._with(g, s)))
            case "erased":
                longer = self._with(g, self._with(g, s))
                return self._changed(g, "SequenceErase", longer, _position(g, longer))
            case "branch":
                return self._in_a_branch(g)
            case _:
                return self._in_a_loop(g)

    def _in_a_branch(self, g):
        chosen = g.condition()
        blocks = [Block(g.writer, g) for _ in range(2)]
        longer = self._with(blocks[0], self.state)
        kept = blocks[1].emit("Identity", [self.state], kind="seq", dtype=self.dtype)
        branches = {"then_branch": blocks[0].finish("branch", [longer]), "else_branch": blocks[1].finish("branch", [kept])}
        return self._given(g, "If", [chosen], branches)

    def _in_a_loop(self, g):
        body = Block(g.writer, g, loop=True)
        sets = g.writer.mood.feed_sets
        body.add_input("tensor", np.dtype(np.int64), [np.array(0, np.int64)] * sets, varies=body.depth)
        going = body.add_input("tensor", np.dtype(bool), [np.array(True)] * sets, varies=body.depth)
        inner = body.add_input("seq", self.dtype, self.state.samples, varies=body.depth, wobble=body.depth)
        graph = body.finish("loop", [body.emit("Identity", [going]), self._with(body, inner)])
        return self._given(g, "Loop", [g.number(g.writer.random.choice([0, 1, 2])), None, self.state], {"body": graph})

    def _given(self, g, op, inputs, attributes):
        made = g.emit(op, inputs, attributes, facts=[{"kind": "seq", "dtype": self.dtype, "varies": g.depth, "wobble": g.depth}])
        made.items = self.items
        return made


def _length(g, s):
    """The length of a list, at least 1."""
    return g.emit("Max", [g.emit("SequenceLength", [s]), g.number(1)])


def _position(g, s):
    """A position in a list, from the front or from the end."""
    found = g.emit("Mod", [g.scalar(), _length(g, s)])
    return found if g.writer.chance(0.6) else g.emit("Sub", [found, _length(g, s)])


def listed(g):
    """What reads a list whose tensors are alike."""
    w, rng = g.writer, g.writer.random
    s = g.pick(lambda v: v.items is not None, kind="seq")
    differ = None in s.items
    form = rng.choice(["at", "at", "last", "length", "joined", "stacked"])
    one = [{"wobble": s.varies if differ else 0, "unranked": False}]
    if form == "length":
        g.emit("SequenceLength", [s], steady=True)
    elif form in ("at", "last"):
        g.emit("SequenceAt", [s, g.number(-1) if form == "last" else _position(g, s)], facts=one)
    elif form == "stacked" and (not differ or w.risky()):
        g.emit("ConcatFromSequence", [s], {"axis": rng.randint(-1, len(s.items)), "new_axis": 1}, facts=[{"wobble": s.varies, "unranked": False}])
    elif s.items:
        axis = s.items.index(None) if differ and not w.risky() else rng.randrange(len(s.items))
        g.emit("ConcatFromSequence", [s], {"axis": axis - rng.choice([0, len(s.items)])}, facts=[{"wobble": s.varies, "unranked": False}])
    else:
        raise Unfit("scalars are not joined")


FAMILIES = {"listed": listed}
