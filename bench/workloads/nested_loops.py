"""A loop in a loop, 1,000 x 1,000 trips of v*0.5 + 1 on one float: the cost of an inner loop."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS = 1000
MODEL = """
nested_loops (int64 trips, float start) => (float last) <bool yes = {1}, float half = {0.5}, float one = {1.0}> {
  last = Loop (trips, yes, start) <body = outer (int64 i, bool go, float v) => (bool on, float w) {
    on = Identity (go)
    w = Loop (trips, go, v) <body = inner (int64 j, bool go2, float x) => (bool on2, float y) {
      on2 = Identity (go2)
      t = Mul (x, half)
      y = Add (t, one)
    }>
  }>
}
"""


def workload():
    return Workload(
        name="nested_loops",
        doc="Loop in Loop, 1,000 x 1,000 trips on a f32 scalar",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), "start": np.array(3, np.float32)},
        trips=TRIPS * TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.2,
        by_hand=in_cpp,
    )


def in_cpp():
    last = np.empty((), np.float32)
    return by_hand("nested_loops", TRIPS, np.float32(3), last), [last]
