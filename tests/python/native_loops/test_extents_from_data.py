"""Loops whose values have extents from trip indices or from data, as one native program: beside an oracle, in all ways, and in check mode."""

import machine
import numpy as np
import pytest
import rondel
from models import f32, in_all_ways, model, same


def one_loop(body):
    return f"""main (int64 n, float[T,3] x, int64[K] d, float[T,3] s) => (float[S,3] last, float[R] out)
      <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64[1] first = {{0}}, int64[1] step = {{2}}, int64[1] back = {{-1}}, int64[1] many = {{1000}},
       int64[1] axis = {{0}}> {{
      last, out = Loop (n, "", s) <body = b (int64 i, bool go, float[V,3] v) => (bool on, float[W,3] w, float r) {{
        on = Identity (go)  k = Gather (d, i)  kk = Unsqueeze (k, axis)  ii = Unsqueeze (i, axis)  f = Cast <to = 1> (k)
        {body}
      }}>
    }}"""


SUM = "r = ReduceSum <keepdims = 0> (y)"
KEPT = "g = ReduceMax <keepdims = 0> (x)  h = Mul (f, g)  w = Add (v, h)"
LOOPS = {
    "up to the trip": one_loop(f"y = Slice (x, first, ii, axis)  {SUM}  {KEPT}"),
    "from the trip on": one_loop(f"y = Slice (x, ii, many, axis)  {SUM}  {KEPT}"),
    "up to data": one_loop(f"y = Slice (x, first, kk, axis)  {SUM}  {KEPT}"),
    "from data on": one_loop(f"y = Slice (x, kk, many, axis)  {SUM}  {KEPT}"),
    "from data to data": one_loop(f"m = Neg (kk)  y = Slice (x, kk, m, axis)  {SUM}  {KEPT}"),
    "each second row": one_loop(f"y = Slice (x, first, kk, axis, step)  {SUM}  {KEPT}"),
    "backwards": one_loop(f"y = Slice (x, kk, first, axis, back)  {SUM}  {KEPT}"),
    "backwards, and repeated": one_loop(f"a = Slice (x, kk, first, axis, back)  u = Neg (back)  t = Concat <axis = 0> (u, step)  y = Tile (a, t)  {SUM}  {KEPT}"),
    "two axes": one_loop(f"a2 = Concat <axis = 0> (first, first)  e2 = Concat <axis = 0> (kk, ii)  y = Slice (x, a2, e2)  {SUM}  {KEPT}"),
    "of the state": one_loop(f"y = Slice (v, first, kk, axis)  {SUM}  {KEPT}"),
    "the state loses rows": one_loop("y = Slice (v, first, kk, axis)  r = ReduceSum <keepdims = 0> (v)  w = Identity (y)"),
    "the state is rows of an input": one_loop("w = Slice (x, first, kk, axis)  r = ReduceSum <keepdims = 0> (v)"),
    "of a slice": one_loop(f"a = Slice (x, ii, many, axis)  y = Slice (a, first, kk, axis)  {SUM}  {KEPT}"),
    "two alike": one_loop(f"a = Slice (x, first, kk, axis)  b = Slice (v, first, kk, axis)  y = Mul (a, b)  {SUM}  {KEPT}"),
    "products": one_loop(f"a = Slice (x, first, kk, axis)  b = Slice (v, first, kk, axis)  t = Transpose (b)  p = MatMul (x, t)  q = Relu (p)  y = MatMul (q, a)  {SUM}  {KEPT}"),
    "a row is broadcast": one_loop(f"a = Slice (x, first, kk, axis)  c = ReduceMean <keepdims = 1> (v)  y = Mul (a, c)  {SUM}  {KEPT}"),
    "its extent is read": one_loop(f"a = Slice (x, first, kk, axis)  b = Shape (a)  y = Cast <to = 1> (b)  {SUM}  {KEPT}"),
    "joined": one_loop(f"a = Slice (x, first, kk, axis)  y = Concat <axis = 0> (a, v)  {SUM}  {KEPT}"),
    "an inner loop scans it": one_loop(f"""a = Slice (x, first, kk, axis)  z = Sub (f, f)
        r = Scan <num_scan_inputs = 1, body = add (float b, float[3] row) => (float c) {{ t = ReduceMax <keepdims = 0> (row)  c = Add (b, t) }}> (z, a)  {KEPT}"""),
    "in an inner loop": one_loop(f"""z = Sub (f, f)
        r = Loop (two, "", z) <body = inner (int64 j, bool e, float b) => (bool e2, float c) {{ e2 = Identity (e)  m = Add (k, j)  mm = Unsqueeze (m, axis)
          a = Slice (x, first, mm, axis)  t = ReduceSum <keepdims = 0> (a)  c = Add (b, t) }}>  {KEPT}"""),
    "in a branch": one_loop(f"""is = Greater (k, one)
        y = If (is) <then_branch = t () => (float[P,3] p) {{ p = Slice (x, first, kk, axis) }}, else_branch = e () => (float[Q,3] q) {{ q = Slice (x, ii, many, axis) }}>  {SUM}  {KEPT}"""),
    "before and in a branch": one_loop(f"""is = Greater (k, one)  a = Slice (x, first, kk, axis)
        y = If (is) <then_branch = t () => (float[P,3] p) {{ o = Slice (v, first, kk, axis)  p = Mul (a, o) }}, else_branch = e () => (float[Q,3] q) {{ q = Neg (a) }}>
        b = Slice (v, first, kk, axis)  c = Concat <axis = 0> (y, b)  r = ReduceSum <keepdims = 0> (c)  {KEPT}"""),
    "in a branch, and after it": one_loop(f"""is = Greater (k, one)
        y = If (is) <then_branch = t () => (float p) {{ o = Slice (x, first, kk, axis)  p = ReduceSum <keepdims = 0> (o) }}, else_branch = e () => (float q) {{ q = Neg (f) }}>
        b = Slice (x, first, kk, axis)  c = ReduceSum <keepdims = 0> (b)  r = Sub (c, y)  {KEPT}"""),
    "rows of all trips are stacked": one_loop(f"m = Add (ii, step)  y = Slice (x, ii, m, axis)  {SUM}  {KEPT}"),
    "positions up to the trip": one_loop(f"j = Range (zero, i, one)  y = Cast <to = 1> (j)  {SUM}  {KEPT}"),
}

