"""The classical Runge-Kutta method on a field that is a small neural network: eight products in each trip."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, SIZE, STEP = 1000, 64, 0.02
ROW = f"float[1,{SIZE}]"


def slope(k, x):
    """Nodes that compute the slope k{k} at x."""
    return f"""
    m{k} = MatMul ({x}, w1)  a{k} = Add (m{k}, b1)  t{k} = Tanh (a{k})
    n{k} = MatMul (t{k}, w2)  k{k} = Add (n{k}, b2)"""


MODEL = f"""
integrate (int64 trips, {ROW} start) => ({ROW} last)
<float half_step = {{{STEP / 2}}}, float step = {{{STEP}}}, float sixth = {{{STEP / 6}}}, float two = {{2}}> {{
  last = Loop (trips, "", start) <body = one (int64 i, bool go, {ROW} x) => (bool on, {ROW} next) {{
    on = Identity (go)
    {slope(1, "x")}
    s1 = Mul (half_step, k1)  x1 = Add (x, s1)
    {slope(2, "x1")}
    s2 = Mul (half_step, k2)  x2 = Add (x, s2)
    {slope(3, "x2")}
    s3 = Mul (step, k3)  x3 = Add (x, s3)
    {slope(4, "x3")}
    middle = Add (k2, k3)  twice = Mul (two, middle)  ends = Add (k1, k4)  all = Add (ends, twice)
    moved = Mul (sixth, all)
    next = Add (x, moved)
  }}>
}}
"""


def workload():
    random = np.random.default_rng(0)
    w1, w2 = (random.standard_normal((SIZE, SIZE)).astype(np.float32) / 10 for _ in range(2))
    w2 -= np.eye(SIZE, dtype=np.float32)  # solutions stay bounded
    b1, b2, start = (random.standard_normal(SIZE).astype(np.float32) / 4 for _ in range(3))
    last = np.empty((1, SIZE), np.float32)
    return Workload(
        name="runge_kutta",
        doc="RK4 on x' = tanh(x w1 + b1) w2 + b2, x f32[1,64]",
        model=from_text(MODEL, w1=w1, b1=b1, w2=w2, b2=b2),
        feeds={"trips": np.array(TRIPS), "start": start[None]},
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.2,
        tolerance=1e-4,
        by_hand=lambda: (by_hand("runge_kutta", TRIPS, np.float32(STEP), start, w1, b1, w2, b2, last), [last]),
    )
