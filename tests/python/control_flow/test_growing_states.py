"""States that a loop grows by Concat: appended in place where possible, and never seen by older values."""

import numpy as np
import pytest
import rondel
from models import WAYS, model, run_as, session

X = np.arange(6, dtype=np.float32).reshape(1, 6)


def loop(inputs, states, results, nodes, trips="n", types=None):
    """A model with one Loop. states: {name: input}; results: {output: value of the body}, the next states first."""
    kinds = types or {}
    carried = ", ".join(f"{kinds.get(s, 'float')}[] {s}" for s in states)
    made = ", ".join(f"{kinds.get(v, 'float')}[] {v}" for v in results.values())
    outs = ", ".join(f"{kinds.get(v, 'float')}[] {o}" for o, v in results.items())
    return model(f"""main (int64 n, {inputs}) => ({outs}) {{
      {", ".join(results)} = Loop ({trips}, "", {", ".join(states.values())}) <body = b (int64 i, bool go, {carried}) => (bool on, {made}) {{
        on = Identity (go)
        {nodes}
      }}>
    }}""")


def results(made, feeds, monkeypatch):
    """The outputs in all ways, which must agree; twice in one session, and in check mode."""
    wanted = None
    for jit in WAYS:
        for check in ("0", "1"):
            run_as(monkeypatch, jit)
            monkeypatch.setenv("RONDEL_CHECK", check)
            s = session(made)
            for _ in range(2):
                got = s.run(None, feeds)
                wanted = wanted or got
                for a, b in zip(got, wanted, strict=True):
                    np.testing.assert_array_equal(a, b)
    return wanted


@pytest.mark.parametrize("trips", [0, 1, 2, 7, 50])
@pytest.mark.parametrize(("shape", "axis"), [((0, 6), 0), ((3, 6), 0), ((1, 0), 1), ((1, 1, 4), -1), ((2, 3), 1), ((1, 3, 0, 2), 2), ((1, 0, 2, 2), 1)])
def test_appending(shape, axis, trips, monkeypatch):
    one = list(shape)
    one[axis] = 1
    first, x = np.random.default_rng(0).random(shape).astype(np.float32), np.ones(one, np.float32)
    made = loop("float[] s, float[] x", {"v": "s"}, {"last": "w", "sums": "r"}, f"w = Concat <axis = {axis}> (v, x)  r = ReduceSum <keepdims = 0> (v)")
    last, sums = results(made, {"n": np.array(trips), "s": first, "x": x}, monkeypatch)
    np.testing.assert_array_equal(last, np.concatenate([first] + [x] * trips, axis))
    np.testing.assert_allclose(sums, [first.sum() + x.sum() * t for t in range(trips)], rtol=1e-5)


def test_a_value_may_be_continued_in_two_ways(monkeypatch):
    """Both next states begin with the same value; neither sees what the other appended."""
    made = loop(
        "float[] s, float[] x",
        {"a": "s", "b": "s"},
        {"left": "c", "right": "d"},
        "y = Neg (x)  c = Concat <axis = 0> (a, x)  d = Concat <axis = 0> (a, y)",
    )
    left, right = results(made, {"n": np.array(9), "s": X, "x": X}, monkeypatch)
    np.testing.assert_array_equal(left, np.concatenate([X] * 10))
    np.testing.assert_array_equal(right, np.concatenate([*[X] * 9, -X]))


def test_the_final_value_may_be_continued_twice(monkeypatch):
    made = model("""main (int64 n, float[] s, float[] x) => (float[] one, float[] two, float[] first) {
      y = Neg (x)
      first = Loop (n, "", s) <body = a (int64 i, bool go, float[] v) => (bool on, float[] w) { on = Identity (go)  w = Concat <axis = 0> (v, x) }>
      one = Loop (n, "", first) <body = b (int64 i, bool go, float[] v) => (bool on, float[] w) { on = Identity (go)  w = Concat <axis = 0> (v, x) }>
      two = Loop (n, "", first) <body = c (int64 i, bool go, float[] v) => (bool on, float[] w) { on = Identity (go)  w = Concat <axis = 0> (v, y) }>
    }""")
    one, two, first = results(made, {"n": np.array(5), "s": X, "x": X}, monkeypatch)
    np.testing.assert_array_equal(first, np.concatenate([X] * 6))
    np.testing.assert_array_equal(one, np.concatenate([X] * 11))
    np.testing.assert_array_equal(two, np.concatenate([*[X] * 6, *[-X] * 5]))


