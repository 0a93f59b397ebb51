"""Loops with values that nothing bounds before they are made, as one native program: the trips run again with more room. Beside an oracle, in
all ways, and in check mode."""

import machine
import numpy as np
import pytest
import rondel
from models import in_all_ways, model


def one_loop(body, out="float[R]", item="float"):
    return f"""main (int64 n, float[T,3] x, int64[K] d, float[V] s) => (float[L] last, {out} out)
      <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64 many = {{9223372036854775807}}, int64[1] three = {{3}}, int64[1] axis = {{0}},
       float half = {{0.5}}, float nothing = {{0}}> {{
      last, out = Loop (n, "", s) <body = b (int64 i, bool go, float[A] v) => (bool on, float[B] w, {item} r) {{
        on = Identity (go)  k = Gather (d, i)  kk = Unsqueeze (k, axis)  f = Cast <to = 1> (k)
        {body}
      }}>
    }}"""


SUM = "t = Cast <to = 1> (y)  r = ReduceSum <keepdims = 0> (t)"
KEPT = "w = Add (v, f)"
UNTIL_K = """Loop (many, on, f) <body = inner (int64 j, bool c, float b) => (bool again, float next, float row) {
          again = Less (j, k)  next = Add (b, f)  row = Sub (next, f) }>"""
