"""Random networks of loops and conditionals: runs and exported models agree with the formal semantics.

The oracle is `lazy_sequences.py`, which is independent of the lowering of networks to graphs. A failure prints the seed and the
network. `RONDEL_NETWORKS` sets the number of networks, `RONDEL_SEED` the first seed. With `-n 0 -s`, the last test prints the features
that all networks together covered. Each fault found gets a test of its own, in the file of its rule.
"""

import os
from collections import Counter

import lazy_sequences
import numpy as np
import onnx
import onnxruntime
import pytest
from models import WAYS, run_as
from networks import random_network

import rondel

COUNT = int(os.environ.get("RONDEL_NETWORKS", "200"))
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
CHUNK = 20
COVERED = Counter()


def differs(got, want):
    """The difference of two results as words; None if they are equal (the sign of zero may differ: MAX and MIN leave it open)."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    return None if np.array_equal(got, want) else f"{got.tolist()} instead of {want.tolist()}"


def run_here(network, feeds, jit, monkeypatch):
    run_as(monkeypatch, jit)
    limits = rondel.RunOptions()
    limits.deadline = 60.0
    return network.build_session().run(None, feeds, limits)


def run_elsewhere(exported, feeds):
    """The results of ONNX Runtime; None if it has no kernel for a type."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        COVERED["exported, but without a kernel in ONNX Runtime"] += 1
        return None


def fault(seed, monkeypatch):
    """The fault of the network of this seed, as text; None if there is none."""
    weaver = random_network(seed)
    network, feeds = weaver.network, weaver.feeds
    COVERED.update(weaver.covered)
    want = lazy_sequences.evaluate(network, feeds)
    found = {}
    for jit in WAYS:
        try:
            found[f"RONDEL_JIT={jit}"] = run_here(network, feeds, jit, monkeypatch)
        except rondel.Error as error:
            if weaver.may_overlap and " overlap: " in str(error):
                COVERED["refused: a layer inside of two loops that are not inside of one another"] += 1
                return None
            return f"RONDEL_JIT={jit}: {type(error).__name__}: {error}"
    exported = network.to_onnx()
    onnx.checker.check_model(exported, full_check=True)
    found["exported and imported"] = rondel.InferenceSession(exported).run(None, feeds)
    elsewhere = run_elsewhere(exported, feeds)
    if elsewhere is not None:
        COVERED["exported and run by ONNX Runtime"] += 1
        found["exported, in ONNX Runtime"] = elsewhere
    for way, got in found.items():
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            words = differs(a, b)
            if words:
                return f"{way}: output {k}: {words}"
    COVERED["networks"] += 1
    return None


def describe(seed):
    weaver = random_network(seed)
    network, feeds = weaver.network, weaver.feeds
    lines = []
    for layer in network:
        inputs = [layer.get_input(k) for k in range(layer.num_inputs)]
        arguments = ", ".join("-" if t is None else f"{t.name}{list(t.shape)}" for t in inputs)
        of = getattr(layer, "loop", None) or getattr(layer, "conditional", None)
        details = [f"{a}={getattr(layer, a)}" for a in ("kind", "axis", "reverse", "op", "to_type", "axes") if hasattr(layer, a)]
        lines.append(f"{layer.name}: {type(layer).__name__}({arguments}) {of or ''} {' '.join(details)}")
    return "\n".join([*lines, *(f"{k} = {v!r}" for k, v in feeds.items())])


def check(seeds, monkeypatch):
    faults = {seed: words for seed in seeds if (words := fault(seed, monkeypatch))}
    if faults:
        smallest = min(faults, key=lambda s: len(random_network(s).network))
        listed = "\n".join(f"seed {seed}: {words[:400]}" for seed, words in faults.items())
        pytest.fail(f"{len(faults)} networks differ\n{listed}\n\nseed {smallest}:\n{describe(smallest)}", pytrace=False)


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK), ids=lambda s: f"seeds {s} to {s + CHUNK - 1}")
def test_random_networks(first, monkeypatch):
    check(range(first, min(first + CHUNK, FIRST + COUNT)), monkeypatch)


def test_what_was_covered():
    """Every form of loop, output and conditional was covered; prints the counts."""
    for what, times in sorted(COVERED.items()):
        print(f"{times:6}  {what}")
    if COVERED["networks"] < 150:
        # Some of the tests were selected, or RONDEL_NETWORKS asks for fewer: forms may be missing by chance.
        pytest.skip("too few networks ran for a count")
    forms = ["count loop in network", "while loop in network", "both loop in network", "last value", "concatenate of the loop",
             "concatenate of an invariant", "reverse of the loop", "reverse of an invariant", "output with a length",
             "output with the count as its length",
             "conditional in network", "conditional in a loop", "count loop in a conditional", "while loop in a loop",
             "count read from a shape", "recurrence whose next comes from outside", "while on data", "dynamic input", "loop at depth 2",
             "exported and run by ONNX Runtime"]  # fmt: skip
    assert not [form for form in forms if COVERED[form] < 5]
