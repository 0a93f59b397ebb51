"""The caches of `repeated_heads`, as ONNX's op Attention keeps them."""

from harness import Workload, from_text

from .repeated_heads import GROUPS, HEADS, TRIPS, WIDTH, feeds

MODEL = f"""
decode (int64 n, float[B,{HEADS},1,{WIDTH}] x, float[B,{GROUPS},P,{WIDTH}] k0, float[B,{GROUPS},P,{WIDTH}] v0)
    => (float[B,{HEADS},1,{WIDTH}] y, float[B,{GROUPS},T,{WIDTH}] keys, float[B,{GROUPS},U,{WIDTH}] values)
    <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] groups = {{{GROUPS}}}> {{
  y, keys, values = Loop (n, "", x, k0, v0) <body = step
      (int64 i, bool go, float[B,{HEADS},1,{WIDTH}] q, float[B,{GROUPS},past,{WIDTH}] k, float[B,{GROUPS},past,{WIDTH}] v)
      => (bool on, float[B,{HEADS},1,{WIDTH}] read, float[B,{GROUPS},now,{WIDTH}] k1, float[B,{GROUPS},now,{WIDTH}] v1) {{
    on = Identity (go)
    key = Slice (q, zero, groups, one)
    value = Neg (key)
    read, k1, v1 = Attention (q, key, value, , k, v)
  }}>
}}
"""


def workload():
    return Workload(
        name="attention_op",
        doc="the same with ONNX's op Attention",
        model=from_text(MODEL, opset=23),
        feeds=feeds(),
        trips=TRIPS,
        limit_ratio=0.5,
        unspelled=("network",),  # its recurrences keep their shapes
    )
