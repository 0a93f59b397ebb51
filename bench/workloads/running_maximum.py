"""The maximum so far: one op on a small state, and a stack of it."""

import numpy as np

from harness import Workload, from_text

TRIPS, SIZE = 10_000, 64
MODEL = f"""
maxima (float[{TRIPS},{SIZE}] xs, float[{SIZE}] start) => (float[{SIZE}] last, float[{TRIPS},{SIZE}] all) {{
  last, all = Scan <num_scan_inputs = 1, body = step (float[{SIZE}] before, float[{SIZE}] x) => (float[{SIZE}] now, float[{SIZE}] item) {{
    now = Max (before, x)
    item = Identity (now)
  }}> (start, xs)
}}
"""


def workload():
    xs = np.random.default_rng(0).standard_normal((TRIPS, SIZE)).astype(np.float32)
    return Workload(
        name="running_maximum",
        doc="Scan, Max on f32[64]",
        model=from_text(MODEL),
        feeds={"xs": xs, "start": np.full(SIZE, -10, np.float32)},
        trips=TRIPS,
        limit_ratio=1 / 50,
    )
