"""A state f32[1,8,t,64] that grows by a row of each head in each trip, and nothing that reads it."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, HEADS, WIDTH = 1024, 8, 64
MODEL = """
grow (int64 n, float[1,8,0,64] start, float[1,8,1,64] query) => (float[1,8,T,64] grown) {
  grown = Loop (n, "", start) <body = step (int64 i, bool go, float[1,8,past,64] k) => (bool on, float[1,8,now,64] k1) {
    on = Identity (go)
    trip = Cast <to = 1> (i)
    row = Mul (query, trip)
    k1 = Concat <axis = 2> (k, row)
  }>
}
"""


def feeds():
    query = np.random.default_rng(0).standard_normal((1, HEADS, 1, WIDTH)).astype(np.float32) / 8
    return {"n": np.array(TRIPS), "start": np.zeros((1, HEADS, 0, WIDTH), np.float32), "query": query}


def workload():
    values, grown = feeds(), np.empty((1, HEADS, TRIPS, WIDTH), np.float32)
    return Workload(
        name="growing_append",
        doc="f32[1,8,t,64] grown by Concat",
        model=from_text(MODEL),
        feeds=values,
        trips=TRIPS,
        limit_by_hand=1.5,
        unspelled=("network",),  # its recurrences keep their shapes
        by_hand=lambda: (by_hand("growing_append", TRIPS, values["query"], grown), [grown]),
    )
