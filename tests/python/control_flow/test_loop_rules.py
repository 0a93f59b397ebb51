"""ONNX Loop: the meaning of the trip count, the condition, states, stacks and captures.

The expectation of each test is a few lines of plain Python or NumPy beside the model.
"""

import threading
import warnings

import numpy as np
import pytest
import rondel
from models import (
    FALSE,
    INT64_MAX,
    LOOP_VERSIONS,
    TRUE,
    WAYS,
    f32,
    i64,
    interpreter,
    model,
    options,
    refused,
    run,
    run_as,
    run_options,
    same,
    scalar,
    session,
    strings,
)

# x doubles every trip; stacks carry the state before doubling and the trip index; stops when i == `last`.
DOUBLING = """
main (int64 m, bool c, int64 last, float[2] x) => (float[2] y, float[n, 2] before, int64[n] trips) {
  y, before, trips = Loop (m, c, x) <body: graph = body (int64 i, bool go, float[2] a)
      => (bool more, float[2] b, float[2] item, int64 index) {
    b = Add (a, a)
    item = Identity (a)
    index = Identity (i)
    stop = Equal (i, last)
    more = Not (stop)
  }>
}"""


def doubling(x, trips):
    states = [np.float32(x) * np.float32(2) ** k for k in range(trips + 1)]
    before = np.array(states[:-1], np.float32).reshape(trips, len(x))
    return [states[-1].astype(np.float32), before, np.arange(trips, dtype=np.int64)]


def check_doubling(m, c, last, trips, opset=21):
    got = run(DOUBLING, {"m": scalar(m), "c": c, "last": scalar(last), "x": f32(1, 3)}, opset)
    for have, want in zip(got, doubling([1, 3], trips), strict=True):
        same(have, want)


# ---- how many trips -------------------------------------------------------------------------------------


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
def test_zero_trips(m, c):
    check_doubling(m, c, 99, 0)


@pytest.mark.parametrize("m", [2**31, 2**31 + 7, 2**32 + 1, 2**40, INT64_MAX])
def test_huge_trip_count_with_early_exit(m):
    check_doubling(m, TRUE, 5, 6)


def test_a_huge_trip_count_that_may_stop_early_sizes_nothing():
    feeds = {"m": scalar(INT64_MAX), "c": TRUE, "last": scalar(5), "x": f32(1, 3)}
    y, before, trips = run(DOUBLING, feeds, options=options(max_memory_bytes=64 << 20))
    same(y, f32(64, 192))
    assert before.shape == (6, 2)


COND_OMITTED = """
main (int64 m, float x) => (float y, float[n] s, bool[n] seen) {
  y, s, seen = Loop (m, , x) <body: graph = body (int64 i, bool go, float a)
      => (bool more, float b, float item, bool seen_go) {
    one = Constant <value_float: float = 1.0> ()
    b = Add (a, one)
    item = Identity (b)
    limit = Constant <value_int: int = 1> ()
    more = Less (i, limit)
    seen_go = Identity (go)
  }>
}"""


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v >= 13])
def test_cond_omitted_never_stops_on_the_bodys_condition(version):
    y, s, seen = run(COND_OMITTED, {"m": scalar(5), "x": scalar(0, np.float32)}, opset=version)
    same(y, scalar(5, np.float32))
    same(s, f32(1, 2, 3, 4, 5))
    # The condition is still carried: true in the first trip, then the last value from the body.
    same(seen, np.array([True, True, False, False, False]))


def test_loop_cond_spec_is_the_default_written_out():
    y, _, _ = run(COND_OMITTED, {"m": scalar(5), "x": scalar(0, np.float32)}, options=options(loop_cond="spec"))
    same(y, scalar(5, np.float32))


def test_loop_cond_honour_stops_on_the_bodys_condition():
    y, s, seen = run(COND_OMITTED, {"m": scalar(5), "x": scalar(0, np.float32)}, options=options(loop_cond="honour"))
    same(y, scalar(2, np.float32))
    same(s, f32(1, 2))
    same(seen, np.array([True, True]))


def test_loop_cond_honour_changes_nothing_where_cond_is_given():
    feeds = {"m": scalar(9), "c": TRUE, "last": scalar(2), "x": f32(1, 3)}
    y, _, trips = run(DOUBLING, feeds, options=options(loop_cond="honour"))
    same(y, f32(8, 24))
    same(trips, i64(0, 1, 2))


