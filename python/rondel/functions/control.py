"""loop, scan, if_ and sequence_map: their arguments, and their bodies as graphs."""

from typing import NamedTuple

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError
from . import attributes, bodies, calling, numbers, sessions, tracing, traces
from .operators import is_omitted
from .traced import Traced

#: The attributes that hold graphs.
GRAPHS = {"Loop": ("body",), "Scan": ("body",), "If": ("then_branch", "else_branch"), "SequenceMap": ("body",)}
#: The inputs for which a Python bool becomes a constant of the compiled graph, so that the compiler can use its value.
_CONSTANTS = {"Loop": ("cond",)}


class Given(NamedTuple):
    """The arguments of a call. inputs: the operator's inputs, in order. values: the values of the inputs, with M and the condition
    converted. attributes: includes graphs, functions and `opset`. count: the number of arguments."""

    inputs: list
    values: list
    attributes: dict
    count: int


class ControlCaller(calling.Caller):
    """The implementation of the function of an operator with bodies."""

    def __init__(self, op):
        self.graphs, self.constants = GRAPHS[op.name], _CONSTANTS.get(op.name, ())
        super().__init__(op)

    #: bindings/calls.cpp calls it for an argument that may be a graph.
    graph_key = staticmethod(traces.graph_key)

    def traced(self, level, args, kwargs):
        """A call while a body is traced: adds a node with bodies of its own."""
        level.trace.call(level.number, self.op, *self._with_bodies_named(args, kwargs)[:2])
        if isinstance(level, tracing.ReplayedLevel):
            results = level.results(self._replay(level.trace, args, kwargs))
        else:
            given = self._given(args, kwargs)
            results = level.record_results(self._node(level, given))
        return results[0] if len(results) == 1 else tuple(results)

    def prepare(self, args, kwargs):
        """The Prepared for a call with graphs as bodies; None if an argument must first be converted."""
        given = self._given(args, kwargs)
        plan = self._plan(given)
        return plan and _rondel.Prepared(self._session(given, traces.Trace(None)), *plan)

    def trace(self, key, args, kwargs):
        """(Prepared, values that functions read) for a call with functions as bodies, which are called here; None if an argument must
        first be converted. key: everything except the functions that determines the graph."""
        steps = traces.forest.root(key, (*args, *kwargs.values()))
        try:
            trace = traces.Trace(steps, replays=True)
            return self._replay(trace, args, kwargs), trace.values
        except traces.Unknown:
            pass
        given = self._given(args, kwargs)
        plan = self._plan(given)
        if plan is None:
            return None
        trace = traces.Trace(steps)
        prepared = _rondel.Prepared(self._session(given, trace), *plan)
        trace.add_outcome(prepared)
        return prepared, trace.values

    def otherwise(self, args, kwargs):
        """A call with arguments that must first be converted; any other call runs without being cached."""
        tracing.refuse_traced(self.op, args, kwargs)
        given = self._given(args, kwargs)
        if any(a is not None and a.value is not x and not numbers.is_number(a.value) for a, x in zip(given.inputs, given.values)):
            return self.call(tuple(given.values), given.attributes)
        trace = traces.Trace(None)
        session = self._session(given, trace)
        fed = calling.as_arrays(self.op, [None if self._is_constant(k, x) else x for k, x in enumerate(given.values)])
        values = [traces.described(x, self.op.name)[0] for x in fed if x is not None]
        return _rondel.run_in_order(session, values + trace.values, arrays.from_value)

    def _is_constant(self, k, x):
        return isinstance(x, bool) and self.op.input(k).name in self.constants

    def _plan(self, given: Given):
        """(plan, number of inputs), as _rondel.Prepared takes them; None if a value is not the argument itself."""
        for a, x in zip(given.inputs, given.values):
            same = a is None or x is a.value or type(a.value) in (int, float, bool)
            if not same and not (isinstance(a.value, np.generic) and isinstance(x, np.ndarray) and x.dtype == a.value.dtype):
                return None
        fed = [None if self._is_constant(k, x) else x for k, x in enumerate(given.values)]
        if any(isinstance(x, (list, tuple)) and not numbers.is_number(x) for x in fed):
            return None
        plan = calling.plan_of(self.op, given.inputs, fed, numbers.dtypes_of_numbers(self.op, fed), given.count)
        return plan and (plan, sum(x is not None for x in fed))

    def _replay(self, trace, args, kwargs):
        """Calls the functions as long as all their events are known. Returns the last outcome; raises Unknown at an unknown event."""
        while type(outcome := trace.replay()) is traces.Enter:
            function = kwargs.get(outcome.function)
            if function is None:
                function = self._with_bodies_named(args, kwargs)[1][outcome.function]
            level = tracing.ReplayedLevel(trace, outcome.level)
            bodies.call(level, function, [Traced(level, *i) for i in outcome.inputs], self._named(outcome.function))
        return outcome

    def _session(self, given: Given, trace):
        """The session of the call as a graph. Its inputs are the fed values, then the arrays that functions read."""
        level = tracing.Level(self.op.python_name.rstrip("_"), self.op.opset, trace=trace)
        with tracing.entered(level):
            for x in self._node(level, given, fed=True):
                level.writer.output(x.name)
        level.feed_all()
        return sessions.session_of(level.writer)

    def _node(self, level, given: Given, fed=False) -> list:
        """Adds the node of the call and returns its results. fed: True makes its arrays and numbers inputs of the graph, so that the
        graph can be reused for other values."""
        op = self.op
        inputs = self._inputs(level, given.values, fed)
        make = {"Loop": self._loop, "Scan": self._scan, "If": self._if, "SequenceMap": self._map}[op.name]
        made, count = make(level, inputs, given.attributes, self._existing(given.attributes))
        plain = {k: v for k, v in given.attributes.items() if k not in (*self.graphs, "opset")}
        if count < 1:
            raise CallerError(f"{op.name}: its body gives no results; expected a state or an item")
        graphs = [(name, "GRAPH", made[name].graph) for name in self.graphs]
        return level.add(op, inputs, attributes.written(op, plain) + graphs, count)

    def _existing(self, given: dict) -> dict:
        """The bodies that are graphs."""
        opset = given.get("opset")
        if opset is not None and not any(bodies.is_plain_graph(given[name]) for name in self.graphs):
            raise CallerError(f"{self.op.name}: opset= goes with a GraphProto as body; a ModelProto says its opset, a function has none")
        opset = None if opset is None else bodies.checked_opset(opset)
        found = {name: bodies.existing(given[name], self.op.opset, self._named(name), opset) for name in self.graphs}
        return {name: body for name, body in found.items() if body is not None}

    def _named(self, graph: str) -> str:
        """How errors name a body: "the body of loop"."""
        return f"the {graph} of {self.op.python_name}"

    def _with_bodies_named(self, args, kwargs):
        """(args, kwargs, positions of args) with all bodies in kwargs. A body may be a positional argument, as in MDF."""
        missing = [name for name in self.graphs if kwargs.get(name) is None]
        if not missing:
            return args, kwargs, range(len(args))
        places = [k for k, x in enumerate(args) if _is_body(x)]
        if len(places) < len(missing):
            raise CallerError(f"{self.op.name}: '{missing[len(places)]}' is missing; expected {self.op.signature_text()}")
        named = dict(zip(missing, places))
        rest = [k for k in range(len(args)) if k not in named.values()]
        return tuple(args[k] for k in rest), {**kwargs, **{name: args[k] for name, k in named.items()}}, rest

    def _given(self, args, kwargs) -> Given:
        rest, named, places = self._with_bodies_named(args, kwargs)
        opset = named.get("opset")
        named = {k: x for k, x in named.items() if k != "opset"}
        bound = self.op.bind(rest, named)
        if bound.outputs is not None:
            raise CallerError(f"{self.op.name}: outputs= is given; its bodies say how many results there are")
        number = dict(zip(kwargs, range(len(args), len(args) + len(kwargs))))
        places = [*places, *(number.get(name, -1) for name in named)]
        inputs = [a if a is None or a.number < 0 else a._replace(number=places[a.number]) for a in bound.inputs]
        values = [self._form(k, a.value) if a else None for k, a in enumerate(bound.inputs)]
        given = bound.attributes if opset is None else {**bound.attributes, "opset": opset}
        return Given(inputs, values, given, len(args) + len(kwargs))

    def _form(self, k, x):
        """An input in the form that the operator takes; arrays in the form in which they are fed."""
        name = self.op.input(k).name
        if name == "cond":
            return x if isinstance(x, Traced) else _condition(x, self.op.python_name)
        if self.op.name == "Loop" and k == 0 and not is_omitted(x) and not isinstance(x, Traced):
            return _trips(x)
        if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__dlpack__"):
            return calling.usual(x, f"{self.op.name}: input '{name}'")
        if x is None or isinstance(x, (Traced, list, tuple)) or numbers.is_number(x):
            return x
        return arrays.as_array(x, f"{self.op.name}: input '{name}'", "a tensor")

    def _inputs(self, level, values, fed):
        """Inputs as traced values."""
        if self.op.name == "Loop":
            wanted = ["i64", "bool"]
            values = [level.cast(x, wanted[k]) if k < 2 and isinstance(x, Traced) else x for k, x in enumerate(values)]
        constants = {k: level.constant(np.asarray(x)) for k, x in enumerate(values) if self._is_constant(k, x)}
        values = [constants.get(k, x) for k, x in enumerate(values)]
        if not fed:
            return tracing.traced_inputs(level, self.op, values)
        chosen = numbers.dtypes_of_numbers(self.op, values)
        inputs = []
        for k, x in enumerate(values):
            if x is not None and not isinstance(x, Traced):
                name = self.op.input(k).name
                x = level.input(name, *calling.type_of(x, chosen[k]))
            inputs.append(x)
        return inputs

    def _loop(self, level, inputs, given, existing):
        states = inputs[2:]
        while len(inputs) < 2:
            inputs.append(None)
        if not existing:
            types = [bodies.Assumed("i", "tensor(int64)", []), bodies.Assumed("cond", "tensor(bool)", [])]
            types += [bodies.assumed(f"state{s}", x) for s, x in enumerate(states)]
            existing = {"body": bodies.traced_body(level, given["body"], types, len(states), 2, self._named("body"))}
        return existing, existing["body"].outputs - 1

    def _scan(self, level, inputs, given, existing):
        op = self.op
        count = attributes.canonical(op, "num_scan_inputs", given["num_scan_inputs"]) if "num_scan_inputs" in given else None
        if count is None or not 1 <= count <= len(inputs):
            raise CallerError(f"Scan: num_scan_inputs is {count}; expected 1 to {len(inputs)}, the number of inputs")
        if not existing:
            states = len(inputs) - count
            axes = attributes.canonical(op, "scan_input_axes", given["scan_input_axes"]) if "scan_input_axes" in given else [0] * count
            types = [bodies.assumed(f"state{s}", x) for s, x in enumerate(inputs[:states])]
            types += [_along(f"scan{k}", x, axis) for k, (x, axis) in enumerate(zip(inputs[states:], axes))]
            existing = {"body": bodies.traced_body(level, given["body"], types, states, 0, self._named("body"))}
        return existing, existing["body"].outputs

    def _map(self, level, inputs, given, existing):
        if not existing:
            types = [_item(f"item{k}", x) for k, x in enumerate(inputs)]
            existing = {"body": bodies.traced_body(level, given["body"], types, 0, 0, self._named("body"))}
        return existing, existing["body"].outputs

    def _if(self, level, inputs, given, existing):
        """Both branches are traced before either is written: a number in one gets the dtype of the other's result."""
        levels, results = {}, {}
        for name in self.graphs:
            if name not in existing:
                levels[name] = tracing.Level(name, level.opset, level)
                level.trace.add_outcome(traces.Enter(name, (), levels[name].number))
                results[name] = bodies.call(levels[name], given[name], [], self._named(name))
        made = dict(existing)
        for name, other in zip(self.graphs, reversed(self.graphs)):
            if name in levels:
                dtypes = [numbers.own_dtype(x) if numbers.is_number(x) else numbers.dtype_of(x) for x in results.get(other, [])]
                outputs = bodies.outputs_of(levels[name], results[name], dtypes, self._named(name))
                made[name] = bodies.Body(levels[name].writer.graph_bytes(), len(outputs))
        counts = [made[name].outputs for name in self.graphs]
        if counts[0] != counts[1]:
            raise CallerError(f"If: then_branch gives {counts[0]} results and else_branch {counts[1]}; expected as many")
        return made, counts[0]


