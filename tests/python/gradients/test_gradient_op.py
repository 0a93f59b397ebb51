"""ONNX's Gradient op (ai.onnx.preview.training): on import, the nodes of the adjoint replace it."""

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import rondel

DOMAINS = {"ai.onnx.preview.training": 1}
X = np.array([0.5, -1.5, 2.0], np.float32)
W = np.array([1.5, 0.5, -1.0], np.float32)


def model(text, **initializers):
    proto = models.model(text, 21, domains=DOMAINS)
    for name, x in initializers.items():
        proto.graph.initializer.append(numpy_helper.from_array(x, name))
    return proto


def gradient(inputs, outputs, **attributes):
    """The text of a Gradient node: names of inputs and outputs, and the attributes xs, zs, y."""
    names = lambda x: "[" + ", ".join(f'"{n}"' for n in x) + "]" if isinstance(x, list) else f'"{x}"'
    listed = ", ".join(f"{k} = {names(v)}" for k, v in attributes.items())
    return f"{outputs} = ai.onnx.preview.training.Gradient <{listed}> ({inputs})"


def run(proto, **feeds):
    return rondel.InferenceSession(proto).run(None, feeds)


CUBE = "g (float[3] x, float[3] w) => (float[3] y, float[3] dx, float[3] dw) { a = Mul (x, x) b = Mul (a, x) y = Mul (b, w) %s }"


def test_by_inputs():
    y, dx, dw = run(model(CUBE % gradient("x, w", "dx, dw", xs=["x", "w"], y="y")), x=X, w=W)
    np.testing.assert_allclose(y, X**3 * W, rtol=1e-6)
    np.testing.assert_allclose(dx, 3 * X**2 * W, rtol=1e-6)
    np.testing.assert_allclose(dw, X**3, rtol=1e-6)


def test_by_an_initializer_and_by_a_value_between():
    text = "g (float[3] x) => (float[3] y, float[3] dw, float[3] da) { a = Mul (x, w) y = Mul (a, a) %s %s }"
    text %= gradient("w", "dw", xs=["w"], y="y"), gradient("a", "da", xs=["a"], y="y")
    proto = model(text, w=W)
    _, dw, da = run(proto, x=X)
    np.testing.assert_allclose(dw, 2 * X * X * W, rtol=1e-6)
    np.testing.assert_allclose(da, 2 * X * W, rtol=1e-6)
    session = rondel.InferenceSession(proto)
    assert [i.name for i in session.get_inputs()] == ["x"] and not session.get_overridable_initializers()


def test_an_output_may_be_left_out():
    text = "g (float[3] x, float[3] w) => (float[3] dw) { y = Mul (x, w) %s }" % gradient("x, w", '"", dw', xs=["x", "w"], y="y")
    np.testing.assert_array_equal(run(model(text), x=X, w=W)[0], X)


def test_second_derivatives():
    text = "g (float[3] x, float[3] w) => (float[3] dxx, float[3] dxw) { a = Mul (x, x) b = Mul (a, x) y = Mul (b, w) %s %s }"
    text %= gradient("x, w", "dx, dw", xs=["x", "w"], y="y"), gradient("x, w", "dxx, dxw", xs=["x", "w"], y="dx")
    dxx, dxw = run(model(text), x=X, w=W)
    np.testing.assert_allclose(dxx, 6 * X * W, rtol=1e-6)
    np.testing.assert_allclose(dxw, 3 * X**2, rtol=1e-6)


def test_what_is_held_passes_nothing_on():
    text = "g (float[3] x) => (float[3] dx) { a = Mul (x, x) y = Mul (a, x) %s }" % gradient("x, a", "dx", xs=["x"], zs=["a"], y="y")
    np.testing.assert_allclose(run(model(text), x=X)[0], X**2, rtol=1e-6)


def test_at_other_values():
    """Intermediate values are recomputed from the inputs of the node."""
    text = "g (float[3] x, float[3] w, float[3] x1) => (float[3] y, float[3] dx, float[3] dw) { a = Mul (x, x) y = Mul (a, w) z = Neg (w) %s }"
    y, dx, dw = run(model(text % gradient("x1, z", "dx, dw", xs=["x", "w"], y="y")), x=X, w=W, x1=X + 1)
    np.testing.assert_allclose(y, X**2 * W, rtol=1e-6)
    np.testing.assert_allclose(dx, 2 * (X + 1) * -W, rtol=1e-6)
    np.testing.assert_allclose(dw, (X + 1) ** 2, rtol=1e-6)


