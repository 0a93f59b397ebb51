"""A loop of a few trips that data end and that stacks something: what entering and leaving a loop costs."""

import numpy as np

from harness import Workload, from_text

TRIPS = 8
MODEL = """
root (float[n] a) => (float[n] r, float[k] steps)
<int64 most = {50}, float one = {1}, float small = {0.00001}> {
  yes = Constant <value = bool {1}> ()
  start = Max (a, one)
  r, steps = Loop (most, yes, start) <body = newton (int64 i, bool go, x) => (bool on, better, worst) {
    square = Mul (x, x)
    error = Sub (square, a)
    twice = Add (x, x)
    step = Div (error, twice)
    better = Sub (x, step)
    size = Abs (step)
    worst = ReduceMax <keepdims = 0> (size)
    on = Greater (worst, small)
  }>
}
"""


def workload():
    return Workload(
        name="short_loop",
        doc="the README's square roots: Loop until no element of f32[3] changes, 8 trips",
        model=from_text(MODEL),
        feeds={"a": np.array([2, 9, 100], np.float32)},
        trips=TRIPS,
        limit_ratio=0.5,
    )
