"""onnx.backend.base.Backend, so that onnx's own test runner drives Rondel."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from .errors import CallerError, UnsupportedError
from .models import Model
from .session import InferenceSession


class RondelRep(BackendRep):
    """A model ready to run on a list (or dict) of inputs."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        if not isinstance(inputs, dict):
            if not isinstance(inputs, (list, tuple)):
                inputs = [inputs]
            ports = self.session.get_inputs()
            if len(inputs) > len(ports):
                raise CallerError(f"{len(inputs)} inputs are given; the model takes {len(ports)}")
            inputs = {port.name: x for port, x in zip(ports, inputs)}
        return tuple(self.session.run(None, inputs))


class RondelBackend(Backend):
    @classmethod
    def is_compatible(cls, model: Model, device: str = "CPU", **_: Any) -> bool:
        try:
            InferenceSession(model)
        except UnsupportedError:
            return False
        return cls.supports_device(device)

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
        """Runs one node at opset `opset_version`; default: the newest opset of onnx."""
        feeds = {name: np.asarray(x) for name, x in zip([n for n in node.input if n], inputs)}
        graph = helper.make_graph(
            [node],
            "node",
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feeds.items()],
            [onnx.ValueInfoProto(name=n) for n in node.output if n],
        )
        opset = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
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
