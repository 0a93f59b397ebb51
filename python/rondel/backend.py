"""onnx.backend.base.Backend, so that onnx's own test runner drives Rondel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from . import arrays
from .errors import CallerError, UnsupportedError
from .models import Model
from .onnxruntime_errors import InvalidGraph
from .session import InferenceSession


class RondelRep(BackendRep):
    """A model ready to run on a list (or dict) of inputs."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        return tuple(self.session.run(None, _by_name(inputs, [port.name for port in self.session.get_inputs()], "model")))


def _by_name(inputs, names, whose):
    """{name: value} of a value, a list of values in the order of the names, or a dict. whose: what takes them, as errors name it."""
    if isinstance(inputs, Mapping):
        return inputs
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if len(inputs) > len(names):
        raise CallerError(f"{len(inputs)} inputs are given; the {whose} takes {len(names)}")
    return dict(zip(names, inputs))


def _is_sequence(x):
    return isinstance(x, arrays.EmptySequence) or (isinstance(x, (list, tuple)) and bool(x) and all(isinstance(item, np.ndarray) for item in x))


def _array(x, what):
    if x is None:
        raise CallerError(f"{what} is None; expected an array: an input that the node goes without has the name ''")
    return arrays.as_array(x, what, "")


def _type_of(x, what):
    """The type of an input, a TypeProto."""
    if isinstance(x, np.ndarray):
        return helper.make_tensor_type_proto(_element_type(x, what), x.shape)
    if isinstance(x, Mapping):
        keys, values = (_element_type(np.asarray(list(part)), what) for part in (x.keys(), x.values()))
        return helper.make_map_type_proto(keys, helper.make_tensor_type_proto(values, ()))
    element = arrays.onnx_number(x.element) if isinstance(x, arrays.EmptySequence) else _element_type(x[0], f"item 0 of {what}")
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(element, None))


def _element_type(array, what):
    try:
        return arrays.onnx_number(arrays.dtype_name(array.dtype))
    except CallerError as error:
        raise CallerError(f"{what} has {error}") from None


def _newest_version(domain):
    """The newest version of a domain that onnx defines; 1 of a domain that it does not have."""
    name = "" if domain == "ai.onnx" else domain
    return max((schema.since_version for schema in onnx.defs.get_all_schemas() if schema.domain == name), default=1)


class RondelBackend(Backend):
    @classmethod
    def is_compatible(cls, model: Model, device: str | None = "CPU", **_: Any) -> bool:
        """Whether the model runs here. Raises CallerError for what is no model at all: a file that is missing, another object."""
        try:
            InferenceSession(model)
        except (UnsupportedError, InvalidGraph):
            return False
        return device is None or cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Model, device: str | None = "CPU", **_: Any) -> RondelRep:
        """The model, ready to run. Raises UnsupportedError for a device other than the CPU; None: the CPU."""
        if device is not None and not cls.supports_device(device):
            raise UnsupportedError(f"Incompatible device expected '{device}', got 'CPU'; there is only the CPU")
        return RondelRep(InferenceSession(model))

    @classmethod
    def run_model(cls, model: Model, inputs: Any, device: str = "CPU", **_: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Runs one node.

        inputs: a value for each of the node's inputs (None for one without a name), or for each name among them, as a list or a dict. A list
        of arrays is a sequence, a dict in a list a map.
        opset_version: the version of the node's domain; default: the newest one of onnx.
        """
        names = list(dict.fromkeys(name for name in node.input if name))
        if isinstance(inputs, (list, tuple)) and len(inputs) == len(node.input):
            inputs = {name: x for name, x in zip(node.input, inputs) if name}
        feeds = _by_name(inputs, names, "node")
        if feeds.keys() != set(names):
            raise CallerError(f"run_node: the inputs given are {', '.join(feeds) or 'none'}; the node takes {', '.join(names) or 'none'}")
        feeds = {name: x if isinstance(x, Mapping) or _is_sequence(x) else _array(x, f"input '{name}'") for name, x in feeds.items()}
        graph = helper.make_graph(
            [node],
            "node",
            [helper.make_value_info(name, _type_of(x, f"input '{name}'")) for name, x in feeds.items()],
            [onnx.ValueInfoProto(name=n) for n in node.output if n],
        )
        opset = kwargs.get("opset_version", _newest_version(node.domain))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.prepare(model, device).run(feeds)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"


is_compatible = RondelBackend.is_compatible
prepare = RondelBackend.prepare
run = RondelBackend.run_model
run_model = RondelBackend.run_model
run_node = RondelBackend.run_node
supports_device = RondelBackend.supports_device
