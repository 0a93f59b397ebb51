"""Loops whose states change their extents, as one native program: beside an oracle, in all ways, and without a fault in check mode."""

import resource
from pathlib import Path

import machine
import numpy as np
import pytest
import rondel
from models import WAYS, in_all_ways, model, run_as, session

X = np.arange(6, dtype=np.float32).reshape(1, 6) - 2


def rows(*counts):
    return [np.arange(6 * k, dtype=np.float32).reshape(k, 6) - 3 for k in counts]


def one_loop(body, go='""', more=""):
    return f"""main (int64 n, float[T,6] s, float[1,6] x, float most) => (float[S,6] last, float[K] out)
      <bool yes = {{1}}, int64[1] one = {{1}}, int64[1] many = {{1000}}, int64[1] first = {{0}}, int64 zero = {{0}}, int64 two = {{2}}> {{
      {more}
      last, out = Loop (n, {go}, s) <body = b (int64 i, bool go, float[V,6] v) => (bool on, float[W,6] w, float r) {{
        {body}
      }}>
    }}"""


ENDLESS = "on = Identity (go)  "
LOOPS = {
    "a row": one_loop(ENDLESS + "w = Concat <axis = 0> (v, x)  r = ReduceSum <keepdims = 0> (v)"),
    "two rows, one by one": one_loop(ENDLESS + "a = Concat <axis = 0> (v, x)  w = Concat <axis = 0> (a, x)  p = ReduceSum <keepdims = 0> (a)  q = ReduceMin <keepdims = 0> (w)  r = Add (p, q)"),
    "itself is read after it has grown": one_loop(ENDLESS + "w = Concat <axis = 0> (v, x)  y = Add (v, x)  r = ReduceSum <keepdims = 0> (y)"),
    "changed after it has grown": one_loop(ENDLESS + "a = Concat <axis = 0> (v, x)  w = Abs (a)  r = ReduceSum <keepdims = 0> (a)"),
    "changed, and read after that": one_loop(ENDLESS + "a = Concat <axis = 0> (v, x)  w = Neg (a)  p = ReduceSum <keepdims = 0> (v)  q = ReduceSum <keepdims = 0> (w)  r = Sub (p, q)"),
    "before its beginning": one_loop(ENDLESS + "w = Concat <axis = 0> (x, v)  r = ReduceSum <keepdims = 0> (w)"),
    "two continuations": one_loop(ENDLESS + "y = Neg (x)  w = Concat <axis = 0> (v, x)  u = Concat <axis = 0> (v, y)  r = ReduceSum <keepdims = 0> (u)"),
    "a window": one_loop(ENDLESS + "a = Slice (v, one, many, first)  w = Concat <axis = 0> (a, x)  r = ReduceSum <keepdims = 0> (w)"),
    "less and less": one_loop(ENDLESS + "w = Slice (v, one, many, first)  r = ReduceSum <keepdims = 0> (w)"),
    "every other trip": one_loop(ENDLESS + """m = Mod (i, two)  is = Equal (m, zero)
        w = If (is) <then_branch = t () => (float[P,6] p) { p = Concat <axis = 0> (v, x) }, else_branch = e () => (float[Q,6] q) { q = Identity (v) }>
        r = ReduceSum <keepdims = 0> (w)"""),
    "data end it": one_loop("w = Concat <axis = 0> (v, x)  r = ReduceSum <keepdims = 0> (w)  on = Less (r, most)", go="yes"),
    "its extent is read": one_loop(ENDLESS + "k = Shape (v)  f = Cast <to = 1> (k)  r = ReduceSum <keepdims = 0> (f)  w = Concat <axis = 0> (v, x)"),
    "an inner loop scans it": one_loop(ENDLESS + """w = Concat <axis = 0> (v, x)  z = ReduceSum <keepdims = 0> (x)
        r = Scan <num_scan_inputs = 1, body = add (float a, float[6] row) => (float c) { t = ReduceMax <keepdims = 0> (row)  c = Add (a, t) }> (z, w)"""),
    "an inner loop grows it": one_loop(ENDLESS + """w = Loop (two, "", v) <body = inner (int64 j, bool d, float[F,6] f) => (bool e, float[G,6] g) { e = Identity (d)  g = Concat <axis = 0> (f, x) }>
        r = ReduceSum <keepdims = 0> (w)"""),
    "an inner loop grows another": one_loop(ENDLESS + """u = Loop (two, "", x) <body = inner (int64 j, bool d, float[F,6] f) => (bool e, float[G,6] g) { e = Identity (d)  g = Concat <axis = 0> (f, x) }>
        r = ReduceSum <keepdims = 0> (u)  w = Concat <axis = 0> (v, x)"""),
    "a product reads it": one_loop(ENDLESS + "w = Concat <axis = 0> (v, x)  t = Transpose (w)  p = MatMul (x, t)  q = Softmax (p)  o = MatMul (q, w)  r = ReduceSum <keepdims = 0> (o)"),
    "a product before it grows": one_loop(ENDLESS + "t = Transpose (v)  p = MatMul (t, v)  r = ReduceSum <keepdims = 0> (p)  w = Concat <axis = 0> (v, x)"),
    "broadcast at one row": one_loop(ENDLESS + "w = Concat <axis = 0> (v, x)  m = ReduceMax <keepdims = 1> (w, first)  y = Sub (w, m)  e = Exp (y)  r = ReduceMax <keepdims = 0> (e)"),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_states_that_change_their_extents(loop, monkeypatch):
    made = model(LOOPS[loop])
    sessions = in_all_ways(made, monkeypatch)
    for (start,), trips in [(rows(0), 3), (rows(1), 1), (rows(1), 2), (rows(5), 4), (rows(2), 70), (rows(0), 130), (rows(3), 1)]:
        feeds = {"n": np.array(trips), "s": start, "x": X, "most": np.float32(80)}
        want = machine.run_model(made, feeds)
        for way, s in sessions.items():
            for got, expected in zip(s.run(None, feeds), want, strict=True):
                assert got.shape == expected.shape, way
                np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=str(way))
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"


