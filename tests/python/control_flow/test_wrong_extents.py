"""Operands of incompatible shapes in a loop's body raise the same error, however the loop is executed.

The code of a whole loop is compiled for a shape class: its assumptions must be checked for the extents of
each run, before and after a successful run.
"""

import numpy as np
import onnx.parser
import pytest

import rondel
from models import run_as

F = np.float32


def f(*shape):
    return np.ones(shape, F)


# name: nodes of the body, on the scanned `x` and the captured `w` and `v`; valid feeds; invalid feeds.
CASES = {
    "add": ("r = Add (x, w)", dict(x=f(3, 5), w=f(5)), dict(x=f(3, 5), w=f(4))),
    "add, shorter": ("r = Add (x, w)", dict(x=f(3, 5), w=f(5)), dict(x=f(3, 4), w=f(5))),
    "add of nothing": ("r = Add (x, w)", dict(x=f(3, 5), w=f(5)), dict(x=f(3, 0), w=f(5))),
    "add of a constant": ("r = Add (x, four)", dict(x=f(3, 4), w=f(1)), dict(x=f(3, 5), w=f(1))),
    "sum": ("r = Sum (x, w, x)", dict(x=f(3, 5), w=f(5)), dict(x=f(3, 5), w=f(3))),
    "where": ("c = Less (x, x) r = Where (c, x, w)", dict(x=f(3, 5), w=f(5)), dict(x=f(3, 5), w=f(2))),
    "mat_mul": ("r = MatMul (x, w)", dict(x=f(3, 2, 4), w=f(4, 3)), dict(x=f(3, 2, 4), w=f(3, 3))),
    "mat_mul, longer": ("r = MatMul (x, w)", dict(x=f(3, 2, 4), w=f(4, 3)), dict(x=f(3, 2, 4), w=f(9, 3))),
    "gemm": ("r = Gemm (x, w)", dict(x=f(3, 2, 4), w=f(4, 3)), dict(x=f(3, 2, 4), w=f(5, 3))),
    "gemm, bias": ("r = Gemm (x, w, v)", dict(x=f(3, 2, 4), w=f(4, 3), v=f(3)), dict(x=f(3, 2, 4), w=f(4, 3), v=f(2))),
    "einsum": ('r = Einsum <equation = "ij,jk->ik"> (x, w)', dict(x=f(3, 2, 4), w=f(4, 3)), dict(x=f(3, 2, 4), w=f(6, 3))),
    "batch_normalization": ("r = BatchNormalization (x, w, w, w, w)", dict(x=f(2, 3, 4), w=f(4)), dict(x=f(2, 3, 4), w=f(5))),
    "batch_normalization in training": (
        "r, m, v = BatchNormalization <training_mode = 1> (x, w, w, w, w)", dict(x=f(2, 3, 4), w=f(4)), dict(x=f(2, 3, 4), w=f(5))
    ),
    "batch_normalization in training, broadcast": (
        "r, m, v = BatchNormalization <training_mode = 1> (x, w, w, w, w)", dict(x=f(2, 3, 4), w=f(4)), dict(x=f(2, 3, 4), w=f(1))
    ),
    "batch_normalization, one channel": ("r = BatchNormalization (x, w, w, w, w)", dict(x=f(3, 5), w=f(1)), dict(x=f(3, 5), w=f(5))),
    "batch_normalization, no channel": ("r = BatchNormalization (x, w, w, w, w)", dict(x=f(3, 5), w=f(1)), dict(x=f(3, 5), w=f(0))),
    "batch_normalization in training, one channel": (
        "r, m, v = BatchNormalization <training_mode = 1> (x, w, w, w, w)", dict(x=f(3, 5), w=f(1)), dict(x=f(3, 5), w=f(5))
    ),
    "p_relu": ("r = PRelu (x, w)", dict(x=f(3, 5), w=f(5)), dict(x=f(3, 5), w=f(4))),
    "clip": ("r = Clip (x, w)", dict(x=f(3, 5), w=f()), dict(x=f(3, 5), w=f(4))),
    "arg_max": ("r = ArgMax <axis = 0> (x)", dict(x=f(3, 5), w=f(1)), dict(x=f(3, 0), w=f(1))),
    "squeeze": ("r = Squeeze (x, last)", dict(x=f(3, 4, 1), w=f(1)), dict(x=f(3, 4, 2), w=f(1))),
    "split": ("r, rest = Split (x, halves)", dict(x=f(3, 6), w=f(1)), dict(x=f(3, 8), w=f(1))),
    "reshape": ("r = Reshape (x, halves)", dict(x=f(3, 9), w=f(1)), dict(x=f(3, 8), w=f(1))),
    "concat": ("r = Concat <axis = 0> (x, w)", dict(x=f(3, 2, 4), w=f(1, 4)), dict(x=f(3, 2, 4), w=f(1, 5))),
    "scatter_elements": ("r = ScatterElements (x, at, w)", dict(x=f(3, 5), w=f(2)), dict(x=f(3, 5), w=f(1))),
    "gather_nd": ("p = Shape (w) g = ConstantOfShape <value = int64[1] {0}> (p) k = Unsqueeze (g, last) r = GatherND <batch_dims = 1> (x, k)",
                  dict(x=f(3, 2, 3), w=f(2)), dict(x=f(3, 2, 3), w=f(9))),
    "pad": ("r = Pad (x, halves, w)", dict(x=f(3, 5), w=f(1)), dict(x=f(3, 5), w=f(0))),
    "scatter_nd": ("r = ScatterND (x, points, w)", dict(x=f(3, 5), w=f(2)), dict(x=f(3, 5), w=f(3))),
}


def session_of(body, good, bad, options):
    inputs = ", ".join(f"float{extents(name, good[name], bad[name])} {name}" for name in good)
    item = "int64" if "ArgMax" in body else "float"
    return rondel.InferenceSession(onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g ({inputs}) => ({item}[] y) <float[4] four = {{1, 2, 3, 4}}, int64[1] last = {{-1}}, int64[2] halves = {{3, 3}},
                                      int64[2] at = {{0, 1}}, int64[2,1] points = {{0, 1}}> {{
            y = Scan <num_scan_inputs = 1, body = b (float{extents("e", good["x"][0], bad["x"][0])} e) => ({item}[] r) {{
                {body.replace("(x", "(e").replace(", x", ", e")}
            }}> (x)
        }}"""), options)


def extents(name, good, bad):
    """A shape with one symbol per axis; no shape if the ranks differ."""
    return "[" + ", ".join(f"{name}{a}" for a in range(good.ndim)) + "]" if good.ndim == bad.ndim else "[]"


def outcome(session, feeds):
    try:
        return session.run(None, feeds)[0].tolist()
    except rondel.Error as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("jit", ["1", "2", "checked"])
def test_a_body_whose_operands_do_not_go_together(name, jit, monkeypatch):
    body, good, bad = CASES[name]
    by_steps = rondel.SessionOptions()
    by_steps.jit = False
    oracle = session_of(body, good, bad, by_steps)
    expected, refusal = outcome(oracle, good), outcome(oracle, bad)
    assert isinstance(expected, list), expected
    assert issubclass(refusal[0], rondel.CallerError), refusal
    run_as(monkeypatch, jit)
    session = session_of(body, good, bad, rondel.SessionOptions())
    assert outcome(session, bad) == refusal
    assert outcome(session, good) == expected
    assert outcome(session, bad) == refusal
