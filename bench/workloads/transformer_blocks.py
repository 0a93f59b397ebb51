"""Two blocks of a transformer over 128 rows: no loop."""

import numpy as np

from harness import Workload, from_text
from workloads.transformer import blocks

LENGTH, WIDTH = 128, 256


def workload():
    text, weights = blocks(2, LENGTH, WIDTH)
    return Workload(
        name="transformer_blocks",
        doc="two transformer blocks, S=128 d=256, no loop",
        model=from_text(text, **weights),
        feeds={"x": np.random.default_rng(1).standard_normal((LENGTH, WIDTH)).astype(np.float32)},
        trips=1,
        limit_ratio=1.0,
        tolerance=1e-4,
    )
