"""The model that is trained: its file, its parameters, and its forms for a step and for evaluation."""

import os
from typing import Any

import numpy as np

from ..errors import CallerError
from ..models import model_source, require_onnx
from ..naming import Names, all_nodes, closest, listed, subgraphs
from . import losses

# Operands of floats that are settings of an op, not weights, whether or not they have a gradient: scales of quantized tensors, for instance.
# Of ops on bytes, all floats are scales.
_ALL = range(1 << 31)
_SETTINGS = {
    "BatchNormalization": (3, 4), "OneHot": (2,), "QuantizeLinear": (1, 2), "DequantizeLinear": (1, 2), "Resize": (1, 2), "Upsample": (1,),
    "MatMulNBits": (2, 3), "MatMulBnb4": (2,), "GatherBlockQuantized": (2, 3), "MatMulIntegerToFloat": (2, 3), "DynamicQuantizeMatMul": (2,),
    "DynamicQuantizeLSTM": (8, 10), "QAttention": (3, 4), "QGemm": _ALL, "QEmbedLayerNormalization": _ALL,
}  # fmt: skip


def _settings(node):
    return _ALL if node.op_type.startswith("QLinear") else _SETTINGS.get(node.op_type, ())


_DOMAIN = "rondel.train"
_DROPOUT_TRAINS_SINCE = 12


def load(model, options):
    """(the model, with its external data loaded; its path or None; the folder of its external data or None). options: SessionOptions."""
    require_onnx("rondel.train")
    import onnx

    source = model_source(model)
    path = None if isinstance(source, bytes) else os.path.abspath(source)
    proto = parsed(source)
    given = options.external_data_dir or (path and os.path.dirname(path))
    folder = os.path.abspath(given) if given else None
    apart = next((t for t in all_tensors(proto) if t.data_location == t.EXTERNAL), None)
    if apart is not None and folder is None:
        raise CallerError(f"train: tensor {apart.name!r} has external data; for a model that is not given as a path, set external_data_dir in sess_options")
    try:
        if apart is not None:
            onnx.load_external_data_for_model(proto, folder)
    except Exception as error:  # onnx has exceptions of its own
        raise CallerError(f"train: the external data of the model cannot be read: {error}") from error
    return proto, path, folder


def parsed(source):
    """The ModelProto of a file or of bytes, without external data. Text forms of models are refused, as InferenceSession refuses them."""
    import onnx

    try:
        return onnx.load_model_from_string(source) if isinstance(source, bytes) else onnx.load(source, format="protobuf", load_external_data=False)
    except Exception as error:  # protobuf has exceptions of its own
        raise CallerError(f"train: the model {str(source)[:100]!r} cannot be read: {error}") from error


def all_tensors(proto):
    """The tensors of a model: initializers and attributes, at any depth."""

    def of(nodes):
        for node in nodes:
            for attribute in node.attribute:
                yield from ([attribute.t] if attribute.HasField("t") else [])
                yield from attribute.tensors
            for graph in subgraphs(node):
                yield from graph.initializer
                yield from of(graph.node)

    yield from proto.graph.initializer
    yield from of(proto.graph.node)
    for function in proto.functions:
        yield from of(function.node)


def read_by(node):
    """The names that a node and its subgraphs read."""
    yield from filter(None, node.input)
    for graph in subgraphs(node):
        for inner in graph.node:
            yield from read_by(inner)
        yield from (output.name for output in graph.output)


def opset(proto):
    """The version of ONNX's own ops that a model imports."""
    return next((i.version for i in proto.opset_import if i.domain in ("", "ai.onnx")), 1)


def dropouts(graph):
    """The nodes that are ONNX's Dropout, at any depth."""
    return (node for node in all_nodes(graph) if node.op_type == "Dropout" and node.domain in ("", "ai.onnx"))


def little_endian(value):
    """The bytes of an array as a tensor's raw_data."""
    import onnx

    return onnx.numpy_helper.from_array(np.asarray(value)).raw_data


