"""Euler's method on a field of 4,096 FitzHugh-Nagumo oscillators: two states, a dozen element-wise ops."""

import numpy as np

from harness import Workload, from_text

TRIPS, SIZE, STEP = 2000, 4096, 0.05
ROW = f"float[{SIZE}]"
MODEL = f"""
integrate (int64 trips, {ROW} v0, {ROW} w0, {ROW} current) => ({ROW} v, {ROW} w)
<float third = {{0.3333333}}, float step = {{{STEP}}}, float slow = {{{STEP * 0.08}}}, float a = {{0.7}}, float b = {{0.8}}> {{
  v, w = Loop (trips, "", v0, w0) <body = one (int64 i, bool go, {ROW} x, {ROW} y) => (bool on, {ROW} x1, {ROW} y1) {{
    on = Identity (go)
    xx = Mul (x, x)  cube = Mul (xx, x)  bent = Mul (third, cube)  rising = Sub (x, bent)
    falling = Sub (rising, y)  dx = Add (falling, current)  x_step = Mul (step, dx)  x1 = Add (x, x_step)
    moved = Add (x, a)  back = Mul (b, y)  dy = Sub (moved, back)  y_step = Mul (slow, dy)  y1 = Add (y, y_step)
  }}>
}}
"""


def workload():
    random = np.random.default_rng(0)
    return Workload(
        name="euler_field",
        doc="Euler steps of two states f32[4096], 13 element-wise ops",
        model=from_text(MODEL),
        feeds={
            "trips": np.array(TRIPS),
            "v0": random.uniform(-1, 1, SIZE).astype(np.float32),
            "w0": random.uniform(-1, 1, SIZE).astype(np.float32),
            "current": random.uniform(0, 0.3, SIZE).astype(np.float32),  # below what makes them oscillate
        },
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_ratio=1 / 14,
    )
