"""The shapes of a model's values, from its declared inputs and its weights alone: what else a file says of shapes, nobody checks.

onnx infers them, but for the states of loops, which may change their extents from trip to trip. A state is first taken to have the shape
of its initial value; each extent that a trip then does not keep is given up, until the trips keep all that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx
import onnx.shape_inference

from .row_facts import Mixed

_ROUNDS = 20

Shape = tuple[int, list[int | None] | None]  # the element type and the extents; None: not known
Path = tuple[int | str, ...]  # of a loop: the numbers of nodes and the names of attributes that lead to it
States = dict[Path, list[Shape | None]]  # the shape of each state; None: its initial value is not known


def with_shapes(model: Any) -> onnx.ModelProto:
    """The model with the types of all values that can be found. Changes `model`."""
    states: States = {}
    for _ in range(_ROUNDS):
        _forget(model.graph)
        for path, graph, loop in _loops(model.graph):
            _say(graph, loop, states.get(path, []))
        found = onnx.shape_inference.infer_shapes(model, data_prop=True)
        after = _seen(found, states)
        if after == states:
            return found
        states = after
    raise Mixed("the shapes of its loops' states change with each trip")


def _bodies(graph: Any) -> Iterator[tuple[Path, Any, Any]]:
    """(where, node, body) of all graphs in the nodes of a graph."""
    for k, node in enumerate(graph.node):
        for a in node.attribute:
            if a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
                for j, body in enumerate([a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs):
                    yield (k, a.name, j), node, body


def _loops(graph: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """(where, graph, node) of all loops, the inner ones too."""
    for step, node, body in _bodies(graph):
        if node.op_type == "Loop":
            yield (*path, *step), graph, node
        yield from _loops(body, (*path, *step))


def _body(loop: Any) -> Any:
    return next(a.g for a in loop.attribute if a.name == "body")


def _forget(graph: Any) -> None:
    """Removes the shapes of inner values, of outputs, and of the inputs and outputs of bodies."""
    del graph.value_info[:]
    for value in graph.output:
        _forget_type(value.type)
    for _, _, body in _bodies(graph):
        for value in body.input:
            _forget_type(value.type)
        _forget(body)


def _forget_type(kind: Any) -> None:
    which = kind.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        getattr(kind, which).ClearField("shape")
    elif which in ("sequence_type", "optional_type"):
        _forget_type(getattr(kind, which).elem_type)
    elif which == "map_type":
        _forget_type(kind.map_type.value_type)


def _say(graph: Any, loop: Any, shapes: list[Shape | None]) -> None:
    """Writes the shapes of its states into a loop's body and where the loop is."""
    outputs = {o.name: o for o in graph.output}
    for k, shape in enumerate(shapes):
        if shape is None:
            continue
        kind = onnx.helper.make_tensor_type_proto(*shape)
        _body(loop).input[k + 2].type.CopyFrom(kind)
        name = loop.output[k]
        if name in outputs:
            outputs[name].type.CopyFrom(kind)
        elif name:
            graph.value_info.add(name=name).type.CopyFrom(kind)


def _seen(model: Any, before: States) -> States:
    """The shapes that the states have where `before` has been believed. First, initial values that were not known; then, what trips keep."""
    initial: States = {}
    results: States = {}
    _look(model.graph, {}, (), initial, results)
    begun = {path: [s or i for s, i in zip(before.get(path, [None] * len(shapes)), shapes)] for path, shapes in initial.items()}
    if begun != before:
        return begun
    return {
        path: [s and _joined(_joined(s, i), r) for s, i, r in zip(shapes, initial[path], results[path])] for path, shapes in before.items()
    }


def _look(graph: Any, outer: Mapping[str, Any], path: Path, initial: States, results: States) -> None:
    """Collects the shapes of all loops' initial values and of what their bodies make of them."""
    types = {**outer, **{v.name: v.type for v in [*graph.input, *graph.value_info, *graph.output]}}
    types.update((i.name, onnx.helper.make_tensor_type_proto(i.data_type, i.dims)) for i in graph.initializer)
    for step, node, body in _bodies(graph):
        here = (*path, *step)
        if node.op_type == "Loop":
            count = len(node.input) - 2
            initial[here] = [_shape(types.get(name)) for name in node.input[2:]]
            results[here] = [_shape(o.type) for o in body.output[1 : 1 + count]]
        elif node.op_type == "Scan":
            _check_scan(node, body)
        _look(body, types, here, initial, results)


def _check_scan(node: Any, body: Any) -> None:
    """A Scan's states keep their shapes, says ONNX: its inference believes it, and so must the body."""
    count = len(node.input) - next(a.i for a in node.attribute if a.name == "num_scan_inputs")
    for k in range(count):
        before, after = _shape(body.input[k].type), _shape(body.output[k].type)
        if before is not None and (after is None or _joined(before, after) != before):
            raise Mixed(f"Scan '{node.name or next(iter(node.output), '')}': its state {k} may change its shape")


def _shape(kind: Any) -> Shape | None:
    if kind is None or kind.WhichOneof("value") != "tensor_type" or not kind.tensor_type.HasField("shape"):
        return None
    return kind.tensor_type.elem_type, [d.dim_value if d.HasField("dim_value") else None for d in kind.tensor_type.shape.dim]


def _joined(a: Shape, b: Shape | None) -> Shape:
    """What two shapes have in common."""
    if a[1] is None or b is None or b[1] is None or len(a[1]) != len(b[1]):
        return a[0], None
    return a[0], [x if x == y else None for x, y in zip(a[1], b[1])]
