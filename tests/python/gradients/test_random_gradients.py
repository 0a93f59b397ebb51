"""Gradients of random programs of nested Loop, Scan and If, against central differences.

The interpreter and native code must give the same bits, native code also in its third run: a loop that runs step by step is then planned
anew for these shapes. Programs with a `Conv` run in `strict` mode: the fast convolution rounds otherwise. A failure prints the seed and the program.
`RONDEL_GRADIENTS` sets the number of programs, `RONDEL_SEED` the first seed.
"""

import os

import numpy as np
import onnx.printer
import pytest
import rondel
from models import options, run_as
from smooth_programs import smooth_program

COUNT = int(os.environ.get("RONDEL_GRADIENTS", "400"))
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
CHUNK = 20
CHECKPOINTS = ["none", "sqrt", 1, 2]
STEP = 1e-5


def runs(model, jit, outputs, feeds, monkeypatch, count):
    """The results of the first run of a session, and of the last one of `count`."""
    run_as(monkeypatch, jit)
    session = rondel.InferenceSession(model, options(strict=b"Conv" in model))
    results = [session.run(outputs, feeds) for _ in range(count)]
    return results[0], results[-1]


def difference(session, outputs, feeds, directions, seeds, step):
    """The directional derivative of sum(output * seed) over all outputs, as a central difference of two runs."""
    ends = [session.run(outputs, feeds | {n: feeds[n] + s * v for n, v in directions.items()}) for s in (step, -step)]
    return sum(np.sum(u * (high - low)) for u, high, low in zip(seeds, *ends, strict=True)) / (2 * step)


def fault(seed, monkeypatch):
    """The fault in the gradient of this seed's program, as text; None if there is none."""
    program, feeds = smooth_program(seed)
    model, rng = program.SerializeToString(), np.random.default_rng(seed)
    run_as(monkeypatch, "0")
    session = rondel.InferenceSession(model)
    outputs = [o.name for o in session.get_outputs() if o.type == "tensor(double)"]
    if not outputs:
        return None
    seeds = [rng.standard_normal(y.shape) for y in session.run(outputs, feeds)]
    directions = {n: rng.standard_normal(x.shape) for n, x in feeds.items() if x.dtype == np.float64}
    names = [f"seed_{k}" for k in range(len(seeds))]
    try:
        made = rondel.grad(model, list(directions), outputs, names, checkpoint=CHECKPOINTS[seed % 4]).SerializeToString()
        wanted, fed = [f"grad_{n}" for n in directions], feeds | dict(zip(names, seeds))
        interpreted, _ = runs(made, "0", wanted, fed, monkeypatch, 1)
        native = runs(made, "checked" if seed % 2 else "2", wanted, fed, monkeypatch, 3)
    except rondel.Error as error:
        return f"{type(error).__name__}: {error}"
    for when, results in zip(("first", "third"), native):
        if any(a.tobytes() != b.tobytes() for a, b in zip(interpreted, results, strict=True)):
            return f"native code differs from the interpreter in its {when} run"
    parts = [g * v for g, v in zip(interpreted, directions.values(), strict=True)]
    along, scale = sum(map(np.sum, parts)), 1 + sum(np.abs(p).sum() for p in parts)
    once, half = (difference(session, outputs, feeds, directions, seeds, step) for step in (STEP, STEP / 2))
    want = (4 * half - once) / 3
    return None if abs(along - want) <= 1e-6 * scale else f"{along} along a direction instead of {want} (whole step: {once})"


@pytest.mark.filterwarnings("ignore:.*cond is left out")
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK), ids=lambda s: f"seeds {s} to {s + CHUNK - 1}")
def test_random_gradients(first, monkeypatch):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    faults = {seed: words for seed in seeds if (words := fault(seed, monkeypatch))}
    if faults:
        smallest = min(faults, key=lambda s: smooth_program(s)[0].ByteSize())
        listed = "\n".join(f"seed {seed}: {words[:400]}" for seed, words in faults.items())
        program = onnx.printer.to_text(smooth_program(smallest)[0])
        pytest.fail(f"{len(faults)} of {CHUNK} gradients are wrong\n{listed}\n\nseed {smallest}:\n{program}", pytrace=False)


@pytest.mark.filterwarnings("ignore:.*cond is left out")
@pytest.mark.parametrize("seed", [5159])
def test_gradients_that_were_wrong_once(seed, monkeypatch):
    assert fault(seed, monkeypatch) is None
