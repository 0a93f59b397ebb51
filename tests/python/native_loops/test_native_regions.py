"""Loops that contain loops and ifs, each compiled to one native function: results and errors."""

import importlib.util
import re
import time

import numpy as np
import pytest
import rondel
from models import WAYS, f32, i64, in_all_ways, in_onnxruntime, model, run, run_as, scalar, session

YES = "yes = Constant <value = bool {1}> ()"

COLLATZ = f"""
main (int64 x) => (int64 last, int64 steps) {{
  {YES}
  zero = Constant <value = int64 {{0}}> ()
  last, steps = Loop ("", yes, x, zero) <body = walk (int64 i, bool go, int64 v, int64 n) => (bool on, int64 w, int64 m) {{
    one = Constant <value = int64 {{1}}> ()
    two = Constant <value = int64 {{2}}> ()
    three = Constant <value = int64 {{3}}> ()
    r = Mod (v, two)
    odd = Equal (r, one)
    w = If (odd) <then_branch = up () => (int64 a) {{ p = Mul (v, three)  a = Add (p, one) }},
                  else_branch = down () => (int64 c) {{ c = Div (v, two) }}>
    m = Add (n, one)
    done = Equal (w, one)
    on = Not (done)
  }}>
}}"""

NESTED = f"""
main (int64 n, float a) => (float r) {{
  {YES}
  r = Loop (n, yes, a) <body = outer (int64 i, bool go, float v) => (bool on, float w) {{
    on = Identity (go)
    w = Loop (n, go, v) <body = inner (int64 j, bool go2, float x) => (bool on2, float y) {{
      on2 = Identity (go2)
      h = Constant <value = float {{0.5}}> ()
      t = Mul (x, h)
      one = Constant <value = float {{1.0}}> ()
      y = Add (t, one)
    }}>
  }}>
}}"""

SCAN_IN_LOOP = f"""
main (int64 n, float[K,C] xs, float[C] s) => (float[C] r, float[M,K,C] ys) {{
  {YES}
  r, ys = Loop (n, yes, s) <body = outer (int64 i, bool go, float[C] v) => (bool on, float[C] w, float[K,C] outs) {{
    on = Identity (go)
    w, outs = Scan <num_scan_inputs = 1, body = inner (float[C] st, float[C] x) => (float[C] st2, float[C] o) {{
      h = Tanh (st)
      st2 = Add (h, x)
      o = Mul (st2, x)
    }}> (v, xs)
  }}>
}}"""

LOOP_IN_SCAN = f"""
main (int64[K] counts, float[K,C] xs, float[C] s) => (float[C] r, float[K,C] ys) {{
  r, ys = Scan <num_scan_inputs = 2, body = outer (float[C] st, int64 count, float[C] x) => (float[C] st2, float[C] o) {{
    {YES}
    st2 = Loop (count, yes, st) <body = inner (int64 i, bool go, float[C] v) => (bool on, float[C] w) {{
      on = Identity (go)
      h = Tanh (v)
      w = Add (h, x)
    }}>
    o = Mul (st2, x)
  }}> (s, counts, xs)
}}"""

# One branch swaps the states, the other computes both anew.
SWAPPED_IN_IF = f"""
main (int64 n, float[C] s, float[C] t) => (float[C] r, float[C] q) {{
  {YES}
  r, q = Loop (n, yes, s, t) <body = step (int64 i, bool go, float[C] v, float[C] u) => (bool on, float[C] w, float[C] k) {{
    on = Identity (go)
    two = Constant <value = int64 {{2}}> ()
    one = Constant <value = int64 {{1}}> ()
    rest = Mod (i, two)
    odd = Equal (rest, one)
    w, k = If (odd) <then_branch = swap () => (float[C] a, float[C] b) {{ a = Identity (u)  b = Identity (v) }},
                     else_branch = make () => (float[C] d, float[C] e) {{ d = Add (v, u) e = Sub (v, u) }}>
  }}>
}}"""