def caller(op) -> calling.Caller:
    """The implementation of an operator's function."""
    return ControlCaller(op) if op.name in GRAPHS else calling.Caller(op)


def _is_body(x):
    made_of_arrays = isinstance(x, (Traced, np.ndarray, np.generic)) or hasattr(x, "__dlpack__")
    return not made_of_arrays and (callable(x) or any(hasattr(x, name) for name in bodies.GRAPH_METHODS))


def _condition(x, what):
    """A condition: an array of bool unchanged, anything else as a bool."""
    if isinstance(x, (np.ndarray, np.bool_)) and x.dtype == np.bool_:
        return calling.usual(x, f"the condition of {what}")
    return bodies.condition_of(x, what)


def _trips(x):
    """The number of trips, as an int or an int64 array without axes."""
    array = np.asarray(x)
    if array.dtype.kind not in "iu" or array.size != 1:
        raise CallerError(f"Loop: M is {x!r:.60}; expected an integer of 64 bits, or None for no limit")
    if isinstance(x, int):
        return x
    return array if array.dtype == np.int64 and array.ndim == 0 else array.astype(np.int64).reshape(())


def _along(stem, x, axis):
    """The type of an element of x along an axis."""
    if x.extents is None:
        return bodies.Assumed(stem, x.type, None)
    if not -len(x.extents) <= axis < len(x.extents):
        raise CallerError(f"Scan: {x!r} is scanned along axis {axis}; it has {len(x.extents)} axes")
    extents = list(x.extents)
    del extents[axis]
    return bodies.Assumed(stem, x.type, extents)


def _item(stem, x):
    return bodies.Assumed(stem, x.type[4:-1], None) if x.type.startswith("seq(") else bodies.assumed(stem, x)
