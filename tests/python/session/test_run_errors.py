"""Errors of a run: feeds that do not fit, and where an error happened, as nodes and trips. A run that fails leaves its session as it was.

test_misuse.py has the arguments of a wrong Python type.
"""

import numpy as np
import pytest
import rondel
from models import f32, i64, options, refused, run, scalar, session
from session_cases import FEEDS, GOOD

# ---- feeds -----------------------------------------------------------------------------------------------


def test_a_missing_input_is_named():
    with refused(rondel.CallerError, "shift", "missing"):
        session(GOOD).run(None, {"features": FEEDS["features"]})


def test_a_run_without_feeds_names_what_is_missing():
    with refused(rondel.CallerError, "features"):
        session(GOOD).run(None, {})


def test_a_feed_of_no_input_is_named():
    with refused(rondel.CallerError, "featurs", "features"):
        session(GOOD).run(None, {**FEEDS, "featurs": FEEDS["features"]})


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.bool_, np.complex64])
def test_a_feed_of_another_dtype_is_refused(dtype):
    names = {"float64": ("float64", "f64", "double"), "bool": ("bool",), "int32": ("int32", "i32")}
    got = names.get(np.dtype(dtype).name, ("complex64", "c64"))
    with refused(rondel.CallerError, "features", got, ("float32", "f32", "float")):
        session(GOOD).run(None, {**FEEDS, "features": np.ones((2, 3), dtype)})


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 1), (3, 2)])
def test_a_feed_of_another_shape_is_refused(shape):
    dense = str(list(shape)).replace(" ", "")
    with refused(rondel.CallerError, "features", (dense, "rank", "extent")):
        session(GOOD).run(None, {**FEEDS, "features": np.ones(shape, np.float32)})


def test_one_symbol_with_two_extents_is_refused_where_it_matters():
    text = "main (float[n] a, float[n] b) => (float[n] y) { [sum] y = Add (a, b) }"
    with refused(rondel.CallerError, ("n", "sum"), "2", "3"):
        run(text, {"a": f32(1, 2), "b": f32(1, 2, 3)})


def test_a_session_outlives_a_bad_run():
    s = session(GOOD)
    for bad in ({}, {**FEEDS, "features": f32(1)}):
        with pytest.raises(rondel.CallerError):
            s.run(None, bad)
    np.testing.assert_array_equal(s.run(None, FEEDS)[0], np.full((2, 3), 2, np.float32))


# ---- where it happened -----------------------------------------------------------------------------------


def test_integer_division_by_zero_names_the_node():
    text = "main (int64[n] x, int64[n] z) => (int64[n] y) { [share] y = Div (x, z) }"
    with refused(rondel.CallerError, "share", "zero"):
        run(text, {"x": i64(1, 2), "z": i64(1, 0)})
    least = np.iinfo(np.int64).min
    assert run(text, {"x": i64(least), "z": i64(-1)})[0].tolist() == [least]


NESTED = """
main (int64 n, int64[k] at, float[3] table) => (float[] y, float[] last) {
  zero = Constant <value: tensor = float {0}> ()
  [outer] last, y = Loop (n, , zero) <
    body: graph = body (int64 i, bool go, float a) => (bool on, float b, float item) {
      on = Identity (go)
      three = Constant <value: tensor = int64 {3}> ()
      [inner] b = Loop (three, , a) <
        body: graph = within (int64 j, bool go2, float c) => (bool on2, float d) {
          on2 = Identity (go2)
          [where] t = Add (i, j)
          [which] index = Gather (at, t)
          [pick] e = Gather (table, index)
          d = Add (c, e)
        }
      >
      item = Identity (b)
    }
  >
}"""


@pytest.mark.parametrize("jit", [True, False])
def test_an_error_carries_its_nodes_and_trips(jit):
    s = session(NESTED, options=options(jit=jit))
    feeds = {"n": scalar(4), "at": i64(0, 1, 2, 1, 7, 0), "table": f32(1, 2, 3)}
    for _ in range(3):  # native code may take over between runs
        with pytest.raises(rondel.CallerError) as caught:
            s.run(None, feeds)
        e = caught.value
        assert e.frames == (("node 'outer' (Loop)", 2), ("node 'inner' (Loop)", 2), ("node 'pick' (Gather)", None))
        assert e.node == "node 'pick' (Gather)" and e.trips == (2, 2)
        assert e.message.startswith("index 7 is out of range")
        assert str(e) == f"node 'outer' (Loop), trip 2: node 'inner' (Loop), trip 2: node 'pick' (Gather): {e.message}"


def test_an_error_of_the_import_carries_its_node():
    with pytest.raises(rondel.CallerError) as caught:
        session("main (float[2] x, float[3] z) => (float[] y) { [clash] y = Add (x, z) }")
    assert caught.value.frames == (("node 'clash' (Add)", None),)
    assert caught.value.node == "node 'clash' (Add)" and caught.value.trips == ()
    assert not caught.value.message.startswith("node")


def test_an_error_about_no_place_has_no_frames():
    with pytest.raises(rondel.CallerError) as caught:
        session(GOOD).run(None, {})
    assert (caught.value.frames, caught.value.node, caught.value.trips) == ((), None, ())
    assert caught.value.message == str(caught.value)
    made_here = rondel.CallerError("text")
    assert (made_here.frames, made_here.message) == ((), "text")
