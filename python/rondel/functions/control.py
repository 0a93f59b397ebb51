"""loop, scan and if_: their arguments, and their bodies as graphs."""

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError
from . import attributes, bodies, numbers, sessions, tracing
from .operators import is_omitted
from .traced import Traced

#: The attributes that hold graphs.
GRAPHS = {"Loop": ("body",), "Scan": ("body",), "If": ("then_branch", "else_branch"), "SequenceMap": ("body",)}


def call(op, args: tuple, kwargs: dict):
    """A call of Loop, Scan, If or SequenceMap: a node where an argument is traced or a body is being traced, else a run."""
    level = tracing.innermost()
    if level is not None:
        bound = op.bind(*_with_bodies_named(op, args, kwargs))
        return _node(level, op, _values(op, bound), bound.attributes)
    args, kwargs = _with_bodies_named(op, args, kwargs)
    if op.name == "If" and all(_is_function(kwargs.get(name)) for name in GRAPHS["If"]):
        return _chosen(op, args, kwargs)
    bound = op.bind(args, kwargs)
    values = _concrete(op, _values(op, bound))
    key = _key(op, values, bound.attributes)
    session = key and sessions.find(key)
    if session:
        fed = [x for x in values if x is not None and not isinstance(x, bool)]
        return _rondel.run_in_order(session, [tracing.described(x, op.name)[0] for x in fed], arrays.from_value)
    level = tracing.Level(op.python_name.rstrip("_"), op.opset)
    with tracing.entered(level):
        results = _node(level, op, values, bound.attributes)
        for x in results if isinstance(results, tuple) else (results,):
            level.writer.output(x.name)
    session = sessions.session_of(level.writer)
    if key:
        sessions.keep(key, session)
    return _rondel.run_in_order(session, level.values, arrays.from_value)


def _key(op, values, attribute_values):
    """What a call with graphs as bodies is compiled for; None where a body is a function, which may have changed."""
    graphs = [bodies.existing(attribute_values[name], op.opset, f"{op.name}'s {name}") for name in GRAPHS[op.name]]
    if None in graphs:
        return None
    plain = [(k, attributes.canonical(op, k, v)) for k, v in sorted(attribute_values.items()) if k not in GRAPHS[op.name]]
    forms = [x if x is None or isinstance(x, bool) else tracing.described(x, op.name)[1:] for x in values]
    return (op.name, op.opset, tuple(g.graph for g in graphs), repr(plain), repr(forms))


#: A method of each kind of graph that may be a body.
_GRAPH_METHODS = ("SerializeToString", "get_outputs", "build_session")


def _is_function(x):
    return callable(x) and not any(hasattr(x, name) for name in _GRAPH_METHODS)


def _chosen(op, args, kwargs):
    """If on arrays: its branch is an ordinary function, and called."""
    bound = op.bind(args, kwargs)
    condition = bodies.condition_of(bound.inputs[0].value, "if_")
    results = kwargs["then_branch" if condition else "else_branch"]()
    several = isinstance(results, (tuple, list))
    made = [arrays._array(x, "the result of a branch", "a tensor") for x in (results if several else [results])]
    return tuple(made) if several and len(made) > 1 else made[0]


def _with_bodies_named(op, args, kwargs):
    """A body may stand among the arguments by position, as in MDF."""
    rest = list(args)
    kwargs = dict(kwargs)
    for name in GRAPHS[op.name]:
        if name not in kwargs:
            at = next((k for k, x in enumerate(rest) if _is_body(x)), None)
            if at is None:
                raise CallerError(f"{op.name}: '{name}' is missing; expected {op.signature_text()}")
            kwargs[name] = rest.pop(at)
    return tuple(rest), kwargs


def _is_body(x):
    made_of_arrays = isinstance(x, (Traced, np.ndarray, np.generic)) or hasattr(x, "__dlpack__")
    return not made_of_arrays and (callable(x) or any(hasattr(x, name) for name in _GRAPH_METHODS))


def _values(op, bound):
    """The inputs in order, M and cond of a Loop in the form that it takes."""
    values = [a.value if a else None for a in bound.inputs]
    if op.name == "Loop":
        values = [None if k < 2 and is_omitted(x) else x for k, x in enumerate(values)]
        if len(values) > 1 and values[1] is not None:
            values[1] = _condition(values[1])
        if values and values[0] is not None:
            values[0] = _trips(values[0])
    return values


def _node(level, op, values, given):
    inputs = _inputs(level, op, values)
    make = {"Loop": _loop, "Scan": _scan, "If": _if, "SequenceMap": _map}[op.name]
    graphs, count = make(level, op, inputs, given)
    plain = {k: v for k, v in given.items() if k not in graphs}
    written = attributes.written(op, plain) + [(name, "GRAPH", body.graph) for name, body in graphs.items()]
    if count < 1:
        raise CallerError(f"{op.name}: its body gives no results; expected a state or an item")
    results = level.add(op, inputs, written, count)
    return results[0] if len(results) == 1 else tuple(results)


def _condition(x):
    """The condition of a Loop. A Python number is a constant, of which the compiler makes use."""
    return x if isinstance(x, (Traced, np.ndarray)) and _element(x) == "bool" else bodies.condition_of(x, "loop")


