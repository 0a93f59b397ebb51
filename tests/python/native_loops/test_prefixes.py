"""Products that read the beginning of a cache where it lies: the same results as copies give, in all ways of running."""

import machine
import numpy as np
import pytest
from models import in_all_ways, model


def attention(body, caches="k0, v0"):
    """A loop in which one query attends to rows of caches that it also changes."""
    return f"""main (float[H,C,D] k0, float[H,C,D] v0, float[H,1,D] q, int64[N] counts) => (float[H,C,D] k, float[H,C,D] v, float[N,H,1,D] out)
      <int64[1] none = {{0}}, int64[1] one = {{1}}, int64[1] axis = {{1}}, int64[1] last = {{2}}, int64[1] all = {{9223372036854775807}}> {{
      trips = Size (counts)
      k, v, out = Loop (trips, "", {caches}) <body = b (int64 i, bool go, float[H,C,D] kk, float[H,C,D] vv) => (bool on, float[H,C,D] kn, float[H,C,D] vn, float[H,1,D] o) {{
        on = Identity (go)  c = Gather (counts, i)  n = Unsqueeze (c, none)
        {body}
      }}>
    }}"""


PRODUCTS = "ks = Slice (kk, none, n, axis)  vs = Slice (vv, none, n, axis)  kt = Transpose <perm = [0, 2, 1]> (ks)  s = MatMul (q, kt)  p = Softmax (s)  o = MatMul (p, vs)"
KEPT = "kn = Identity (kk)  vn = Identity (vv)"
LOOPS = {
    "caches that stay": attention(f"{PRODUCTS}  {KEPT}"),
    "caches that the trip changes afterwards": attention(f"{PRODUCTS}  kn = Add (kk, o)  vn = Sub (vv, o)"),
    "caches that the trip has changed": attention(PRODUCTS.replace("kk,", "kn,").replace("vv,", "vn,").replace("ks =", "kn = Add (kk, q)  vn = Neg (vv)  ks =")),
    "caches that change places": attention(f"{PRODUCTS}  kn = Identity (vv)  vn = Identity (kk)"),
    "up to the trip": attention(f"ii = Unsqueeze (i, none)  {PRODUCTS.replace('none, n,', 'none, ii,')}  {KEPT}"),
    "by ends from the back": attention(f"m = Neg (n)  ks = Slice (kk, none, m, axis)  vs = Slice (vv, none, m, axis)  kt = Transpose <perm = [0, 2, 1]> (ks)  s = MatMul (q, kt)  p = Softmax (s)  o = MatMul (p, vs)  {KEPT}"),
    "parts of the width": attention(f"qs = Slice (q, none, n, last)  ks = Slice (kk, none, n, last)  kt = Transpose <perm = [0, 2, 1]> (ks)  s = MatMul (qs, kt)  p = Softmax (s)  o = MatMul (p, vv)  {KEPT}"),
    "one row of several": attention(f"r = Slice (kk, none, one, axis)  vt = Transpose <perm = [0, 2, 1]> (vv)  s = MatMul (r, vt)  o = MatMul (s, vv)  {KEPT}"),
    "a square of a slice": attention(f"ks = Slice (kk, none, n, axis)  kt = Transpose <perm = [0, 2, 1]> (ks)  s = MatMul (ks, kt)  m = MatMul (s, ks)  o = ReduceSum <keepdims = 1> (m, axis)  {KEPT}"),
    "of a slice": attention(f"a = Slice (kk, one, all, axis)  ks = Slice (a, none, n, axis)  kt = Transpose <perm = [0, 2, 1]> (ks)  s = MatMul (q, kt)  t = MatMul (s, ks)  o = Identity (t)  {KEPT}"),
    "of what a branch gives": attention(f"""f = Cast <to = 9> (c)
        x = If (f) <then_branch = t () => (float[H,C,D] y) {{ y = Neg (kk) }}, else_branch = e () => (float[H,C,D] z) {{ z = Identity (vv) }}>
        ks = Slice (x, none, n, axis)  kt = Transpose <perm = [0, 2, 1]> (ks)  s = MatMul (q, kt)  p = Softmax (s)  vs = Slice (vv, none, n, axis)  o = MatMul (p, vs)  {KEPT}"""),
}
COUNTS = [1, 5, 0, 3, 16, 17, 2, 70, 1]


@pytest.mark.parametrize("loop", LOOPS)
def test_products_with_beginnings_of_caches(loop, monkeypatch):
    made = model(LOOPS[loop])
    sessions = in_all_ways(made, monkeypatch)
    for heads, capacity, width in [(2, 21, 5), (1, 40, 16), (3, 3, 1)]:
        rng = np.random.default_rng(capacity)
        k0, v0 = (rng.standard_normal((heads, capacity, width)).astype(np.float32) for _ in range(2))
        q = rng.standard_normal((heads, 1, width)).astype(np.float32)
        feeds = {"k0": k0, "v0": v0, "q": q, "counts": np.array(COUNTS)}
        want = machine.run_model(made, feeds)
        first = None
        for way, s in sessions.items():
            got = s.run(None, feeds)
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-4, err_msg=str(way))
            first = first or got
            assert all(a.tobytes() == b.tobytes() for a, b in zip(got, first, strict=True)), way
    assert sessions["2", "0"].how_it_ran()["node 'k' (Loop)"] == "natively, as a whole"


def test_elements_of_scans_are_copied(monkeypatch):
    """An element of a scan along another axis lies in no buffer."""
    made = model("""main (float[C,T,D] x, float[D,E] w, int64 n) => (float[A,T,E] y) <int64[1] none = {0}, int64[1] axis = {0}> {
      k = Unsqueeze (n, none)
      y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = b (float[C,D] row) => (float[A,E] out) {
        part = Slice (row, none, k, axis)  out = MatMul (part, w) }> (x)
    }""")
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((4, 5, 3)).astype(np.float32), rng.standard_normal((3, 2)).astype(np.float32)
    for way, s in in_all_ways(made, monkeypatch).items():
        got = s.run(None, {"x": x, "w": w, "n": np.array(2)})[0]
        np.testing.assert_allclose(got, x[:2] @ w, rtol=1e-5, atol=1e-5, err_msg=str(way))