def test_a_window_slides(monkeypatch):
    made = loop(
        "float[] s, float[] x, int64[1] from, int64[1] to, int64[1] axes",
        {"v": "s", "k": "x"},
        {"last": "w", "count": "m", "firsts": "f"},
        """one = Constant <value = float {1}> ()  m = Add (k, one)
           rest = Slice (v, from, to, axes)  w = Concat <axis = 0> (rest, k)  zero = Constant <value = int64 {0}> ()  f = Gather (w, zero)""",
    )
    feeds = {"n": np.array(40), "s": np.zeros((3, 6), np.float32), "x": X, "from": np.array([1]), "to": np.array([99]), "axes": np.array([0])}
    last, count, firsts = results(made, feeds, monkeypatch)
    np.testing.assert_array_equal(last, np.concatenate([X + 37, X + 38, X + 39]))
    np.testing.assert_array_equal(count, X + 40)
    np.testing.assert_array_equal(firsts, np.concatenate([np.zeros((2, 6)), *[X + t for t in range(38)]]))


def test_older_values_are_kept_in_a_list(monkeypatch):
    made = model("""main (int64 n, float[] s, float[] x) => (float[] last, float[] joined) {
      none = SequenceEmpty ()
      last, all = Loop (n, "", s, none) <body = b (int64 i, bool go, float[] v, seq(float[]) list) => (bool on, float[] w, seq(float[]) longer) {
        on = Identity (go)  w = Concat <axis = 0> (v, x)  longer = SequenceInsert (list, v) }>
      joined = ConcatFromSequence <axis = 0> (all)
    }""")
    last, joined = results(made, {"n": np.array(6), "s": X, "x": X}, monkeypatch)
    assert last.shape == (7, 6)
    np.testing.assert_array_equal(joined, np.concatenate([X] * 21))


def test_results_share_no_memory(monkeypatch):
    """The last value and the one before it are outputs; a caller may write into either."""
    made = loop("float[] s, float[] x", {"v": "s", "before": "s"}, {"last": "w", "older": "v"}, "w = Concat <axis = 0> (v, x)")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(made)
        last, older = s.run(None, {"n": np.array(9), "s": X, "x": X})
        last[:] = -1
        np.testing.assert_array_equal(older, np.concatenate([X] * 9))
        older[:] = -2
        assert (last == -1).all()


def test_results_are_fed_again(monkeypatch):
    run_as(monkeypatch, "0")
    s = session(loop("float[] s, float[] x", {"v": "s"}, {"last": "w"}, "w = Concat <axis = 0> (v, x)"))
    [first] = s.run(None, {"n": np.array(3), "s": X, "x": X})
    kept = first.copy()
    [second] = s.run(None, {"n": np.array(3), "s": first, "x": X})
    [third] = s.run(None, {"n": np.array(3), "s": first, "x": -X})
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, np.concatenate([X] * 7))
    np.testing.assert_array_equal(third, np.concatenate([*[X] * 4, *[-X] * 3]))


def test_what_does_not_fit_is_an_error(monkeypatch):
    made = loop("float[] s, float[] x", {"v": "s"}, {"last": "w"}, "w = Concat <axis = 0> (v, x)")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        with pytest.raises(rondel.CallerError, match=r"trip 0: node 'w' \(Concat\): extents 6 and 5 of axis 1 differ"):
            session(made).run(None, {"n": np.array(3), "s": X, "x": X[:, :5]})


def test_texts_are_appended(monkeypatch):
    made = loop("string[] s, string[] x", {"v": "s"}, {"last": "w"}, "w = Concat <axis = 0> (v, x)", types={"v": "string", "w": "string"})
    [last] = results(made, {"n": np.array(3), "s": np.array(["a"], object), "x": np.array(["b", "c"], object)}, monkeypatch)
    assert last.tolist() == ["a", *["b", "c"] * 3]


def test_under_a_budget_a_state_grows_as_far_as_without_room(monkeypatch):
    """Where there is no memory for room behind the value, the value is copied."""
    run_as(monkeypatch, "0")
    options = rondel.SessionOptions()
    options.max_memory_bytes = 200_000
    s = session(loop("float[] s, float[] x", {"v": "s"}, {"last": "w"}, "w = Concat <axis = 0> (v, x)"), options=options)
    [last] = s.run(None, {"n": np.array(7), "s": np.zeros((0, 2500), np.float32), "x": np.ones((1, 2500), np.float32)})
    assert last.shape == (7, 2500)
    with pytest.raises(rondel.LimitExceeded):
        s.run(None, {"n": np.array(70), "s": np.zeros((0, 2500), np.float32), "x": np.ones((1, 2500), np.float32)})
