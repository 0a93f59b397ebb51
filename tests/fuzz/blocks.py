"""A graph under construction, and the writer that all graphs of a program share."""

from __future__ import annotations

import random
from functools import cache

import machine
import numpy as np
import onnx.defs
from machine import older
from machine.zero_trips import SHAPED_BY

from . import moods
from .values import BOOL, I64, STORED, STRING, UNSIGNED_POWERS, Body, Unfit, Value, reads, type_text


MOST_STEPS = 2500  #: nodes that one added node may run
LARGEST = 4096  #: elements of one tensor
STEADY = {"Shape", "Size", "SequenceLength", "OptionalHasElement", "Constant"}
_MIXED = {"If", "Loop", "Scan"}
OTHER_BEFORE = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13}  #: versions whose older meaning the oracle does not have


class Writer:
    """What all graphs of one program share: random numbers, names, functions, and the sets of feeds that still run."""

    def __init__(self, seed, families):
        self.random = random.Random(f"program {seed}")
        self.mood = moods.mood(self.random, families)
        self.families = families
        self.names = 0
        self.alive = list(range(self.mood.feed_sets))
        self.functions = {}  # name -> Body
        self.root = None
        self.focus = None  # a value that the next node should read
        self.defaults = set()  # names of inputs that have an initializer

    def fresh(self, prefix="v"):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, p):
        return self.random.random() < p

    def risky(self):
        return self.chance(self.mood.risk)

    def shape(self, rank=None):
        rank = self.random.choice([0, 1, 1, 2, 2, 3]) if rank is None else rank
        return tuple(self.random.choice(self.mood.extents) for _ in range(rank))

    def array(self, dtype, shape):
        """Random elements: small numbers, few of them fractions or special values."""
        rng, count = self.random, int(np.prod(shape, dtype=int))
        if dtype == STRING:
            return np.array([rng.choice(["", "a", "b", "longer than a small buffer", "é"]) for _ in range(count)], object).reshape(shape)
        numbers = np.array([rng.randint(-4, 4) for _ in range(count)], np.int64).reshape(shape)
        if dtype == BOOL:
            return np.asarray(numbers > 0)
        if dtype in STORED:
            unsigned = dtype.name.startswith("uint") or dtype == UNSIGNED_POWERS
            return np.asarray(np.abs(numbers) if unsigned else numbers).astype(dtype)
        if dtype.kind in "iu":
            if self.chance(self.mood.special):
                limits = np.iinfo(dtype)
                numbers = np.array([rng.choice([limits.min, limits.max, rng.randint(limits.min, limits.max)]) for _ in range(count)], object).reshape(shape)
            return np.asarray(np.abs(numbers) if dtype.kind == "u" else numbers, dtype)
        made = np.asarray(numbers / rng.choice([1, 1, 1, 2]))
        for k in range(count):
            if self.mood.special and self.chance(self.mood.special / 4):
                made.flat[k] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
        return made.astype(dtype)

    def results(self, node, scope):
        """The outputs of a node in one run; WrongProgram if it cannot run."""
        runner = machine.Machine(self.functions, exact=self.mood.exact, most=MOST_STEPS, largest=LARGEST)
        made = runner.results(node, [scope[name] if name else None for name in node.inputs], scope)
        if runner.ambiguous and not self.risky():
            raise machine.WrongProgram("a shape is not certain")
        for value in made:
            elements = value if isinstance(value, list) else [value]
            if sum(x.size for x in elements if x is not None) > LARGEST:
                raise machine.WrongProgram("too many elements")
        return made


@cache
def _schema(op, opset):
    """((types, parameter) of each input, whether the last one repeats, names of the attributes, types of the last output, the fewest inputs)."""
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        return None
    allowed = {c.type_param_str: frozenset(c.allowed_type_strs) for c in schema.type_constraints}
    inputs = [(allowed.get(i.type_str, frozenset([i.type_str])), i.type_str) for i in schema.inputs]
    repeats = bool(schema.inputs) and schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    given = allowed.get(schema.outputs[-1].type_str, frozenset([schema.outputs[-1].type_str]))
    return inputs, repeats, frozenset(schema.attributes), given, schema.min_input


def _array_of(value):
    """The elements of a constant."""
    if not value.name.startswith("k"):
        raise Unfit("no constant, which this version of the op needs")
    return value.sample


