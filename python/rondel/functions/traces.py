"""What traces did before, so that one that does the same again writes no graph.

A Python function is called anew each time, since anything may have changed that it reads. What it does is a sequence of events:
calls of operators, and the results that bodies give. All that comes of an event follows from the events before it, so the
outcomes are kept in a tree whose edges are events. A trace walks down the tree while it meets known events; at its end stands
a compiled graph. At the first event that is not known the function is called again, and its graph is written.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError
from . import numbers
from .traced import Traced

#: Arrays of integers of at most this many elements are constants of the graph, since shapes may follow from them; all other
#: arrays are inputs, so that a graph need not be compiled anew for other numbers.
MOST_CONSTANT = 64

#: How many events and how many compiled graphs are kept; when there are more, all are forgotten.
MOST_EVENTS, MOST_COMPILED = 100_000, 512


class Enter(NamedTuple):
    """Outcome: the function of an attribute is called with traced values, given by (name, type, extents)."""

    function: str
    inputs: tuple
    level: int


class Results(NamedTuple):
    """Outcome: a node was written, with these results; each (name, type, extents)."""

    ports: tuple


class Unknown(BaseException):
    """A trace that was followed has come to an event that is not known. Bodies must not catch it."""


class Unkeyed(Exception):
    """An argument that cannot be compared with that of another trace."""


class Array(NamedTuple):
    """An array that a traced function reads. number: of the input that it is fed to; None: it is a constant. given: what the
    function has, kept so that its id stays its own."""

    key: tuple
    number: int | None
    array: Any
    given: Any


class Forest:
    """The trees, by what their calls begin with."""

    def __init__(self):
        self.clear()

    def clear(self):
        self._roots, self._events, self._compiled = {}, 0, 0

    def root(self, key, arguments) -> dict:
        """The tree of calls that begin with `key`. arguments: of the call; those that the key knows by their ids are kept."""
        found = self._roots.get(key)
        if found is None:
            found = self._roots[key] = ({}, [x for x in arguments if hasattr(x, "_session")])
        return found[0]

    def count(self, outcome):
        self._events += 1
        self._compiled += not isinstance(outcome, (Enter, Results))
        if self._events > MOST_EVENTS or self._compiled > MOST_COMPILED:
            self.clear()


forest = Forest()


class Trace:
    """What the levels of one call share. steps: where in the tree it is; None: it is not kept. follows: it only walks, and raises
    Unknown where the tree ends. values: of the arrays that its functions read, in the order of the inputs they are fed to.
    """

    def __init__(self, steps, follows=False):
        self.steps = steps
        self.follows = follows
        self.values = []
        self._arrays = {}
        self._event = None
        self._answered = False
        self._levels = itertools.count(1)

    def next_level(self) -> int:
        return next(self._levels)

    def happened(self, event):
        """An event, whose outcome is told next. One before it without an outcome has failed: such traces are not kept."""
        if not self._answered and self._event is not None:
            self.forget()
        self._event, self._answered = event, False

    def came(self, outcome):
        """What came of the last event."""
        self._answered = True
        if self.steps is None:
            return
        found = self.steps.get(self._event)
        if found is None or found[0] != outcome:
            found = self.steps[self._event] = (outcome, {})
            forest.count(outcome)
        self.steps = found[1]

    def known(self):
        """What came of the last event before."""
        found = self.steps.get(self._event)
        if found is None:
            self.steps = {}  # a body that catches Unknown gets no further
            raise Unknown
        self._answered = True
        outcome, self.steps = found
        return outcome

    def forget(self):
        if self.follows:
            raise Unknown
        self.steps = None

    def call(self, level: int, op, args: tuple, kwargs: dict):
        """The event of a call of an operator."""
        if self.steps is None:
            return self.happened(None)
        last = op.input_names[-1] if op.variadic else None
        count = len(op.inputs)
        try:
            event = [level, op.name]
            for k, x in enumerate(args):
                event.append(self.key(x) if k < count or last else self._attribute(x))
            for name, x in kwargs.items():
                event.append(name)
                if name == last:
                    event.extend(map(self.key, x))
                else:
                    event.append(self.key(x) if name in op.input_names else self._attribute(x))
        except (Unkeyed, TypeError):
            self.forget()
            event = [None]
        self.happened(tuple(event))

    def results(self, results: list):
        """The event of a body's results."""
        try:
            event = ("results", *map(self.key, results)) if self.steps is not None else None
        except Unkeyed:
            self.forget()
            event = None
        self.happened(event)

    def key(self, x):
        """An argument as a part of an event. Equal keys mean equal graphs."""
        kind = type(x)
        if kind is Traced:
            if x.level.trace is not self or x.level.ended:
                raise Unkeyed
            return x.name
        if kind is float:
            return kind, x.hex()
        if kind is int or kind is bool or kind is str:
            return kind, x
        if x is None:
            return None
        if (kind is list or kind is tuple) and (numbers.is_number(x) or any(type(i) is Traced for i in x)):
            return kind, *map(self.key, x)
        if callable(x) or hasattr(x, "SerializeToString"):
            raise Unkeyed
        return self.array(x, keyed=True).key

    def _attribute(self, x):
        """An attribute as a part of an event."""
        kind = type(x)
        if kind is np.ndarray:
            return _of_elements(x)
        if kind is list or kind is tuple:
            return kind, *map(self._attribute, x)
        if isinstance(x, (type, np.dtype, np.generic)):
            return kind, str(x)
        if kind in (int, float, bool, str, bytes, type(None)):
            return self.key(x) if kind is not bytes else x
        return graph_key(x)

    def array(self, x, keyed=False) -> Array:
        """What is known of an array that a function reads. The same object is the same input."""
        found = self._arrays.get(id(x))
        if found is not None:
            return found
        what = "an array that a body reads"
        array = _as_list(x) if isinstance(x, (list, tuple)) else arrays.as_array(x, what, "a tensor")
        if isinstance(array, np.ndarray) and array.dtype.kind in "iub" and array.size <= MOST_CONSTANT:
            return Array(_of_elements(array), None, array, x)
        if not keyed:
            self.forget()
        value, type_text, rank = described(array, what)
        number = len(self.values)
        self.values.append(value)
        found = self._arrays[id(x)] = Array((number, type_text, rank), number, array, x)
        return found

    def read(self) -> list:
        """The arrays that are inputs, in order. The key of each is (number, type, rank)."""
        return list(self._arrays.values())


