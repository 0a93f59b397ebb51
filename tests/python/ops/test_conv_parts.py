"""Convolutions so large that they are computed in parts, against ONNX Runtime: every way to split them."""

import numpy as np
import onnxruntime
import pytest
from onnx.parser import parse_model

import rondel

# Shapes of x and w, attributes. A part is about 2^24 multiplications.
CASES = {
    "images": ((40, 16, 40, 40), (16, 16, 5, 5), ""),
    "rows": ((1, 32, 200, 60), (32, 32, 3, 3), "pads = [1, 1, 1, 1]"),
    "rows, strided, dilated": ((1, 48, 301, 90), (64, 48, 3, 3), "strides = [2, 3], dilations = [3, 2], pads = [4, 0, 2, 5]"),
    "columns": ((1, 64, 9, 900), (64, 64, 5, 5), "pads = [2, 2, 2, 2]"),
    "rows of groups": ((2, 64, 220, 60), (64, 32, 3, 3), "group = 2, pads = [1, 1, 1, 1]"),
    "maps of one place": ((1, 4096, 1, 1), (12000, 4096, 1, 1), ""),
    "maps of few places": ((2, 2048, 3, 3), (5000, 2048, 2, 2), ""),
    "a window as large as the image": ((1, 16, 300, 300), (40, 16, 300, 300), ""),
    "a large window at few places": ((2, 8, 140, 150), (3, 8, 139, 150), "pads = [1, 2, 0, 3]"),
    "a large window, strided and dilated": ((1, 8, 300, 280), (2, 8, 140, 130), "strides = [20, 12], dilations = [2, 2], pads = [3, 1, 4, 2]"),
    "large windows of groups": ((1, 8, 200, 200), (6, 4, 198, 198), "group = 2"),
    "windows that lie in the padding": ((1, 64, 6, 600), (64, 64, 3, 3), "pads = [5, 5, 5, 5]"),
    "one axis": ((1, 64, 60000), (64, 64, 9), "pads = [4, 4]"),
    "three axes": ((1, 8, 40, 40, 40), (8, 8, 3, 3, 3), "pads = [1, 1, 1, 1, 1, 1]"),
}


def model_of(dtype, rank, attributes, bias):
    axes = [f"a{k}" for k in range(rank)]
    shape = ",".join(axes)
    graph = f"""<ir_version: 9, opset_import: ["": 18]>
        g ({dtype}[{shape}] x, {dtype}[m,{",".join("k" + a for a in axes[1:])}] w{f", {dtype}[m] b" if bias else ""})
        => ({dtype}[{",".join("o" + a for a in axes)}] y) {{
            y = Conv{f" <{attributes}>" if attributes else ""} (x, w{", b" if bias else ""}) }}"""
    return parse_model(graph).SerializeToString()


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("case", CASES)
def test_parts_make_the_whole(case, bias):
    x, w, attributes = CASES[case]
    model = model_of("float", len(x), attributes, bias)
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal(x, np.float32), "w": rng.standard_normal(w, np.float32)}
    if bias:
        feeds["b"] = 100 * rng.standard_normal(w[0], np.float32)
    (wanted,) = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)
    (got,) = rondel.InferenceSession(model).run(None, feeds)
    depth = np.prod(w[1:])
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=3e-6 * depth**0.5 * 10)
    # ONNX Runtime has no convolution of f64: the same numbers, to its f32's precision.
    wide = rondel.InferenceSession(model_of("double", len(x), attributes, bias))
    (got,) = wide.run(None, {name: a.astype(np.float64) for name, a in feeds.items()})
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=3e-6 * depth**0.5 * 10)


@pytest.mark.parametrize("op", ["Conv", "ConvInteger"])
@pytest.mark.parametrize("x, w, stride", [((0, 2, 2**40), (3, 2, 1), 1), ((0, 2, 2**40), (3, 2, 2), 2), ((2, 2, 2**20), (0, 2, 2), 2)])
def test_no_images_or_maps_need_no_memory(op, x, w, stride):
    dtype, name, result = {"Conv": (np.float32, "float", "float"), "ConvInteger": (np.uint8, "uint8", "int32")}[op]
    model = parse_model(f'<ir_version: 10, opset_import: ["" : 22]> g ({name}[a,b,c] x, {name}[d,e,f] w) => ({result}[g,h,i] y) {{ y = {op} <strides = [{stride}]> (x, w) }}')
    options = rondel.SessionOptions()
    options.max_memory_bytes = 10**7
    (y,) = rondel.InferenceSession(model, options).run(None, {"x": np.zeros(x, dtype), "w": np.zeros(w, dtype)})
    assert y.shape == (x[0], w[0], (x[2] - w[2]) // stride + 1)
