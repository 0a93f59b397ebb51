"""Resize: shapes and scales that only the run knows, and what it refuses. test_ops_against_onnxruntime.py compares results."""

import numpy as np
import onnx
import pytest
import rondel
from models import in_onnxruntime, model, run
from onnx import helper
from onnx.reference import ReferenceEvaluator

RNG = np.random.default_rng(5)
X = RNG.standard_normal((1, 2, 6, 7)).astype(np.float32)


def f32(*values):
    return np.array(values, np.float32)


def i64(*values):
    return np.array(values, np.int64)


def resized(attributes, by="scales", count="K"):
    kind = "float" if by == "scales" else "int64"
    inputs = "x, , by" if by == "scales" else "x, , , by"
    return f"f (float[N, C, H, W] x, {kind}[{count}] by) => (float[A, B, P, Q] y) {{ y = Resize <{attributes}> ({inputs}) }}"


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("by", [f32(1, 1, 2, 0.5), f32(1, 1, 1.3, 3), i64(1, 2, 9, 3), i64(1, 2, 6, 7)], ids=str)
def test_lists_that_the_run_knows(mode, by):
    text = resized(f'mode = "{mode}"', "scales" if by.dtype == np.float32 else "sizes", 4)
    feeds = {"x": X, "by": by}
    (got,) = run(text, feeds)
    (want,) = in_onnxruntime(model(text).SerializeToString(), feeds)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 0.5, 0.4), (1, 1, 0.75, 2), (1, 1, 1.5, 0.3)])
def test_filters_that_are_stretched(mode, scales, outside):
    text = resized(f'mode = "{mode}", antialias = 1, exclude_outside = {outside}')
    feeds = {"x": X, "by": f32(*scales)}
    (got,) = run(text, feeds)
    (want,) = ReferenceEvaluator(model(text)).run(None, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_integers_are_rounded_under_filters_that_are_stretched(mode):
    text = resized(f'mode = "{mode}", antialias = 1').replace("float[N", "int32[N").replace("float[A", "int32[A")
    x = RNG.integers(-60, 60, (1, 1, 9, 9)).astype(np.int32)
    (exact,) = run(text.replace("int32", "float"), {"x": x.astype(np.float32), "by": f32(1, 1, 0.5, 0.5)})
    (got,) = run(text, {"x": x, "by": f32(1, 1, 0.5, 0.5)})
    assert got.tolist() == np.round(exact).tolist()
    assert np.abs(got - in_onnxruntime(model(text).SerializeToString(), {"x": x, "by": f32(1, 1, 0.5, 0.5)})[0]).max() <= 1  # rounded once an axis there


@pytest.mark.parametrize("opset", [7, 9])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(opset, mode):
    scales = [1.0, 1.0, 2.0, 3.0]
    given = f"scales = [{', '.join(map(str, scales))}]" if opset == 7 else ""
    attributes = f'<mode = "{mode}"{", " + given if given else ""}>'
    constant = "" if opset == 7 else "by = Constant <value = float[4] {1, 1, 2, 3}> ()"
    text = f"f (float[N, C, H, W] x) => (float[A, B, P, Q] y) {{ {constant} y = Upsample {attributes} (x{', by' if opset == 9 else ''}) }}"
    (got,) = run(text, {"x": X}, opset=opset)
    (want,) = in_onnxruntime(model(text, opset).SerializeToString(), {"x": X})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_axes_whose_sizes_are_the_input_s_stay_as_they_are():
    """What exporters write: sizes of Shape, with new spatial extents."""
    text = """f (float[N, C, H, W] x) => (float[N, C, P, Q] y) {
        shape = Shape <end = 2> (x)
        spatial = Constant <value_ints = [3, 10]> ()
        sizes = Concat <axis = 0> (shape, spatial)
        y = Resize <mode = "linear"> (x, , , sizes) }"""
    for x in (X, X[:, :, :4, :5]):
        (got,) = run(text, {"x": x})
        (want,) = in_onnxruntime(model(text).SerializeToString(), {"x": x})
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1, 1, 0.5, 0.7), (1, 1, 0.8, 1.3), (1, 1, 3, 2), (1, 1, 1, 1)])
def test_version_10_rounds_up_where_it_shrinks(scales, mode, constant):
    by = f32(*scales)
    given = f"<float[4] by = {{{', '.join(map(str, scales))}}}>" if constant else ""
    text = f"""f (float[N, C, H, W] x{'' if constant else ', float[4] by'}) => (float[A, B, P, Q] y) {given} {{
        y = Resize <mode = "{mode}"> (x, by) }}"""
    feeds = {"x": X} if constant else {"x": X, "by": by}
    (got,) = run(text, feeds, opset=10)
    (want,) = in_onnxruntime(model(text, 10).SerializeToString(), feeds)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_scales_are_empty_if_sizes_are_given(opset):
    text = """f (float[N, C, H, W] x) => (float[A, B, P, Q] y) <float[0] none = {}, int64[4] sizes = {1, 2, 9, 3}> {
        y = Resize <mode = "linear"> (x, none, none, sizes) }"""
    (got,) = run(text, {"x": X}, opset=opset)
    (want,) = in_onnxruntime(model(text, opset).SerializeToString(), {"x": X})
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("declared", ["float[0]", "float[n]", "float[]"])
@pytest.mark.parametrize("opset", [11, 13])
def test_scales_that_only_the_run_knows_to_be_empty(opset, declared):
    text = f"""f (float[N, C, H, W] x, {declared} none) => (float[A, B, P, Q] y) <int64[4] sizes = {{1, 2, 9, 3}}> {{
        y = Resize <mode = "linear"> (x, none, none, sizes) }}"""
    known = """f (float[N, C, H, W] x) => (float[A, B, P, Q] y) <int64[4] sizes = {1, 2, 9, 3}> {
        y = Resize <mode = "linear"> (x, , , sizes) }"""
    np.testing.assert_array_equal(run(text, {"x": X, "none": f32()}, opset=opset)[0], run(known, {"x": X}, opset=13)[0])


