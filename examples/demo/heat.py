"""Part 2: how long does the heat in a rod take to settle? An ONNX `Loop`, written in Python.

One end of a cold rod is held at 100 degrees, the other at 0. Each trip is one explicit Euler step
of the heat equation; the loop stops when no point moves by more than a tolerance, so how many
trips it makes depends on the data. onnxscript turns the Python function below into an ONNX model:
its `while` becomes a `Loop` without a trip count.
"""

import numpy as np
from onnxscript import DOUBLE, opset21 as op, script

from screen import Progress, blocks
from side_by_side import Outcome, alternately, both, largest_difference

TOLERANCE = 1e-9  #: degrees


# The loop carries only one state: onnxscript orders several states by hash, and not consistently
# (onnxscript issue 2203).
@script()
def settle(rod: DOUBLE["points"], rate: DOUBLE, tolerance: DOUBLE) -> DOUBLE["points"]:
    """Euler steps until no point of the rod moves by more than `tolerance` in a step."""
    moving = tolerance + tolerance > tolerance
    while moving:
        flow = rate * (rod[:-2] + rod[2:] - rod[1:-1] - rod[1:-1])
        rod = rod + op.Pad(flow, [1, 1])
        moving = op.ReduceMax(op.Abs(flow), keepdims=0) > tolerance
    return rod


def settle_in_numpy(rod, rate, tolerance):
    """The same computation in NumPy: (rod, number of steps)."""
    steps, moving = 0, True
    while moving:
        flow = rate * (rod[:-2] + rod[2:] - rod[1:-1] - rod[1:-1])
        rod = rod + np.pad(flow, 1)
        moving = np.abs(flow).max() > tolerance
        steps += 1
    return rod, steps


def build():
    """The ONNX model."""
    return settle.to_model_proto()


def run(quick=False):
    rod = np.zeros(32 if quick else 64)
    rod[0] = 100.0
    feeds = {"rod": rod, "rate": np.array(0.4), "tolerance": np.array(1e-6)}

    with Progress("stepping in NumPy"):
        wanted, steps = settle_in_numpy(**feeds)
    with Progress("loading the model in both engines"):
        mine, theirs = both(build())
    (settled,) = mine.run(None, feeds)

    print(f"   a rod of {len(rod)} points settles in {steps:,} steps, as many as the data ask for")
    for name, values in (("before", rod), ("after", settled)):
        print(f"   {name:>6} {blocks(values, 0, 100)}  {values[0]:.0f} to {values[-1]:.0f} degrees")

    rounds = 3 if quick else 7
    with Progress("timing", rounds) as progress:
        seconds = alternately(
            lambda: mine.run(None, feeds), lambda: theirs.run(None, feeds), rounds, progress.step
        )
    mine_ns, theirs_ns = (1e9 * whole / steps for whole in seconds)
    print(f"   a step took {mine_ns:,.0f} ns, in ONNX Runtime {theirs_ns:,.0f} ns")
    return Outcome(
        part="heat in a rod (Loop)",
        result=f"{steps:,} steps",
        reference="NumPy",
        difference=largest_difference(settled, wanted),
        tolerance=TOLERANCE,
        rondel_seconds=seconds[0],
        onnxruntime_seconds=seconds[1],
    )
