"""An LSTM layer made of an iterator, two recurrences and a loop output; ONNX's LSTM op gives the same results.

This replaces TensorRT's IRNNv2Layer. The loop has one matrix product per trip, for all gates; the product of the whole
input is computed before the loop.
"""

import numpy as np
import rondel
from onnx import TensorProto, helper

from rondel.network import *  # noqa: F403

TIME, BATCH, INPUT, HIDDEN = 12, 3, 5, 8


def add_lstm(n, x, w, r, b, h0, c0):
    """(all hidden states [time, batch, hidden], the last hidden state, the last cell state).

    x [time, batch, input]; w [4 hidden, input], r [4 hidden, hidden], b [4 hidden] with the gates in the order i, o, f, c;
    h0, c0 [batch, hidden].
    """

    def times(a, weights):
        return n.add_matrix_multiply(a, MatrixOperation.NONE, weights, MatrixOperation.TRANSPOSE).get_output(0)

    def elementwise(a, b, op):
        return n.add_elementwise(a, b, op).get_output(0)

    def activation(a, kind):
        return n.add_activation(a, kind).get_output(0)

    def constant(array):
        return n.add_constant(array.shape, array).get_output(0)

    gates_x = elementwise(times(x, constant(w[None])), constant(b[None, None]), ElementWiseOperation.SUM)

    loop = n.add_loop()
    loop.name = "lstm"
    length = n.add_slice(n.add_shape(x).get_output(0), (0,), (1,), (1,))
    scalar = n.add_shuffle(length.get_output(0))
    scalar.reshape_dims = ()
    loop.add_trip_limit(scalar.get_output(0), TripLimit.COUNT)

    now = loop.add_iterator(gates_x).get_output(0)
    h, c = loop.add_recurrence(h0), loop.add_recurrence(c0)
    gates = elementwise(now, times(h.get_output(0), constant(r)), ElementWiseOperation.SUM)

    def gate(k, kind):
        part = n.add_slice(gates, (0, k * HIDDEN), (BATCH, HIDDEN), (1, 1)).get_output(0)
        return activation(part, kind)

    i, o, f = (gate(k, ActivationType.SIGMOID) for k in range(3))
    candidate = gate(3, ActivationType.TANH)
    kept = elementwise(f, c.get_output(0), ElementWiseOperation.PROD)
    c_next = elementwise(kept, elementwise(i, candidate, ElementWiseOperation.PROD), ElementWiseOperation.SUM)
    h_next = elementwise(o, activation(c_next, ActivationType.TANH), ElementWiseOperation.PROD)
    h.set_input(1, h_next)
    c.set_input(1, c_next)

    return (
        loop.add_loop_output(h_next, LoopOutput.CONCATENATE).get_output(0),
        loop.add_loop_output(h.get_output(0), LoopOutput.LAST_VALUE).get_output(0),
        loop.add_loop_output(c.get_output(0), LoopOutput.LAST_VALUE).get_output(0),
    )


def onnx_lstm(w, r, b):
    """A model of one LSTM node with the same weights."""
    f32 = TensorProto.FLOAT
    inputs = {"x": [TIME, BATCH, INPUT], "h0": [1, BATCH, HIDDEN], "c0": [1, BATCH, HIDDEN]}
    weights = {"w": w[None], "r": r[None], "b": np.concatenate([b, np.zeros_like(b)])[None]}
    node = helper.make_node("LSTM", ["x", "w", "r", "b", "", "h0", "c0"], ["y", "h", "c"], hidden_size=HIDDEN)
    graph = helper.make_graph(
        [node],
        "lstm",
        [helper.make_tensor_value_info(name, f32, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, f32, None) for name in ("y", "h", "c")],
        [helper.make_tensor(name, f32, a.shape, a.reshape(-1)) for name, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main():
    random = np.random.default_rng(7)
    w, r, b = (random.normal(0, 0.5, s).astype(np.float32) for s in [(4 * HIDDEN, INPUT), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,)])
    x, h0, c0 = (random.normal(0, 1, s).astype(np.float32) for s in [(TIME, BATCH, INPUT), (BATCH, HIDDEN), (BATCH, HIDDEN)])

    n = Network()
    tensors = [n.add_input(name, DataType.FLOAT, a.shape) for name, a in [("x", x), ("h0", h0), ("c0", c0)]]
    for output in add_lstm(n, tensors[0], w, r, b, *tensors[1:]):
        n.mark_output(output)
    y, h, c = n.build_session().run(None, {"x": x, "h0": h0, "c0": c0})

    theirs = rondel.InferenceSession(onnx_lstm(w, r, b)).run(None, {"x": x, "h0": h0[None], "c0": c0[None]})
    for name, ours, other in zip(["y", "h", "c"], [y[:, None], h[None], c[None]], theirs, strict=True):
        print(f"{name}{list(other.shape)}: largest difference {np.abs(ours - other).max():.1e}")
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-6)


if __name__ == "__main__":
    main()