# A slice that is walked backwards has no name for its positions.
STEP_BY_STEP = {"backwards", "backwards, and repeated"}


@pytest.mark.parametrize("loop", LOOPS)
def test_slices_by_trips_and_data(loop, monkeypatch):
    made = model(LOOPS[loop])
    sessions = in_all_ways(made, monkeypatch)
    rng = np.random.default_rng(3)
    ends = [0, 1, 2, 5, -1, -3, 7, -(2**63), 2**63 - 1, 3, 4, -100, 100, 1, 1, 0] * 3
    for rows, trips in [(4, 6), (1, 1), (0, 3), (1, 20), (5, 48), (5, 0), (4, 6)]:
        x, s = (rng.integers(-4, 5, (rows, 3)).astype(np.float32) for _ in range(2))
        feeds = {"n": np.array(trips), "x": x, "d": np.array(ends), "s": s}
        try:
            want = machine.run_model(made, feeds)
        except machine.WrongProgram:
            continue
        for way, run in sessions.items():
            for _ in range(2):
                for got, expected in zip(run.run(None, feeds), want, strict=True):
                    assert got.shape == expected.shape, way
                    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=str(way))
    how = sessions["2", "0"].how_it_ran()["node 'last' (Loop)"]
    assert (how == "natively, as a whole") == (loop not in STEP_BY_STEP), how


# Nodes after slices whose rows data decide, and whether the message says what the node's own rule says.
DECIDED = {
    "only one row can go": ("a = Slice (x, first, kk, axis)  y = Squeeze (a, axis)", True),
    "a row in front": ("a = Slice (x, first, kk, axis)  y = Concat <axis = 1> (s, a)", True),
    "as many rows": ("a = Slice (x, first, kk, axis)  b = Slice (x, first, ii, axis)  y = Concat <axis = 1> (a, b)", False),
}


