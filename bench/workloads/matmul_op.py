"""A product of two matrices: no loop."""

import numpy as np

from harness import Workload, from_text

MODEL = "m (float[512,512] a, float[512,512] b) => (float[512,512] c) { c = MatMul (a, b) }"


def workload():
    random = np.random.default_rng(0)
    a = random.standard_normal((512, 512)).astype(np.float32)
    b = random.standard_normal((512, 512)).astype(np.float32)
    return Workload(
        name="matmul_op",
        doc="MatMul 512x512x512, no loop",
        model=from_text(MODEL),
        feeds={"a": a, "b": b},
        trips=1,
        limit_ratio=1.0,
        tolerance=1e-4,
    )