def clear_data(tensor):
    for field in ("raw_data", "float_data", "double_data", "int32_data", "int64_data", "uint64_data"):
        tensor.ClearField(field)


class TrainedModel:
    """A model whose float initializers may be trained.

    initializers: the tensors of f32 and f64, by name. `take` removes the value of a tensor, `put_back` undoes that. path: its file, or
    None. folder: where external data are, or None.
    """

    def __init__(self, model, options):
        self.proto, self.path, self.folder = load(model, options)
        import onnx

        self.graph = self.proto.graph
        floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
        self.initializers = {t.name: t for t in self.graph.initializer if t.data_type in floats}

    def take(self, name):
        """The value of an initializer, which is removed from the model so that weights are not stored twice."""
        import onnx

        tensor = self.initializers[name]
        value = np.array(onnx.numpy_helper.to_array(tensor), order="C")
        clear_data(tensor)
        return value

    def put_back(self, name, value):
        self.initializers[name].raw_data = little_endian(value)

    def output_for(self, loss):
        """The name of the output that a loss compares."""
        names = [output.name for output in self.graph.output]
        if loss.output is None and len(names) == 1:
            return names[0]
        if loss.output is None:
            raise CallerError(f"train: the model has {len(names)} outputs; name the one for {type(loss).__name__}(output=...): {listed(names)}")
        if loss.output not in names:
            raise CallerError(f"train: the loss names output {loss.output!r}{closest(loss.output, names)}; there are {listed(names)}")
        return loss.output

    def classes_of(self, output):
        """The extent of axis 1 that an output declares; None: it declares none."""
        declared = next(o for o in self.graph.output if o.name == output).type.tensor_type.shape.dim
        return declared[1].dim_value or None if len(declared) > 1 else None

    def dropouts_without_training_mode(self):
        """The names of the Dropout nodes if their version has no training mode."""
        return [node.name or node.output[0] for node in dropouts(self.graph)] if opset(self.proto) < _DROPOUT_TRAINS_SINCE else []

    def weights_of(self, results):
        """The weights that results depend on: initializers of floats that have an axis and are not a setting of an op."""
        found = set()
        for node in self._nodes_for(results):
            settings = _settings(node)
            found.update(name for k, name in enumerate(node.input) if k not in settings)
        return [name for name, t in self.initializers.items() if name in found and len(t.dims) > 0]

    def read_for(self, results):
        """The names of all values that results depend on."""
        return {*results, *(name for node in self._nodes_for(results) for name in read_by(node))}

    def _nodes_for(self, results):
        """The nodes that results depend on, at any depth."""
        needed = set(results)
        for node in reversed(self.graph.node):
            if needed.isdisjoint(node.output):
                continue
            needed.update(read_by(node))
            yield node
            for graph in subgraphs(node):
                yield from all_nodes(graph)


