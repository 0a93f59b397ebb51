"""A state f32[1,8,t,64] that grows in each trip, and the sum of its elements."""

import numpy as np

from harness import Workload, by_hand, from_text
from workloads.growing_append import HEADS, TRIPS, WIDTH, feeds

MODEL = """
grow (int64 n, float[1,8,0,64] start, float[1,8,1,64] query) => (float[1,8,T,64] grown, float[T] sums) {
  grown, sums = Loop (n, "", start) <body = step (int64 i, bool go, float[1,8,past,64] k) => (bool on, float[1,8,now,64] k1, float sum) {
    on = Identity (go)
    trip = Cast <to = 1> (i)
    row = Mul (query, trip)
    k1 = Concat <axis = 2> (k, row)
    sum = ReduceSum <keepdims = 0> (k1)
  }>
}
"""


def workload():
    values = feeds()
    outputs = [np.empty((1, HEADS, TRIPS, WIDTH), np.float32), np.empty(TRIPS, np.float32)]
    return Workload(
        name="growing_read",
        doc="f32[1,8,t,64] grown by Concat, and its sum",
        model=from_text(MODEL),
        feeds=values,
        trips=TRIPS,
        limit_by_hand=1.5,
        tolerance=1e-4,  # sums of half a million elements
        unspelled=("network",),  # its recurrences keep their shapes
        by_hand=lambda: (by_hand("growing_read", TRIPS, values["query"], *outputs), outputs),
    )
