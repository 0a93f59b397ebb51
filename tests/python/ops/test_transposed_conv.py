"""ConvTranspose and Col2Im: extents that only the run knows, and what they refuse."""

import numpy as np
import pytest
import rondel
from models import in_onnxruntime, model, run

RNG = np.random.default_rng(6)


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def transposed(attributes="", x="N, C, H, W", w="C, M, KH, KW"):
    return f"f (float[{x}] x, float[{w}] w) => (float[A, B, P, Q] y) {{ y = ConvTranspose <{attributes}> (x, w) }}"


@pytest.mark.parametrize(
    "attributes",
    ["group = 1", "strides = [2, 3], pads = [1, 0, 0, 2]", "group = 2, dilations = [2, 1]", "strides = [2, 2], output_padding = [1, 1]", 'auto_pad = "VALID"'],
)
def test_extents_of_the_run(attributes):
    text = transposed(attributes)
    for x, w in (((2, 4, 5, 4), (4, 3, 3, 2)), ((1, 2, 1, 6), (2, 1, 2, 4))):
        feeds = {"x": draw(*x), "w": draw(*w)}
        (got,) = run(text, feeds)
        (want,) = in_onnxruntime(model(text).SerializeToString(), feeds)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_in_a_loop_it_runs_natively():
    text = """
    main (int64 n, float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 3, 3] w = {0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3,
        0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3}> {
      yes = Constant <value = bool {1}> ()
      y = Loop (n, yes, x) <body = trip (int64 i, bool go, float[1, 2, 4, 4] a) => (bool on, float[1, 2, 4, 4] c) {
        on = Identity (go)
        b = ConvTranspose <pads = [1, 1, 1, 1]> (a, w)
        c = Tanh (b)
      }>
    }"""
    feeds = {"n": np.array(4), "x": draw(1, 2, 4, 4)}
    (got,) = run(text, feeds)
    (want,) = in_onnxruntime(model(text).SerializeToString(), feeds)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert {found["execution"] for found in rondel.inspect(model(text)).loops} == {"natively, as a whole"}


@pytest.mark.parametrize(
    ("attributes", "x", "w", "text"),
    [
        ("group = 1", (1, 2, 2, 2), (1, 3, 2, 2), "x has 2 channels; w expects 1"),
        ("group = 3", (1, 2, 2, 2), (2, 3, 2, 2), "x has 2 channels, which 3 groups do not divide"),
        ("group = 0", (1, 2, 2, 2), (2, 3, 2, 2), "group is 0"),
        ("pads = [2, 2, 2, 2]", (1, 1, 1, 1), (1, 1, 2, 2), "do not fill the padding"),
        ("output_padding = [-1, 0]", (1, 1, 1, 1), (1, 1, 2, 2), "output_padding has -1"),
        ("output_padding = [0, 2], strides = [1, 2]", (1, 1, 1, 1), (1, 1, 2, 2), "output_padding has 2; expected less than the stride or the dilation, 2"),
        ("output_shape = [3]", (1, 1, 1, 1), (1, 1, 2, 2), "output_shape has 1 elements; expected 2"),
        ("strides = [0, 1]", (1, 1, 1, 1), (1, 1, 2, 2), "stride"),
        ("kernel_shape = [3, 2]", (1, 1, 1, 1), (1, 1, 2, 2), "kernel_shape has 3 where w has 2"),
    ],
)
def test_wrong_extents(attributes, x, w, text):
    source = transposed(attributes, ", ".join(map(str, x)), ", ".join(map(str, w)))
    with pytest.raises(rondel.CallerError, match=text):
        rondel.InferenceSession(model(source)).run(None, {"x": draw(*x), "w": draw(*w)})


def blocks(attributes="", x="N, R, L", axes=2):
    return f"f (float[{x}] x, int64[{axes}] image, int64[{axes}] block) => (float[A, B, P, Q] y) {{ y = Col2Im <{attributes}> (x, image, block) }}"


def test_images_of_the_run():
    text = blocks("strides = [2, 1], pads = [1, 0, 1, 0], dilations = [1, 2]")
    feeds = {"x": draw(2, 12, 12), "image": np.array([5, 6]), "block": np.array([3, 2])}
    (got,) = run(text, feeds)
    (want,) = in_onnxruntime(model(text).SerializeToString(), feeds)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "image", "block", "text"),
    [
        ((1, 3, 4), [3, 3], [2, 2], "x has 3 rows, which blocks of 4 elements do not divide"),
        ((1, 4, 5), [3, 3], [2, 2], "x has 5 columns; blocks of this shape have 4 positions in the image"),
        ((1, 4, 4), [3, 3], [0, 2], "block_shape has 0"),
        ((1, 4, 4), [-3, 3], [2, 2], "image_shape has -3"),
        ((1, 4, 4), [1, 3], [2, 2], "window"),
    ],
)
def test_wrong_blocks(x, image, block, text):
    lists = f"<int64[2] image = {{{image[0]}, {image[1]}}}, int64[2] block = {{{block[0]}, {block[1]}}}>"
    source = f"f (float[{', '.join(map(str, x))}] x) => (float[A, B, P, Q] y) {lists} {{ y = Col2Im (x, image, block) }}"
    with pytest.raises(rondel.CallerError, match=text):
        rondel.InferenceSession(model(source)).run(None, {"x": draw(*x)})
