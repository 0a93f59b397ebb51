"""Graphs as the machine runs them, scopes of values, and control flow."""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from . import exact, older, recurrent, reference, zero_trips
from .faults import Inexact, TooLong, WrongProgram
from .ops import OPS

__all__ = ["Graph", "Inexact", "Machine", "Node", "Scope", "TooLong", "WrongProgram", "read_graph", "read_model"]


class Node:
    """One op: names of its inputs and outputs ("" is none), attributes as Python values, bodies as `Graph`s."""

    __slots__ = ("attributes", "domain", "inputs", "op", "outputs")

    def __init__(self, op, inputs, outputs, attributes=None, domain=""):
        self.op, self.inputs, self.outputs, self.domain = op, inputs, outputs, domain
        self.attributes = dict(attributes or {})


class Graph:
    """Names of inputs and outputs, constants by name, nodes in order.

    steps, known: the nodes other than Constant, and the values of all constants.
    declared: for each output the declared (dtype, shape); the shape is None, or has None for unknown extents.
    """

    def __init__(self, inputs, outputs, nodes, constants=None, declared=None, name=""):
        self.inputs, self.outputs, self.nodes, self.name = inputs, outputs, nodes, name
        self.constants = constants or {}
        self.unranked = False  # of a whole model: whether some rank may be unknown until it runs
        self.steps = [n for n in nodes if n.op != "Constant"]
        self.known = {**self.constants, **{n.outputs[0]: OPS["Constant"](n.attributes) for n in nodes if n.op == "Constant"}}
        self.declared = declared or [(None, None)] * len(outputs)


class Scope:
    """The values of one graph by name, then those of the enclosing graphs."""

    __slots__ = ("outer", "values")

    def __init__(self, outer, values=None):
        self.values = values if values is not None else {}
        self.outer = outer

    def __getitem__(self, name):
        scope = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise KeyError(name)


# ---- reading ------------------------------------------------------------------------------------------------


def read_model(model):
    """The graph of a ModelProto, and its functions by (domain, name)."""
    functions = {(f.domain, f.name): _read_function(f) for f in model.functions}
    graph = read_graph(model.graph)
    graph.unranked = zero_trips.may_lack_ranks(model)
    return graph, functions


def read_graph(proto):
    return Graph(
        [i.name for i in proto.input],
        [o.name for o in proto.output],
        [_read_node(n) for n in proto.node],
        {t.name: numpy_helper.to_array(t) for t in proto.initializer},
        [_declared(o.type) for o in proto.output],
        proto.name,
    )


def _declared(kind):
    """(dtype, shape) of a declared type; None for what it does not say."""
    if not kind.HasField("tensor_type"):
        return None, None
    tensor = kind.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else None
    shape = None
    if tensor.HasField("shape"):
        shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    return dtype, shape


def _read_function(proto):
    return Graph(list(proto.input), list(proto.output), [_read_node(n) for n in proto.node])


def _read_node(proto):
    attributes = {}
    for a in proto.attribute:
        if a.type == AttributeProto.GRAPH:
            attributes[a.name] = read_graph(a.g)
        elif a.type == AttributeProto.TENSOR:
            attributes[a.name] = numpy_helper.to_array(a.t)
        elif a.type == AttributeProto.STRING:
            attributes[a.name] = a.s.decode()
        elif a.type != AttributeProto.TYPE_PROTO:
            attributes[a.name] = helper.get_attribute_value(a)
    return Node(proto.op_type, list(proto.input), list(proto.output), attributes, proto.domain)


# ---- running ------------------------------------------------------------------------------------------------


