"""Ops that are written with simpler ops once ranks are known, in models that tell no ranks: inputs without shapes, results of an If."""

import threading

import numpy as np
import onnx.helper
import onnx.reference
import pytest
import rondel
from models import WAYS, model, refused, run_as, same, session

X = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
X3 = np.arange(8, dtype=np.float32).reshape(1, 2, 4)

#: What stands in the model: nodes that compute `y` from `x`, and the x's of two ranks where both are allowed.
OPS = {
    "Resize": ("s = Shape (x) h = Slice (s, two, last) t = Mul (h, three) b = Slice (s, zero, two) n = Concat <axis = 0> (b, t) y = Resize (x, , , n)", [X, X3]),
    "GroupNormalization": ("y = GroupNormalization <num_groups = 2> (x, w, w)", [X, X3]),
    "GlobalAveragePool": ("y = GlobalAveragePool (x)", [X, X3]),
    "GlobalMaxPool": ("y = GlobalMaxPool (x)", [X, X3]),
    "GlobalLpPool": ("y = GlobalLpPool <p = 2> (x)", [X, X3]),
    "ConvTranspose": ("y = ConvTranspose <strides = [2, 2]> (x, k)", [X]),
    "LayerNormalization": ("v = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () y = LayerNormalization <axis = 3> (x, v)", [X]),
    "AffineGrid": (
        "size = Shape (x) r = Shape (size) one = Div (two, two) n = Sub (r, two) m = Sub (r, one) s = Concat <axis = 0> (one, n, m) "
        "t = ConstantOfShape <value = float[1] {0.5}> (s) y = AffineGrid (t, size)",
        [X, X.reshape(1, 2, 2, 2, 4)],
    ),
    "GridSample": ("y = GridSample <mode = \"linear\"> (x, grid)", [X]),
}
POOLS = {
    "GlobalAveragePool": np.mean,
    "GlobalMaxPool": np.max,  # the reference evaluator drops an axis of three
    "GlobalLpPool": lambda x, axes, keepdims: np.sqrt((x**2).sum(axes, keepdims=keepdims)),
}

TEXT = """
g (float x) => (float y) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] three = {3}, int64[1] last = {9}, float[2] w = {1, 2},
    float[2,1,2,2] k = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,1,2,2] grid = {0, 0, 0.5, -0.25}> { NODES }
"""


def unranked(nodes, inputs="x"):
    """The model with these nodes; the types of x and y have no shape."""
    made = model(TEXT.replace("NODES", nodes), opset=21)
    for value in [*made.graph.input, *made.graph.output]:
        value.type.tensor_type.ClearField("shape")
    return made