def warned(text, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session(text, options=options(**given))
        exported = model(text)
        reading = rondel.SessionOptions()
        for name, value in given.items():
            setattr(reading, name, value)
        rondel.export(exported, sess_options=reading)
    assert all(w.category is rondel.ModelWarning for w in caught)
    assert all(w.filename.endswith(("models.py", "test_loop_rules.py")) for w in caught)
    return [str(w.message) for w in caught]


def test_cond_omitted_where_the_body_computes_one_warns():
    found = warned(COND_OMITTED)
    assert len(found) == 2  # one warning from the session, one from the export
    for text in found:
        assert "(Loop): cond is left out" in text and 'loop_cond="honour"' in text and "for ... break" in text
    assert [message for level, _, message in rondel.inspect(model(COND_OMITTED)).findings if level == "warning"] == [
        found[0].split(": ", 1)[1]
    ]


def test_loop_cond_honour_does_not_warn():
    assert warned(COND_OMITTED, loop_cond="honour") == []


@pytest.mark.parametrize(
    "condition",
    [
        "more = Identity (go)",
        "more = Constant <value: tensor = bool {1}> ()",
        "yes = Constant <value_int: int = 1> ()  more = Cast <to: int = 9> (yes)",
        "same = Identity (go)  more = Identity (same)",
    ],
)
def test_cond_omitted_where_the_bodys_is_handed_on_or_true_does_not_warn(condition):
    text = COND_OMITTED.replace("more = Less (i, limit)", condition)
    assert warned(text) == []


# The last cast of each gives the condition; a cast between numbers before it may give 0.
NARROWED = {
    "256 in u8": "k = Constant <value_int: int = 256> ()  u = Cast <to: int = 2> (k)  more = Cast <to: int = 9> (u)",
    "0.5 in i64": "k = Constant <value_float: float = 0.5> ()  u = Cast <to: int = 7> (k)  more = Cast <to: int = 9> (u)",
    "-256 in u8": "k = Constant <value_int: int = -256> ()  u = Cast <to: int = 2> (k)  more = Cast <to: int = 9> (u)",
    "2^32 in i32": "k = Constant <value_int: int = 4294967296> ()  u = Cast <to: int = 6> (k)  more = Cast <to: int = 9> (u)",
}


@pytest.mark.parametrize("name", NARROWED)
def test_a_condition_that_a_cast_makes_false_stops_the_loop(name):
    text = COND_OMITTED.replace("(m, , x)", "(m, c, x)").replace("main (", "main (bool c, ").replace("more = Less (i, limit)", NARROWED[name])
    y, s, seen = run(text, {"m": scalar(5), "c": TRUE, "x": scalar(0, np.float32)})
    same(y, scalar(1, np.float32))
    same(s, f32(1))
    same(seen, np.array([True]))


def test_a_condition_that_is_cast_to_a_number_and_back_is_handed_on():
    """A bool is 0 or 1 in every dtype, so the loop has no condition."""
    condition = "u = Cast <to: int = 2> (go)  more = Cast <to: int = 9> (u)"
    assert warned(COND_OMITTED.replace("more = Less (i, limit)", condition)) == []


def test_cond_given_does_not_warn():
    assert warned(COND_OMITTED.replace("(m, , x)", "(m, c, x)").replace("float x)", "float x, bool c)", 1)) == []


def test_a_warning_may_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", rondel.ModelWarning)
        with pytest.raises(rondel.ModelWarning):
            session(COND_OMITTED)


def test_loop_cond_takes_two_words_only():
    with pytest.raises((ValueError, TypeError)):
        session(COND_OMITTED, options=options(loop_cond="sometimes"))


@pytest.mark.parametrize("version", LOOP_VERSIONS)
def test_trip_count_omitted(version):
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
    if version == 1:  # Cast-1 and Less-1 have another form
        pytest.skip("the body's own ops have another form in opset 1")
    same(run(text, {"c": TRUE, "x": scalar(3)}, opset=version)[0], scalar(1536))
    same(run(text, {"c": FALSE, "x": scalar(3)}, opset=version)[0], scalar(3))


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
def test_both_omitted_ends_by_the_deadline(text):
    with refused(rondel.DeadlineExceeded, "deadline"):
        run(text, {"x": scalar(0)}, run_options=run_options(deadline=0.05))


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


def test_a_deadline_long_enough_changes_nothing():
    feeds = {"m": scalar(3), "c": TRUE, "last": scalar(99), "x": f32(1, 3)}
    y, _, _ = run(DOUBLING, feeds, run_options=run_options(deadline=60.0))
    same(y, f32(8, 24))


def test_trip_budget():
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


# ---- zero trips: the shapes of stacks -------------------------------------------------------------------

ZERO = """
main (int64 m, float[2, 3] x, int64[k] target) => (float[2, 3] y, float[n, {shape}] s) {{
  y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, item) {{
    more = Identity (go)
    b = Add (a, a)
    {item}
  }}>
}}"""


@pytest.mark.parametrize(
    ("item", "declared", "shape", "dtype"),
    [
        ("item = Identity (a)", "2, 3", (0, 2, 3), np.float32),
        ("item = Shape (a)", "2", (0, 2), np.int64),
        ("item = Identity (i)", "", (0,), np.int64),
        ("item = NonZero (a)", "2, k", (0, 2, 0), np.int64),
        ("item = Reshape (a, target)", None, (0,), np.float32),
    ],
    ids=["known", "known of another op", "scalar", "an extent unknown", "rank unknown"],
)
def test_zero_trips_stack_shape(item, declared, shape, dtype):
    text = ZERO.format(item=item, shape=declared or "").replace("float[n, ]", "float[n]")
    if dtype == np.int64:
        text = text.replace("float[n", "int64[n")
    if declared is None:
        text = text.replace("float[n]", "float[]")
    y, s = run(text, {"m": scalar(0), "x": np.ones((2, 3), np.float32), "target": i64(3, 2)})
    same(y, np.ones((2, 3), np.float32))
    same(s, np.zeros(shape, dtype))


DECLARED = """
main (int64 m, float[2, 3] x, int64[k] target, float[j, 3] w) => (float[] s) {{
  s = Loop (m, "") <body: graph = body (int64 i, bool go) => (bool more, float{declared} item) {{
    more = Identity (go)
    {item}
  }}>
}}"""


@pytest.mark.parametrize(
    ("item", "declared", "shape"),
    [
        ("item = Reshape (x, target)", "[5, 7]", (0, 5, 7)),
        ("item = Reshape (x, target)", "[5, n]", (0, 5, 0)),
        ("item = Reshape (x, target)", "[5, ?]", (0, 5, 0)),
        ("item = Reshape (x, target)", "", (0,)),
        ("item = Reshape (x, target)", "[]", (0,)),
        ("all = NonZero (x)  item = Cast <to: int = 1> (all)", "[2, 4]", (0, 2, 4)),
        ("all = NonZero (x)  item = Cast <to: int = 1> (all)", "[9, 4]", (0, 2, 4)),
        ("all = NonZero (x)  item = Cast <to: int = 1> (all)", "[4]", (0, 2, 0)),
        ("item = Identity (w)", "[9, 9]", (0, 4, 3)),
        ("item = Identity (w)", "[9]", (0, 4, 3)),
    ],
    ids=[
        "rank and extents", "an extent by name", "an extent unknown", "a scalar", "nothing", "what is not inferred",
        "inferred before declared", "another rank", "what goes in", "another rank than what goes in",
    ],
)
def test_zero_trips_take_what_the_body_declares(item, declared, shape):
    text = DECLARED.format(item=item, declared=declared)
    feeds = {"m": scalar(0), "x": np.ones((2, 3), np.float32), "target": i64(3, 2), "w": np.ones((4, 3), np.float32)}
    same(run(text, feeds)[0], np.zeros(shape, np.float32))
    if "w" not in item:
        assert run(text, {**feeds, "m": scalar(2)})[0].shape[0] == 2  # the item may differ from its declared shape


def test_zero_trips_of_a_scan_take_what_the_body_declares():
    for axis, shape in ((0, (0, 5, 7)), (1, (5, 0, 7)), (-1, (5, 7, 0))):
        text = f"""
        main (float[n, 6] x, int64[k] target) => (float[] s) {{
          s = Scan <num_scan_inputs: int = 1, scan_output_axes: ints = [{axis}], body: graph =
              body (float[6] e) => (float[5, 7] item) {{ item = Reshape (e, target) }}> (x)
        }}"""
        feeds = {"x": np.ones((0, 6), np.float32), "target": i64(3, 2)}
        same(run(text, feeds)[0], np.zeros(shape, np.float32))
        assert sorted(run(text, {**feeds, "x": np.ones((4, 6), np.float32)})[0].shape) == [2, 3, 4]
    with refused(rondel.CallerError, "axis 3"):
        session(text.replace("[-1]", "[3]")).run(None, {"x": np.ones((1, 6), np.float32), "target": i64(3, 2)})
    # A declared rank that does not have the axis is ignored.
    s = session(text.replace("[-1]", "[3]")).run(None, {"x": np.ones((0, 6), np.float32), "target": i64(3, 2)})
    same(s[0], np.zeros((0,), np.float32))


IN_LOOPS = [  # loops whose stack, read by another loop without trips, declares another extent than its condition tells
    """
main (int64 m) => (bool[n, k] s) {
  s = Loop (m, "") <body: graph = outer (int64 i, bool go) => (bool more, bool[2] item) {
    item = Loop (m, go) <body: graph = inner (int64 j, bool on) => (bool same, bool row) {
      row = Identity (on)
      same = Identity (row)
    }>
    more = Identity (go)
  }>
}""",
    """
main (int64 m) => (bool[n, k] s) {
  s = Loop (m, "") <body: graph = outer (int64 i, bool go) => (bool more, bool[18] item) {
    item = Loop ("", go) <body: graph = inner (int64 j, bool on) => (bool less, bool row) {
      row = Less (j, m)
      less = Identity (row)
    }>
    more = Identity (go)
  }>
}""",
]


@pytest.mark.parametrize("text", IN_LOOPS, ids=["handed on", "computed"])
def test_zero_trips_have_the_same_shape_in_the_exported_model(text):
    made = model(text)
    feeds = {"m": scalar(0)}
    same(session(rondel.export(made)).run(None, feeds)[0], session(made).run(None, feeds)[0])


def test_a_body_that_runs_has_a_true_condition():
    """Whether the first condition is left out, a constant or from data: in the body it is true, so an inner loop with it makes all its trips."""
    for first, feeds in (('""', {}), ("yes", {}), ("c", {"c": TRUE})):
        text = f"""
        main (int64 m, int64 k{", bool c" if feeds else ""}) => (bool[n, k] s) <bool yes = {{1}}> {{
          s = Loop (m, {first}) <body: graph = outer (int64 i, bool go) => (bool more, item) {{
            item = Loop (k, go) <body: graph = inner (int64 j, bool on) => (bool same, bool row) {{
              row = Identity (on)
              same = Identity (on)
            }}>
            more = Identity (go)
          }}>
        }}"""
        same(session(text).run(None, {"m": scalar(2), "k": scalar(3), **feeds})[0], np.ones((2, 3), bool))


def test_zero_trips_where_the_items_rank_grows():
    y, s = run(RANK_GROWS_WITH_ITEM, {"m": scalar(0), "x": f32(7)})
    same(y, f32(7))
    assert s.shape == (0,)


def test_zero_trips_tell_extents_of_what_is_captured():
    text = """
    main (int64 m, float[a, b] x) => (float[n, c] s) {
      s = Loop (m, "") <body: graph = body (i, go) => (more, item) {
        more = Identity (go)
        item = Gather <axis: int = 1> (x, i)
      }>
    }"""
    for m in (0, 2):
        assert run(text, {"m": scalar(m), "x": np.ones((3, 4), np.float32)})[0].shape == (m, 3)


def test_zero_trips_have_no_errors():
    text = """
    main (int64 m, float[k] x, float[j] w) => (float[n, l] s) {
      four = Constant <value_floats: floats = [1.0, 2.0, 3.0, 4.0]> ()
      s = Loop (m, "") <body: graph = body (i, go) => (more, item) {
        more = Identity (go)
        item = OP (x, w)
      }>
    }"""
    for op, operands in (("Add", "x, w"), ("Add", "x, four"), ("MatMul", "x, w"), ("MatMul", "four, x")):
        for jit in (None, interpreter()):
            s = session(text.replace("OP (x, w)", f"{op} ({operands})"), options=jit)
            feeds = {"m": scalar(0), "x": np.ones(5, np.float32), "w": np.ones(3, np.float32)}
            assert s.run(None, feeds)[0].shape[0] == 0
            with refused(rondel.CallerError, op):
                s.run(None, {**feeds, "m": scalar(1)})


KEPT = """
main (int64 m, float[n, 2] x, int64[1] k) => (float[] y, float[] s) {{
  zero = Constant <value_ints: ints = [0]> ()
  y, s = Loop (m, , x) <body: graph = body (int64 i, bool go, float{came} a) => (bool more, float{left} b, float[] item) {{
    more = Identity (go)
    {step}
    item = Identity (a)
  }}>
}}"""


@pytest.mark.parametrize(
    ("came", "left", "shape"),
    [
        ("[3, 2]", "[3, 2]", (0, 3, 2)),
        ("[p, 2]", "[p, 2]", (0, 3, 2)),
        ("[p, 2]", "[q, 2]", (0, 0, 2)),
        ("[?, 2]", "[?, 2]", (0, 0, 2)),
        ("[3, 2]", "[3]", (0, 0, 2)),
        ("[7, 2]", "[7, 2]", (0, 3, 2)),
    ],
)
def test_zero_trips_where_a_state_is_declared_to_keep_its_shape(came, left, shape):
    text = KEPT.format(came=came, left=left, step="b = Slice (a, zero, k, zero)")
    feeds = {"m": scalar(0), "x": np.ones((3, 2), np.float32), "k": i64(1)}
    y, s = run(text, feeds)
    assert y.shape == (3, 2) and s.shape == shape
    with refused(rondel.CallerError, "item"):  # the state may break its declaration: the next item is [1, 2]
        run(text, {**feeds, "m": scalar(2)})
    same(run(text, {**feeds, "m": scalar(1)})[0], np.ones((1, 2), np.float32))


@pytest.mark.parametrize("step", ["b = Concat <axis: int = 0> (a, a)", "b = Concat <axis: int = 1> (a, a)", "b = Unsqueeze (a, zero)"])
@pytest.mark.parametrize("m", [0, 1])
def test_a_state_that_is_declared_to_keep_its_shape_and_does_not(step, m):
    text = KEPT.format(came="[p, q]", left="[p, q]", step=step)
    x = np.ones((3, 2), np.float32)
    y, s = run(text, {"m": scalar(m), "x": x, "k": i64(1)})
    assert y.size == x.size * (1 if m == 0 or "Unsqueeze" in step else 2)
    assert s.shape[0] == m and (m == 0 or s.shape == (1, 3, 2))


# ---- states ---------------------------------------------------------------------------------------------


def test_state_changes_shape():
    text = """
    main (int64 m, float[k] x) => (float[l] y, int64[n] sizes) {
      y, sizes = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, size) {
        more = Identity (go)
        b = Concat <axis: int = 0> (a, x)
        size = Size (b)
      }>
    }"""
    y, sizes = run(text, {"m": scalar(4), "x": f32(1, 2)})
    same(y, np.tile(f32(1, 2), 5))
    same(sizes, i64(4, 6, 8, 10))


RANK_GROWS = """
main (int64 m, float[1] x) => (float[] y) {
  axis = Constant <value_ints: ints = [0]> ()
  y = Loop (m, , x) <body: graph = body (i, go, a) => (more, b) {
    more = Identity (go)
    b = Unsqueeze (a, axis)
  }>
}"""

RANK_GROWS_WITH_ITEM = """
main (int64 m, float[1] x) => (float[] y, float[] s) {
  axis = Constant <value_ints: ints = [0]> ()
  y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, item) {
    more = Identity (go)
    b = Unsqueeze (a, axis)
    item = Identity (a)
  }>
}"""


@pytest.mark.parametrize("m", [0, 1, 3])
def test_state_changes_rank(m):
    (y,) = run(RANK_GROWS, {"m": scalar(m), "x": f32(7)})
    same(y, np.full((1,) * (m + 1), 7, np.float32))


def test_state_changes_shape_against_the_declared_one():
    # Declared shapes of body inputs are hints.
    text = """
    main (int64 m, float[2] x) => (float[k] y) {
      y = Loop (m, , x) <body: graph = body (int64 i, bool go, float[2] a) => (bool more, float[k] b) {
        more = Identity (go)
        b = Concat <axis: int = 0> (a, a)
      }>
    }"""
    same(run(text, {"m": scalar(3), "x": f32(1, 2)})[0], np.tile(f32(1, 2), 8))


def test_state_dtype_change_is_refused():
    text = """
    main (int64 m, float x) => (float y) {
      y = Loop (m, , x) <body: graph = body (i, go, acc) => (more, acc_out) {
        more = Identity (go)
        acc_out = Cast <to: int = 7> (acc)
      }>
    }"""
    with refused(rondel.CallerError, "loop", "acc"):
        session(text)


@pytest.mark.parametrize("jit", WAYS)
def test_a_state_of_one_element_that_a_product_reads(jit, monkeypatch):
    # The product reads the state from memory, but its next value is computed in a register.
    run_as(monkeypatch, jit)
    text = """
    main (int64 m, float[1, 1] x) => (float[1, 1] y) {
      y = Loop (m, , x) <body: graph = body (int64 i, bool go, float[1, 1] a) => (bool more, float[1, 1] b) {
        more = Identity (go)
        p = MatMul (a, a)
        b = Neg (p)
      }>
    }"""
    same(run(text, {"m": scalar(3), "x": f32([2])})[0], f32([-256]))


def test_states_swap():
    text = """
    main (int64 m, float a0, float b0) => (float a, float b) {
      a, b = Loop (m, , a0, b0) <body: graph = body (i, go, p, q) => (go, q, p) { }>
    }"""
    a, b = run(text, {"m": scalar(3), "a0": scalar(1, np.float32), "b0": scalar(2, np.float32)})
    same(a, scalar(2, np.float32))
    same(b, scalar(1, np.float32))


def test_one_body_value_given_twice():
    # The body returns its input `a` as two items.
    text = """
    main (int64 m, int64 x) => (int64 y, int64[n] s, int64[n] t, int64[n] u) {
      y, s, t, u = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, a, a, i) { b = Add (a, i) }>
    }"""
    y, s, t, u = run(text, {"m": scalar(4), "x": scalar(10)})
    same(y, scalar(16))
    same(s, i64(10, 10, 11, 13))
    same(t, s)
    same(u, i64(0, 1, 2, 3))


def test_constant_and_captured_items_repeat():
    text = """
    main (int64 m, float[2] x) => (float[n, 2] s, float[n] t) {
      y, s, t = Loop (m, , x) <body: graph = body (i, go, a) => (go, a, x, one) {
        one = Constant <value_float: float = 1.0> ()
      }>
    }"""
    s, t = run(text, {"m": scalar(3), "x": f32(1, 2)})
    same(s, f32([1, 2], [1, 2], [1, 2]))
    same(t, f32(1, 1, 1))


def test_no_states_only_items():
    text = """
    main (int64 m) => (int64[n] s) {
      s = Loop (m, "") <body: graph = body (i, go) => (go, item) { item = Mul (i, i) }>
    }"""
    same(run(text, {"m": scalar(5)})[0], i64(0, 1, 4, 9, 16))


def test_one_result_is_required():
    from onnx import TensorProto, helper
    from models import make_model, value

    body = helper.make_graph([], "body", [value("i", 7, []), value("go", 9, [])], [value("go", 9, [])])
    loop = helper.make_node("Loop", ["m", "c"], [], name="idle", body=body)
    same_x = helper.make_node("Identity", ["m"], ["y"])
    inputs = [value("m", TensorProto.INT64, []), value("c", TensorProto.BOOL, [])]
    with refused(rondel.CallerError, "idle"):
        session(make_model([loop, same_x], inputs, [value("y", TensorProto.INT64, [])]))


def test_outputs_named_nothing():
    text = DOUBLING.replace("y, before, trips = Loop", '"", before, "" = Loop').replace(
        "(float[2] y, float[n, 2] before, int64[n] trips)", "(float[n, 2] before)", 1
    )
    (before,) = run(text, {"m": scalar(3), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})
    same(before, doubling([1, 3], 3)[1])


def test_results_nobody_reads_may_be_left_out():
    text = DOUBLING.replace("y, before, trips = Loop", "y = Loop").replace(
        "(float[2] y, float[n, 2] before, int64[n] trips)", "(float[2] y)", 1
    )
    with_all = run(DOUBLING, {"m": scalar(3), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})
    without = text.replace("(bool more, float[2] b, float[2] item, int64 index)", "(bool more, float[2] b)")
    same(run(without, {"m": scalar(3), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})[0], with_all[0])


# ---- items ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0, 3)])
def test_items_stack_on_a_new_axis(shape):
    extents = f"[{', '.join(map(str, shape))}]" if shape else ""
    stacked = f"[n{''.join(f', {e}' for e in shape)}]"
    text = f"""
    main (int64 m, float{extents} x) => (float{stacked} s) {{
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, a) {{ b = Add (a, a) }}>
    }}"""
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    same(run(text, {"m": scalar(3), "x": x})[0], np.stack([x, 2 * x, 4 * x]))


def test_item_shape_change_of_equal_byte_size_is_an_error():
    text = """
    main (int64 m, float[2, 3] x) => (float[n, 2, 3] s) {
      [turning] y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, turned) {
        more = Identity (go)
        b = Transpose (a)
        turned = Identity (a)
      }>
    }"""
    x = np.zeros((2, 3), np.float32)
    assert run(text, {"m": scalar(1), "x": x})[0].shape == (1, 2, 3)
    with refused(rondel.CallerError, "turning", ("turned", "'a'"), ("trip 1", "trip 2"), "2,3", "3,2"):
        run(text, {"m": scalar(2), "x": x})


def test_item_shape_change_is_an_error():
    text = """
    main (int64 m, float[1] x) => (float[n, k] s) {
      [growing] y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, grown) {
        more = Identity (go)
        b = Concat <axis: int = 0> (a, a)
        grown = Identity (a)
      }>
    }"""
    with refused(rondel.CallerError, "growing", ("grown", "'a'"), "trip 1", "[1]", "[2]"):
        run(text, {"m": scalar(3), "x": f32(1)})


@pytest.mark.parametrize("kind", ["sequence", "optional"])
def test_only_tensors_are_items(kind):
    make = {"sequence": "item = SequenceConstruct (a)", "optional": "item = Optional (a)"}[kind]
    text = f"""
    main (int64 m, float[1] x) => (float[1] y) {{
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, item) {{
        b = Add (a, a)
        {make}
      }}>
    }}"""
    with refused(rondel.CallerError, "item", (kind, kind[:3])):
        session(text)


# ---- strings, sequences, optionals ----------------------------------------------------------------------


def test_string_items_and_states():
    text = """
    main (int64 m, string[2] x) => (string[2] y, string[n, 2] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, item) {
        more = Identity (go)
        b = Concat <axis: int = 0> (tail, head)
        zero = Constant <value_ints: ints = [0]> ()
        one = Constant <value_ints: ints = [1]> ()
        two = Constant <value_ints: ints = [2]> ()
        head = Slice (a, zero, one, zero)
        tail = Slice (a, one, two, zero)
        item = Identity (a)
      }>
    }"""
    lines = text.splitlines()  # moves the Concat behind the slices that it reads
    concat = next(line for line in lines if "Concat" in line)
    lines.remove(concat)
    lines.insert(next(n for n, line in enumerate(lines) if "item =" in line), concat)
    long = "a string too long for any small buffer inside a string object, é"
    y, s = run("\n".join(lines), {"m": scalar(3), "x": strings("", long)})
    same(y, strings(long, ""))
    same(s, np.array([["", long], [long, ""], ["", long]], dtype=object))


def test_one_string_value_is_state_and_item_at_once():
    # A known bug of another runtime: the item is empty after the first trip.
    text = """
    main (int64 m, string[1] x) => (string[1] y, string[n, 1] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, item) {
        b = Identity (a)
        item = Identity (a)
      }>
    }"""
    word = "carried from trip to trip, and stacked as well"
    y, s = run(text, {"m": scalar(4), "x": strings(word)})
    same(y, strings(word))
    same(s, np.array([[word]] * 4, dtype=object))


def test_zero_trips_of_strings():
    text = """
    main (int64 m, string[2] x) => (string[n, 2] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, string[2] a) => (go, a, a) { }>
    }"""
    (s,) = run(text, {"m": scalar(0), "x": strings("a", "b")})
    assert s.shape == (0, 2)
    assert s.dtype == object


SEQUENCE_STATE = """
main (int64 m, seq(float[k]) q, float[2] x) => (seq(float[k]) r, int64[n] lengths) {
  r, y, lengths = Loop (m, , q, x) <body: graph = body (i, go, s, a) => (more, s2, b, length) {
    more = Identity (go)
    s2 = SequenceInsert (s, a)
    b = Add (a, a)
    length = SequenceLength (s2)
  }>
}"""


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v >= 13])
def test_sequence_state(version):
    r, lengths = run(SEQUENCE_STATE, {"m": scalar(3), "q": [f32(9)], "x": f32(1, 2)}, opset=version)
    assert isinstance(r, list)
    for got, want in zip(r, [f32(9), f32(1, 2), f32(2, 4), f32(4, 8)], strict=True):
        same(got, want)
    same(lengths, i64(2, 3, 4))