class Machine:
    """Runs graphs.

    exact: arithmetic whose bits could depend on the order of evaluation raises Inexact.
    most: nodes and graphs that may run before TooLong is raised. largest: elements that a tensor may have, likewise.
    watch: called with (graph, arguments, results) after each run of a graph.

    ambiguous: the bodies of loops without trips that have a stack whose shape is not certain; presumed: those whose shape only the
    declaration tells, which may be wrong. See zero_trips.py.
    """

    def __init__(self, functions=None, exact=False, most=None, largest=None, watch=None):
        self.functions = functions or {}
        self.exact, self.left, self.largest, self.watch = exact, most, largest, watch
        self.ambiguous, self.presumed, self.unranked = [], [], False

    def run(self, graph, feeds):
        """The outputs of a whole graph. Raises WrongProgram if a node cannot run."""
        self.unranked = graph.unranked
        with np.errstate(all="ignore"):
            return self.call(graph, None, None, dict(feeds))

    def call(self, graph, outer, arguments, named=None):
        """Runs a graph within a scope, its inputs given by position or by name."""
        self.spend()  # a body without nodes ends, too
        values = dict(graph.known)
        values.update(named if named is not None else zip(graph.inputs, arguments, strict=True))
        scope = Scope(outer, values)
        for node in graph.steps:
            self.step(node, scope)
        results = [scope[name] for name in graph.outputs]
        if self.watch:
            self.watch(graph, [scope[name] for name in graph.inputs], results)
        return results

    def step(self, node, scope):
        """Runs one node."""
        self.spend()
        inputs = [scope[name] if name else None for name in node.inputs]
        for name, value in zip(node.outputs, self.results(node, inputs, scope), strict=False):
            if name:
                scope.values[name] = value

    def spend(self):
        """One node or graph more."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise TooLong("too many nodes")

    def results(self, node, inputs, scope):
        """The outputs of one node as a list."""
        control = CONTROL.get(node.op)
        try:
            if node.domain:
                return self.call(self.functions[node.domain, node.op], None, inputs)
            if control:
                return control(self, scope, node.attributes, inputs)
            inputs = older.with_inputs(node.op, node.attributes, inputs)
            if self.exact:
                exact.before(node.op, node.attributes, inputs)
            made = OPS[node.op]({**node.attributes, "outputs": len(node.outputs)}, *inputs)
        except WrongProgram:
            raise
        except MemoryError as error:
            raise TooLong(f"{node.op}: {error}") from error
        except (ValueError, IndexError, TypeError, ArithmeticError, AssertionError, RuntimeError) as error:
            raise WrongProgram(f"{node.op}: {error}") from error
        if node.op in MANY:
            return made
        if not isinstance(made, (np.ndarray, list)) and made is not None:
            made = np.asarray(made, object if isinstance(made, str) else None)
        if self.largest is not None and isinstance(made, np.ndarray) and (max(made.size, *made.shape, 0) > self.largest or made.ndim > 12):
            raise TooLong(f"{node.op}: too many elements, rows or axes")
        return [made]


MANY = {"Split", "TopK", "Unique", "MaxPool", *recurrent.OPS, *reference.MANY}


def _if(machine, scope, attributes, inputs):
    (condition,) = inputs
    assert condition.size == 1, "the condition has several elements"
    return machine.call(attributes["then_branch" if condition.item() else "else_branch"], scope, [])


def _loop(machine, scope, attributes, inputs):
    body = attributes["body"]
    trips, go, *states = inputs
    first_states, decides = states, go is not None
    go = True if go is None else bool(go.item())
    most = None if trips is None else int(trips.item())
    stacks = [[] for _ in range(len(body.outputs) - 1 - len(states))]
    trip = 0
    while (most is None or trip < most) and (go or not decides):
        results = machine.call(body, scope, [np.array(trip, np.int64), np.array(go), *states])
        go = bool(results[0].item())
        states = results[1 : 1 + len(states)]
        for stack, item in zip(stacks, results[1 + len(states) :], strict=True):
            stack.append(item)
        trip += 1
    if stacks and not trip:
        elements = [np.zeros((), np.int64), np.array(go), *first_states]
        return [*states, *zero_trips.stacks(machine, body, scope, elements, 1, len(states), [0] * len(stacks))]
    return [*states, *(np.stack(s, 0) for s in stacks)]


def _scan(machine, scope, attributes, inputs):
    if "directions" in attributes:
        return _scan_of_batches(machine, scope, attributes, inputs)
    body, count = attributes["body"], attributes["num_scan_inputs"]
    states, scans = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    results_count = len(body.outputs) - len(states)
    axes_in = attributes.get("scan_input_axes", [0] * count)
    back_in = attributes.get("scan_input_directions", [0] * count)
    axes_out = attributes.get("scan_output_axes", [0] * results_count)
    back_out = attributes.get("scan_output_directions", [0] * results_count)
    lengths = {x.shape[axis] for x, axis in zip(scans, axes_in, strict=True)}
    assert len(lengths) == 1, "the scans have different extents"
    (length,) = lengths
    if not length:
        elements = [np.zeros(np.delete(x.shape, axis), x.dtype) for x, axis in zip(scans, axes_in, strict=True)]
        return [*states, *zero_trips.stacks(machine, body, scope, [*states, *elements], 0, len(states), axes_out)]
    stacks, shapes = [[] for _ in range(results_count)], [x.shape for x in states]
    for trip in range(length):
        elements = [
            np.asarray(np.take(x, length - 1 - trip if back else trip, axis), x.dtype)
            for x, axis, back in zip(scans, axes_in, back_in, strict=True)
        ]
        results = machine.call(body, scope, [*states, *elements])
        states = results[: len(states)]
        assert [x.shape for x in states] == shapes, "a state of a Scan changes its shape"
        for stack, item in zip(stacks, results[len(states) :], strict=True):
            stack.append(item)
    return [*states, *(np.stack(s[::-1] if back else s, axis) for s, axis, back in zip(stacks, axes_out, back_out, strict=True))]


def _scan_of_batches(machine, scope, attributes, inputs):
    """Version 8: a batch along axis 0, time along axis 1, and for each sequence how many of its steps count. The rest of a stack is 0."""
    body, count, (lengths, *values) = attributes["body"], attributes["num_scan_inputs"], inputs
    states, scans = values[: len(values) - count], values[len(values) - count :]
    assert len({x.shape[:2] for x in scans}) == 1, "the scans have different extents"
    batch, steps = scans[0].shape[:2]
    lengths = [steps] * batch if lengths is None else [int(n) for n in lengths]
    assert len(lengths) == batch and all(0 <= n <= steps for n in lengths), "sequence lengths"
    assert all(len(x) == batch for x in states) and batch and max(lengths), "a batch"
    finals, stacks = [], []
    for k, length in enumerate(lengths):
        now, items = [x[k] for x in states], []
        for trip in range(length):
            at = [length - 1 - trip if back else trip for back in attributes["directions"]]
            results = machine.call(body, scope, [*now, *(np.asarray(x[k, t], x.dtype) for x, t in zip(scans, at, strict=True))])
            assert [x.shape for x in results[: len(states)]] == [x.shape for x in now], "a state of a Scan changes its shape"
            now = results[: len(states)]
            items.append(results[len(states) :])
        finals.append(now)
        stacks.append(items)
    shapes = [x.shape for x in next(items[0] for items in stacks if items)]
    dtypes = [x.dtype for x in next(items[0] for items in stacks if items)]
    made = [np.stack([now[k] for now in finals]) for k in range(len(states))]
    for j, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        stack = np.zeros((batch, steps, *shape), dtype)
        for k, items in enumerate(stacks):
            for trip, item in enumerate(items):
                assert item[j].shape == shape, "items of other shapes"
                stack[k, trip] = item[j]
        made.append(stack)
    return made


CONTROL = {"If": _if, "Loop": _loop, "Scan": _scan}
