"""Cases of ONNX Runtime's own ops as models, alone and in a loop, and their results here and in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import rondel
from onnx import TensorProto, helper

OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]


def given(c):
    return {k: v for k, v in c.feeds.items() if v is not None}


def node_of(c, rename=None):
    names = [(rename or {}).get(k, k) if v is not None else "" for k, v in c.feeds.items()]
    while not names[-1]:
        names.pop()
    return helper.make_node(c.op, names, list(c.outputs), domain=c.domain, name="node", **c.attributes)


def declared(name, array, known=True):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape if known else [None] * array.ndim)


def model_of(c, known=True, constants=()):
    """The case as a model. Its extents are known or not; inputs may be constants."""
    feeds = given(c)
    graph = helper.make_graph(
        [node_of(c)],
        "g",
        [declared(k, v, known) for k, v in feeds.items() if k not in constants],
        [helper.make_empty_tensor_value_info(name) for name in c.outputs if name],
        [onnx.numpy_helper.from_array(feeds[k], k) for k in constants],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10).SerializeToString()


def without_extents(c):
    """The case as a model whose extents are not known, but for those that the op needs; and what it is fed."""
    constants = ["w"] if c.op == "CausalConvWithState" else []
    return model_of(c, False, constants), {k: v for k, v in given(c).items() if k not in constants}


def looped(c):
    """Three trips of the op on a first input that shrinks; all results of all trips."""
    feeds = given(c)
    first = next(iter(feeds))
    shrink = helper.make_node("Mul", ["state", "factor"], ["next"]) if feeds[first].dtype.kind == "f" else helper.make_node("Identity", ["state"], ["next"])
    results = [name for name in c.outputs if name]
    body = helper.make_graph(
        [node_of(c, {first: "state"}), shrink, helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), declared("state", feeds[first])],
        [helper.make_empty_tensor_value_info(name) for name in ["on", "next", *results]],
    )
    loop = helper.make_node("Loop", ["trips", "", first], ["final", *(f"all_{name}" for name in results)], body=body)
    constants = {"trips": np.array(3), "factor": np.array(0.75, feeds[first].dtype)}
    graph = helper.make_graph(
        [loop],
        "g",
        [declared(k, v) for k, v in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in loop.output],
        [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10).SerializeToString()


def theirs(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def ours(model, feeds):
    return rondel.InferenceSession(model).run(None, feeds)


def agree(c, found, wanted):
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=c.tolerance * 5, atol=c.tolerance)
        else:
            np.testing.assert_allclose(got.astype(int), want.astype(int), rtol=0, atol=c.steps)
