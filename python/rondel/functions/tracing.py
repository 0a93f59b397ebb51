"""Python functions as graphs: functions of this package that are called with traced values write nodes."""

import contextvars
import itertools

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError
from . import attributes, numbers
from .operators import operators
from .traced import Traced
from .traces import Results, Trace, described

#: The level of the body that is being traced, or None. If it is not None, the functions of this package write nodes.
INNERMOST: contextvars.ContextVar = contextvars.ContextVar("innermost", default=None)


class ReplayedLevel:
    """A level of a replayed trace: all its events are known, and no graph is written. number: the number of the level in its trace."""

    def __init__(self, trace: Trace, number: int):
        self.trace, self.number, self.ended = trace, number, False

    def call(self, op, args, kwargs) -> list:
        self.trace.call(self.number, op, args, kwargs)
        return self.results(self.trace.replay())

    def results(self, outcome: Results) -> list:
        return [Traced(self, *port) for port in outcome.ports]


class Level:
    """A graph that is being written: the outermost graph of a call, or a body in it. weights: True makes the arrays that functions
    read constants of the outermost graph, False makes them its inputs."""

    def __init__(self, name: str, opset: int, parent=None, trace=None, weights=False):
        self.writer = _rondel.GraphWriter(name, opset)
        self.opset = opset
        self.parent = parent
        self.root = parent.root if parent else self
        self.trace = parent.trace if parent else trace or Trace(None)
        self.number = self.trace.next_level()
        self.ended = False
        self._known = set()
        if parent is None:
            self.weights = weights
            self._numbers = itertools.count()
            self._given_names = set()
            self._fed = []  #: the traced values of the arrays that functions read, by their numbers in the trace

    def fresh(self, stem: str) -> str:
        """A name that no graph of this call uses."""
        names = (f"{stem}_{k}" for k in self.root._numbers)
        return next(name for name in names if name not in self.root._given_names)

    def input(self, stem: str, type_text: str, shape, exactly=False) -> Traced:
        """Adds an input. exactly: True makes `stem` its name."""
        name = stem if exactly else self.fresh(stem)
        self.root._given_names.update([name] if exactly else [])
        self.writer.input(name, type_text, shape)
        self._known.add(name)
        return Traced(self, name, type_text, shape)

    def constant(self, array: np.ndarray) -> Traced:
        name = self.fresh("constant")
        value, type_text, _ = described(array, "a constant")
        self.writer.constant(name, value)
        self._known.add(name)
        return Traced(self, name, type_text, [str(e) for e in np.shape(array)])

    def of_array(self, x) -> Traced:
        """The traced value of an array that a traced function reads."""
        found = self.trace.array(x)
        if found.number is None:
            return self.constant(found.array)
        root = self.root
        root.feed_all()
        return root._fed[found.number]

    def feed_all(self):
        """Adds an input or a constant to the outermost graph for each array that functions have read so far."""
        for found in self.trace.read()[len(self._fed) :]:
            _, type_text, rank = found.key
            extents = None if rank is None else [""] * rank
            self._fed.append(self.constant(found.array) if self.weights else self.input("array", type_text, extents))

    def name_of(self, traced: Traced) -> str:
        """The name of a value in this graph; a value of an enclosing graph is captured."""
        if traced.level is not self:
            self._capture(traced)
        return traced.name

    def _capture(self, traced):
        around = []
        level = self
        while level is not None and level is not traced.level:
            around.append(level)
            level = level.parent
        if level is None or traced.level.ended:
            raise CallerError(
                f"the traced value '{traced.name}' belongs to a body that has ended, or to another call; "
                f"a body hands values on by returning them"
            )
        for level in reversed(around):
            if traced.name not in level._known:
                level.writer.capture(traced.name, traced.type, traced.extents)
                level._known.add(traced.name)

    def add(self, op, inputs: list, attribute_values: list, outputs: int) -> list:
        """Adds a node and returns its results. inputs: traced values, or None. attribute_values: as attributes.written returns them."""
        names = [self.name_of(x) if x is not None else "" for x in inputs]
        label = self.fresh(op.python_name.rstrip("_"))
        results = [label if k == 0 else f"{label}.{k}" for k in range(outputs)]
        ports = self.writer.node(op.name, label, names, results, attribute_values)
        self._known.update(results)
        return [Traced(self, p.name, p.type, p.shape) for p in ports]

    def cast(self, x: Traced, dtype: str) -> Traced:
        """x cast to a dtype, given by Rondel's name."""
        if x.element == dtype:
            return x
        op = operators(self.opset)["Cast"]
        return self.add(op, [x], attributes.written(op, {"to": arrays.onnx_number(dtype)}), 1)[0]

    def call(self, op, args, kwargs) -> list:
        """Adds the node for a call of an operator."""
        self.trace.call(self.number, op, args, kwargs)
        bound = op.bind(args, kwargs)
        inputs = traced_inputs(self, op, [a.value if a else None for a in bound.inputs])
        count = op.output_count(bound) or _count_by_extent(op, inputs)
        return self.record_results(self.add(op, inputs, attributes.written(op, bound.attributes), count))

    def record_results(self, results: list) -> list:
        """Adds the results as the outcome of the last event, and returns them."""
        self.trace.add_outcome(Results(tuple((x.name, x.type, x.extents) for x in results)))
        return results


class entered:
    """A context in which the functions of this package write nodes of a level."""

    def __init__(self, level):
        self._level = level

    def __enter__(self):
        self._token = INNERMOST.set(self._level)
        return self._level

    def __exit__(self, *_):
        INNERMOST.reset(self._token)
        self._level.ended = True


def holds_traced(x) -> bool:
    return isinstance(x, Traced) or (isinstance(x, (list, tuple)) and any(isinstance(i, Traced) for i in x))


def refuse_traced(op, args: tuple, kwargs: dict):
    """Raises CallerError for a traced argument outside of a body that is being traced."""
    if any(map(holds_traced, args)) or any(map(holds_traced, kwargs.values())):
        raise CallerError(f"{op.name}: an argument is traced, and its body has ended; a body hands values on by returning them")


def traced_inputs(level: Level, op, values: list) -> list:
    """The inputs of a node as traced values. Numbers become constants; arrays become constants or inputs of the outermost graph."""
    chosen = numbers.dtypes_of_numbers(op, values)
    traced = []
    for k, x in enumerate(values):
        if x is None or isinstance(x, Traced):
            traced.append(x)
        elif chosen[k] is not None:
            traced.append(level.constant(numbers.array_of(x, chosen[k], f"{op.name}: input '{op.input(k).name}'")))
        elif isinstance(x, (list, tuple)) and any(isinstance(i, Traced) for i in x):
            traced.append(_sequence(level, x))
        else:
            traced.append(level.of_array(x))
    return traced


def _sequence(level, items):
    op = operators(level.opset)["SequenceConstruct"]
    return level.add(op, traced_inputs(level, op, list(items)), [], 1)[0]


def _count_by_extent(op, inputs):
    """The number of results of Split, if it is known: the extent of its second input."""
    if op.name == "Split" and len(inputs) > 1 and inputs[1] is not None and inputs[1].shape and inputs[1].shape[0]:
        return inputs[1].shape[0]
    raise CallerError(f"{op.name}: the number of its results is not known; give outputs=")
