"""Softmax over the rows of a matrix: no loop."""

import numpy as np

from harness import Workload, from_text

MODEL = "m (float[512,512] x) => (float[512,512] y) { y = Softmax (x) }"


def workload():
    random = np.random.default_rng(0)
    x = random.standard_normal((512, 512)).astype(np.float32)
    return Workload(
        name="softmax_op",
        doc="Softmax [512,512], no loop",
        model=from_text(MODEL),
        feeds={"x": x},
        trips=1,
        limit_ratio=1.0,
        tolerance=1e-4,
    )
