"""What gradients are where a function has no derivative: at ties, kinks and zeros, of rows that a mask empties, of draws."""

import numpy as np
import pytest
import rondel
from differences import check_gradient, elsewhere
from onnx import helper, numpy_helper, parser


def test_nothing_flows_through_draws():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[3] x) => (double[3] y, double[3] u) {
          u = RandomUniformLike (x)  n = RandomNormalLike (x)  p = Mul (x, u)  y = Add (p, n) }""")
    x = np.array([0.5, 1, 2])
    made = rondel.grad(model, wrt="x", outputs="y")
    u, gx = rondel.InferenceSession(made.SerializeToString()).run(["u", "grad_x"], {"x": x})
    np.testing.assert_array_equal(gx, u)


@pytest.mark.parametrize("op, at", [("ScatterElements <axis = 0>", "int64[4] {0, 2, -4, 2}"), ("ScatterND", "int64[4,1] {0, 2, -4, 2}")])
def test_of_several_updates_at_a_place_the_last_one_stays(op, at):
    kind, values = at.split(" ", 1)
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[4] x, double[4] u) => (double[4] y) <{kind} at = {values}> {{ y = {op} (x, at, u) }}""")
    rng = np.random.default_rng(6)
    _, fed, got = check_gradient(model.SerializeToString(), {"x": rng.standard_normal(4), "u": rng.standard_normal(4)}, rng)
    dy = fed["seed_y"]
    np.testing.assert_array_equal(got[0], [0, dy[1], 0, dy[3]])
    np.testing.assert_array_equal(got[1], [0, 0, dy[0], dy[2]])


@pytest.mark.parametrize("p", [1, 2])
def test_a_row_of_zeros_that_is_normalized_gets_zeros(p):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,3] x) => (double[2,3] y) {{ y = LpNormalization <axis = 1, p = {p}> (x) }}""")
    made = rondel.grad(model, wrt="x", outputs="y", seed="dy")
    feeds = {"x": np.array([[0.0, 0, 0], [1, 2, 2]]), "dy": np.array([[1.0, 2, 3], [1, 2, 3]])}
    (gx,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], feeds)
    np.testing.assert_array_equal(gx[0], np.zeros(3))
    assert np.isfinite(gx).all() and gx[1].any()


def test_equal_elements_of_unique_give_to_the_first():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[5] x) => (double[k] y) { y = Unique (x) }""")
    made = rondel.grad(model, wrt="x", outputs="y", seed="dy")
    feeds = {"x": np.array([3.0, 1, 3, 2, 1]), "dy": np.array([10.0, 20, 30])}
    (gx,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], feeds)
    np.testing.assert_array_equal(gx, [30, 10, 0, 20, 0])


def test_celu_is_smooth_at_zero():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[5] x) => (float y) { c = Celu <alpha = 0.5> (x)  y = ReduceSum <keepdims = 0> (c) }""")
    x = np.array([-3, -0.5, 0, 0.5, 3], np.float32)
    _, got = rondel.InferenceSession(rondel.grad(model, wrt="x").SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(got, np.exp(np.minimum(x, 0) / 0.5), rtol=1e-6)


def test_ties_share_and_kinks_give_zero():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[4] x, double[4] z) => (double y) {
          m = Max (x, z)  r = Relu (x)  a = Abs (x)  top = ReduceMax <keepdims = 0> (x)
          s = Sum (m, r, a)  t = ReduceSum <keepdims = 0> (s)  y = Add (t, top) }""")
    made = rondel.grad(model, wrt=["x", "z"])
    x, z = np.array([1.0, 0.0, 1.0, -2.0]), np.array([1.0, 0.0, -1.0, 5.0])
    _, gx, gz = rondel.InferenceSession(made.SerializeToString()).run(None, {"x": x, "z": z})
    np.testing.assert_array_equal(gx, [0.5 + 1 + 1 + 0.5, 0.5, 1 + 1 + 1 + 0.5, -1])
    np.testing.assert_array_equal(gz, [0.5, 0.5, 0, 1])


@pytest.mark.parametrize("op, above", [("Elu", 1), ("Celu", 1), ("Selu", 1.0507010221481323), ("LeakyRelu", 1)])
def test_at_0_the_derivative_is_that_from_above(op, above):
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> f (float[3] x) => (float[3] y) {{ y = {op} (x) }}')
    _, gradients = rondel.value_and_grad(model, iter(["x"]), iter(["y"]))({"x": np.array([-1e-9, 0, 1e-9], np.float32)})
    assert gradients["x"][1] == gradients["x"][2] == np.float32(above)
    assert op in ("Elu", "Celu") or gradients["x"][0] != gradients["x"][1]


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("op", ["GlobalLpPool <p = {}>", "LpPool <p = {}, kernel_shape = [3]>"])
def test_norms_of_zeros_have_gradients_of_zeros(op, p):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[1,2,3] x) => (double[1,2,1] y) {{ y = {op.format(p)} (x) }}""")
    x = np.array([[[0, 0, 0], [1.0, 2, 3]]])
    y, gradients = rondel.value_and_grad(model, ["x"], ["y"])({"x": x})
    want = np.stack([np.zeros(3), (x[0, 1] / y[0, 1]) ** (p - 1)])
    np.testing.assert_allclose(gradients["x"][0], want, rtol=1e-12)
    tangents = rondel.InferenceSession(rondel.jvp(model, ["x"])).run(["tangent_y"], {"x": x, "tangent_x": x})
    np.testing.assert_allclose(tangents[0], y, rtol=1e-12)


#: Masks of the scores of queries that are masked as a whole, in bits for each key.
MASKED_ROWS = [[[0, 0, 0], [1, 1, 0]], [[0, 0, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]]


@pytest.mark.parametrize("mask", MASKED_ROWS, ids=str)
@pytest.mark.parametrize("how", ["", "<softcap = 2.0>", "<is_causal = 1>"])
def test_a_query_without_keys_has_the_gradient_0(mask, how):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 23]>
        f (double[1,2,2,2] q, double[1,2,3,2] k, double[1,2,3,2] v, bool[2,3] m) => (double[1,2,2,2] y) {{
          y = Attention {how} (q, k, v, m) }}""").SerializeToString()
    rng = np.random.default_rng(1)
    shapes = {"q": (1, 2, 2, 2), "k": (1, 2, 3, 2), "v": (1, 2, 3, 2)}
    feeds = {n: rng.standard_normal(s) for n, s in shapes.items()} | {"m": np.array(mask, bool)}
    made, fed, got = check_gradient(model, feeds, rng)
    np.testing.assert_array_equal(got[0][:, :, ~feeds["m"].any(1)], 0)
    for here, there in zip(got, elsewhere(made, fed)[-3:]):
        np.testing.assert_allclose(here, there, atol=1e-12)


