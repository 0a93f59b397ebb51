"""Edits that make a model smaller. An edit is tried on a copy, and kept if the fault is still there; it need not keep the meaning.

`edits(model, feeds, seen)` yields functions that change a copy of the model and its feeds in place. They find their place by number,
since copies have the same order. `seen` has a value of each name, from the oracle's run.
"""

from __future__ import annotations

import itertools
import numpy as np
import onnx
from onnx import helper, numpy_helper

LOOPS = {"Loop": 2, "Scan": 0}  # inputs of the body before the states


def graphs(model):
    """All graphs of a model, outer ones first."""
    found = [model.graph]
    for graph in found:
        for node in graph.node:
            found += [a.g for a in node.attribute if a.HasField("g")]
    return found


def bodies(node):
    return [a.g for a in node.attribute if a.HasField("g")]


def attribute(node, name, default):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def edits(model, feeds, seen):
    """All edits, those that may remove most first."""
    yield from _whole(model, feeds)
    yield from _other_outputs(model, seen)
    places = [(g, n) for g, graph in enumerate(graphs(model)) for n in range(len(graph.node))]
    for g, n in reversed(places):
        node = graphs(model)[g].node[n]
        if node.op_type == "Constant":
            yield from _constant_edits(g, n, numpy_helper.to_array(node.attribute[0].t))
            continue
        for k, name in enumerate(node.output):
            if name and isinstance(seen.get(name), np.ndarray):
                yield _to_constant(g, n, k, seen[name])
        for name in node.input:
            if name and len([o for o in node.output if o]) == 1:
                yield _to_input(g, n, name)
        if node.op_type == "If":
            yield _inlined_branch(g, n, "then_branch")
            yield _inlined_branch(g, n, "else_branch")
        if node.op_type in LOOPS:
            yield from _loop_edits(g, n, node, seen)
        yield from (_without_attribute(g, n, a.name) for a in node.attribute if not a.HasField("g"))
    yield from _declarations(model)
    yield from _feed_edits(model, feeds)
    for g, graph in enumerate(graphs(model)):
        for k, t in enumerate(graph.initializer):
            yield from _initializer_edits(g, k, numpy_helper.to_array(t))


def removals(model):
    """One edit for each node: it goes, which makes sense if nothing reads it."""
    for g, graph in enumerate(graphs(model)):
        for n in range(len(graph.node)):
            yield lambda copy, given, g=g, n=n: graphs(copy)[g].node.pop(n)


def cost(model, feeds):
    """What is made smaller, the most important first: nodes, bytes, elements of the feeds."""
    nodes = [n for graph in graphs(model) for n in graph.node]
    values = [x for given in feeds for v in given.values() for x in (v if isinstance(v, list) else [v]) if x is not None]
    return sum(n.op_type != "Constant" for n in nodes), model.ByteSize(), sum(x.size for x in values)


# ---- the whole model ----------------------------------------------------------------------------------------


def _whole(model, feeds):
    if model.functions:
        yield _inlined_functions
    for k in range(len(feeds)):
        if len(feeds) > 1:
            yield lambda m, f, k=k: f.__delitem__(slice(k, k + 1))
    for k in range(len(model.graph.output)):
        if len(model.graph.output) > 1:
            yield lambda m, f, k=k: (_keep_output(m, k))
            yield lambda m, f, k=k: m.graph.output.__delitem__(slice(k, k + 1))
    if model.opset_import[0].version != 21:
        yield _opset


def _other_outputs(model, seen):
    """Another value as the only output, the earlier ones first."""
    given = {o.name for o in model.graph.output}
    for name in [o for node in model.graph.node if node.op_type != "Constant" for o in node.output if o]:
        value = seen.get(name)
        if isinstance(value, np.ndarray) and len(given | {name}) > 1:
            kind = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim)

            def edit(model, feeds, kind=kind):
                del model.graph.output[:]
                model.graph.output.append(kind)

            yield edit


def _inlined_functions(model, feeds):
    made = onnx.inliner.inline_local_functions(model)
    model.CopyFrom(made)


def _keep_output(model, k):
    kept = onnx.ValueInfoProto()
    kept.CopyFrom(model.graph.output[k])
    del model.graph.output[:]
    model.graph.output.append(kept)


def _opset(model, feeds):
    model.opset_import[0].version = 21
    model.ir_version = 10


# ---- nodes --------------------------------------------------------------------------------------------------


def _fresh(graph):
    """A name for another output of a body."""
    taken = {name for node in graph.node for name in node.output}
    return next(name for k in itertools.count() if (name := f"{graph.name}_{k}") not in taken)


def rename(graph, old, new):
    """Replaces reads of a name in a graph and in the bodies within."""
    for node in graph.node:
        for k, name in enumerate(node.input):
            if name == old:
                node.input[k] = new
        for body in bodies(node):
            rename(body, old, new)
    for output in graph.output:
        if output.name == old:  # a body gives what it captured: through an Identity
            made = _fresh(graph)
            graph.node.append(helper.make_node("Identity", [new], [made]))
            output.name = made


