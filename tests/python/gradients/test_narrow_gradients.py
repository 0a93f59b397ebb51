"""Gradients of models of f16 and bf16: what many terms add to, or a formula of several steps gives, is rounded once."""

import ml_dtypes
import numpy as np
import onnx
import pytest
import rondel
from onnx import parser

DTYPES = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
NARROW = ["float16", "bfloat16"]


def model_in(dtype, text, opset=22):
    """The model of a text in which T stands for the dtype."""
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> m {text.replace("T[", dtype + "[")}')


def gradients(model, wrt, outputs, feeds):
    made = rondel.grad(model, wrt, outputs)
    onnx.checker.check_model(made, full_check=True)
    return rondel.InferenceSession(made.SerializeToString()).run([f"grad_{n}" for n in wrt], feeds)


def check_as_in_f32(dtype, text, wrt, outputs, feeds, opset=22):
    """The gradients are those of the same model and numbers in f32, rounded to the dtype."""
    narrow = {n: x.astype(DTYPES[dtype]) if x.dtype.kind == "f" else x for n, x in feeds.items()}
    wide = {n: x.astype(np.float32) if n in feeds and feeds[n].dtype.kind == "f" else x for n, x in narrow.items()}
    got = gradients(model_in(dtype, text, opset), wrt, outputs, narrow)
    want = gradients(model_in("float", text, opset), wrt, outputs, wide)
    for name, g, w in zip(wrt, got, want):
        assert g.dtype == DTYPES[dtype] and g.shape == w.shape
        assert np.abs(w).max() > 0, "a case without a gradient"
        step = float(ml_dtypes.finfo(DTYPES[dtype]).eps)
        np.testing.assert_allclose(g.astype(np.float32), w, rtol=2 * step, atol=step * np.abs(w).max(), err_msg=name)