def _trips(x):
    """The number of trips, of int64."""
    if isinstance(x, Traced):
        return x if x.element == "i64" else x.astype(np.int64)
    array = np.asarray(x)
    if array.dtype.kind not in "iu" or array.size != 1:
        raise CallerError(f"Loop: M is {x!r:.60}; expected an integer, or None for no limit")
    return array.astype(np.int64).reshape(())


def _element(x):
    return x.element if isinstance(x, Traced) else arrays.dtype_name(x.dtype)


def _concrete(op, values):
    """Values as arrays, and lists of them; traced values, Python's bools and what is left out stay as they are."""
    known = [None if x is None or numbers.is_number(x) else tracing.dtype_of(x) for x in values]
    chosen = numbers.dtypes_of_numbers(op, values, known)
    arrays_of = []
    for k, x in enumerate(values):
        what = f"{op.name}: input '{op.input(k).name}'"
        if not (x is None or isinstance(x, (Traced, bool))):
            if chosen[k] is not None:
                x = numbers.array_of(x, chosen[k], what)
            elif not isinstance(x, list):
                x = arrays._array(x, what, "a tensor")
        arrays_of.append(x)
    return arrays_of


def _inputs(level, op, values):
    """Inputs as traced values. Arrays are fed, so that the same model serves for others; bools are constants."""
    traced = []
    for k, x in enumerate(_concrete(op, values)):
        if isinstance(x, bool):
            x = level.constant(np.asarray(x))
        elif x is not None and not isinstance(x, Traced):
            name = op.input(k).name
            x = level.root.feed(name, x, f"{op.name}: input '{name}'")
        traced.append(x)
    return traced


def _loop(level, op, inputs, given):
    states = inputs[2:]
    if any(x is None for x in states):
        raise CallerError(f"Loop: the initial value of state {states.index(None)} is left out")
    body = bodies.existing(given["body"], op.opset, "Loop's body")
    if body is None:
        types = [bodies.Assumed("i", "tensor(int64)", []), bodies.Assumed("cond", "tensor(bool)", [])]
        types += [bodies.assumed(f"state{s}", x) for s, x in enumerate(states)]
        body = bodies.traced_body(level, given["body"], types, len(states), 2, "the body of loop")
    while len(inputs) < 2:
        inputs.append(None)
    return {"body": body}, body.outputs - 1


def _scan(level, op, inputs, given):
    count = attributes.canonical(op, "num_scan_inputs", given["num_scan_inputs"]) if "num_scan_inputs" in given else None
    if count is None or not 1 <= count <= len(inputs):
        raise CallerError(f"Scan: num_scan_inputs is {count}; expected 1 to {len(inputs)}, the number of inputs")
    body = bodies.existing(given["body"], op.opset, "Scan's body")
    if body is None:
        states = len(inputs) - count
        axes = attributes.canonical(op, "scan_input_axes", given["scan_input_axes"]) if "scan_input_axes" in given else [0] * count
        types = [bodies.assumed(f"state{s}", x) for s, x in enumerate(inputs[:states])]
        types += [_along(f"scan{k}", x, axis) for k, (x, axis) in enumerate(zip(inputs[states:], axes))]
        body = bodies.traced_body(level, given["body"], types, states, 0, "the body of scan")
    return {"body": body}, body.outputs


def _along(stem, x, axis):
    """The type of an element of x along an axis."""
    if x.extents is None:
        return bodies.Assumed(stem, x.type, None)
    if not -len(x.extents) <= axis < len(x.extents):
        raise CallerError(f"Scan: {x!r} is scanned along axis {axis}; it has {len(x.extents)} axes")
    extents = list(x.extents)
    del extents[axis]
    return bodies.Assumed(stem, x.type, extents)


def _map(level, op, inputs, given):
    body = bodies.existing(given["body"], op.opset, "SequenceMap's body")
    if body is None:
        types = [_item(f"item{k}", x) for k, x in enumerate(inputs)]
        body = bodies.traced_body(level, given["body"], types, 0, 0, "the body of sequence_map")
    return {"body": body}, body.outputs


def _item(stem, x):
    return bodies.Assumed(stem, x.type[4:-1], None) if x.type.startswith("seq(") else bodies.assumed(stem, x)


def _if(level, op, inputs, given):
    """Both branches are traced before either is written: a number in one has the dtype of the other's result."""
    names = GRAPHS["If"]
    ready = {name: bodies.existing(given[name], op.opset, f"If's {name}") for name in names}
    levels, results = {}, {}
    for name in names:
        if ready[name] is None:
            levels[name] = tracing.Level(name, level.opset, level)
            with tracing.entered(levels[name]):
                results[name] = bodies.results_of(given[name], [], name)
    for name, other in zip(names, reversed(names)):
        if name in levels:
            dtypes = [tracing.dtype_of(x) if not numbers.is_number(x) else None for x in results.get(other, [])]
            with tracing.entered(levels[name]):
                outputs = bodies.outputs_of(levels[name], results[name], dtypes, name)
            ready[name] = bodies.Body(levels[name].writer.graph_bytes(), len(outputs))
    counts = [ready[name].outputs for name in names]
    if counts[0] != counts[1]:
        raise CallerError(f"If: then_branch gives {counts[0]} results and else_branch {counts[1]}; expected as many")
    return ready, counts[0]
