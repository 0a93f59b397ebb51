"""Gradients of models with loops and ifs: against central differences in float64, and in other runtimes."""

import numpy as np
import pytest
import rondel
from onnx import parser
from differences import check_gradient, elsewhere


def model_of(text, opset=21):
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}').SerializeToString()


#: name: (the model, the shapes or values of its inputs)
CASES = {
    "a counted loop": (
        """g (double[3] x, double[3] w) => (double[3] y) <int64 n = {4}> {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t) {
               d = Identity (c)  u = Mul (s, w)  t = Sin (u) }> }""",
        {"x": (3,), "w": (3,)},
    ),
    "a loop of no trips": (
        """g (double[3] x, double[3] w) => (double[3] y, double[k,3] z) <int64 n = {0}> {
             y, z = Loop (n, , x) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t, double[3] o) {
               d = Identity (c)  u = Mul (s, w)  t = Sin (u)  o = Exp (u) }> }""",
        {"x": (3,), "w": (3,)},
    ),
    "a loop with a stack": (
        """g (double[3] x, double[3] w) => (double[3] y, double[k,3] z) <int64 n = {4}> {
             y, z = Loop (n, , x) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t, double[3] o) {
               d = Identity (c)  u = Mul (s, w)  t = Sin (u)  o = Mul (t, t) }> }""",
        {"x": (3,), "w": (3,)},
    ),
    "a loop that ends by its data": (
        """g (double[2] x) => (double[2] y, double[k,2] z) <int64 n = {40}, bool yes = {1}, double most = {30.0}> {
             y, z = Loop (n, yes, x) <body = b (int64 i, bool c, double[2] s) => (bool d, double[2] t, double[2] o) {
               t = Mul (s, s)  o = Exp (s)  q = ReduceSum <keepdims = 0> (t)  d = Less (q, most) }> }""",
        {"x": np.array([1.3, 1.1])},
    ),
    "a loop whose body reads the trip and an integer state": (
        """g (double[2] x) => (double[2] y) <int64 n = {5}, int64 one = {1}> {
             y, last = Loop (n, , x, one) <body = b (int64 i, bool c, double[2] s, int64 k) => (bool d, double[2] t, int64 m) {
               d = Identity (c)  k2 = Add (k, k)  m = Add (k2, one)  a = Cast <to = 11> (i)  e = Cast <to = 11> (k)
               f = Add (a, e)  l = Log (f)  u = Mul (s, l)  t = Sin (u) }> }""",
        {"x": (2,)},
    ),
    "a loop that gathers what its trip tells": (
        """g (double[6,3] x, double[3] h) => (double[3] y) <int64 n = {4}> {
             y = Loop (n, , h) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t) {
               d = Identity (c)  e = Gather (x, i)  u = Mul (s, e)  t = Sin (u) }> }""",
        {"x": (6, 3), "h": (3,)},
    ),
    "a state of growing extent": (
        """g (double[2] x, double[2] w) => (double[k] y) <int64 n = {3}> {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[m] s) => (bool d, double[p] t) {
               d = Identity (c)  u = Sin (s)  q = Mul (w, w)  t = Concat <axis = 0> (u, q) }> }""",
        {"x": (2,), "w": (2,)},
    ),
    "a state that nobody asks for": (
        """g (double[2] x, double[2] v) => (double[2] y) <int64 n = {3}> {
             y, rest = Loop (n, , x, v) <body = b (int64 i, bool c, double[2] s, double[2] r) => (bool d, double[2] t, double[2] q) {
               d = Identity (c)  t = Mul (s, r)  q = Sin (r) }> }""",
        {"x": (2,), "v": (2,)},
    ),
    "states that change places": (
        """g (double[2] x, double[2] v) => (double[2] y, double[2] z) <int64 n = {3}> {
             y, z = Loop (n, , x, v) <body = b (int64 i, bool c, double[2] s, double[2] r) => (bool d, double[2] t, double[2] q) {
               d = Identity (c)  t = Sin (r)  q = Identity (s) }> }""",
        {"x": (2,), "v": (2,)},
    ),
    "a scan": (
        """g (double[2] h, double[5,2] x, double[2,2] w) => (double[2] y, double[5,2] z) {
             y, z = Scan <num_scan_inputs = 1, body = b (double[2] s, double[2] e) => (double[2] t, double[2] o) {
               m = MatMul (s, w)  a = Add (m, e)  t = Tanh (a)  o = Mul (t, e) }> (h, x) }""",
        {"h": (2,), "x": (5, 2), "w": (2, 2)},
    ),
    "a scan in both directions, on other axes": (
        """g (double[2] h, double[2,5] x) => (double[2] y, double[2,5] z, double[5,2] v) {
             y, z, v = Scan <num_scan_inputs = 2, scan_input_axes = [1, -1], scan_input_directions = [1, 0],
                 scan_output_axes = [-1, 0], scan_output_directions = [1, 0],
                 body = b (double[2] s, double[2] e, double[2] f) => (double[2] t, double[2] o, double[2] p) {
               a = Mul (s, e)  t = Add (a, f)  o = Sin (t)  p = Mul (e, f) }> (h, x, x) }""",
        {"h": (2,), "x": (2, 5)},
    ),
    "a scan without states": (
        """g (double[4,3] x, double[3] w) => (double[4] z) {
             z = Scan <num_scan_inputs = 1, body = b (double[3] e) => (double o) {
               m = Mul (e, w)  q = Mul (m, e)  o = ReduceSum <keepdims = 0> (q) }> (x) }""",
        {"x": (4, 3), "w": (3,)},
    ),
    "an if in a loop": (
        """g (double[3] x, double[3] w) => (double[3] y) <int64 n = {5}, int64 two = {2}> {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t) {
               d = Identity (c)  m = Mod (i, two)  k = Cast <to = 9> (m)
               t = If (k) <then_branch = p () => (double[3] a) { a = Mul (s, w) },
                           else_branch = q () => (double[3] e) { f = Sin (s)  e = Add (f, s) }> }> }""",
        {"x": (3,), "w": (3,)},
    ),
    "ifs that give what they read, and other shapes": (
        """g (double[3] x, double w) => (double[k] y) <bool yes = {1}> {
             z = ReduceSum <keepdims = 0> (x)  zero = Sub (w, w)  k = Less (zero, z)
             a = If (k) <then_branch = p () => (double[3] b) { b = Identity (x) }, else_branch = q () => (double e) { e = Identity (w) }>
             y = Mul (a, w) }""",
        {"x": (3,), "w": ()},
    ),
    "a loop in a loop": (
        """g (double[3] x, double[3] w) => (double[3] y) <int64 n = {3}, int64 one = {1}> {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t) {
               d = Identity (c)  j = Add (i, one)
               t = Loop (j, , s) <body = b2 (int64 i2, bool c2, double[3] s2) => (bool d2, double[3] t2) {
                 d2 = Identity (c2)  u = Mul (s2, w)  v = Sin (u)  t2 = Add (v, x) }> }> }""",
        {"x": (3,), "w": (3,)},
    ),
    "a scan in a loop in an if": (
        """g (double[2] h, double[4,2] x, double[2,2] w) => (double[2] y) <int64 n = {2}, bool yes = {1}> {
             z = ReduceMax <keepdims = 0> (h)  a = Abs (z)  k = LessOrEqual (z, a)
             y = If (k) <then_branch = p () => (double[2] o) {
               o = Loop (n, yes, h) <body = b (int64 i, bool c, double[2] s) => (bool d, double[2] t) {
                 d = Identity (c)
                 t, items = Scan <num_scan_inputs = 1, body = b2 (double[2] s2, double[2] e) => (double[2] t2, double[2] o2) {
                   m = MatMul (s2, w)  q = Add (m, e)  t2 = Tanh (q)  o2 = Mul (t2, t2) }> (s, x) }> },
             else_branch = q () => (double[2] r) { r = Mul (h, h) }> }""",
        {"h": (2,), "x": (4, 2), "w": (2, 2)},
    ),
    "an LSTM": (
        """g (double[4,1,2] x, double[1,12,2] w, double[1,12,3] r, double[1,24] b) => (double[4,1,1,3] y, double[1,1,3] h, double[1,1,3] c) {
             y, h, c = LSTM <hidden_size = 3> (x, w, r, b) }""",
        {"x": (4, 1, 2), "w": (1, 12, 2), "r": (1, 12, 3), "b": (1, 24)},
    ),
    "a GRU in both directions": (
        """g (double[3,2,2] x, double[2,6,2] w, double[2,6,2] r) => (double[3,2,2,2] y, double[2,2,2] h) {
             y, h = GRU <hidden_size = 2, direction = "bidirectional", linear_before_reset = 1> (x, w, r) }""",
        {"x": (3, 2, 2), "w": (2, 6, 2), "r": (2, 6, 2)},
    ),
}


