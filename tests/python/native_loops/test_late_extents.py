"""Extents that become known only inside of a loop: the rows of an inner stack that a condition ends, which may be 1.

Each op reads such a stack natively, in check mode and step by step as the NumPy machine does: the same results, or an error in all.
A count that is no size, such as the largest integer, reserves nothing.
"""

import machine
import numpy as np
import pytest
import rondel
from models import INT64_MAX, WAYS, check_mode, in_all_ways, model, run_as, session

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
    "scatter": 'at = Sub (x, x) k = Cast <to = 7> (at) y = ScatterElements <axis = 0, reduction = "max"> (x, k, s)',
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
    first = Less (j, rows)  end = Cast <to = 1> (rows)
    s = Loop (most, first) <body = inner (int64 t, bool d) => (bool d2, float[3] r) {
      k = Mod (t, j4)  r = Gather <axis = 0> (x, k)  t1 = Add (t, j1)  t2 = Cast <to = 1> (t1)  d2 = Less (t2, end)
    }>
    READER
  }>
}"""


# Their rules need the extents before they run.
STEP_BY_STEP = {"einsum", "einsum of rows"}


def outcome(session, feeds):
    try:
        return session.run(None, feeds)
    except rondel.CallerError as error:
        return type(error)


def expected(source, feeds):
    try:
        return machine.run_model(source, feeds)
    except machine.WrongProgram:
        return rondel.CallerError


def sessions(source):
    """The model interpreted, natively, and in check mode."""
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        for jit in ("0", "2"):
            patch.setenv("RONDEL_JIT", jit)
            made[jit] = rondel.InferenceSession(source)
    with check_mode():
        made["checked"] = rondel.InferenceSession(source)
    return made


def feeds_of(rows, most):
    x = np.arange(12, dtype=np.float32).reshape(4, 3) - 4
    return {"x": x, "n": np.array(2), "most": np.array(most), "rows": np.array(rows)}


@pytest.mark.parametrize("most", [5, INT64_MAX], ids=["a count of 5", "no count"])
@pytest.mark.parametrize("reader", READERS)
def test_each_reader_of_late_extents(reader, most):
    source = model(TEXT.replace("READER", READERS[reader]))
    made = sessions(source)
    results = 0
    for rows in [4, 1, 2, 0, 3, 1, 4]:
        feeds = feeds_of(rows, most)
        want = expected(source, feeds)
        results += want is not rondel.CallerError
        for way, session in made.items():
            agree_or_fail(outcome(session, feeds), want, f"{way}, {rows} rows")
    assert results >= 2
    natively = reader not in STEP_BY_STEP
    assert (made["2"].how_it_ran()["node 'out' (Loop)"] == "natively, as a whole") == natively


def agree_or_fail(got, want, what):
    if isinstance(got, type) or isinstance(want, type):
        assert isinstance(got, type) and isinstance(want, type) and issubclass(got, want), f"{what}: {got} instead of {want}"
    else:
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=what)


def test_a_condition_of_the_last_element_of_what_grows(monkeypatch):
    """`squeeze(token) != 0` where the token is the last one of a state: of as many elements as the state has at its end, which is one or none."""
    made = model("""main (int64[n] x, int64 most) => (int64[m] y) {
  yes = Constant <value = bool {1}> ()
  last = Constant <value = int64[1] {-1}> ()
  end = Constant <value = int64[1] {9223372036854775807}> ()
  one = Constant <value = int64 {1}> ()
  zero = Constant <value = int64 {0}> ()
  y = Loop (most, yes, x) <body = b (int64 i, bool go, int64[k] s) => (bool on, int64[l] t) {
    token = Slice (s, last, end)
    fresh = Sub (token, one)
    t = Concat <axis = 0> (s, fresh)
    bare = Squeeze (fresh)
    ended = Equal (bare, zero)
    more = Not (ended)
    on = And (more, go)
  }>
}""")
    for way in WAYS:
        run_as(monkeypatch, way)
        ours = session(made)
        for x, most in [([3], 9), ([8, 5], 3), ([4], 0), ([2], 1)]:
            (y,) = ours.run(None, {"x": np.array(x), "most": np.array(most)})
            assert y.tolist() == x + list(range(x[-1] - 1, -1, -1))[:most]
        assert way == "0" or set(ours.how_it_ran().values()) == {"natively, as a whole"}
        with pytest.raises(rondel.CallerError, match="one element"):
            ours.run(None, {"x": np.array([], np.int64), "most": np.array(2)})


BOTH_CHANGE = """main (float[N,4] a0, float[M,4] b0, int64 n) => (float[A,4] a, float[B,4] b) {
  a, b = Loop (n, "", a0, b0) <body = trip (int64 i, bool go, float[P,4] p, float[Q,4] q) => (bool on, float[R,4] p2, float[S,4] q2) {
    on = Identity (go)  s = Add (p, q)  w = Sub (q, p)  m = Max (s, p, q)  p2 = Sub (m, w)  q2 = Neg (w) }>
}"""


def test_two_extents_that_trips_change_broadcast(monkeypatch):
    made = model(BOTH_CHANGE)
    sessions = in_all_ways(made, monkeypatch)
    for rows, others in [(1, 3), (3, 1), (1, 1), (3, 3), (0, 1), (1, 0), (2, 3), (0, 3), (17, 1)]:
        a, b = (np.arange(4 * k, dtype=np.float32).reshape(k, 4) - 2 for k in (rows, others))
        feeds = {"a0": a, "b0": b, "n": np.array(3)}
        for way, s in sessions.items():
            if rows != others and 1 not in (rows, others):
                with pytest.raises(rondel.Error):
                    s.run(None, feeds)
                continue
            for got, want in zip(s.run(None, feeds), machine.run_model(made, feeds), strict=True):
                assert got.shape == want.shape and np.array_equal(got, want), way
    assert sessions["2", "0"].how_it_ran()["node 'a' (Loop)"] == "natively, as a whole"
