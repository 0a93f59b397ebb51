"""The time of a call of an ONNX operator as a Python function; one table.

    python bench/functions.py

The same small call in Rondel, in modeci_mdf (which makes a session of ONNX Runtime in each call), and as a session of ONNX Runtime
that exists already. Medians of rounds in which the engines take turns, in microseconds per call; ratios are relative to Rondel.
"""

import time
import warnings
from statistics import median

import numpy as np
import onnx
import onnxruntime

from rondel.functions import onnx as functions

ROUNDS = 11
SECONDS = 0.02

A = np.arange(8, dtype=np.float32)
M = np.ones((8, 8), np.float32)


def session(nodes, inputs):
    """A function that calls an ONNX Runtime session for a model of these nodes."""
    head = '<ir_version: 8, opset_import: ["" : 15]> g '
    made = onnxruntime.InferenceSession(onnx.parser.parse_model(head + nodes).SerializeToString())
    return lambda: made.run(None, inputs)


def graph_body():
    text = "body (int64 i, bool go, float[n] x) => (bool on, float[n] y) { [a] on = Identity(go)  [b] y = Add(x, x) }"
    return onnx.parser.parse_graph(text)


def branching(i, go, x):
    return go, functions.tanh(functions.if_(i > 4, then_branch=lambda: x + A, else_branch=lambda: x * 2))


def running_sum(s, x):
    return s + x, s


def workloads():
    """(name, Rondel, modeci_mdf, ONNX Runtime) of each row."""
    import modeci_mdf.functions.onnx as mdf

    body, trips, yes = graph_body(), np.array(10), np.array(True)
    yield (
        "add of f32[8]",
        lambda: functions.add(A, A),
        lambda: mdf.add(A, A),
        session("(float[n] a, float[n] b) => (float[n] c) { c = Add(a, b) }", {"a": A, "b": A}),
    )
    yield (
        "softmax of f32[8]",
        lambda: functions.softmax(A, axis=0),
        lambda: mdf.softmax(A, axis=0),
        session("(float[n] a) => (float[n] c) { c = Softmax<axis = 0>(a) }", {"a": A}),
    )
    yield (
        "matmul of f32[8,8]",
        lambda: functions.matmul(M, M),
        lambda: mdf.matmul(M, M),
        session("(float[n,k] a, float[k,m] b) => (float[n,m] c) { c = MatMul(a, b) }", {"a": M, "b": M}),
    )
    loop = (
        "(int64 m, bool go, float[n] x) => (float[n] y) { y = Loop(m, go, x) <body = body (int64 i, bool go, float[n] x)"
        " => (bool on, float[n] y) { on = Identity(go)  y = Add(x, x) }> }"
    )
    yield (
        "loop of 10 trips, a GraphProto",
        lambda: functions.loop(10, True, A, body=body),
        lambda: mdf.loop(trips, yes, A, body=body),
        session(loop, {"m": trips, "go": yes, "x": A}),
    )
    yield ("loop of 10 trips, a function", lambda: functions.loop(10, True, A, body=lambda i, go, x: (go, x + x)), None, None)
    yield ("  one with a branch and an array", lambda: functions.loop(10, True, A, body=branching), None, None)
    yield ("scan of 8 elements, a function", lambda: functions.scan(A[0], A, num_scan_inputs=1, body=running_sum), None, None)
    yield ("if_ of functions", lambda: functions.if_(True, then_branch=lambda: A, else_branch=lambda: functions.neg(A)), None, None)


def microseconds(call):
    """The time of one call, averaged over calls that take `SECONDS` together."""
    count, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < SECONDS or count == 0:
        call()
        count += 1
    return passed / count * 1e6


def main():
    warnings.simplefilter("ignore")
    print(f"{'call':<32} {'rondel':>9} {'modeci_mdf':>12} {'ratio':>7} {'ONNX Runtime':>13} {'ratio':>7}")
    for name, *calls in workloads():
        present = [call for call in calls if call is not None]
        times = [[] for _ in present]
        for call in present:
            microseconds(call)
        for _ in range(ROUNDS):
            for call, found in zip(present, times):
                found.append(microseconds(call))
        ours, *theirs = [median(found) for found in times]
        columns = "".join(f" {t:>12.1f} {t / ours:>7.1f}" for t in theirs)
        print(f"{name:<32} {ours:>9.1f}{columns}", flush=True)


if __name__ == "__main__":
    main()