# One branch returns the state unchanged, the other reads it after computing its next value.
KEPT_OR_READ_LATE = f"""
main (int64 n, float[C] s) => (float[C] r, float[L] sums) {{
  {YES}
  r, sums = Loop (n, yes, s) <body = step (int64 i, bool go, float[C] v) => (bool on, float[C] w, float total) {{
    on = Identity (go)
    two = Constant <value = int64 {{2}}> ()
    zero = Constant <value = int64 {{0}}> ()
    rest = Mod (i, two)
    even = Equal (rest, zero)
    w, total = If (even) <
      then_branch = keep () => (float[C] a, float b) {{ a = Identity (v)  b = ReduceSum <keepdims = 0> (v) }},
      else_branch = change () => (float[C] d, float e) {{
        d = Add (v, v)
        old = ReduceMax <keepdims = 0> (v)
        new = ReduceMax <keepdims = 0> (d)
        e = Sub (new, old)
      }}>
  }}>
}}"""

# The number of items of the inner loop is unknown before the loop ends, but below 20.
INNER_STACK = f"""
main (int64 n, float[C] s) => (float[C] r, float[M] ys, float[M] last) {{
  {YES}
  r, ys, last = Loop (n, yes, s) <body = outer (int64 i, bool go, float[C] v) => (bool on, float[C] w, float total, float end) {{
    on = Identity (go)
    most = Constant <value = int64 {{20}}> ()
    w, items = Loop (most, yes, v) <body = inner (int64 j, bool go2, float[C] x) => (bool on2, float[C] y, float[C] it) {{
      third = Constant <value = float {{0.3}}> ()
      y = Add (x, third)
      it = Mul (y, y)
      m = ReduceMax <keepdims = 0> (y)
      lim = Constant <value = float {{2.0}}> ()
      fi = Cast <to = 1> (i)
      limit = Add (lim, fi)
      on2 = Less (m, limit)
    }}>
    total = ReduceSum <keepdims = 0> (items)
    half = Constant <value = float {{0.5}}> ()
    scaled = Mul (items, half)
    end = ReduceMax <keepdims = 0> (scaled)
  }}>
}}"""

POWER = f"""
main (int64 n, float[N,N] A, float[N,1] x) => (float[N,1] r) {{
  {YES}
  r = Loop (n, yes, x) <body = step (int64 i, bool go, float[N,1] v) => (bool on, float[N,1] w) {{
    on = Identity (go)
    y = MatMul (A, v)
    l = ReduceL2 <keepdims = 1> (y)
    w = Div (y, l)
  }}>
}}"""

# Products that read rows and columns of scanned matrices.
PRODUCTS_OF_SCANS = """
main (float[T,H] xs, float[H,T] zs, float[H,H] W, float[H] s) => (float[H] r, float[T,H] ys) {
  r, ys = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], body = step (float[H] h, float[H] x, float[H] z)
      => (float[H] next, float[H] out) {
    a = MatMul (x, W)
    b = MatMul (z, W)
    c = Add (a, b)
    d = Add (c, h)
    next = Tanh (d)
    out = Mul (next, x)
  }> (s, xs, zs)
}"""

# Kernels whose inputs are a state that is overwritten later, items, and elements of a scan.
POOLING = f"""
main (int64 n, float[B,C,H,W] x) => (float[B,C,H,W] y, float[t,B,C,P,Q] peaks) {{
  {YES}
  y, peaks = Loop (n, yes, x) <body = step (int64 i, bool go, float[B,C,H,W] a) => (bool on, float[B,C,H,W] b, float[B,C,P,Q] p) {{
    on = Identity (go)
    p = MaxPool <kernel_shape = [3, 2], strides = [2, 2]> (a)
    q = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)
    b = Sub (q, a)
  }}>
}}"""

POOLED_SCAN = f"""
main (float[B,C,T,W] xs, float[B,C,W] s) => (float[B,C,W] r) {{
  r = Scan <num_scan_inputs = 1, scan_input_axes = [2], body = step (float[B,C,W] st, float[B,C,W] x) => (float[B,C,W] st2) {{
    p = MaxPool <kernel_shape = [3], pads = [1, 1]> (x)
    st2 = Add (p, st)
  }}> (s, xs)
}}"""