def test_sequence_state_of_zero_trips():
    r, lengths = run(SEQUENCE_STATE, {"m": scalar(0), "q": [], "x": f32(1, 2)})
    assert r == []
    same(lengths, np.zeros(0, np.int64))


OPTIONAL_STATE = """
main (int64 m, optional(float[2]) o) => (optional(float[2]) p, bool[n] had) {
  p, had = Loop (m, , o) <body: graph = body (int64 i, bool go, optional(float[2]) a)
      => (bool more, optional(float[2]) b, bool has) {
    more = Identity (go)
    has = OptionalHasElement (a)
    next = If (has) <
      then_branch: graph = full () => (float[2] t) {
        inside = OptionalGetElement (a)
        t = Add (inside, inside)
      },
      else_branch: graph = empty () => (float[2] e) { e = Constant <value_floats: floats = [1.0, 3.0]> () }
    >
    b = Optional (next)
  }>
}"""


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v >= 18 or v == 16])
def test_optional_state(version):
    p, had = run(OPTIONAL_STATE, {"m": scalar(3), "o": None}, opset=version)
    same(p, f32(4, 12))
    same(had, np.array([False, True, True]))
    p, had = run(OPTIONAL_STATE, {"m": scalar(2), "o": f32(1, 1)}, opset=version)
    same(p, f32(4, 4))
    same(had, np.array([True, True]))