ATTENTION = """main (float[1,H,T,D] k0, float[1,H,T,D] v0, float[1,H,1,D] q, int64 n) => (float[1,H,A,D] k, float[1,H,B,D] v, float[N,1,H,1,D] out) {
  k, v, out = Loop (n, "", k0, v0) <body = b (int64 i, bool c, float[1,H,K,D] kk, float[1,H,V,D] vv) => (bool c2, float[1,H,L,D] k2, float[1,H,W,D] v2, float[1,H,1,D] o) {
    c2 = Identity (c)  f = Cast <to = 1> (i)  x = Mul (q, f)  k2 = Concat <axis = 2> (kk, x)  v2 = Concat <axis = 2> (vv, q)
    kt = Transpose <perm = [0,1,3,2]> (k2)  s = MatMul (q, kt)  p = Softmax (s)  o = MatMul (p, v2) }>
}"""


@pytest.mark.parametrize(("heads", "width"), [(1, 1), (2, 5), (3, 16)])
def test_attention_over_caches_that_grow(heads, width, monkeypatch):
    made = model(ATTENTION)
    rng = np.random.default_rng(heads)
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(made)
        for begun, trips in [(0, 5), (1, 1), (4, 100), (0, 1), (1, 40)]:
            k0, v0 = (rng.standard_normal((1, heads, begun, width)).astype(np.float32) for _ in range(2))
            feeds = {"k0": k0, "v0": v0, "q": rng.standard_normal((1, heads, 1, width)).astype(np.float32), "n": np.array(trips)}
            for got, want in zip(s.run(None, feeds), machine.run_model(made, feeds), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        if jit != "0":
            assert s.how_it_ran()["node 'k' (Loop)"] == "natively, as a whole"


def test_the_last_rows_of_a_state_and_of_rows_of_any_number(monkeypatch):
    """The extent of the next value is bounded by more than what it grows by."""
    made = model("""main (float[A] s, float[B] x, int64 n) => (float[C] last) <int64[1] three = {-3}, int64[1] many = {2147483648}, int64[1] first = {0}> {
      last = Loop (n, "", s) <body = b (int64 i, bool go, float[V] v) => (bool on, float[W] w) {
        on = Identity (go)  a = Concat <axis = 0> (v, x)  w = Slice (a, three, many, first) }>
    }""")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(made)
        for begun, joined, trips in [(0, 0, 2), (0, 1, 5), (5, 2, 3), (1, 4, 1), (2, 0, 0), (5, 1, 3)]:
            feeds = {"s": np.arange(begun, dtype=np.float32), "x": -np.arange(1, joined + 1, dtype=np.float32), "n": np.array(trips)}
            for _ in range(2):
                np.testing.assert_array_equal(s.run(None, feeds)[0], machine.run_model(made, feeds)[0])


def test_a_state_that_outgrows_the_memory_is_named(monkeypatch):
    run_as(monkeypatch, "2")
    made = model(LOOPS["data end it"])
    feeds = {"n": np.array(1 << 40), "s": np.zeros((0, 6), np.float32), "x": np.zeros((1, 6), np.float32), "most": np.float32(1)}
    options = rondel.SessionOptions()
    options.max_memory_bytes = 1 << 20
    s = rondel.InferenceSession(made, options)
    with pytest.raises(rondel.LimitExceeded, match=r"node 'last' \(Loop\).*state 'v' needs room for f32\[\d+,6\]"):
        s.run(None, feeds)
    got = s.run(None, feeds | {"n": np.array(3)})[0]
    assert got.shape == (3, 6)


def test_a_stack_takes_no_more_memory_than_the_trips_need(monkeypatch):
    """A condition ends the loop after 5,000 trips, whose items are 20 MB; the rows of as many trips again would not fit."""
    made = model("""main (float[1000] x, float most) => (float[m,1000] z) <bool yes = {1}, float one = {1}> {
      y, z = Loop ("", yes, x) <body = b (int64 i, bool go, float[1000] v) => (bool on, float[1000] w, float[1000] item) {
        w = Add (v, one)  item = Mul (v, w)  at = ReduceMax <keepdims = 0> (w)  on = Less (at, most)
      }>
    }""")
    options = rondel.SessionOptions()
    options.max_memory_bytes = 26_000_000
    for jit in WAYS:
        run_as(monkeypatch, jit)
        got = rondel.InferenceSession(made.SerializeToString(), options).run(None, {"x": np.zeros(1000, np.float32), "most": np.float32(5000)})[0]
        assert got.shape == (5000, 1000) and (got[:, 0] == np.arange(5000) * np.arange(1, 5001, dtype=np.float32)).all()


def test_a_run_that_fails_leaves_nothing_to_the_next(monkeypatch):
    """In an outer loop that runs step by step, the inner loop is entered again after a run that failed in it."""
    made = model("""main (int64 n, float[T,6] s, float[1,6] x, int64 bad) => (float[S,6] last) {
      last = Loop (n, "", s) <body = b (int64 i, bool go, float[V,6] v) => (bool on, float[W,6] w) {
        on = Identity (go)  j = Sub (bad, i)  k = Abs (j)  m = Neg (k)  row = Gather <axis = 0> (v, m)  y = ReduceSum <keepdims = 0> (row)
        z = Mul (x, y)  w = Concat <axis = 0> (v, z) }>
    }""")
    good = {"n": np.array(5), "s": rows(4)[0], "x": X, "bad": np.array(4)}
    want = machine.run_model(made, good)[0]
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(made)
        for _ in range(3):
            with pytest.raises(rondel.CallerError):
                s.run(None, good | {"bad": np.array(-9)})
            np.testing.assert_allclose(s.run(None, good)[0], want, rtol=1e-5)


def test_two_ifs_with_branches_of_the_same_extents(monkeypatch):
    """The second `If` chooses anew: its results are not as long as those of the first."""
    made = model("""main (int64 n, bool p, bool q, float[2] a, float[5] b) => (float[K] sums, float[L] others)
      <bool yes = {1}> {
      sums, others = Loop (n, yes) <body = body (int64 i, bool go) => (bool on, float s, float o) {
        on = Identity (go)
        x = If (p) <then_branch = t1 () => (float[M] x1) { x1 = Neg (a) }, else_branch = e1 () => (float[N] x2) { x2 = Neg (b) }>
        y, z = If (q) <then_branch = t2 () => (float[P] y1, float[Q] z1) { y1 = Abs (x)  z1 = Identity (a) },
                       else_branch = e2 () => (float[R] y2, float[S] z2) { y2 = Neg (x)  z2 = Identity (b) }>
        s = ReduceSum <keepdims = 0> (y)
        o = ReduceSum <keepdims = 0> (z) }>
    }""")
    a, b = np.array([1, 2], np.float32), np.array([3, 4, 5, 6, 7], np.float32)
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(made)
        for p in (True, False):
            for q in (True, False):
                feeds = {"n": np.array(3), "p": np.array(p), "q": np.array(q), "a": a, "b": b}
                for _ in range(2):
                    for got, want in zip(s.run(None, feeds), machine.run_model(made, feeds), strict=True):
                        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 1, 64), (1, 0, 0)])