# The bookkeeping of a beam search, without its network.
BEAMS = f"""
main (int64 most, float[4,50] table, int64 eos) => (float[4] scores, int64[4] last, int64 ended, int64[T,4] parents) {{
  {YES}
  zeros = Constant <value = float[4] {{0, -9, -9, -9}}> ()
  begin = Constant <value = int64[4] {{1, 2, 3, 4}}> ()
  none = Constant <value = int64 {{0}}> ()
  scores, last, ended, parents = Loop (most, yes, zeros, begin, none) <body = step
      (int64 i, bool go, float[4] score, int64[4] token, int64 count)
      => (bool on, float[4] next, int64[4] chosen, int64 total, int64[4] from) {{
    width = Constant <value = int64 {{50}}> ()
    four = Constant <value = int64[1] {{4}}> ()
    last_axis = Constant <value = int64[1] {{-1}}> ()
    all = Constant <value = int64[1] {{-1}}> ()
    zero = Constant <value = int64 {{0}}> ()
    three = Constant <value = int64 {{3}}> ()
    rows = Mod (token, three)
    seen = Gather (table, rows)
    column = Unsqueeze (score, last_axis)
    sums = Add (column, seen)
    flat = Reshape (sums, all)
    best, at = TopK (flat, four)
    from = Div (at, width)
    word = Mod (at, width)
    is_end = Equal (word, eos)
    ends = Cast <to = 7> (is_end)
    found = ReduceSum <keepdims = 0> (ends)
    some = Greater (found, zero)
    next, chosen, total = If (some) <
      then_branch = yes_ends () => (float[4] na, int64[4] ca, int64 ta) {{
        ta = Add (count, found)
        many = Greater (ta, three)
        na, ca = If (many) <
          then_branch = most_end () => (float[4] nb, int64[4] cb) {{
            half = Constant <value = float {{0.5}}> ()
            nb = Mul (best, half)
            cb = Gather (token, from)
          }},
          else_branch = few_end () => (float[4] nc, int64[4] cc) {{ nc = Where (is_end, score, best)  cc = Identity (word) }}>
      }},
      else_branch = none_ends () => (float[4] nd, int64[4] cd, int64 td) {{
        nd = Identity (best)
        cd = Identity (word)
        td = Identity (count)
      }}>
    limit = Constant <value = int64 {{9}}> ()
    on = Less (total, limit)
  }}>
}}"""

CONVOLUTION = f"""
main (int64 n, float[B,C,H,W] x, float[C,C,3,3] k, float[C] b) => (float[B,C,H,W] y, float[t,B,C,P,Q] peaks) {{
  {YES}
  y, peaks = Loop (n, yes, x) <body = step (int64 i, bool go, float[B,C,H,W] a) => (bool on, float[B,C,H,W] c, float[B,C,P,Q] p) {{
    on = Identity (go)
    d = Conv <pads = [1, 1, 1, 1]> (a, k, b)
    low = Constant <value = float {{-9}}> ()
    high = Constant <value = float {{9}}> ()
    c = Clip (d, low, high)
    p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
  }}>
}}"""

# The weights of the convolution are a state that never changes, as some exporters write it.
UNCHANGED_STATE = f"""
main (int64 n, float[B,C,L] x, float[C,C,K] k) => (float[B,C,L] y, float[C,C,K] same) {{
  {YES}
  y, same = Loop (n, yes, x, k) <body = step (int64 i, bool go, float[B,C,L] a, float[C,C,K] w) => (bool on, float[B,C,L] c, float[C,C,K] v) {{
    on = Identity (go)
    d = Conv <auto_pad = "SAME_UPPER"> (a, w)
    low = Constant <value = float {{-9}}> ()
    high = Constant <value = float {{9}}> ()
    e = Sub (a, d)
    c = Clip (e, low, high)
    v = Identity (w)
  }}>
}}"""

# An If in a Loop in an If; the outer If runs natively as a whole.
IF_LOOP_IF = f"""
main (bool c, int64 n, float[C] s) => (float[C] r) {{
  r = If (c) <
    then_branch = loop () => (float[C] a) {{
      {YES}
      a = Loop (n, yes, s) <body = step (int64 i, bool go, float[C] v) => (bool on, float[C] w) {{
        on = Identity (go)
        m = ReduceMax <keepdims = 0> (v)
        one = Constant <value = float {{1}}> ()
        large = Greater (m, one)
        w = If (large) <then_branch = less () => (float[C] e) {{ e = Div (v, m) }},
                        else_branch = more () => (float[C] f) {{ f = Add (v, v) }}>
      }}>
    }},
    else_branch = plain () => (float[C] b) {{ b = Neg (s) }}>
}}"""

