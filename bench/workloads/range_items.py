"""A loop that stacks items whose extent only data know: Range(0, k)."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, EXTENT = 2000, 256
MODEL = """
ranges (int64[N] lengths) => (int64[N,K] items) <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}> {
  size = Shape (lengths)
  trips = Gather (size, zero)
  items = Loop (trips, "") <body = step (int64 i, bool go) => (bool on, int64[K] item) {
    on = Identity (go)
    k = Gather (lengths, i)
    range = Range (zero, k, one)
    item = Add (range, i)
  }>
}
"""


def workload():
    lengths, items = np.full(TRIPS, EXTENT), np.empty((TRIPS, EXTENT), np.int64)
    return Workload(
        name="range_items",
        doc="Range(0, k) and the trip, stacked; k = 256 from data",
        model=from_text(MODEL),
        feeds={"lengths": lengths},
        trips=TRIPS,
        first={"lengths": lengths[:1]},
        limit_by_hand=1.25,
        by_hand=lambda: (by_hand("range_items", TRIPS, lengths, items), [items]),
    )
