"""A small machine that runs ONNX graphs with NumPy: the oracle of random programs. It shares no code with Rondel.

It executes one node after another: a loop is a `while`, a capture is a look-up in the enclosing scopes.

    core.py         graphs, scopes, the machine; Loop, Scan, If, functions
    elementwise.py  ops on elements; reductions.py, movement.py, products.py, sequences.py: the other ops
    recurrent.py    RNN, GRU, LSTM; reference.py: ops that onnx's reference evaluator runs
    older.py        what older versions of ops say by attributes
    zero_trips.py   the shapes of stacks without trips
    exact.py        refuses arithmetic whose bits depend on the order of evaluation
"""

from .core import Graph, Inexact, Machine, Node, Scope, TooLong, WrongProgram, read_graph, read_model
from .ops import OPS

__all__ = [
    "OPS", "Graph", "Inexact", "Machine", "Node", "Scope", "TooLong", "WrongProgram", "read_graph", "read_model", "run_model",
]  # fmt: skip


def run_model(model, feeds):
    """The outputs of the model as a list: arrays, lists of arrays for sequences, None for an empty optional."""
    graph, functions = read_model(model)
    return Machine(functions).run(graph, feeds)
