"""The time to make a session for graphs of many nodes, compared with ONNX Runtime; one table.

    python bench/loads.py

Models of 16,000 nodes of several forms, and 300 nested loops made with the network builder. Figures are the CPU time of
the calling thread, medians of rounds in which the engines take turns. Each graph is also measured with half as many nodes, to
show that the time grows linearly.
"""

import time
from statistics import median

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import rondel

NODES = 16_000
LOOPS = 300
ROUNDS = 5


def made(nodes, outputs, constants=()):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in outputs]
    graph = helper.make_graph(
        nodes, "many", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])], values, list(constants)
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def chain(count):
    """A chain of nodes, each of which reads the one before."""
    ops = ("Add", "Mul", "Sub")
    half = numpy_helper.from_array(np.float32(0.5), "half")
    names = ["x"] + [f"v{k}" for k in range(count)]
    nodes = [helper.make_node(ops[k % 3], [names[k], "half"], [names[k + 1]]) for k in range(count)]
    return made(nodes, [names[-1]], [half])


def identities(count):
    """A chain whose every second node is an identity, which is removed."""
    names = ["x"] + [f"v{k}" for k in range(count)]
    ops = ("Identity", "Neg")
    return made([helper.make_node(ops[k % 2], [names[k]], [names[k + 1]]) for k in range(count)], [names[-1]])


def constants(count):
    """A chain of nodes on constants, which is folded."""
    half = numpy_helper.from_array(np.float32(0.5), "half")
    names = ["half"] + [f"v{k}" for k in range(count - 1)]
    nodes = [helper.make_node("Add", [names[k], "half"], [names[k + 1]]) for k in range(count - 1)]
    return made([*nodes, helper.make_node("Add", ["x", names[-1]], ["y"])], ["y"], [half])


def fan_out(count):
    """All nodes read one value, and one sum reads them all."""
    names = [f"v{k}" for k in range(count - 1)]
    nodes = [helper.make_node("Neg", ["x"], [name]) for name in names]
    return made([*nodes, helper.make_node("Sum", names, ["y"])], ["y"])


def nested_loops(depth):
    """Builds a network of nested loops, each of two trips with a state, and makes a session of it."""
    from rondel.network import DataType, ElementWiseOperation, LoopOutput, Network, TripLimit

    network = Network()
    half = network.add_constant((), np.float32(0.5)).get_output(0)
    two = network.add_constant((), np.int64(2)).get_output(0)

    def inside(level, value):
        if level == 0:
            return network.add_elementwise(value, half, ElementWiseOperation.SUM).get_output(0)
        loop = network.add_loop()
        loop.add_trip_limit(two, TripLimit.COUNT)
        state = loop.add_recurrence(value)
        state.set_input(1, inside(level - 1, state.get_output(0)))
        return loop.add_loop_output(state.get_output(0), LoopOutput.LAST_VALUE).get_output(0)

    network.mark_output(inside(depth, network.add_input("x", DataType.FLOAT, ())))
    network.build_session()


def seconds(act):
    begin = time.thread_time()
    act()
    return time.thread_time() - begin


def ort(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    print(f"{'graph':<12} {'nodes':>7} {'rondel, ms':>11} {'ONNX Runtime, ms':>17}")
    for make in (chain, identities, constants, fan_out):
        for count in (NODES // 2, NODES):
            model = make(count)
            times = {engine: [] for engine in (rondel.InferenceSession, ort)}
            for _ in range(ROUNDS):
                for engine, found in times.items():
                    found.append(seconds(lambda: engine(model)))
            ours, theirs = (1e3 * median(t) for t in times.values())
            print(f"{make.__name__:<12} {count:>7} {ours:>11.0f} {theirs:>17.0f}", flush=True)
    for depth in (LOOPS // 2, LOOPS):
        ours = 1e3 * median(seconds(lambda: nested_loops(depth)) for _ in range(ROUNDS))
        print(f"{'nested_loops':<12} {depth:>7} {ours:>11.0f} {'':>17}", flush=True)


if __name__ == "__main__":
    main()
