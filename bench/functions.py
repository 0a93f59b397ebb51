"""The time of a call of an ONNX operator as a Python function; one table.

    ./dev bench functions                every row
    ./dev bench functions --only loop    those whose names contain "loop" (may be given again)

The same small call in Rondel, in modeci_mdf (which makes a session of ONNX Runtime in each call), and as a session of ONNX Runtime that
exists already, with one thread. Medians of rounds in which the engines take turns. ratio: the other's time divided by Rondel's. Exit code:
0; 1 if results differ by more than 1e-3.
"""

import sys
import warnings
from statistics import median

import numpy as np
import onnx.parser
from commands import Parser, Table, machine, require
from harness import TOLERANCE, disagreement, measure_in_turns, warm_up
from harness import session as session_of

from rondel.functions import onnx as functions

ENGINES = ("rondel", "modeci_mdf", "onnxruntime")
A = np.arange(8, dtype=np.float32)
M = np.ones((8, 8), np.float32)


def session(nodes, inputs):
    """A function that calls an ONNX Runtime session for a model of these nodes."""
    head = '<ir_version: 8, opset_import: ["" : 15]> g '
    made = session_of("onnxruntime", onnx.parser.parse_model(head + nodes).SerializeToString())
    return lambda: made.run(None, inputs)


def graph_body():
    text = "body (int64 i, bool go, float[n] x) => (bool on, float[n] y) { [a] on = Identity(go)  [b] y = Add(x, x) }"
    return onnx.parser.parse_graph(text)


def branching(i, go, x):
    return go, functions.tanh(functions.if_(i > 4, then_branch=lambda: x + A, else_branch=lambda: x * 2))


def running_sum(s, x):
    return s + x, s


def mdf():
    import modeci_mdf.functions.onnx  # not above: it takes seconds

    return modeci_mdf.functions.onnx


def rows():
    """Name to the calls in Rondel, modeci_mdf and ONNX Runtime, or in Rondel alone."""
    body, trips, yes = graph_body(), np.array(10), np.array(True)
    loop = (
        "(int64 m, bool go, float[n] x) => (float[n] y) { y = Loop(m, go, x) <body = body (int64 i, bool go, float[n] x)"
        " => (bool on, float[n] y) { on = Identity(go)  y = Add(x, x) }> }"
    )
    return {
        "add of f32[8]": (
            lambda: functions.add(A, A),
            lambda: mdf().add(A, A),
            session("(float[n] a, float[n] b) => (float[n] c) { c = Add(a, b) }", {"a": A, "b": A}),
        ),
        "softmax of f32[8]": (
            lambda: functions.softmax(A, axis=0),
            lambda: mdf().softmax(A, axis=0),
            session("(float[n] a) => (float[n] c) { c = Softmax<axis = 0>(a) }", {"a": A}),
        ),
        "matmul of f32[8,8]": (
            lambda: functions.matmul(M, M),
            lambda: mdf().matmul(M, M),
            session("(float[n,k] a, float[k,m] b) => (float[n,m] c) { c = MatMul(a, b) }", {"a": M, "b": M}),
        ),
        "loop of 10 trips, a GraphProto": (
            lambda: functions.loop(10, True, A, body=body),
            lambda: mdf().loop(trips, yes, A, body=body),
            session(loop, {"m": trips, "go": yes, "x": A}),
        ),
        "loop of 10 trips, a function": (lambda: functions.loop(10, True, A, body=lambda i, go, x: (go, x + x)),),
        "loop of 10 trips, a branch and an array": (lambda: functions.loop(10, True, A, body=branching),),
        "scan of 8 elements, a function": (lambda: functions.scan(A[0], A, num_scan_inputs=1, body=running_sum),),
        "if_ of functions": (lambda: functions.if_(True, then_branch=lambda: A, else_branch=lambda: functions.neg(A)),),
    }


def main(arguments=None):
    require(*ENGINES)
    warnings.simplefilter("ignore")
    made = rows()
    options = Parser("functions", __doc__, made, rounds=11).parse_args(arguments)
    table = Table("us a call", made, "rondel", "modeci_mdf", "ratio", "ONNX Runtime", "ratio")
    wrong = []
    for name in options.rows:
        calls = dict(zip(ENGINES, made[name]))
        for call in calls.values():
            warm_up(call)
        results = {engine: as_list(call()) for engine, call in calls.items()}
        times = {engine: median(found) for engine, found in measure_in_turns(calls, options.rounds).items()}
        cells = [f"{1e6 * times['rondel']:.1f}"]
        for engine in ENGINES[1:]:
            if engine not in calls:
                cells += ["", ""]
                continue
            cells += [f"{1e6 * times[engine]:.1f}", f"{times[engine] / times['rondel']:.1f}"]
            if (difference := disagreement(results["rondel"], results[engine])) > TOLERANCE:
                wrong.append(f"{name}: {engine}'s result differs by {difference:.1e}")
        table.add(name, *cells)
    print(machine())
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


if __name__ == "__main__":
    sys.exit(main())
