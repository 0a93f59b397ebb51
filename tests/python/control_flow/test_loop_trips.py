"""How many trips an ONNX Loop makes: by its trip count, by its condition, by both, over any length.

The expectation of each test is a few lines of plain Python or NumPy beside the model.
"""

import numpy as np
import pytest
import rondel
from loop_cases import DOUBLING, doubling
from models import FALSE, INT64_MAX, LOOP_VERSIONS, TRUE, f32, i64, options, refused, run, same, scalar


def check_doubling(m, c, last, trips, opset=21):
    got = run(DOUBLING, {"m": scalar(m), "c": c, "last": scalar(last), "x": f32(1, 3)}, opset)
    for have, want in zip(got, doubling([1, 3], trips), strict=True):
        same(have, want)


@pytest.mark.parametrize("version", LOOP_VERSIONS)
def test_every_version_runs(version):
    text = """
    main (int64 m, bool c, float[2] x) => (float[2] y, float[n, 2] s) {
      y, s = Loop (m, c, x) <body: graph = body (int64 i, bool go, float[2] a) => (bool more, float[2] b, float[2] item) {
        more = Identity (go)
        b = Add (a, a)
        item = Identity (b)
      }>
    }"""
    y, s = run(text, {"m": scalar(3), "c": TRUE, "x": f32(1, 3)}, opset=version)
    same(y, f32(8, 24))
    same(s, f32([2, 6], [4, 12], [8, 24]))


def test_the_standards_own_sample():
    # The sample in ONNX's text on Loop: a = 3, b = 6, M = 10. The graph decides where it differs from the prose.
    text = """
    main (int64 max_trip_count, bool keepgoing_in, int32 a, int32 b) => (int32 b_out, int32[n] user_defined_vals) {
      b_out, user_defined_vals = Loop (max_trip_count, keepgoing_in, b) <body: graph =
          body_net (int64 i, bool keepgoing, int32 b_in) => (bool keepgoing_out, int32 b_next, int32 user_defined_val) {
        my_local = Add (a, b_in)
        b_next = Sub (a, b_in)
        keepgoing_out = Greater (my_local, b_next)
        user_defined_val = Add (b_in, b_in)
      }>
    }"""
    feeds = {"max_trip_count": scalar(10), "keepgoing_in": TRUE}
    feeds |= {"a": scalar(3, np.int32), "b": scalar(6, np.int32)}
    b_out, vals = run(text, feeds, opset=13)
    same(b_out, scalar(6, np.int32))
    same(vals, np.array([12, -6], np.int32))


@pytest.mark.parametrize(
    ("m", "c", "last", "trips"),
    [
        (4, TRUE, 99, 4),
        (1, TRUE, 99, 1),
        (9, TRUE, 2, 3),
        (3, TRUE, 2, 3),
        (9, TRUE, 0, 1),
    ],
    ids=["by trip count", "one trip", "by condition", "both at once", "condition after the first trip"],
)
def test_the_first_end_reached_ends_the_loop(m, c, last, trips):
    check_doubling(m, c, last, trips)


@pytest.mark.parametrize(
    ("m", "c"),
    [(0, TRUE), (-1, TRUE), (-INT64_MAX - 1, TRUE), (5, FALSE), (INT64_MAX, FALSE), (0, FALSE)],
)
def test_a_count_below_one_or_a_false_condition_makes_no_trip(m, c):
    check_doubling(m, c, 99, 0)


@pytest.mark.parametrize("m", [2**31, 2**31 + 7, 2**32 + 1, 2**40, INT64_MAX])
def test_a_huge_trip_count_may_end_early(m):
    check_doubling(m, TRUE, 5, 6)


def test_a_huge_trip_count_that_may_stop_early_sizes_nothing():
    feeds = {"m": scalar(INT64_MAX), "c": TRUE, "last": scalar(5), "x": f32(1, 3)}
    y, before, trips = run(DOUBLING, feeds, options=options(max_memory_bytes=64 << 20))
    same(y, f32(64, 192))
    assert before.shape == (6, 2)


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v > 1])  # Cast-1 and Less-1 have another form
def test_a_trip_count_that_is_left_out_leaves_the_end_to_the_condition(version):
    text = """
    main (bool c, int64 x) => (int64 y) {
      y = Loop (, c, x) <body: graph = body (int64 i, bool go, int64 a) => (bool more, int64 b) {
        b = Add (a, a)
        limit = Constant <value = int64 {1000}> ()
        past = Cast <to: int = 1> (b)
        bound = Cast <to: int = 1> (limit)
        more = Less (past, bound)
      }>
    }"""
    same(run(text, {"c": TRUE, "x": scalar(3)}, opset=version)[0], scalar(1536))
    same(run(text, {"c": FALSE, "x": scalar(3)}, opset=version)[0], scalar(3))


def test_nothing_of_the_trip_that_is_not_made_can_fail():
    text = """
    main (int64 m, bool c, float[3] table) => (float[n] s) {
      s = Loop (m, c) <body: graph = body (i, go) => (more, item) {
        item = Gather (table, i)
        two = Constant <value_int: int = 2> ()
        more = Less (i, two)
      }>
    }"""
    same(run(text, {"m": scalar(99), "c": TRUE, "table": f32(5, 6, 7)})[0], f32(5, 6, 7))
    assert run(text, {"m": scalar(99), "c": FALSE, "table": f32(5, 6, 7)})[0].shape == (0,)
    empty = text.replace("float[3] table", "float[k] table")
    assert run(empty, {"m": scalar(0), "c": TRUE, "table": np.zeros(0, np.float32)})[0].shape == (0,)


