"""Models with their gradients: names, opsets and declared types; which inputs get zeros; what is refused, and how it is told."""

import numpy as np
import onnx
import onnxruntime
import pytest
import rondel
from differences import elsewhere
from onnx import helper, parser


MLP = """
<ir_version: 8, opset_import: ["" : 17]>
mlp (float[N,3] x, float[4] b) => (float loss, float[N,4] h) <float[3,4] W = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2}> {
  xw = MatMul (x, W)
  h = Add (xw, b)
  t = Tanh (h)
  s = Softmax (t)
  st = Mul (s, t)
  loss = ReduceSum <keepdims = 0> (st)
}
"""


def mlp_feeds(rows=2):
    rng = np.random.default_rng(rows)
    return {"x": rng.standard_normal((rows, 3)).astype(np.float32), "b": rng.standard_normal(4).astype(np.float32)}


def test_a_model_keeps_its_names_and_opset_and_gives_the_same_numbers_in_onnxruntime():
    made = rondel.grad(parser.parse_model(MLP), wrt=["W", "x", "b"])
    onnx.checker.check_model(made, full_check=True)
    assert [o.name for o in made.graph.output] == ["loss", "h", "grad_W", "grad_x", "grad_b"]
    assert [i.name for i in made.graph.input] == ["x", "b"]
    assert "W" in [w.name for w in made.graph.initializer]
    assert made.opset_import[0].version == 17 and made.ir_version == 8
    for rows in (1, 2, 5):
        want = onnxruntime.InferenceSession(made.SerializeToString()).run(None, mlp_feeds(rows))
        got = rondel.InferenceSession(made.SerializeToString()).run(None, mlp_feeds(rows))
        for w, g in zip(want, got):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_a_seed_may_have_the_name_that_random_draws_use():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 22]>
        f (float[4] x) => (float[4] y) <bool yes = {1}, float half = {0.5}> { y = Dropout (x, half, yes) }""")
    made = rondel.grad(model, "x", "y", "seed")
    assert {"x", "seed"} < {i.name for i in made.graph.input}
    feeds = {"x": np.ones(4, np.float32), "seed": np.full(4, 3, np.float32)}
    y, gradient = rondel.InferenceSession(made.SerializeToString()).run(["y", "grad_x"], feeds)
    np.testing.assert_array_equal(gradient, 3 * y)


@pytest.mark.parametrize("own, kept", [(3, 7), (7, 7), (8, 8), (10, 10)])
def test_the_ir_version_is_the_models_own_if_that_serves(own, kept):
    model = parser.parse_model(f'<ir_version: {own}, opset_import: ["" : 13]> f (float x) => (float y) {{ y = Exp (x) }}')
    assert rondel.grad(model, wrt="x").ir_version == kept


def test_value_and_grad_is_a_function_of_feeds():
    feeds, model = mlp_feeds(), parser.parse_model(MLP)
    loss, gradients = rondel.value_and_grad(model, wrt=["x", "W"])(feeds)
    want = rondel.InferenceSession(rondel.grad(model, wrt=["x", "W"]).SerializeToString()).run(["loss", "grad_x", "grad_W"], feeds)
    assert list(gradients) == ["x", "W"]
    for got, w in zip([loss, *gradients.values()], want):
        np.testing.assert_array_equal(got, w)
    both = rondel.value_and_grad(model, wrt="b", outputs=["loss", "h"], seed=["one", "zero"])
    values, gradients = both(**feeds, one=np.float32(2), zero=np.zeros((2, 4), np.float32))
    assert list(values) == ["loss", "h"]
    np.testing.assert_array_equal(values["loss"], loss)
    np.testing.assert_allclose(gradients["b"], 2 * rondel.value_and_grad(model, wrt="b")(feeds)[1]["b"], rtol=1e-6)
    with pytest.raises(rondel.CallerError, match="no scalar float output"):
        rondel.value_and_grad(parser.parse_model(MLP.replace("(float loss, ", "(")), wrt="x")
    for wrong in (feeds["x"], [feeds["x"]]):
        with pytest.raises(rondel.CallerError, match=r"value_and_grad: the feeds are a (ndarray|list); expected a dict .*f\(x=..., b=...\)"):
            rondel.value_and_grad(model, wrt="x")(wrong)


@pytest.mark.parametrize("opset, shape, written", [(7, "2,3", 11), (11, "2,3", 11), (12, "N,3", 14), (13, "2,3", 13)])
def test_the_opset_is_raised_only_where_it_must(opset, shape, written):
    model = parser.parse_model(f"""
        <ir_version: 7, opset_import: ["" : {opset}]>
        f (float[{shape}] x) => (float y) {{
          s = Softmax <axis = 0> (x)  e = Exp (s)  p = Mul (s, e)  l = Log (p)  m = Neg (l)
          f = Flatten <axis = 0> (m)  r = Mul (f, f)  y = ReduceSum <keepdims = 0> (r) }}""")
    made = rondel.grad(model, wrt="x")
    onnx.checker.check_model(made, full_check=True)
    assert made.opset_import[0].version == written
    feeds = {"x": np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)}
    got = rondel.InferenceSession(made.SerializeToString()).run(None, feeds)
    for g, w in zip(got, elsewhere(made, feeds)):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_operands_of_two_dtypes_and_many_operands():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[2] x, double[2] p) => (float y) { z = Pow (x, p)  y = ReduceSum <keepdims = 0> (z) }""")
    feeds = {"x": np.array([2, 3], np.float32), "p": np.array([3.0, 2.0])}
    _, gx, gp = rondel.InferenceSession(rondel.grad(model, wrt=["x", "p"]).SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(gx, [12, 6], rtol=1e-6)
    np.testing.assert_allclose(gp, [8 * np.log(2), 9 * np.log(3)], rtol=1e-6)
    assert gx.dtype == np.float32 and gp.dtype == np.float64
    names = [f"x{k}" for k in range(1000)]
    given = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, []) for n in names]
    graph = helper.make_graph(
        [helper.make_node("Mean", names, ["y"])], "many", given, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])]
    )
    made = rondel.grad(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), wrt=names)
    got = rondel.InferenceSession(made.SerializeToString()).run(None, {n: np.float32(1).reshape(()) for n in names})
    np.testing.assert_allclose(got[1:], np.full(1000, 1e-3), rtol=1e-6)


