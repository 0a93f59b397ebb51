"""Old versions of ops, and inputs of ops in dtypes that are rare: what test_ops_against_onnxruntime.py has no other runtime for."""

import ml_dtypes
import numpy as np
import pytest
import rondel
from models import f32, in_onnxruntime, model, refused, run, same, session

RNG = np.random.default_rng(8)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("declared", ["float[3]", "float[n]", "float[]"])
@pytest.mark.parametrize("version", [1, 6])
def test_a_slope_for_each_channel(version, declared):
    text = f"f (float[N, C, L] x, {declared} slope) => (float[N, C, L] y) {{ y = PRelu (x, slope) }}"
    x, slope = normal(1, 3, 3), f32(0.1, 0.2, 0.3)
    same(session(text, version).run(None, {"x": x, "slope": slope})[0], np.where(x < 0, x * slope[:, None], x))


@pytest.mark.parametrize("extents", [(3,), (2, 3), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("slope", [f32(0.5), np.array(0.5, np.float32)], ids=["a list", "a scalar"])
def test_a_slope_of_unknown_rank_for_all(slope, extents):
    text = "f (float[] x, float[] slope) => (float[] y) { y = PRelu (x, slope) }"
    x = normal(*extents)
    same(session(text, 6).run(None, {"x": x, "slope": slope})[0], np.where(x < 0, x * np.float32(0.5), x))


def test_a_slope_of_unknown_rank_and_several_axes():
    text = "f (float[2, 3, 4] x, float[] slope) => (float[2, 3, 4] y) { y = PRelu (x, slope) }"
    x, slope = normal(2, 3, 4), normal(3, 4)
    same(session(text, 6).run(None, {"x": x, "slope": slope})[0], np.where(x < 0, x * slope, x))


@pytest.mark.parametrize("opset", [18, 20])
def test_groups_have_scales_of_their_own(opset):
    """ONNX declares this version as taken out, and its models are still there."""
    text = "f (float[2, 6, 3] x, float[3] s, float[3] b) => (float[2, 6, 3] y) { y = GroupNormalization <num_groups = 3> (x, s, b) }"
    feeds = {"x": normal(2, 6, 3), "s": normal(3), "b": normal(3)}
    groups = feeds["x"].reshape(2, 3, 6)
    whole = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    want = (whole * feeds["s"][:, None] + feeds["b"][:, None]).reshape(2, 6, 3)
    np.testing.assert_allclose(run(text, feeds, opset)[0], want, rtol=1e-4, atol=1e-5)
    assert rondel.inspect(model(text, opset)).runs


@pytest.mark.parametrize("op, gates", [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_the_first_version_without_a_direction(op, gates):
    text = f"""f (float[3, 2, 4] x, float[1, ROWS, 4] w, float[1, ROWS, 3] r) => (float[3, 1, 2, 3] y, float[1, 2, 3] h) {{
        y, h = {op} <hidden_size = 3> (x, w, r) }}"""
    text = text.replace("ROWS", str(3 * gates))
    feeds = {"x": normal(3, 2, 4), "w": normal(1, 3 * gates, 4), "r": normal(1, 3 * gates, 3)}
    same(session(text, 1).run(None, feeds)[0], session(text, 7).run(None, feeds)[0])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_shape_to_crop_and_pad_to(dtype):
    declared = np.dtype(dtype).name
    text = f"f (float[2, 3] x, {declared}[2] shape) => (float[m, n] y) {{ y = CenterCropPad (x, shape) }}"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (got,) = run(text, {"x": x, "shape": np.array([4, 1], dtype)})
    same(got, f32(0, 1, 4, 0).reshape(4, 1))


@pytest.mark.parametrize("name, dtype, tolerance, opset", [
    ("float16", np.float16, 2e-3, 9), ("float16", np.float16, 2e-3, 13), ("bfloat16", ml_dtypes.bfloat16, 2e-2, 13),
    ("float", np.float32, 1e-5, 9), ("float", np.float32, 1e-5, 13), ("double", np.float64, 1e-12, 9), ("double", np.float64, 1e-12, 13),
])
def test_mean_and_variance_of_each_dtype(name, dtype, tolerance, opset):
    text = f"f ({name}[2, 3, 2, 2] x) => ({name}[2, 3, 2, 2] y) {{ y = MeanVarianceNormalization (x) }}"
    x = normal(2, 3, 2, 2).astype(dtype)
    wide = x.astype(np.float64)
    want = (wide - wide.mean((0, 2, 3), keepdims=True)) / (wide.std((0, 2, 3), keepdims=True) + 1e-9)
    (got,) = run(text, {"x": x}, opset)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mean, deviation", [(10, 0.001), (100, 0.01), (255, 0.05), (1000, 0.1), (3.057, 0)])
def test_a_mean_that_is_far_from_0(mean, deviation):
    text = "f (float[2, 3, 4, 4] x) => (float[2, 3, 4, 4] y) { y = MeanVarianceNormalization (x) }"
    x = (mean + deviation * normal(2, 3, 4, 4)).astype(np.float32)
    wide = x.astype(np.float64)
    distance = wide - wide.mean((0, 2, 3), keepdims=True)
    (got,) = run(text, {"x": x})
    if deviation:
        np.testing.assert_allclose(got, distance / distance.std((0, 2, 3), keepdims=True), atol=0.05)
    else:
        assert np.isfinite(got).all()


def test_the_axes_of_mean_and_variance():
    text = "f (float[2, 3] x) => (float[2, 3] y) { y = MeanVarianceNormalization <axes = [1]> (x) }"
    x = normal(2, 3)
    want = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    np.testing.assert_allclose(run(text, {"x": x})[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("lambd, bias", [(2.0, 1.0), (1.5, 0.25)])
def test_integers_are_shrunk_as_floats(dtype, lambd, bias):
    name = np.dtype(dtype).name
    text = f"f ({name}[n] x) => ({name}[n] y) {{ y = Shrink <lambd = {lambd}, bias = {bias}> (x) }}"
    x = np.array([3, 0, 2, 7, 100] + ([] if dtype == np.uint8 else [-1, -2, -3, -100]), dtype)
    want = np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)).astype(dtype)
    same(run(text, {"x": x})[0], want)
    same(in_onnxruntime(model(text).SerializeToString(), {"x": x})[0], want)


def test_lengths_of_parts_in_the_dtype_of_x():
    text = "f (float[4, 2] x, float[2] lengths) => (float[m, 2] a, float[n, 2] b) { a, b = Split <axis = 0> (x, lengths) }"
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    a, b = session(text, 1).run(None, {"x": x, "lengths": f32(1, 3)})
    same(a, x[:1])
    same(b, x[1:])


# x has two channels. saved_mean and saved_var are outputs for the gradient of ONNX's first frameworks.
TRAINING = """
f (float[3, 2] x, float[2] scale, float[2] bias, float[2] mean, float[2] var) => (float[3, 2] y, float[2] new_mean, float[2] new_var) {
  y, new_mean, new_var, saved_mean, saved_var = BatchNormalization (x, scale, bias, mean, var) AFTER
}"""


def normalization_feeds():
    return {"x": normal(3, 2), "scale": normal(2), "bias": normal(2), "mean": normal(2), "var": abs(normal(2))}


def test_outputs_for_the_gradient_that_nothing_reads():
    feeds = normalization_feeds()
    y, mean, _ = session(TRAINING.replace("AFTER", ""), 9).run(None, feeds)
    x = feeds["x"]
    whole = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
    np.testing.assert_allclose(y, whole * feeds["scale"] + feeds["bias"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, 0.9 * feeds["mean"] + 0.1 * x.mean(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("read", [
    "z = Identity (saved_mean)",
    "c = Constant <value = bool {1}> () z = If (c) <then_branch: graph = t () => (float[2] p) { p = Neg (saved_mean) }, "
    "else_branch: graph = e () => (float[2] q) { q = Identity (bias) }>",
])
def test_outputs_for_the_gradient_that_are_read(read):
    with refused(rondel.UnsupportedError, "'saved_mean' is read", "BatchNormalization"):
        session(TRAINING.replace("AFTER", read), 9)


def test_an_output_for_the_gradient_that_the_model_gives():
    with refused(rondel.UnsupportedError, "'saved_var' is read", "BatchNormalization"):
        session(TRAINING.replace("float[2] new_var)", "float[2] new_var, float[2] saved_var)").replace("AFTER", ""), 9)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 2, 2)])
def test_statistics_of_each_element(shape):
    ports = ", ".join(f"float[{', '.join(map(str, shape[1:]))}] {name}" for name in ("scale", "bias", "mean", "var"))
    whole = ", ".join(map(str, shape))
    text = f"f (float[{whole}] x, {ports}) => (float[{whole}] y) {{ y = BatchNormalization <spatial = 0, epsilon = 0.25> (x, scale, bias, mean, var) }}"
    feeds = {"x": normal(*shape), **{name: normal(*shape[1:]) for name in ("scale", "bias", "mean")}, "var": abs(normal(*shape[1:]))}
    (y,) = session(text, 7).run(None, feeds)
    np.testing.assert_allclose(y, (feeds["x"] - feeds["mean"]) / np.sqrt(feeds["var"] + 0.25) * feeds["scale"] + feeds["bias"], rtol=1e-5, atol=1e-6)


def test_parts_without_lengths_are_equal():
    text = "f (float[{}] x) => (float[a] p, float[b] q, float[c] r) {{ p, q, r = Split (x) }}"
    same(session(text.format(6), 13).run(None, {"x": f32(1, 2, 3, 4, 5, 6)})[1], f32(3, 4))
    with refused(rondel.CallerError, "no 3 equal parts", "give split"):
        session(text.format(7), 13)