def _everywhere(model, old, new):
    """Replaces a name in all graphs below the one that defines it; the names of outputs of the model stay."""
    for output in model.graph.output:
        if output.name == old:
            model.graph.node.append(helper.make_node("Identity", [new], [old]))
    for graph in graphs(model):
        if graph is model.graph:
            for node in graph.node:
                for k, name in enumerate(node.input):
                    if name == old and not (node.op_type == "Identity" and list(node.output) == [old]):
                        node.input[k] = new
        else:
            for node in graph.node:
                for k, name in enumerate(node.input):
                    if name == old:
                        node.input[k] = new
            for output in graph.output:
                if output.name == old:
                    made = _fresh(graph)
                    graph.node.append(helper.make_node("Identity", [new], [made]))
                    output.name = made


def _to_constant(g, n, k, value):
    def edit(model, feeds):
        graph = graphs(model)[g]
        node, name = graph.node[n], graph.node[n].output[k]
        made = helper.make_node("Constant", [], [name])
        made.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.ascontiguousarray(value) if value.ndim else value)))
        if len([o for o in node.output if o]) == 1:
            node.CopyFrom(made)
        else:
            node.output[k] = ""
            graph.node.insert(n, made)

    return edit


def _to_input(g, n, name):
    def edit(model, feeds):
        node = graphs(model)[g].node[n]
        output = next(o for o in node.output if o)
        del graphs(model)[g].node[n]
        _everywhere(model, output, name)

    return edit


def _without_attribute(g, n, name):
    def edit(model, feeds):
        node = graphs(model)[g].node[n]
        k = next(k for k, a in enumerate(node.attribute) if a.name == name)
        del node.attribute[k]

    return edit


def _constant_edits(g, n, value):
    for smaller in simpler(value):

        def edit(model, feeds, smaller=smaller):
            graphs(model)[g].node[n].attribute[0].t.CopyFrom(numpy_helper.from_array(smaller))

        yield edit


def _initializer_edits(g, k, value):
    for smaller in simpler(value):

        def edit(model, feeds, smaller=smaller):
            t = graphs(model)[g].initializer[k]
            t.CopyFrom(numpy_helper.from_array(smaller, t.name))

        yield edit


def simpler(value):
    """Values that are simpler than this one."""
    if value.dtype == object or not value.size:
        return
    for number in (0, 1, 2, 3):
        other = np.full(value.shape, number).astype(value.dtype)
        if value.tobytes() == other.tobytes():
            return
        if number < 2 or value.ndim == 0:
            yield other


def _inlined_branch(g, n, name):
    def edit(model, feeds):
        graph = graphs(model)[g]
        node = graph.node[n]
        branch = next(a.g for a in node.attribute if a.name == name)
        made = [*branch.node, *(helper.make_node("Identity", [o.name], [to]) for o, to in zip(branch.output, node.output, strict=False) if to)]
        _replace(graph, n, made, branch.initializer)

    return edit


def _replace(graph, n, made, initializers=()):
    nodes = [*graph.node[:n], *made, *graph.node[n + 1 :]]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    tensors = [onnx.TensorProto.FromString(t.SerializeToString()) for t in initializers]
    del graph.node[:]
    graph.node.extend(copies)
    graph.initializer.extend(tensors)


# ---- loops --------------------------------------------------------------------------------------------------


def _loop_edits(g, n, node, seen):
    (body,) = bodies(node)
    scans = attribute(node, "num_scan_inputs", 0)
    before = LOOPS[node.op_type]
    states = len(body.input) - before - scans
    items = len(body.output) - states - (before > 0)
    yield _inlined_trip(g, n)
    for k in range(states):
        yield _without_state(g, n, k, states)
    for k in range(items):
        if states + items > 1:
            yield _without_item(g, n, k, states)
    if node.op_type == "Loop":
        for k in range(min(2, len(node.input))):
            if node.input[k]:
                yield _without_input(g, n, k)
    for k in range(scans):
        if scans > 1:
            yield _without_scan(g, n, k, states, seen)