def test_at_a_value_between():
    text = "g (float[3] x, float[3] h1) => (float[3] dh) { h = Exp (x) y = Mul (h, h) %s }" % gradient("h1", "dh", xs=["h"], y="y")
    np.testing.assert_allclose(run(model(text), x=X, h1=W)[0], 2 * W, rtol=1e-6)


def test_no_influence_is_zeros():
    text = "g (float[3] x, float[3] w) => (float[3] dw) { y = Mul (x, x) %s }" % gradient("w", "dw", xs=["w"], y="y")
    np.testing.assert_array_equal(run(model(text), x=X, w=W)[0], np.zeros(3))


def test_through_a_loop():
    text = """g (float[3] x, int64 n) => (float[3] dx) <bool yes = {1}> {
      y = Loop (n, yes, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) { on = Identity (go) t = Mul (s, x) }> %s }"""
    text %= gradient("x", "dx", xs=["x"], y="y")
    np.testing.assert_allclose(run(model(text), x=X, n=np.array(3))[0], 4 * X**3, rtol=1e-6)


DESCENT = """g (float[3] start, float[3] goal, int64 steps) => (float[3] end, float[k] losses) <bool yes = {1}, float rate = {0.1}, float[3] still = {0, 0, 0}> {
  end, v_end, losses = Loop (steps, yes, start, still) <body = b (int64 i, bool go, float[3] x, float[3] v) => (bool on, float[3] x1, float[3] v1, float loss) {
    on = Identity (go)
    d = Sub (x, goal)
    q = Mul (d, d)
    loss = ReduceSum <keepdims = 0> (q)
    %s
    x1, v1 = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 1.0, mode = "standard", norm_coefficient = 0.0> (rate, i, x, dx, v)
  }>
}"""


def descent():
    return model(DESCENT % gradient("x", "dx", xs=["x"], y="loss"))


