"""States whose rank changes: the first trip, or all of a few, are computed before the loop, and what is left runs natively."""

import numpy as np
import pytest
import rondel
from models import run, session

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
SCANNED = np.arange(40, dtype=np.float32).reshape(5, 2, 4)


def natively(text, feeds):
    """The outputs; no node may have run step by step."""
    s = session(text)
    for _ in range(3):
        s.run(None, feeds)
    assert not any("step by step" in how for how in s.how_it_ran().values()), s.how_it_ran()
    return run(text, feeds)


# `h = 0` before the loop; each trip adds something of a higher rank.
SUM = """
main (float[A,B] x, int64 n, bool more) => (float[?,?] y, int64 last) <float zero = {0}, int64 start = {0}> {
  y, last = Loop (TRIPS, GO, zero, start) <body = step (int64 i, bool go, float h, int64 c) => (bool on, float t, int64 d) {
    ON
    f = CastLike (i, x)
    g = Mul (x, f)
    t = Add (h, g)
    d = Add (c, i)
  }>
}"""


def of(text, **parts):
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5])
@pytest.mark.parametrize("more", [True, False])
def test_a_state_gets_its_rank_in_the_first_trip(n, more):
    text = of(SUM, TRIPS="n", GO="more", ON="on = Identity (go)")
    y, last = natively(text, {"x": X, "n": np.array(n), "more": np.array(more)})
    trips = max(n, 0) if more else 0
    np.testing.assert_array_equal(y, sum((X * np.float32(i) for i in range(trips)), np.zeros((), np.float32)))
    assert last == sum(range(trips))


@pytest.mark.parametrize("end", [0, 1, 2, 7])
@pytest.mark.parametrize("more", [True, False])
def test_a_loop_that_only_a_condition_ends(end, more):
    text = of(SUM, TRIPS='""', GO="more", ON="on = Less (i, n)")
    y, last = natively(text, {"x": X, "n": np.array(end), "more": np.array(more)})
    trips = end + 1 if more else 0
    np.testing.assert_array_equal(y, sum((X * np.float32(i) for i in range(trips)), np.zeros((), np.float32)))
    assert last == sum(range(trips))


# The state is stacked, too. x[i] may become a scan.
STACKED = """
main (float[T,2,4] x, int64 n) => (float[?,?] y, float[?,2,4] all) <float zero = {0}, bool yes = {1}> {
  m = COUNT
  y, all = Loop (m, yes, zero) <body = step (int64 i, bool go, float h) => (bool on, float t, float[2,4] item) {
    on = Identity (go)
    e = Gather (x, i)
    t = Add (h, e)
    item = Neg (t)
  }>
}"""


@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize("count", ["Identity (n)", "Shape <start = 0, end = 1> (x)"])
def test_what_such_a_loop_scans_and_stacks(length, count):
    x = SCANNED[:length]
    y, stack = (natively if length else run)(of(STACKED, COUNT=count), {"x": x, "n": np.array(length)})
    sums = np.cumsum(x, axis=0, dtype=np.float32)
    np.testing.assert_array_equal(y, sums[-1] if length else np.zeros((), np.float32))
    np.testing.assert_array_equal(stack, -sums)


def test_errors_of_the_first_trip_name_its_nodes():
    with pytest.raises(rondel.Error, match="'e' \\(Gather\\).*index 0"):
        session(of(STACKED, COUNT="Identity (n)")).run(None, {"x": SCANNED[:0], "n": np.array(2)})


# A trip adds an axis, so each has another rank.
DEEPER = """
main (float[A,B] x) => (float[?] y, int64 last) <int64 n = {COUNT}, bool yes = {1}, int64[1] first = {0}, int64 start = {0}> {
  y, last = Loop (n, yes, x, start) <body = step (int64 i, bool go, float[?] s, int64 c) => (bool on, float[?] t, int64 d) {
    on = Identity (go)
    w = Unsqueeze (s, first)
    t = Concat <axis = 0> (w, w)
    d = Add (c, i)
  }>
}"""


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_few_trips_of_which_each_changes_a_rank(count):
    y, last = natively(of(DEEPER, COUNT=str(count)), {"x": X})
    wanted = X
    for _ in range(count):
        wanted = np.stack([wanted, wanted])
    np.testing.assert_array_equal(y, wanted)
    assert last == sum(range(count))


@pytest.mark.parametrize("count", [9, 20])
def test_many_such_trips_stay_a_loop(count):
    text = of(DEEPER, COUNT=str(count)).replace("t = Concat <axis = 0> (w, w)", "t = Identity (w)")
    y, last = run(text, {"x": X})
    assert y.shape == (1,) * count + X.shape
    assert last == sum(range(count))


# The loop is in another one, whose state gets its rank from it.
NESTED = """
main (float[A] x, int64 n, int64 k) => (float[?] y) <float zero = {0}, bool yes = {1}> {
  y = Loop (n, yes, zero) <body = outer (int64 i, bool go, float h) => (bool on, float t) {
    on = Identity (go)
    u = Loop (k, yes, zero) <body = inner (int64 j, bool further, float v) => (bool on2, float w) {
      on2 = Identity (further)
      w = Add (v, x)
    }>
    t = Add (h, u)
  }>
}"""


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_one_in_another_one(n, k):
    x = np.array([1, 2, 3], np.float32)
    (y,) = run(NESTED, {"x": x, "n": np.array(n), "k": np.array(k)})
    np.testing.assert_array_equal(y, x * np.float32(n * k) if n and k else np.zeros((), np.float32))

