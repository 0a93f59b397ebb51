"""Damaged models: bytes of a file changed, or fields of the protobuf given values that make no sense."""

from __future__ import annotations

import onnx
from onnx import AttributeProto, TensorProto, helper

from .shrinking import graphs

NUMBERS = [0, 1, -1, 2, 3, 7, 16, 64, 255, -128, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 10**6, 10**9]
NAMES = ["", "x", "\0", "a" * 300, "é", "v1", "k1", "x1", "../x", "%s"]
OPS = [
    "Add", "Mul", "If", "Loop", "Scan", "Reshape", "Slice", "Gather", "Concat", "Split", "Pad", "Tile", "Expand", "Conv", "MatMul", "Gemm", "TopK", "Cast",
    "Constant", "ConstantOfShape", "Range", "OneHot", "SequenceAt", "SequenceInsert", "Optional", "Unique", "ScatterND", "Einsum", "Nonsense", "",
]  # fmt: skip


def damaged(rng, model):
    """The bytes of a damaged file: fields changed, bytes changed, or both."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        rng.choice(CHANGES)(rng, copy)
    data = bytearray(copy.SerializeToString())
    for _ in range(rng.choice([0, 0, 0, 1, 1, 3]) if copy != model else rng.choice([1, 1, 2, 8])):
        _change_bytes(rng, data)
    return bytes(data)


def _change_bytes(rng, data):
    kind = rng.choice(["flip", "flip", "set", "cut", "end", "insert", "again"])
    at = rng.randrange(len(data)) if data else 0
    if not data:
        return
    if kind == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "set":
        data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    elif kind == "cut":
        del data[at : at + rng.choice([1, 1, 4, 20])]
    elif kind == "end":
        del data[at:]
    elif kind == "insert":
        data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4])))
    else:
        data[at:at] = data[at : at + rng.choice([1, 8, 60])]


# ---- fields -------------------------------------------------------------------------------------------------


def _node(rng, model):
    found = [(graph, k) for graph in graphs(model) for k in range(len(graph.node))]
    return rng.choice(found) if found else (None, None)


def node_names(rng, model):
    """Another name for an input or an output; one more, one less, or two exchanged."""
    graph, k = _node(rng, model)
    if graph is None:
        return
    node = graph.node[k]
    names = rng.choice([node.input, node.output])
    known = [n for g in graphs(model) for m in g.node for n in (*m.input, *m.output)]
    kind = rng.choice(["rename", "rename", "add", "remove", "exchange", "many"])
    if kind == "rename" and names:
        names[rng.randrange(len(names))] = rng.choice([*NAMES, *rng.sample(known, min(8, len(known)))])
    elif kind == "add":
        names.append(rng.choice([*NAMES, *rng.sample(known, min(8, len(known)))]))
    elif kind == "remove" and names:
        del names[rng.randrange(len(names))]
    elif kind == "exchange" and len(names) > 1:
        i, j = rng.sample(range(len(names)), 2)
        names[i], names[j] = names[j], names[i]
    elif kind == "many":
        names.extend(rng.choice(known) for _ in range(rng.choice([3, 100])))


def node_kind(rng, model):
    """Another op, domain or place; or the node twice, or not at all."""
    graph, k = _node(rng, model)
    if graph is None:
        return
    kind = rng.choice(["op", "op", "domain", "remove", "again", "move"])
    if kind == "op":
        graph.node[k].op_type = rng.choice([*OPS, *(n.op_type for g in graphs(model) for n in g.node)])
    elif kind == "domain":
        graph.node[k].domain = rng.choice(["", "ai.onnx", "ai.onnx.ml", "local", "com.microsoft", "x"])
    elif kind == "remove":
        del graph.node[k]
    else:
        copy = onnx.NodeProto.FromString(graph.node[k].SerializeToString())
        if kind == "move":
            del graph.node[k]
        graph.node.insert(rng.randrange(len(graph.node) + 1), copy)


def attributes(rng, model):
    """Another number, kind or name of an attribute; or one more, or one less."""
    found = [(n, a) for g in graphs(model) for n in g.node for a in n.attribute]
    if not found:
        return
    node, a = rng.choice(found)
    kind = rng.choice(["number", "number", "number", "kind", "name", "remove", "add", "empty", "again"])
    if kind == "number":
        if a.type == AttributeProto.INTS and a.ints:
            a.ints[rng.randrange(len(a.ints))] = rng.choice(NUMBERS)
        elif a.type == AttributeProto.INTS:
            a.ints.extend(rng.choices(NUMBERS, k=2))
        elif a.type == AttributeProto.FLOAT:
            a.f = rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e38])
        elif a.type == AttributeProto.STRING:
            a.s = rng.choice([b"", b"\xff", b"nonsense", b"ij,jk->ik", a.s * 3])
        else:
            a.i = rng.choice(NUMBERS)
    elif kind == "kind":
        a.type = rng.choice(list(AttributeProto.AttributeType.values()))
    elif kind == "name":
        a.name = rng.choice(["axis", "axes", "to", "body", "perm", "value", "keepdims", "num_scan_inputs", "", a.name + "s"])
    elif kind == "remove":
        node.attribute.remove(a)
    elif kind == "add":
        name = rng.choice(["axis", "axes", "to", "perm", "value", "num_scan_inputs", "scan_input_axes", "batch_dims"])
        node.attribute.append(helper.make_attribute(name, rng.choice([rng.choice(NUMBERS), [rng.choice(NUMBERS)], "text", 1.5])))
    elif kind == "empty":
        for field in ("ints", "floats", "strings", "t", "g", "i", "s"):
            a.ClearField(field)
    else:
        node.attribute.append(AttributeProto.FromString(a.SerializeToString()))


def tensors(rng, model):
    """Dims, dtype or data of a stored tensor that do not go together."""
    found = [t for g in graphs(model) for t in g.initializer]
    found += [a.t for g in graphs(model) for n in g.node for a in n.attribute if a.HasField("t")]
    if not found:
        return
    t = rng.choice(found)
    kind = rng.choice(["dim", "dim", "dims", "dtype", "data", "name", "location"])
    if kind == "dim" and t.dims:
        t.dims[rng.randrange(len(t.dims))] = rng.choice(NUMBERS)
    elif kind in ("dim", "dims"):
        t.dims.extend(rng.choices(NUMBERS, k=rng.choice([1, 2, 70])))
    elif kind == "dtype":
        t.data_type = rng.choice([*TensorProto.DataType.values(), 99, -1])
    elif kind == "data":
        t.raw_data = rng.choice([b"", t.raw_data[:-1], t.raw_data + b"\0", b"\xff" * len(t.raw_data), t.raw_data * 3])
    elif kind == "name":
        t.name = rng.choice(NAMES)
    else:
        t.data_location = TensorProto.EXTERNAL
        t.external_data.add(key="location", value=rng.choice(["/etc/passwd", "../x", "none", ""]))


def ports(rng, model):
    """What is declared of an input or output: dtype, extents, kind, name; or one more, or one less."""
    graph = rng.choice(graphs(model))
    side = rng.choice([graph.input, graph.output, graph.output])
    if not side:
        return
    k = rng.randrange(len(side))
    kind = rng.choice(["dim", "dim", "name", "dtype", "form", "remove", "again", "nothing", "exchange"])
    port = side[k]
    shape = port.type.tensor_type.shape
    if kind == "dim":
        dim = rng.choice(list(shape.dim)) if shape.dim and rng.random() < 0.7 else shape.dim.add()
        if rng.random() < 0.7:
            dim.dim_value = rng.choice(NUMBERS)
        else:
            dim.dim_param = rng.choice([*NAMES, "N", "M", "K"])
    elif kind == "name":
        port.name = rng.choice([*NAMES, *(p.name for g in graphs(model) for p in (*g.input, *g.output))])
    elif kind == "dtype":
        port.type.tensor_type.elem_type = rng.choice([*TensorProto.DataType.values(), 99, -1])
    elif kind == "form":
        inner = onnx.TypeProto.FromString(port.type.SerializeToString())
        port.type.Clear()
        rng.choice([port.type.sequence_type, port.type.optional_type]).elem_type.CopyFrom(inner)
    elif kind == "remove":
        del side[k]
    elif kind == "again":
        side.append(onnx.ValueInfoProto.FromString(port.SerializeToString()))
    elif kind == "nothing":
        port.ClearField("type")
    elif len(side) > 1:
        other = rng.randrange(len(side))
        name = side[other].name
        side[other].name = port.name
        port.name = name


def header(rng, model):
    """Versions, imports, functions."""
    kind = rng.choice(["ir", "opset", "import", "functions", "graph"])
    if kind == "ir":
        model.ir_version = rng.choice(NUMBERS)
    elif kind == "opset" and model.opset_import:
        model.opset_import[0].version = rng.choice([*NUMBERS, 1, 7, 10, 12, 13, 24, 25, 26])
    elif kind == "import":
        model.opset_import.append(helper.make_opsetid(rng.choice(["", "local", "x"]), rng.choice([1, 21, 99])))
    elif kind == "functions" and model.functions:
        function = rng.choice(list(model.functions))
        if rng.random() < 0.4 and function.node:  # it calls itself
            function.node.append(helper.make_node(function.name, list(function.input), ["again"], domain="local"))
        else:
            rng.choice([function.input, function.output]).append(rng.choice(NAMES))
    elif kind == "graph":
        model.graph.ClearField(rng.choice(["input", "output", "initializer", "name", "node"]))


CHANGES = [node_names, node_names, node_kind, attributes, attributes, tensors, ports, ports, header]
