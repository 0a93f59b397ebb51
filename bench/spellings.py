"""Other ways to write a model of a loop: each function takes a ModelProto and returns a new one that computes the same.

A workload is written once, as a person writes ONNX by hand. Exporters and other tools write the same loop in other words, and a
loop must not run slower for its words. `spell` gives all spellings of a workload.
"""

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import onnx
from as_network import CannotSay, as_network
from onnx import AttributeProto, TensorProto, helper, numpy_helper

INT64, BOOL, FLOAT, DOUBLE = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.DOUBLE


def spell(workload):
    """{name: the Workload in that spelling} of all spellings that differ from the model as it is written."""
    model = onnx.load_from_string(workload.model)
    spelled = {name: replace(workload, model=other) for name, other in workload.spelled().items()}
    for name, rewrite in REWRITES.items():
        other = rewrite(model).SerializeToString()
        if name not in workload.unspelled and other != model.SerializeToString():
            spelled[name] = replace(workload, model=other)
    if "double" in spelled:
        spelled["double"] = replace(spelled["double"], feeds=_in_double(workload.feeds), first=_in_double(workload.first or {}))
    if "network" not in workload.unspelled:
        with contextlib.suppress(CannotSay):
            spelled["network"] = replace(workload, model=as_network(model))
    return spelled


def with_own_counter(model):
    """Loops count their trips in a state of their own, and end when it reaches their number: `while i < n: ...; i += 1`.

    A Scan becomes such a Loop, which reads x[i].
    """
    model = _copy(model)
    names = (f"own{k}" for k in itertools.count())
    true = set()
    for graph in _graphs(model.graph):
        true |= {i.name for i in graph.initializer if i.data_type == BOOL and numpy_helper.to_array(i).all()}
        nodes = []
        for node in graph.node:
            if node.op_type == "Scan" and not _attributes(node).keys() - {"body", "num_scan_inputs"}:
                nodes += _loop_of_scan(node, next(names))
            else:
                nodes.append(node)
            if nodes[-1].op_type == "Loop" and nodes[-1].input[0]:
                nodes += _counted(nodes.pop(), next(names), true)
        _replace(graph.node, nodes)
    return model


def as_exporters_write(model):
    """`with_own_counter`, with an Identity after each node of a body, and casts of conditions and integers to the type that they have."""
    model = with_own_counter(model)
    for graph in _graphs(model.graph):
        for node in graph.node:
            for body in _bodies(node):
                _pad(body, body.output[0].name if node.op_type == "Loop" else None)
    return model


def with_dynamic_extents(model):
    """No extent above 1 of an input, an output or a state is declared; equal ones have one name. Weights keep theirs."""
    model = _copy(model)
    for graph in _graphs(model.graph):
        del graph.value_info[:]
        for value in itertools.chain(graph.input, graph.output):
            for extent in value.type.tensor_type.shape.dim:
                if extent.dim_value > 1:
                    extent.dim_param = f"extent{extent.dim_value}"
    return model


def in_double(model):
    """Each f32 is an f64."""
    model = _copy(model)
    for graph in _graphs(model.graph):
        for value in itertools.chain(graph.input, graph.output, graph.value_info):
            if value.type.tensor_type.elem_type == FLOAT:
                value.type.tensor_type.elem_type = DOUBLE
        for tensor in graph.initializer:
            _double_tensor(tensor)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    _double_tensor(attribute.t)
                if node.op_type == "Cast" and attribute.name == "to" and attribute.i == FLOAT:
                    attribute.i = DOUBLE
    return model


REWRITES = {"counter": with_own_counter, "exporter": as_exporters_write, "dynamic": with_dynamic_extents, "double": in_double}

# ---- parts --------------------------------------------------------------------------------------------------


def _in_double(feeds):
    return {name: a.astype(np.float64) if a.dtype == np.float32 else a for name, a in feeds.items()}


