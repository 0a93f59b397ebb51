"""Sizes: the memory budget of a session bounds tensors, stacks and text, and what is too large for any memory is refused before it is computed."""

import resource
from pathlib import Path

import numpy as np
import onnx
import pytest
import rondel
from models import i64, model, options, refused, run, run_options, scalar, session, tensor

STACKED = """
main (int64 n, float[2, 2] x) => (float[] y) {
  [pile] s, y = Loop (n, , x) <
    body: graph = body (int64 i, bool go, float[2, 2] a) => (bool on, float[2, 2] b, float[2, 2] item) {
      on = Identity (go)  b = Neg (a)  item = Abs (a)
    }
  >
}"""


@pytest.mark.parametrize("trips", [2**40, 2**58, 2**60, 2**61, 2**63 - 1])
@pytest.mark.parametrize("jit", [True, False])
def test_a_stack_too_large_for_any_memory_is_a_limit(trips, jit):
    s = session(STACKED, options=options(jit=jit, max_memory_bytes=2**33))
    with refused(rondel.LimitExceeded, "pile", ("bytes", "memory")):
        s.run(None, {"n": scalar(trips), "x": np.ones((2, 2), np.float32)})


TEXT = "x" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        "main (string[1] s) => (string[] y) { n = Constant <value_ints: ints = [500]> ()  w = Expand (s, n)  [many] y = Concat <axis: int = 0> (w, w) }",
        "main (string[1] s) => (string[] y) { n = Constant <value_ints: ints = [1000]> ()  [many] y = Tile (s, n) }",
        """main (string[1] s) => (string[] y) {
          n = Constant <value_int: int = 1000> ()
          [many] m, y = Loop (n, , zero) < body: graph = body (int64 i, bool go, int64 k) => (bool on, int64 l, string[1] t) {
            on = Identity (go)  l = Identity (k)  t = Identity (s)
          } > }""",
        """main (string[1] s) => (string[] y) {
          [many] n, y = Loop (, yes, zero) < body: graph = body (int64 i, bool go, int64 k) => (bool on, int64 l, string[1] t) {
            l = Add (k, one)  on = Less (l, most)  t = Identity (s)
          } > }""",
        """main (string[1] s) => (seq(string[]) y) {
          n = Constant <value_ints: ints = [1000]> ()
          e = SequenceEmpty <dtype: int = 8> ()
          [many] big = Tile (s, n)
          y = SequenceInsert (e, big)
        }""",
    ],
    ids=["concat", "tile", "certain stack", "growing stack", "sequence"],
)
@pytest.mark.parametrize("jit", [True, False])
def test_the_memory_budget_counts_text(text, jit):
    made = model(text)
    made.graph.initializer.extend(
        [tensor("yes", np.array(True)), tensor("zero", scalar(0)), tensor("one", scalar(1)), tensor("most", scalar(1000))]
    )
    feeds = {"s": np.array([TEXT], dtype=object)}
    with refused(rondel.LimitExceeded, "many", "budget"):
        session(made, options=options(jit=jit, max_memory_bytes=10_000_000)).run(None, feeds)
    s = session(made, options=options(jit=jit, max_memory_bytes=250_000_000))
    for _ in range(3):  # each run returns its memory to the budget
        got = s.run(None, feeds)[-1]
        assert np.size(got) == 1000 and np.ravel(got)[-1] == TEXT


