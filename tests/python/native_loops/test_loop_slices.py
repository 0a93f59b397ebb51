"""Slices whose bounds follow from the trip index run inside native loops: `x[:, t:t + 1]` is what exporters write for a step of a sequence."""

import numpy as np
import pytest
import rondel
from models import WAYS, f32, in_onnxruntime, model, sliced_positions, run, run_as, scalar, session

NATIVELY = "natively, as a whole"


def loop_over(slice_of_trip, trips):
    """A loop that adds `z`, which the nodes of `slice_of_trip` compute from x and the trip index i, to its state."""
    return f"""
main (float[B,T,C] x, float[B,C] s, int64 n) => (float[B,C] last, float[K,B,C] all)
<int64 second = {{1}}, int64[1] first = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] minus = {{-1}},
 int64[1] far = {{1000000000}}> {{
  yes = Constant <value = bool {{1}}> ()
  sizes = Shape (x)
  T1 = Gather (sizes, second)
  last, all = Loop ({trips}, yes, s) <body = step (int64 i, bool go, v) => (bool on, w, item) {{
    on = Identity (go)
    i1 = Unsqueeze (i, first)
    {slice_of_trip}
    w = Add (v, z)
    item = Identity (w)
  }}>
}}"""


FORWARD = "end = Add (i1, one)  row = Slice (x, i1, end, one)  z = Squeeze (row, one)"
FAR = """last = Add (i1, one)  end = Max (last, far)  row = Slice (x, i1, end, one, far)
    z = Squeeze (row, one)"""  # as TensorFlow's x[:, t] is exported
BACKWARD = """rest = Sub (T1, i)  end = Unsqueeze (rest, first)  start = Sub (end, one)
    row = Slice (x, start, end, one)  z = Squeeze (row, one)"""
WINDOW = "end = Add (i1, two)  rows = Slice (x, i1, end, one)  z = ReduceSum <keepdims = 0> (rows, one)"
PAIR = "start = Mul (i1, two)  end = Add (start, two)  rows = Slice (x, start, end, one)  z = ReduceMax <keepdims = 0> (rows, one)"
AGAIN = "again = Mod (i1, two)  end = Add (again, one)  row = Slice (x, again, end, one)  z = Squeeze (row, one)"
INNER = """half = Constant <value = float {0.5}> ()
    start = Mul (v, half)
    z = Loop (T1, go, start) <body = inner (int64 j, bool go2, a) => (bool on2, b) {
      on2 = Identity (go2)
      j1 = Unsqueeze (j, first)
      end = Add (j1, one)
      row = Slice (x, j1, end, one)
      flat = Squeeze (row, one)
      b = Sub (flat, a)
    }>"""
TRIANGLE = """left = Sub (T1, i)
    half = Constant <value = float {0.5}> ()
    begin = Mul (v, half)
    z = Loop (left, go, begin) <body = inner (int64 j, bool go2, a) => (bool on2, b) {
      on2 = Identity (go2)
      at = Add (i1, j)
      end = Add (at, one)
      row = Slice (x, at, end, one)
      flat = Squeeze (row, one)
      b = Sub (flat, a)
    }>"""
CASES = {  # the nodes, the trip count, n
    "all of a sequence": (FORWARD, "T1", 6),
    "all, with a count of its own": (FORWARD, "n", 6),
    "to far beyond the end": (FAR, "n", 5),
    "the first few": (FORWARD, "n", 4),
    "backwards": (BACKWARD, "T1", 6),
    "the last few, backwards": (BACKWARD, "n", 4),
    "windows that overlap": (WINDOW, "n", 5),
    "windows side by side": (PAIR, "n", 3),
    "a few, in turns": (AGAIN, "n", 9),
    "in an inner loop": (INNER, "n", 3),
    "in an inner loop with fewer trips each time": (TRIANGLE, "T1", 6),
}


def feeds(n, b=2, t=6, c=3):
    rng = np.random.default_rng(n)
    return {"x": rng.normal(size=(b, t, c)).astype(np.float32), "s": np.ones((b, c), np.float32), "n": scalar(n)}


