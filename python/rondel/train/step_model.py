"""The model of a step: forward, backward, clipping and update, as one ONNX model."""

from ..gradients import grad
from .model import Names

_TRAINING = "ai.onnx.preview.training"


class GraphWriter:
    """Appends nodes with fresh names to the graph of a model."""

    def __init__(self, model, types):
        """types: the element types of the parameters, by name."""
        import onnx

        self._onnx = onnx
        self._graph = model.graph
        self._types = types
        self._names = Names(model.graph)
        if not any(i.domain == _TRAINING for i in model.opset_import):
            model.opset_import.append(onnx.helper.make_opsetid(_TRAINING, 1))

    def add(self, op, inputs, outputs, *, domain="", **attributes):
        names = [self._names.fresh(f"update/{op}") for _ in range(outputs)]
        self._graph.node.append(self._onnx.helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names

    def one(self, op, inputs, **attributes):
        return self.add(op, inputs, 1, **attributes)[0]

    def input(self, name, elem_type, shape):
        name = self._names.fresh(name)
        self._graph.input.append(self._onnx.helper.make_tensor_value_info(name, elem_type, shape))
        return name

    def output(self, name, elem_type, shape):
        self._graph.output.append(self._onnx.helper.make_tensor_value_info(name, elem_type, shape))

    def constant(self, value, dtype):
        import numpy as np

        name = self._names.fresh("update/constant")
        self._graph.initializer.append(self._onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def integer(self, value):
        return self.constant(value, "int64")

    def scalar(self, value, like):
        """A number in the dtype of a parameter."""
        return self.constant(value, self._onnx.helper.tensor_dtype_to_np_dtype(self._types[like]))

    def cast(self, x, *, like=None, to=None):
        """`x` cast to the dtype of the parameter `like`, or to the element type `to`."""
        return self.one("Cast", [x], to=to or self._types[like])


class StepModel:
    """The model of a step.

    proto: the ModelProto. loss: the name of its output. rate, updates: the inputs for the learning rate (f64[]) and the number of
    steps so far. states: the inputs that are states of the optimizer, [(state, parameter, input)]. carried: dict of each carried input
    to the output that is its value in the next step. seed: the input for the seed of random draws; None if there are no draws.
    """

    def __init__(self, form, loss, parameters, running, optimizer, clip_norm, clip_value, checkpoint, options):
        """form: a model.Form whose outputs are the loss and the values of `running` (new by old name)."""
        import onnx

        self.loss = loss
        fed = {i.name for i in form.graph.input}
        self.proto = grad(form.proto, parameters, [loss], checkpoint=checkpoint, prefix=form.names.fresh("gradient of "), sess_options=options)
        drawn = [i.name for i in self.proto.graph.input if i.name not in fed]
        self.seed = drawn[0] if drawn else None
        types = {i.name: i.type.tensor_type for i in self.proto.graph.input}
        writer = GraphWriter(self.proto, {name: types[name].elem_type for name in parameters})
        gradients = [o.name for o in self.proto.graph.output][-len(parameters) :]
        self._shapes = {name: (types[name].elem_type, [d.dim_value for d in types[name].shape.dim]) for name in parameters}
        del self.proto.graph.output[-len(parameters) :]

        self.rate = writer.input("learning rate", onnx.TensorProto.DOUBLE, [])
        self.updates = writer.input("updates", onnx.TensorProto.INT64, [])
        self.states = [(state, name, writer.input(f"{state} of {name}", *self._shapes[name])) for state in optimizer.states for name in parameters]
        if clip_value is not None:
            gradients = clip_each(writer, parameters, gradients, clip_value)
        if clip_norm is not None:
            gradients = clip_together(writer, parameters, gradients, clip_norm)
        given = [[made for kind, _, made in self.states if kind == state] for state in optimizer.states]
        new, new_states = optimizer.update(writer, self.rate, self.updates, parameters, gradients, given)

        self.carried = dict(running)
        self._carry(writer, zip(parameters, new, parameters))
        for names, made in zip(given, new_states):
            self._carry(writer, zip(names, made, parameters))
        counted = writer.one("Add", [self.updates, writer.integer(1)])
        writer.output(counted, onnx.TensorProto.INT64, [])
        self.carried[self.updates] = counted

    def _carry(self, writer, triples):
        for name, made, parameter in triples:
            writer.output(made, *self._shapes[parameter])
            self.carried[name] = made


def clip_each(writer, parameters, gradients, most):
    """Clips each element of each gradient to [-most, most]."""
    clipped = []
    for x, g in zip(parameters, gradients):
        clipped.append(writer.one("Max", [writer.one("Min", [g, writer.scalar(most, x)]), writer.scalar(-most, x)]))
    return clipped


def clip_together(writer, parameters, gradients, most):
    """Multiplies all gradients by most / max(norm, most), where norm is the global norm of all their elements."""
    import onnx

    squares = [writer.cast(writer.one("ReduceSumSquare", [g], keepdims=0), to=onnx.TensorProto.DOUBLE) for g in gradients]
    norm = writer.one("Sqrt", [writer.one("Sum", squares)])
    limit = writer.constant(most, "float64")
    factor = writer.one("Div", [limit, writer.one("Max", [norm, limit])])
    return [writer.one("Mul", [g, writer.cast(factor, like=x)]) for x, g in zip(parameters, gradients)]
