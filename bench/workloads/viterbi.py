"""The best path through 256 states: a maximum and its place over the rows of a matrix in each step."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, STATES = 200, 256
MODEL = f"""
viterbi (float[{TRIPS},{STATES}] seen, float[{STATES},{STATES}] move, float[{STATES}] start)
    => (float[{STATES}] score, int64[{TRIPS},{STATES}] source) <int64[1] first = {{0}}, int64[1] second = {{1}}> {{
  score, source = Scan <num_scan_inputs = 1, body = step (float[{STATES}] old, float[{STATES}] x) => (float[{STATES}] new, int64[{STATES}] best) {{
    column = Unsqueeze (old, second)
    all = Add (column, move)
    most = ReduceMax <keepdims = 0> (all, first)
    best = ArgMax <axis = 0, keepdims = 0> (all)
    new = Add (most, x)
  }}> (start, seen)
}}
"""


def workload():
    random = np.random.default_rng(0)
    seen, move, start = (random.standard_normal(s).astype(np.float32) for s in ((TRIPS, STATES), (STATES, STATES), (STATES,)))
    outputs = [np.zeros(STATES, np.float32), np.zeros((TRIPS, STATES), np.int64)]
    return Workload(
        name="viterbi",
        doc="ReduceMax and ArgMax over the rows of f32[256,256], 200 steps",
        model=from_text(MODEL),
        feeds={"seen": seen, "move": move, "start": start},
        trips=TRIPS,
        by_hand=lambda: (by_hand("viterbi", TRIPS, STATES, seen, move, start, *outputs), outputs),
        limit_by_hand=1.25,
        unspelled=("double",),  # where two paths are equal but for rounding, it takes the other one
    )
