"""LayerNormalization of the rows of a matrix: no loop."""

import numpy as np

from harness import Workload, from_text

MODEL = "m (float[512,1024] x) => (float[512,1024] y) { y = LayerNormalization (x, g, b) }"


def workload():
    random = np.random.default_rng(0)
    x = random.standard_normal((512, 1024)).astype(np.float32)
    g = random.standard_normal(1024).astype(np.float32)
    b = random.standard_normal(1024).astype(np.float32)
    return Workload(
        name="layer_norm_op",
        doc="LayerNormalization [512,1024], no loop",
        model=from_text(MODEL, g=g, b=b),
        feeds={"x": x},
        trips=1,
        limit_ratio=1.0,
        tolerance=1e-4,
    )
