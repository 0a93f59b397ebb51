"""The time of single ops that are common in real models, compared with ONNX Runtime; one table.

    ./dev bench kernels                every row
    ./dev bench kernels --only conv    those whose names contain "conv" (may be given again)

A model has several nodes of one op, each with an input of its own, so that they share the cost of a call from Python. That cost is measured
with a nearly empty model (the first row) and subtracted. The engines take turns; figures are medians. ratio: Rondel's time divided by ONNX
Runtime's; fastest: the ratio of the fastest calls, which depends less on other load of the machine. One thread each. Exit code: 0; 1 if
outputs differ by more than 1e-3.
"""

import sys
from statistics import median

import numpy as np
import onnx
from commands import ENGINES, Parser, Table, machine, require
from harness import TOLERANCE, disagreement, run_times, session, warm_up
from onnx import helper

NODES = 8
F16, F32 = np.float16, np.float32


def pool(op, shape, kernel, dtype=F32, outputs=1, **attributes):
    """A pooling op."""
    return op, [(dtype, shape)], {"kernel_shape": kernel, **attributes}, outputs


def conv(shape, weights, **attributes):
    """A convolution of f32."""
    return "Conv", [(F32, shape), (F32, weights)], attributes, 1


ROWS = {
    "max 3x3 s2, 64 of 112x112": pool("MaxPool", (1, 64, 112, 112), [3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "max 2x2 s2, 64 of 56x56": pool("MaxPool", (1, 64, 56, 56), [2, 2], strides=[2, 2]),
    "max 3x3 s1, 192 of 28x28": pool("MaxPool", (1, 192, 28, 28), [3, 3], pads=[1, 1, 1, 1]),
    "max 5x5 s1, 512 of 13x13": pool("MaxPool", (1, 512, 13, 13), [5, 5], pads=[2, 2, 2, 2]),
    "max 9x9 s1, 512 of 13x13": pool("MaxPool", (1, 512, 13, 13), [9, 9], pads=[4, 4, 4, 4]),
    "max 13x13 s1, 512 of 13x13": pool("MaxPool", (1, 512, 13, 13), [13, 13], pads=[6, 6, 6, 6]),
    "max 9x9 s1, 1 of 256x256": pool("MaxPool", (1, 1, 256, 256), [9, 9], pads=[4, 4, 4, 4]),
    "max 3x3 s2, indices": pool(
        "MaxPool", (1, 64, 56, 56), [3, 3], outputs=2, strides=[2, 2], pads=[1, 1, 1, 1]
    ),
    "max 3 s2, 64 of 1000": pool("MaxPool", (1, 64, 1000), [3], strides=[2]),
    "max 2x2x2 s2, 32 of 28^3": pool("MaxPool", (1, 32, 28, 28, 28), [2, 2, 2], strides=[2, 2, 2]),
    "max 3x3 s2, f16, 64 of 56x56": pool("MaxPool", (1, 64, 56, 56), [3, 3], F16, strides=[2, 2]),
    "mean 7x7, 2048 of 7x7": pool("AveragePool", (1, 2048, 7, 7), [7, 7]),
    "mean 7x7, 512 of 7x7": pool("AveragePool", (1, 512, 7, 7), [7, 7]),
    "mean 2x2 s2, 128 of 56x56": pool("AveragePool", (1, 128, 56, 56), [2, 2], strides=[2, 2]),
    "mean 3x3 s1, 192 of 28x28": pool("AveragePool", (1, 192, 28, 28), [3, 3], pads=[1, 1, 1, 1]),
    "max 2x2 s2, 512 of 14x14": pool("MaxPool", (1, 512, 14, 14), [2, 2], strides=[2, 2]),
    "max 3x3 s2, 256 of 13x13": pool("MaxPool", (1, 256, 13, 13), [3, 3], strides=[2, 2]),
    "max 3x3 s1, 1024 of 7x7": pool("MaxPool", (1, 1024, 7, 7), [3, 3], pads=[1, 1, 1, 1]),
    "max 3x3 s2, 32 of 224x224": pool("MaxPool", (1, 32, 224, 224), [3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "max 3x3 s2, 192 of 35x35": pool("MaxPool", (1, 192, 35, 35), [3, 3], strides=[2, 2]),
    "mean 3x3 s1, 768 of 17x17": pool("AveragePool", (1, 768, 17, 17), [3, 3], pads=[1, 1, 1, 1]),
    "mean 5x5 s3, 768 of 17x17": pool("AveragePool", (1, 768, 17, 17), [5, 5], strides=[3, 3]),
    "global max, 512 of 28x28": ("GlobalMaxPool", [(F32, (1, 512, 28, 28))], {}, 1),
    "global mean, 512 of 28x28": ("GlobalAveragePool", [(F32, (1, 512, 28, 28))], {}, 1),
    "conv 3x3, 32 of 56x56": conv((1, 32, 56, 56), (32, 32, 3, 3), pads=[1, 1, 1, 1]),
    "conv 1x31, 8 of 1024": conv((1, 8, 1024), (8, 8, 31)),
    "conv 1x39, 8 of 1024": conv((1, 8, 1024), (8, 8, 39)),
    "conv 1x64, 8 of 4096": conv((1, 8, 4096), (8, 8, 64)),
    "conv 1x400, 1 of 16000": conv((1, 1, 16000), (128, 1, 400), strides=[160]),
    "conv 1x128, depthwise": conv((1, 32, 2048), (32, 1, 128), group=32),
}


def model(op, inputs, attributes, outputs):
    """(a model of NODES nodes of an op, its feeds)."""
    rng = np.random.default_rng(1)
    nodes, given, made, feeds = [], [], [], {}
    for k in range(NODES):
        names = [f"x{k}_{i}" for i in range(len(inputs))]
        results = [f"y{k}_{j}" for j in range(outputs)]
        nodes.append(helper.make_node(op, names, results, **attributes))
        for name, (dtype, shape) in zip(names, inputs):
            given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
            feeds[name] = rng.standard_normal(shape).astype(dtype)
        types = [given[-len(inputs)].type.tensor_type.elem_type, onnx.TensorProto.INT64]
        made += [helper.make_tensor_value_info(name, types[j], None) for j, name in enumerate(results)]
    graph = helper.make_graph(nodes, "kernels", given, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), feeds


def measure(row, rounds):
    """(the median and the minimum of the seconds of a call of each engine, the difference of their outputs)."""
    proto, feeds = model(*row)
    calls = {}
    for engine in ENGINES:
        made = session(engine, proto.SerializeToString())
        calls[engine] = lambda made=made: made.run(None, feeds)
        warm_up(calls[engine])
    outputs = [call() for call in calls.values()]
    times = run_times(calls, rounds)
    return [np.array([median(found), min(found)]) for found in times.values()], disagreement(*outputs)


def main(arguments=None):
    options = Parser("kernels", __doc__, ROWS, rounds=25).parse_args(arguments)
    require(*ENGINES)
    alone = f"a call, {NODES} inputs and outputs"
    table = Table("op", [alone, *ROWS], "rondel, us", "ONNX Runtime, us", "ratio", "fastest")

    def add(name, ours, theirs):
        usual, fastest = ours / theirs
        table.add(name, f"{1e6 * ours[0]:.1f}", f"{1e6 * theirs[0]:.1f}", f"{usual:.2f}", f"{fastest:.2f}")

    call, _ = measure(("Neg", [(F32, (4,))], {}, 1), options.rounds)
    add(alone, *call)
    wrong = []
    for name in options.rows:
        times, difference = measure(ROWS[name], options.rounds)
        add(name, *((found - empty) / NODES for found, empty in zip(times, call)))
        if difference > TOLERANCE:
            wrong.append(f"{name}: the outputs differ by {difference:.1e}")
    print(machine())
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
