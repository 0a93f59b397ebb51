"""Softmax and its kin on rows of a few elements, in loops and outside: chains of element-wise nodes and reductions of rows."""

import random

import numpy as np
import onnx.parser
import pytest
from models import interpreter, run_as, session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
UNARY = ["Exp", "Tanh", "Sigmoid", "Neg", "Abs", "Erf"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceSumSquare", "ReduceL1"]


def chain(draw, trailing):
    """Nodes that make new values of "x" and "w": elements of rows, and one element a row. (nodes, elements, elements of rows)"""
    elements, by_row, nodes = ["x", "w"], [], []
    axes = "axes2" if trailing == 2 else "axes1"
    for k in range(draw.randint(3, 9)):
        name = f"v{k}"
        kind = draw.choice(["unary", "binary", "binary", "reduction", "row"])
        if kind == "row" and not by_row:
            kind = "reduction"
        if kind == "reduction":
            nodes.append(f"{name} = {draw.choice(REDUCTIONS)} <keepdims = 1> ({draw.choice(elements)}, {axes})")
        elif kind == "row":
            nodes.append(f"{name} = {draw.choice(BINARY)} ({draw.choice(by_row)}, {draw.choice(by_row)})")
        elif kind == "unary":
            nodes.append(f"{name} = {draw.choice(UNARY)} ({draw.choice(elements[-3:])})")
        else:
            nodes.append(f"{name} = {draw.choice(BINARY)} ({draw.choice(elements[-3:])}, {draw.choice(elements + by_row)})")
        (by_row if kind in ("reduction", "row") else elements).append(name)
    return nodes, elements, by_row


def program(seed):
    """(model, feeds) of a chain: as it is, or as the body of a loop whose state is "x"."""
    draw = random.Random(seed)
    trailing = draw.choice([1, 1, 1, 2])
    row = [draw.choice([1, 2, 3, 4, 5, 7, 8, 10, 13, 15, 16, 17])] if trailing == 1 else [draw.randint(1, 4), draw.randint(1, 5)]
    rows = draw.choice([[], [1], [7], [8], [16], [31], [40], [3, 5], [2, 9]])
    dtype, numpy_type = draw.choice([("float", np.float32), ("float", np.float32), ("double", np.float64), ("float16", np.float16)])
    nodes, elements, by_row = chain(draw, trailing)
    declared = [f"D{k}" if draw.random() < 0.4 else extent for k, extent in enumerate(rows)] + row
    x = f"{dtype}[{', '.join(map(str, declared))}]"
    r = f"{dtype}[{', '.join(map(str, declared[: len(rows)] + [1] * trailing))}]"
    results = [(x, v) for v in draw.sample(elements[2:], min(len(elements) - 2, draw.randint(0, 2)))]
    results += [(r, v) for v in draw.sample(by_row, min(len(by_row), draw.randint(0, 2)))]
    results = results or [(x, "last")]
    last = f"last = {draw.choice(['Tanh', 'Sigmoid', 'Abs'])} ({elements[-1]})"
    lines = [*nodes, last]
    state = draw.choice([*elements[2:], "last", "last"])  # the nodes after it read the old value, too
    constants = "int64[1] axes1 = {-1}, int64[2] axes2 = {-2, -1}, bool yes = {1}, int64 trips = {3}"
    outside = ", ".join(f"{t} {v}" for t, v in results)
    if draw.random() < 0.5:
        model = f"g ({x} x, {x} w) => ({outside}) <{constants}> {{ {' '.join(lines)} }}"
    else:
        stacks = ", ".join(f"{t.replace('[', '[3, ', 1)} s_{v}" for t, v in results)
        body = f"step (int64 i, bool go, {x} x) => (bool on, {x} {state}, {', '.join(f'{t} o_{v}' for t, v in results)})"
        copies = " ".join(f"o_{v} = Identity ({v})" for _, v in results)
        model = f"""g ({x} x0, {x} w) => ({x} end, {stacks}) <{constants}> {{
          end, {', '.join(f's_{v}' for _, v in results)} = Loop <body = {body} {{ on = Identity (go) {' '.join(lines)} {copies} }}> (trips, yes, x0) }}"""
    numbers = np.random.default_rng(seed)
    shape = rows + row
    values = [numbers.standard_normal(shape).astype(numpy_type) for _ in range(2)]
    first = "x0" if " x0," in model else "x"
    return onnx.parser.parse_model(HEAD + model).SerializeToString(), {first: values[0], "w": values[1]}


@pytest.mark.parametrize("seed", range(150))
def test_native_code_gives_the_interpreters_results(seed, monkeypatch):
    monkeypatch.setenv("RONDEL_VERIFY", "1")
    model, feeds = program(seed)
    expected = session(model, options=interpreter()).run(None, feeds)
    for way in ("2", "checked"):
        run_as(monkeypatch, way)
        for native, interpreted in zip(session(model).run(None, feeds), expected, strict=True):
            np.testing.assert_array_equal(native, interpreted, strict=True)


@pytest.mark.parametrize("rows", [1, 7, 8, 40])
def test_a_softmax_of_few_classes(rows):
    model = onnx.parser.parse_model(HEAD + "g (float[N, 10] x) => (float[N, 10] y) { y = Softmax (x) }").SerializeToString()
    x = np.random.default_rng(rows).standard_normal((rows, 10)).astype(np.float32) * 8
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    np.testing.assert_allclose(session(model).run(None, {"x": x})[0], e / e.sum(-1, keepdims=True), rtol=1e-5)