@pytest.mark.parametrize("name", DECIDED)
def test_rules_that_data_decide(name, monkeypatch):
    """Results or errors are the same in all ways, and the loop runs natively."""
    nodes, own = DECIDED[name]
    sessions = in_all_ways(model(one_loop(f"{nodes}  {SUM}  w = Identity (v)")), monkeypatch)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    failed = 0
    for d in ([1, 1, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0], [1, 2, 1, 2], [3, 1, 2, 2], [4, 4, 4, 4], [2, 2, 3, 4]):
        feeds = {"n": np.array(4), "x": x, "d": np.array(d), "s": x[:1]}
        told = set()
        for run in sessions.values():
            for _ in range(2):
                try:
                    told.add(tuple(y.tobytes() for y in run.run(None, feeds)))
                except rondel.CallerError as error:
                    told.add(str(error) if own else (error.node, error.trips))
                    failed += 1
        assert len(told) == 1, told
    assert 0 < failed < 7 * 2 * len(sessions)
    assert set(sessions["2", "0"].how_it_ran().values()) == {"natively, as a whole"}


def test_a_node_may_read_one_list_of_integers_twice(monkeypatch):
    """The start and the end of a slice are one value: its elements are noted once."""
    text = """(float[?] x, int64 n) => (float[?,?] out) <int64[1] zero = {0}, int64[1] last = {-1}> {
      out = Loop (n, "") <body = b (int64 i, bool c) => (bool go, float[?] y) {
        go = Identity (c)  at = Unsqueeze (i, zero)  y = Slice (x, at, at, last) }>
    }"""
    for run in in_all_ways(model("g " + text), monkeypatch).values():
        for n in (1, 3):
            same(run.run(None, {"x": f32(1, 2), "n": np.array(n)})[0], np.zeros((n, 0), np.float32))


def test_part_of_a_next_state_fits_where_the_state_fits(monkeypatch):
    """Every second element of what a state grows to, while a condition from data goes on."""
    text = """g (float[?] x, bool yes) => (float[?] y) <int64[1] one = {1}, int64[1] most = {2147483648}, int64[1] zero = {0}, int64[1] end = {-1},
       int64[1] least = {-9223372036854775807}, int64[1] back = {-2}, float[2] two = {1, -4}, float bound = {1}> {
      y = Loop ("", yes, x) <body = b (int64 i, bool c, float[?] v) => (bool go, float[?] w) {
        u = Slice (v, one, most, zero)  w = Concat <axis = 0> (u, two)
        t = Slice (w, end, least, end, back)  s = ReduceSum <keepdims = 0> (t)  go = Greater (s, bound) }>
    }"""
    for run in in_all_ways(model(text), monkeypatch).values():
        for x in (f32(), f32(8, 9, -20, 11, 12), f32(1)):
            want = np.append(x[1:], f32(1, -4))
            while want[::-2].sum() > 1:
                want = np.append(want[1:], f32(1, -4))
            same(run.run(None, {"x": x, "yes": np.array(True)})[0], want)