def test_optional_state_of_zero_trips_stays_empty():
    p, had = run(OPTIONAL_STATE, {"m": scalar(0), "o": None})
    assert p is None
    same(had, np.zeros(0, bool))


def test_an_optional_sequence_state():
    text = """
    main (int64 m, optional(seq(float[1])) o) => (optional(seq(float[1])) p) {
      p = Loop (m, , o) <body: graph = body (int64 i, bool go, optional(seq(float[1])) a)
          => (bool more, optional(seq(float[1])) b) {
        more = Identity (go)
        has = OptionalHasElement (a)
        one = Constant <value_floats: floats = [1.0]> ()
        next = If (has) <
          then_branch: graph = full () => (seq(float[1]) t) {
            inside = OptionalGetElement (a)
            t = SequenceInsert (inside, one)
          },
          else_branch: graph = empty () => (seq(float[1]) e) { e = SequenceEmpty () }
        >
        b = Optional (next)
      }>
    }"""
    (p,) = run(text, {"m": scalar(3), "o": None})
    assert [x.tolist() for x in p] == [[1.0], [1.0]]


# ---- names and captures ---------------------------------------------------------------------------------


def test_captures_at_depth_three():
    text = """
    main (int64 m, float x) => (float y) {
      outer = Add (x, x)
      y = Loop (m, , x) <body: graph = one (i, go1, a) => (go1, b) {
        first = Add (a, outer)
        b = Loop (m, , a) <body: graph = two (j, go2, c) => (go2, d) {
          second = Mul (c, first)
          d = Loop (m, , c) <body: graph = three (k, go3, e) => (go3, f) {
            t1 = Add (e, x)
            t2 = Add (t1, outer)
            t3 = Add (t2, first)
            f = Add (t3, second)
          }>
        }>
      }>
    }"""
    x = m = 2.0
    y = x
    for _ in range(int(m)):
        first, c = y + 2 * x, y
        for _ in range(int(m)):
            second, e = c * first, c
            for _ in range(int(m)):
                e = e + x + 2 * x + first + second
            c = e
        y = c
    same(run(text, {"m": scalar(2), "x": scalar(2, np.float32)})[0], scalar(y, np.float32))