def test_the_scores_of_a_softmax_stay_where_some_of_its_row_is_taken():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,3] x, bool[2,3] e, bool[2,1] r) => (double[2,3] y, double[2,3] z, double[2,3] u, double[2,3] w) {
          s = Softmax (x)  y = Where (e, x, s)  z = Where (r, x, s)  c = Softmax <axis = 0> (x)  u = Where (r, c, x)  w = Where (r, s, x) }""")
    rng = np.random.default_rng(2)
    feeds = {"x": rng.standard_normal((2, 3)), "e": np.array([[1, 0, 0], [0, 1, 1]], bool), "r": np.array([[1], [0]], bool)}
    check_gradient(model.SerializeToString(), feeds, rng)


@pytest.mark.parametrize("value, dtype", [(1e5, "float"), (1e7, "float"), (300.0, "bfloat16"), (300.0, "float16"), (-1e7, "float"), (-np.inf, "float")])
def test_the_weights_of_a_logarithm_of_a_sum_add_up_to_1(value, dtype):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f ({dtype}[2] x) => ({dtype} y) {{ y = ReduceLogSumExp <keepdims = 0> (x) }}""")
    x = np.full(2, value, helper.tensor_dtype_to_np_dtype({"float": 1, "bfloat16": 16, "float16": 10}[dtype]))
    _, gradients = rondel.value_and_grad(model, "x")({"x": x})
    np.testing.assert_array_equal(gradients["x"].astype(np.float64), np.zeros(2) if np.isinf(value) else [0.5, 0.5])


@pytest.mark.parametrize("how, want", [
    ("kernel_shape = [1], pads = [1, 1]", [1, 1]),
    ("kernel_shape = [1], pads = [1, 0], strides = [2]", [0, 1]),
    ("kernel_shape = [2], dilations = [3], pads = [1, 1]", [0, 0]),
])  # fmt: skip
def test_windows_of_padding_alone_have_no_gradient(how, want):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,1,2] x) => (double[2,1,n] y) {{ y = MaxPool <{how}> (x) }}""")
    _, gradients = rondel.value_and_grad(model, ["x"], ["y"])({"x": np.array([[[1.0, 2]], [[3, 4]]])})
    np.testing.assert_array_equal(gradients["x"], [[want], [want]])


def test_rows_that_are_nan_and_replaced_hide_nothing_of_the_others():
    """What exporters write for attention with a mask of bools: zeros for queries without keys."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,2] q, double[3,2] k, double[3,2] v, bool[2,3] m) => (double[2,2] y) <double zero = {0}, double least = {-inf}> {
          t = Transpose (k)  s = MatMul (q, t)  b = Where (m, zero, least)  a = Add (s, b)  p = Softmax (a)
          n = IsNaN (p)  w = Where (n, zero, p)  y = MatMul (w, v) }""".replace("{-inf}", "{-1}"))
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array(-np.inf), "least"))
    rng = np.random.default_rng(3)
    feeds = {n: rng.standard_normal(shape) for n, shape in {"q": (2, 2), "k": (3, 2), "v": (3, 2)}.items()}
    _, _, (gq, gk, gv) = check_gradient(model.SerializeToString(), {**feeds, "m": np.array([[1, 0, 1], [0, 0, 0]], bool)}, rng)
    assert not gq[1].any() and gq[0].any() and gk.any() and gv.any()


def test_the_first_step_of_adam_has_a_gradient_by_its_rate():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
        f (float r, float[2] x, float[2] g, float[2] v, float[2] h) => (float[2] y) <int64 t = {0}> {
          y, v2, h2 = ai.onnx.preview.training.Adam (r, t, x, g, v, h) }""")
    ones = np.ones(2, np.float32)
    at = lambda r: {"r": np.float32(r), "x": ones, "g": ones, "v": 0 * ones, "h": 0 * ones}  # noqa: E731
    y, gradients = rondel.value_and_grad(model, "r", ["y"])(at(0.1))
    far = rondel.InferenceSession(model).run(["y"], at(1.1))[0]
    assert gradients["r"] == pytest.approx((far - y).sum(), rel=1e-5)


def test_powers_of_zero_have_no_gradient_by_their_exponents():
    model = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> f (double[4] x, double[4] p) => (double[4] y) { y = Pow (x, p) }')
    _, gradients = rondel.value_and_grad(model, "p", ["y"])({"x": np.zeros(4), "p": np.array([2.0, 0, -0.5, -1])})
    np.testing.assert_array_equal(gradients["p"], np.zeros(4))