RESULTS = {
    "tensor": "main (float[n] x) => (float[n] y) { y = Neg (x) }",
    "strings": "main (string[n] x) => (string[n] y) { y = StringConcat (x, x) }",
    "optional": "main (float[n] x) => (optional(float[n]) y) { z = Neg (x)  y = Optional (z) }",
    "stack": """main (float[n] x) => (float[m, n] y) <bool yes = {1}, float one = {1}, float two = {2}> {
      last, y = Loop ("", yes, x) <body = b (int64 i, bool go, float[n] v) => (bool on, float[n] w, float[n] item) {
        w = Add (v, one)  item = Neg (w)  at = ReduceMax <keepdims = 0> (w)  on = Less (at, two)
      }>
    }""",
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("jit", [True, False])
def test_results_that_are_kept_do_not_count_against_the_budget(name, jit):
    s = session(model(RESULTS[name], 21), options=options(jit=jit, max_memory_bytes=8_000_000))
    x = np.full(30_000, "x" * 20, object) if name == "strings" else np.zeros(300_000, np.float32)
    kept = [s.run(None, {"x": x})[0] for _ in range(20)]
    assert all(y.shape == kept[0].shape for y in kept)
    del kept
    s.run(None, {"x": x})
    with refused(rondel.LimitExceeded, "budget"):
        s.run(None, {"x": np.repeat(x, 12)})


# The text makes it run step by step.
GROWING = """main (int64 n, float[1, k] x, string[1] t) => (float[m, k] y, string[1] u) {
  y, u = Loop (n, , x, t) <body = b (int64 i, bool go, float[a, k] v, string[1] s) => (bool on, float[c, k] w, string[1] s2) {
    on = Identity (go)  z = Neg (x)  w = Concat <axis = 0> (v, z)  s2 = StringConcat (s, t)
  }>
}"""


def test_results_that_grew_step_by_step_do_not_count_against_the_budget():
    s = session(GROWING, options=options(max_memory_bytes=1_000_000))
    feeds = {"n": scalar(100), "x": np.ones((1, 100), np.float32), "t": np.array(["a"], object)}
    kept = [s.run(["y"], feeds)[0] for _ in range(25)]
    assert "step by step" in str(s.how_it_ran())
    assert all(y.shape == (101, 100) for y in kept)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("of_session", [True, False])
@pytest.mark.parametrize(("vector", "extent", "budget"), [(50_000, 200, 600_000), (3000, 40, 30_000)], ids=["large", "small"])
def test_workspaces_of_earlier_runs_do_not_count_but_those_in_use_do(vector, extent, budget, of_session, jit):
    made = model("""g (float[n] x, float[p, p] s) => (float y, float d) {
      zero = Constant <value = int64 {0}> ()
      q = CumSum (x, zero)  u = CumSum (q, zero)  y = ReduceMax <keepdims = 0> (u)  d = Det (s)
    }""")
    own = options(jit=jit, max_memory_bytes=budget if of_session else 2**30)
    ro = None if of_session else run_options(max_memory_bytes=budget)

    def outcome(s, n, p):
        try:
            return s.run(None, {"x": np.ones(n, np.float32), "s": np.eye(p, dtype=np.float32)}, ro)[1]
        except rondel.LimitExceeded:
            return "refused"

    s = session(made, options=own)  # two vectors nearly fill the budget
    runs = [(vector, 1), (1, extent), (vector, extent), (vector, 1), (1, extent), (vector, 1)]
    fresh = [outcome(session(made, options=own), *run) for run in runs]
    assert [outcome(s, *run) for run in runs] == fresh
    assert fresh[0] == fresh[1] == 1 and fresh[2] == "refused"


PARTS = {
    "rows": "start = Constant <value_ints = [7]> ()  end = Constant <value_ints = [8]> ()  y = Slice (e, start, end)",
    "split": "sizes = Constant <value_ints = [1, 499]> ()  y, rest = Split <axis = 0> (e, sizes)",
}


def held():
    """Bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("product, dtype", [("MatMul (x, w)", np.float32), ("MatMulInteger (x, w)", np.int8)])
def test_a_session_more_of_the_same_bytes_holds_no_weights_of_its_own(product, dtype):
    kind = "float" if dtype == np.float32 else "int8"
    made = model(f"g ({kind}[n, 1024] x) => ({'float' if dtype == np.float32 else 'int32'}[n, 1024] y) {{ y = {product} }}")
    weights = np.random.default_rng(1).integers(-9, 9, (1024, 1024 * 4 // np.dtype(dtype).itemsize)).astype(dtype)
    made.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    made.graph.output[0].type.tensor_type.shape.dim[1].dim_value = weights.shape[1]
    feeds, sessions = {"x": np.ones((2, 1024), dtype)}, []
    data = made.SerializeToString()
    for k in range(22):
        if k == 2:
            before = held()
        sessions.append(rondel.InferenceSession(data))
        np.testing.assert_array_equal(sessions[-1].run(None, feeds)[0][0], weights.sum(0, np.int32).astype(dtype if dtype == np.float32 else np.int32))
    assert held() - before < 20e6  # twenty sessions, whose weights have 4 MB


@pytest.mark.parametrize("name", PARTS)
def test_a_small_part_of_a_large_value_keeps_no_more_than_itself(name):
    s = session(f"g (float[n, m] x, int64 i) => (float[a, m] y) {{ e = CumSum (x, i)  {PARTS[name]} }}")
    feeds = {"x": np.ones((500, 2000), np.float32), "i": scalar(0)}
    s.run(None, feeds)
    before = held()
    kept = [s.run(None, feeds)[0] for _ in range(30)]  # of values of 4 MB
    assert held() - before < 40e6
    assert all(y.shape == (1, 2000) for y in kept)


@pytest.mark.parametrize(
    ("most", "trips", "budget"),
    [
        (200, 200, 3_350_000),  # the old room's arena is free before the new one is claimed
        (100_000, 150, 2_700_000),  # so is an arena for more room than fits
    ],
)
def test_a_growing_loop_needs_memory_for_one_arena(most, trips, budget, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "2")
    s = session(
        """g (int64 n, int64 last, float[1000] x) => (float[m] y, float[q] z) <bool yes = {1}, int64 zero = {0}> {
          y, z = Loop (n, yes, x) <body = b (int64 k, bool go, float[p] v) => (bool on, float[p2] w, float it) {
            w = Concat <axis = 0> (v, x)  length = Size (w)  on = Less (length, last)
            c = CumSum (w, zero)  d = CumSum <reverse = 1> (c, zero)  e = CumSum (d, zero)  it = ReduceMax <keepdims = 0> (e)
          }>
        }""",
        options=options(max_memory_bytes=budget),
    )
    y, _ = s.run(None, {"n": scalar(most), "last": scalar(1000 * (trips + 1)), "x": np.ones(1000, np.float32)})
    assert y.shape == (1000 * (trips + 1),)
    assert list(s.how_it_ran().values()) == ["natively, as a whole"]


def test_the_memory_budget_bounds_one_value():
    text = "main (int64[k] shape) => (float[] y) { [vast] y = ConstantOfShape (shape) }"
    limited = options(max_memory_bytes=1 << 20)
    assert run(text, {"shape": i64(1000)}, options=limited)[0].shape == (1000,)
    with refused(rondel.LimitExceeded, "memory"):
        run(text, {"shape": i64(1 << 24)}, options=limited)


def test_constants_that_grow_are_left_to_a_run_and_its_budget():
    """Concatenating a constant with itself doubles it; after 28 times it has a gigabyte."""
    nodes = " ".join(f"t{k + 1} = Concat <axis = 0> (t{k}, t{k})" for k in range(28))
    text = f"g () => (float[n] y) {{ t0 = Constant <value_floats = [1.0]> () {nodes} y = Identity (t28) }}"
    s = session(text, opset=18, options=options(max_memory_bytes=1 << 24))
    with refused(rondel.LimitExceeded, "memory budget"):
        s.run(None, {})


# ---- too large for any memory ----------------------------------------------------------------------------


def test_a_shape_too_large_for_any_memory_is_refused():
    text = """
    main (int64[k] shape) => (float[] y) { [vast] y = ConstantOfShape (shape) }"""
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        run(text, {"shape": i64(2**40, 2**40)})
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        run(text, {"shape": i64(-1)})


def test_a_tensor_without_elements_takes_no_time_however_large_its_other_extents():
    s = session("g (int64[3] s) => (float[a, b, c] y) { y = ConstantOfShape (s) }", opset=17)
    (y,) = s.run(None, {"s": i64(2**40, 2**20, 0)})
    assert y.shape == (2**40, 2**20, 0)


def test_a_range_longer_than_any_tensor_is_refused():
    s = session("g (int64 a, int64 b, int64 d) => (int64[n] y) { y = Range (a, b, d) }", opset=17)
    with refused(rondel.CallerError, "more elements than any tensor has"):
        s.run(None, {"a": np.int64(-(2**63)), "b": np.int64(2**63 - 1), "d": np.int64(1)})


def test_a_window_too_large_to_reckon_with_is_refused():
    text = "g (float[1,1,5] x, float[1,1,2] w) => (float[a,b,c] y) { y = Conv <pads = [9223372036854775807, 0]> (x, w) }"
    with refused(rondel.CallerError, "pads has 9223372036854775807"):
        session(text, opset=17).run(None, {"x": np.zeros((1, 1, 5), "f"), "w": np.zeros((1, 1, 2), "f")})


@pytest.mark.parametrize("jit", ["0", "quick", "2"])
def test_a_stack_that_cannot_grow_keeps_its_rows(jit, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    numbers = np.arange(36) + 90
    made = model(f"""main () => (int64[a, b, c, d] sum) <bool yes = {{1}}> {{
      one = Constant <value = int64 {{1}}> ()
      stack = Loop (, yes) <body: graph = body (int64[] i, bool[] go) => (bool[] on, int64[] item) {{
        item = Constant <value = int64[3,3,4] {{{", ".join(map(str, numbers))}}}> ()
        most = ReduceMax (i)
        on = Less (most, one)
      }}>
      sum = ReduceSum (stack)
    }}""")
    ran = 0
    for budget in range(500, 6000, 100):
        try:
            total = session(made, options=options(max_memory_bytes=budget)).run(None, {})[0]
        except rondel.LimitExceeded:
            continue
        ran += 1
        assert total.item() == 2 * numbers.sum(), budget
    assert ran


LARGE_BRANCH = """s = If (c) <
    then_branch = t () => (float a) { u = CumSum (x, zero)  v = CumSum <reverse = 1> (u, zero)  w = Mul (v, u)  a = ReduceSum <keepdims = 0> (w) },
    else_branch = f () => (float b) { b = ReduceMax <keepdims = 0> (x) }>"""


@pytest.mark.parametrize("jit", ["0", "quick", "2"])
@pytest.mark.parametrize("loop", [False, True])
def test_a_branch_that_is_not_taken_needs_no_memory(loop, jit, monkeypatch):
    """Native code has room for both branches; where memory does not suffice for them, the one that is taken runs step by step."""
    monkeypatch.setenv("RONDEL_JIT", jit)
    body = f"""{{ c = Less (i, zero)  {LARGE_BRANCH}  t2 = Add (r, s)  on = Identity (go) }}"""
    in_loop = f"y = Loop (five, , none) <body = step (int64 i, bool go, float r) => (bool on, float t2) {body}>"
    alone = f"c = Less (five, zero)  {LARGE_BRANCH}  y = Identity (s)"
    text = f"g (float[n] x, int64 five) => (float y) <int64 zero = {{0}}, float none = {{0}}> {{ {in_loop if loop else alone} }}"
    feeds = {"x": np.ones(100_000, np.float32), "five": np.int64(5)}
    s = session(text, options=options(max_memory_bytes=50_000))
    for _ in range(2):
        assert s.run(None, feeds)[0] == (5 if loop else 1)
    with refused(rondel.LimitExceeded, "does not allow 64 more"):
        session(text, options=options(max_memory_bytes=10)).run(None, feeds)