def test_inner_loop_reads_outer_state_item_and_index():
    text = """
    main (int64 m) => (int64[n, 3] table) {
      three = Constant <value_int: int = 3> ()
      table = Loop (m, "") <body: graph = rows (i, go) => (go, row) {
        row = Loop (three, "") <body: graph = columns (j, go2) => (go2, cell) {
          ten = Constant <value_int: int = 10> ()
          tens = Mul (i, ten)
          cell = Add (tens, j)
        }>
      }>
    }"""
    want = [[10 * i + j for j in range(3)] for i in range(4)]
    same(run(text, {"m": scalar(4)})[0], np.array(want, np.int64))


def test_inner_trip_count_depends_on_the_outer_trip():
    text = """
    main (int64 m, int64 x) => (int64 y) {
      y = Loop (m, , x) <body: graph = outer (i, go, a) => (go, b) {
        b = Loop (i, , a) <body: graph = inner (j, go2, c) => (go2, d) {
          s = Add (c, j)
          d = Add (s, i)
        }>
      }>
    }"""
    y = 0
    for i in range(5):
        for j in range(i):
            y += j + i
    same(run(text, {"m": scalar(5), "x": scalar(0)})[0], scalar(y))


def test_a_body_input_shadows_an_outer_name():
    text = """
    main (int64 m, float x) => (float y, float z) {
      y = Loop (m, , x) <body: graph = body (i, go, x) => (go, b) { b = Add (x, x) }>
      z = Identity (x)
    }"""
    y, z = run(text, {"m": scalar(3), "x": scalar(1, np.float32)})
    same(y, scalar(8, np.float32))
    same(z, scalar(1, np.float32))