def test_training_in_a_loop_is_one_native_loop():
    session = rondel.InferenceSession(descent())
    end, losses = session.run(None, {"start": X, "goal": W, "steps": np.array(30)})
    x, v, want = X.astype(np.float64), np.zeros(3), []
    for _ in range(30):
        want.append(((x - W) ** 2).sum())
        v = 0.5 * v + 2 * (x - W)
        x = x - 0.1 * v
    np.testing.assert_allclose(end, x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(losses, want, rtol=1e-4, atol=1e-6)
    assert all(how.startswith(("natively", "as a whole")) for how in session.how_it_ran().values())


def ops_in(proto):
    found = set()

    def visit(nodes):
        for node in nodes:
            found.add(node.op_type)
            for attribute in node.attribute:
                visit(attribute.g.node)

    visit(proto.graph.node)
    return found


@pytest.mark.parametrize("compiled", [False, True])
def test_exported_models_have_no_gradient_node(compiled):
    for proto, feeds in [
        (model(CUBE % gradient("x, w", "dx, dw", xs=["x", "w"], y="y")), {"x": X, "w": W}),
        (descent(), {"start": X, "goal": W, "steps": np.array(5)}),
    ]:
        written = onnx.load_model_from_string(rondel.export(proto, compiled=compiled))
        onnx.checker.check_model(written, full_check=True)
        assert "Gradient" not in ops_in(written)
        for a, b in zip(run(written, **feeds), run(proto, **feeds)):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_random_ops_beside_it():
    text = "g (float[3] x) => (float[3] r, float[3] dx) { r = RandomUniform <shape = [3]> () y = Mul (r, x) %s }" % gradient("x", "dx", xs=["x"], y="y")
    session = rondel.InferenceSession(model(text))
    how = rondel.RunOptions()
    how.seed = 5
    r, dx = session.run(None, {"x": X}, how)
    assert np.array_equal(r, dx) and np.array_equal(r, session.run(None, {"x": X}, how)[0])
    how.seed = 6
    assert not np.array_equal(r, session.run(None, {"x": X}, how)[0])
    assert [i.name for i in session.get_inputs()] == ["x"]
    for source in (model(text), session):
        written = onnx.load_model_from_string(rondel.export(source))
        again = rondel.InferenceSession(written)
        assert np.array_equal(again.run(None, {"x": X, "seed": np.uint64(5)})[0], r)


def test_a_model_that_has_one_is_differentiated():
    text = "g (float[3] x) => (float[3] dx) { a = Mul (x, x) y = Mul (a, x) %s }" % gradient("x", "dx", xs=["x"], y="y")
    with_gradient = rondel.grad(model(text), ["x"], ["dx"])
    np.testing.assert_allclose(run(with_gradient, x=X)[1], 6 * X, rtol=1e-6)


def test_it_is_inspected():
    report = rondel.inspect(descent())
    assert report.runs and report.op_counts["ai.onnx.preview.training.Gradient"] == 1


@pytest.mark.parametrize(
    "node, message",
    [
        (gradient("x", "d", xs=["q"], y="y"), "xs names 'q', which no input, initializer or node before it gives"),
        (gradient("x", "d", xs=["x"], y="q"), "y names 'q'"),
        (gradient("x, w", "d", xs=["x"], zs=["q"], y="y"), "zs names 'q'"),
        (gradient("x, w", "d", xs=["x"], y="y"), "2 inputs are given; xs and zs name 1 variables"),
        (gradient("x", "d, e", xs=["x"], y="y"), "2 outputs are named; xs names 1 variables"),
        (gradient("i", "d", xs=["i"], y="y"), "i64"),
        (gradient("x", "d", xs=["x"], y="i"), "i64"),
        (gradient("i", "d", xs=["x"], y="y"), "i64"),
        ("d = ai.onnx.preview.training.Gradient <y = \"y\"> (x)", "xs"),
    ],
)  # fmt: skip
def test_wrong_names(node, message):
    proto = model("g (float[3] x, float[3] w, int64[3] i) => (float[3] d) { y = Mul (x, w) %s }" % node)
    with pytest.raises(rondel.CallerError, match=message) as found:
        rondel.InferenceSession(proto)
    assert "Gradient" in found.value.node
    report = rondel.inspect(proto)
    assert not report.runs and any(message in str(finding) for finding in report.findings)


def test_what_it_cannot_differentiate():
    known = "g (float[3] x) => (float[3] d) <float[3] c = {1, 2, 3}> { h = Exp (c) y = Mul (h, x) %s }" % gradient("h", "d", xs=["h"], y="y")
    outside = """g (float[3] x, int64 n) => (float[3] d) <bool yes = {1}> { y = Mul (x, x)
      d = Loop (n, yes, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) { on = Identity (go) %s }> }"""
    for text, message in [
        (known, "'h' is known without running"),
        (outside % gradient("x", "t", xs=["x"], y="y"), "'y' is made outside of the body in which it is differentiated"),
        (outside % ("z = Mul (s, x) " + gradient("x", "t", xs=["x"], y="z")), "'x' is made outside of the body in which something"),
    ]:
        proto = model(text)
        with pytest.raises(rondel.UnsupportedError, match=message):
            rondel.InferenceSession(proto)
        assert not rondel.inspect(proto).runs


def test_many_names_that_mean_nothing_do_no_harm():
    """A Gradient whose names are empty, its own output, or a name twice."""
    for xs, y in [(["d"], "d"), ([""], "y"), (["x"], ""), ([], "y"), (["x", "x"], "y")]:
        node = helper.make_node("Gradient", ["x"] * len(xs) or ["x"], ["d"], domain="ai.onnx.preview.training", y=y)
        node.attribute.append(helper.make_attribute("xs", xs, attr_type=onnx.AttributeProto.STRINGS))
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "x"], ["y"]), node],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
            [helper.make_tensor_value_info("d", TensorProto.FLOAT, [3])],
        )
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.preview.training", 1)], ir_version=10)
        if xs == ["x", "x"]:
            np.testing.assert_allclose(run(proto, x=X)[0], 2 * X)
            continue
        with pytest.raises(rondel.CallerError):
            rondel.InferenceSession(proto)
