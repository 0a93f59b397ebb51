"""onnx.backend.base.Backend, so that onnx's own test runner drives Rondel."""

from onnx.backend.base import Backend, BackendRep

from .errors import UnsupportedError
from .session import InferenceSession


class RondelRep(BackendRep):
    """A model ready to run on a list (or dict) of inputs."""

    def __init__(self, session):
        self.session = session

    def run(self, inputs, **_):
        if not isinstance(inputs, dict):
            if not isinstance(inputs, (list, tuple)):
                inputs = [inputs]
            inputs = {port.name: x for port, x in zip(self.session.get_inputs(), inputs)}
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
        raise UnsupportedError("run_node is not offered: a node alone has no opset; make a model of it")

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


is_compatible = RondelBackend.is_compatible
prepare = RondelBackend.prepare
run = RondelBackend.run_model
run_model = RondelBackend.run_model
supports_device = RondelBackend.supports_device