def test_a_body_node_output_shadows_an_outer_name():
    text = """
    main (int64 m, float x) => (float y, float z) {
      t = Add (x, x)
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) {
        t = Mul (a, a)
        b = Add (t, a)
      }>
      z = Identity (t)
    }"""
    y, z = run(text, {"m": scalar(2), "x": scalar(1, np.float32)})
    same(y, scalar(6, np.float32))
    same(z, scalar(2, np.float32))


def test_names_are_only_names():
    # The condition is named x, the trip index go and the state i: binding is by position.
    text = """
    main (int64 m, bool c, float x) => (float y) {
      y = Loop (m, c, x) <body: graph = body (go, x, i) => (x, m) { m = Add (i, i) }>
    }"""
    same(run(text, {"m": scalar(3), "c": TRUE, "x": scalar(1, np.float32)})[0], scalar(8, np.float32))


def test_two_loops_may_use_the_same_names():
    text = """
    main (int64 m, float x) => (float y) {
      a = Loop (m, , x) <body: graph = body (i, go, s) => (go, t) { t = Add (s, s) }>
      y = Loop (m, , a) <body: graph = body (i, go, s) => (go, t) { t = Mul (s, s) }>
    }"""
    same(run(text, {"m": scalar(2), "x": scalar(1, np.float32)})[0], scalar(256, np.float32))


