"""onnx.backend.base.Backend, so that onnx's own test runner drives Rondel."""

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from .errors import CallerError, UnsupportedError
from .session import InferenceSession


class RondelRep(BackendRep):
    """A model ready to run on a list (or dict) of inputs."""

    def __init__(self, session):
        self.session = session

    def run(self, inputs, **_):
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
    def is_compatible(cls, model, device="CPU", **_):
        try:
            InferenceSession(model)
        except UnsupportedError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        return RondelRep(InferenceSession(model))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **_):
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
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
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


is_compatible = RondelBackend.is_compatible
prepare = RondelBackend.prepare
run = RondelBackend.run_model
run_model = RondelBackend.run_model
run_node = RondelBackend.run_node
supports_device = RondelBackend.supports_device
