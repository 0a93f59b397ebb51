"""A small machine that runs ONNX graphs with NumPy: the oracle of the random programs.

It executes one node after another: a loop is a `while`, a capture is a look-up in the enclosing scopes.
It has only the ops that `programs.py` generates.
"""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper


def run_model(model, feeds):
    """The outputs of the model as a list of arrays."""
    scope = Scope(None)
    for t in model.graph.initializer:
        scope.values[t.name] = numpy_helper.to_array(t)
    scope.values.update(feeds)
    with np.errstate(all="ignore"):
        return run_graph(model.graph, scope)


class Scope:
    """The values of one graph by name, then those of the enclosing graphs."""

    def __init__(self, outer):
        self.values = {}
        self.outer = outer

    def __getitem__(self, name):
        scope = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise KeyError(name)


def run_graph(graph, scope):
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        inputs = [scope[name] if name else None for name in node.input]
        if node.op_type in CONTROL:
            outputs = CONTROL[node.op_type](scope, attributes, inputs, len(node.output))
        else:
            outputs = OPS[node.op_type](attributes, *inputs)
            outputs = outputs if isinstance(outputs, list) else [outputs]
        for name, value in zip(node.output, outputs, strict=False):
            if name:
                scope.values[name] = np.asarray(value)
    return [scope[o.name] for o in graph.output]


def call(graph, scope, arguments):
    inner = Scope(scope)
    inner.values.update({i.name: np.asarray(a) for i, a in zip(graph.input, arguments, strict=True)})
    return run_graph(graph, inner)


def if_(scope, attributes, inputs, count):
    return call(attributes["then_branch" if inputs[0] else "else_branch"], scope, [])


def stacked(items, body, position, states, axis):
    """The items stacked along a new axis; without items, the other extents come from the declared shape."""
    if items:
        return np.stack(items, axis)
    declared = body.output[position].type.tensor_type
    extents = [d.dim_value for d in declared.shape.dim]
    rank = len(extents) + 1
    extents.insert(axis % rank, 0)
    return np.zeros(extents, helper.tensor_dtype_to_np_dtype(declared.elem_type))


def loop(scope, attributes, inputs, count):
    body = attributes["body"]
    trips, go, *states = inputs
    decides = go is not None
    go = True if go is None else bool(go)
    stacks = [[] for _ in range(len(body.output) - 1 - len(states))]
    trip = 0
    while (trips is None or trip < int(trips)) and (go or not decides):
        results = call(body, scope, [np.array(trip, np.int64), np.array(go), *states])
        go = bool(results[0])
        states = results[1 : 1 + len(states)]
        for stack, item in zip(stacks, results[1 + len(states) :], strict=True):
            stack.append(item)
        trip += 1
    first = 1 + len(states)
    return states + [stacked(s, body, first + k, states, 0) for k, s in enumerate(stacks)]


def scan(scope, attributes, inputs, count):
    body = attributes["body"]
    scans = attributes["num_scan_inputs"]
    states, sequences = inputs[: len(inputs) - scans], inputs[len(inputs) - scans :]
    results_count = len(body.output) - len(states)
    axes_in = attributes.get("scan_input_axes", [0] * scans)
    back_in = attributes.get("scan_input_directions", [0] * scans)
    axes_out = attributes.get("scan_output_axes", [0] * results_count)
    back_out = attributes.get("scan_output_directions", [0] * results_count)
    (length,) = {x.shape[axis] for x, axis in zip(sequences, axes_in, strict=True)}
    stacks = [[] for _ in range(results_count)]
    for trip in range(length):
        elements = [
            np.take(x, length - 1 - trip if back else trip, axis)
            for x, axis, back in zip(sequences, axes_in, back_in, strict=True)
        ]
        results = call(body, scope, [*states, *elements])
        states = results[: len(states)]
        for stack, item in zip(stacks, results[len(states) :], strict=True):
            stack.append(item)
    return list(states) + [
        stacked(s[::-1] if back_out[k] else s, body, len(states) + k, states, axes_out[k]) for k, s in enumerate(stacks)
    ]


CONTROL = {"If": if_, "Loop": loop, "Scan": scan}


def axes_of(axes):
    return None if axes is None else tuple(int(a) for a in axes)


def slice_(attributes, x, starts, ends, axes, steps):
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[int(axis)] = slice(int(start), int(end), int(step))
    return x[tuple(index)]


def constant(attributes):
    return numpy_helper.to_array(attributes["value"])


def cast(attributes, x):
    return x.astype(helper.tensor_dtype_to_np_dtype(attributes["to"]))


def top_k(attributes, x, k):
    """The k largest or smallest elements, sorted; of equal elements the earlier one first."""
    keys = -x if attributes.get("largest", 1) else x
    axis = attributes.get("axis", -1)
    at = np.take(np.argsort(keys, axis=axis, kind="stable"), range(int(k[0])), axis=axis)
    return [np.take_along_axis(x, at, axis), at.astype(np.int64)]


def windows(attributes, x, kernel, padding):
    """The windows along the last axis: [..., window, element]."""
    before, after = attributes["pads"]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], constant_values=padding)
    seen = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-1)
    return seen[..., :: attributes["strides"][0], :]


def max_pool(attributes, x):
    return windows(attributes, x, attributes["kernel_shape"][0], -np.inf).max(-1).astype(x.dtype)


def conv(attributes, x, w, bias):
    seen = windows(attributes, x, w.shape[2], 0)
    return np.einsum("ncpk,mck->nmp", seen, w).astype(x.dtype) + bias[:, None]


OPS = {
    "Add": lambda a, x, y: x + y,
    "Sub": lambda a, x, y: x - y,
    "Mul": lambda a, x, y: x * y,
    "Neg": lambda a, x: -x,
    "Abs": lambda a, x: np.abs(x),
    "Max": lambda a, x, y: np.maximum(x, y),
    "Min": lambda a, x, y: np.minimum(x, y),
    "Relu": lambda a, x: np.maximum(x, np.zeros((), x.dtype)),
    "Clip": lambda a, x, low, high: np.clip(x, low, high),
    "Mod": lambda a, x, y: np.mod(x, y),
    "Not": lambda a, x: ~x,
    "And": lambda a, x, y: x & y,
    "Or": lambda a, x, y: x | y,
    "Less": lambda a, x, y: x < y,
    "Equal": lambda a, x, y: x == y,
    "Where": lambda a, c, x, y: np.where(c, x, y),
    "Cast": cast,
    "Identity": lambda a, x: x,
    "Constant": constant,
    "MatMul": lambda a, x, y: x @ y,
    "TopK": top_k,
    "MaxPool": max_pool,
    "Conv": conv,
    "ReduceSum": lambda a, x, axes=None: x.sum(axes_of(axes), dtype=x.dtype, keepdims=bool(a.get("keepdims", 1))),
    "ReduceMax": lambda a, x: x.max(axes_of(a.get("axes")), keepdims=bool(a.get("keepdims", 1))),
    "Transpose": lambda a, x: x.transpose(a.get("perm")),
    "Reshape": lambda a, x, shape: x.reshape([int(e) for e in shape]),
    "Unsqueeze": lambda a, x, axes: np.expand_dims(x, axes_of(axes)),
    "Concat": lambda a, *xs: np.concatenate(xs, a["axis"]),
    "Gather": lambda a, x, k: np.take(x, k, a.get("axis", 0)),
    "Slice": slice_,
    "Shape": lambda a, x: np.array(x.shape, np.int64),
    "Size": lambda a, x: np.array(x.size, np.int64),
}