def test_states_without_elements(shape, monkeypatch):
    made = model("""main (float[A,B,C] s, int64 most) => (float[A,D,C] last, int64 trips) <bool yes = {1}, int64 one = {1}, int64 zero = {0}> {
      last, trips = Loop ("", yes, s, zero) <body = b (int64 i, bool go, float[A,V,C] v, int64 k) => (bool on, float[A,W,C] w, int64 k1) {
        w = Concat <axis = 1> (v, s)  k1 = Add (k, one)  on = Less (k1, most) }>
    }""")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        last, trips = session(made).run(None, {"s": np.zeros(shape, np.float32), "most": np.array(100)})
        assert last.shape == (shape[0], shape[1] * 101, shape[2]) and trips == 100


def test_few_trips_of_large_rows_need_little_memory(monkeypatch):
    """A loop that data end after two trips gets room for little more than these."""
    made = model("""main (float[A] s, int64 most) => (float[D] last) <bool yes = {1}, int64 one = {1}, int64 zero = {0}> {
      last, trips = Loop ("", yes, s, zero) <body = b (int64 i, bool go, float[V] v, int64 k) => (bool on, float[W] w, int64 k1) {
        w = Concat <axis = 0> (v, s)  k1 = Add (k, one)  on = Less (k1, most) }>
    }""")
    row = np.ones(1 << 20, np.float32)
    options = rondel.SessionOptions()
    options.max_memory_bytes = 64 << 20
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = rondel.InferenceSession(made, options)
        for trips in (1, 2, 3):
            (last,) = s.run(None, {"s": row, "most": np.array(trips)})
            assert last.shape == (row.size * (trips + 1),) and (last == 1).all()


