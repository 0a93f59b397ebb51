"""`greedy_decode`, written in onnxscript: blocks are functions of the model, the words a tensor that grows, and the loop a `while`."""

import onnx
from onnxscript import FLOAT, INT64, script
from onnxscript import opset21 as op

NOTHING = onnx.helper.make_tensor("nothing", onnx.TensorProto.INT64, [0], [])


@script()
def block(x, past_k, past_v, scale, split, join, g1, b1, q, k, v, o, g2, b2, up, down):
    n = op.LayerNormalization(x, g1, b1)
    query = op.Transpose(op.Reshape(op.MatMul(n, q), split), perm=[1, 0, 2])
    now_k = op.Concat(past_k, op.Transpose(op.Reshape(op.MatMul(n, k), split), perm=[1, 0, 2]), axis=1)
    now_v = op.Concat(past_v, op.Transpose(op.Reshape(op.MatMul(n, v), split), perm=[1, 0, 2]), axis=1)
    weights = op.Softmax(op.MatMul(query, op.Transpose(now_k, perm=[0, 2, 1])) * scale)
    mixed = op.Reshape(op.Transpose(op.MatMul(weights, now_v), perm=[1, 0, 2]), join)
    y = x + op.MatMul(mixed, o)
    return y + op.MatMul(op.Relu(op.MatMul(op.LayerNormalization(y, g2, b2), up)), down), now_k, now_v


@script()
def decode(
    most: INT64, begin: INT64, end: INT64,
    k0_0: FLOAT[4, 0, 32], v0_0: FLOAT[4, 0, 32], k0_1: FLOAT[4, 0, 32], v0_1: FLOAT[4, 0, 32],
    embedding: FLOAT[512, 128], places: FLOAT[256, 128], scale: FLOAT, split: INT64[3], join: INT64[2],
    g10: FLOAT[128], b10: FLOAT[128], q0: FLOAT[128, 128], k0: FLOAT[128, 128], v0: FLOAT[128, 128], o0: FLOAT[128, 128],
    g20: FLOAT[128], b20: FLOAT[128], up0: FLOAT[128, 512], down0: FLOAT[512, 128],
    g11: FLOAT[128], b11: FLOAT[128], q1: FLOAT[128, 128], k1: FLOAT[128, 128], v1: FLOAT[128, 128], o1: FLOAT[128, 128],
    g21: FLOAT[128], b21: FLOAT[128], up1: FLOAT[128, 512], down1: FLOAT[512, 128],
    g: FLOAT[128], b: FLOAT[128], head: FLOAT[128, 512],
) -> INT64["T"]:  # fmt: skip
    word = op.Identity(begin)
    keys_0, values_0 = op.Identity(k0_0), op.Identity(v0_0)
    keys_1, values_1 = op.Identity(k0_1), op.Identity(v0_1)
    words = op.Constant(value=NOTHING)
    i = op.Constant(value_int=0)
    going = i < most
    while going:
        x = op.Unsqueeze(op.Gather(embedding, word) + op.Gather(places, i), [0])
        x0, keys_0, values_0 = block(x, keys_0, values_0, scale, split, join, g10, b10, q0, k0, v0, o0, g20, b20, up0, down0)
        x1, keys_1, values_1 = block(x0, keys_1, values_1, scale, split, join, g11, b11, q1, k1, v1, o1, g21, b21, up1, down1)
        best = op.ArgMax(op.MatMul(op.LayerNormalization(x1, g, b), head), axis=1, keepdims=0)
        words = op.Concat(words, best, axis=0)
        word = op.Squeeze(best, [0])
        i = i + 1
        going = op.And(op.Not(word == end), i < most)
    return words


def model(weights):
    """The model with these weights: ONNX, serialized."""
    made = decode.to_model_proto(ir_version=10)
    (loop,) = (node for node in made.graph.node if node.op_type == "Loop")
    results = {name.rpartition("_")[0]: name for name in loop.output}
    loop.output[:] = [results[state] for state in loop.input[2:]]  # onnxscript 0.7.2 lists them in the order of a set
    inputs = [value for value in made.graph.input if value.name not in weights]
    del made.graph.input[:]
    made.graph.input.extend(inputs)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in weights.items())
    return made.SerializeToString()