def test_a_capture_before_its_definition_is_refused():
    text = """
    main (int64 m, float x) => (float y, float late) {
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) { b = Add (a, late) }>
      late = Add (x, x)
    }"""
    with refused(rondel.CallerError, "late"):
        session(text)


def test_an_inner_value_is_not_seen_outside():
    text = """
    main (int64 m, float x) => (float z) {
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, inner) { inner = Add (a, a) }>
      z = Identity (inner)
    }"""
    with refused(rondel.CallerError, "inner"):
        session(text)


# ---- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ("i, go", "go, x"),
        ("i, go, a, extra", "go, x"),
        ("i, go, a", "go"),
        ("i", "i"),
    ],
    ids=["an input too few", "an input too many", "an output too few", "no condition"],
)
def test_body_arity_mismatch_is_refused(inputs, outputs):
    text = f"""
    main (int64 m, float x) => (float y) {{
      [crooked] y = Loop (m, , x) <body: graph = body ({inputs}) => ({outputs}) {{ }}>
    }}"""
    with refused(rondel.CallerError, "crooked", "body"):
        session(text)


def test_more_outputs_than_the_body_gives_are_refused():
    text = """
    main (int64 m, float x) => (float y) {
      [crooked] y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, a) { }>
    }"""
    with refused(rondel.CallerError, "crooked"):
        session(text)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("int64 m", "int32 m"), "int32"),
        (("bool c", "float c"), "float"),
        (("int64 i,", "int32 i,"), "int32"),
    ],
    ids=["trip count", "condition", "trip index"],
)
def test_wrong_dtypes_of_the_loops_own_inputs_are_refused(change, word):
    text = DOUBLING.replace(*change)
    with refused(rondel.CallerError, (word, word.replace("int", "i"), "f32")):
        session(text)


