"""A convolution: no loop."""

import numpy as np

from harness import Workload, from_text

MODEL = "m (float[1,64,56,56] x) => (float[1,64,56,56] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }"


def workload():
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 64, 56, 56)).astype(np.float32)
    w = random.standard_normal((64, 64, 3, 3)).astype(np.float32)
    return Workload(
        name="conv_op",
        doc="Conv 3x3 of 64 maps, 56x56, no loop",
        model=from_text(MODEL, w=w),
        feeds={"x": x},
        trips=1,
        limit_ratio=1.0,
        tolerance=1e-4,
    )