def wanted(name, x):
    if name in POOLS:
        return POOLS[name](x, tuple(range(2, x.ndim)), keepdims=True)
    return onnx.reference.ReferenceEvaluator(unranked(OPS[name][0])).run(None, {"x": x})[0]


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("way", WAYS)
def test_an_input_without_a_shape(monkeypatch, name, way):
    run_as(monkeypatch, way)
    nodes, inputs = OPS[name]
    running = session(unranked(nodes))
    for x in [*inputs, *inputs]:
        np.testing.assert_allclose(running.run(None, {"x": x})[0], wanted(name, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", OPS)
def test_the_bits_are_those_of_a_model_with_shapes(name):
    nodes, inputs = OPS[name]
    for x in inputs:
        told = unranked(nodes)
        for extent in x.shape:
            told.graph.input[0].type.tensor_type.shape.dim.add().dim_value = extent
        same(session(unranked(nodes)).run(None, {"x": x})[0], session(told).run(None, {"x": x})[0])


def test_a_single_aligned_element_of_a_grid_is_at_its_beginning():
    made = model("g (float[n,2,3] theta, int64[4] size) => (float[n,h,w,2] y) { y = AffineGrid <align_corners = 1> (theta, size) }", opset=21)
    feeds = {"theta": np.arange(6, dtype=np.float32).reshape(1, 2, 3), "size": np.array([1, 1, 1, 2])}
    same(session(made).run(None, feeds)[0], np.float32([[[[1, -2], [1, 4]]]]))


@pytest.mark.parametrize("way", WAYS)
def test_the_axes_of_an_image_may_be_known_only_when_it_runs(monkeypatch, way):
    run_as(monkeypatch, way)
    made = model("g (float[1,c,n] x, int64[k] image, int64[k] block) => (float y) { y = Col2Im (x, image, block) }", opset=21)
    made.graph.output[0].type.tensor_type.ClearField("shape")
    running = session(made)
    for x, image, block in ((X3, [5], [2]), (X.reshape(1, 8, 4), [3, 3], [2, 2]), (X3, [6], [2]), (X3, [5], [2])):
        feeds = {"x": x, "image": np.array(image), "block": np.array(block)}
        if image == [6]:
            with refused(rondel.CallerError, "Col2Im", "have 5 positions"):
                running.run(None, feeds)
        else:
            same(running.run(None, feeds)[0], onnx.reference.ReferenceEvaluator(made).run(None, feeds)[0])


def test_a_wrong_rank_names_the_node():
    running = session(unranked(OPS["ConvTranspose"][0]))
    with refused(rondel.CallerError, "ConvTranspose", "f32[1, 2, 4]"):
        running.run(None, {"x": X3})
    same(running.run(None, {"x": X})[0].shape, (1, 1, 8, 8))


def test_in_a_loop_whose_state_changes_its_rank(monkeypatch):
    """The other nodes of the body are as before; each trip has the rank that it has."""
    text = """
    g (float x, int64 n) => (float y, float out) <int64[1] last = {-1}> {
      y, out = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (bool c2, float v2, float p) {
        c2 = Identity (c)  a = GlobalAveragePool (v)  p = ReduceSum <keepdims = 0> (a)  t = Add (v, p)  v2 = Unsqueeze (t, last) }>
    }"""
    made = model(text, opset=21)
    for value in (made.graph.input[0], *made.graph.output):
        value.type.tensor_type.ClearField("shape")
    body = made.graph.node[0].attribute[0].g
    for value in (body.input[2], *body.output[1:]):
        value.type.tensor_type.ClearField("shape")
    x, items = X3, []
    for _ in range(3):
        items.append(x.mean(tuple(range(2, x.ndim))).sum(dtype=np.float32))
        x = (x + items[-1])[..., None]
    for way in WAYS:
        run_as(monkeypatch, way)
        y, out = session(made).run(None, {"x": X3, "n": np.array(3)})
        np.testing.assert_allclose(y, x, rtol=1e-6)
        np.testing.assert_allclose(out, items, rtol=1e-6)


def test_two_threads_with_other_ranks():
    running, wrong = session(unranked(OPS["Resize"][0])), []
    want = {x.ndim: wanted("Resize", x) for x in (X, X3)}

    def work(order):
        for x in order * 20:
            if not np.array_equal(running.run(None, {"x": x})[0], want[x.ndim]):
                wrong.append(x.ndim)

    threads = [threading.Thread(target=work, args=(order,)) for order in ([X, X3], [X3, X])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("name", ["Resize", "GlobalAveragePool", "ConvTranspose"])
def test_exported_and_read_back(name):
    nodes, inputs = OPS[name]
    written = rondel.export(unranked(nodes))
    same(session(written).run(None, {"x": inputs[0]})[0], session(unranked(nodes)).run(None, {"x": inputs[0]})[0])


def test_a_memory_budget_holds_inside():
    running = session(unranked(OPS["Resize"][0]))
    large = np.ones((1, 1, 500, 500), np.float32)
    limits = rondel.RunOptions()
    limits.max_memory_bytes = 1_000_000
    with pytest.raises(rondel.LimitExceeded):
        running.run(None, {"x": large}, limits)


def test_an_op_that_is_composed_by_rank_says_which_input_needs_one():
    text = "g (float[] x, float[b, s, h] cosines, float[b, s, h] sines) => (float[] y) { y = RotaryEmbedding (x, cosines, sines) }"
    with refused(rondel.UnsupportedError, "RotaryEmbedding", "shape of its input 'x'", "declare its shape"):
        session(model(text, opset=23))


def test_the_gradient_says_what_it_needs():
    with refused(rondel.UnsupportedError, "Resize", "rank of x", "declared shape"):
        rondel.value_and_grad(unranked(OPS["Resize"][0]), wrt=["x"], outputs=["y"])
