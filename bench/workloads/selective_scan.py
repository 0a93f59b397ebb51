"""A selective state space: h = A h + B x, y = sum of C h, in which B and C belong to the step."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, CHANNELS, STATES = 2000, 256, 16
STATE = f"float[1,{CHANNELS},{STATES}]"
MODEL = f"""
selective ({STATE} h0, float[{CHANNELS},{STATES}] a, float[{TRIPS},1,{CHANNELS}] xs, float[{TRIPS},1,{STATES}] bs, float[{TRIPS},1,{STATES}] cs)
    => ({STATE} h, float[{TRIPS},1,{CHANNELS}] ys) <int64[1] last = {{-1}}, int64[1] second = {{1}}> {{
  h, ys = Scan <num_scan_inputs = 3, body = step ({STATE} before, float[1,{CHANNELS}] x, float[1,{STATES}] b, float[1,{STATES}] c)
      => ({STATE} after, float[1,{CHANNELS}] y) {{
    kept = Mul (a, before)
    x_column = Unsqueeze (x, last)
    b_row = Unsqueeze (b, second)
    new = Mul (b_row, x_column)
    after = Add (kept, new)
    c_row = Unsqueeze (c, second)
    read = Mul (c_row, after)
    y = ReduceSum <keepdims = 0> (read, last)
  }}> (h0, xs, bs, cs)
}}
"""


def workload():
    random = np.random.default_rng(0)
    a = random.uniform(0.5, 0.99, (CHANNELS, STATES)).astype(np.float32)
    xs, bs, cs = (random.standard_normal((TRIPS, 1, n)).astype(np.float32) for n in (CHANNELS, STATES, STATES))
    outputs = [np.empty((1, CHANNELS, STATES), np.float32), np.empty((TRIPS, 1, CHANNELS), np.float32)]
    return Workload(
        name="selective_scan",
        doc="h = A h + B x, y = sum of C h, state f32[1,256,16]",
        model=from_text(MODEL),
        feeds={"h0": np.zeros((1, CHANNELS, STATES), np.float32), "a": a, "xs": xs, "bs": bs, "cs": cs},
        trips=TRIPS,
        limit_by_hand=1.2,
        tolerance=1e-4,
        by_hand=lambda: (by_hand("selective_scan", TRIPS, a, xs, bs, cs, *outputs), outputs),
    )