@pytest.mark.parametrize("name", CASES)
def test_the_loop_runs_natively(name):
    nodes, trips, n = CASES[name]
    text = loop_over(nodes, trips)
    for got, want in zip(run(text, feeds(n)), in_onnxruntime(model(text).SerializeToString(), feeds(n)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    ours = session(text)
    for _ in range(2):
        ours.run(None, feeds(n))
    assert set(ours.how_it_ran().values()) == {NATIVELY}


def test_it_is_known_before_running():
    """Whether the count is the extent, or one of its own and the program checks each slice."""
    executions = [rondel.inspect(model(loop_over(FORWARD, trips))).loops[0]["execution"] for trips in ("T1", "n")]
    assert executions == [NATIVELY, NATIVELY]


def test_one_code_serves_all_lengths_of_a_sequence():
    ours = session(loop_over(FORWARD, "n"))
    for t in (6, 5, 9, 17):
        last, all_ = ours.run(None, feeds(t, t=t))
        np.testing.assert_allclose(last, 1 + feeds(t, t=t)["x"].sum(axis=1), rtol=1e-5)
        assert all_.shape == (t, 2, 3) and set(ours.how_it_ran().values()) == {NATIVELY}


@pytest.mark.parametrize("jit", WAYS)
def test_a_window_past_the_end_is_cut_off(jit, monkeypatch):
    """The last trips' slices are shorter, so the loop runs step by step."""
    run_as(monkeypatch, jit)
    text = loop_over(WINDOW, "n")
    got, want = session(text).run(None, feeds(6)), in_onnxruntime(model(text).SerializeToString(), feeds(6))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_many_lengths_without_native_code():
    """After some lengths in vain, code is tried for few others; results stay right, and the reason known."""
    turned = "start = Add (i1, one)  end = Sub (i1, one)  rows = Slice (x, start, end, one, minus)  z = ReduceSum <keepdims = 0> (rows, one)"
    ours = session(loop_over(turned, "n"))
    for t in range(2, 40):
        fed = feeds(t, t=t)
        for _ in range(2):  # code for exact shapes is made when they come again
            last, _ = ours.run(None, fed)
        want = 1 + sum(fed["x"][:, i + 1 : i - 1 : -1].sum(axis=1) for i in range(t))
        np.testing.assert_allclose(last, want, rtol=1e-4, atol=1e-5)
        (how,) = ours.how_it_ran().values()
        assert how.startswith("step by step: ") and "node 'rows' (Slice) makes f32[" in how and "nothing bounds its extents" in how


@pytest.mark.parametrize("jit", WAYS)
def test_a_step_past_the_end_is_an_error(jit, monkeypatch):
    run_as(monkeypatch, jit)
    ours = session(loop_over(FORWARD, "n"))
    ours.run(None, feeds(6))
    with pytest.raises(rondel.CallerError, match=r"trip 6: node 'z' \(Squeeze\): axis 1 has extent 0"):
        ours.run(None, feeds(7))
    last, _ = ours.run(None, feeds(5))
    np.testing.assert_allclose(last, 1 + feeds(5)["x"][:, :5].sum(axis=1), rtol=1e-5)


def test_slices_that_grow_with_the_trip_are_not_taken_for_equal():
    """Extents that change from trip to trip leave the loop as unknown ones."""
    text = """
main (float[N] x, int64 n) => (float[K] sums, float[M] last)
<int64[1] first = {0}, int64[1] one = {1}> {
  yes = Constant <value = bool {1}> ()
  none = Constant <value_floats = [0.0]> ()
  last, sums = Loop (n, yes, none) <body = step (int64 i, bool go, v) => (bool on, w, sum) {
    on = Identity (go)
    i1 = Unsqueeze (i, first)
    end = Add (i1, one)
    w = Slice (x, first, end, first)
    sum = ReduceSum <keepdims = 0> (w)
  }>
}"""
    sums, last = run(text, {"x": f32(1, 2, 3, 4), "n": scalar(3)})
    assert list(sums) == [1, 3, 6] and list(last) == [1, 2, 3]
    stacked = text.replace("float[K] sums", "float[K,M] sums").replace("sum = ReduceSum <keepdims = 0> (w)", "sum = Identity (w)")
    with pytest.raises(rondel.CallerError, match="trip 1"):
        session(stacked).run(None, {"x": f32(1, 2, 3, 4), "n": scalar(3)})
    assert session(stacked).run(["sums"], {"x": f32(1, 2), "n": scalar(1)})[0].shape == (1, 1)


def random_slices(seed):
    """Two nested loops that add up x[start:end] for bounds p + q * i + r * j: the model, its feeds, and its result."""
    rng = np.random.default_rng(seed)
    size, outer, inner = rng.integers(1, 9), rng.integers(0, 5), rng.integers(0, 5)
    start = [int(rng.integers(-2, 4)), int(rng.integers(-1, 3)), int(rng.integers(-1, 3))]
    width = [int(rng.integers(0, 4)), *(int(rng.choice([0, 0, 0, 1, -1])) for _ in range(2))]
    counts = {"fed": ("n", "m"), "the extent": ("T", "m"), "written": ("outer", "inner"), "the outer index": ("n", "i")}
    kind = rng.choice(list(counts))
    outer, inner = (size if kind == "the extent" else outer), inner
    step = int(rng.choice([1, 1, 1, 2, -1]))
    text = f"""
main (float[N] x, int64 n, int64 m) => (float sum)
<int64 outer = {{{outer}}}, int64 inner = {{{inner}}}, float zero = {{0}}, int64[1] first = {{0}}, int64[1] step = {{{step}}},
 {", ".join(f"int64[1] {name}{k} = {{{v}}}" for name, list_ in (("s", start), ("w", width)) for k, v in enumerate(list_))}> {{
  yes = Constant <value = bool {{1}}> ()
  T = Size (x)
  sum = Loop ({counts[kind][0]}, yes, zero) <body = outside (int64 i, bool go, a) => (bool on, b) {{
    on = Identity (go)
    i1 = Unsqueeze (i, first)
    b = Loop ({counts[kind][1]}, go, a) <body = inside (int64 j, bool go2, c) => (bool on2, d) {{
      on2 = Identity (go2)
      j1 = Unsqueeze (j, first)
      {affine("start", "s")}
      {affine("width", "w")}
      end = Add (start, width)
      part = Slice (x, start, end, first, step)
      more = ReduceSum <keepdims = 0> (part)
      d = Add (c, more)
    }}>
  }}>
}}"""
    x = rng.integers(-9, 10, size).astype(np.float32)
    want = 0
    for i in range(outer):
        for j in range(i if kind == "the outer index" else inner):
            begin = start[0] + start[1] * i + start[2] * j
            want += x[sliced_positions(begin, begin + width[0] + width[1] * i + width[2] * j, step, len(x))].sum()
    return text, {"x": x, "n": scalar(outer), "m": scalar(inner)}, want


def affine(name, of):
    return f"{name}_i = Mul ({of}1, i1)  {name}_j = Mul ({of}2, j1)  {name}_t = Add ({name}_i, {name}_j)  {name} = Add ({name}_t, {of}0)"


@pytest.mark.parametrize("jit", WAYS)
def test_random_bounds(jit, monkeypatch):
    run_as(monkeypatch, jit)
    natively = 0
    for seed in range(150):
        text, fed, want = random_slices(seed)
        ours = session(text)
        for _ in range(2):
            (got,) = ours.run(None, fed)
            assert got == want, f"seed {seed}: {got}, expected {want}\n{text}"
        natively += NATIVELY in ours.how_it_ran().values()
    assert jit == "0" or natively > 30


STACKS = """
main (float[B,T,C] x, int64 n, bool cond) => (int64[M,4] inside, int64[4] outside)
<int64 second = {1}, int64[1] first = {0}, int64[1] one = {1}, int64[1] width = {WIDTH}> {
  yes = Constant <value = bool {1}> ()
  sizes = Shape (x)
  T1 = Gather (sizes, second)
  rows = Loop (T1, cond) <body = top (int64 i, bool go) => (bool on, row) {
    on = Identity (go)  i1 = Unsqueeze (i, first)  end = Add (i1, width)  row = Slice (x, i1, end, one)
  }>
  outside = Shape (rows)
  inside = Loop (n, yes) <body = step (int64 i, bool go) => (bool on, sizes_of_stack) {
    on = Identity (go)
    stack = Loop (T1, cond) <body = inner (int64 j, bool go2) => (bool on2, part) {
      on2 = Identity (go2)  j1 = Unsqueeze (j, first)  end2 = Add (j1, width)  part = Slice (x, j1, end2, one)
    }>
    sizes_of_stack = Shape (stack)
  }>
}"""


@pytest.mark.parametrize("length, cond, want", [(0, True, [0, 2, 1, 3]), (4, False, [0, 2, 1, 3]), (4, True, [4, 2, 1, 3])])
def test_stacks_of_no_trip_have_the_same_extents_natively_and_step_by_step(length, cond, want, monkeypatch):
    fed = {"x": np.zeros((2, length, 3), np.float32), "n": scalar(2), "cond": scalar(cond, np.bool_)}
    for jit in WAYS:
        run_as(monkeypatch, jit)
        ours = session(STACKS.replace("WIDTH", "1"))
        for _ in range(2):
            inside, outside = ours.run(None, fed)
            assert inside.tolist() == [want, want] and outside.tolist() == want, jit


@pytest.mark.parametrize("length, cond", [(0, True), (1, False), (4, False)])
def test_stacks_of_no_trip_of_windows(length, cond, monkeypatch):
    """Whether a window stays within x depends on the trip count, also if no trip is made."""
    fed = {"x": np.zeros((2, length, 3), np.float32), "n": scalar(2), "cond": scalar(cond, np.bool_)}
    results = []
    for jit in WAYS:
        run_as(monkeypatch, jit)
        ours = session(STACKS.replace("WIDTH", "2"))
        results += [[y.tolist() for y in ours.run(None, fed)] for _ in range(3)]
    assert all(r == results[0] for r in results), results


@pytest.mark.parametrize("nodes", [
    "p = Mul (i1, large)  q = Max (p, first)  d = Sub (q, p)  start = Add (i1, d)",
    "p = Mul (i1, large)  start = Div (p, large)",
])  # fmt: skip
def test_arithmetic_that_wraps_around_proves_nothing(nodes, monkeypatch):
    """i * 2**62 wraps around in trip 2, so a slice begins past the end of x; it must not be read."""
    text = loop_over(f"{nodes}  end = Add (start, one)  row = Slice (x, start, end, one)  z = Squeeze (row, one)", "n")
    text = text.replace("int64[1] minus = {-1}", "int64[1] large = {4611686018427387904}")
    buffer = np.arange(2 * 40 * 3, dtype=np.float32).reshape(2, 40, 3)
    fed = {"x": buffer[:, :4], "s": np.ones((2, 3), np.float32), "n": scalar(4)}
    told = set()
    for jit in WAYS:
        run_as(monkeypatch, jit)
        ours = session(text)
        for _ in range(3):
            try:
                told.add(ours.run(None, fed)[0].tobytes())
            except rondel.CallerError as error:
                told.add(str(error))
    assert len(told) == 1


def test_code_is_tried_again_after_many_lengths_in_vain():
    ours = session(loop_over(WINDOW, "n"))
    for t in range(6, 46):
        ours.run(None, feeds(t, t=t))
    for n in range(3, 60):
        for _ in range(3):
            ours.run(None, feeds(n, t=61))
        if set(ours.how_it_ran().values()) == {NATIVELY}:
            return
    pytest.fail("no code for any length")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", [2**40, 2**61 + 7, 2**62, 2**63 - 1])
def test_steps_beyond_all_extents_take_one_element(step, way, monkeypatch):
    run_as(monkeypatch, way)
    made = session(f"""m (float[n] x, int64[1] first, int64[1] end, int64 trips) => (float[m] sums, int64[m] counts) <int64[1] axis = {{0}}, int64[1] step = {{{step}}}> {{
      sums, counts = Loop (trips, "") <body = b (int64 i, bool go) => (bool on, float o, int64 z) {{
        on = Identity (go)
        y = Slice (x, first, end, axis, step)
        z = Size (y)
        o = ReduceSum <keepdims = 0> (y)
      }}>
    }}""")
    x = np.arange(1, 6, dtype=np.float32)
    for first, end in [(-1, 9), (4, 9), (0, 1), (-2, 5), (3, 2), (1, 5)]:
        sums, counts = made.run(None, {"x": x, "first": [first], "end": [end], "trips": np.array(2)})
        want = x[first:end][:1]
        assert (sums == want.sum()).all() and (counts == len(want)).all(), (first, end)


@pytest.mark.parametrize("way", WAYS)
def test_extents_beside_an_empty_axis_are_as_large_as_they_are(way, monkeypatch):
    run_as(monkeypatch, way)
    made = session("""m (uint8[a,b] x, int64 trips) => (bool[k] large, int64[k] extents) <int64 one = {1}, int64 half = {4611686018427387904}> {
      large, extents = Loop (trips, "") <body = f (int64 i, bool go) => (bool on, bool o, int64 d) {
        on = Identity (go)
        s = Shape (x)
        d = Gather (s, one)
        o = GreaterOrEqual (d, half)
      }>
    }""")
    for extent in (3, 2**62 - 1, 2**62, 2**63 - 1):
        large, extents = made.run(None, {"x": np.empty((0, extent), np.uint8), "trips": np.array(2)})
        assert (extents == extent).all() and (large == (extent >= 2**62)).all()