def _copy(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _graphs(graph):
    """The graph, then all graphs in its nodes, which may be replaced as soon as the graph has been given."""
    yield graph
    for node in graph.node:
        for body in _bodies(node):
            yield from _graphs(body)


def _bodies(node):
    return [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]


def _attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _replace(repeated, items):
    items = [type(item).FromString(item.SerializeToString()) for item in items]  # they may be parts of what is cleared
    del repeated[:]
    repeated.extend(items)


def _double_tensor(tensor):
    if tensor.data_type == FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def _scalar(name, kind):
    return helper.make_tensor_value_info(name, kind, [])


def _integer(name, value):
    return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, INT64, [], [value]))


def _loop_of_scan(node, name):
    """The nodes of a Loop over the first axis of what the Scan reads."""
    attributes = _attributes(node)
    body, scanned = attributes["body"], attributes["num_scan_inputs"]
    i, go, on, size, first, trips = (f"{name}_{part}" for part in ("i", "go", "on", "size", "first", "trips"))
    sources, states = node.input[-scanned:], node.input[:-scanned]
    slices = [v.name for v in body.input[-scanned:]]
    reads = [helper.make_node("Gather", [source, i], [x], axis=0) for source, x in zip(sources, slices, strict=True)]
    inner = helper.make_graph(
        [*reads, helper.make_node("Identity", [go], [on]), *body.node],
        body.name,
        [_scalar(i, INT64), _scalar(go, BOOL), *body.input[:-scanned]],
        [_scalar(on, BOOL), *body.output],
        body.initializer,
    )
    return [
        helper.make_node("Shape", [sources[0]], [size]),
        _integer(first, 0),
        helper.make_node("Gather", [size, first], [trips]),
        helper.make_node("Loop", [trips, "", *states], node.output, name=node.name, body=inner),
    ]


def _counted(node, name, true):
    """The nodes of a Loop without a trip count. true: the names of conditions that hold always.

    The body's condition counts only where the Loop has a first one (the ONNX text says so); one that is handed on from trip to trip ends nothing.
    """
    body = _attributes(node)["body"]
    trips, given, states = node.input[0], node.input[1], node.input[2:]
    zero, one, more, start, i_next, last = (f"{name}_{part}" for part in ("zero", "one", "more", "start", "next", "last"))
    index, on = body.input[0].name, body.output[0].name
    ends_itself = given and not any(n.op_type == "Identity" and n.output[0] == on and n.input[0] == body.input[1].name for n in body.node)
    goes_on = f"{name}_on" if ends_itself else more
    inner = helper.make_graph(
        [
            *body.node,
            _integer(one, 1),
            helper.make_node("Add", [index, one], [i_next]),
            helper.make_node("Less", [i_next, trips], [more]),
            *([helper.make_node("And", [on, more], [goes_on])] if ends_itself else []),
        ],
        body.name,
        [_scalar(f"{name}_trip", INT64), body.input[1], _scalar(index, INT64), *body.input[2:]],
        [_scalar(goes_on, BOOL), _scalar(i_next, INT64), *body.output[1:]],
        body.initializer,
    )
    begins_itself = given and given not in true
    return [
        _integer(zero, 0),
        helper.make_node("Less", [zero, trips], [start]),
        *([helper.make_node("And", [given, start], [f"{name}_begin"])] if begins_itself else []),
        helper.make_node("Loop", ["", f"{name}_begin" if begins_itself else start, zero, *states], [last, *node.output], name=node.name, body=inner),
    ]


def _pad(body, condition):
    """Puts in what `as_exporters_write` says. condition: the name of the output that decides about the next trip."""
    nodes = []
    for value in body.input:
        kind = value.type.tensor_type.elem_type
        if kind in (INT64, BOOL):
            nodes.append(helper.make_node("Cast", [value.name + "_given"], [value.name], to=kind))
            value.name += "_given"
    for node in body.node:
        nodes.append(node)
        for k, name in enumerate(node.output):
            if name:
                node.output[k] = name + "_made"
                op, attributes = ("Cast", {"to": BOOL}) if name == condition else ("Identity", {})
                nodes.append(helper.make_node(op, [node.output[k]], [name], **attributes))
    _replace(body.node, nodes)
