"""The same LSTM as one `LSTM` node: ONNX Runtime has a kernel of its own for it."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from harness import Workload
from workloads.lstm_scan import SIZE, TRIPS, inputs, weights


def workload():
    w, r, bias = weights()
    constants = {
        "w": w.T[None].copy(),
        "r": r.T[None].copy(),
        "b": np.concatenate([bias, np.zeros_like(bias)])[None],
    }
    node = helper.make_node("LSTM", ["xs", "w", "r", "b"], ["hs", "h", "c"], hidden_size=SIZE)
    graph = helper.make_graph(
        [node],
        "lstm_op",
        [helper.make_tensor_value_info("xs", TensorProto.FLOAT, [TRIPS, 1, SIZE])],
        [
            helper.make_tensor_value_info("hs", TensorProto.FLOAT, [TRIPS, 1, 1, SIZE]),
            helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, SIZE]),
            helper.make_tensor_value_info("c", TensorProto.FLOAT, [1, 1, SIZE]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    return Workload(
        name="lstm_op",
        doc="LSTM node, H=256 B=1 T=256",
        model=model.SerializeToString(),
        feeds={"xs": inputs()["xs"]},
        trips=TRIPS,
    )