@pytest.mark.parametrize("first_run", [(1, 0), (1, 3), (2, 5)])
def test_a_new_extent_that_may_be_0_keeps_the_old_one_or_fills_the_shape(first_run, monkeypatch):
    """`trips` and the new extent: 0 keeps that of v, which has 1 + 2 * trips elements; no other number than theirs is one."""
    text = """g (int64[1] extent, int64 trips) => (float[?,?] y) <int64[1] one = {1}, float[1] start = {7}, float[2] two = {1, 2}> {
      y = Loop (trips, "") <body = outer (int64 i, bool c) => (bool go, float[?] row) {
        go = Identity (c)
        v = Loop (trips, "", start) <body = inner (int64 j, bool d, float[?] u) => (bool on, float[?] w) { on = Identity (d)  w = Concat <axis = 0> (u, two) }>
        shape = Concat <axis = 0> (extent, one)  m = Reshape (v, shape)  row = Squeeze (m, one) }>
    }"""
    made = model(text)
    for way, run in in_all_ways(made, monkeypatch).items():
        for trips, extent in (first_run, (1, 2), (1, 3), (2, 3), (3, 7), (3, 0), (2, 4), (2, 5)):
            feeds = {"trips": np.array(trips), "extent": np.array([extent])}
            if extent in (0, 1 + 2 * trips):
                same(run.run(None, feeds)[0], machine.run_model(made, feeds)[0])
                continue
            with pytest.raises(rondel.CallerError, match=f"{1 + 2 * trips} elements do not fill a shape of {extent}"):
                run.run(None, feeds)
                pytest.fail(f"{way} takes {feeds}")


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("trips", ["0", "k"])
def test_scans_of_unequal_extents_are_refused_where_a_loop_decides_one(rows, trips, monkeypatch):
    """A state that grows by Concat is scanned beside a tensor of one row; without trips it is x."""
    text = f"""g (float[?,1] x, float[?,1] other, int64 n, int64 k) => (float[?,?,1] y) <int64 none = {{0}}, float[1,1] row = {{2}}> {{
      y = Loop (n, "") <body = outer (int64 i, bool c) => (bool go, float[?,1] item) {{
        go = Identity (c)
        grown = Loop ({"none" if trips == "0" else "k"}, "", x) <body = inner (int64 j, bool d, float[?,1] u) => (bool on, float[?,1] v) {{
          on = Identity (d)  v = Concat <axis = 0> (u, row) }}>
        item = Scan (grown, other) <num_scan_inputs = 2, body = each (float[1] a, float[1] b) => (float[1] s) {{ s = Add (a, b) }}> }}>
    }}"""
    made = model(text)
    for way, run in in_all_ways(made, monkeypatch).items():
        for n, k, lines in ((1, 0, rows), (2, 0, 0), (2, 0, 7), (1, 2, rows), (1, 0, rows + 1), (0, 0, 3)):
            feeds = {"x": f32(*range(lines)).reshape(-1, 1), "other": f32(*range(rows)).reshape(-1, 1), "n": np.array(n), "k": np.array(k)}
            if n == 0 or lines + (k if trips == "k" else 0) == rows:
                same(run.run(None, feeds)[0], machine.run_model(made, feeds)[0])
                continue
            with pytest.raises(rondel.CallerError, match="expected one"):
                run.run(None, feeds)
                pytest.fail(f"{way} takes {feeds}")


def test_a_rule_that_states_no_conditions_is_applied_to_what_a_loop_without_trips_leaves(monkeypatch):
    """Regions of MaxRoiPool have 5 numbers; these come from a loop that would append a column to them, and makes no trip."""
    text = """g (float[1,2,8,8] x, float[R,C] regions, float[R,1] column, int64 n) => (float[?,R,2,2,2] y) <int64 none = {0}> {
      y = Loop (n, "") <body = outer (int64 i, bool c) => (bool go, float[R,2,2,2] item) {
        go = Identity (c)
        grown = Loop (none, "", regions) <body = inner (int64 j, bool d, float[R,?] u) => (bool on, float[R,?] v) { on = Identity (d)  v = Concat <axis = 1> (u, column) }>
        item = MaxRoiPool <pooled_shape = [2, 2]> (x, grown) }>
    }"""
    for way, run in in_all_ways(model(text), monkeypatch).items():
        for numbers in (5, 4, 7, 5):
            feeds = {"x": np.ones((1, 2, 8, 8), np.float32), "regions": np.zeros((3, numbers), np.float32), "column": np.zeros((3, 1), np.float32), "n": np.array(1)}
            if numbers == 5:
                same(run.run(None, feeds)[0], np.ones((1, 3, 2, 2, 2), np.float32))
                continue
            with pytest.raises(rondel.CallerError, match=f"regions are f32\\[3, {numbers}\\]; expected"):
                run.run(None, feeds)
                pytest.fail(f"{way} takes {feeds}")