def _as_list(x):
    return x if isinstance(x, list) else list(x)


def _of_elements(array):
    if array.dtype.hasobject or array.nbytes > 4096:
        raise Unkeyed
    return array.dtype.str, array.shape, array.tobytes()


def graph_key(x):
    """A graph as a part of a key: the text of a protobuf, and a session itself. A function is called, so that it adds nothing."""
    if hasattr(x, "SerializeToString"):
        return type(x).__name__.encode() + b"\0" + x.SerializeToString()
    if hasattr(x, "get_outputs") and hasattr(x, "_session"):
        return x
    if callable(x):
        return None
    raise Unkeyed


def described(x, what: str):
    """(value, type, rank) of an array, or of a list of arrays, which is a sequence; the rank of that is None."""
    if isinstance(x, list):
        items = [arrays.as_array(i, what, "tensors") for i in x]
        names = {arrays.dtype_name(i.dtype) for i in items} or {getattr(x, "element", "f32")}
        if len(names) > 1:
            raise CallerError(f"{what} is a list of arrays of the dtypes {', '.join(sorted(names))}; expected one dtype")
        type_text = f"seq(tensor({onnx_name(names.pop())}))"
        return arrays.to_value(items, what, type_text), type_text, None
    type_text = f"tensor({onnx_name(arrays.dtype_name(x.dtype))})"
    return arrays.to_value(x, what, type_text), type_text, x.ndim


def onnx_name(dtype: str) -> str:
    """ONNX's name of a Rondel dtype: f32 -> float, u8 -> uint8"""
    return _ONNX_OF.get(dtype) or ("uint" if dtype[0] == "u" else "int") + dtype[1:]


_ONNX_OF = {ours: theirs for theirs, ours in arrays.ONNX_NAME.items()}
