"""Loops, ifs and kernels inside a loop that runs step by step, with other extents in each trip: a compiled program is reused
for all extents of its shape class, and for no others."""

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
    """Three rows of 3 cannot be reshaped to rows of 4; the trips before and after have extents of the same class that can."""
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


#: Lines of a body, and the number of rows in each trip; the last trip is refused.
REFUSED = {
    "clip by more than a scalar": ("u = Slice (s, three, r, zero)  c = Clip (u, u)  m = ReduceSum <keepdims = 0> (c)  t = Add (s, m)", [4, 4, 4, 7]),
    "clip by nothing": ("u = Slice (s, three, r, zero)  c = Clip (u, u)  m = ReduceSum <keepdims = 0> (c)  t = Add (s, m)", [4, 4, 3]),
    "trilu of more than one diagonal": (
        "u = Slice (s, three, r, zero)  k = Cast <to = 7> (u)  w = Unsqueeze (s, zero)  c = Trilu (w, k)  m = ReduceSum <keepdims = 0> (c)  t = Add (s, m)",
        [4, 4, 4, 7],
    ),
    "an expansion that no memory holds": ("o = Mul (r, far)  q = Concat <axis = 0> (o, r)  e = Expand (half, q)  m = ReduceSum <keepdims = 0> (e)  t = Add (s, m)", [0, 0, 3]),
}


@pytest.mark.parametrize("lines, rows", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_for_one_member_of_a_class_is_told_alike(lines, rows):
    text = f"""
    <ir_version: 10, opset_import: ["" : 21]>
    g (int64 n, float[R] x, int64[T] rows) => (seq(float) ys)
    <int64[1] zero = {{0}}, int64[1] three = {{3}}, int64[1] far = {{1537228672809129302}}, int64 few = {{2}}, float half = {{0.5}}> {{
      none = SequenceEmpty <dtype = 1> ()
      ys = Loop (n, , none) <body = b (int64 i, bool go, seq(float) before) => (bool on, seq(float) after) {{
        on = Identity (go)  at = Unsqueeze (i, zero)  r = Gather (rows, at)
        part = Slice (x, zero, r, zero)
        y = Loop (few, , part) <body = l (int64 j, bool g, float[P] s) => (bool h, float[P] t) {{ h = Identity (g)  {lines} }}>
        after = SequenceInsert (before, y) }}> }}"""
    model = onnx.parser.parse_model(text).SerializeToString()
    feeds = {"n": np.array(len(rows)), "x": np.arange(64, dtype=np.float32), "rows": np.array(rows)}
    got, want = outcome(rondel.InferenceSession(model), feeds), outcome(rondel.InferenceSession(model, interpreter()), feeds)
    assert got == want
    assert isinstance(want, str) and f"trip {len(rows) - 1}" in want, want


@pytest.mark.parametrize("line", ["q = Add (e, one)  u = Slice (s, one, q, zero)", "q = Add (e, e)  w = Shape (s)  u = Slice (s, q, w, zero)",
                                  "p = Add (e, e)  q = Add (p, one)  u = Slice (s, zero, q, zero)"])  # fmt: skip
def test_listed_numbers_whose_sums_wrap_around(line):
    text = f"""
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[N] x, int64[1] e) => (float[N] y) <int64 few = {{2}}, int64[1] zero = {{0}}, int64[1] one = {{1}}> {{
      y = Loop (few, , x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] t) {{
        on = Identity (go)  {line}  m = ReduceSum <keepdims = 0> (u)  t = Add (s, m) }}> }}"""
    model = onnx.parser.parse_model(text).SerializeToString()
    native, oracle = rondel.InferenceSession(model), rondel.InferenceSession(model, interpreter())
    x = np.arange(1, 9, dtype=np.float32)
    for e in [3, 2**62, 2**63 - 1, 2**62 - 1, 5, 2**31, 2**31 - 1, -(2**63), -4, 2**62 + 3]:
        feeds = {"x": x, "e": np.array([e])}
        np.testing.assert_array_equal(native.run(None, feeds)[0], oracle.run(None, feeds)[0], err_msg=str(e))


def test_scatters_into_nothing_check_their_indices_alike():
    text = """
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[N,3] x, int64[K,1] i, float[K,3] u) => (float[N,3] y, float[N,3] z) <int64 few = {2}> {
      y = Loop (few, , x) <body = b (int64 j, bool go, float[N,3] s) => (bool on, float[N,3] t) { on = Identity (go)  t = ScatterND (s, i, u) }>
      z = ScatterND (x, i, u) }"""
    model = onnx.parser.parse_model(text).SerializeToString()
    feeds = {"x": np.zeros((0, 3), np.float32), "i": np.array([[0], [1]]), "u": np.ones((2, 3), np.float32)}
    for options in (None, interpreter()):
        for output in "yz":
            with pytest.raises(rondel.CallerError, match="index 0 is out of range"):
                rondel.InferenceSession(model, options).run([output], feeds)
