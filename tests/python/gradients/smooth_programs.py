"""Random programs to differentiate: programs of programs.py in float64, with smooth ops in place of some, and real numbers."""

import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from programs import F, Writer, random_program


class SmoothWriter(Writer):
    def bounded(self, g, v):
        if v.dtype != F:
            return super().bounded(g, v)
        return g.emit(self.random.choice(["Sin", "Tanh", "Atan", "Softsign"]), [v], F, v.shape)

    def unary(self, g):
        a = g.pick(lambda v: v.dtype == F)
        if not a:
            return super().unary(g)
        op = self.random.choice(["Neg", "Abs", "Relu", "Sin", "Cos", "Sigmoid", "Softplus", "Mul"])
        return g.emit(op, [a, a] if op == "Mul" else [a], F, a.shape)


def smooth_program(seed):
    """A model and feeds for it; differentiate with respect to its float inputs."""
    model, feeds = random_program(seed, SmoothWriter)
    draw = random.Random(seed)
    _in_doubles(model.graph, draw)
    return model, {name: _real(x, draw) for name, x in feeds.items()}


def _real(array, draw):
    """Random real numbers in place of integers, to avoid kinks."""
    if array.dtype != np.float32:
        return array
    return np.array([draw.uniform(-2, 2) for _ in range(array.size)]).reshape(array.shape)


def _in_doubles(graph, draw):
    for info in [*graph.input, *graph.output]:
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _in_doubles(attribute.g, draw)
            elif attribute.name == "value":
                attribute.t.CopyFrom(numpy_helper.from_array(_real(numpy_helper.to_array(attribute.t), draw)))
            elif attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.CopyFrom(helper.make_attribute("to", TensorProto.DOUBLE))