@pytest.mark.parametrize("jit", WAYS)
def test_a_state_that_needs_far_less_room_than_its_bound(jit, monkeypatch):
    """Each part may be all of x, as far as is known before the loop; there is no memory for as much from each trip."""
    run_as(monkeypatch, jit)
    made = model("""main (float[N] x, int64[K] lengths, float[A] s) => (float[M] out) <int64[1] zero = {0}> {
      n = Size (lengths)
      last, out = Loop (n, "", zero, s) <body = b (int64 i, bool go, int64[1] at, float[V] v) => (bool on, int64[1] end, float[W] w) {
        on = Identity (go)  k = Gather (lengths, i)  kk = Unsqueeze (k, zero)  end = Add (at, kk)  part = Slice (x, at, end)  w = Concat <axis = 0> (v, part) }>
    }""")
    options = rondel.SessionOptions()
    options.max_memory_bytes = 1 << 20
    s = rondel.InferenceSession(made, options)
    for parts in (3, 1000, 3):
        x = np.arange(2 * parts, dtype=np.float32)
        for _ in range(2):
            (got,) = s.run(None, {"x": x, "lengths": np.full(parts, 2), "s": np.zeros(0, np.float32)})
            np.testing.assert_array_equal(got, x)


def test_a_kept_stack_keeps_no_more_address_space_than_it_needs():
    """The rows of a loop that data end are written into address space that is far larger."""
    made = model("""main (float[1024] x) => (float[?, 1024] rows) <float one = {1}, float limit = {300}, int64 most = {1000000}, bool yes = {1}> {
  , rows = Loop (most, yes, x) <body = b (int64 i, bool go, float[1024] s) => (bool on, float[1024] t, float[1024] item) {
    t = Add (s, one)
    item = Identity (t)
    largest = ReduceMax <keepdims = 0> (t)
    on = Less (largest, limit) }>
}""")
    ours = session(made)
    mapped = lambda: int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()  # noqa: E731
    run = lambda: ours.run(None, {"x": np.zeros(1024, np.float32)})[0]  # noqa: E731
    kept = [run()]
    before = mapped()
    kept += [run() for _ in range(8)]
    assert mapped() - before < 1 << 30
    assert all((rows == np.arange(1, 301, dtype=np.float32)[:, None]).all() for rows in kept)
