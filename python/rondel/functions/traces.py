"""A cache of traces, so that a trace with the same events as an earlier one writes no graph.

A Python function is called anew each time, because anything that it reads may have changed. A call is a sequence of events: calls
of operators, and the results of bodies. The outcome of an event follows from the event and the events before it, so outcomes are
cached in a tree whose edges are events. A trace walks down the tree as long as its events are known; a leaf is a compiled graph.
At the first unknown event the function is called again from the start, and its graph is written.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..errors import CallerError
from . import numbers
from .traced import Traced

#: Arrays of integers or bools with at most this many elements become constants of the graph, because shapes may depend on them. All
#: other arrays become inputs, so that a graph need not be compiled again for other values.
MOST_CONSTANT = 64

#: The most events and compiled graphs in the cache; beyond these limits, the whole cache is cleared.
MOST_EVENTS, MOST_COMPILED = 100_000, 512


class Enter(NamedTuple):
    """Outcome: the function of an attribute is called next, with traced values, each (name, type, extents)."""

    function: str
    inputs: tuple
    level: int


class Results(NamedTuple):
    """Outcome: a node was written, with these results; each (name, type, extents)."""

    ports: tuple


class Unknown(BaseException):
    """A replayed trace has reached an unknown event. Bodies must not catch this exception."""


class Unkeyed(Exception):
    """An argument cannot be compared with an argument of another trace."""


class Array(NamedTuple):
    """An array that a traced function reads. number: the input that it is fed to; None: it is a constant. given: the function's own
    object, kept alive so that its id stays unique."""

    key: tuple
    number: int | None
    array: Any
    given: Any


class Forest:
    """The trees of events, by the keys of their calls."""

    def __init__(self):
        self.clear()

    def clear(self):
        self._roots, self._events, self._compiled = {}, 0, 0

    def root(self, key, arguments) -> dict:
        """The tree of the calls with `key`. arguments: the arguments of the call; sessions, which the key identifies by id, are kept
        alive."""
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
    """The trace of one call, shared by its levels. steps: the current node of the tree; None: the trace is not cached. replays: True
    only replays the tree, and raises Unknown at an unknown event. values: the values of the arrays that its functions read, in the
    order of the inputs they are fed to.
    """

    def __init__(self, steps, replays=False):
        self.steps = steps
        self.replays = replays
        self.values = []
        self._arrays = {}
        self._event = None
        self._has_outcome = False
        self._levels = itertools.count(1)

    def next_level(self) -> int:
        return next(self._levels)

    def add_event(self, event):
        """Adds an event; its outcome is added next. An event without an outcome has failed: such traces are not cached."""
        if not self._has_outcome and self._event is not None:
            self.forget()
        self._event, self._has_outcome = event, False

    def add_outcome(self, outcome):
        """Adds the outcome of the last event."""
        self._has_outcome = True
        if self.steps is None:
            return
        found = self.steps.get(self._event)
        if found is None or found[0] != outcome:
            found = self.steps[self._event] = (outcome, {})
            forest.count(outcome)
        self.steps = found[1]

    def replay(self):
        """The outcome that the last event had in an earlier trace."""
        found = self.steps.get(self._event)
        if found is None:
            self.steps = {}  # if a body catches Unknown, its next event raises it again
            raise Unknown
        self._has_outcome = True
        outcome, self.steps = found
        return outcome

    def forget(self):
        if self.replays:
            raise Unknown
        self.steps = None

    def call(self, level: int, op, args: tuple, kwargs: dict):
        """Adds the event of a call of an operator."""
        if self.steps is None:
            return self.add_event(None)
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
        self.add_event(tuple(event))

    def results(self, results: list):
        """Adds the event of a body's results."""
        try:
            event = ("results", *map(self.key, results)) if self.steps is not None else None
        except Unkeyed:
            self.forget()
            event = None
        self.add_event(event)

    def key(self, x):
        """The key of an argument in an event. Equal keys mean equal graphs."""
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
        """The key of an attribute in an event."""
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
        """The Array of an object that a function reads. The same object is always the same input."""
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
        """The arrays that are inputs, in order. Their keys are (number, type, rank)."""
        return list(self._arrays.values())


def _as_list(x):
    return x if isinstance(x, list) else list(x)


def _of_elements(array):
    if array.dtype.hasobject or array.nbytes > 4096:
        raise Unkeyed
    return array.dtype.str, array.shape, array.tobytes()


def graph_key(x):
    """The key of a graph: the serialized protobuf, or a session itself. None for a function, which is called and adds events instead."""
    if hasattr(x, "SerializeToString"):
        return type(x).__name__.encode() + b"\0" + x.SerializeToString()
    if hasattr(x, "get_outputs") and hasattr(x, "_session"):
        return x
    if callable(x):
        return None
    raise Unkeyed


def described(x, what: str):
    """(value, type, rank) of an array, or of a list of arrays, which is a sequence and has rank None."""
    if isinstance(x, list):
        items = [arrays.as_array(i, what, "tensors") for i in x]
        names = {arrays.dtype_name(i.dtype) for i in items} or {getattr(x, "element", "f32")}
        if len(names) > 1:
            raise CallerError(f"{what} is a list of arrays of the dtypes {', '.join(sorted(names))}; expected one dtype")
        type_text = f"seq(tensor({arrays.onnx_name(names.pop())}))"
        return arrays.to_value(items, what, type_text), type_text, None
    type_text = f"tensor({arrays.onnx_name(arrays.dtype_name(x.dtype))})"
    return arrays.to_value(x, what, type_text), type_text, x.ndim
