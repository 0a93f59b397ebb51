"""Models in which options replace something before the engine reads them: dimensions, initializers, external files.

The ONNX file is read, changed and handed on as bytes. This needs the package onnx.
"""

import copy
import os

from . import arrays
from .errors import CallerError
from .missing_names import warn_once
from .models import require_onnx
from .onnxruntime_errors import InvalidGraph


#: Where SessionOptions keep what changes a model, and the methods that ask for it.
_CHANGES = {
    "_dimensions": "add_free_dimension_override_by_name",
    "_initializers": "add_initializer",
    "_files": "add_external_initializers_from_files_in_memory",
}


def require_unchanged(options, what):
    """Raises CallerError if options (None: the default ones) change a model. what: how the error calls what cannot be changed."""
    for place, method in _CHANGES.items():
        if options is not None and options.__dict__.get(place):
            raise CallerError(f"SessionOptions.{method} changes an ONNX model as it is read; {what} is none; rondel.export writes one")


def without_changes(options):
    """A copy of options (None: none) for a model that has been changed as they ask."""
    made = copy.copy(options)
    if made is not None:
        for place in _CHANGES:
            made.__dict__.pop(place, None)
    return made


def as_options_ask(source, options):
    """(source, options) for the engine: those given, or the changed model as bytes and options to read its external data."""
    asked = {key: options.__dict__.get(key) for key in _CHANGES}
    if not any(asked.values()):
        return source, options
    proto, options = _read(source, options)
    if asked["_dimensions"]:
        _set_dimensions(proto.graph, asked["_dimensions"])
    if asked["_initializers"]:
        _replace_initializers(proto.graph, asked["_initializers"])
    if asked["_files"]:
        _fill_from_files(proto.graph, asked["_files"])
    try:
        return proto.SerializeToString(), options
    except Exception as error:  # protobuf has exceptions of its own
        raise InvalidGraph(f"the model with its initializers cannot be written: {error}; its tensors may have 2 GiB at most") from error


def _read(source, options):
    require_onnx("an option that changes a model")
    import onnx

    proto = onnx.ModelProto()
    data = source
    if isinstance(source, str):
        try:
            with open(source, "rb") as file:
                data = file.read()
        except OSError as error:
            raise CallerError(f"cannot read '{source}': {error.strerror}") from error
        if options.external_data_dir is None:
            options = copy.copy(options)
            options.external_data_dir = os.path.dirname(source) or "."
    try:
        proto.ParseFromString(data)
    except Exception as error:
        raise CallerError(f"options that change a model need an ONNX model; this is none: {error}") from error
    return proto, options


def _set_dimensions(graph, wanted):
    """Gives dimensions extents, wherever the graph's inputs, outputs and values have them: by symbol, or by denotation."""
    values = [*graph.input, *graph.output, *graph.value_info]
    dimensions = [d for v in values for d in _dimensions(v.type)]
    extents = {name: extent for (kind, name), extent in wanted.items() if kind == "name"}
    for d in dimensions:
        extent = wanted.get(("denotation", d.denotation))
        if extent is not None and d.WhichOneof("value") != "dim_value":
            if d.dim_param:
                extents.setdefault(d.dim_param, extent)
            d.dim_value = extent
    used = {d.dim_param for d in dimensions if d.dim_param}
    denotations = {d.denotation for d in dimensions if d.denotation}
    for kind, name in wanted:
        known = used | set(extents) if kind == "name" else denotations
        if name not in (used if kind == "name" else denotations):
            listed = ", ".join(f"'{n}'" for n in sorted(known - {name})) or "none"
            warn_once(f"no dimension of the model has the {kind} '{name}'; there are: {listed}")
    for d in dimensions:
        if d.dim_param in extents:
            d.dim_value = extents[d.dim_param]


def _dimensions(of_type):
    """The dimensions of a type: a tensor's, or those of the items of a sequence or an optional."""
    kind = of_type.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return _dimensions(getattr(of_type, kind).elem_type)
    return of_type.tensor_type.shape.dim if kind == "tensor_type" else []


def _replace_initializers(graph, wanted):
    from onnx import numpy_helper

    tensors = {t.name: t for t in graph.initializer}
    for name, value in wanted.items():
        old = tensors.get(name)
        if old is None:
            raise InvalidGraph(f"the model has no initializer '{name}'; there are: {', '.join(map(repr, tensors)) or 'none'}")
        if list(old.dims) != value.shape() or old.data_type != value.element_type():
            expected = f"tensor({arrays.onnx_name(arrays.dtype_of_number(old.data_type))}){list(old.dims)}"
            raise InvalidGraph(f"the initializer '{name}' is {value.data_type()}{value.shape()}; expected {expected}")
        array = value.numpy()
        if array.dtype.kind in arrays.STRING_KINDS:
            array = array.astype(object)  # the only strings that onnx writes
        old.CopyFrom(numpy_helper.from_array(array, name))


def _fill_from_files(graph, files):
    """Puts the data of tensors that are in these files into the model."""
    used = set()
    for tensor in _tensors(graph):
        place = {entry.key: entry.value for entry in tensor.external_data}
        data = files.get(place.get("location", ""))
        if data is None:
            continue
        used.add(place["location"])
        begin, length = _span(tensor, place, len(data))
        if begin + length > len(data):
            raise InvalidGraph(f"the tensor '{tensor.name}' has {length} bytes from byte {begin} of '{place['location']}', which has only {len(data)}")
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = data[begin : begin + length]
    for name in set(files) - used:
        raise InvalidGraph(f"no tensor of the model is in a file '{name}'")


def _span(tensor, place, size):
    """Where the data of a tensor begin in a file of this size, and how long they are."""
    try:
        begin = int(place.get("offset", 0))
        length = int(place.get("length", size - begin))
        if begin >= 0 and length >= 0:
            return begin, length
    except ValueError:
        pass
    raise InvalidGraph(f"the external data of the tensor '{tensor.name}' are at {place}; expected an offset and a length of 0 or more")


def _tensors(graph):
    """All tensors of a graph: its initializers, and those in attributes and bodies of its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for body in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                yield from _tensors(body)
