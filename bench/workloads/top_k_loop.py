"""TopK of ten of 1,000 elements, in a loop."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS = 1000
MODEL = """
top_k_loop (int64 trips, float[1000] x) => (float[1000] y) <bool yes = {1}, int64[1] k = {10}, float small = {0.001}> {
  y = Loop (trips, yes, x) <body = step (int64 i, bool go, float[1000] s) => (bool on, float[1000] t) {
    on = Identity (go)
    v, at = TopK (s, k)
    m = ReduceSum <keepdims = 1> (v)
    d = Mul (m, small)
    e = Cos (s)
    t = Add (d, e)
  }>
}
"""


def workload():
    random = np.random.default_rng(0)
    arrays = {
        "x": random.standard_normal(1000).astype(np.float32),
    }
    last = np.empty(1000, np.float32)
    return Workload(
        name="top_k_loop",
        doc="Loop, TopK 10 of 1,000, their sum, and Cos",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), **arrays},
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.25,
        tolerance=1e-4,
        by_hand=lambda: (by_hand("top_k_loop", TRIPS, arrays["x"], last), [last]),
    )