def test_declared_types_of_outputs_stay():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[N] x, int64[K] s) => (double[A,4] h) { t = Exp (x)  h = Reshape (t, s) }""")
    made = rondel.grad(model, wrt="x", outputs="h", seed="dh")
    onnx.checker.check_model(made, full_check=True)
    types = {v.name: v.type.tensor_type for v in [*made.graph.input, *made.graph.output]}
    assert [d.dim_value for d in types["h"].shape.dim][1:] == [4] == [d.dim_value for d in types["dh"].shape.dim][1:]


def test_stop_gradient_and_inputs_without_influence_give_zeros():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[2] x, float[3] unused) => (float y, float[3] kept) {
          a = Exp (x)  b = Mul (a, x)  y = ReduceSum <keepdims = 0> (b)  kept = Neg (unused) }""")
    x = np.array([0.5, 2], np.float32)
    feeds = {"x": x, "unused": np.zeros(3, np.float32)}
    made = rondel.grad(model, wrt=["x", "unused"], stop_gradient=["a"])
    _, _, gx, gu = rondel.InferenceSession(made.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(gx, np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(gu, np.zeros(3))
    made = rondel.grad(model, wrt=["x"], stop_gradient=["x"])
    np.testing.assert_array_equal(rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], feeds)[0], np.zeros(2))


LOOPED = """
<ir_version: 10, opset_import: ["" : 21]>
f (double[3] x, int64 n, bool up) => (double y, double[N, 3] kept) <bool yes = {1}> {
  last, kept = Loop (n, yes, x) <body = step (int64 i, bool go, double[3] s) => (bool on, double[3] t, double[3] item) {
    on = Identity (go)
    c = If (up) <then_branch = yes_branch () => (double[3] a) { q = Sin (s)  a = Mul (q, s) },
                 else_branch = no_branch () => (double[3] b) { b = Exp (s) }>
    same = Identity (c)
    w = Mul (same, x)
    t = Add (w, s)
    item = Neg (t)
  }>
  z = Mul (last, last)
  y = ReduceSum <keepdims = 0> (z)
}"""