def feeds_of(given, rng):
    return {name: rng.uniform(0.3, 1.2, x) if isinstance(x, tuple) else x for name, x in given.items()}


def names_of(model):
    return [output.name for output in rondel.InferenceSession(model).get_outputs() if output.name not in ("last", "rest")]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_against_central_differences(case):
    text, given = case
    rng = np.random.default_rng(7)
    check_gradient(model_of(text), feeds_of(given, rng), rng, outputs=names_of(model_of(text)))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_file_gives_the_same_numbers_elsewhere(case):
    text, given = case
    feeds = feeds_of(given, np.random.default_rng(8))
    made = rondel.grad(model_of(text), wrt=list(given), outputs=names_of(model_of(text)))
    ours = rondel.InferenceSession(made.SerializeToString()).run(None, feeds)
    for got, want in zip(ours, elsewhere(made, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["a counted loop", "a loop with a stack", "a scan", "an if in a loop"])
def test_second_derivatives(name):
    """The gradient of the sum of squares of the gradient."""
    text, given = CASES[name]
    rng = np.random.default_rng(9)
    once = rondel.grad(model_of(text), wrt=list(given), outputs=names_of(model_of(text)), prefix="first_")
    check_gradient(once.SerializeToString(), feeds_of(given, rng), rng, outputs=[f"first_{n}" for n in given])


@pytest.mark.parametrize("checkpoint", ["sqrt", 1, 2, 3])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_checkpoints_change_no_gradient(case, checkpoint):
    text, given = case
    model, feeds = model_of(text), feeds_of(given, np.random.default_rng(10))
    whole, cut = (
        rondel.grad(model, wrt=list(given), outputs=names_of(model), checkpoint=how) for how in ("none", checkpoint)
    )
    want = rondel.InferenceSession(whole.SerializeToString()).run(None, feeds)
    for got, elsewhere_, ours in zip(rondel.InferenceSession(cut.SerializeToString()).run(None, feeds), elsewhere(cut, feeds), want, strict=True):
        np.testing.assert_allclose(got, ours, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(elsewhere_, ours, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("trips", [0, 1, 2, 7, 9])
@pytest.mark.parametrize("checkpoint", ["sqrt", 3])
def test_one_file_with_checkpoints_serves_any_number_of_trips(trips, checkpoint):
    text = """g (double[2] h, double[T,2] x) => (double[2] y, double[T,2] z) {
        y, z = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
            body = b (double[2] s, double[2] e) => (double[2] t, double[2] o) {
          m = Mul (s, e)  t = Tanh (m)  o = Sin (t) }> (h, x) }"""
    feeds = feeds_of({"h": (2,), "x": (trips, 2)}, np.random.default_rng(trips))
    whole, cut = (
        rondel.InferenceSession(rondel.grad(model_of(text), ["h", "x"], ["y", "z"], checkpoint=how).SerializeToString())
        for how in ("none", checkpoint)
    )
    for got, want in zip(cut.run(None, feeds), whole.run(None, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


def test_checkpoints_bound_the_memory():
    """The states of 1,600 trips take 3 MB; with checkpoints, memory holds 40 states and the residuals of 40 trips."""
    text = """g (float[16,32] h, float[32,32] w) => (float y) <int64 n = {1600}> {
        z = Loop (n, , h) <body = b (int64 i, bool c, float[16,32] s) => (bool d, float[16,32] t) {
          d = Identity (c)  m = MatMul (s, w)  t = Tanh (m) }>
        y = ReduceSum <keepdims = 0> (z) }"""
    feeds = {"h": np.ones((16, 32), np.float32), "w": np.eye(32, dtype=np.float32)}
    options = rondel.SessionOptions()
    options.max_memory_bytes = 1 << 20

    def session(checkpoint):
        made = rondel.grad(model_of(text), wrt=["h", "w"], checkpoint=checkpoint)
        return rondel.InferenceSession(made.SerializeToString(), options)

    with pytest.raises(rondel.LimitExceeded):
        session("none").run(None, feeds)
    session("sqrt").run(None, feeds)
    session(20).run(None, feeds)


def test_segments_are_no_longer_than_the_loop():
    text = """g (double[2] h, double[T,2] x) => (double[2] y, double[T,2] z) {
        y, z = Scan <num_scan_inputs = 1, body = b (double[2] s, double[2] e) => (double[2] t, double[2] o) {
          m = Mul (s, e)  t = Tanh (m)  o = Sin (t) }> (h, x) }"""
    options = rondel.SessionOptions()
    options.max_memory_bytes = 1 << 16
    made = rondel.grad(model_of(text), ["h", "x"], ["y", "z"], checkpoint=2**62)
    feeds = feeds_of({"h": (2,), "x": (3, 2)}, np.random.default_rng(1))
    got = rondel.InferenceSession(made.SerializeToString(), options).run(None, feeds)
    want = rondel.InferenceSession(rondel.grad(model_of(text), ["h", "x"], ["y", "z"]).SerializeToString()).run(None, feeds)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("yes", [True, False])
def test_branches_that_differ_in_extents_do_not_narrow_what_the_other_reads(yes):
    text = """g (double[1] p, double[4] q, bool c) => (double[n] y) {
        y = If (c) <then_branch = a () => (double[1] u) { u = Mul (p, p) }, else_branch = b () => (double[4] v) { v = Add (p, q) }> }"""
    made = rondel.grad(model_of(text), ["p", "q"], "y")
    feeds = {"p": np.array([3.0]), "q": np.ones(4), "c": np.array(yes)}
    gp, gq = rondel.InferenceSession(made.SerializeToString()).run(["grad_p", "grad_q"], feeds)
    np.testing.assert_array_equal(gp, [6] if yes else [4])
    np.testing.assert_array_equal(gq, np.zeros(4) if yes else np.ones(4))


def test_the_adjoint_of_a_state_that_shrinks_has_the_shape_of_each_trip():
    text = """g (double[4] x, double[1] p) => (double[1] y) <int64 n = {3}, int64[1] one = {1}, int64[1] end = {100}> {
        y = Loop (n, , x) <body = b (int64 i, bool c, double[m] s) => (bool d, double[k] t) {
          d = Identity (c)  u = Slice (s, one, end)  t = Add (u, p) }> }"""
    rng = np.random.default_rng(4)
    check_gradient(model_of(text), feeds_of({"x": (4,), "p": (1,)}, rng), rng)


STACKED_INSIDE = """
g (double[?,?] x, int64 n) => (double[?,?] y) <int64 three = {{3}}, bool yes = {{1}}, int64[1] first = {{0}}> {{
  y = Loop (three, yes, x) <body = outer (int64 i, bool go, double[?,?] s) => (bool on, double[?,?] t) {{
    on = Identity (go)
    k = Loop (n, yes) <body = inner (int64 j, bool c) => (bool d, double[?,?] item) {{ d = Identity (c)  {item} }}>
    r = ReduceSum <keepdims = 0> (k, first)  {read}  t = Add (s, u)
  }}>
}}"""


@pytest.mark.parametrize("item", ["item = Sin (s)", "e = Sin (s)  f = Cast <to = 11> (j)  item = Mul (e, f)"])
@pytest.mark.parametrize("read", ["u = Tanh (r)", "m = ReduceMax <keepdims = 1> (s)  u = Mul (r, m)"])
def test_stacks_without_trips_of_states_whose_extents_the_run_tells(item, read):
    """The reverse loop reads the states of a list, which tells no rank of its items."""
    model, rng = model_of(STACKED_INSIDE.format(item=item, read=read)), np.random.default_rng(6)
    again = [rondel.InferenceSession(rondel.grad(model, "x", "y", checkpoint=c).SerializeToString()) for c in ("none", "sqrt")]
    for n in (0, 1, 2):
        feeds = {**feeds_of({"x": (2, 3)}, rng), "n": np.array(n)}
        check_gradient(model, feeds, rng)
        kept, made_again = (s.run(["grad_x"], feeds)[0] for s in again)
        np.testing.assert_allclose(made_again, kept)


@pytest.mark.parametrize("checkpoint", ["all", "", "-1", 0, -3, 1.5, None, True, 2**70])
def test_other_checkpoints_are_refused(checkpoint):
    model = model_of("g (float x) => (float y) { y = Exp (x) }")
    with pytest.raises(rondel.CallerError, match="checkpoint is .*; expected '?none'?, '?sqrt'?, or a number of trips"):
        rondel.grad(model, wrt="x", checkpoint=checkpoint)


@pytest.mark.parametrize("yes", [True, False])
def test_an_if_of_the_model(yes):
    text = """g (double[3] x, double[3] w, bool k) => (double[3] y) {
        y = If (k) <then_branch = p () => (double[3] a) { a = Mul (x, w) }, else_branch = q () => (double[3] e) { f = Sin (x)  e = Add (f, x) }> }"""
    x, w, seed = np.array([0.5, 1, 2]), np.array([3.0, -1, 0.25]), np.array([1.0, 2, 3])
    made = rondel.grad(model_of(text), wrt=["x", "w"], outputs="y", seed="seed")
    feeds = {"x": x, "w": w, "k": np.array(yes), "seed": seed}
    gx, gw = rondel.InferenceSession(made.SerializeToString()).run(["grad_x", "grad_w"], feeds)
    np.testing.assert_allclose(gx, seed * w if yes else seed * (np.cos(x) + 1))
    np.testing.assert_allclose(gw, seed * x if yes else 0 * seed)


@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_one_file_serves_any_number_of_trips_and_any_batch(trips):
    text = """g (double[B,2] h, double[T,B,3] x, double[3,2] v, double[2,2] w) => (double[B,2] y) {
        y = Scan <num_scan_inputs = 1, body = b (double[B,2] s, double[B,3] e) => (double[B,2] t) {
          m = MatMul (s, w)  n = MatMul (e, v)  a = Add (m, n)  t = Tanh (a) }> (h, x) }"""
    rng = np.random.default_rng(trips)
    for rows in (1, 3):
        feeds = feeds_of({"h": (rows, 2), "x": (trips, rows, 3), "v": (3, 2), "w": (2, 2)}, rng)
        check_gradient(model_of(text), feeds, rng)


def test_reverse_loops_run_natively():
    for name, (text, given) in CASES.items():
        if name in ("a state of growing extent", "a loop in a loop"):
            continue  # states in sequences, and stacks whose extents are unknown before the loop
        made = rondel.grad(model_of(text), wrt=list(given), outputs=names_of(model_of(text)))
        for loop in rondel.inspect(made.SerializeToString()).loops:
            assert loop["execution"].startswith("natively, as a whole"), (name, loop)


def test_the_adjoint_of_a_state_of_integers_stops():
    text = """g (float[2] x) => (float y) <int64 n = {3}> {
        last, z = Loop (n, , x, x) <body = b (int64 i, bool c, float[2] s, float[2] r) => (bool d, float[2] t, float[2] q) {
          d = Identity (c)  t = Floor (s)  q = Add (r, t) }>
        y = ReduceSum <keepdims = 0> (z) }"""
    made = rondel.grad(model_of(text), wrt="x")
    (gx,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], {"x": np.array([0.5, 1.5], np.float32)})
    np.testing.assert_array_equal(gx, [1, 1])


def test_what_a_rule_does_not_support_inside_a_loop_is_named():
    text = """g (float[] x, float[A,B,C] w) => (float y) <int64 n = {2}> {
        z = Loop (n, , x) <body = b (int64 i, bool c, float[] s) => (bool d, float[] t) {
          d = Identity (c)  e = ConvTranspose <auto_pad = "SAME_UPPER"> (s, w)  t = Exp (e) }>
        y = ReduceSum <keepdims = 0> (z) }"""
    with pytest.raises(rondel.UnsupportedError, match=r"'e' .ConvTranspose.: .*known extents.*'t' <- 'e'"):
        rondel.grad(model_of(text), wrt="x")