MANY = 5000  #: terms of 1: a sum of bf16 stops at 256, one of f16 at 2048
AT_1 = np.ones(MANY, np.int64)
ONES = np.ones((2, 1))
LOOP = "(n, , z) <body = b (int64 i, bool c, T[2] s) => (bool c2, T[2] s2, T[2] o) { c2 = Identity (c)  s2 = Identity (s)"
SUMS = {
    "Gather": ("(T[2,1] x, int64[K] i) => (T[K,1] y) { y = Gather (x, i) }", {"x": ONES, "i": AT_1}),
    "GatherElements": (
        "(T[2,1] x, int64[K,1] i) => (T[K,1] y) { y = GatherElements (x, i) }",
        {"x": ONES, "i": AT_1.reshape(-1, 1)},
    ),
    "GatherND": ("(T[2,1] x, int64[K,1] i) => (T[K,1] y) { y = GatherND (x, i) }", {"x": ONES, "i": AT_1.reshape(-1, 1)}),
    "a tile of unknown rank": (
        "(T[2] x, int64[K] s, int64[1] n) => (T[M] y) { r = Reshape (x, s)  t = Tile (r, n)  y = Identity (t) }",
        {"x": np.ones(2), "s": np.array([2]), "n": np.array([MANY])},
    ),
    "MaxPool": (
        f"(T[1,1,1] x) => (T[1,1,M] y) {{ y = MaxPool <kernel_shape = [{MANY}], pads = [{MANY - 1}, {MANY - 1}]> (x) }}",
        {"x": np.ones((1, 1, 1))},
    ),
    "a capture of a loop": (
        f"(T[2] x, T[2] z) => (T[K,2] y) <int64 n = {{{MANY}}}> {{ y0, y = Loop {LOOP}  o = Add (x, s) }}> }}",
        {"x": np.ones(2), "z": np.ones(2)},
    ),
    "two captures of a loop": (
        f"(T[2] x, T[2] w, T[2] z) => (T[K,2] y) <int64 n = {{{MANY}}}> {{ y0, y = Loop {LOOP}  p = Mul (x, w)  q = Mul (p, s)  o = Add (q, x) }}> }}",
        {"x": np.ones(2), "w": np.ones(2), "z": np.ones(2)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_many_adjoints(name, dtype):
    text, feeds = SUMS[name]
    check_as_in_f32(dtype, text, [n for n in ("x", "w") if n in feeds], ["y"], feeds)


@pytest.mark.parametrize("dtype", NARROW)
def test_products_of_narrow_floats_leave_a_reverse_loop(dtype):
    """One product behind the loop gives the weights' gradient, as of f32."""
    text = """(T[7,3,4] x, T[4,4] w, T[3,4] z) => (T[3,4] y) {
      y = Scan <num_scan_inputs = 1, body = b (T[3,4] s, T[3,4] e) => (T[3,4] t) { p = MatMul (s, w)  q = MatMul (e, w)  r = Add (p, q)  t = Tanh (r) }> (z, x) }"""
    rng = np.random.default_rng(3)
    feeds = {"x": rng.standard_normal((7, 3, 4)), "w": 0.3 * rng.standard_normal((4, 4)), "z": rng.standard_normal((3, 4))}

    def products(made):
        bodies = [a.g for n in made.graph.node if n.op_type in ("Loop", "Scan") for a in n.attribute if a.name == "body"]
        return sorted(sum(n.op_type in ("MatMul", "Gemm") for n in body.node) for body in bodies)

    assert products(rondel.grad(model_in(dtype, text), ["w"], ["y"])) == products(rondel.grad(model_in("float", text), ["w"], ["y"]))
    feeds = {n: x.astype(DTYPES[dtype]) for n, x in feeds.items()}
    (got,) = gradients(model_in(dtype, text), ["w"], ["y"], feeds)
    (want,) = gradients(model_in("float", text), ["w"], ["y"], {n: x.astype(np.float32) for n, x in feeds.items()})
    np.testing.assert_allclose(got.astype(np.float32), want, atol=0.05 * np.abs(want).max())


def test_the_variance_of_an_instance_is_beyond_f16():
    check_as_in_f32(
        "float16",
        "(T[1,1,4] x, T[1] s, T[1] b, T[1,1,4] r) => (T[1,1,4] z) { y = InstanceNormalization (x, s, b)  z = Mul (y, r) }",
        ["x", "s", "b"],
        ["z"],
        {"x": np.array([[[1000.0, 2000, 3000, 5000]]]), "s": np.ones(1), "b": np.zeros(1), "r": np.array([[[1.0, 2, -3, 4]]])},
    )


def test_an_epsilon_beyond_f16():
    feeds = {"x": np.array([[[1e-4, 2e-4]]]), "s": np.ones(1), "b": np.ones(1), "mu": np.zeros(1), "v": np.zeros(1)}
    text = "(T[1,1,2] x, T[1] s, T[1] b, T[1] mu, T[1] v) => (T[1,1,2] y) { y = BatchNormalization <epsilon = 1e-8> (x, s, b, mu, v) }"
    check_as_in_f32("float16", text, ["x", "s", "b", "mu"], ["y"], feeds)


@pytest.mark.parametrize("of_x", ["float16", "bfloat16", "float", "double"])
@pytest.mark.parametrize("of_scale", ["float", "bfloat16"])
@pytest.mark.parametrize("of_mean", ["float", "float16"])
@pytest.mark.parametrize("ranked", [True, False])
def test_a_batch_normalization_of_several_dtypes(of_x, of_scale, of_mean, ranked):
    types = DTYPES | {"double": np.float64}
    text = "(X[2,3,4] x, S[3] s, S[3] b, M[3] mu, M[3] v, int64[K] shape) => (X[A,B,C] y) { r = Reshape (x, shape)  y = BatchNormalization (r, s, b, mu, v) }"
    for letter, dtype in (("X", of_x), ("S", of_scale), ("M", of_mean)):
        text = text.replace(f"{letter}[", f"{dtype}[")
    model = model_in("", text.replace("Reshape (x, shape)", "Identity (x)") if ranked else text, 15)
    rng = np.random.default_rng(5)
    x, s, mu, v = (0.25 * rng.integers(1, 8, n).astype(np.float64) for n in ((2, 3, 4), 3, 3, 3))
    feeds = {"x": x, "s": s, "b": s, "mu": mu, "v": v}
    feeds = {n: a.astype(types[{"x": of_x, "s": of_scale, "b": of_scale}.get(n, of_mean)]) for n, a in feeds.items()}
    by, shape = list(feeds), {"shape": np.array([2, 3, 4])}
    got = rondel.InferenceSession(rondel.grad(model, by, ["y"])).run([f"grad_{n}" for n in by], feeds | shape)
    d = 1 / np.sqrt(v + 1e-5)
    off = (x - mu[:, None]).sum((0, 2))
    want = [np.broadcast_to((s * d)[:, None], x.shape), off * d, np.full(3, 8.0), -8 * s * d, -0.5 * s * d**3 * off]
    for (name, fed), g, w in zip(feeds.items(), got, want):
        assert g.dtype == fed.dtype and g.shape == fed.shape
        step = max(float(ml_dtypes.finfo(g.dtype).eps), 1e-6)
        np.testing.assert_allclose(g.astype(np.float64), w, rtol=2 * step, atol=1e-5, err_msg=name)
    tangents = {f"tangent_{n}": a for n, a in feeds.items()}
    (y,) = rondel.InferenceSession(rondel.jvp(model, by, ["y"])).run(["tangent_y"], feeds | tangents | shape)
    each = (want[0] * x).sum() + sum((w * a).sum() for w, a in zip(want[1:], (s, s, mu, v)))
    np.testing.assert_allclose(y.astype(np.float64).sum(), each, rtol=0.02, atol=0.1)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_a_batch_normalization_of_a_single_channel(shape):
    text = "(T[] x, T[1] s, T[1] b, T[1] mu, T[1] v) => (T[] y) { y = BatchNormalization <epsilon = 0.0> (x, s, b, mu, v) }"
    model = model_in("float", text.replace("T[]", f"float[{shape[0]}]" if shape else "float"))
    feeds = {"x": np.full(shape, 3, np.float32)} | {n: np.full(1, x, np.float32) for n, x in (("s", 2), ("b", 1), ("mu", 1), ("v", 4))}
    got = gradients(model, list(feeds), ["y"], feeds)
    count = max((1, *shape))
    for g, x, want in zip(got, feeds.values(), [1, count, count, -count, -0.25 * count]):
        np.testing.assert_array_equal(g, np.full_like(x, want))


@pytest.mark.parametrize("how", ["", ", pads = [0, 0, 1, 1]", ", count_include_pad = 1, pads = [0, 0, 1, 1]", ", ceil_mode = 1"])
def test_more_elements_in_a_window_than_f16_counts(how):
    text = f"(T[1,1,256,256] x, T[1] k) => (T[1,1,a,b] z) {{ y = AveragePool <kernel_shape = [256, 256]{how}> (x)  z = Mul (y, k) }}"
    check_as_in_f32("float16", text, ["x"], ["z"], {"x": np.ones((1, 1, 256, 256)), "k": np.array([30000.0])})
