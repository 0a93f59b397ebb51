"""A convolution of 16 channels in a loop, as in an iterative refinement."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS = 1000
MODEL = """
conv_loop (int64 trips, float[1,16,16,16] x, float[16,16,3,3] k, float[16] bias) => (float[1,16,16,16] y) <bool yes = {1}> {
  y = Loop (trips, yes, x) <body = step (int64 i, bool go, float[1,16,16,16] s) => (bool on, float[1,16,16,16] t) {
    on = Identity (go)
    u = Conv <pads = [1, 1, 1, 1]> (s, k, bias)
    t = Tanh (u)
  }>
}
"""


def workload():
    random = np.random.default_rng(0)
    arrays = {
        "x": random.standard_normal((1, 16, 16, 16)).astype(np.float32),
        "bias": random.standard_normal(16).astype(np.float32),  # else all dies away
        "k": (random.standard_normal((16, 16, 3, 3)) / 24).astype(np.float32),
    }
    last = np.empty((1, 16, 16, 16), np.float32)
    return Workload(
        name="conv_loop",
        doc="Loop, Conv 3x3 of 16 channels and Tanh on [1,16,16,16]",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), **arrays},
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.25,
        tolerance=1e-4,
        by_hand=lambda: (by_hand("conv_loop", TRIPS, arrays["x"], arrays["k"], arrays["bias"], last), [last]),
    )
