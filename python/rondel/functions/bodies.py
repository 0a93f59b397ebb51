"""The bodies of loop, scan and if_: Python functions, which are traced, and existing graphs."""

import inspect
from typing import NamedTuple

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError
from ..metadata import extent_of
from ..models import built
from . import numbers, traces, tracing
from .traced import Traced

#: The most rounds in which the types of a loop's states are inferred; in each round a shape becomes less specific.
_MOST_ROUNDS = 20


class Body(NamedTuple):
    """A serialized GraphProto, and the number of its outputs."""

    graph: bytes
    outputs: int


#: Methods by which the graphs that may be bodies are recognized, one for each kind of graph.
GRAPH_METHODS = ("SerializeToString", "get_outputs", "build_session")


def is_plain_graph(body) -> bool:
    """Whether `body` is a GraphProto."""
    return hasattr(body, "SerializeToString") and not hasattr(body, "graph")


def existing(body, opset: int, what: str, written_in: int | None = None) -> Body | None:
    """A GraphProto, a ModelProto, a session or a network as a body for a node of `opset`; None for a function.
    written_in: the opset of a GraphProto, which does not contain one; None: `opset`."""
    body = built(body)
    if hasattr(body, "get_outputs") and hasattr(body, "_session"):  # rondel.InferenceSession
        return Body(_rondel.body_of_model(body._with_graph("a body"), opset), len(body.get_outputs()))
    if is_plain_graph(body):
        graph = body.SerializeToString()
        _check_closed(graph, what)
        return Body(_rondel.body_of_graph(graph, opset if written_in is None else written_in, opset), len(body.output))
    if hasattr(body, "SerializeToString"):
        return Body(_rondel.body_of_model(body.SerializeToString(), opset), len(body.graph.output))
    if callable(body):
        return None
    raise CallerError(f"{what} is a {type(body).__name__}; expected a function, a GraphProto, a ModelProto, or a graph of Rondel")


def _check_closed(graph: bytes, what: str):
    free = _rondel.free_names(graph)
    if free:
        names = ", ".join(f"'{name}'" for name in free)
        raise CallerError(
            f"{what} reads {names}, which it does not define, and a GraphProto has nothing around it here; give it an input (a state, or "
            f"a scan) or an initializer of that name, or give a Python function as body, which captures arrays"
        )


def checked_opset(opset) -> int:
    """`opset`, if it is an opset that a GraphProto may be written in; else CallerError."""
    newest = _rondel.newest_opset()
    if isinstance(opset, bool) or not isinstance(opset, int) or not 1 <= opset <= newest:
        raise CallerError(f"opset is {opset!r:.60}; expected a number from 1 to {newest}")
    return opset


def call(level, function, inputs: list, what: str) -> list:
    """Calls a function with the traced inputs of its level. Returns its results as a list, which is also an event of the trace."""
    with tracing.entered(level):
        given = _called(function, inputs, what)
        results = list(given) if isinstance(given, (tuple, list)) else [given]
        for k, x in enumerate(results):
            if type(x) is not Traced and _is_no_result(x):
                shown = "None" if x is None else f"a {type(x).__name__}"
                raise CallerError(f"{what} gives {shown} as result {k}; expected traced values, arrays or numbers")
        level.trace.results(results)
    return results


def _is_no_result(x) -> bool:
    if isinstance(x, (list, tuple)):
        return any(isinstance(i, (Traced, list, tuple, dict)) for i in x) and not numbers.is_number(x)
    return x is None or isinstance(x, (dict, set)) or hasattr(x, "__next__")


def _called(function, inputs, what):
    try:
        return function(*inputs)
    except TypeError as error:
        expected = _parameters_that_do_not_fit(function, inputs)
        if expected is None:
            raise
        passed = ", ".join(_stem(x.name) for x in inputs) or "no arguments"
        name = getattr(function, "__name__", type(function).__name__)
        raise CallerError(f"{what}, {name}{expected}, is called with {passed}; {error}") from None


def _stem(name):
    return name.rpartition("_")[0]


def _parameters_that_do_not_fit(function, inputs) -> str | None:
    """The parameters of a function, as text, if it cannot be called with these inputs; None if it can."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*inputs)
    except TypeError:
        return str(signature)
    return None


def outputs_of(level, results: list, dtypes: list, what: str) -> list:
    """The results of a traced function as traced values, which become the outputs of its graph. dtypes: the dtypes for results that are
    numbers."""
    traced = []
    for k, x in enumerate(results):
        if not isinstance(x, Traced):
            x = _written(level, x, dtypes[k] if k < len(dtypes) else None, f"{what}, result {k}")
        level.name_of(x)  # captures a value of an enclosing graph
        traced.append(x)
    for x in traced:
        level.writer.output(x.name)
    return traced


def _written(level, x, dtype, what):
    if not numbers.is_number(x):
        return level.of_array(x)
    fits = dtype is not None and numbers.fits(x, dtype)
    return level.constant(numbers.array_of(x, dtype if fits else numbers.own_dtype(x), what))


class Assumed(NamedTuple):
    """The type that an input of a body is assumed to have."""

    stem: str
    type: str
    extents: list | None


def assumed(stem: str, x: Traced) -> Assumed:
    return Assumed(stem, x.type, x.extents)


def traced_body(parent, function, inputs: list, states: int, first: int, what: str, attribute="body") -> Body:
    """Traces a body with the given inputs. `states` of the inputs, from index `first` on, are carried states. first: 2 for the body of
    a Loop, whose first result is a condition; else 0. If the shape of a state changes in the body, the body is traced again with
    a less specific shape."""
    for _ in range(_MOST_ROUNDS):
        level = tracing.Level("body", parent.opset, parent)
        given = [level.input(*i) for i in inputs]
        level.trace.add_outcome(traces.Enter(attribute, tuple((x.name, x.type, x.extents) for x in given), level.number))
        results = call(level, function, given, what)
        at = 1 if first else 0
        if len(results) < at + states:
            wanted = f"{'the condition and ' if at else ''}{states} state{'' if states == 1 else 's'}"
            raise CallerError(f"{what} gives {len(results)} results; expected at least {wanted}")
        if at:
            results[0] = _traced_condition(level, results[0], what)
        dtypes = (["bool"] if at else []) + [inputs[first + s].type for s in range(states)]
        dtypes = [d if d == "bool" else _element(d) for d in dtypes]
        outputs = outputs_of(level, results, dtypes, what)
        widened = _widened(inputs, outputs[at : at + states], first, what)
        if widened == inputs:
            return Body(level.writer.graph_bytes(), len(outputs))
        inputs = widened
    raise CallerError(f"{what}: the shapes of the states change in every trip in another way")


def _element(type_text):
    return arrays.element_name(type_text) if type_text.startswith("tensor(") else None


def condition_of(x, what: str) -> bool:
    """A condition as a bool; an integer is true if it is not 0."""
    array = np.asarray(x)
    if array.size != 1 or array.dtype.kind not in "biu":
        raise CallerError(f"{what} has {x!r:.60} as its condition; expected a bool")
    return bool(array.reshape(-1)[0])


def _traced_condition(level, x, what):
    """The condition that a body returns, as a bool or a traced bool."""
    if not isinstance(x, Traced):
        return condition_of(x, what)
    if x.element != "bool" and x.element[0] not in "iu":
        raise CallerError(f"{what} has {x!r} as its condition; expected a bool")
    return level.cast(x, "bool")


def _widened(inputs, outputs, first, what):
    """The types of the inputs, generalized so that they also hold for the states that the body returns."""
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
    return [x if x == y and isinstance(extent_of(x), int) else "" for x, y in zip(a, b)]
