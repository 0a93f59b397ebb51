"""A model as the body of a Scan over the points of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from ..arrays import element_name, numpy_dtype
from ..errors import CallerError
from ..models import Model, model_source, require_onnx
from ..naming import Names, closest, listed
from ..session import InferenceSession


_SCAN_SINCE = 9  #: Scan 8 has a batch axis


def scanned(model: Model, swept: Sequence[str], given: Sequence[str], outputs: Sequence[str]) -> tuple[str, bytes, list[str]]:
    """(the graph's name, a model's bytes, the names of its outputs) of a model that runs `model` for each point.

    The inputs and initializers `swept` become scanned inputs "each NAME", and the outputs become "all NAME", both with one more axis in
    front. Those of `given` are inputs as they are. outputs: those that are kept; []: all.

    Raises CallerError for names that the model does not have, inputs without a value, outputs that are no tensors of numbers or are named
    twice, a model that has such names itself, and one of an opset below 9.
    """
    proto, types = _loaded(model)
    _require_scan(proto)
    graph = proto.graph
    inputs = {i.name: i for i in graph.input}
    initializers = {t.name: t for t in graph.initializer}
    for name in [*swept, *given]:
        if name not in inputs and name not in initializers:
            known = [*inputs, *(n for n in initializers if n not in inputs)]
            raise CallerError(f"sweep: there is no input or initializer {name!r}{closest(name, known)}; there are {listed(known)}")
    missing = [name for name in inputs if name not in initializers and name not in {*swept, *given}]
    if missing:
        raise CallerError(f"sweep: the input {missing[0]!r} has no value; give it one, or sweep it")
    outputs = list(outputs) or list(types)
    for k, name in enumerate(outputs):
        if name not in types:
            raise CallerError(f"sweep: there is no output {name!r}{closest(name, types)}; there are {listed(types)}")
        if name in outputs[:k]:
            raise CallerError(f"sweep: outputs names {name!r} twice; expected each output once")
        if not _is_of_numbers(types[name]):
            raise CallerError(f"sweep: output {name!r} is no tensor of numbers but {types[name]}; name the outputs for the table in outputs=")
    _scan(proto, swept, given, outputs)
    return graph.name, proto.SerializeToString(), outputs


def _loaded(model):
    """(the model, the types of its outputs by name)."""
    require_onnx("a sweep of an ONNX model")
    import onnx

    source = model_source(model)
    session = InferenceSession(source)  # its errors are the ones that users know
    proto = onnx.load_model_from_string(source) if isinstance(source, bytes) else onnx.load(source, format="protobuf")
    return proto, {port.name: port.type for port in session.get_outputs()}


def _is_of_numbers(onnx_type):
    return onnx_type.startswith("tensor(") and numpy_dtype(element_name(onnx_type)).kind in "biuf"


def _require_scan(proto):
    version = next((i.version for i in proto.opset_import if i.domain in ("", "ai.onnx")), 1)
    if version < _SCAN_SINCE:
        raise CallerError(
            f"sweep: the model has opset {version}; expected {_SCAN_SINCE} or newer, whose Scan a sweep needs; rondel.export(model) writes a newer one"
        )


def _scan(proto, swept, given, outputs):
    """Moves the nodes of a model into the body of one Scan. What is not swept stays outside, where the body sees it by name."""
    from onnx import helper

    graph = proto.graph
    names = Names(graph)
    body_inputs = [_value_info(helper, graph, name) for name in swept]
    body_outputs = [o for name in outputs for o in graph.output if o.name == name]
    outer_inputs = [_value_info(helper, graph, name) for name in given]
    outer_inputs += [_stacked(helper, i, "each") for i in body_inputs]
    outer_outputs = [_stacked(helper, o, "all") for o in body_outputs]
    for made in (*outer_inputs[len(given) :], *outer_outputs):
        if made.name in names:
            raise CallerError(f"sweep: the model has a value {made.name!r}, a name that a sweep needs; rename it")
    body = helper.make_graph(list(graph.node), "point", body_inputs, body_outputs)
    fed = {*swept, *given}
    kept = [t for t in graph.initializer if t.name not in fed]
    scan = helper.make_node("Scan", [f"each {n}" for n in swept], [f"all {n}" for n in outputs], body=body, num_scan_inputs=len(swept))
    made = helper.make_graph([scan], graph.name, outer_inputs, outer_outputs, kept)
    made.sparse_initializer.extend(graph.sparse_initializer)
    proto.graph.CopyFrom(made)


def _value_info(helper, graph, name):
    for i in graph.input:
        if i.name == name:
            return i
    tensor = next(t for t in graph.initializer if t.name == name)
    return helper.make_tensor_value_info(name, tensor.data_type, tensor.dims)


def _stacked(helper, value, which):
    """The name and type of all points of a value."""
    tensor = value.type.tensor_type
    dims = None
    if tensor.HasField("shape"):
        dims = [None, *(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim)]
    return helper.make_tensor_value_info(f"{which} {value.name}", tensor.elem_type, dims)
