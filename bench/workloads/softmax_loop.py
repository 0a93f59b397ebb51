"""A softmax in a loop."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS = 1000
MODEL = """
softmax_loop (int64 trips, float[8,128] x) => (float[8,128] y) <bool yes = {1}> {
  y = Loop (trips, yes, x) <body = step (int64 i, bool go, float[8,128] s) => (bool on, float[8,128] t) {
    on = Identity (go)
    v = Softmax <axis = -1> (s)
    t = Add (v, s)
  }>
}
"""


def workload():
    random = np.random.default_rng(0)
    arrays = {
        "x": random.standard_normal((8, 128)).astype(np.float32),
    }
    last = np.empty((8, 128), np.float32)
    return Workload(
        name="softmax_loop",
        doc="Loop, Softmax over the rows of [8,128] and Add",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), **arrays},
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.25,
        tolerance=1e-4,
        by_hand=lambda: (by_hand("softmax_loop", TRIPS, arrays["x"], last), [last]),
    )