# The rows of a slice on another axis lie in no buffer, where a product wants them.
ROWS_OF_A_SLICE = """
main (float[A,B,C] xs, float s) => (float r) {
  r = Scan <num_scan_inputs = 1, scan_input_axes = [-1], body = outer (float v, float[A,B] x) => (float w) {
    w = Scan <num_scan_inputs = 2, body = inner (float a, float[B] p, float[B] q) => (float b) {
      d = MatMul (p, q)
      b = Add (a, d)
    }> (v, x, x)
  }> (s, xs)
}"""

# The outer loop moves `x`, with a copy; the inner loop hands it on before.
OUTER_STATE_INSIDE = f"""
main (int64 n, float[C] p, float[C] q) => (float[C] a, float[C] b) {{
  {YES}
  a, b = Loop (n, yes, p, q) <body = outer (int64 i, bool go, float[C] x, float[C] y) => (bool on, float[C] f, float[C] x2) {{
    on = Identity (go)
    two = Constant <value = int64 {{2}}> ()
    f = Loop (two, go, y) <body = inner (int64 j, bool go2, float[C] s) => (bool on2, float[C] x3) {{
      on2 = Identity (go2)
      x3 = Identity (x)
    }}>
    x2 = Identity (x)
  }}>
}}"""


def random(*shape):
    return np.random.default_rng(len(shape) * 100 + sum(shape)).standard_normal(shape).astype(np.float32)


