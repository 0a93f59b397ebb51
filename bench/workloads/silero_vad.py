"""The demo's speech detector over 64 chunks of noise: one run per chunk; the caller carries the state."""

import sys

import numpy as np

from harness import ROOT, Workload

CHUNKS = 64


def workload():
    sys.path.insert(0, str(ROOT / "examples" / "demo"))
    import speech

    noise = np.random.default_rng(0).normal(scale=0.1, size=CHUNKS * speech.CHUNK)
    return Workload(
        name="silero_vad",
        doc="If and LSTM, 64 chunks of 512 samples, a run each",
        model=speech.model_path().read_bytes(),
        feeds={"samples": noise.astype(np.float32)},
        trips=CHUNKS,
        unspelled=("double",),  # the caller's state is f32
        call=lambda session, feeds: [speech.probabilities(session, feeds["samples"])],
    )
