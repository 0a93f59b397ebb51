"""Gradients through sequences and optionals: against central differences in float64, and in other runtimes."""

import numpy as np
import onnxruntime
import pytest
import rondel
from differences import check_gradient, elsewhere
from test_loop_gradients import feeds_of, model_of

#: name: (the model, the shapes or values of its inputs)
CASES = {
    "a sequence of inputs, of which positions are read": (
        """g (double[2] x, double[3] z) => (double[2] a, double[k] b) <int64 first = {0}, int64 last = {-1}> {
             s = SequenceConstruct (x, z, x)  a = SequenceAt (s, first)  p = SequenceAt (s, last)  one = Constant <value_int = 1> ()
             q = SequenceAt (s, one)  b = Concat <axis = 0> (p, q, p) }""",
        {"x": (2,), "z": (3,)},
    ),
    "a tensor before a position, and last": (
        """g (double[2] x, double[2] z) => (double[8] y) <int64 before = {-1}, int64 second = {1}> {
             s = SequenceConstruct (x, z)  p = Mul (x, z)  t = SequenceInsert (s, p, before)  q = Sin (z)
             u = SequenceInsert (t, q)  w = SequenceInsert (u, x, second)  v = SequenceErase (w, before)  y = ConcatFromSequence <axis = 0> (v) }""",
        {"x": (2,), "z": (2,)},
    ),
    "what is erased gets nothing": (
        """g (double[2] x, double[3] z) => (double[n] y) <int64 at = {-2}> {
             p = Mul (x, x)  s = SequenceConstruct (x, z, p, z)  t = SequenceErase (s, at)  u = SequenceErase (t)
             v = SequenceErase (s)  j = ConcatFromSequence <axis = -1> (u)  k = ConcatFromSequence <axis = 0> (v)
             y = Concat <axis = 0> (j, k) }""",
        {"x": (2,), "z": (3,)},
    ),
    "parts of an axis, and joined again": (
        """g (double[5,2] x) => (double[5,2] a, double[2,k] b, double[3,2] c) <int64[3] lengths = {1, 3, 1}, int64 each = {2}, int64 first = {1}> {
             s = SplitToSequence <axis = 0> (x, lengths)  a = ConcatFromSequence <axis = 0> (s)  c = SequenceAt (s, first)
             t = SplitToSequence <axis = 1, keepdims = 0> (x)  b = ConcatFromSequence <axis = 0, new_axis = 1> (t) }""",
        {"x": (5, 2)},
    ),
    "parts of one length, along the last axis": (
        """g (double[2,5] x) => (double[2,5] y) <int64 each = {2}> {
             s = SplitToSequence <axis = -1> (x, each)  t = SplitToSequence (x)  a = ConcatFromSequence <axis = 1> (s)
             b = ConcatFromSequence <axis = 0> (t)  y = Mul (a, b) }""",
        {"x": (2, 5)},
    ),
    "joined along a new last axis": (
        """g (double[2] x, double[2] z) => (double[2,3] y) {
             s = SequenceConstruct (x, z, x)  y = ConcatFromSequence <axis = -1, new_axis = 1> (s) }""",
        {"x": (2,), "z": (2,)},
    ),
    "a position of the run": (
        """g (double[3,2] x, double[2] z) => (double[2] y) {
             size = Shape (z)  two = Squeeze (size)  back = Neg (two)  s = SplitToSequence <keepdims = 0> (x)
             t = SequenceInsert (s, z, back)  u = SequenceErase (t, two)  a = SequenceAt (u, back)  b = SequenceAt (t, two)  y = Mul (a, b) }""",
        {"x": (3, 2), "z": (2,)},
    ),
    "an if that gives a sequence": (
        """g (double[2] x, double[3] z) => (double[n] y) {
             m = ReduceMax <keepdims = 0> (x)  zero = Sub (m, m)  c = Less (zero, m)
             s = If (c) <then_branch = p () => (seq(double) a) { e = Sin (x)  a = SequenceConstruct (e, z) },
                         else_branch = q () => (seq(double) b) { b = SequenceConstruct (z) }>
             y = ConcatFromSequence <axis = 0> (s) }""",
        {"x": (2,), "z": (3,)},
    ),
    "an if that reads a sequence": (
        """g (double[3] x, double[3] z) => (double[3] y) <int64 at = {1}> {
             s = SequenceConstruct (x, z, x)  m = ReduceMax <keepdims = 0> (x)  zero = Sub (m, m)  c = Less (zero, m)
             y = If (c) <then_branch = p () => (double[3] a) { e = SequenceAt (s, at)  a = Mul (e, e) },
                         else_branch = q () => (double[3] b) { b = Identity (x) }> }""",
        {"x": (3,), "z": (3,)},
    ),
    "a loop that collects": (
        """g (double[2] x, double[2] w) => (double[n,2] y, double[2] last) <int64 n = {3}> {
             none = SequenceEmpty <dtype = 11> ()
             last, all = Loop (n, , x, none) <body = b (int64 i, bool c, double[2] s, seq(double) l) => (bool d, double[2] t, seq(double) m) {
               d = Identity (c)  u = Mul (s, w)  t = Sin (u)  m = SequenceInsert (l, t) }>
             y = ConcatFromSequence <axis = 0, new_axis = 1> (all) }""",
        {"x": (2,), "w": (2,)},
    ),
    "a loop that reads what it has collected": (
        """g (double[2] x, double[2] w) => (double[2] y) <int64 n = {3}, int64 two = {2}> {
             start = SequenceConstruct (x, w)
             last, all = Loop (n, , x, start) <body = b (int64 i, bool c, double[2] s, seq(double) l) => (bool d, double[2] t, seq(double) m) {
               d = Identity (c)  e = SequenceAt (l, i)  u = Mul (s, e)  t = Sin (u)  m = SequenceInsert (l, t, i) }>
             a = SequenceAt (all, two)  y = Mul (a, last) }""",
        {"x": (2,), "w": (2,)},
    ),
    "a loop that joins what it has collected, of growing shapes": (
        """g (double[2] x) => (double[k] y) <int64 n = {3}> {
             start = SequenceConstruct (x)
             all = Loop (n, , start) <body = b (int64 i, bool c, seq(double) l) => (bool d, seq(double) m) {
               d = Identity (c)  j = ConcatFromSequence <axis = 0> (l)  t = Sin (j)  m = SequenceInsert (l, t) }>
             y = ConcatFromSequence <axis = 0> (all) }""",
        {"x": (2,)},
    ),
    "a loop that takes away": (
        """g (double[4,2] x, double[2] h) => (double[2] y, double[2] z) <int64 n = {3}, int64 front = {0}> {
             parts = SplitToSequence <keepdims = 0> (x)
             y, rest = Loop (n, , h, parts) <body = b (int64 i, bool c, double[2] s, seq(double) l) => (bool d, double[2] t, seq(double) m) {
               d = Identity (c)  e = SequenceAt (l, front)  u = Mul (s, e)  t = Sin (u)  m = SequenceErase (l, front) }>
             z = SequenceAt (rest, front) }""",
        {"x": (4, 2), "h": (2,)},
    ),
    "a loop over a sequence around it": (
        """g (double[3,2] x, double[2] w) => (double[2] y) {
             parts = SplitToSequence <keepdims = 0> (x)  n = SequenceLength (parts)
             y = Loop (n, , w) <body = b (int64 i, bool c, double[2] s) => (bool d, double[2] t) {
               d = Identity (c)  e = SequenceAt (parts, i)  u = Mul (s, e)  t = Sin (u) }> }""",
        {"x": (3, 2), "w": (2,)},
    ),
    "a loop of no trips over a sequence": (
        """g (double[2] x) => (double[2] y) <int64 n = {0}> {
             start = SequenceConstruct (x)
             all = Loop (n, , start) <body = b (int64 i, bool c, seq(double) l) => (bool d, seq(double) m) {
               d = Identity (c)  m = SequenceErase (l) }>
             y = ConcatFromSequence <axis = 0> (all) }""",
        {"x": (2,)},
    ),
    "a loop in a loop that collects": (
        """g (double[2] x) => (double[n,2] y) <int64 n = {2}> {
             none = SequenceEmpty <dtype = 11> ()
             all = Loop (n, , none) <body = b (int64 i, bool c, seq(double) l) => (bool d, seq(double) m) {
               d = Identity (c)
               m, last = Loop (n, , l, x) <body = b2 (int64 i2, bool c2, seq(double) l2, double[2] s) => (bool d2, seq(double) m2, double[2] t) {
                 d2 = Identity (c2)  t = Mul (s, x)  m2 = SequenceInsert (l2, t) }> }>
             y = ConcatFromSequence <axis = 0, new_axis = 1> (all) }""",
        {"x": (2,)},
    ),
    "an if in a loop that collects": (
        """g (double[2] x, double[2] w) => (double[k] y) <int64 n = {4}, int64 two = {2}> {
             start = SequenceConstruct (x)
             all, last = Loop (n, , start, x) <body = b (int64 i, bool c, seq(double) l, double[2] s) => (bool d, seq(double) m, double[2] t) {
               d = Identity (c)  r = Mod (i, two)  k = Cast <to = 9> (r)  u = Mul (s, w)  t = Sin (u)
               m = If (k) <then_branch = p () => (seq(double) a) { a = SequenceInsert (l, t) },
                           else_branch = q () => (seq(double) e) { e = SequenceInsert (l, w, i) }> }>
             y = ConcatFromSequence <axis = 0> (all) }""",
        {"x": (2,), "w": (2,)},
    ),
    "each tensor of a sequence": (
        """g (double[2] x, double[3] z) => (double[5] y) {
             s = SequenceConstruct (x, z)
             t = SequenceMap (s) <body = b (double[k] e) => (double[k] f) { u = Mul (e, e)  f = Sin (u) }>
             y = ConcatFromSequence <axis = 0> (t) }""",
        {"x": (2,), "z": (3,)},
    ),
    "products with what a list holds": (
        """g (double[2] x, double[2,2] w) => (double[2] y) <int64 n = {3}, int64[1] zero = {0}> {
             none = SequenceEmpty <dtype = 11> ()  start = SequenceInsert (none, x)
             last, all = Loop (n, , x, start) <body = b (int64 i, bool c, double[2] s, seq(double) l) => (bool d, double[2] t, seq(double) m) {
               d = Identity (c)  e = SequenceAt (l, i)  p = MatMul (e, w)  q = Add (p, s)  t = Sin (q)  m = SequenceInsert (l, t) }>
             a = ConcatFromSequence <axis = 0, new_axis = 1> (all)  r = MatMul (a, w)  y = ReduceMean <keepdims = 0> (r, zero) }""",
        {"x": (2,), "w": (2, 2)},
    ),
    "an optional": (
        """g (double[2] x) => (double[2] y) { p = Mul (x, x)  o = Optional (p)  a = OptionalGetElement (o)  b = OptionalGetElement (o)  y = Mul (a, b) }""",
        {"x": (2,)},
    ),
    "an optional sequence": (
        """g (double[2] x, double[2] z) => (double[4] y) {
             s = SequenceConstruct (x, z)  o = Optional (s)  t = OptionalGetElement (o)  u = ConcatFromSequence <axis = 0> (t)
             v = ConcatFromSequence <axis = 0> (s)  y = Mul (u, v) }""",
        {"x": (2,), "z": (2,)},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_against_central_differences(case):
    text, given = case
    rng = np.random.default_rng(11)
    check_gradient(model_of(text), feeds_of(given, rng), rng)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_file_gives_the_same_numbers_elsewhere(case):
    text, given = case
    feeds = feeds_of(given, np.random.default_rng(12))
    names = [output.name for output in rondel.InferenceSession(model_of(text)).get_outputs()]
    made = rondel.grad(model_of(text), wrt=list(given), outputs=names)
    ours = rondel.InferenceSession(made.SerializeToString()).run(None, feeds)
    for got, want in zip(ours, elsewhere(made, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["a loop that collects", "a loop that reads what it has collected", "parts of an axis, and joined again"])
def test_second_derivatives(name):
    text, given = CASES[name]
    rng = np.random.default_rng(13)
    names = [output.name for output in rondel.InferenceSession(model_of(text)).get_outputs()]
    once = rondel.grad(model_of(text), wrt=list(given), outputs=names, prefix="first_")
    check_gradient(once.SerializeToString(), feeds_of(given, rng), rng, outputs=[f"first_{n}" for n in given])


@pytest.mark.parametrize("checkpoint", ["sqrt", 1, 2])
@pytest.mark.parametrize("name", [name for name in CASES if "loop" in name])
def test_checkpoints_keep_sequences(name, checkpoint):
    text, given = CASES[name]
    feeds = feeds_of(given, np.random.default_rng(15))
    names = [output.name for output in rondel.InferenceSession(model_of(text)).get_outputs()]
    plain, cut = (
        rondel.InferenceSession(rondel.grad(model_of(text), wrt=list(given), outputs=names, checkpoint=how).SerializeToString()).run(None, feeds)
        for how in ("none", checkpoint)
    )
    for got, want in zip(cut, plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("held", [0, 1, 3, 9])
def test_a_loop_that_carries_optionals(held):
    """An optional tensor, which is empty until trip `held`, and an optional sequence."""
    text = """g (double[2] x, double[2] w, int64 held) => (double[2] y, double[k] z) <int64 n = {4}> {
        none = Optional <type = double[2]> ()  list = SequenceConstruct (w)  some = Optional (list)
        y, last, rest = Loop (n, , x, none, some) <body = b (int64 i, bool c, double[2] s, optional(double[2]) o, optional(seq(double[2])) l)
            => (bool d, double[2] t, optional(double[2]) p, optional(seq(double[2])) m) {
          d = Identity (c)  h = OptionalHasElement (o)  k = LessOrEqual (held, i)
          u = If (h) <then_branch = r () => (double[2] e) { f = OptionalGetElement (o)  e = Mul (f, s) },
                      else_branch = q () => (double[2] a) { a = Mul (s, w) }>
          t = Sin (u)
          p = If (k) <then_branch = r2 () => (optional(double[2]) e2) { e2 = Optional (t) },
                      else_branch = q2 () => (optional(double[2]) a2) { a2 = Optional <type = double[2]> () }>
          v = OptionalGetElement (l)  v2 = SequenceInsert (v, u)  m = Optional (v2) }>
        g = OptionalGetElement (rest)  z = ConcatFromSequence <axis = 0> (g) }"""
    rng = np.random.default_rng(14)
    feeds = {"x": rng.uniform(0.3, 1.2, 2), "w": rng.uniform(0.3, 1.2, 2), "held": np.array(held)}
    check_gradient(model_of(text), feeds, rng)
    # In float32: ONNX Runtime has no Sin of doubles, and onnx's reference evaluator fails on optionals in loops.
    made = rondel.grad(model_of(text.replace("double", "float")), wrt=["x", "w"], outputs=["y", "z"]).SerializeToString()
    narrow = {name: x.astype(np.float32) if name != "held" else x for name, x in feeds.items()}
    ours, theirs = (runtime.InferenceSession(made).run(None, narrow) for runtime in (rondel, onnxruntime))
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("held", [True, False])
def test_an_optional_that_may_be_empty(held):
    text = """g (double[2] x, bool k) => (double[2] y) {
        o = If (k) <then_branch = p () => (optional(double[2]) a) { s = Sin (x)  a = Optional (s) },
                    else_branch = q () => (optional(double[2]) b) { b = Optional <type = double[2]> () }>
        h = OptionalHasElement (o)
        y = If (h) <then_branch = r () => (double[2] c) { e = OptionalGetElement (o)  c = Mul (e, x) },
                    else_branch = t () => (double[2] d) { d = Identity (x) }> }"""
    x = np.array([0.5, 2.0])
    made = rondel.grad(model_of(text), wrt="x", outputs="y")
    (gx,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], {"x": x, "k": np.array(held)})
    np.testing.assert_allclose(gx, np.sin(x) + x * np.cos(x) if held else np.ones(2))


def test_no_parts_give_zeros():
    text = """g (double[N,2] x) => (double y) {
        s = SplitToSequence (x)  n = SequenceLength (s)  zero = Constant <value_float = 0.0> ()  start = Cast <to = 11> (zero)
        y = Loop (n, , start) <body = b (int64 i, bool c, double a) => (bool d, double e) {
          d = Identity (c)  p = SequenceAt (s, i)  q = Mul (p, p)  r = ReduceSum <keepdims = 0> (q)  e = Add (a, r) }> }"""
    made = rondel.grad(model_of(text), wrt="x")
    session = rondel.InferenceSession(made.SerializeToString())
    for rows in (0, 1, 3):
        x = np.arange(2.0 * rows).reshape(rows, 2)
        np.testing.assert_array_equal(session.run(["grad_x"], {"x": x})[0], 2 * x)


def test_a_loop_that_only_collects_keeps_nothing_for_its_gradient():
    """What the forward loop collects is a stack, whose adjoint is scanned: no list, and nothing but the states that a trip reads."""
    text, _ = CASES["a loop that collects"]
    made = rondel.grad(model_of(text), wrt="x", outputs=["y", "last"])
    forward = next(n for n in made.graph.node if n.op_type in ("Loop", "Scan"))
    body = forward.attribute[0].g
    assert not {n.op_type for n in body.node} & {"SequenceInsert", "Loop", "Scan"}


def test_a_tensor_that_a_trip_reads_is_added_at_its_position():
    """A trip does not iterate over the whole sequence."""
    text, _ = CASES["a loop over a sequence around it"]
    made = rondel.grad(model_of(text), wrt="x", outputs=["y"])
    loops = [n for n in made.graph.node if n.op_type in ("Loop", "Scan")]
    assert len(loops) > 1
    for loop in loops:
        assert not any(n.op_type in ("Loop", "Scan") for n in loop.attribute[0].g.node)