# ---- trips and condition of one element and any rank -----------------------------------------------------

ONE_ELEMENT = [(), (1,), (1, 1), (1, 1, 1)]


@pytest.mark.parametrize("m_shape", ONE_ELEMENT)
@pytest.mark.parametrize("c_shape", ONE_ELEMENT)
@pytest.mark.parametrize("declared", ["", "[1]", "[1, 1]"], ids=lambda rank: f"body declares {rank or 'scalars'}")
def test_one_element_tensors_count_as_scalars(m_shape, c_shape, declared):
    m_type, c_type = ("[" + ", ".join("1" * len(shape)) + "]" if shape else "" for shape in (m_shape, c_shape))
    rank = declared.count("1")
    text = f"""
    main (int64{m_type} m, bool{c_type} c, float x)
        => (float y, int64[n, {rank}] i_shapes, int64[n, {rank}] go_shapes) {{
      y, i_shapes, go_shapes = Loop (m, c, x) <body: graph =
          body (int64{declared} i, bool{declared} go, float a)
          => (bool{declared} more, float b, int64[{rank}] i_shape, int64[{rank}] go_shape) {{
        more = Identity (go)
        b = Add (a, a)
        i_shape = Shape (i)
        go_shape = Shape (go)
      }}>
    }}"""
    y, i_shapes, go_shapes = run(
        text, {"m": np.full(m_shape, 3, np.int64), "c": np.full(c_shape, True), "x": scalar(1, np.float32)}
    )
    same(y, scalar(8, np.float32))
    want = np.ones((3, rank), np.int64)
    same(i_shapes, want)
    same(go_shapes, want)


@pytest.mark.parametrize("shape", ONE_ELEMENT)
def test_a_condition_of_any_rank_that_is_not_declared_ends_the_loop(shape):
    text = """
    main (int64[] m, bool[] c, float x, int64[rank] shape) => (float y) {
      y = Loop (m, c, x) <body: graph = body (int64 i, bool go, float a) => (more, float b) {
        b = Add (a, a)
        limit = Constant <value_int: int = 2> ()
        on = Less (i, limit)
        more = Reshape (on, shape)
      }>
    }"""
    feeds = {"m": np.full(shape, 9, np.int64), "c": np.full(shape, True), "x": scalar(1, np.float32)}
    same(run(text, {**feeds, "shape": i64(*shape)})[0], scalar(8, np.float32))
    same(run(text, {**feeds, "c": np.full(shape, False), "shape": i64(*shape)})[0], scalar(1, np.float32))


def test_a_trip_count_of_two_elements_is_an_error():
    text = DOUBLING.replace("int64 m,", "int64[k] m,")
    with refused(rondel.CallerError, "loop"):
        run(text, {"m": i64(1, 2), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})


# ---- long loops: where a native loop runs in chunks ------------------------------------------------------

EDGES = [1, 2, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4096, 4097, 65537]


@pytest.mark.parametrize("trips", EDGES)
@pytest.mark.parametrize("stop", ["by count", "by condition"])
def test_stacks_of_any_length_are_whole(trips, stop):
    text = """
    main (int64 m, int64 last, int64 x) => (int64 y, int64[n] s, int64[n, 3] t) {
      three = Constant <value_ints: ints = [3]> ()
      c = Constant <value = bool {1}> ()
      y, s, t = Loop (m, c, x) <body: graph = body (i, go, a) => (more, b, item, row) {
        b = Add (a, i)
        item = Mul (a, a)
        row = Expand (i, three)
        more = Less (i, last)
      }>
    }"""
    m, last = (trips, 2**40) if stop == "by count" else (INT64_MAX, trips - 1)
    y, s, t = run(text, {"m": scalar(m), "last": scalar(last), "x": scalar(5)})
    i = np.arange(trips, dtype=np.int64)
    states = 5 + np.concatenate([[0], np.cumsum(i)])
    same(y, scalar(states[-1]))
    same(s, states[:-1] ** 2)
    same(t, np.repeat(i[:, None], 3, 1))


def test_eight_elementwise_ops_on_a_vector_over_fifty_trips():
    text = """
    main (int64 m, float[256] x) => (float[256] y) {
      half = Constant <value_float: float = 0.5> ()
      one = Constant <value_float: float = 1.0> ()
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, h) {
        b = Mul (a, half)
        c = Add (b, one)
        d = Abs (c)
        e = Sub (d, half)
        f = Max (e, b)
        g = Min (f, one)
        k = Neg (g)
        h = Add (k, a)
      }>
    }"""
    x = np.linspace(-3, 3, 256, dtype=np.float32)
    want = x
    for _ in range(50):
        b = want * np.float32(0.5)
        e = np.abs(b + np.float32(1)) - np.float32(0.5)
        want = -np.minimum(np.maximum(e, b), np.float32(1)) + want
    np.testing.assert_allclose(run(text, {"m": scalar(50), "x": x})[0], want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", [11, 16])
def test_a_million_trips_of_scalars_converge(opset):
    text = """
    main (int64 m, float x) => (float y) {
      half = Constant <value_float: float = 0.5> ()
      y = Loop (m, , x) <body: graph = body (i, go, b) => (go, c) {
        t = Mul (b, half)
        c = Add (t, x)
      }>
    }""".replace("<value_float: float = 0.5>", "<value = float {0.5}>")
    (y,) = run(text, {"m": scalar(1_000_000), "x": scalar(3, np.float32)}, opset=opset)
    same(y, scalar(6, np.float32))
