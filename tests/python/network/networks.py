"""Random networks of loops and conditionals, made with the network builder as a user would make them.

All numbers are small integers, in every dtype, and every result is reduced to small integers again. So sums are exact even
in float16, and all executions must give the same bits. `Weaver.covered` counts the features that a network covers.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np

from rondel.network import (
    DataType,
    ElementWiseOperation,
    LoopOutput,
    MatrixOperation,
    Network,
    ReduceOperation,
    TripLimit,
    UnaryOperation,
)

NUMBERS = [DataType.FLOAT, DataType.DOUBLE, DataType.HALF, DataType.INT32, DataType.INT64]
FLOATS = NUMBERS[:3]
BOOL = DataType.BOOL
NUMPY = {
    DataType.FLOAT: np.float32,
    DataType.DOUBLE: np.float64,
    DataType.HALF: np.float16,
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    BOOL: np.bool_,
}
LARGEST = 32


@dataclass(eq=False)
class Value:
    """A tensor with its extents at run time; None for an extent that depends on a data-dependent trip count.

    maybe_unknown: an extent is only known after a trip, and the loop may make no trip.
    """

    tensor: object
    dtype: object
    shape: tuple
    maybe_unknown: bool = False

    @property
    def known(self):
        return None not in self.shape

    @property
    def like(self):
        return (self.dtype, self.shape)


class Scope:
    """The values visible at a place: its own, and those of the enclosing scopes."""

    def __init__(self, weaver, outer=None, kind="network"):
        self.weaver = weaver
        self.outer = outer
        self.kind = kind
        self.depth = outer.depth + 1 if outer else 0
        self.values = []
        self.anchor = None  # a value that makes a layer depend on the loop or conditional of this scope

    def visible(self):
        return (self.outer.visible() if self.outer else []) + self.values

    def pick(self, wanted=lambda v: True):
        """A random visible value that `wanted` accepts, more likely one of this scope; None if there is none."""
        for values in (self.values, self.visible()) if self.weaver.chance(0.7) else (self.visible(),):
            found = [v for v in values if wanted(v)]
            if found:
                return self.weaver.random.choice(found)
        return None


class Weaver:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.network = Network()
        self.feeds = {}
        self.covered = Counter()
        self.may_overlap = False  # a nested loop or conditional may not depend on the enclosing one

    def chance(self, p):
        return self.random.random() < p

    def shape(self, rank=None):
        rank = self.random.choice([0, 1, 1, 2, 2, 3]) if rank is None else rank
        return tuple(self.random.choice([1, 2, 3, 3, 4, 5]) if not self.chance(0.02) else 0 for _ in range(rank))

    def array(self, dtype, shape):
        numbers = np.array([self.random.randint(-4, 4) for _ in range(int(np.prod(shape, dtype=int)))], np.int64).reshape(shape)
        return np.asarray(numbers > 0 if dtype == BOOL else numbers, NUMPY[dtype])

    # ---- tensors -------------------------------------------------------------------------------------------

    def constant(self, array, dtype):
        array = np.asarray(array, NUMPY[dtype])
        return Value(self.network.add_constant(array.shape, array).get_output(0), dtype, array.shape)

    def number(self, number, dtype=DataType.INT64, rank=0):
        return self.constant(np.full((1,) * rank, number), dtype)

    def make(self, layer, dtype, shape, scope):
        made = Value(layer.get_output(0), dtype, tuple(shape))
        scope.values.append(made)
        return made

    def elementwise(self, a, b, op, dtype, shape, scope):
        self.covered[f"elementwise {op}"] += 1
        return self.make(
            self.network.add_elementwise(a.tensor, b.tensor, getattr(ElementWiseOperation, op)), dtype, shape, scope
        )

    def bounded(self, v, scope):
        """The value clamped to small numbers, so that it does not grow over the trips."""
        rank = len(v.shape)
        low = self.elementwise(v, self.number(-LARGEST, v.dtype, rank), "MAX", v.dtype, v.shape, Scope(self))
        return self.elementwise(low, self.number(LARGEST, v.dtype, rank), "MIN", v.dtype, v.shape, scope)

    # ---- straight-line layers ------------------------------------------------------------------------------

    def arithmetic(self, scope):
        a = scope.pick(lambda v: v.dtype != BOOL and v.known)
        b = scope.pick(lambda v: v.like == a.like) if a else None
        if b:
            op = self.random.choice(["SUM", "SUB", "PROD", "MAX", "MIN"])
            self.bounded(self.elementwise(a, b, op, a.dtype, a.shape, Scope(self)), scope)

    def broadcast(self, scope):
        a = scope.pick(lambda v: v.dtype != BOOL and v.known and v.shape)
        if a:
            shape = tuple(self.random.choice([e, 1]) for e in a.shape)
            b = self.constant(self.array(a.dtype, shape), a.dtype)
            self.bounded(self.elementwise(b, a, "SUM", a.dtype, a.shape, Scope(self)), scope)

    def compare(self, scope):
        a = scope.pick(lambda v: v.dtype != BOOL and v.known)
        b = scope.pick(lambda v: v.like == a.like) if a else None
        if b:
            self.elementwise(a, b, self.random.choice(["LESS", "GREATER", "EQUAL"]), BOOL, a.shape, scope)

    def logic(self, scope):
        a = scope.pick(lambda v: v.dtype == BOOL and v.known)
        b = scope.pick(lambda v: v.like == a.like) if a else None
        if b:
            self.elementwise(a, b, self.random.choice(["AND", "OR", "XOR"]), BOOL, a.shape, scope)

    def unary(self, scope):
        a = scope.pick(lambda v: v.known)
        op = "NOT" if a.dtype == BOOL else self.random.choice(["NEG", "ABS"])
        self.covered[f"unary {op}"] += 1
        self.make(self.network.add_unary(a.tensor, getattr(UnaryOperation, op)), a.dtype, a.shape, scope)

    def select(self, scope):
        c = scope.pick(lambda v: v.dtype == BOOL and v.known)
        a = scope.pick(lambda v: v.shape == c.shape) if c else None
        b = scope.pick(lambda v: v.like == a.like) if a else None
        if b:
            self.covered["select"] += 1
            self.make(self.network.add_select(c.tensor, a.tensor, b.tensor), a.dtype, a.shape, scope)

    def cast(self, scope):
        a = scope.pick(lambda v: v.known)
        to = self.random.choice(NUMBERS)
        self.covered["cast"] += 1
        self.make(self.network.add_cast(a.tensor, to), to, a.shape, scope)

    def reduce(self, scope):
        a = scope.pick(lambda v: v.dtype != BOOL and v.shape)
        if not a:
            return
        axes = self.random.randrange(1, 1 << len(a.shape)) if a.known else (1 << len(a.shape)) - 1
        op = "SUM" if not a.known or 0 in a.shape else self.random.choice(["SUM", "MAX", "MIN"])
        keep = self.chance(0.5)
        shape = [1 if axes >> k & 1 else e for k, e in enumerate(a.shape) if keep or not axes >> k & 1]
        self.covered[f"reduce {op}"] += 1
        layer = self.network.add_reduce(a.tensor, getattr(ReduceOperation, op), axes, keep)
        self.bounded(self.make(layer, a.dtype, shape, Scope(self)), scope)

    def shuffle(self, scope):
        a = scope.pick(lambda v: v.known and v.shape)
        if not a:
            return
        order = self.random.sample(range(len(a.shape)), len(a.shape))
        shape = [a.shape[k] for k in order]
        layer = self.network.add_shuffle(a.tensor)
        layer.first_transpose = order
        if self.chance(0.4) and 0 not in shape:
            self.covered["shuffle with a reshape"] += 1
            layer.reshape_dims = self.random.choice([(-1,), (1, -1)])
            shape = [1] * (len(layer.reshape_dims) - 1) + [int(np.prod(shape))]
        self.covered["shuffle"] += 1
        self.make(layer, a.dtype, shape, scope)

    def slice(self, scope):
        a = scope.pick(lambda v: v.known and v.shape and 0 not in v.shape)
        if not a:
            return
        back = [self.chance(0.5) for _ in a.shape]
        shape = [self.random.randint(1, e) for e in a.shape]
        start = [e - 1 if b else e - n for e, b, n in zip(a.shape, back, shape, strict=True)]
        stride = [-1 if b else 1 for b in back]
        self.covered["slice"] += 1
        self.make(self.network.add_slice(a.tensor, start, shape, stride), a.dtype, shape, scope)

    def gather(self, scope):
        a = scope.pick(lambda v: v.known and v.shape and 0 not in v.shape)
        if not a:
            return
        axis = self.random.randrange(len(a.shape))
        index = self.clamped(scope, 0, a.shape[axis] - 1)
        self.covered["gather"] += 1
        layer = self.network.add_gather(a.tensor, index.tensor, axis)
        self.make(layer, a.dtype, a.shape[:axis] + a.shape[axis + 1 :], scope)

    def concatenation(self, scope):
        a = scope.pick(lambda v: v.known and v.shape and max(v.shape) < 8)
        b = scope.pick(lambda v: v.like == a.like) if a else None
        if b:
            axis = self.random.randrange(len(a.shape))
            layer = self.network.add_concatenation([a.tensor, b.tensor])
            layer.axis = axis
            self.covered["concatenation"] += 1
            self.make(layer, a.dtype, [e * 2 if k == axis else e for k, e in enumerate(a.shape)], scope)

    def product(self, scope):
        a = scope.pick(lambda v: v.dtype in FLOATS and v.known and len(v.shape) == 2 and 0 not in v.shape)
        b = scope.pick(lambda v: v.dtype == a.dtype and v.known and len(v.shape) == 2 and a.shape[1] in v.shape) if a else None
        if not b:
            return
        turned = b.shape[0] != a.shape[1]
        columns = b.shape[0] if turned else b.shape[1]
        if not columns:
            return
        ops = (MatrixOperation.NONE, MatrixOperation.TRANSPOSE if turned else MatrixOperation.NONE)
        self.covered["matrix_multiply"] += 1
        layer = self.network.add_matrix_multiply(a.tensor, ops[0], b.tensor, ops[1])
        self.bounded(self.make(layer, a.dtype, (a.shape[0], columns), Scope(self)), scope)

    def fresh_constant(self, scope):
        dtype = self.random.choice([*NUMBERS, BOOL])
        scope.values.append(self.constant(self.array(dtype, self.shape()), dtype))

    def clamped(self, scope, low, high):
        """An int32 or int64 scalar between low and high: a constant, or data-dependent."""
        found = scope.pick(lambda v: v.dtype in (DataType.INT32, DataType.INT64) and v.shape == ())
        if not found or self.chance(0.5):
            return self.number(self.random.randint(low, high), self.random.choice([DataType.INT32, DataType.INT64]))
        hidden = Scope(self)
        least = self.elementwise(found, self.number(low, found.dtype), "MAX", found.dtype, (), hidden)
        return self.elementwise(least, self.number(high, found.dtype), "MIN", found.dtype, (), hidden)

    def extent(self, v, axis):
        """The extent of an axis, read from the shape in one of the ways that users write it."""
        self.covered["count read from a shape"] += 1
        shape = self.network.add_shape(v.tensor).get_output(0)
        if self.chance(0.5):
            index = self.number(axis - (len(v.shape) if self.chance(0.5) else 0), rank=self.random.randint(0, 1))
            picked = self.network.add_gather(shape, index.tensor, 0).get_output(0)
        else:
            picked = self.network.add_slice(shape, (axis,), (1,), (1,)).get_output(0)
        if len(picked.shape):
            shuffle = self.network.add_shuffle(picked)
            shuffle.reshape_dims = ()
            picked = shuffle.get_output(0)
        if self.chance(0.3):
            return Value(self.network.add_cast(picked, DataType.INT32).get_output(0), DataType.INT32, ())
        return Value(picked, DataType.INT64, ())

    def anchor(self, scope):
        """A value that a loop or conditional made in this scope must take as input, so that the data flow puts it inside; or None.

        Without this input, an unused layer might be inside two loops or conditionals neither of which encloses the other.
        """
        if scope.anchor is None:
            return None
        if self.chance(0.1):
            self.may_overlap = True
            return None
        return scope.anchor

    # ---- conditionals --------------------------------------------------------------------------------------

    def flag(self, scope):
        found = scope.pick(lambda v: v.like == (BOOL, ()))
        if found and self.chance(0.7):
            return found
        number = scope.pick(lambda v: v.dtype != BOOL and v.shape == ()) or self.number(self.random.randint(-3, 3))
        limit = self.number(self.random.randint(-2, 3), number.dtype)
        return self.elementwise(number, limit, "LESS", BOOL, (), Scope(self))

    def conditional(self, scope):
        self.covered[f"conditional in {scope.kind}"] += 1
        conditional = self.network.add_if_conditional()
        conditional.set_condition(self.flag(scope).tensor)
        taken = {}

        def through(v):
            if v not in taken:
                taken[v] = Value(conditional.add_input(v.tensor).get_output(0), v.dtype, v.shape)
            return taken[v]

        wanted = [scope.pick(lambda v: v.known) for _ in range(self.random.randint(1, 3))]
        anchor = through(self.anchor(scope) or wanted[0])
        branches = []
        for _ in range(2):
            branch = Scope(self, scope, "a conditional")
            branch.values += [through(scope.pick(lambda v: v.known)) for _ in range(self.random.randint(1, 3))]
            branch.values += [through(w) for w in wanted]
            branch.anchor = anchor
            self.block(branch, self.random.randint(1, 4))
            branches.append([branch.pick(lambda v, w=w: v in branch.values and v.like == w.like) or through(w) for w in wanted])
        for first, second in zip(*branches, strict=True):
            first, second = self.own(first), self.own(second)
            layer = conditional.add_output(first.tensor, second.tensor)
            self.make(layer, first.dtype, first.shape, scope)

    def own(self, v):
        """The value through an identity layer."""
        return Value(self.network.add_identity(v.tensor).get_output(0), v.dtype, v.shape)

    # ---- loops ---------------------------------------------------------------------------------------------

    def loop(self, scope):
        loop = self.network.add_loop()
        body = Scope(self, scope, "a loop")
        most = self.random.choice([0, 1, 2, 3, 3, 4, 5])
        count, exact = None, None
        form = self.random.choice(["count", "count", "count", "while", "both"])
        iterated = [scope.pick(lambda v: v.known and v.shape and max(v.shape) >= 1) for _ in range(self.random.randint(0, 3))]
        iterated = [(v, self.random.choice([k for k, e in enumerate(v.shape) if e == max(v.shape)])) for v in iterated if v]
        most = min([most, *(v.shape[axis] for v, axis in iterated)])
        if form != "while":
            whole = [(v, axis) for v, axis in iterated if v.shape[axis] == most]
            if whole and self.chance(0.4):
                low, count = most, self.extent(*self.random.choice(whole))
            else:
                low = most if self.chance(0.6) else 0
                count = self.clamped(scope, low, most)
            exact = most if low == most and form == "count" else None
            loop.add_trip_limit(count.tensor, TripLimit.COUNT)
        for v, axis in iterated:
            reverse = count is not None and self.chance(0.4)
            self.covered[f"iterator on axis {axis}{', reversed' if reverse else ''}"] += 1
            layer = loop.add_iterator(v.tensor, axis, reverse)
            self.make(layer, v.dtype, v.shape[:axis] + v.shape[axis + 1 :], body)

        initial = [scope.pick(lambda v: v.known) for _ in range(self.random.randint(0 if iterated and form == "count" else 1, 3))]
        states = [(loop.add_recurrence(v.tensor), v) for v in initial]
        body.values += [Value(layer.get_output(0), v.dtype, v.shape) for layer, v in states]
        recurrences = list(body.values[len(iterated) :])
        body.anchor = body.values[0]
        if anchor := self.anchor(scope):
            layer = loop.add_recurrence(anchor.tensor)
            layer.set_input(1, layer.get_output(0))
        if form != "count":
            self.add_while(loop, scope, body, recurrences, most)
        self.block(body, self.random.randint(1, 5))
        for layer, v in states:
            layer.set_input(1, self.next_value(scope, body, v).tensor)
        self.covered[f"{form} loop in {scope.kind}"] += 1
        self.covered[f"loop at depth {scope.depth}"] += 1
        self.outputs(loop, scope, body, recurrences, most, exact, count if count and low == most else None)

    def add_while(self, loop, scope, body, recurrences, most):
        """Adds a while limit that is false after at most `most` trips."""
        dtype = self.random.choice([DataType.INT32, DataType.INT64])
        counter = loop.add_recurrence(self.number(0, dtype).tensor)
        now = Value(counter.get_output(0), dtype, ())
        following = self.elementwise(now, self.number(1, dtype), "SUM", dtype, (), Scope(self))
        counter.set_input(1, following.tensor)
        go = self.elementwise(now, self.number(most, dtype), "LESS", BOOL, (), Scope(self))
        if self.chance(0.4):
            # A test of a state that each trip sets at random.
            flag = loop.add_recurrence(self.constant(True, BOOL).tensor)
            seen = Scope(self, body, "a loop")
            seen.values += recurrences
            flag.set_input(1, self.flag(seen).tensor)
            go = self.elementwise(go, Value(flag.get_output(0), BOOL, ()), "AND", BOOL, (), Scope(self))
            self.covered["while on data"] += 1
        loop.add_trip_limit(go.tensor, TripLimit.WHILE)
        body.values.append(now)
        recurrences.append(now)

    def next_value(self, scope, body, v):
        if self.chance(0.1):
            outside = scope.pick(lambda w: w.like == v.like)
            if outside:
                self.covered["recurrence whose next comes from outside"] += 1
                return outside
        return body.pick(lambda w: w in body.values and w.like == v.like) or v

    def outputs(self, loop, scope, body, recurrences, most, exact, count):
        """Adds loop outputs. `exact`: the number of trips, if known; `count`: the trip limit, if it equals `most`."""
        likely = [v for v in recurrences if self.chance(0.8)] or recurrences[:1]
        joined = [body.pick(lambda v: v.known) for _ in range(self.random.randint(0 if likely else 1, 2))]
        for v in likely:
            self.covered["last value"] += 1
            self.make(loop.add_loop_output(v.tensor, LoopOutput.LAST_VALUE), v.dtype, v.shape, scope)
        for v in joined:
            kind = self.random.choice([LoopOutput.CONCATENATE, LoopOutput.REVERSE])
            axis = self.random.randint(0, len(v.shape))
            layer = loop.add_loop_output(v.tensor, kind, axis)
            extent = exact
            if self.chance(0.4):
                extent = most + self.random.randint(0, 2)
                length = self.number(extent, self.random.choice([DataType.INT32, DataType.INT64]))
                if count and extent == most and self.chance(0.8):
                    self.covered["output with the count as its length"] += 1
                    length = count
                layer.set_input(1, length.tensor)
                self.covered["output with a length"] += 1
            where = "an invariant" if v not in body.values else "the loop"
            self.covered[f"{kind.name.lower()} of {where}"] += 1
            shape = v.shape if exact else tuple(e if d >= 0 else None for e, d in zip(v.shape, v.tensor.shape, strict=True))
            made = self.make(layer, v.dtype, (*shape[:axis], extent, *shape[axis:]), scope)
            made.maybe_unknown = None in shape

    # ---- whole networks ------------------------------------------------------------------------------------

    def block(self, scope, length):
        straight = [
            self.arithmetic,
            self.arithmetic,
            self.broadcast,
            self.compare,
            self.logic,
            self.unary,
            self.select,
            self.cast,
            self.reduce,
            self.shuffle,
            self.slice,
            self.gather,
            self.concatenation,
            self.product,
            self.fresh_constant,
        ]
        for _ in range(length):
            deeper = scope.depth < 3 and self.chance(0.5 if scope.depth == 0 else 0.25)
            self.random.choice([self.loop, self.loop, self.conditional] if deeper else straight)(scope)

    def weave(self):
        scope = Scope(self)
        dtypes = [DataType.FLOAT, DataType.FLOAT, DataType.INT64, BOOL, self.random.choice(NUMBERS), self.random.choice(NUMBERS)]
        for k, dtype in enumerate(dtypes):
            self.add_input(scope, f"x{k}", dtype, self.shape())
        self.add_input(scope, "count", DataType.INT64, ())
        self.add_input(scope, "flag", BOOL, ())
        inputs = len(scope.values)
        self.block(scope, self.random.randint(4, 9))
        made = [v for v in scope.values[inputs:] if not v.maybe_unknown][-12:]
        for v in made or scope.values[:1]:
            self.network.mark_output(self.own(v).tensor)

    def add_input(self, scope, name, dtype, shape):
        declared = tuple(-1 if self.chance(0.25) else e for e in shape)
        if -1 in declared:
            self.covered["dynamic input"] += 1
        self.covered[f"dtype {dtype.name}"] += 1
        self.feeds[name] = self.array(dtype, shape)
        scope.values.append(Value(self.network.add_input(name, dtype, declared), dtype, shape))


def random_network(seed):
    """The Weaver that made the random network of this seed: its fields have the network and the feeds."""
    weaver = Weaver(seed)
    weaver.weave()
    return weaver
