"""Caches of fixed size, of which each trip reads as many rows as data say: `k[:, :n]`, as exporters write attention with a static cache."""

import numpy as np

from harness import Workload, from_text

TRIPS, HEADS, ROOM, WIDTH = 256, 8, 512, 64
MODEL = f"""
prefix_cache (int64 trips, int64[N] counts, float[{HEADS},{ROOM},{WIDTH}] k, float[{HEADS},{ROOM},{WIDTH}] v, float[{HEADS},1,{WIDTH}] query)
    => (float[{HEADS},1,{WIDTH}] last) <int64[1] zero = {{0}}, int64[1] axis = {{1}}, bool yes = {{1}}> {{
  last = Loop (trips, yes, query) <body = step (int64 i, bool go, float[{HEADS},1,{WIDTH}] q) => (bool on, float[{HEADS},1,{WIDTH}] read) {{
    on = Identity (go)
    count = Gather (counts, i)
    n = Unsqueeze (count, zero)
    keys = Slice (k, zero, n, axis)
    values = Slice (v, zero, n, axis)
    transposed = Transpose <perm = [0, 2, 1]> (keys)
    scores = MatMul (q, transposed)
    weights = Softmax (scores)
    read = MatMul (weights, values)
  }}>
}}
"""


def workload():
    random = np.random.default_rng(0)
    k, v = (random.standard_normal((HEADS, ROOM, WIDTH)).astype(np.float32) / 8 for _ in range(2))
    return Workload(
        name="prefix_cache",
        doc="attention over k[:, :n] and v[:, :n] of f32[8,512,64], n up to 512",
        model=from_text(MODEL),
        feeds={
            "trips": np.array(TRIPS),
            "counts": random.permutation(np.arange(1, 2 * TRIPS + 1, 2)),
            "k": k,
            "v": v,
            "query": random.standard_normal((HEADS, 1, WIDTH)).astype(np.float32),
        },
        trips=TRIPS,
        limit_ratio=0.5,
    )