# One mode of coordinates is in version 11 only.
HALF_PIXEL_FOR_NN = resized('mode = "MODE", nearest_mode = "floor", coordinate_transformation_mode = "tf_half_pixel_for_nn"')
HALF_PIXEL_FOR_NN = HALF_PIXEL_FOR_NN.replace(") {", ") <float[0] roi = {}> {").replace("(x, , by)", "(x, roi, by)")


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 0.5), (1, 1, 1.3, 3)])
def test_half_pixels_of_version_11(scales, mode):
    text, feeds = HALF_PIXEL_FOR_NN.replace("MODE", mode), {"x": X, "by": f32(*scales)}
    (got,) = run(text, feeds, opset=11)
    (want,) = in_onnxruntime(model(text, 11).SerializeToString(), feeds)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset, nodes", [(11, 1), (12, 1), (13, None), (21, None)])
def test_half_pixels_of_version_11_are_written(opset, nodes):
    text, feeds = HALF_PIXEL_FOR_NN.replace("MODE", "nearest"), {"x": X, "by": f32(1, 1, 2, 0.5)}
    written = rondel.export(model(text, 11), opset=opset)
    ops = [n.op_type for n in onnx.load_from_string(written).graph.node]
    assert ops == ["Resize"] if nodes else "Resize" not in ops
    (want,) = run(text, feeds, opset=11)
    np.testing.assert_array_equal(in_onnxruntime(written, feeds)[0], want)
    np.testing.assert_array_equal(run(onnx.load_from_string(written), feeds)[0], want)


@pytest.mark.parametrize("opset", [13, 18, 19])
def test_half_pixels_of_version_11_are_refused_later(opset):
    with pytest.raises(rondel.CallerError, match="only version 11 of Resize has"):
        rondel.InferenceSession(model(HALF_PIXEL_FOR_NN.replace("MODE", "nearest"), opset))


@pytest.mark.parametrize(
    ("attributes", "by", "text"),
    [
        ('mode = "area"', f32(1, 1, 2, 2), "mode is 'area'; expected one of nearest, linear, cubic"),
        ('nearest_mode = "up"', f32(1, 1, 2, 2), "nearest_mode is 'up'"),
        ('coordinate_transformation_mode = "tf_crop_and_resize"', f32(1, 1, 2, 2), "tf_crop_and_resize needs a roi"),
        ("axes = [4]", f32(2), "axes 4 is outside"),
        ("axes = [1, -3]", f32(2, 2), "axes"),
        ('mode = "linear"', f32(1, 1, 2), "another number of elements than 4"),
        ('mode = "linear"', f32(1, 1, 0, 2), "a scale is out of bounds"),
        ('mode = "linear"', f32(1, 1, -1, 2), "a scale is out of bounds"),
        ('mode = "linear"', f32(1, 1, np.nan, 2), "a scale is out of bounds"),
        ('mode = "linear"', f32(1, 1, 1e30, 2), "a scale is out of bounds"),
        ('mode = "linear"', i64(1, 2, -1, 2), "a size is below 0"),
        ('mode = "linear"', i64(1, 2, 2), "another number of elements than 4"),
    ],
)
def test_wrong_lists(attributes, by, text):
    source = resized(attributes, "scales" if by.dtype == np.float32 else "sizes")
    with pytest.raises(rondel.CallerError, match=text):
        rondel.InferenceSession(model(source)).run(None, {"x": X, "by": by})


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"scales": f32(1, 1, 2)}, "input 2 has 3 elements; expected 4"),
        ({"scales": f32(1, 1, 0, 2)}, "a scale of 0 is out of bounds; expected a positive number"),
        ({"scales": f32(1, 1, np.nan, 2)}, "a scale of nan is out of bounds"),
        ({"sizes": i64(1, 2, -3, 2)}, "size -3 of axis 2; expected 0 or more"),
        ({"scales": f32(1, 1, 2, 2), "sizes": i64(1, 2, 2, 2)}, "scales and sizes are given; expected one of them"),
        ({}, "neither scales nor sizes are given; expected one of them"),
    ],
)
def test_wrong_constants(inputs, text):
    names = ["x", "", *(n if n in inputs else "" for n in ("scales", "sizes"))]
    graph = helper.make_graph(
        [helper.make_node("Resize", names, ["y"], name="tested")],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, 6, 7])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(v, k) for k, v in inputs.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    with pytest.raises(rondel.CallerError, match=text) as raised:
        rondel.InferenceSession(made)
    assert "node 'tested' (Resize)" in str(raised.value)