@pytest.mark.parametrize("name, up", [("w", True), ("same", True), ("c", False), ("q", True), ("q", False), ("s", True), ("t", True)])
@pytest.mark.parametrize("checkpoint", ["none", "sqrt"])
def test_nothing_flows_through_values_in_loops_and_branches(name, up, checkpoint):
    """Compared with central differences of the same loop in NumPy, in which the stopped value is constant."""
    feeds = {"x": np.array([0.3, -0.2, 0.5]), "n": np.int64(3), "up": np.bool_(up)}

    def trips(x, held=None):
        """(y, the values of `name` in each trip). With `held`, these values replace the computed ones."""
        seen, s = [], x

        def at(this, value):
            if this != name:
                return value
            seen.append(value)
            return value if held is None else held[len(seen) - 1]

        for _ in range(3):
            s = at("s", s)
            c = at("c", at("q", np.sin(s)) * s if up else np.exp(s))
            s = at("t", at("w", at("same", c) * x) + s)
        return np.sum(s * s), seen

    _, held = trips(feeds["x"])
    step = 1e-6
    expected = [(trips(feeds["x"] + step * e, held)[0] - trips(feeds["x"] - step * e, held)[0]) / (2 * step) for e in np.eye(3)]
    made = rondel.grad(parser.parse_model(LOOPED), wrt="x", outputs="y", stop_gradient=name, checkpoint=checkpoint)
    assert "stop" not in str(made).lower()
    (found,) = rondel.InferenceSession(made).run(["grad_x"], feeds)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_gradient_is_written_in_the_versions_of_the_model_also_of_a_session():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 15]>
        f (float[3] x) => (float y) { z = Mul (x, x)  y = ReduceSum <keepdims = 0> (z) }""")
    for source in (model, rondel.InferenceSession(model)):
        for made in (rondel.grad(source, wrt="x"), rondel.jvp(source, wrt="x")):
            assert (made.ir_version, [o.version for o in made.opset_import]) == (8, [15])


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(wrt=["nothing"]), ["'nothing'", "no input and no initializer", "'x'"]),
        (dict(wrt=[]), ["wrt is empty"]),
        (dict(wrt=["x", "x"]), ["'x' twice"]),
        (dict(wrt=["x"], outputs=["loss", "h", "loss"]), ["outputs names 'loss' twice"]),
        (dict(wrt=["x"], outputs=["t"]), ["'t'", "no output", "'loss'"]),
        (dict(wrt=["x"], seed=["a", "b"]), ["seed has 2 names for 1"]),
        (dict(wrt=["x"], outputs=["loss", "h"], seed=["a", "a"]), ["seed 'a' is given twice", "another name"]),
        (dict(wrt=["x"], prefix="lo", outputs=["h"], seed=["x"]), ["seed 'x'", "already"]),
        (dict(wrt=["x"], stop_gradient=["no such"]), ["stop_gradient", "'no such'"]),
        (dict(wrt=["x"], outputs=["h"], seed=["loss"]), ["seed 'loss'", "output already"]),
        (dict(wrt=["x"], outputs=[]), ["outputs is empty"]),
        (dict(wrt=1), ["wrt is 1", "expected names"]),
    ],
)
def test_wrong_names_are_told(arguments, words):
    with pytest.raises(rondel.CallerError) as error:
        rondel.grad(parser.parse_model(MLP), **arguments)
    for word in words:
        assert word in str(error.value)


def test_a_name_that_is_taken_asks_for_a_prefix():
    once = rondel.grad(parser.parse_model(MLP), wrt="x")
    with pytest.raises(rondel.CallerError, match="'grad_x' already; give another prefix"):
        rondel.grad(once, wrt="x", outputs="grad_x")


def test_what_a_rule_does_not_support_is_told_with_the_path():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[] x, float[A,B,C] w) => (float y) {
          c = ConvTranspose <auto_pad = "SAME_UPPER"> (x, w)  y = ReduceSum <keepdims = 0> (c) }""")
    with pytest.raises(rondel.UnsupportedError, match=r"'c' .ConvTranspose.: .*known extents; on the way to it: 'y' <- 'c'"):
        rondel.grad(model, wrt="x")


def test_what_stands_behind_a_stopped_value_needs_no_gradient():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[] x, float[A,B,C] w, int64 n) => (float y) <bool yes = {1}, float none = {0}> {
          y = Loop (n, yes, none) <body = step (int64 i, bool go, float s) => (bool on, float t) {
            on = Identity (go)  h = Exp (x)  c = ConvTranspose <auto_pad = "SAME_UPPER"> (h, w)
            a = ReduceSum <keepdims = 0> (c)  b = ReduceSum <keepdims = 0> (x)  ab = Mul (a, b)  t = Add (s, ab)
          }> }""")
    with pytest.raises(rondel.UnsupportedError, match="known extents"):
        rondel.grad(model, wrt="x")
    made = rondel.grad(model, wrt="x", stop_gradient="h")
    feeds = {"x": np.ones((1, 2, 5), np.float32), "w": np.full((2, 3, 3), 0.1, np.float32), "n": np.int64(2)}
    (found,) = rondel.InferenceSession(made).run(["grad_x"], feeds)
    np.testing.assert_allclose(found, np.full((1, 2, 5), 2 * (5 * 3 - 2) * 6 * 0.1 * np.e), rtol=1e-5)


def test_a_model_without_a_scalar_output_asks_for_outputs():
    model = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> f (float[2] x) => (float[2] y) { y = Exp (x) }')
    with pytest.raises(rondel.CallerError, match="no scalar float output .* name some in outputs, of 'y'"):
        rondel.grad(model, wrt="x")