LOOPS = {
    "positions up to data": one_loop(f"y = Range (zero, k, one)  {SUM}  {KEPT}"),
    "positions between data, backwards": one_loop(f"m = Neg (one)  y = Range (k, zero, m)  {SUM}  {KEPT}"),
    "each second position": one_loop(f"y = Range (one, k, two)  {SUM}  {KEPT}"),
    "float positions": one_loop(f"y = Range (nothing, f, half)  {SUM}  {KEPT}"),
    "zeros of data": one_loop(f"a = Concat <axis = 0> (kk, three)  z = ConstantOfShape (a)  y = Add (z, f)  {SUM}  {KEPT}"),
    "expanded to data": one_loop(f"a = Concat <axis = 0> (kk, three)  m = ReduceMax <keepdims = 1> (x)  y = Expand (m, a)  {SUM}  {KEPT}"),
    "repeated by data": one_loop(f"o = Unsqueeze (one, axis)  a = Concat <axis = 0> (kk, o)  y = Tile (x, a)  {SUM}  {KEPT}"),
    "padded by data": one_loop(f"a = Concat <axis = 0> (kk, axis, axis, kk)  y = Pad (x, a, f)  {SUM}  {KEPT}"),
    "padded by data, with its edges": one_loop(f"a = Concat <axis = 0> (axis, kk, kk, axis)  y = Pad <mode = \"edge\"> (x, a)  {SUM}  {KEPT}"),
    "padded by data, around": one_loop(f"p = Abs (kk)  a = Concat <axis = 0> (p, three)  y = Pad <mode = \"wrap\"> (x, a, \"\", axis)  {SUM}  {KEPT}"),
    "edges of what may be empty": one_loop(f"p = Slice (x, axis, kk, axis)  m = ReduceMax <keepdims = 0> (d)  o = Unsqueeze (m, axis)  a = Concat <axis = 0> (o, axis, kk, kk)  y = Pad <mode = \"edge\"> (p, a)  {SUM}  {KEPT}"),
    "cut by data": one_loop(f"c = Mod (kk, three)  m = Neg (c)  a = Concat <axis = 0> (m, axis, three, kk)  y = Pad (x, a)  {SUM}  {KEPT}"),
    "two sizes": one_loop("p = Range (zero, k, one)  a = Concat <axis = 0> (kk, kk)  q = ConstantOfShape (a)  c = Add (q, f)  e = ReduceSum <keepdims = 0> (p)  g = Cast <to = 1> (e)  h = ReduceSum <keepdims = 0> (c)  r = Add (g, h)  w = Add (v, f)"),
    "the state doubles but for one element": one_loop("""end = Constant <value_ints = [1099511627776]> ()  o = Unsqueeze (one, axis)
        p = Slice (v, o, end, axis)  w = Concat <axis = 0> (p, v)  r = ReduceSum <keepdims = 0> (v)"""),
    "the state doubles but for as many elements as there are rows": one_loop("""end = Constant <value_ints = [2147483647]> ()  o = Shape <start = 0, end = 1> (x)
        p = Slice (v, o, end, axis)  w = Concat <axis = 0> (p, v)  r = ReduceSum <keepdims = 0> (v)"""),
    "the state doubles": one_loop("w = Concat <axis = 0> (v, v)  r = ReduceSum <keepdims = 0> (v)"),
    "an inner loop's rows are appended": one_loop(f"e, rows = {UNTIL_K}  w = Concat <axis = 0> (v, rows)  r = ReduceSum <keepdims = 0> (v)"),
    "an inner loop's rows are read": one_loop(f"e, y = {UNTIL_K}  {SUM}  {KEPT}"),
    "an inner loop's rows twice": one_loop(f"e, q = {UNTIL_K}  m = Mul (q, q)  y = Concat <axis = 0> (m, v)  {SUM}  {KEPT}"),
    "an inner state grows": one_loop("""a = Loop (many, on, v) <body = inner (int64 j, bool c, float[C] b) => (bool again, float[D] next) {
          again = Less (j, k)  e = ReduceMax <keepdims = 1> (b)  next = Concat <axis = 0> (b, e) }>
        r = ReduceSum <keepdims = 0> (a)  w = Add (v, f)"""),
    "an inner state grows by positions": one_loop("""a = Loop (two, "", v) <body = inner (int64 j, bool c, float[C] b) => (bool again, float[D] next) {
          again = Identity (c)  p = Range (zero, k, one)  q = Cast <to = 1> (p)  next = Concat <axis = 0> (q, b) }>
        r = ReduceSum <keepdims = 0> (a)  w = Add (v, f)"""),
    "an inner loop grows the next state from a part of the state": one_loop("""first = Sub (axis, axis)  next1 = Add (first, one)  p = Slice (v, first, next1)  count = Size (d)
        w = Loop (count, "", p) <body = inner (int64 j, bool c, float[C] b) => (bool again, float[D] next) {
          again = Identity (c)  e = ReduceMax <keepdims = 1> (b)  h = ReduceMin <keepdims = 1> (v)  g = Sub (e, h)  next = Concat <axis = 0> (b, g) }>
        r = ReduceSum <keepdims = 0> (w)"""),
    "in a branch": one_loop(f"""is = Greater (k, one)
        y = If (is) <then_branch = t () => (int64[P] p) {{ p = Range (zero, k, one) }}, else_branch = e () => (int64[Q] q) {{ q = Range (k, two, one) }}>  {SUM}  {KEPT}"""),
}  # fmt: skip
ITEMS = {
    "rows of an inner loop": one_loop(f"e, r = {UNTIL_K}  {KEPT}", "float[R,Q]", "float[Q]"),
    "positions": one_loop(f"p = Range (zero, k, one)  r = Cast <to = 1> (p)  {KEPT}", "float[R,Q]", "float[Q]"),
    "a table": one_loop(f"a = Concat <axis = 0> (kk, three)  z = ConstantOfShape (a)  r = Add (z, f)  {KEPT}", "float[R,Q,P]", "float[Q,P]"),
}


def feeds_of(rng, trips, data, length=3):
    x, s = rng.integers(-4, 5, (2, 3)).astype(np.float32), rng.integers(-4, 5, (length,)).astype(np.float32)
    return {"n": np.array(trips), "x": x, "d": np.array(data, np.int64), "s": s}


def agree(sessions, made, feeds):
    try:
        want = machine.run_model(made, feeds)
    except machine.WrongProgram:
        for way, run in sessions.items():
            with pytest.raises(rondel.CallerError):
                run.run(None, feeds)
                pytest.fail(f"{way} runs")
        return False
    for way, run in sessions.items():
        for _ in range(2):
            for got, expected in zip(run.run(None, feeds), want, strict=True):
                assert got.shape == expected.shape, way
                np.testing.assert_allclose(got, expected, rtol=1e-4, err_msg=str(way))
    return True


