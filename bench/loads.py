"""The time to make a session for graphs of many nodes, compared with ONNX Runtime; one table.

    ./dev bench loads                 every form
    ./dev bench loads --only chain    the forms whose names contain "chain" (may be given again)

Models of 16,000 nodes of several forms, and 300 nested loops made with the network builder, which ONNX Runtime does not read. Figures are
the CPU time of the calling thread, medians of rounds in which the engines take turns; one thread each. ratio: ONNX Runtime's time divided by
Rondel's. Each graph is also measured with half as many nodes, to show that the time grows linearly.
"""

import sys
import time
from statistics import median

import numpy as np
from commands import ENGINES, Parser, Table, machine, measuring, require
from harness import session
from onnx import TensorProto, helper, numpy_helper

NODES = 16_000
LOOPS = 300


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


FORMS = {make.__name__: make for make in (chain, identities, constants, fan_out)}


def milliseconds(acts, rounds):
    """The median CPU time of the calling thread, for each of these named functions, which take turns."""
    times = {who: [] for who in acts}
    for order in measuring.turns(acts, rounds):
        for who in order:
            begin = time.thread_time()
            acts[who]()
            times[who].append(time.thread_time() - begin)
    return {who: 1e3 * median(found) for who, found in times.items()}


def main(arguments=None):
    options = Parser("loads", __doc__, [*FORMS, "nested_loops"], rounds=5).parse_args(arguments)
    require(*ENGINES)
    table = Table("graph", [*FORMS, "nested_loops"], "nodes", "rondel, ms", "ONNX Runtime, ms", "ratio")
    for name in options.rows:
        for count in (LOOPS // 2, LOOPS) if name == "nested_loops" else (NODES // 2, NODES):
            if name == "nested_loops":
                found = milliseconds({"rondel": lambda: nested_loops(count)}, options.rounds)
                theirs = ("", "")
            else:
                model = FORMS[name](count)
                found = milliseconds({engine: lambda engine=engine: session(engine, model) for engine in ENGINES}, options.rounds)
                theirs = (f"{found['onnxruntime']:.0f}", f"{found['onnxruntime'] / found['rondel']:.2f}")
            table.add(name, f"{count:,}", f"{found['rondel']:.0f}", *theirs)
    print(machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