@pytest.mark.parametrize(
    ("opset", "type_text"),
    [
        (11, "seq(float[k])"),
        (12, "seq(float[k])"),
        (15, "optional(float[k])"),
        (13, "bfloat16[k]"),
        (16, "float8e4m3fn[k]"),
        (18, "float8e5m2[k]"),
        (19, "int4[k]"),
        (20, "uint4[k]"),
        (21, "float4e2m1[k]"),
        (23, "float8e8m0[k]"),
        (24, "int2[k]"),
    ],
)
def test_a_type_before_its_version_is_refused(opset, type_text):
    text = f"""
    main (int64 m, {type_text} x) => ({type_text} y) {{
      y = Loop (m, , x) <body: graph = body (i, go, {type_text} a) => (go, a) {{ }}>
    }}"""
    version = max(v for v in LOOP_VERSIONS if v <= opset)
    name = type_text.split("(")[0].split("[")[0]
    short = {"seq": "sequence", "bfloat16": "bf16", "float8e4m3fn": "f8e4m3fn", "float8e5m2": "f8e5m2"}
    shorter = {"int4": "i4", "uint4": "u4", "float4e2m1": "f4e2m1", "float8e8m0": "f8e8m0", "int2": "i2"}
    names = (name, {**short, **shorter}.get(name, name))
    with refused(rondel.CallerError, "loop", names, (str(version), str(opset))):
        session(text, opset=opset)


@pytest.mark.parametrize(
    ("opset", "type_text", "dtype"),
    [
        (16, "bfloat16[k]", "bfloat16"),
        (19, "float8e4m3fn[k]", "float8_e4m3fn"),
        (19, "float8e5m2[k]", "float8_e5m2"),
        (21, "int4[k]", "int4"),
        (21, "uint4[k]", "uint4"),
        (23, "float4e2m1[k]", "float4_e2m1fn"),
        (24, "float8e8m0[k]", "float8_e8m0fnu"),
        (25, "int2[k]", "int2"),
        (25, "uint2[k]", "uint2"),
        (1, "double[k]", "float64"),
        (1, "float16[k]", "float16"),
        (1, "uint8[k]", "uint8"),
        (1, "int16[k]", "int16"),
        (1, "bool[k]", "bool"),
        (1, "complex64[k]", "complex64"),
    ],
)
def test_a_type_from_its_version_on_is_carried_and_stacked(opset, type_text, dtype):
    import ml_dtypes

    text = f"""
    main (int64 m, {type_text} x) => ({type_text} y, {type_text.replace("[", "[n, ")} s) {{
      y, s = Loop (m, , x) <body: graph = body (i, go, {type_text} a) => (go, a, a) {{ }}>
    }}"""
    x = np.array([1, 0, 1], dtype=getattr(ml_dtypes, dtype, dtype))
    y, s = run(text, {"m": scalar(2), "x": x}, opset=max(opset, 13) if opset == 1 else opset)
    assert y.dtype == x.dtype
    assert s.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(s.astype(np.float32), np.stack([x, x]).astype(np.float32))


# ---- errors inside trips, and the sample in ONNX's text -------------------------------------------------

FAILS_AT_THREE = """
main (int64 m, float[3] table) => (float[n] s) {
  s = Loop (m, "") <body: graph = body (i, go) => (go, item) { [pick] item = Gather (table, i) }>
}"""


def test_an_error_inside_a_trip_names_the_node():
    same(run(FAILS_AT_THREE, {"m": scalar(3), "table": f32(5, 6, 7)})[0], f32(5, 6, 7))
    with refused(rondel.CallerError, "pick", "gather", "3"):
        run(FAILS_AT_THREE, {"m": scalar(4), "table": f32(5, 6, 7)})


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


# ---- long loops: where a native loop runs in chunks -----------------------------------------------------

EDGES = [1, 2, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4096, 4097, 65537]


@pytest.mark.parametrize("trips", EDGES)
@pytest.mark.parametrize("stop", ["by count", "by condition"])
def test_stacks_of_any_length(trips, stop):
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


@pytest.mark.parametrize("bad", [0, 1, 64, 1000, 5000])
def test_an_error_at_any_trip_is_found_there(bad):
    text = """
    main (int64 m, int64[k] table) => (int64[n] s) {
      hundred = Constant <value_int: int = 100> ()
      s = Loop (m, "") <body: graph = body (i, go) => (go, item) {
        divisor = Gather (table, i)
        [share] item = Div (hundred, divisor)
      }>
    }"""
    table = np.full(6000, 7, np.int64)
    same(run(text, {"m": scalar(6000), "table": table})[0], np.full(6000, 14, np.int64))
    table[bad] = 0
    with refused(rondel.CallerError, "share", "zero", f"trip {bad}"):
        run(text, {"m": scalar(6000), "table": table})
    if bad:
        same(run(text, {"m": scalar(bad), "table": table})[0], np.full(bad, 14, np.int64))


def test_eight_elementwise_ops_on_a_vector():
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
def test_a_million_trips_of_scalars(opset):
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


def test_zero_trips_give_the_shape_that_captured_axes_say():
    text = """
    main (int64 m, bool c, float[2, 3] x) => (float[n, k] y) <int64[1] axes = {1}> {
      y = Loop (m, c) <body: graph = body (int64 i, bool go) => (bool more, float[k] item) {
        more = Identity (go)
        item = ReduceSum <keepdims: int = 0> (x, axes)
      }>
    }"""
    x = np.ones((2, 3), np.float32)
    for m in (0, 1):
        assert run(text, {"m": scalar(m), "c": TRUE, "x": x})[0].shape == (m, 2)