@pytest.mark.parametrize("loop", LOOPS)
def test_values_that_nothing_bounds(loop, monkeypatch):
    made = model(LOOPS[loop])
    sessions = in_all_ways(made, monkeypatch)
    rng = np.random.default_rng(5)
    agreed = 0
    for data in [[1, 2, 3, 2, 1], [0, 1, 40, 3, 9], [0, 0, 0, 0, 0], [3] * 9, [0, -3, 2, 1, 1], [200, 1, 300, 1, 2], [1]]:
        agreed += agree(sessions, made, feeds_of(rng, min(len(data), 9), data))
    assert agreed >= 5
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"


@pytest.mark.parametrize("items", ITEMS)
def test_items_whose_extents_become_known_inside(items, monkeypatch):
    made = model(ITEMS[items])
    sessions = in_all_ways(made, monkeypatch)
    rng = np.random.default_rng(6)
    for data in [[3] * 4, [2] * 40, [0, 0], [7], [3] * 4, [4, 4]]:
        assert agree(sessions, made, feeds_of(rng, len(data), data))
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"
    for data in [[3, 3, 2], [2, 3], [1] * 30 + [2]]:  # items must have one shape
        assert not agree(sessions, made, feeds_of(rng, len(data), data))
    assert agree(sessions, made, feeds_of(rng, 3, [5] * 3))


@pytest.mark.parametrize(
    ("loop", "data", "message"),
    [
        ("zeros of data", [2, -1], "extent -1 is negative"),
        ("expanded to data", [2, -1], "the shape has a negative extent: -1"),
        ("repeated by data", [2, -1], "axis 0 is repeated -1 times"),
        ("padded by data", [2, -3], "axis 0 of extent 2 is padded by -3 and 0"),
        ("padded by data", [2, 2**62], "axis 0 is padded by 4611686018427387904; at most 2305843009213693951"),
        ("padded by data", [2, -(2**62)], "axis 0 is padded by -4611686018427387904; at most 2305843009213693951"),
        ("edges of what may be empty", [1, 0], "axis 0 is empty; mode 'edge' has nothing to take"),
    ],
)
def test_errors_of_values(loop, data, message, monkeypatch):
    made = model(LOOPS[loop])
    feeds = feeds_of(np.random.default_rng(7), 2, data)
    for run in in_all_ways(made, monkeypatch).values():
        with pytest.raises(rondel.CallerError, match=f"trip 1.*({message})"):
            run.run(None, feeds)


@pytest.mark.parametrize(
    ("op", "right", "message"),
    [
        ("Tile (x, a)", 2, "{} repeats for rank 2"),
        ("Pad (x, a, f)", 4, "{} pads for 2 axes; expected two per axis"),
        ("Pad <mode = \"edge\"> (x, a)", 4, "{} pads for 2 axes; expected two per axis"),
        ("Pad (x, a, f, axis)", 2, "{} pads for 1 axes; expected two per axis"),
    ],
)
def test_lists_whose_length_data_tell_must_have_the_right_one(op, right, message, monkeypatch):
    made = model(one_loop(f"a = Expand (one, kk)  y = {op}  {SUM}  {KEPT}"))
    sessions, rng = in_all_ways(made, monkeypatch), np.random.default_rng(9)
    assert agree(sessions, made, feeds_of(rng, 2, [right] * 3))
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"
    for wrong in {0, 1, right - 1, right + 1, 3 * right}:
        for run in sessions.values():
            with pytest.raises(rondel.CallerError, match=f"trip 1.*({message.format(wrong)})"):
                run.run(None, feeds_of(rng, 2, [right, wrong]))


def test_memory_that_does_not_suffice_is_an_error(monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "2")
    made = model(LOOPS["the state doubles"])
    options = rondel.SessionOptions()
    options.max_memory_bytes = 100_000
    session = rondel.InferenceSession(made, options)
    rng = np.random.default_rng(8)
    feeds = feeds_of(rng, 4, [1] * 40)
    want = session.run(None, feeds)
    with pytest.raises(rondel.LimitExceeded):
        session.run(None, feeds_of(rng, 40, [1] * 40))
    assert session.how_it_ran()["node 'last' (Loop)"].startswith("step by step: memory did not suffice")
    for got, expected in zip(session.run(None, feeds), want, strict=True):
        np.testing.assert_array_equal(got, expected)