def small_integers(*shape):
    """Small integers, whose sums of products are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(np.float32)


CASES = {
    "collatz": (COLLATZ, {"x": scalar(27, np.int64)}),
    "nested scalar loops": (NESTED, {"n": scalar(100, np.int64), "a": scalar(3, np.float32)}),
    "a scan in a loop": (SCAN_IN_LOOP, {"n": scalar(5, np.int64), "xs": random(4, 6), "s": random(6)}),
    "a loop in a scan": (LOOP_IN_SCAN, {"counts": i64(3, 0, 2, 5), "xs": random(4, 6), "s": random(6)}),
    "states swapped in an if": (SWAPPED_IN_IF, {"n": scalar(9, np.int64), "s": random(7), "t": random(7)}),
    "a state kept or read late": (KEPT_OR_READ_LATE, {"n": scalar(6, np.int64), "s": random(2000)}),
    "an inner stack of some items": (INNER_STACK, {"n": scalar(9, np.int64), "s": random(70)}),
    "power iteration": (POWER, {"n": scalar(9, np.int64), "A": random(17, 17), "x": random(17, 1)}),
    "products of scans": (PRODUCTS_OF_SCANS, {"xs": random(5, 9), "zs": random(9, 5), "W": random(9, 9), "s": random(9)}),
    "rows of a slice": (ROWS_OF_A_SLICE, {"xs": small_integers(3, 4, 5), "s": scalar(1, np.float32)}),
    "pooling": (POOLING, {"n": scalar(4, np.int64), "x": random(2, 3, 9, 8)}),
    "pooling of what is scanned": (POOLED_SCAN, {"xs": random(2, 3, 5, 7), "s": random(2, 3, 7)}),
    "convolution": (CONVOLUTION, {"n": scalar(4, np.int64), "x": small_integers(2, 3, 6, 8), "k": small_integers(3, 3, 3, 3), "b": small_integers(3)}),
    "a state that no trip changes": (UNCHANGED_STATE, {"n": scalar(4, np.int64), "x": small_integers(2, 3, 20), "k": small_integers(3, 3, 5)}),
    "an if in a loop in an if": (IF_LOOP_IF, {"c": scalar(True, np.bool_), "n": scalar(9, np.int64), "s": random(5)}),
    "the other branch": (IF_LOOP_IF, {"c": scalar(False, np.bool_), "n": scalar(9, np.int64), "s": random(5)}),
    "an outer state in an inner loop": (OUTER_STATE_INSIDE, {"n": scalar(3, np.int64), "p": random(7), "q": random(7)}),
    "a beam search": (BEAMS, {"most": scalar(40, np.int64), "table": random(4, 50), "eos": scalar(7, np.int64)}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_region_runs_as_one_function(name, monkeypatch):
    text, feeds = CASES[name]
    results = []
    for jit in WAYS:
        run_as(monkeypatch, jit)
        results.append(run(text, feeds))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    report = rondel.inspect(model(text))
    assert {found["execution"] for found in report.loops + report.branches} == {"natively, as a whole"}
    assert len(report.loops) == text.count("body =") and len(report.branches) == text.count("then_branch =")


# The state's rank changes, so the loops run step by step; the scan's items have extents all the same.
UNRANKED_SCAN = f"""
main (float[3] x, int64 n, int64 k) => (y) {{
  {YES}
  y = Loop (n, yes) <body = outer (int64 i, bool go) => (bool on, z) {{
    on = Identity (go)
    s = Loop (k, yes, x) <body = deeper (int64 j, bool go2, a) => (bool on2, b) {{
      on2 = Identity (go2)
      zero = Constant <value = int64[1] {{0}}> ()
      b = Unsqueeze (a, zero)
    }}>
    one = Constant <value = float {{1.0}}> ()
    z = Scan <num_scan_inputs = 1, scan_input_axes = [-1], body = each (e) => (f) {{ f = Identity (one) }}> (s)
  }}>
}}"""


def test_a_scan_of_what_has_no_rank_runs_step_by_step(monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "2")
    (y,) = run(UNRANKED_SCAN, {"x": f32(1, 2, 3), "n": scalar(2, np.int64), "k": scalar(1, np.int64)})
    assert y.tolist() == [[1, 1, 1], [1, 1, 1]]


# `squeeze` as exporters write it: an axis is removed if its extent is 1. Each branch is valid for other shapes only.
SQUEEZED = f"""
main (bool first, float[A,B,C] x, int64 n) => (y) {{
  y = If (first) <then_branch = then () => (a) {{
    {YES}
    axis = Constant <value = int64[1] {{1}}> ()
    one = Constant <value = int64[1] {{1}}> ()
    s = Shape (x)
    e = Gather (s, axis)
    is_one = Equal (e, one)
    z = If (is_one) <then_branch = narrow () => (q) {{ q = Squeeze (x, axis) }}, else_branch = wide () => (w) {{ w = Identity (x) }}>
    a = Loop (n, yes, z) <body = again (int64 i, bool go, v) => (bool on, u) {{ on = Identity (go)  t = Tanh (v)  u = Add (t, v) }}>
  }}, else_branch = other () => (b) {{ axes = Constant <value = int64[1] {{2}}> ()  b = Squeeze (x, axes) }}>
}}"""


def test_a_count_whose_rank_is_not_declared_bounds_the_stacks_of_inner_loops(monkeypatch):
    text = """
    main (float[2] x, int64[] rows) => (float[] out) <int64 two = {2}> {
      out = Loop (two, "") <body = outer (int64 i, bool c) => (bool c2, float[] s) {
        c2 = Identity (c)
        s = Loop (rows, "") <body = inner (int64 j, bool d) => (bool d2, float[2] r) { d2 = Identity (d)  r = Neg (x) }>
      }>
    }"""
    for jit in ("0", "2", "quick"):
        run_as(monkeypatch, jit)
        made = session(text)
        for rows in (np.array(3), np.array([3]), np.array(5), np.array(0), np.array(1)):
            [out] = made.run(None, {"x": f32(1, 2), "rows": rows})
            assert out.shape == (2, rows.item(), 2) and (out == [-1, -2]).all()
            assert jit == "0" or "natively" in str(made.how_it_ran())
        with pytest.raises(rondel.CallerError, match="expected one element of i64"):
            made.run(None, {"x": f32(1, 2), "rows": i64(*range(100))})


def test_branches_that_shapes_leave_out_stay_out_of_native_code(monkeypatch):
    asked = [(True, (2, 1, 3)), (True, (2, 4, 3)), (True, (2, 4, 3)), (False, (2, 4, 1)), (False, (2, 4, 1)), (True, (2, 1, 3))]
    results = []
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(SQUEEZED)
        results.append([s.run(None, {"first": scalar(c, np.bool_), "x": random(*e), "n": i64(3)[0]})[0] for c, e in asked])
        assert set(s.how_it_ran().values()) == (set() if jit == "0" else {"natively, as a whole"})
    assert [r.shape for r in results[0]] == [(2, 3), (2, 4, 3), (2, 4, 3), (2, 4), (2, 4), (2, 3)]
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.shape == b.shape and a.tobytes() == b.tobytes()
    with pytest.raises(rondel.CallerError, match="axis 2 has extent 3"):
        session(SQUEEZED).run(None, {"first": scalar(False, np.bool_), "x": random(2, 4, 3), "n": i64(3)[0]})


def test_the_if_of_a_real_model_runs_natively():
    """silero-vad: two networks, one for each sample rate, each with `If`s that its shapes decide, and an LSTM."""
    onnxruntime = pytest.importorskip("onnxruntime")
    path = importlib.util.find_spec("silero_vad").submodule_search_locations[0] + "/data/silero_vad.onnx"
    ours, theirs = rondel.InferenceSession(path), onnxruntime.InferenceSession(path)
    for rate, samples in ((16000, 576), (16000, 576), (8000, 288), (8000, 288)):
        feeds = {"input": random(1, samples) / 10, "state": random(2, 1, 128) / 10, "sr": scalar(rate, np.int64)}
        for a, b in zip(ours.run(None, feeds), theirs.run(None, feeds), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert ours.how_it_ran()["node 'If_0' (If)"] == "natively, as a whole"


def updating(body):
    """A loop whose state is updated at some places in each trip."""
    return f"""
