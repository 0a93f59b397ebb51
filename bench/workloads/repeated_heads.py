"""Caches whose keys and values several heads share, and repeated for each head, as exporters of language models write it."""

import numpy as np

from harness import Workload, from_text

TRIPS, GROUPS, HEADS, WIDTH, PAST = 256, 8, 32, 64, 256
MODEL = f"""
decode (int64 n, float[B,{HEADS},1,{WIDTH}] x, float[B,{GROUPS},P,{WIDTH}] k0, float[B,{GROUPS},P,{WIDTH}] v0)
    => (float[B,{HEADS},1,{WIDTH}] y, float[B,{GROUPS},T,{WIDTH}] keys, float[B,{GROUPS},U,{WIDTH}] values)
    <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] three = {{3}}, float scale = {{0.125}},
     int64[1] groups = {{{GROUPS}}}, int64[1] times = {{{HEADS // GROUPS}}}, int64[1] heads = {{{HEADS}}}, int64[1] width = {{{WIDTH}}}> {{
  y, keys, values = Loop (n, "", x, k0, v0) <body = step
      (int64 i, bool go, float[B,{HEADS},1,{WIDTH}] q, float[B,{GROUPS},past,{WIDTH}] k, float[B,{GROUPS},past,{WIDTH}] v)
      => (bool on, float[B,{HEADS},1,{WIDTH}] read, float[B,{GROUPS},now,{WIDTH}] k1, float[B,{GROUPS},now,{WIDTH}] v1) {{
    on = Identity (go)
    key = Slice (q, zero, groups, one)
    value = Neg (key)
    k1 = Concat <axis = 2> (k, key)
    v1 = Concat <axis = 2> (v, value)
    shape = Shape (k1)
    batch = Slice (shape, zero, one)
    length = Slice (shape, two, three)
    repeated = Concat <axis = 0> (batch, groups, times, length, width)
    joined = Concat <axis = 0> (batch, heads, length, width)
    k2 = Unsqueeze (k1, two)
    k3 = Expand (k2, repeated)
    k4 = Reshape (k3, joined)
    v2 = Unsqueeze (v1, two)
    v3 = Expand (v2, repeated)
    v4 = Reshape (v3, joined)
    transposed = Transpose <perm = [0, 1, 3, 2]> (k4)
    scores = MatMul (q, transposed)
    scaled = Mul (scores, scale)
    weights = Softmax (scaled)
    read = MatMul (weights, v4)
  }}>
}}
"""


def feeds():
    random = np.random.default_rng(0)
    k, v = (random.standard_normal((1, GROUPS, PAST, WIDTH)).astype(np.float32) for _ in range(2))
    return {"n": np.array(TRIPS), "x": random.standard_normal((1, HEADS, 1, WIDTH)).astype(np.float32), "k0": k, "v0": v}


def workload():
    return Workload(
        name="repeated_heads",
        doc="32 heads share 8 keys and values, which grow from 256 rows and are repeated by Expand and Reshape",
        model=from_text(MODEL),
        feeds=feeds(),
        trips=TRIPS,
        limit_ratio=0.5,
        unspelled=("network",),  # its recurrences keep their shapes
    )
