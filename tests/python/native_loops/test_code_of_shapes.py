"""Shapes that come again and again get code of their own, in which all extents are numbers; other shapes have the code of their class."""

import json
import time

import numpy as np
import pytest
from models import interpreter, model, run_as

import rondel

# A reduction over an extent that is not declared, in a loop and in a step.
LOOP = """
scan (float[C, S] h0, float[T, S] xs) => (float[C, S] h, float[T, C] ys) <int64[1] last = {1}> {
  h, ys = Scan <num_scan_inputs = 1, body = step (float[C, S] before, float[S] x) => (float[C, S] after, float[C] y) {
    kept = Mul (before, half)
    after = Add (kept, x)
    y = ReduceSum <keepdims = 0> (after, last)
  }> (h0, xs)
}
""".replace("last = {1}>", "last = {1}, float half = {0.5}>")
STEP = """
rows (float[N, M] x, float[M] w) => (float[N, M] y) {
  scaled = Mul (x, w)
  y = Softmax (scaled)
}
"""


def loop_feeds(trips, channels, states, seed=0):
    draw = np.random.default_rng(seed)
    return {"h0": draw.integers(-3, 4, (channels, states)).astype(np.float32), "xs": draw.integers(-3, 4, (trips, states)).astype(np.float32)}


def step_feeds(rows, columns, seed=0):
    draw = np.random.default_rng(seed)
    return {"x": draw.standard_normal((rows, columns)).astype(np.float32), "w": draw.standard_normal(columns).astype(np.float32)}


CASES = {
    "loop": (LOOP, [loop_feeds(5, 4, 16), loop_feeds(3, 2, 7), loop_feeds(0, 1, 16), loop_feeds(5, 4, 0)]),
    "step": (STEP, [step_feeds(4, 24), step_feeds(3, 70), step_feeds(1, 24), step_feeds(0, 5)]),
}


@pytest.mark.parametrize("way", ["1", "quick", "2", "checked"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_interpreter_whichever_shapes_come(case, way, monkeypatch):
    text, shapes = CASES[case]
    source = model(text).SerializeToString()
    wanted = [rondel.InferenceSession(source, interpreter()).run(None, feeds) for feeds in shapes]
    run_as(monkeypatch, way)
    session = rondel.InferenceSession(source)
    for k in [0, 0, 0, 1, 0, 1, 1, 2, 2, 0, 3, 3, 0, *[0] * 40, 1, 0]:
        for a, b in zip(session.run(None, shapes[k]), wanted[k], strict=True):
            assert a.tobytes() == b.tobytes() and a.shape == b.shape, k


def events(session, runs):
    """The names of all events of some runs, in order."""
    for feeds in runs:
        session.run(None, feeds)
    with open(session.end_profiling()) as file:
        return [e["name"] for e in json.load(file) if e["ph"] == "X" and e["cat"] == "prepare"]


def traced(text, folder, name):
    options = rondel.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / name)
    return rondel.InferenceSession(model(text).SerializeToString(), options)


def test_a_loop_asks_for_code_of_shapes_that_come_again(tmp_path, monkeypatch):
    run_as(monkeypatch, "2")
    text, (first, other, *_) = CASES["loop"]
    asked = "prepare native code of these shapes"
    assert events(traced(text, tmp_path, "once"), [first, other]).count(asked) == 0
    # When it has the code, it asks no more.
    assert events(traced(text, tmp_path, "again"), [first] * 20).count(asked) == 1
    # Declared shapes have the code of their class.
    declared = text.replace("C, S", "4, 16").replace("T, S", "5, 16").replace("[S]", "[16]").replace("T, C", "5, 4").replace("[C]", "[4]")
    assert events(traced(declared, tmp_path, "declared"), [first] * 20).count(asked) == 0


def test_until_it_is_ready_the_class_has_code(monkeypatch):
    """Runs go on natively while the better code is made in the background, and no run waits for it."""
    run_as(monkeypatch, "1")
    feeds = loop_feeds(300, 40, 16)
    session = rondel.InferenceSession(model(LOOP.replace("0.5", "0.40625")).SerializeToString())
    (want, _) = session.run(None, feeds)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        (h, _) = session.run(None, feeds)
        assert h.tobytes() == want.tobytes()
        if session.how_it_ran() == {"node 'h' (Scan)": "natively, as a whole"}:
            break
    else:
        pytest.fail(f"still {session.how_it_ran()}")