def _inlined_trip(g, n):
    """The body of the first trip in place of a Loop or Scan; stacks have that one item."""

    def edit(model, feeds):
        graph = graphs(model)[g]
        node = graph.node[n]
        (body,) = bodies(node)
        made, inner = [], list(body.node)
        count = LOOPS[node.op_type]
        scans = attribute(node, "num_scan_inputs", 0)
        axes = attribute(node, "scan_input_axes", [0] * scans)
        zero = _constant(f"zero_{g}_{n}", np.array(0, np.int64))
        axis = _constant(f"axis_{g}_{n}", np.array([0], np.int64))
        made += [zero, axis, _constant(f"yes_{g}_{n}", np.array(True))]
        sources = [zero.output[0], f"yes_{g}_{n}"] if count else []
        sources += node.input[count:]
        states = len(body.input) - count - scans
        for k, given in enumerate(body.input):
            if k >= count + states:
                made.append(helper.make_node("Gather", [sources[k], zero.output[0]], [given.name], axis=axes[k - count - states]))
            else:
                made.append(helper.make_node("Identity", [sources[k]], [given.name]))
        after = []
        results = list(body.output)[1 if count else 0 :]
        for k, (result, to) in enumerate(zip(results, node.output, strict=False)):
            if to:
                after.append(helper.make_node(*(("Identity", [result.name], [to]) if k < states else ("Unsqueeze", [result.name, axis.output[0]], [to]))))
        _replace(graph, n, [*made, *inner, *after], body.initializer)

    return edit


def _constant(name, value):
    node = helper.make_node("Constant", [], [name])
    node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(value)))
    return node


def _without_state(g, n, k, states):
    """The state is its initial value in every trip, and after."""

    def edit(model, feeds):
        graph = graphs(model)[g]
        node = graph.node[n]
        (body,) = bodies(node)
        count = LOOPS[node.op_type]
        initial, inside = node.input[count + k], body.input[count + k].name
        after = node.output[k] if k < len(node.output) else ""
        del node.input[count + k], body.input[count + k], body.output[k + (count > 0)]
        if k < len(node.output):
            del node.output[k]
        rename(body, inside, initial)
        if after:
            _everywhere(model, after, initial)

    return edit


def _without_item(g, n, k, states):
    def edit(model, feeds):
        node = graphs(model)[g].node[n]
        (body,) = bodies(node)
        place = states + k
        del body.output[place + (LOOPS[node.op_type] > 0)]
        if place < len(node.output):
            del node.output[place]
        for a in node.attribute:
            if a.name.startswith("scan_output_"):
                del a.ints[k]

    return edit


def _without_input(g, n, k):
    def edit(model, feeds):
        graphs(model)[g].node[n].input[k] = ""

    return edit


def _without_scan(g, n, k, states, seen):
    def edit(model, feeds):
        node = graphs(model)[g].node[n]
        (body,) = bodies(node)
        inside = body.input[states + k].name
        del node.input[states + k], body.input[states + k]
        for a in node.attribute:
            if a.name.startswith("scan_input_"):
                del a.ints[k]
            elif a.name == "num_scan_inputs":
                a.i -= 1
        body.node.insert(0, _constant(inside, seen[inside]))

    return edit


# ---- declarations and feeds ---------------------------------------------------------------------------------


def _ports(model):
    """All declared inputs and outputs."""
    return [v for graph in graphs(model) for v in (*graph.input, *graph.output)]


def _declarations(model):
    for k, port in enumerate(_ports(model)):
        if not port.type.HasField("tensor_type") or not port.type.tensor_type.HasField("shape"):
            continue
        main = k < len(model.graph.input) + len(model.graph.output)

        def edit(model, feeds, k=k, main=main):
            shape = _ports(model)[k].type.tensor_type.shape
            if main:
                for dim in shape.dim:
                    dim.Clear()
            else:
                _ports(model)[k].type.tensor_type.ClearField("shape")

        if not main or any(d.HasField("dim_param") or d.HasField("dim_value") for d in port.type.tensor_type.shape.dim):
            yield edit


def _feed_edits(model, feeds):
    for k, given in enumerate(feeds):
        for name, value in given.items():
            if isinstance(value, list):
                continue
            for smaller in simpler(value):
                yield lambda m, f, k=k, name=name, smaller=smaller: f[k].__setitem__(name, smaller)
            for axis, extent in enumerate(value.shape):
                for fewer in {0, 1, 2, extent - 1}:
                    if 0 <= fewer < extent:
                        yield _cut(k, name, axis, fewer, extent, alone=True)
                        yield _cut(k, name, axis, fewer, extent, alone=False)


def _cut(k, name, axis, fewer, extent, alone):
    """One axis made shorter, or all axes of all feeds that have this extent."""

    def edit(model, feeds):
        for other, value in list(feeds[k].items()):
            if isinstance(value, list):
                continue
            cut = tuple(
                slice(fewer) if e == extent and (not alone or (other == name and j == axis)) else slice(None) for j, e in enumerate(value.shape)
            )
            feeds[k][other] = np.ascontiguousarray(value[cut]).reshape(value[cut].shape)
        for port in model.graph.input:
            if port.name in feeds[k] and not isinstance(feeds[k][port.name], list):
                for dim, e in zip(port.type.tensor_type.shape.dim, feeds[k][port.name].shape, strict=False):
                    if dim.HasField("dim_value"):
                        dim.dim_value = e

    return edit
