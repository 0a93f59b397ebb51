"""The shape of the stack of a loop without trips: extents are inferred, else declared, else 0 (docs/loops.md, rule 3).

test_zero_trips.py compares random loops.
"""

import numpy as np
import pytest
import rondel
from models import TRUE, f32, i64, interpreter, model, refused, run, same, scalar, session, strings

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
def test_an_empty_stack_has_the_inferred_shape(item, declared, shape, dtype):
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


def test_an_empty_stack_of_strings_has_their_dtype():
    text = """
    main (int64 m, string[2] x) => (string[n, 2] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, string[2] a) => (go, a, a) { }>
    }"""
    (s,) = run(text, {"m": scalar(0), "x": strings("a", "b")})
    assert s.shape == (0, 2)
    assert s.dtype == object


RANK_GROWS_WITH_ITEM = """
main (int64 m, float[1] x) => (float[] y, float[] s) {
  axis = Constant <value_ints: ints = [0]> ()
  y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, item) {
    more = Identity (go)
    b = Unsqueeze (a, axis)
    item = Identity (a)
  }>
}"""


def test_zero_trips_where_the_items_rank_grows():
    y, s = run(RANK_GROWS_WITH_ITEM, {"m": scalar(0), "x": f32(7)})
    same(y, f32(7))
    assert s.shape == (0,)


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


# ---- states that are declared to keep their shape --------------------------------------------------------

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
def test_a_state_that_is_declared_to_keep_its_shape_may_change_it(step, m):
    text = KEPT.format(came="[p, q]", left="[p, q]", step=step)
    x = np.ones((3, 2), np.float32)
    y, s = run(text, {"m": scalar(m), "x": x, "k": i64(1)})
    assert y.size == x.size * (1 if m == 0 or "Unsqueeze" in step else 2)
    assert s.shape[0] == m and (m == 0 or s.shape == (1, 3, 2))


@pytest.mark.parametrize("jit", ["0", "quick", "2"])
def test_an_extent_that_a_value_decides_is_not_told_in_any_run(jit, monkeypatch):
    """For certain shapes the value becomes a constant, and a copy of the loop is made for a run without trips."""
    monkeypatch.setenv("RONDEL_JIT", jit)
    s = session("""main (float[4,M] x, bool go) => (bool[?] compared, int64[?,?,?] y) <int64 one = {1}> {
      shape = Shape (x)
      m = Gather (shape, one)
      trips = Max (m, one)
      last, items = Loop ("", go, m) <body = outer (int64 i, bool c, int64[] s) => (bool end, int64[] t, int64[] item) {
        inner = Loop (trips, "") <body = count (int64 j, bool d) => (bool on, int64[] zero) {
          zero = Constant <value = int64[1] {0}> ()
          on = Identity (d)
        }>
        end = Constant <value = bool {0}> ()
        t = Constant <value = int64[1] {0}> ()
        item = Identity (inner)
      }>
      first = Constant <value = int64[1] {1}> ()
      compared = Less (first, last)
      y = Mul (items, trips)
    }""")
    x = np.zeros((4, 0), np.float32)
    shapes = [s.run(["y"], {"x": x, "go": np.array(go)})[0].shape for go in (True, False, False, False)]
    assert shapes == [(1, 1, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)]
