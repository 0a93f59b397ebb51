"""Products of one row, and of a matrix with a vector: natively the same bits as in the interpreter, whatever the extents, and near NumPy's."""

import numpy as np
import pytest
from models import agree, in_all_ways, model, run

EXTENTS = [(0, 3), (1, 0), (1, 64), (2, 1), (3, 17), (7, 16), (9, 15), (63, 63), (65, 64), (130, 200)]


def values(seed, dtype, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_all_forms(dtype):
    """The extents are unknown before the run; the matrices are stored as they are, transposed, and as stacks."""
    text = f"""f ({dtype}[N,K] a, {dtype}[K] x, {dtype}[B,1,K] q, {dtype}[B,N,K] c, {dtype}[K,N] t)
        => ({dtype}[N] ax, {dtype}[N] xa, {dtype}[B,1,N] qc, {dtype} xx, {dtype}[N] tx) {{
      ax = MatMul (a, x)  at = Transpose (a)  xa = MatMul (x, at)  ct = Transpose <perm = [0, 2, 1]> (c)  qc = MatMul (q, ct)
      xx = MatMul (x, x)  tt = Transpose (t)  tx = MatMul (tt, x)
    }}"""
    kind = np.float32 if dtype == "float" else np.float64
    for n, k in EXTENTS:
        feeds = {
            "a": values(1, kind, n, k),
            "x": values(2, kind, k),
            "q": values(3, kind, 3, 1, k),
            "c": values(4, kind, 3, n, k),
            "t": values(5, kind, k, n),
        }
        got = run(text, feeds)
        a, x, q, c, t = (v.astype(np.float64) for v in feeds.values())
        expected = [a @ x, a @ x, q @ c.transpose(0, 2, 1), x @ x, t.T @ x]
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4)


def test_denormals_and_zeros_with_signs():
    """Steps that are left out of the last vector change no bit, not even the sign of a zero."""
    tiny = np.full((9, 16), -1e-30, np.float32)
    for k in (5, 16):
        run("f (float[N,K] a, float[K] x) => (float[N] y) { y = MatMul (a, x) }", {"a": tiny[:, :k].copy(), "x": -tiny[0, :k]})


def test_rows_whose_number_the_trips_find(monkeypatch):
    """A stack of matrices, each a slice of as many rows as data say, times one transposed matrix: the sums of one row do not depend on who found out."""
    made = model("""main (int64[T] d, float[B,M,K] x, float[N,K] w) => (float[T] sums) <int64[1] first = {0}, int64[1] axis = {1}, int64 zero = {0}, bool yes = {1}> {
      count = Shape (d)  n = Squeeze (count)
      sums = Loop (n, yes) <body = b (int64 i, bool go) => (bool on, float r) {
        on = Identity (go)  k = Gather (d, i)  kk = Unsqueeze (k, first)
        rows = Slice (x, first, kk, axis)  t = Transpose (w)  y = MatMul (rows, t)  r = ReduceSum <keepdims = 0> (y)
      }>
    }""")
    feeds = {"d": np.array([1, 0, 2, 1, 3]), "x": values(1, np.float32, 2, 3, 37), "w": values(2, np.float32, 21, 37)}
    results = [s.run(None, feeds) for s in in_all_ways(made, monkeypatch).values()]
    for other in results[1:]:
        agree(other, results[0])
    one = run("f (float[B,M,K] x, float[N,K] w) => (float y) { t = Transpose (w)  p = MatMul (x, t)  y = ReduceSum <keepdims = 0> (p) }",
              {"x": feeds["x"][:, :1].copy(), "w": feeds["w"]})
    assert results[0][0][0] == one[0]
