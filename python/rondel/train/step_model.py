"""The model of a step: forward, backward, clipping and update, as one ONNX model; and its two halves as models of their own."""

from __future__ import annotations

from typing import NamedTuple

from ..gradients import grad
from ..naming import Names
from .optimizers import DOMAIN
from .reach import zeros_among


class GraphWriter:
    """Appends nodes with fresh names to the graph of a model."""

    def __init__(self, model, types):
        """types: the element types of the parameters, by name."""
        import onnx

        self._onnx = onnx
        self._graph = model.graph
        self._types = types
        self._names = Names(model.graph)
        if not any(i.domain == DOMAIN for i in model.opset_import):
            model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))

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


class GradientModel:
    """The model of the first half of a step: forward and backward.

    proto: the ModelProto, whose outputs are the loss, the values of `running`, and the gradients. loss: the name of the loss.
    gradients: the names of the outputs, in the order of the parameters. seed: the input for the seed of random draws; None if there
    are no draws.
    """

    def __init__(self, form, loss, parameters, checkpoint, options):
        """form: a model.Form whose outputs are the loss and the new running statistics."""
        self.loss = loss
        fed = {i.name for i in form.graph.input}
        self.proto = grad(form.proto, parameters, [loss], checkpoint=checkpoint, prefix=form.names.fresh("gradient of "), sess_options=options)
        drawn = [i.name for i in self.proto.graph.input if i.name not in fed]
        self.seed = drawn[0] if drawn else None
        self.gradients = [o.name for o in self.proto.graph.output][-len(parameters) :]
        self._parameters = list(parameters)

    def unreached(self):
        """The parameters that no gradient reaches."""
        zeros = zeros_among(self.proto.graph, self.gradients)
        return [name for name, made in zip(self._parameters, self.gradients) if made in zeros]


class Clipping(NamedTuple):
    """The bounds of a Trainer's clip_value and clip_norm; None: no bound."""

    value: float | None
    norm: float | None


class _Update:
    """Appends clipping and the optimizer's update to a model in which parameters and gradients are values.

    rate, updates: the inputs for the learning rate (f64[]) and the number of steps so far. states: the inputs that are states of the
    optimizer, [(state, parameter, input)]. carried: dict of each carried input to the output that is its value in the next step.
    """

    def __init__(self, proto, types, parameters, gradients, optimizer, clipping):
        """types: a dict of each parameter to (element type, extents)."""
        import onnx

        self._types = types
        writer = GraphWriter(proto, {name: elem_type for name, (elem_type, _) in types.items()})
        self.rate = writer.input("learning rate", onnx.TensorProto.DOUBLE, [])
        self.updates = writer.input("updates", onnx.TensorProto.INT64, [])
        self.states = [(state, name, writer.input(f"{state} of {name}", *types[name])) for state in optimizer.states for name in parameters]
        if clipping.value is not None:
            gradients = clip_each(writer, parameters, gradients, clipping.value)
        if clipping.norm is not None:
            gradients = clip_together(writer, parameters, gradients, clipping.norm)
        given = [[made for kind, _, made in self.states if kind == state] for state in optimizer.states]
        new, new_states = optimizer.update(writer, self.rate, self.updates, parameters, gradients, given)

        self.carried = {}
        self._carry(writer, zip(parameters, new, parameters))
        for names, made in zip(given, new_states):
            self._carry(writer, zip(names, made, parameters))
        counted = writer.one("Add", [self.updates, writer.integer(1)])
        writer.output(counted, onnx.TensorProto.INT64, [])
        self.carried[self.updates] = counted

    def _carry(self, writer, triples):
        for name, made, parameter in triples:
            writer.output(made, *self._types[parameter])
            self.carried[name] = made


class StepModel:
    """The model of a step: a GradientModel and an update in one graph.

    proto, loss, seed: as in GradientModel. rate, updates, states: as in _Update. carried: those of the update and of `running`.
    """

    def __init__(self, first, parameters, running, optimizer, clipping):
        """first: the GradientModel, which becomes the step's. running: the names of new running statistics by old name."""
        self.proto, self.loss, self.seed = first.proto, first.loss, first.seed
        del self.proto.graph.output[-len(parameters) :]
        update = _Update(self.proto, types_of(self.proto, parameters), parameters, first.gradients, optimizer, clipping)
        self.rate, self.updates, self.states = update.rate, update.updates, update.states
        self.carried = {**running, **update.carried}


class UpdateModel:
    """The model of the second half of a step: from parameters, gradients and states to their new values.

    proto, rate, updates, carried: as in a StepModel. gradients: the names of the inputs for the gradients, in the order of the
    parameters. own: dict of each carried input to the input of `step`, a StepModel, that has the same value.
    """

    def __init__(self, step, parameters, optimizer, clipping):
        import onnx

        types = types_of(step.proto, parameters)
        taken = {i.name for i in step.proto.graph.input}
        self.gradients = [f"gradient of {name}" for name in parameters]
        while not taken.isdisjoint(self.gradients):
            self.gradients = [f"the {name}" for name in self.gradients]
        value = onnx.helper.make_tensor_value_info
        inputs = [value(name, *types[x]) for names in (parameters, self.gradients) for name, x in zip(names, parameters)]
        self.proto = onnx.helper.make_model(onnx.helper.make_graph([], "update", inputs, []), opset_imports=[onnx.helper.make_opsetid("", 21)])
        self.proto.ir_version = step.proto.ir_version
        update = _Update(self.proto, types, parameters, self.gradients, optimizer, clipping)
        self.rate, self.updates, self.carried = update.rate, update.updates, update.carried
        self.own = {made: name for (_, _, made), (_, _, name) in zip(update.states, step.states)}
        self.own.update({name: name for name in parameters})
        self.own[self.updates] = step.updates


def types_of(proto, parameters):
    """A dict of each parameter, an input of the model, to (element type, extents)."""
    types = {i.name: i.type.tensor_type for i in proto.graph.input}
    return {name: (types[name].elem_type, [d.dim_value for d in types[name].shape.dim]) for name in parameters}


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
