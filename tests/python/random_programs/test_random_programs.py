"""Random programs of nested Loop, Scan and If with kernels in them, against a small NumPy machine.

The interpreter and native code, which is compiled before the first trip, must agree with it bit for bit. Every second
program runs natively in check mode. A failure prints
the seed and the program. `RONDEL_PROGRAMS` sets the number of programs, `RONDEL_SEED` the first seed.
"""

import os

import machine
import numpy as np
import onnx.printer
import pytest
import rondel
from programs import random_program

COUNT = int(os.environ.get("RONDEL_PROGRAMS", "2000"))
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
CHUNK = 20


def results(model, feeds, jit, check, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    monkeypatch.setenv("RONDEL_CHECK", check)
    limits = rondel.RunOptions()
    limits.deadline = 60.0
    return rondel.InferenceSession(model).run(None, feeds, limits)


def differs(got, want):
    """The difference of two results as words; None if they are equal (the sign of zero may differ: Max and Min leave it open)."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    return None if np.array_equal(got, want) else f"{got.tolist()} instead of {want.tolist()}"


def fault(seed, monkeypatch):
    """The fault of the program of this seed, as text; None if there is none."""
    model, feeds = random_program(seed)
    want = machine.run_model(model, feeds)
    names = [o.name for o in model.graph.output]
    interpreted = None
    native = ("native", "2", "0") if seed % 2 == 0 else ("native in check mode", "2", "1")
    for way, jit, check in (("interpreter", "0", "0"), native):
        try:
            got = results(model, feeds, jit, check, monkeypatch)
        except rondel.Error as error:
            return f"{way}: {type(error).__name__}: {error}"
        for name, a, b in zip(names, got, want, strict=True):
            words = differs(a, b)
            if words:
                return f"{way}: {name}: {words}"
        if interpreted and any(a.tobytes() != b.tobytes() for a, b in zip(got, interpreted, strict=True)):
            return f"{way} and interpreter differ in the sign of a zero"
        interpreted = got
    return None


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK), ids=lambda s: f"seeds {s} to {s + CHUNK - 1}")
def test_random_programs(first, monkeypatch):
    faults = {}
    for seed in range(first, min(first + CHUNK, FIRST + COUNT)):
        words = fault(seed, monkeypatch)
        if words:
            faults[seed] = words
    if faults:
        smallest = min(faults, key=lambda s: random_program(s)[0].ByteSize())
        listed = "\n".join(f"seed {seed}: {words[:400]}" for seed, words in faults.items())
        program = onnx.printer.to_text(random_program(smallest)[0])
        pytest.fail(f"{len(faults)} of {CHUNK} programs differ\n{listed}\n\nseed {smallest}:\n{program}", pytrace=False)


def test_a_seed_is_one_program():
    a, b = random_program(3), random_program(3)
    assert a[0].SerializeToString(deterministic=True) == b[0].SerializeToString(deterministic=True)
    assert all(np.array_equal(a[1][k], b[1][k]) for k in a[1])
