"""The Mandelbrot set: states of 256 KiB each, which a loop over trips reads and writes in every trip."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, SIDE = 100, 256
SHAPE = f"float[{SIDE},{SIDE}]"
MODEL = f"""
mandelbrot (int64 trips, {SHAPE} re, {SHAPE} im, {SHAPE} zeros) => ({SHAPE} count, {SHAPE} x, {SHAPE} y)
    <bool yes = {{1}}, float four = {{4}}, float two = {{2}}, float one = {{1}}, float none = {{0}}> {{
  count, x, y = Loop (trips, yes, zeros, zeros, zeros) <body = step (int64 i, bool go, {SHAPE} k, {SHAPE} a, {SHAPE} b)
      => (bool on, {SHAPE} k2, {SHAPE} a2, {SHAPE} b2) {{
    on = Identity (go)
    aa = Mul (a, a)  bb = Mul (b, b)  size = Add (aa, bb)  inside = Less (size, four)
    difference = Sub (aa, bb)  u = Add (difference, re)
    product = Mul (a, b)  twice = Mul (product, two)  v = Add (twice, im)
    a2 = Where (inside, u, a)  b2 = Where (inside, v, b)
    more = Where (inside, one, none)  k2 = Add (k, more)
  }}>
}}
"""


def workload():
    side = np.linspace(-0.3, 0.2, SIDE, dtype=np.float32)  # inside of the set, where rounding is not amplified
    re = np.tile(side, (SIDE, 1))
    im = np.tile(side[:, None], (1, SIDE))
    outputs = [np.empty((SIDE, SIDE), np.float32) for _ in range(3)]
    return Workload(
        name="mandelbrot",
        doc="z*z + c for f32[256,256], 100 trips, with a count",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), "re": re, "im": im, "zeros": np.zeros((SIDE, SIDE), np.float32)},
        trips=TRIPS,
        limit_by_hand=1.25,
        by_hand=lambda: (by_hand("mandelbrot", TRIPS, SIDE * SIDE, re, im, *outputs), outputs),
    )
