"""x = A x / |A x|: a matrix-vector product and a norm."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, SIZE = 2000, 128
MODEL = f"""
power_iteration (int64 trips, float[{SIZE},{SIZE}] a, float[{SIZE},1] x) => (float[{SIZE},1] last) <bool yes = {{1}}> {{
  last = Loop (trips, yes, x) <body = step (int64 i, bool go, float[{SIZE},1] v) => (bool on, float[{SIZE},1] w) {{
    on = Identity (go)
    y = MatMul (a, v)
    l = ReduceL2 <keepdims = 1> (y)
    w = Div (y, l)
  }}>
}}
"""


def arrays():
    random = np.random.default_rng(0)
    a = random.standard_normal((SIZE, SIZE)).astype(np.float32)
    return {"a": a @ a.T, "x": random.standard_normal((SIZE, 1)).astype(np.float32)}


def workload():
    return Workload(
        name="power_iteration",
        doc="Loop, MatMul [128,128] x [128,1] and a norm",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), **arrays()},
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.5,
        tolerance=1e-4,
        by_hand=in_cpp,
    )


def in_cpp():
    last = np.empty((SIZE, 1), np.float32)
    values = arrays()
    return by_hand("power_iteration", TRIPS, SIZE, values["a"], values["x"], last), [last]
