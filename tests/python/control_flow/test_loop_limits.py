"""What ends an ONNX Loop from outside: deadlines, terminate, budgets of trips and of memory."""

import threading

import numpy as np
import pytest
import rondel
from loop_cases import DOUBLING
from models import INT64_MAX, TRUE, f32, options, refused, run, run_options, same, scalar, session

ENDLESS = """
main (int64 x) => (int64 y) {
  y = Loop (, , x) <body: graph = body (int64 i, bool go, int64 a) => (bool more, int64 b) {
    more = Identity (go)
    one = Constant <value_int: int = 1> ()
    b = Add (a, one)
  }>
}"""

# Another endless loop, with a growing stack.
ENDLESS_STACK = """
main (int64 x) => (int64 y, int64[n, 1, 1] s) {
  y, s = Loop (, , x) <body: graph = body (int64 i, bool go, int64 a) => (bool more, int64 b, int64[1, 1] item) {
    more = Identity (go)
    one = Constant <value_int: int = 1> ()
    b = Add (a, one)
    axes = Constant <value_ints: ints = [0, 1]> ()
    item = Unsqueeze (b, axes)
  }>
}"""

ENDLESS_SEQUENCE = """
main (int64 x) => (int64 y) {
  empty = SequenceEmpty <dtype: int = 7> ()
  y, q = Loop (, , x, empty) <body: graph = body (i, go, a, s) => (more, b, s2) {
    more = Identity (go)
    one = Constant <value_int: int = 1> ()
    b = Add (a, one)
    s2 = SequenceConstruct (b)
  }>
}"""


@pytest.mark.parametrize("text", [ENDLESS, ENDLESS_SEQUENCE], ids=["scalars", "sequences"])
def test_a_loop_without_count_and_condition_ends_by_the_deadline(text):
    with refused(rondel.DeadlineExceeded, "deadline"):
        run(text, {"x": scalar(0)}, run_options=run_options(deadline=0.05))


def test_a_deadline_long_enough_changes_nothing():
    feeds = {"m": scalar(3), "c": TRUE, "last": scalar(99), "x": f32(1, 3)}
    y, _, _ = run(DOUBLING, feeds, run_options=run_options(deadline=60.0))
    same(y, f32(8, 24))


@pytest.mark.parametrize("text", [ENDLESS, ENDLESS_SEQUENCE], ids=["scalars", "sequences"])
def test_terminate_ends_a_running_loop(text):
    s = session(text)
    stop = run_options()
    outcome = []

    def work():
        try:
            outcome.append(s.run(None, {"x": scalar(0)}, stop))
        except rondel.Error as error:
            outcome.append(error)

    runner = threading.Thread(target=work, daemon=True)
    runner.start()
    runner.join(0.05)
    assert runner.is_alive(), f"ended by itself: {outcome}"
    stop.terminate = True
    runner.join(30)
    assert not runner.is_alive(), "terminate is not honoured"
    assert isinstance(outcome[0], rondel.Cancelled)


def test_a_terminated_run_leaves_the_session_usable():
    s = session(DOUBLING)
    stop = run_options(terminate=True)
    feeds = {"m": scalar(INT64_MAX), "c": TRUE, "last": scalar(-1), "x": f32(0, 0)}
    with refused(rondel.Cancelled):
        s.run(None, feeds, stop)
    y, _, _ = s.run(None, {**feeds, "m": scalar(2), "x": f32(1, 3)})
    same(y, f32(4, 12))


def test_one_trip_more_than_the_budget_is_an_error():
    feeds = {"m": scalar(10), "c": TRUE, "last": scalar(99), "x": f32(1, 3)}
    assert len(run(DOUBLING, feeds, options=options(max_trips=10))[2]) == 10
    with refused(rondel.LimitExceeded, "trip", "10"):
        run(DOUBLING, {**feeds, "m": scalar(11)}, options=options(max_trips=10))


def test_trip_budget_ends_an_endless_loop():
    with refused(rondel.LimitExceeded, "trip"):
        run(ENDLESS, {"x": scalar(0)}, options=options(max_trips=1000))


def test_memory_budget_refuses_a_certain_stack_before_the_first_trip():
    text = """
    main (int64 m, float x) => (float[n, 1024] s) {
      y, s = Loop (m, , x) <body: graph = body (int64 i, bool go, float a) => (bool more, float b, float[1024] item) {
        more = Identity (go)
        b = Identity (a)
        shape = Constant <value_ints: ints = [1024]> ()
        item = Expand (a, shape)
      }>
    }"""
    with refused(rondel.LimitExceeded, "memory"):
        run(
            text,
            {"m": scalar(2**40), "x": scalar(1, np.float32)},
            options=options(max_memory_bytes=64 << 20),
            run_options=run_options(deadline=60.0),
        )


def test_memory_budget_bounds_a_stack_of_unknown_length():
    with refused(rondel.LimitExceeded, "memory"):
        run(
            ENDLESS_STACK,
            {"x": scalar(0)},
            options=options(max_memory_bytes=16 << 20),
            run_options=run_options(deadline=120.0),
        )
