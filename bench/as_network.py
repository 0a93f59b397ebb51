"""An ONNX model, built again layer by layer with the network builder."""

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper


class CannotSay(Exception):
    """The builder has no layers for this model."""


def as_network(model):
    """A Network with the inputs and outputs of the model. Raises CannotSay."""
    from rondel import network as rn  # not above: a process that measures another engine does not hold rondel

    writer = _Writer(rn)
    graph = model.graph
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    for value in graph.input:
        kind = value.type.tensor_type
        shape = tuple(d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim)
        values[value.name] = writer.n.add_input(value.name, writer.kind(kind.elem_type), shape)
    writer.add(graph, values)
    for value in graph.output:
        tensor = writer.n.add_identity(writer.tensor(values[value.name])).get_output(0)
        tensor.name = value.name
        writer.n.mark_output(tensor)
    return writer.n


class _Writer:
    """Adds layers for nodes. A value is a tensor of the network, or an array that is known when it is built."""

    def __init__(self, rn):
        self.rn, self.n = rn, rn.Network()
        pair, one, act = rn.ElementWiseOperation, rn.UnaryOperation, rn.ActivationType
        self.pairs = {"Add": pair.SUM, "Sub": pair.SUB, "Mul": pair.PROD, "Div": pair.DIV, "Max": pair.MAX, "Min": pair.MIN, "Pow": pair.POW,
                      "And": pair.AND, "Or": pair.OR, "Equal": pair.EQUAL, "Less": pair.LESS, "Greater": pair.GREATER}  # fmt: skip
        self.unaries = {"Neg": one.NEG, "Abs": one.ABS, "Exp": one.EXP, "Log": one.LOG, "Sqrt": one.SQRT, "Sin": one.SIN, "Cos": one.COS,
                        "Not": one.NOT, "Floor": one.FLOOR, "Reciprocal": one.RECIP, "Erf": one.ERF}  # fmt: skip
        self.activations = {"Tanh": act.TANH, "Sigmoid": act.SIGMOID, "Relu": act.RELU}
        reduced = rn.ReduceOperation
        self.reductions = {"ReduceSum": reduced.SUM, "ReduceMax": reduced.MAX, "ReduceMin": reduced.MIN, "ReduceMean": reduced.AVG}

    def add(self, graph, values):
        """Adds the nodes of a graph; puts their outputs into `values`, by name."""
        values |= {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        for node in graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if any(a.type == AttributeProto.GRAPH for a in node.attribute):
                results = getattr(self, node.op_type)(values, *[values.get(name) for name in node.input], outputs=len(node.output), **attributes)
            else:
                results = self.node(node, [values[name] for name in node.input if name], attributes)
            values |= dict(zip(node.output, results if isinstance(results, (list, tuple)) else [results]))

    def node(self, node, inputs, attributes):
        op = node.op_type
        if op in self.pairs:
            return self.layer(self.n.add_elementwise, *self.of_one_rank(*inputs), self.pairs[op])
        if op in self.unaries:
            return self.layer(self.n.add_unary, *inputs, self.unaries[op])
        if op in self.activations:
            return self.layer(self.n.add_activation, *inputs, self.activations[op])
        if op in self.reductions:
            return self.reduced(self.reductions[op], *inputs, **attributes)
        if not hasattr(self, op):
            raise CannotSay(op)
        return getattr(self, op)(*inputs, **attributes, **({"outputs": len(node.output)} if op == "Split" else {}))

    # ---- helpers --------------------------------------------------------------------------------------------

    def kind(self, onnx_type):
        return self.rn.DataType[{TensorProto.FLOAT: "FLOAT", TensorProto.INT64: "INT64", TensorProto.INT32: "INT32", TensorProto.BOOL: "BOOL"}[onnx_type]]

    def tensor(self, value):
        return self.n.add_constant(value.shape, value).get_output(0) if isinstance(value, np.ndarray) else value

    def layer(self, method, *inputs):
        return method(*[self.tensor(x) for x in inputs]).get_output(0)

    def rank(self, value):
        return value.ndim if isinstance(value, np.ndarray) else len(value.shape)

    def of_one_rank(self, *values):
        """The values with axes of extent 1 in front, so that all have the largest rank."""
        rank = max(map(self.rank, values))
        return [v if self.rank(v) == rank else self.Unsqueeze(v, np.arange(rank - self.rank(v))) for v in values]

    def mask(self, value, axes):
        return sum(1 << (int(a) % self.rank(value)) for a in axes)

    def reshaped(self, value, shape):
        if isinstance(value, np.ndarray):
            return value.reshape(shape)
        layer = self.n.add_shuffle(value)
        layer.reshape_dims = shape
        return layer.get_output(0)

    # ---- ops ------------------------------------------------------------------------------------------------

    def Constant(self, value):
        return numpy_helper.to_array(value)

    def Identity(self, x):
        return x

    def Cast(self, x, to):
        return self.layer(self.n.add_cast, x, self.kind(to))

    def Where(self, condition, x, y):
        return self.layer(self.n.add_select, *self.of_one_rank(condition, x, y))

    def Mod(self, x, y):
        x, y = self.of_one_rank(x, y)
        op = self.rn.ElementWiseOperation
        whole = self.layer(self.n.add_elementwise, x, y, op.FLOOR_DIV)
        return self.layer(self.n.add_elementwise, x, self.layer(self.n.add_elementwise, whole, y, op.PROD), op.SUB)

    def MatMul(self, a, b):
        vector = [self.rank(x) == 1 for x in (a, b)]
        if not any(vector):
            a, b = self.of_one_rank(a, b)
        op = self.rn.MatrixOperation
        kinds = [op.VECTOR if v else op.NONE for v in vector]
        return self.n.add_matrix_multiply(self.tensor(a), kinds[0], self.tensor(b), kinds[1]).get_output(0)

    def reduced(self, op, x, axes=None, keepdims=1):
        axes = range(self.rank(x)) if axes is None else axes
        return self.layer(self.n.add_reduce, x, op, self.mask(x, axes), bool(keepdims)) if self.rank(x) else x

    def ReduceL2(self, x, axes=None, keepdims=1):
        square = self.layer(self.n.add_elementwise, x, x, self.rn.ElementWiseOperation.PROD)
        return self.layer(self.n.add_unary, self.reduced(self.reductions["ReduceSum"], square, axes, keepdims), self.unaries["Sqrt"])

    def ArgMax(self, x, axis=0, keepdims=1):
        rn = self.rn
        at = self.n.add_topk(self.tensor(x), rn.TopKOperation.MAX, 1, self.mask(x, [axis]), rn.DataType.INT64).get_output(1)
        return at if keepdims else self.Squeeze(at, np.array([axis]))

    def TopK(self, x, k, axis=-1):
        rn = self.rn
        layer = self.n.add_topk(self.tensor(x), rn.TopKOperation.MAX, int(k[0]), self.mask(x, [axis]), rn.DataType.INT64)
        return layer.get_output(0), layer.get_output(1)

    def Softmax(self, x, axis=-1):
        layer = self.n.add_softmax(self.tensor(x))
        layer.axes = self.mask(x, [axis])
        return layer.get_output(0)

    def LayerNormalization(self, x, scale, bias, axis=-1, epsilon=1e-5):
        axes = self.mask(x, range(axis % self.rank(x), self.rank(x)))
        scale, bias, x = map(self.tensor, self.of_one_rank(scale, bias, x))
        layer = self.n.add_normalization(x, scale, bias, axes)
        layer.epsilon = epsilon
        return layer.get_output(0)

    def Conv(self, x, kernel, *bias, pads):
        later = np.zeros(0, np.float32)
        layer = self.n.add_convolution_nd(self.tensor(x), kernel.shape[0], tuple(kernel.shape[2:]), later)
        for k, weights in enumerate((kernel, *bias)):
            layer.set_input(k + 1, self.tensor(weights))
        layer.padding_nd = tuple(pads[: len(pads) // 2])
        return layer.get_output(0)

    def Unsqueeze(self, x, axes):
        return np.expand_dims(x, tuple(axes)) if isinstance(x, np.ndarray) else self.layer(self.n.add_unsqueeze, x, np.asarray(axes, np.int64))

    def Squeeze(self, x, axes):
        return self.layer(self.n.add_squeeze, x, np.asarray(axes, np.int64))

    def Reshape(self, x, shape):
        if not isinstance(shape, np.ndarray):
            raise CannotSay("a shape that data decide")
        return self.reshaped(x, tuple(map(int, shape)))

    def Transpose(self, x, perm):
        layer = self.n.add_shuffle(self.tensor(x))
        layer.first_transpose = tuple(perm)
        return layer.get_output(0)

    def Concat(self, *inputs, axis):
        layer = self.n.add_concatenation([self.tensor(x) for x in inputs])
        layer.axis = axis % self.rank(inputs[0])
        return layer.get_output(0)

    def Split(self, x, axis=0, outputs=1, num_outputs=None):
        shape = list(x.shape)
        shape[axis] //= outputs
        starts = [[shape[axis] * k if a == axis else 0 for a in range(len(shape))] for k in range(outputs)]
        return [self.n.add_slice(x, start, shape, [1] * len(shape)).get_output(0) for start in starts]

    def Gather(self, x, indices, axis=0):
        return self.n.add_gather(self.tensor(x), self.tensor(indices), axis).get_output(0)

    def Shape(self, x):
        return self.layer(self.n.add_shape, x)

    def Range(self, start, limit, step):
        layer = self.n.add_fill((-1,), self.rn.FillOperation.LINSPACE, self.rn.DataType.INT64)
        count = self.reshaped(self.layer(self.n.add_elementwise, limit, start, self.rn.ElementWiseOperation.SUB), (1,))
        for k, tensor in enumerate((count, start, self.reshaped(step, (1,)))):
            layer.set_input(k, self.tensor(tensor))
        return layer.get_output(0)

    # ---- loops and branches ---------------------------------------------------------------------------------

    def Loop(self, values, trips, begin, *states, body, outputs):
        rn, loop = self.rn, self.n.add_loop()
        inner = dict(values)
        recurrences = [loop.add_recurrence(self.tensor(s)) for s in states]
        inner |= {v.name: r.get_output(0) for v, r in zip(body.input[2:], recurrences, strict=True)}
        counter = loop.add_recurrence(self.tensor(np.array(0)))
        condition = loop.add_recurrence(self.tensor(np.array(True) if begin is None else begin))
        i, go = inner[body.input[0].name], inner[body.input[1].name] = counter.get_output(0), condition.get_output(0)
        self.add(body, inner)
        on, *results = (inner[v.name] for v in body.output)
        counter.set_input(1, self.layer(self.n.add_elementwise, i, np.array(1), rn.ElementWiseOperation.SUM))
        condition.set_input(1, self.tensor(on))
        if trips is not None:
            loop.add_trip_limit(self.tensor(trips), rn.TripLimit.COUNT)
        if on is not go or trips is None:
            loop.add_trip_limit(go, rn.TripLimit.WHILE)
        return self.results(loop, recurrences, results)

    def Scan(self, values, *inputs, body, num_scan_inputs, outputs):
        loop, count = self.n.add_loop(), len(inputs) - num_scan_inputs
        trips = self.Gather(self.Shape(inputs[count]), np.array(0))
        loop.add_trip_limit(trips, self.rn.TripLimit.COUNT)
        recurrences = [loop.add_recurrence(self.tensor(s)) for s in inputs[:count]]
        read = [loop.add_iterator(self.tensor(x)) for x in inputs[count:]]
        inner = values | {v.name: layer.get_output(0) for v, layer in zip(body.input, recurrences + read, strict=True)}
        self.add(body, inner)
        return self.results(loop, recurrences, [inner[v.name] for v in body.output])

    def results(self, loop, recurrences, results):
        """The outputs of a loop, whose recurrences get the first results as their next values; the others are joined."""
        joined, last = self.rn.LoopOutput.CONCATENATE, self.rn.LoopOutput.LAST_VALUE
        for layer, result in zip(recurrences, results):
            layer.set_input(1, self.tensor(result))
        ends = [loop.add_loop_output(layer.get_output(0), last) for layer in recurrences]
        ends += [loop.add_loop_output(self.tensor(item), joined) for item in results[len(recurrences) :]]
        return [layer.get_output(0) for layer in ends]

    def If(self, values, condition, then_branch, else_branch, outputs):
        conditional = self.n.add_if_conditional()
        conditional.set_condition(self.tensor(condition))
        sides = []
        for branch in (then_branch, else_branch):
            inner = dict(values)
            self.add(branch, inner)
            sides.append([self.n.add_identity(self.tensor(inner[v.name])).get_output(0) for v in branch.output])
        return [conditional.add_output(a, b).get_output(0) for a, b in zip(*sides, strict=True)]