UNTIL_DATA_END = """main (float[V] s, int64[K] d) => (float[L] last, float[R] out)
  <int64 zero = {0}, int64 one = {1}, bool yes = {1}> {
  last, out = Loop ("", yes, s) <body = b (int64 i, bool go, float[V] v) => (bool on, float[V] w, float r) {
    k = Gather (d, i)  next = Add (i, one)  following = Gather (d, next)  on = GreaterOrEqual (following, zero)
    double = Add (v, v)  p = Range (zero, k, one)  q = CumSum (p, zero)  m = ReduceSum <keepdims = 0> (q)  f = Cast <to = 1> (m)
    half = Div (double, two)  w = Add (half, f)  r = ReduceMax <keepdims = 0> (w) }>
}""".replace("bool yes", "float two = {2}, bool yes")


def test_trips_that_run_again_begin_with_the_states_from_before(monkeypatch):
    """The states are written in place, and a size does not suffice in a late chunk of trips."""
    made = model(UNTIL_DATA_END)
    sessions = in_all_ways(made, monkeypatch)
    for length in (1, 5, 1000):
        for late in (30, 50, 70):
            data = [k % 5 for k in range(150)] + [late] + [1] * 20 + [-1]
            assert agree(sessions, made, {"s": np.arange(length, dtype=np.float32), "d": np.array(data)})
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"


MANY_SIZES = """main (int64 t, float16[?, ?] p, double[?, ?, ?, ?, ?] q, double[?, ?, ?, ?] y, float[?, ?, ?] x, bool[4] again, bool yes, bool[n] more)
 => (int64[?, ?, 3] s, int64[?, ?, 4] r) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] flat = {-1}, float16[0] e0 = {}, double[0] e1 = {}, float[0] e2 = {}, double[0] e3 = {}> {
  f0, f1, f2, f3, s, r = Loop ("", yes, e0, e1, e2, e3) <body = outer (int64 i, bool go, float16[] A, double[] B, float[] C, double[] D)
      => (bool on, float16[] A2, double[] B2, float[] C2, double[] D2, int64[] rows, int64[] others) {
    A2, B2, C2, D2, rows, others = Loop (t, yes, A, B, C, D) <body = inner (int64 j, bool go2, float16[] a, double[] b, float[] c, double[] d)
        => (bool on2, float16[] a2, double[] b2, float[] c2, double[] d2, int64[] shape, int64[] other) {
      end = Unsqueeze (i, zero)  part = Slice (x, zero, end, one)  shape = Shape (part)  other = Shape (y)
      w0 = Reshape (p, flat)  w1 = Reshape (q, flat)  w2 = Reshape (part, flat)  w3 = Reshape (y, flat)
      a2 = Concat <axis = 0> (a, w0)  b2 = Concat <axis = 0> (b, w1)  c2 = Concat <axis = 0> (c, w2)  d2 = Concat <axis = 0> (d, w3)
      on2 = Gather <axis = 0> (again, j)
    }>
    on = Gather <axis = 0> (more, i)
  }>
}"""


def test_a_run_that_begins_again_for_each_size_asks_for_no_more_rows(monkeypatch):
    """Each new size lets the first trips run again; the rows that they stack stay few, although nothing bounds the trips."""
    made = model(MANY_SIZES)
    sessions = in_all_ways(made, monkeypatch)
    feeds = {
        "t": np.array(2), "p": np.zeros((1, 1), np.float16), "q": np.zeros((1, 1, 1, 1, 2)), "y": np.zeros((1, 2, 1, 2)), "x": np.zeros((1, 2, 1), np.float32),
        "again": np.array([True, False, False, False]), "yes": np.array(True), "more": np.array([True, True, True, False, False]),
    }  # fmt: skip
    assert sessions["2", "0"].run(None, feeds)[0].shape == (4, 2, 3)  # first: check mode would write all rows that are asked for
    assert agree(sessions, made, feeds)
    assert sessions["2", "0"].how_it_ran()["node 'f0' (Loop)"] == "natively, as a whole"


