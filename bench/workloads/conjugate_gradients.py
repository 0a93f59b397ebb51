"""Conjugate gradients: a loop that ends when the residual is small."""

import numpy as np

from harness import Workload, by_hand, from_text

SIZE, MOST, SMALL = 256, 1000, 1e-6
MODEL = f"""
solve (float[{SIZE},{SIZE}] a, float[{SIZE}] b, int64 most, float small) => (float[{SIZE}] x) {{
  start = Sub (b, b)
  bb = Mul (b, b)
  square0 = ReduceSum <keepdims = 0> (bb)
  begin = Greater (square0, small)
  x, r, p, square = Loop (most, begin, start, b, b, square0) <body = step
      (int64 i, bool go, float[{SIZE}] x0, float[{SIZE}] r0, float[{SIZE}] p0, float s0)
      => (bool on, float[{SIZE}] x1, float[{SIZE}] r1, float[{SIZE}] p1, float s1) {{
    ap = MatMul (a, p0)
    pap = MatMul (p0, ap)
    alpha = Div (s0, pap)
    x_step = Mul (alpha, p0)
    x1 = Add (x0, x_step)
    r_step = Mul (alpha, ap)
    r1 = Sub (r0, r_step)
    rr = Mul (r1, r1)
    s1 = ReduceSum <keepdims = 0> (rr)
    beta = Div (s1, s0)
    kept = Mul (beta, p0)
    p1 = Add (r1, kept)
    on = Greater (s1, small)
  }}>
}}
"""


def arrays():
    random = np.random.default_rng(0)
    directions, _ = np.linalg.qr(random.standard_normal((SIZE, SIZE)))
    a = (directions * np.geomspace(1, 300, SIZE)) @ directions.T
    return a.astype(np.float32), random.standard_normal(SIZE).astype(np.float32)


def trips_in_numpy(a, b):
    r = p = b
    square, trips = b @ b, 0
    while square > SMALL:
        ap = a @ p
        r = r - square / (p @ ap) * ap
        square, before, trips = r @ r, square, trips + 1
        p = r + square / before * p
    return trips


def workload():
    a, b = arrays()
    x = np.empty(SIZE, np.float32)
    small = np.float32(SMALL)
    return Workload(
        name="conjugate_gradients",
        doc="MatMul [256,256] x [256] and four element-wise updates, until the residual is small",
        model=from_text(MODEL),
        feeds={"a": a, "b": b, "most": np.array(MOST), "small": np.array(small)},
        trips=trips_in_numpy(a, b),
        limit_by_hand=1.25,
        tolerance=1e-3,  # the residual that ends it
        by_hand=lambda: (by_hand("conjugate_gradients", MOST, SIZE, a, b, small, x), [x]),
    )
