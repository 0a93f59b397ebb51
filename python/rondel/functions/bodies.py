"""The bodies of loop, scan and if_: Python functions, which are traced, and graphs that exist already."""

from typing import NamedTuple

import numpy as np

from .. import _rondel
from ..errors import CallerError
from . import numbers, tracing
from .traced import Traced

#: How often the types of a loop's states are looked at again; each time one of them knows less of its shape.
_MOST_ROUNDS = 20


class Body(NamedTuple):
    """A serialized GraphProto, and how many outputs it has."""

    graph: bytes
    outputs: int


def existing(body, opset: int, what: str) -> Body | None:
    """The body that a GraphProto, a ModelProto, a session or another graph of ours is; None for a function."""
    if isinstance(body, Body):
        return body
    if hasattr(body, "build_session"):  # rondel.network.Network
        body = body.build_session()
    if hasattr(body, "get_outputs") and hasattr(body, "_session"):  # rondel.InferenceSession
        return Body(_rondel.body_of_model(body._session, opset), len(body.get_outputs()))
    if hasattr(body, "SerializeToString"):
        if hasattr(body, "graph"):
            return Body(_rondel.body_of_model(body.SerializeToString(), opset), len(body.graph.output))
        return Body(body.SerializeToString(), len(body.output))
    if callable(body):
        return None
    raise CallerError(f"{what} is a {type(body).__name__}; expected a function, a GraphProto, a ModelProto, or a graph of Rondel")


def results_of(function, inputs, what: str) -> list:
    """What a traced function gives, as a list."""
    given = function(*inputs)
    results = list(given) if isinstance(given, (tuple, list)) else [given]
    for k, x in enumerate(results):
        if x is None:
            raise CallerError(f"{what} gives None as result {k}; expected traced values, arrays or numbers")
    return results


def outputs_of(level, results: list, dtypes: list, what: str) -> list:
    """The results of a traced function as traced values, which become the outputs of its graph. dtypes: what a number becomes."""
    traced = []
    for k, x in enumerate(results):
        if not isinstance(x, Traced):
            x = _written(level, x, dtypes[k] if k < len(dtypes) else None, f"{what}, result {k}")
        level.name_of(x)  # known here, also where it is of a graph around this one
        traced.append(x)
    for x in traced:
        level.writer.output(x.name)
    return traced


def _written(level, x, dtype, what):
    if not numbers.is_number(x):
        return level.of_array(x)
    own = {"f": "f64", "i": "i64", "b": "bool"}[numbers.kind_of(x)]
    fits = dtype is not None and (dtype == own or own != "f64" or dtype[0] in "fb" and dtype != "bool")
    return level.constant(numbers.array_of(x, dtype if fits else own, what))


class Assumed(NamedTuple):
    """The type that a body's input is taken to have."""

    stem: str
    type: str
    extents: list | None


def assumed(stem: str, x: Traced) -> Assumed:
    return Assumed(stem, x.type, x.extents)


def traced_body(parent, function, inputs: list, states: int, first: int, what: str) -> Body:
    """A body with the given inputs, of which `states` from number `first` on are states: of a Loop's body, which also gives a
    condition, they begin at 2, else at 0. Where a state leaves with another shape than it came with, the body is traced again
    with less of its shape known."""
    for _ in range(_MOST_ROUNDS):
        level = tracing.Level("body", parent.opset, parent)
        with tracing.entered(level):
            given = [level.input(*i) for i in inputs]
            results = results_of(function, given, what)
            at = 1 if first else 0
            if len(results) < at + states:
                wanted = f"{'the condition and ' if at else ''}{states} state{'' if states == 1 else 's'}"
                raise CallerError(f"{what} gives {len(results)} results; expected at least {wanted}")
            if at:
                results[0] = condition_of(results[0], what)
            dtypes = (["bool"] if at else []) + [inputs[first + s].type for s in range(states)]
            dtypes = [d if d == "bool" else _element(d) for d in dtypes]
            outputs = outputs_of(level, results, dtypes, what)
        widened = _widened(inputs, outputs[at : at + states], first, what)
        if widened == inputs:
            return Body(level.writer.graph_bytes(), len(outputs))
        inputs = widened
    raise CallerError(f"{what}: the shapes of the states change in every trip in another way")


def _element(type_text):
    from .. import arrays

    return arrays.element_name(type_text) if type_text.startswith("tensor(") else None


def condition_of(x, what: str):
    """A loop's condition: a bool; an integer is true where it is not 0."""
    if isinstance(x, Traced):
        if x.element == "bool":
            return x
        if x.element[0] in "iu":
            return x.astype(np.bool_)
        raise CallerError(f"{what} gives {x!r} as its condition; expected a bool")
    array = np.asarray(x)
    if array.size != 1 or array.dtype.kind not in "biu":
        raise CallerError(f"{what} gives {x!r:.60} as its condition; expected a bool")
    return bool(array.reshape(-1)[0])


def _widened(inputs, outputs, first, what):
    """The types of the inputs that hold for what the states leave with, too."""
    widened = list(inputs)
    for s, left in enumerate(outputs):
        came = inputs[first + s]
        if left.type != came.type:
            raise CallerError(f"{what}: state {s} comes as {came.type} and leaves as {left.type}; cast it, or its initial value")
        widened[first + s] = came._replace(extents=_common(came.extents, left.extents))
    return widened


def _common(a, b):
    if a is None or b is None or len(a) != len(b):
        return None
    return [x if x == y and x.isdigit() else "" for x, y in zip(a, b)]
