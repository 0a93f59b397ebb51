"""Extents that become known only inside of a loop: the rows of an inner stack that a condition ends, which may be 1.

Each op reads such a stack natively as it does step by step: the same results, or an error in both. A count that is no size, such as the
largest integer, reserves nothing.
"""

import numpy as np
import pytest

import rondel
from models import INT64_MAX, agree, model

# The nodes of the outer body after the inner loop: `s` is the stack float[rows,3], `x` is float[4,3], `y` the item.
READERS = {
    "broadcast to four rows": "y = Mul (s, x)",
    "broadcast, on the right": "y = Sub (x, s)",
    "broadcast by where": "c = Less (x, x) y = Where (c, x, s)",
    "broadcast three operands": "y = Max (x, s, x)",
    "broadcast and fused": "a = Add (s, x) b = Mul (a, x) y = Neg (b)",
    "broadcast, then summed": "a = Add (s, x) y = ReduceSum <keepdims = 0> (a)",
    "pow": "a = Abs (s) y = Pow (a, x)",
    "p_relu": "y = PRelu (x, s)",
    "expand": "shape = Shape (x) y = Expand (s, shape)",
    "matrix product": "t = Transpose (x) y = MatMul (t, s)",
    "matrix product, batched": "a = Unsqueeze (s, one) b = Unsqueeze (x, one) c = Transpose <perm = [0, 2, 1]> (a) y = MatMul (b, c)",
    "gemm": "w = Transpose (x) y = Gemm (w, s)",
    "gemm, bias": "w = Transpose (x) b = ReduceSum <keepdims = 0> (s, one) y = Gemm (x, w, b)",
    "einsum": 'y = Einsum <equation = "ij,ij->j"> (x, s)',
    "einsum of rows": 'y = Einsum <equation = "ij,ik->jk"> (s, x)',
    "sum of rows": "y = ReduceSum <keepdims = 0> (s, zero)",
    "maximum": "p = Concat <axis = 0> (s, x) y = ReduceMax <keepdims = 0> (p, zero)",
    "mean": "p = Concat <axis = 0> (x, s) y = ReduceMean <keepdims = 0> (p, zero)",
    "sum of columns, broadcast": "t = ReduceSum <keepdims = 1> (s, one) y = Add (t, x)",
    "argmax": "p = Concat <axis = 0> (x, s) a = ArgMax <axis = 0, keepdims = 0> (p) y = Cast <to = 1> (a)",
    "cumsum, last row": "c = CumSum (s, j) p = Concat <axis = 0> (x, c) y = Gather <axis = 0> (p, last)",
    "concat on the other axis": "c = Concat <axis = 1> (s, x) y = ReduceSum <keepdims = 0> (c)",
    "gather a row": "p = Concat <axis = 0> (s, x) y = Gather <axis = 0> (p, i)",
    "gather by rows": "n = Size (s) y = Gather <axis = 0> (x, n)",
    "slice": "p = Concat <axis = 0> (s, x) y = Slice (p, zero, two)",
    "shape": "n = Shape (s) y = Cast <to = 1> (n)",
    "transposed": "t = Transpose (s) y = ReduceSum <keepdims = 0> (t, one)",
    "scatter": "at = Sub (x, x) k = Cast <to = 7> (at) y = ScatterElements <axis = 0> (x, k, s)",
    "scan": "y = Scan <num_scan_inputs = 1, body = add (float[3] st, float[3] row) => (float[3] st2) { st2 = Add (st, row) }> (x0, s)",
    "scan on the other axis": """u = Identity (s)
        q = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = add (float st, float[] column) => (float st2) {
          t = ReduceSum <keepdims = 0> (column)  st2 = Add (st, t) }> (half, u)
        y = Identity (q)""",
    "branches": """n = Size (s) few = Less (n, j4)
        y = If (few) <then_branch = a () => (float[3] r) { r = ReduceSum <keepdims = 0> (s, zero) },
                      else_branch = b () => (float[3] q) { t = Add (s, x) q = ReduceMax <keepdims = 0> (t, zero) }>""",
    "inner loop that broadcasts": """y = Loop (j4, "", x) <body = more (int64 t, bool e, float[4,3] v) => (bool e2, float[4,3] w) {
        e2 = Identity (e)  w = Add (v, s) }>""",
}

TEXT = """
g (float[4,3] x, int64 n, int64 most, int64 rows) => (float[] out) <
    int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64 j = {0}, int64 j1 = {1}, int64 j4 = {4}, int64 last = {-1}, float half = {0.5},
    float[3] x0 = {1, 2, 3}> {
  out = Loop (n, "") <body = outer (int64 i, bool go) => (bool go2, float[] y) {
    go2 = Identity (go)
    first = Less (j, rows)
    s = Loop (most, first) <body = inner (int64 t, bool d) => (bool d2, float[3] r) {
      k = Mod (t, j4)  r = Gather <axis = 0> (x, k)  t1 = Add (t, j1)  d2 = Less (t1, rows)
    }>
    READER
  }>
}"""


def outcome(session, feeds):
    try:
        return session.run(None, feeds)
    except rondel.CallerError as error:
        return type(error)


def sessions(reader, monkeypatch):
    source = model(TEXT.replace("READER", READERS[reader]))
    made = {}
    for jit in "02":
        monkeypatch.setenv("RONDEL_JIT", jit)
        made[jit] = rondel.InferenceSession(source)
    return made


def feeds_of(rows, most):
    x = np.arange(12, dtype=np.float32).reshape(4, 3) - 4
    return {"x": x, "n": np.array(2), "most": np.array(most), "rows": np.array(rows)}


@pytest.mark.parametrize("most", [5, INT64_MAX], ids=["a count of 5", "no count"])
@pytest.mark.parametrize("reader", READERS)
def test_each_reader_of_late_extents(reader, most, monkeypatch):
    made = sessions(reader, monkeypatch)
    for rows in [4, 1, 2, 0, 3, 1, 4]:
        feeds = feeds_of(rows, most)
        agree_or_fail(outcome(made["2"], feeds), outcome(made["0"], feeds), rows)


def agree_or_fail(native, interpreted, rows):
    if isinstance(native, type) or isinstance(interpreted, type):
        assert native is interpreted, f"{rows} rows: natively {native}, interpreted {interpreted}"
    else:
        agree(native, interpreted)
