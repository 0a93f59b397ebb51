"""The lengths of the Collatz sequences up to 3,000: an If in a loop that ends by its condition, in a loop."""

import numpy as np

from harness import Workload, by_hand, from_text

MOST = 3000
STEPS = 215_063  # steps of all sequences together
MODEL = """
collatz (int64 most) => (int64 steps)
<bool yes = {1}, int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}> {
  steps = Loop (most, yes, zero) <body = each (int64 i, bool go, int64 before) => (bool on, int64 after) {
    on = Identity (go)
    n = Add (i, one)
    more = Greater (n, one)
    last, after = Loop ("", more, n, before) <body = walk (int64 j, bool go2, int64 v, int64 s) => (bool on2, int64 w, int64 t) {
      r = Mod (v, two)
      odd = Equal (r, one)
      w = If (odd) <then_branch = up () => (int64 a) { p = Mul (v, three)  a = Add (p, one) },
                    else_branch = down () => (int64 c) { c = Div (v, two) }>
      t = Add (s, one)
      done = Equal (w, one)
      on2 = Not (done)
    }>
  }>
}
"""


def workload():
    return Workload(
        name="collatz",
        doc="If in a conditional Loop in a Loop, on i64 scalars",
        model=from_text(MODEL),
        feeds={"most": np.array(MOST)},
        trips=STEPS,
        first={"most": np.array(2)},
        limit_by_hand=3.0,
        by_hand=in_cpp,
    )


def in_cpp():
    steps = np.empty((), np.int64)
    return by_hand("collatz", MOST, steps), [steps]
