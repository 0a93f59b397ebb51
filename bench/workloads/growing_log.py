"""A loop that appends rows to a state by Concat: a log, a list of tokens, a cache."""

import numpy as np

from harness import Workload, from_text

TRIPS = 2000
MODEL = """
logged (int64 n, float[rows, 128] start, float[1, 128] row) => (float[all, 128] log) {
  log = Loop (n, "", start) <body = append (int64 i, bool go, float[] v) => (bool on, float[] w) {
    on = Identity (go)
    w = Concat <axis = 0> (v, row)
  }>
}
"""


def workload():
    return Workload(
        name="growing_log",
        doc="f32[1,128] appended by Concat, 2,000 trips",
        model=from_text(MODEL),
        feeds={"n": np.array(TRIPS), "start": np.zeros((0, 128), np.float32), "row": np.ones((1, 128), np.float32)},
        trips=TRIPS,
        limit_ratio=1 / 50,
        unspelled=("network",),  # its recurrences keep their shapes
    )
