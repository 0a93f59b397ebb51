"""Gradients of gradients of loops whose states change their extents: native code gives the interpreter's bits, and each storage plan is proved."""

import numpy as np
import pytest
import rondel
from models import model, run_as

#: The name of a loop: the model, its input x, and how the gradients are checkpointed.
LOOPS = {
    "a cache that each trip reads": (
        """g (double[1,3] x, int64 n) => (double[k,3] y) {
             y, last = Loop (n, , x, x) <body = b (int64 i, bool c, double[m,3] s, double[1,3] q) => (bool d, double[m2,3] t, double[1,3] q2) {
               d = Identity (c)  st = Transpose <perm = [1, 0]> (s)  sc = MatMul (q, st)  a = Softmax <axis = -1> (sc)
               q2 = MatMul (a, s)  r = Sin (q2)  t = Concat <axis = 0> (s, r) }> }""",
        [[0.3, 0.4, 0.1]],
        "none",
    ),
    "a part as long as the trip": (
        """g (double[6] x, int64 n) => (double[k] y, double[m] z) <int64[1] zero = {0}> {
             y, z = Loop (n, , x, x) <body = b (int64 i, bool c, double[m] s, double[m] q) => (bool d, double[m2] t, double[m] q2) {
               d = Identity (c)  to = Unsqueeze (i, zero)  p = Slice (s, zero, to, zero)  e = Sin (p)  h = ReduceSum <keepdims = 0> (e)
               r = Unsqueeze (h, zero)  t = Concat <axis = 0> (s, r)  q2 = Add (q, h) }> }""",
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "none",
    ),
    "a state that shrinks": (
        """g (double[6] x, int64 n) => (double[k] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] all = {9999}> {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[m] s) => (bool d, double[m2] t) {
               d = Identity (c)  e = Sin (s)  h = Mul (e, s)  t = Slice (h, one, all, zero) }> }""",
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "sqrt",
    ),
    "a product whose transpose has no known rank": (
        """g (double[2,3] x, int64 n) => (y) <double[3] a = {0.5, -0.3, 0.2}, int64[1] zero = {0}> {
             b = ReduceSum <keepdims = 0> (x)  c = Mul (a, b)
             y = Loop (n, , x) <body = b (int64 i, bool c0, double[m,3] s) => (bool d, double[m2,3] t) {
               d = Identity (c0)  p = MatMul (s, c)  e = ReduceSum <keepdims = 1> (p)  r = Unsqueeze (e, zero)  q = Mul (r, c)  u = Concat <axis = 0> (s, q)  t = Tanh (u) }> }""",
        [[0.3, 0.4, 0.1], [-0.2, 0.5, 0.6]],
        "none",
    ),
    "a state that doubles": (
        """g (double[2] x, int64 n) => (double[k] y) {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[m] s) => (bool d, double[m2] t) {
               d = Identity (c)  e = Sin (s)  t = Concat <axis = 0> (s, e) }> }""",
        [0.3, 0.4],
        "sqrt",
    ),
    "a state that an inner loop grows": (
        """g (double[2] x, int64 n) => (double[k] y) <int64[1] zero = {0}, int64 two = {2}> {
             y = Loop (n, , x) <body = b (int64 i, bool c, double[m] s) => (bool d, double[m2] t) {
               d = Identity (c)
               t = Loop (two, , s) <body = b2 (int64 j, bool c2, double[m3] u) => (bool d2, double[m4] v) {
                 d2 = Identity (c2)  e = Sin (u)  h = ReduceSum <keepdims = 0> (e)  r = Unsqueeze (h, zero)  v = Concat <axis = 0> (u, r) }> }> }""",
        [0.3, 0.4],
        "sqrt",
    ),
}


def runs(made, outputs, feeds, jit, monkeypatch):
    run_as(monkeypatch, jit)
    session = rondel.InferenceSession(made)
    return [session.run(outputs, feeds) for _ in range(3)]


@pytest.mark.filterwarnings("ignore:.*cond is left out")
@pytest.mark.parametrize("name", LOOPS)
def test_second_derivatives(name, monkeypatch):
    text, x, checkpoint = LOOPS[name]
    first = rondel.grad(model(text, opset=21), ["x"], ["y"], ["dy"], checkpoint=checkpoint)
    second = rondel.grad(first.SerializeToString(), ["x"], ["grad_x"], ["dg"], checkpoint=checkpoint, prefix="second_").SerializeToString()
    feeds = {"x": np.array(x), "n": np.array(3), "dg": np.ones_like(x)}
    run_as(monkeypatch, "0")
    (y,) = rondel.InferenceSession(model(text, opset=21)).run(["y"], {n: feeds[n] for n in ("x", "n")})
    feeds["dy"] = np.ones_like(y)
    (want,), *_ = runs(second, ["second_x"], feeds, "0", monkeypatch)
    step = 1e-6
    gradients = [runs(first.SerializeToString(), ["grad_x"], {k: v for k, v in feeds.items() if k != "dg"} | {"x": feeds["x"] + d}, "0", monkeypatch)[0][0] for d in _steps(feeds["x"], step)]
    np.testing.assert_allclose(want.ravel(), [(high - low).sum() / (2 * step) for high, low in zip(gradients[::2], gradients[1::2], strict=True)], rtol=1e-6, atol=1e-7)
    for (got,) in runs(second, ["second_x"], feeds, "quick", monkeypatch):
        assert got.tobytes() == want.tobytes()


def _steps(x, step):
    """For each element, a step up and a step down."""
    for k in range(x.size):
        for way in (step, -step):
            moved = np.zeros(x.size)
            moved[k] = way
            yield moved.reshape(x.shape)


def test_of_a_model_that_declares_no_ranks():
    """ONNX wants ranks of the inputs and outputs of a model, so that a gradient of one without ranks is written with optionals."""
    twice = model("g (double[n] x) => (double[n] y) { y = Tanh (x) }")
    for port in (twice.graph.input[0], twice.graph.output[0]):
        port.type.tensor_type.ClearField("shape")
    for order, name in enumerate(["y", "grad_x"]):
        twice = rondel.grad(twice, ["x"], [name], [f"seed{order}"], prefix="q" * order + ("grad_" if order == 0 else "_"))
    one = np.ones(1)
    (curvature,) = rondel.InferenceSession(twice.SerializeToString()).run(["q_x"], {"x": one / 2, "seed0": one, "seed1": one})
    t = np.tanh(one / 2)
    np.testing.assert_allclose(curvature, -2 * t * (1 - t**2))