class Form:
    """A copy of a model in which some initializers (`fed`) are inputs, and to which a loss and outputs can be added."""

    def __init__(self, model, fed):
        import onnx

        self.onnx, self.helper = onnx, onnx.helper
        self.proto = onnx.ModelProto()
        self.proto.CopyFrom(model.proto)
        self.graph = self.proto.graph
        self.names = Names(self.graph)
        self._feed([model.initializers[name] for name in fed])

    def _feed(self, tensors):
        names = {t.name for t in tensors}
        for k in reversed(range(len(self.graph.initializer))):
            if self.graph.initializer[k].name in names:
                del self.graph.initializer[k]
        for k in reversed(range(len(self.graph.input))):
            if self.graph.input[k].name in names:
                del self.graph.input[k]
        self.graph.input.extend(self.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors)

    def keep_outputs(self, names):
        keep = [output for output in self.graph.output if output.name in names]
        del self.graph.output[:]
        self.graph.output.extend(keep)

    def add_output(self, name, elem_type, shape):
        self.graph.output.append(self.helper.make_tensor_value_info(name, elem_type, shape))

    def add_loss(self, loss, compared):
        """Appends a loss on the output `compared`, and an input for its target if there is none. Returns the loss's name."""
        predicted = next(o for o in self.graph.output if o.name == compared).type.tensor_type
        if loss.target not in {i.name for i in self.graph.input}:
            if loss.target in self.names:
                raise CallerError(f"train: the loss compares with an input {loss.target!r}, but the model has a value of this name; give another target")
            self.graph.input.append(self._target(loss, predicted))
        name = self.names.fresh("loss")
        self.names.add(loss.target)
        imports = [self.helper.make_opsetid("", 21)]
        function = self.helper.make_function(_DOMAIN, "Loss", ["output", "target"], ["loss"], loss._nodes(self.helper), imports)
        self.proto.functions.append(function)
        self.proto.opset_import.append(self.helper.make_opsetid(_DOMAIN, 1))
        self.proto.ir_version = max(self.proto.ir_version, 8)  # the first version with functions
        self.graph.node.append(self.helper.make_node("Loss", [compared, loss.target], [name], domain=_DOMAIN))
        self.add_output(name, predicted.elem_type, [])
        return name

    def _target(self, loss, predicted):
        dims = None
        if predicted.HasField("shape"):
            dims = [d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in predicted.shape.dim]
            if loss._labels:
                del dims[1:2]
        kind = self.onnx.TensorProto.INT64 if loss._labels else predicted.elem_type
        return self.helper.make_tensor_value_info(loss.target, kind, dims)

    def train_dropout(self):
        """Sets Dropout to training mode, at any depth, where its version has one."""
        yes = None
        for node in dropouts(self.graph) if opset(self.proto) >= _DROPOUT_TRAINS_SINCE else ():
            if yes is None:
                yes = self.names.fresh("training")
                self.graph.initializer.append(self.helper.make_tensor(yes, self.onnx.TensorProto.BOOL, [], [True]))
            inputs = [*node.input, "", ""][:2]
            del node.input[:]
            node.input.extend([*inputs, yes])

    def train_batch_normalization(self, running):
        """Sets BatchNormalization to training mode if its mean and variance are in `running`. Returns a dict of the name of each
        running statistic to the name of its new value."""
        made = {}
        for node in self.graph.node:
            if node.op_type != "BatchNormalization" or node.domain not in ("", "ai.onnx") or not running.issuperset(node.input[3:5]):
                continue
            for name in node.input[3:5]:
                if name in made:
                    raise CallerError(f"train: {name!r} is the running mean or variance of two BatchNormalization nodes; name it in frozen")
            outputs = [*node.output, "", "", ""][:3]
            for k, name in enumerate(node.input[3:5], 1):
                made[name] = outputs[k] = outputs[k] or self.names.fresh(f"new {name}")
            del node.output[:]
            node.output.extend(outputs)
            self._set_training_mode(node)
        return made

    def _set_training_mode(self, node):
        for k in reversed(range(len(node.attribute))):
            if node.attribute[k].name in ("training_mode", "is_test"):
                del node.attribute[k]
        if opset(self.proto) >= 14:  # in older versions, the number of outputs implies training mode
            node.attribute.append(self.helper.make_attribute("training_mode", 1))


def loss_of(loss, model):
    """(a Loss, the name of the output that it compares), or (None, the name of the output that is the loss)."""
    names = [output.name for output in model.graph.output]
    if isinstance(loss, str):
        if loss in names:
            return None, loss
        if loss not in losses.BY_NAME:
            known = [*losses.BY_NAME, *names]
            raise CallerError(f"train: loss is {loss!r}, which is no loss and no output{closest(loss, known)}; there are {listed(known)}")
        loss = losses.BY_NAME[loss]()
    if not isinstance(loss, losses.Loss):
        raise CallerError(f"train: loss is {loss!r}; expected a loss such as rondel.train.CrossEntropy(), its name, or the name of a scalar output")
    return loss, model.output_for(loss)
