"""A recurrence over a sequence that is read by slices, as torch exports `x[:, t:t + 1]`."""

import numpy as np

from harness import Workload, from_text

TRIPS = 2000
MODEL = """
slice_loop (float[B,T,C] x, float[B,1,C] h0) => (float[B,1,C] last)
<bool yes = {1}, int64 second = {1}, int64[1] first = {0}, int64[1] one = {1}, float keep = {0.9}> {
  sizes = Shape (x)
  steps = Gather (sizes, second)
  last = Loop (steps, yes, h0) <body = step (int64 t, bool go, float[B,1,C] h) => (bool on, float[B,1,C] next) {
    on = Identity (go)
    start = Unsqueeze (t, first)
    end = Add (start, one)
    now = Slice (x, start, end, one)
    kept = Mul (h, keep)
    sum = Add (kept, now)
    next = Tanh (sum)
  }>
}
"""


def workload():
    random = np.random.default_rng(0)
    x = random.standard_normal((4, TRIPS, 16)).astype(np.float32)
    return Workload(
        name="slice_loop",
        doc="Loop, a leaky Tanh cell on x[:, t:t+1] of f32[4,2000,16]",
        model=from_text(MODEL),
        feeds={"x": x, "h0": np.zeros((4, 1, 16), np.float32)},
        trips=TRIPS,
        first={"x": x[:, :1].copy()},
        tolerance=1e-4,
    )
