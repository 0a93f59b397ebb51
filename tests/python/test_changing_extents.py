"""Loops, ifs and kernels inside a loop that runs step by step, entered with other extents in each trip: what was
prepared for one serves all of its class, and nobody else."""

import numpy as np
import onnx.parser
import pytest
import rondel
from models import interpreter

EXTENTS = [*range(14), 0, 1, 2, 30, 5, 64, 1, 1, 7]

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
parts (int64 n, float[R,C] x, int64[T] rows, int64[T] columns) => (seq(float) ys)
<int64[1] zero = {0}, int64[1] one = {1}, int64[2] both = {0, 1}, int64[2] in_fours = {-1, 4}, int64 few = {3}, float half = {0.5}> {
  none = SequenceEmpty <dtype = 1> ()
  ys = Loop (n, , none) <body = b (int64 i, bool go, seq(float) before) => (bool on, seq(float) after) {
    on = Identity (go)
    at = Unsqueeze (i, zero)
    r = Gather (rows, at)  c = Gather (columns, at)
    ends = Concat <axis = 0> (r, c)
    starts = Mul (ends, zero)
    part = Slice (x, starts, ends, both)
    ENTERED
    after = SequenceInsert (before, y) }> }"""

ENTERED = {
    "a loop over rows": """y, items = Loop (few, , part) <body = l (int64 j, bool g, float[P,Q] s) =>
        (bool h, float[P,Q] t, float[Q] item) {
          h = Identity (g) item = ReduceSum <keepdims = 0> (s, zero) u = Mul (s, half) t = Add (u, item) }>""",
    "a scan with a stack": """state, y = Scan <num_scan_inputs = 1, body = l (float[K] s, float[Q] row) => (float[K] t, float[Q] item) {
          t = Identity (s) d = Mul (row, row) item = CumSum (d, zero) }> (zeros, part)""",
    "a reshape in a loop": """y = Loop (few, , part) <body = l (int64 j, bool g, float[P,Q] s) => (bool h, float[P,Q] t) {
          h = Identity (g) u = Reshape (s, in_fours) m = ReduceMax <keepdims = 0> (u, both) t = Sub (s, m) }>""",
    "an if": """m = Mod (i, few) yes = Cast <to = 9> (m)
        y = If (yes) <then_branch = a () => (float[P,Q] p) { p = Mul (part, half) },
                      else_branch = o () => (float[Q,P] q) { t = Transpose (part) q = Concat <axis = 0> (t, t) }>""",
    "matrix products in a loop": """t = Transpose (part)
        y = Loop (few, , part) <body = l (int64 j, bool g, float[P,Q] s) => (bool h, float[P,Q] v) {
          h = Identity (g) u = MatMul (s, t) w = MatMul (u, part) v = Mul (w, half) }>""",
}


def session(entered, options=None):
    lines = "zeros = Cast <to = 1> (zero)\n    " + entered
    return rondel.InferenceSession(onnx.parser.parse_model(MODEL.replace("ENTERED", lines)).SerializeToString(), options)


def outcome(made, feeds):
    try:
        return made.run(None, feeds)[0]
    except rondel.CallerError as error:
        return str(error)


@pytest.mark.parametrize("entered", ENTERED.values(), ids=ENTERED)
def test_what_is_entered_with_other_extents_each_time(entered):
    rng = np.random.default_rng(3)
    native, oracle = session(entered), session(entered, interpreter())
    x = rng.standard_normal((64, 64)).astype(np.float32)
    for _ in range(3):
        rows, columns = rng.permutation(EXTENTS), rng.permutation(EXTENTS)
        if "Reshape" in entered:
            columns = columns // 4 * 4 + 4
        feeds = {"n": np.array(len(rows)), "x": x, "rows": rows, "columns": columns}
        got, want = outcome(native, feeds), outcome(oracle, feeds)
        assert not isinstance(want, str), want
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert g.shape == w.shape
            np.testing.assert_array_equal(g, w)


def test_extents_that_a_rule_refuses_are_refused_in_whatever_trip():
    """3 rows of 3 are no rows of 4; before and after come members of their class that are."""
    entered = ENTERED["a reshape in a loop"]
    native, oracle = session(entered), session(entered, interpreter())
    x = np.ones((64, 64), np.float32)
    for rows, columns in [([2, 3, 4, 3, 8], [6, 8, 3, 3, 2]), ([5, 6, 7, 9], [8, 4, 4, 9])]:
        feeds = {"n": np.array(len(rows)), "x": x, "rows": np.array(rows), "columns": np.array(columns)}
        got, want = outcome(native, feeds), outcome(oracle, feeds)
        assert got == want
        assert "trip 3" in got and "9 elements" in got or "trip 3" in got and "81 elements" in got, got


def test_a_top_k_whose_k_changes():
    entered = """k = Min (r, c)
        v, p = TopK <axis = 0> (part, k)
        y = Neg (v)"""
    made, rng = session(entered), np.random.default_rng(5)
    x = rng.standard_normal((64, 64)).astype(np.float32)
    for _ in range(3):
        rows, columns = rng.permutation(EXTENTS), rng.permutation(EXTENTS)
        for r, c, y in zip(rows, columns, made.run(None, {"n": np.array(len(rows)), "x": x, "rows": rows, "columns": columns})[0]):
            np.testing.assert_array_equal(y, -(-np.sort(-x[:r, :c], axis=0)[: min(r, c)]))
