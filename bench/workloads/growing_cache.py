"""The caches of an attention layer: K and V grow by one row of each head in each trip, and a query reads them."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, HEADS, WIDTH = 1024, 8, 64
MODEL = """
decode (int64 n, float[1,8,0,64] k0, float[1,8,0,64] v0, float[1,8,1,64] query) => (float[1,8,T,64] keys, float[T,1,8,1,64] read) {
  keys, values, read = Loop (n, "", k0, v0) <body = step
      (int64 i, bool go, float[1,8,past,64] k, float[1,8,past,64] v) => (bool on, float[1,8,now,64] k1, float[1,8,now,64] v1, float[1,8,1,64] out) {
    on = Identity (go)
    trip = Cast <to = 1> (i)
    row = Mul (query, trip)
    k1 = Concat <axis = 2> (k, row)
    v1 = Concat <axis = 2> (v, query)
    transposed = Transpose <perm = [0, 1, 3, 2]> (k1)
    scores = MatMul (query, transposed)
    weights = Softmax (scores)
    out = MatMul (weights, v1)
  }>
}
"""


def workload():
    empty = np.zeros((1, HEADS, 0, WIDTH), np.float32)
    query = np.random.default_rng(0).standard_normal((1, HEADS, 1, WIDTH)).astype(np.float32) / 8
    return Workload(
        name="growing_cache",
        doc="K and V f32[1,8,t,64] grown by Concat, and the attention of a query",
        model=from_text(MODEL),
        feeds={"n": np.array(TRIPS), "k0": empty, "v0": empty, "query": query},
        trips=TRIPS,
        limit_by_hand=1.5,
        unspelled=("network",),  # its recurrences keep their shapes
        by_hand=lambda: in_cpp(query),
    )


def in_cpp(query):
    keys, values = (np.empty((1, HEADS, TRIPS, WIDTH), np.float32) for _ in range(2))
    read = np.empty((TRIPS, 1, HEADS, 1, WIDTH), np.float32)
    return by_hand("growing_cache", TRIPS, query, keys, values, read), [keys, read]