main (int64 n, float[N] x, int64[K] p, float[K] u) => (float[N] r, float[N] q, float[M] sums) {{
  {YES}
  r, q, sums = Loop (n, yes, x, x) <body = step (int64 i, bool go, float[N] v, float[N] z) => (bool on, float[N] w, float[N] y, float sum) {{
    on = Identity (go)
    moved = Add (p, i)
    size = Size (v)
    at = Mod (moved, size)
    {body}
    sum = ReduceSum <keepdims = 0> (w)
  }}>
}}"""


UPDATES = {
    "one update": "w = ScatterElements <axis = 0> (v, at, u)  y = Neg (z)",
    "one that adds": 'w = ScatterElements <axis = 0, reduction = "add"> (v, at, u)  y = Neg (z)',
    "two, one upon the other": "a = ScatterElements <axis = 0> (v, p, u)  t = Neg (u)  w = ScatterElements <axis = 0> (a, at, t)  y = Neg (z)",
    "read between": "a = ScatterElements <axis = 0> (v, p, u)  s = Gather (a, at)  w = ScatterElements <axis = 0> (a, at, s)  y = Mul (z, a)",
    "read after": "w = ScatterElements <axis = 0> (v, at, u)  s = Gather (v, at)  y = ScatterElements <axis = 0> (z, p, s)",
    "the updates are the state's": "sizes = Shape (v)  sorted, all = TopK (v, sizes)  w = ScatterElements <axis = 0> (v, all, v)  y = Neg (z)",
    "states that take turns": "w = ScatterElements <axis = 0> (z, at, u)  y = ScatterElements <axis = 0> (v, p, u)",
    "one read by the other": "w = ScatterElements <axis = 0> (v, at, u)  s = Gather (w, p)  y = ScatterElements <axis = 0> (z, at, s)",
    "in a branch": """zero = Constant <value = int64 {0}> ()
    two = Constant <value = int64 {2}> ()
    rest = Mod (i, two)
    even = Equal (rest, zero)
    w = If (even) <then_branch = a () => (float[N] f) { e = ScatterElements <axis = 0> (v, at, u)  f = ScatterElements <axis = 0> (e, p, u) },
                   else_branch = b () => (float[N] g) { g = Identity (v) }>
    y = Neg (z)""",
    "in an inner loop": """three = Constant <value = int64 {3}> ()
    a = ScatterElements <axis = 0> (v, at, u)
    w = Loop (three, go, a) <body = inner (int64 j, bool go2, float[N] b) => (bool on2, float[N] c) {
      on2 = Identity (go2)
      further = Add (at, j)
      there = Mod (further, size)
      c = ScatterElements <axis = 0> (b, there, u)
    }>
    y = Neg (z)""",
}


@pytest.mark.parametrize("name", UPDATES)
def test_a_state_that_is_updated_in_place_is_what_it_would_be(name):
    text = updating(UPDATES[name])
    feeds = {"n": scalar(7), "x": random(50), "p": i64(3, 7, 12, 49), "u": random(4)}
    got, want = run(text, feeds), in_onnxruntime(model(text).SerializeToString(), feeds)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    assert {found["execution"] for found in rondel.inspect(model(text)).loops} == {"natively, as a whole"}


def test_collatz_takes_as_many_steps_as_everybody_says():
    last, steps = run(COLLATZ, {"x": scalar(27, np.int64)})
    assert (last, steps) == (1, 111)


FAILING = f"""
main (int64 n, int64[K] at, float[C] x) => (float r) {{
  {YES}
  zero = Constant <value = float {{0}}> ()
  r = Loop (n, yes, zero) <body = outer (int64 i, bool go, float v) => (bool on, float w) {{
    on = Identity (go)
    w, unused = Scan <num_scan_inputs = 1, body = inner (float st, int64 p) => (float st2, float o) {{
      q = Add (p, i)
      e = Gather (x, q)
      st2 = Add (st, e)
      o = Identity (e)
    }}> (v, at)
  }}>
}}"""


def message_of(text, feeds, options=None):
    with pytest.raises(rondel.Error) as caught:
        session(text, options=options).run(None, feeds)
    return type(caught.value), str(caught.value)


def test_an_error_names_the_nest_of_nodes_and_trips(monkeypatch):
    feeds = {"n": scalar(5, np.int64), "at": i64(0, 1, 2), "x": f32(1, 2, 3, 4)}
    said = []
    for jit in ("0", "2"):
        run_as(monkeypatch, jit)
        said.append(message_of(FAILING, feeds))
    assert said[0] == said[1]
    assert "(Loop), trip 2: " in said[0][1] and "(Scan), trip 2: " in said[0][1] and "(Gather)" in said[0][1]


def test_a_budget_of_trips_holds_for_inner_loops(monkeypatch):
    options = rondel.SessionOptions()
    options.max_trips = 50
    feeds = {"counts": i64(3, 60, 2, 5), "xs": random(4, 6), "s": random(6)}
    said = []
    for jit in ("0", "2"):
        run_as(monkeypatch, jit)
        said.append(message_of(LOOP_IN_SCAN, feeds, options))
    assert said[0] == said[1]
    assert said[0][0] is rondel.LimitExceeded and "trip 50: the budget of 50 trips is used up; raise the session's max_trips" in said[0][1]
    limits = rondel.RunOptions()
    limits.max_trips = 40
    for jit in ("0", "2"):
        run_as(monkeypatch, jit)
        with pytest.raises(rondel.LimitExceeded, match="trip 40: the budget of 40 trips is used up; raise the run's max_trips"):
            session(LOOP_IN_SCAN, options=options).run(None, feeds, limits)


PYRAMID = """
main (float[h, w] x) => (float[r, s] last, float[q] all) {
  two = Constant <value = int64 {2}> ()  one = Constant <value = int64 {1}> ()  flat = Constant <value = int64[1] {-1}> ()
  yes = Constant <value = bool {1}> ()  none = Constant <value = float[0] {}> ()
  last, all = Loop ("", yes, x, none) <body = b (int64 i, bool go, float[d, e] v, float[p] before) => (bool on, float[g, f] half, float[o] after) {
    whole = Shape (v)  cut = Div (whole, two)  to = Max (cut, one)  sum = ReduceSum <keepdims = 1> (v)
    half = Expand (sum, to)  row = Reshape (half, flat)  after = Concat <axis = 0> (before, row)
    side = ReduceMax <keepdims = 0> (to)  on = Greater (side, one) }>
}"""


def test_states_that_halve_on_two_axes(monkeypatch):
    made = model(PYRAMID)
    for way in in_all_ways(made, monkeypatch).values():
        for extents, shape, rows in [((4, 4), (1, 1), 5), ((7, 5), (1, 1), 7), ((1, 9), (1, 1), 7), ((7, 5), (1, 1), 7), ((1, 1), (1, 1), 1)]:
            for _ in range(2):
                last, every = way.run(None, {"x": np.ones(extents, np.float32)})
                assert last.shape == shape and len(every) == rows and every[0] == np.prod(extents)


ENDED_BY_DATA = """
main (int64[T] x) => (int64[U] r) {{
  yes = Constant <value = bool {{1}}> ()  most = Constant <value = int64 {{{most}}}> ()
  n = Size (x)
  r = Loop (n, "") <body = outer (int64 i, bool go) => (bool on, int64 trips) {{
    on = Identity (go)  v = Gather (x, i)
    zero = Constant <value = int64 {{0}}> ()  one = Constant <value = int64 {{1}}> ()  some = Less (zero, v)
    trips = Loop ({given}, {go}, zero) <body = inner (int64 j, bool c, int64 made) => (bool again, int64 more) {{
      more = Add (made, one)  again = Less (more, v) }}>
  }}>
}}"""


@pytest.mark.parametrize("most", ["", "1000", str(2**63 - 1)])
def test_a_budget_of_trips_is_used_up_by_trips_that_are_made(most, monkeypatch):
    made = model(ENDED_BY_DATA.format(most=most or 0, given="most" if most else '""', go="some"))
    for way in in_all_ways(made, monkeypatch, max_trips=7).values():
        np.testing.assert_array_equal(way.run(None, {"x": i64(7, 0, 3)})[0], [7, 0, 3])
        with pytest.raises(rondel.LimitExceeded, match="trip 7: the budget of 7 trips is used up"):
            way.run(None, {"x": i64(7, 8)})


@pytest.mark.parametrize("most", ["", "1000", str(2**63 - 1)])
def test_a_loop_that_reads_no_condition_uses_its_budget_up(most, monkeypatch):
    made = model(ENDED_BY_DATA.format(most=most or 0, given="most" if most else '""', go='""'))
    for way in in_all_ways(made, monkeypatch, max_trips=7).values():
        for x in (i64(3, 0, 5), i64(9)):  # the body's condition is false, or true
            with pytest.raises(rondel.LimitExceeded, match="the budget of 7 trips is used up"):
                way.run(None, {"x": x})


def test_a_deadline_ends_an_inner_loop_that_never_ends(monkeypatch):
    endless = COLLATZ.replace("done = Equal (w, one)", "done = Equal (w, zero)").replace('Loop ("", yes', "Loop (most, yes").replace(
        YES, YES + "\n  most = Constant <value = int64 {9000000000000000000}> ()"
    )
    for jit in WAYS:
        run_as(monkeypatch, jit)
        limits = rondel.RunOptions()
        limits.deadline = 0.05
        with pytest.raises(rondel.DeadlineExceeded):
            session(endless).run(None, {"x": scalar(7, np.int64)}, limits)


COUNTING = """
count (int64 n, float[k] x) => (float[k] y) <bool yes = {1}> {
  y = Loop (n, yes, x) <body = trip (int64 i, bool go, float[k] a) => (bool on, float[k] b) {
    b = Add (a, x)
    on = Identity (go)
  }>
}"""


def test_how_it_ran_tells_the_tiers(monkeypatch):
    """A session begins interpreted; optimised code comes in the background. The trips that are told are those of the run."""
    feeds = {"n": scalar(200), "x": np.ones(1000, np.float32)}
    monkeypatch.setenv("RONDEL_JIT", "1")
    ours = session(COUNTING.replace("count", f"count_{np.random.default_rng().integers(10**9)}"))
    name = "node 'y' (Loop)"
    ours.run(None, feeds)
    first = ours.how_it_ran(tiers=True)[name]
    assert ours.how_it_ran()[name] == "natively, as a whole"
    assert re.fullmatch(r"natively, as a whole; of the latest run's 200 trips \d+ interpreted", first)
    end = time.monotonic() + 60
    while ours.how_it_ran(tiers=True)[name] != "natively, as a whole" and time.monotonic() < end:
        ours.run(None, feeds)
    assert ours.how_it_ran(tiers=True)[name] == "natively, as a whole"
