"""Random ONNX programs with nested Loop, Scan and If (opset 16), each from a seed.

Floats hold small integers only, so that every order of arithmetic gives the same bits: a difference is an error, never
rounding. Every program terminates: a loop without a trip count stops by its condition.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
NUMPY = {F: np.float32, I: np.int64, B: np.bool_}


@dataclass(frozen=True)
class Value:
    """A name with its dtype and shape; an extent that is only known at run time is None."""

    name: str
    dtype: int
    shape: tuple

    @property
    def known(self):
        return None not in self.shape

    @property
    def like(self):
        return (self.dtype, self.shape)


class Graph:
    """A graph under construction: the values that its nodes may read, and the nodes so far."""

    def __init__(self, writer, outer=None):
        self.writer, self.outer = writer, outer
        self.nodes, self.values = [], []
        self.depth = outer.depth + 1 if outer else 0

    def visible(self):
        return self.values + (self.outer.visible() if self.outer else [])

    def pick(self, test=lambda v: True):
        fitting = [v for v in self.visible() if test(v)]
        return self.writer.random.choice(fitting) if fitting else None

    def emit(self, op, inputs, dtype, shape, **attributes):
        made = Value(self.writer.fresh(), dtype, tuple(shape))
        names = [v.name if isinstance(v, Value) else v for v in inputs]
        self.nodes.append(helper.make_node(op, names, [made.name], **attributes))
        self.values.append(made)
        return made

    def constant(self, array):
        array = np.asarray(array)
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        made = self.emit("Constant", [], dtype, array.shape, value=numpy_helper.from_array(array))
        self.values.remove(made)  # only the node that uses the constant reads it
        return made

    def number(self, value, dtype=I):
        return self.constant(np.array(value, NUMPY[dtype]))

    def proto(self, inputs, outputs):
        def info(v):
            return helper.make_tensor_value_info(v.name, v.dtype, list(v.shape))

        return helper.make_graph(self.nodes, self.writer.fresh("g"), [info(v) for v in inputs], [info(v) for v in outputs])


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.feeds = {}

    def fresh(self, prefix="v"):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, p):
        return self.random.random() < p

    def shape(self, rank=None):
        rank = self.random.choice([0, 1, 1, 2, 2, 3]) if rank is None else rank
        return tuple(self.random.choice([1, 2, 3, 3, 4]) if not self.chance(0.03) else 0 for _ in range(rank))

    def array(self, dtype, shape):
        count = int(np.prod(shape, dtype=int))
        numbers = [self.random.randint(-4, 4) for _ in range(count)]
        return np.asarray(np.array(numbers).reshape(shape) > 0 if dtype == B else np.array(numbers).reshape(shape), NUMPY[dtype])

    # ---- straight-line ops ------------------------------------------------------------------------------

    def bounded(self, g, v):
        """The value reduced to small numbers, so that it does not grow over the trips."""
        if v.dtype == F:
            return g.emit("Clip", [v, g.number(-64, F), g.number(64, F)], F, v.shape)
        return g.emit("Mod", [v, g.number(97)], I, v.shape)

    def arithmetic(self, g):
        a = g.pick(lambda v: v.dtype in (F, I))
        b = a and g.pick(lambda v: v.dtype == a.dtype and v.known and (v.like == a.like or v.shape == ()))
        if not b:
            return
        op = self.random.choice(["Add", "Sub", "Mul", "Max", "Min"])
        shape = a.shape
        self.bounded(g, g.emit(op, [a, b], a.dtype, shape))

    def broadcast(self, g):
        a = g.pick(lambda v: v.dtype in (F, I) and v.known and len(v.shape) >= 2)
        b = a and g.pick(lambda v: v.dtype == a.dtype and v.shape == a.shape[1:])
        if b:
            self.bounded(g, g.emit("Add", [b, a], a.dtype, a.shape))

    def unary(self, g):
        a = g.pick()
        op = {F: ["Neg", "Abs", "Relu"], I: ["Neg", "Abs"], B: ["Not"]}[a.dtype]
        g.emit(self.random.choice(op), [a], a.dtype, a.shape)

    def compare(self, g):
        a = g.pick(lambda v: v.dtype in (F, I) and v.known)
        b = a and g.pick(lambda v: v.like == a.like)
        if b:
            g.emit(self.random.choice(["Less", "Equal"]), [a, b], B, a.shape)

    def logic(self, g):
        a = g.pick(lambda v: v.dtype == B and v.known)
        b = a and g.pick(lambda v: v.like == a.like)
        if b:
            g.emit(self.random.choice(["And", "Or"]), [a, b], B, a.shape)

    def where(self, g):
        c = g.pick(lambda v: v.dtype == B and v.known)
        a = c and g.pick(lambda v: v.dtype in (F, I) and v.known and (v.shape == c.shape or c.shape == ()))
        b = a and g.pick(lambda v: v.like == a.like)
        if b:
            g.emit("Where", [c, a, b], a.dtype, a.shape)

    def cast(self, g):
        a = g.pick(lambda v: v.dtype != F)
        if not a:
            return
        to = self.random.choice([F, I]) if a.dtype == B else F
        if a.dtype == I:
            a = g.emit("Mod", [a, g.number(97)], I, a.shape)
        g.emit("Cast", [a], to, a.shape, to=to)

    def reduce(self, g):
        a = g.pick(lambda v: v.dtype in (F, I) and v.shape != ())
        if not a:
            return
        keep = self.random.randint(0, 1)
        if not a.known or self.chance(0.3):
            shape = (1,) * len(a.shape) if keep else ()
            made = g.emit("ReduceSum", [a], a.dtype, shape, keepdims=keep)
        else:
            axis = self.random.randrange(len(a.shape))
            shape = [e if k != axis else 1 for k, e in enumerate(a.shape) if k != axis or keep]
            if a.shape[axis] and self.chance(0.4):
                made = g.emit("ReduceMax", [a], a.dtype, shape, axes=[axis], keepdims=keep)
            else:
                axes = g.constant(np.array([axis - self.random.choice([0, len(a.shape)])], np.int64))
                made = g.emit("ReduceSum", [a, axes], a.dtype, shape, keepdims=keep)
        self.bounded(g, made)

    def move(self, g):
        a = g.pick(lambda v: v.known and v.shape != ())
        if not a:
            return
        rank, shape = len(a.shape), list(a.shape)
        kind = self.random.choice(["transpose", "flat", "unsqueeze", "slice", "gather", "concat"])
        axis = self.random.randrange(rank)
        if kind == "transpose":
            perm = self.random.sample(range(rank), rank)
            g.emit("Transpose", [a], a.dtype, [shape[p] for p in perm], perm=perm)
        elif kind == "flat" and 0 not in shape:
            g.emit("Reshape", [a, g.constant(np.array([-1], np.int64))], a.dtype, [int(np.prod(shape))])
        elif kind == "unsqueeze" and rank < 3:
            axis = self.random.randint(0, rank)
            g.emit("Unsqueeze", [a, g.constant(np.array([axis], np.int64))], a.dtype, [*shape[:axis], 1, *shape[axis:]])
        elif kind == "slice":
            backwards = self.chance(0.5)
            starts, ends, step = (2**31, -(2**31), -1) if backwards else (1, 2**31, 1)
            parts = [g.constant(np.array([e], np.int64)) for e in (starts, ends, axis, step)]
            extent = shape[axis] if backwards else max(0, shape[axis] - 1)
            g.emit("Slice", [a, *parts], a.dtype, [*shape[:axis], extent, *shape[axis + 1 :]])
        elif kind == "gather" and shape[axis]:
            index = g.pick(lambda v: v.like == (I, ()))
            if index:
                index = g.emit("Mod", [index, g.number(shape[axis])], I, ())
                g.emit("Gather", [a, index], a.dtype, [*shape[:axis], *shape[axis + 1 :]], axis=axis)
        elif kind == "concat" and max(shape) < 8:
            b = g.pick(lambda v: v.like == a.like)
            g.emit("Concat", [a, b], a.dtype, [*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]], axis=axis)

    def product(self, g):
        a = g.pick(lambda v: v.dtype == F and v.known and len(v.shape) == 2 and 0 not in v.shape)
        b = a and g.pick(lambda v: v.dtype == F and v.known and len(v.shape) == 2 and v.shape[0] == a.shape[1] and v.shape[1])
        if b:
            self.bounded(g, g.emit("MatMul", [a, b], F, (a.shape[0], b.shape[1])))

    def best(self, g):
        a = g.pick(lambda v: v.dtype in (F, I) and v.known and v.shape != ())
        if not a:
            return
        axis = self.random.randrange(len(a.shape))
        k = self.random.randint(0, a.shape[axis])
        shape = (*a.shape[:axis], k, *a.shape[axis + 1 :])
        made = [Value(self.fresh(), dtype, shape) for dtype in (a.dtype, I)]
        count = g.constant(np.array([k], np.int64))
        attributes = {"axis": axis, "largest": self.random.randint(0, 1)}
        g.nodes.append(helper.make_node("TopK", [a.name, count.name], [v.name for v in made], **attributes))
        g.values += made

    def windowed(self, g):
        a = g.pick(lambda v: v.dtype == F and v.known and len(v.shape) == 3 and 0 not in v.shape)
        if not a:
            return
        kernel = self.random.randint(1, a.shape[2])
        pads = [self.random.randint(0, kernel - 1) for _ in range(2)]
        stride = self.random.randint(1, 2)
        places = (a.shape[2] + sum(pads) - kernel) // stride + 1
        attributes = {"kernel_shape": [kernel], "pads": pads, "strides": [stride]}
        if self.chance(0.5):
            g.emit("MaxPool", [a], F, (*a.shape[:2], places), **attributes)
        else:
            maps = self.random.randint(1, 6)
            weights = g.constant(self.array(F, (maps, a.shape[1], kernel)))
            bias = g.constant(self.array(F, (maps,)))
            self.bounded(g, g.emit("Conv", [a, weights, bias], F, (a.shape[0], maps, places), **attributes))

    def size(self, g):
        a = g.pick()
        g.emit("Size", [a], I, ())

    def fresh_constant(self, g):
        dtype = self.random.choice([F, I, B])
        made = g.constant(self.array(dtype, self.shape()))
        g.values.append(made)

    # ---- control flow -----------------------------------------------------------------------------------

    def a_condition(self, g):
        """A bool scalar: an existing one, or a new comparison."""
        found = g.pick(lambda v: v.like == (B, ()))
        if found and self.chance(0.7):
            return found
        number = g.pick(lambda v: v.like == (I, ())) or g.number(self.random.randint(-3, 3))
        return g.emit("Less", [number, g.number(self.random.randint(-2, 3))], B, ())

    def if_(self, g):
        condition = self.a_condition(g)
        wanted = [g.pick() for _ in range(self.random.randint(1, 3))]
        branches = []
        for _ in range(2):
            branch = Graph(self, g)
            self.block(branch, self.random.randint(1, 4))
            results = [branch.pick(lambda v, w=w: v.like == w.like) for w in wanted]
            branches.append(branch.proto([], self.returned(branch, results)))
        self.results(g, "If", [condition], [v.like for v in wanted], then_branch=branches[0], else_branch=branches[1])

    def returned(self, branch, results):
        """The outputs of a body: captures through an Identity, its own values directly, each name once."""
        given, seen = [], set()
        for v in results:
            if v not in branch.values or v.name in seen:
                v = branch.emit("Identity", [v], v.dtype, v.shape)
            seen.add(v.name)
            given.append(v)
        return given

    def results(self, g, op, inputs, likes, **attributes):
        made = [Value(self.fresh(), dtype, tuple(shape)) for dtype, shape in likes]
        names = [v.name for v in made]
        if len(names) > 1 and self.chance(0.1):
            names[self.random.randrange(len(names) - 1)] = ""
        g.nodes.append(helper.make_node(op, [v.name if isinstance(v, Value) else v for v in inputs], names, **attributes))
        g.values += [v for v, name in zip(made, names, strict=True) if name]

    def states_for(self, g, body, fixed):
        """Initial values, and the body's inputs for them; unless `fixed`, one state may grow from trip to trip."""
        initial = [g.pick(lambda v: v.known) for _ in range(self.random.randint(0, 3))]
        inputs = [Value(self.fresh("s"), *v.like) for v in initial]
        grown = None
        if not fixed and self.chance(0.3):
            start = g.pick(lambda v: v.dtype in (F, I) and len(v.shape) == 1)
            if start:
                initial.append(start)
                grown = Value(self.fresh("s"), start.dtype, (None,))
                inputs.append(grown)
        body.values += inputs
        return initial, inputs, grown

    def next_states(self, body, inputs, grown):
        following = []
        for v in inputs:
            if v is grown:
                more = body.pick(lambda w, d=v.dtype: w.dtype == d and len(w.shape) == 1)
                following.append(body.emit("Concat", [v, more], v.dtype, (None,), axis=0))
            else:
                following.append(body.pick(lambda w, v=v: w.like == v.like and (self.chance(0.5) or w is not v)) or v)
        return following

    def loop(self, g):
        body = Graph(self, g)
        index, go = Value(self.fresh("i"), I, ()), Value(self.fresh("c"), B, ())
        body.values += [index, go]
        initial, inputs, grown = self.states_for(g, body, fixed=False)
        self.block(body, self.random.randint(1, 5))

        form = self.random.choice(["count", "count", "both", "while", "ignored"])
        limit = self.random.randint(0, 4)
        trips = "" if form == "while" else self.count(g)
        condition = "" if form in ("count", "ignored") else self.a_condition(g)
        if form == "count":
            more = body.emit("Identity", [go], B, ())
        elif form == "while":
            more = body.emit("Less", [index, body.number(limit)], B, ())
        else:
            more = self.a_condition(body)

        items = [body.pick(lambda v: v.known) for _ in range(self.random.randint(0 if inputs else 1, 2))]
        following = self.next_states(body, inputs, grown)
        outputs = self.returned(body, [more, *following, *items])
        likes = [v.like for v in inputs] + [(v.dtype, (None, *v.shape)) for v in items]
        self.results(g, "Loop", [trips, condition, *initial], likes, body=body.proto([index, go, *inputs], outputs))

    def count(self, g):
        found = g.pick(lambda v: v.like == (I, ()))
        if found and self.chance(0.4):
            return g.emit("Mod", [found, g.number(5)], I, ())
        return g.number(self.random.choice([-1, 0, 1, 2, 3, 5]))

    def scan(self, g):
        first = g.pick(lambda v: v.known and v.shape != ())
        if not first:
            return
        length = self.random.choice(first.shape)
        body = Graph(self, g)
        initial, inputs, _ = self.states_for(g, body, fixed=True)
        scans, elements, axes_in = [], [], []
        for _ in range(self.random.randint(1, 3)):
            x = g.pick(lambda v: v.known and length in v.shape)
            axis = self.random.choice([k for k, e in enumerate(x.shape) if e == length])
            scans.append(x)
            elements.append(Value(self.fresh("e"), x.dtype, x.shape[:axis] + x.shape[axis + 1 :]))
            axes_in.append(axis - self.random.choice([0, len(x.shape)]))
        body.values += elements
        self.block(body, self.random.randint(1, 5))

        items = [body.pick(lambda v: v.known) for _ in range(self.random.randint(0 if inputs else 1, 2))]
        outputs = self.returned(body, [*self.next_states(body, inputs, None), *items])
        likes, axes_out = [v.like for v in inputs], []
        for v in items:
            axis = self.random.randint(0, len(v.shape))
            axes_out.append(axis - self.random.choice([0, len(v.shape) + 1]))
            likes.append((v.dtype, (*v.shape[:axis], length, *v.shape[axis:])))
        attributes = {
            "num_scan_inputs": len(scans),
            "scan_input_axes": axes_in,
            "scan_input_directions": [self.random.randint(0, 1) for _ in scans],
        }
        if items:
            attributes["scan_output_axes"] = axes_out
            attributes["scan_output_directions"] = [self.random.randint(0, 1) for _ in items]
        self.results(g, "Scan", [*initial, *scans], likes, body=body.proto([*inputs, *elements], outputs), **attributes)

    # ---- whole programs ---------------------------------------------------------------------------------

    def block(self, g, length):
        straight = [
            self.arithmetic,
            self.arithmetic,
            self.broadcast,
            self.unary,
            self.compare,
            self.logic,
            self.where,
            self.cast,
            self.reduce,
            self.move,
            self.move,
            self.product,
            self.best,
            self.windowed,
            self.windowed,
            self.size,
            self.fresh_constant,
        ]
        control = [self.loop, self.loop, self.scan, self.scan, self.if_]
        for _ in range(length):
            deeper = g.depth < 3 and self.chance(0.45 if g.depth == 0 else 0.2)
            self.random.choice(control if deeper else straight)(g)

    def program(self):
        g = Graph(self)
        inputs = []
        for dtype in (F, F, F, I, I, B):
            inputs.append(Value(self.fresh("x"), dtype, self.shape()))
        inputs.append(Value(self.fresh("x"), I, ()))
        inputs.append(Value(self.fresh("x"), B, ()))
        g.values += inputs
        for v in inputs:
            self.feeds[v.name] = self.array(v.dtype, v.shape)
        self.block(g, self.random.randint(6, 12))
        made = [v for v in g.values if v not in inputs]
        outputs = made[-8:] or [g.emit("Identity", [inputs[0]], *inputs[0].like)]
        return g.proto(inputs, outputs)


def random_program(seed, kind=Writer):
    """A model and feeds for it."""
    writer = kind(seed)
    graph = writer.program()
    for output in graph.output:
        for extent in output.type.tensor_type.shape.dim:
            if not extent.HasField("dim_value"):
                extent.Clear()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    onnx.checker.check_model(model)
    return model, writer.feeds
