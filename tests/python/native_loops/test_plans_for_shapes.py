"""Loops that run step by step are planned anew for shapes that come again: the same bits, faster."""

import contextlib
import threading
import time

import numpy as np
import onnx.parser
import pytest
import rondel
from models import run_as

#: The items of the list have two extents that no rule knows for all shapes: `Slice` may cut at 99.
LIST = """
    half = Constant <value_float = 0.5> ()
    from = Constant <value_ints = [0, 0]> ()
    to = Constant <value_ints = [99, 99]> ()
    empty = SequenceEmpty <dtype = 1> ()
    last, all = Loop (n, "", x, empty) <body = b (int64 i, bool c, float[P,Q] u, seq(float) l) => (bool c2, float[R,S] v, seq(float) m) {
      c2 = Identity (c)  p = Slice (u, from, to)  q = Sin (p)  v = Mul (q, half)  m = SequenceInsert (l, v)
    }>
    zero = Constant <value_float = 0.0> ()
    total = Loop (n, "", zero) <body = d (int64 j, bool e, float acc) => (bool e2, float sum) {
      e2 = Identity (e)  t = SequenceAt (all, j)  r = ReduceSum <keepdims = 0> (t)  sum = Add (acc, r)
    }>
"""
MODEL = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[A,B] x) => (float[A,B] last, float total) {{ {LIST} }}""")

#: A branch that is never taken, and that does not fit most shapes.
WITH_BRANCH = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[A,B] x, bool never) => (float total, float[C,D] y) {{ {LIST}
    y = If (never) <then_branch = t () => (float[E,F] a) {{ a = MatMul (x, x) }}, else_branch = f () => (float[G,H] b) {{ b = Identity (x) }}>
}}""")


def feeds(a, b, n=6):
    return {"n": np.array(n), "x": np.random.default_rng(a * 100 + b).standard_normal((a, b), np.float32)}


def bits(results):
    return [r.tobytes() for r in results]


@pytest.fixture
def expected(monkeypatch):
    def run(model, fed):
        with monkeypatch.context() as m:
            run_as(m, "0")
            return bits(rondel.InferenceSession(model).run(None, fed))

    return run


def steps(session):
    return [how for how in session.how_it_ran().values() if how.startswith("step by step")]


def test_shapes_that_come_again_are_planned_anew(monkeypatch, expected):
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(MODEL)
    assert bits(session.run(None, feeds(3, 4))) == expected(MODEL, feeds(3, 4)) and len(steps(session)) == 2
    for _ in range(2):
        assert bits(session.run(None, feeds(3, 4))) == expected(MODEL, feeds(3, 4))
    assert steps(session) == []


def test_other_shapes_run_as_before(monkeypatch, expected):
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(MODEL)
    for _ in range(3):
        for fed in (feeds(3, 4), feeds(5, 2, n=9), feeds(0, 2), feeds(1, 1), feeds(120, 3, n=2)):
            assert bits(session.run(None, fed)) == expected(MODEL, fed)
    session.run(None, feeds(7, 7))
    assert steps(session)


def test_a_session_makes_few_plans(monkeypatch, expected):
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(MODEL)
    for a in range(2, 12):
        for _ in range(3):
            got = bits(session.run(None, feeds(a, 3)))
        assert got == expected(MODEL, feeds(a, 3))
        assert bool(steps(session)) == (a >= 10)


def test_shapes_that_a_branch_refuses_have_a_plan_where_it_is_not_taken(monkeypatch, expected):
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(WITH_BRANCH)
    fed = feeds(3, 4) | {"never": np.array(False)}
    for _ in range(4):
        assert bits(session.run(None, fed)) == expected(WITH_BRANCH, fed)
    assert steps(session) == []
    for _ in range(2):
        with pytest.raises(rondel.CallerError):
            session.run(None, fed | {"never": np.array(True)})
    fits = feeds(4, 4) | {"never": np.array(True)}
    for _ in range(4):
        assert bits(session.run(None, fits)) == expected(WITH_BRANCH, fits)
    assert steps(session) == []


def test_a_session_that_compiles_in_the_background_plans_anew_too(monkeypatch, expected):
    run_as(monkeypatch, "1")
    session = rondel.InferenceSession(MODEL)
    end = time.monotonic() + 60
    want = expected(MODEL, feeds(9, 9))
    while not session.how_it_ran() or steps(session):
        assert bits(session.run(None, feeds(9, 9))) == want
        assert time.monotonic() < end
    assert bits(session.run(None, feeds(9, 9))) == want


def test_threads_and_shapes(monkeypatch, expected):
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(MODEL)
    cases = [(fed, expected(MODEL, fed)) for fed in (feeds(3, 4), feeds(6, 2))]
    wrong = []

    def work(k):
        for i in range(20):
            fed, want = cases[(i + k) % 2]
            if bits(session.run(None, fed)) != want:
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.parametrize("jit", ["0", "2"])
def test_what_is_not_to_be_optimised_is_not_planned_anew(monkeypatch, jit):
    run_as(monkeypatch, jit)
    options = rondel.SessionOptions()
    if jit == "2":
        options.graph_optimization_level = rondel.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = rondel.InferenceSession(MODEL, options)
    for _ in range(4):
        session.run(None, feeds(3, 4))
    assert jit == "0" or len(steps(session)) == 2


def test_a_run_spends_no_time_on_a_plan_that_its_deadline_leaves_no_room_for(monkeypatch, expected):
    """Loading takes longer than half of the time: runs with that deadline leave the plan to one that has time."""
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(MODEL)
    fed, came_to_their_end = feeds(3, 4), 0
    session.run(None, fed)
    for _ in range(100):
        with contextlib.suppress(rondel.DeadlineExceeded):  # on a busy machine
            assert bits(session.run(None, fed, rondel.RunOptions(deadline=0.0005))) == expected(MODEL, fed)
            came_to_their_end += 1
        if came_to_their_end == 3:
            break
    assert len(steps(session)) == 2 and came_to_their_end == 3
    for _ in range(2):
        assert bits(session.run(None, fed, rondel.RunOptions(deadline=1000))) == expected(MODEL, fed)
    assert steps(session) == []


def test_a_run_goes_on_without_a_plan_that_takes_too_long_to_make(monkeypatch):
    run_as(monkeypatch, "2")
    slow = []

    def types(x):  # called again when the shapes are planned for
        if slow:
            time.sleep(slow[0])
        return x

    rondel.register_op("slow", "Same", lambda x: x.copy(), types=types)
    try:
        session = rondel.InferenceSession(onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21, "slow" : 1]>
            g (int64 n, float[A,B] given) => (float[A,B] last, float total) {{ x = slow.Same (given) {LIST} }}"""))
        fed = {"n": np.array(6), "given": feeds(3, 4)["x"]}
        want = bits(session.run(None, fed))
        session.run(None, fed)  # the first that is timed
        slow.append(0.6)
        assert bits(session.run(None, fed, rondel.RunOptions(deadline=1))) == want and len(steps(session)) == 2
        slow[:] = [2]  # it is known now that a second is too short
        assert bits(session.run(None, fed, rondel.RunOptions(deadline=1))) == want and len(steps(session)) == 2
        slow.clear()
        for _ in range(2):
            assert bits(session.run(None, fed)) == want
        assert steps(session) == []
    finally:
        rondel.unregister_op("slow", "Same")