class Block:
    """A graph under construction: its nodes, and the values that they may read."""

    def __init__(self, writer, outer=None, loop=False, isolated=False):
        self.writer, self.outer = writer, None if isolated else outer
        self.level = outer.level + 1 if outer else 0  # of nesting
        self.depth = (outer.depth if outer else 0) + loop  # loops around the nodes
        self.reads = 0  # the innermost loop whose trips change what is captured
        self.nodes, self.values, self.inputs, self.constants = [], [], [], {}
        count = writer.mood.feed_sets
        self.scopes = [machine.Scope(self.outer.scopes[k] if self.outer else None) for k in range(count)]
        if writer.root is None:
            writer.root = self

    # ---- values ---------------------------------------------------------------------------------------------

    def visible(self):
        return self.values + (self.outer.visible() if self.outer else [])

    def is_input_around(self, value):
        """Whether it is an input of a body around this one."""
        return self.outer is not None and self.outer.level > 0 and (value in self.outer.inputs or self.outer.is_input_around(value))

    def pick(self, test=lambda v: True, kind="tensor", unranked=False):
        """A visible value, a recent one rather than an old one; Unfit if none is suitable."""
        rng = self.writer.random
        found = [v for v in self.visible() if v.kind == kind and (unranked or not v.unranked) and test(v)]
        if not found:
            raise Unfit("no operand")
        focus = self.writer.focus
        if focus is not None and focus in found and rng.random() < 0.9:
            self.writer.focus = None
            return focus
        if self.level and self.writer.mood.given:
            given = [v for v in found if v in self.writer.root.inputs]
            if given and rng.random() < self.writer.mood.given:
                return rng.choice(given)
        unread = [v for v in found[:60] if not v.read and v.level == self.level]
        if unread and rng.random() < self.writer.mood.tidy:
            return rng.choice(unread)
        recent = [v for v in found[:40] if v.level == self.level]
        if recent and rng.random() < 0.5:
            return rng.choice(recent[-5:])
        return rng.choice(found)

    def add_input(self, kind, dtype, samples, **facts):
        made = Value(self.writer.fresh("x" if self.level == 0 else "a"), kind, dtype, samples, self.level, **facts)
        self.inputs.append(made)
        self._define(made)
        return made

    def _define(self, value):
        self.values.append(value)
        for k in self.writer.alive:
            self.scopes[k].values[value.name] = value.samples[k]

    def constant(self, array):
        """A constant: a node here, or an initializer here or of the whole model. Only who asked for it reads it."""
        array, rng = np.asarray(array), self.writer.random
        home = rng.choice([self, self, self.top()])
        name = self.writer.fresh("k")
        value = Value(name, "tensor", array.dtype, [array] * self.writer.mood.feed_sets, home.level)
        if rng.random() < 0.5 and not (self.top() is not self.writer.root and home is not self):
            home.nodes.append(machine.Node("Constant", [], [name], {"value": array}))
        elif home.top() is self.writer.root:
            home.constants[name] = array
        else:
            home.nodes.insert(0, machine.Node("Constant", [], [name], {"value": array}))
        for k in self.writer.alive:
            home.scopes[k].values[name] = array
        return value

    def top(self):
        return self.outer.top() if self.outer else self

    def number(self, value, dtype=I64):
        return self.constant(np.array(value, dtype))

    def list(self, *values):
        return self.constant(np.array(values, np.int64))

    # ---- nodes ----------------------------------------------------------------------------------------------

    def emit(self, op, inputs, attributes=None, outputs=1, like=None, steady=False, kind=None, dtype=None, domain="", facts=None):
        """Adds a node that runs on all sets of feeds. Gives its value, or a list of `outputs` values.

        like: a value of the same shape. steady: the result has the same shape whatever the inputs' are. kind, dtype: of a
        result that is no tensor. facts: varies, wobble and unranked of each result. Raises Unfit if the node cannot run.
        """
        writer = self.writer
        if not domain:
            attributes, inputs = older.with_attributes(op, writer.mood.opset, attributes, inputs, _array_of)
            self._check(op, inputs, attributes or {})
        names = [writer.fresh() for _ in range(outputs)]
        node = machine.Node(op, [v.name if v else "" for v in inputs], names, attributes, domain)
        results = [None] * writer.mood.feed_sets
        for k in list(writer.alive):
            try:
                results[k] = writer.results(node, self.scopes[k])
            except machine.WrongProgram as error:
                if k == 0 or not writer.risky():
                    raise Unfit(f"{op}: {error}") from error
                writer.alive.remove(k)
        if op in _MIXED:
            self._check_results(op, results[0])
        self.nodes.append(node)
        varies, wobble = self._facts(op, inputs, steady)
        work = 1 + max((v.work for v in inputs if v is not None), default=0)
        work += sum(2 * len(body.nodes) for body in node.attributes.values() if isinstance(body, Body))
        made = []
        for j, name in enumerate(names):
            samples = [r[j] if r is not None else None for r in results]
            value_kind = kind or ("seq" if isinstance(samples[0], list) else "tensor")
            own = {"kind": value_kind, "varies": varies, "wobble": wobble, "work": work}
            own["dtype"] = dtype or (samples[0].dtype if isinstance(samples[0], np.ndarray) else None)
            ranks = {s.ndim for s in samples if isinstance(s, np.ndarray)}
            own["unranked"] = (any(v is not None and v.unranked for v in inputs) and not steady) or len(ranks) > 1
            own.update(facts[j] if facts else {})
            own["unranked"] |= len(ranks) > 1
            value = Value(name, samples=samples, level=self.level, **own)
            if like is not None:
                value.shape_id = like.shape_id
                value.grows_like(like)
            self._define(value)
            made.append(value)
        return made[0] if outputs == 1 else made

    def _facts(self, op, inputs, steady):
        given = [v for v in inputs if v is not None]
        for v in given:
            v.read = True
            block = self
            while block is not None and block.level > v.level:
                block.reads = max(block.reads, v.varies)
                block = block.outer
        varies = max((v.varies for v in given), default=0)
        if steady or op in STEADY:
            return max([varies, *(v.wobble for v in given)]), 0
        shaping = [inputs[k].varies for k in SHAPED_BY.get(op, []) if k < len(inputs) and inputs[k] is not None]
        return varies, max([0, *shaping, *(v.wobble for v in given)])

    def _check(self, op, inputs, attributes):
        """Raises Unfit if the standard does not allow these types or attributes."""
        schema = _schema(op, self.writer.mood.opset)
        if schema is None:
            raise Unfit(f"{op} is of a later version")
        if op in OTHER_BEFORE and self.writer.mood.opset < OTHER_BEFORE[op]:
            raise Unfit(f"{op} had another meaning")
        formal, repeats, known, _, least = schema
        if len(inputs) < least:
            raise Unfit(f"{op}: too few inputs for this version")
        bound = {}
        for k, value in enumerate(inputs):
            if k >= len(formal) and not repeats:
                raise Unfit(f"{op}: too many inputs")
            types, parameter = formal[min(k, len(formal) - 1)]
            if value is None:
                continue
            text = value.type_text
            if text not in types:
                raise Unfit(f"{op}: {text}")
            if op not in _MIXED and bound.setdefault(parameter, text) != text:
                raise Unfit(f"{op}: mixed types")
        if not known.issuperset(attributes):
            raise Unfit(f"{op}: an attribute of another version")

    def _check_results(self, op, results):
        """Raises Unfit if a loop or an If of the mood's version gives no such types."""
        given = _schema(op, self.writer.mood.opset)[3]
        for x in results:
            if isinstance(x, np.ndarray) and type_text("tensor", x.dtype) not in given:
                raise Unfit(f"{op} gives no {x.dtype}")
            if not isinstance(x, np.ndarray) and not any(text.startswith("seq(") for text in given):
                raise Unfit(f"{op} gives tensors alone")

    def finish(self, name, outputs):
        """The graph, its outputs each under a name of its own; captures and inputs go through an Identity."""
        given, seen = [], {v.name for v in self.inputs}
        for v in outputs:
            passed = v in self.inputs and name in ("loop", "scan") and self.writer.chance(0.3)
            if v.level != self.level or (v.name in seen and not passed) or v.name.startswith("k"):
                v = self.emit("Identity", [v], like=v, kind=v.kind, dtype=v.dtype)
            seen.add(v.name)
            given.append(v)
        nodes, needed = self._used({v.name for v in given})
        constants = {name: array for name, array in self.constants.items() if name in needed | self.writer.defaults}
        return Body(self.writer.fresh(name), self.inputs, given, nodes, constants)

    def _used(self, needed):
        """The nodes that the names in `needed` depend on, and now and then another one; and the names that they read."""
        nodes = []
        for node in reversed(self.nodes):
            if needed.isdisjoint(node.outputs) and (node.op == "Constant" or not self.writer.chance(0.05)):
                continue
            nodes.append(node)
            needed |= reads(node)
        return nodes[::-1], needed

    def fill(self, length):
        """Adds about this many nodes, whatever the families of the mood give."""
        writer = self.writer
        mood = writer.mood
        control = ["loop", "loop", "scan", "if"]
        straight = [name for name in writer.families if name not in control]
        top = self.depth == 0 and self.level == 0
        for k in range(length):
            share = mood.control if top else max(mood.control / 2, mood.nested if k == 0 and self.depth else 0)
            inner = self.level < 6 and self.depth < mood.depth and writer.chance(share)
            before = len(self.values)
            self._add(control if inner else straight)
            if inner:
                self._read_results(self.values[before:], straight)

    def _add(self, names):
        """Adds what one of these families writes."""
        writer = self.writer
        weights = [writer.mood.weights[name] for name in names]
        for _ in range(4):
            family = writer.random.choices(names, weights if any(weights) else None)[0]
            try:
                writer.families[family](self)
                return
            except Unfit:
                continue

    def _read_results(self, results, straight):
        """Adds nodes that read what a loop or an If has just given."""
        writer = self.writer
        for value in results[-3:]:
            if value.read or not writer.chance(max(0.8, writer.mood.tidy)):
                continue
            writer.focus = value
            for _ in range(5):
                if writer.focus is not None:
                    self._add([writer.random.choice(moods.READERS)] if writer.chance(0.5) else straight)
            writer.focus = None

    # ---- frequent forms -------------------------------------------------------------------------------------

    def steady_with(self, a):
        """A test of values that go together with `a` in every trip."""
        if self.writer.risky():
            return lambda v: True
        return lambda v: v.shape_id == a.shape_id or (v.wobble == 0 and a.wobble == 0) or v.sample.size == 1 and v.wobble == 0

    def bounded(self, v):
        """The value reduced to small numbers, most of the time, so that it does not grow over the trips."""
        writer = self.writer
        if not writer.chance(writer.mood.bounded):
            return v
        if v.dtype.kind in "iu":
            return self.emit("Mod", [v, self.number(writer.random.choice([7, 97]), v.dtype)], like=v)
        limit = writer.random.choice([4, 8, 64]) if v.dtype.itemsize > 2 else 4
        return self.emit("Clip", [v, self.number(-limit, v.dtype), self.number(limit, v.dtype)], like=v)

    def scalar(self, dtype=I64):
        """A scalar from data, or a constant."""
        writer = self.writer
        if writer.chance(writer.mood.from_data):
            try:
                return self.pick(lambda v: v.dtype == dtype and v.rank == 0)
            except Unfit:
                pass
        return self.constant(writer.array(dtype, ()))

    def extent(self, v, axis):
        """The extent of an axis as a scalar: computed, or a constant if it is the same in every run and trip."""
        extents = {v.samples[k].shape[axis] for k in self.writer.alive if v.samples[k].ndim == v.rank}
        if v.wobble == 0 and len(extents) == 1 and self.writer.chance(0.5):
            return self.number(extents.pop())
        shape = self.emit("Shape", [v])
        return self.emit("Gather", [shape, self.number(axis)])

    def index(self, v, axis, shape=()):
        """An index into an axis, from data or constant, of a shape."""
        writer = self.writer
        if writer.chance(writer.mood.from_data):
            number = self.pick(lambda w: w.dtype == I64 and (w.rank == 0 if shape == () else w.rank == len(shape)) and w.wobble == 0)
        else:
            number = self.constant(np.array([writer.random.randint(-3, 5) for _ in range(int(np.prod(shape, dtype=int)))], np.int64).reshape(shape))
        extent = self.extent(v, axis)
        if v.wobble or writer.chance(0.2):
            extent = self.emit("Max", [extent, self.number(1)])
        return self.emit("Mod", [number, extent], like=number)

    def condition(self):
        """A bool scalar from data."""
        w, rng = self.writer, self.writer.random
        form = rng.choice(["found", "less", "less", "any", "constant"])
        if form == "found":
            try:
                return self.pick(lambda v: v.dtype == BOOL and v.rank == 0)
            except Unfit:
                form = "less"
        if form == "less":
            return self.emit(rng.choice(["Less", "Greater", "Equal"]), [self.scalar(), self.number(rng.randint(-2, 4))])
        if form == "any":
            a = self.pick(lambda v: v.dtype not in (BOOL, STRING) and v.sample.size < 200)
            total = self.emit("ReduceMax", [a], {"keepdims": 0}, steady=True)
            return self.emit(rng.choice(["Less", "Greater"]), [total, self.number(rng.choice([0, 1, 3]), a.dtype)])
        return self.constant(np.array(w.chance(0.8)))

    def one(self, scalar):
        """A scalar as a list of one element."""
        return self.emit("Unsqueeze", [scalar, self.list(0)], steady=True)


def float_or_int(v):
    return v.dtype != BOOL and v.dtype != STRING


def is_float(v):
    return v.dtype.kind not in "iub" and v.dtype != STRING