INNER_TRIPS = """count, rows = Loop ("", yes, zero) <body = inner (int64 j, bool c, int64 k) => (bool again, int64 next, float row) {
      next = Add (k, one)  again = Less (next, length)  row = Cast <to = 1> (next) }>
    sums = CumSum (rows, zero)  most = ReduceMax <keepdims = 1> (sums)  parts = Div (sums, most)  f = ReduceSum <keepdims = 0> (parts)"""
A_STATE_GROWS = f"""main (int64 n, int64[k] lengths, float[1] s) => (float[l] out)
  <int64 zero = {{0}}, int64 one = {{1}}, bool yes = {{1}}, int64[1] axis = {{0}}> {{
  out = Loop (n, "", s) <body = b (int64 i, bool go, float[V] v) => (bool on, float[W] w) {{
    on = Identity (go)  length = Gather (lengths, i)
    {INNER_TRIPS}
    item = Unsqueeze (f, axis)  w = Concat <axis = 0> (v, item)
  }}>
}}"""
LONG_ROWS = f"""main (int64 n, int64[k] lengths, float[1] s) => (float[m, w] out)
  <int64 zero = {{0}}, int64 one = {{1}}, bool yes = {{1}}, int64[1] width = {{1000}}> {{
  out = Loop (n, "") <body = b (int64 i, bool go) => (bool on, float[w] r) {{
    on = Identity (go)  length = Gather (lengths, i)
    {INNER_TRIPS}
    long = Expand (s, width)  r = Mul (long, f)
  }}>
}}"""


@pytest.mark.parametrize("text, budget", [(A_STATE_GROWS, 20_000), (A_STATE_GROWS, 3_000), (LONG_ROWS, 300_000)])
def test_sizes_of_an_earlier_run_do_not_count_against_a_smaller_budget(text, budget, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "2")
    session = rondel.InferenceSession(model(text))
    long, short = ({"n": np.array(50), "lengths": np.array([length] * 50), "s": np.ones(1, np.float32)} for length in (20_000, 3))
    want = session.run(None, short)
    for _ in range(2):  # the second has code of its own for these shapes
        session.run(None, long)
    for got, expected in zip(session.run(None, short, rondel.RunOptions(max_memory_bytes=budget)), want, strict=True):
        np.testing.assert_array_equal(got, expected)
    assert session.how_it_ran()["node 'out' (Loop)"] == "natively, as a whole"


def test_a_budget_of_trips_is_told_where_memory_did_not_suffice_for_the_whole(monkeypatch):
    """There is room for whole rows natively; step by step the state does not grow."""
    monkeypatch.setenv("RONDEL_JIT", "2")
    made = model("""main (int64 n, int64[k] lengths, float[m] x) => (float[l] last) <int64[1] zero = {0}> {
      last = Loop (n, "", x) <body = b (int64 i, bool go, float[V] v) => (bool on, float[W] w) {
        on = Identity (go)  length = Gather (lengths, i)  end = Unsqueeze (length, zero)
        part = Slice (x, zero, end)  w = Concat <axis = 0> (v, part) }>
    }""")
    session = rondel.InferenceSession(made)
    feeds = {"n": np.array(50), "lengths": np.zeros(50, np.int64), "x": np.ones(100, np.float32)}
    with pytest.raises(rondel.LimitExceeded, match="trip 20: the budget of 20 trips is used up; raise the run's max_trips"):
        session.run(None, feeds, rondel.RunOptions(max_memory_bytes=5_000, max_trips=20))
    assert session.how_it_ran()["node 'last' (Loop)"].startswith("step by step: memory did not suffice")
    with pytest.raises(rondel.LimitExceeded, match="state 'v' needs room for .*the memory budget of 700 bytes"):
        session.run(None, feeds, rondel.RunOptions(max_memory_bytes=700))
