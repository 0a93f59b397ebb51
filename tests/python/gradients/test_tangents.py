"""rondel.jvp: derivatives along directions, against gradients and central differences in float64, and in other runtimes."""

import numpy as np
import onnx
import pytest
import rondel
import test_loop_gradients
from differences import elsewhere, feeds_of
from gradient_cases import CASES, model_of
from onnx import parser
from test_loop_gradients import names_of


def check_tangents(model, feeds, rng, outputs):
    """<u, J v> by `jvp` is <J' u, v> by `grad`, for random directions v and seeds u; the tangents have the shapes and dtypes of the outputs."""
    names = list(feeds)
    forward = rondel.jvp(model, wrt=names, outputs=outputs)
    onnx.checker.check_model(forward, full_check=True)
    directions = {f"tangent_{n}": rng.standard_normal(feeds[n].shape) for n in names}
    session = rondel.InferenceSession(forward.SerializeToString())
    found = session.run(None, {**feeds, **directions})
    values, tangents = found[: -len(outputs)], found[-len(outputs) :]
    seeds = {f"seed_{n}": rng.standard_normal(t.shape) for n, t in zip(outputs, tangents)}
    reverse = rondel.InferenceSession(rondel.grad(model, names, outputs, list(seeds)).SerializeToString())
    gradients = reverse.run([f"grad_{n}" for n in names], {**feeds, **seeds})
    along = sum(np.sum(u * t) for u, t in zip(seeds.values(), tangents))
    back = sum(np.sum(g * v) for g, v in zip(gradients, directions.values()))
    scale = 1 + sum(np.sum(np.abs(g * v)) for g, v in zip(gradients, directions.values()))
    assert abs(along - back) <= 1e-10 * scale
    plain = rondel.InferenceSession(model)
    for value, want in zip(values, plain.run(None, feeds), strict=True):
        np.testing.assert_array_equal(value, want)
    for name, tangent in zip(outputs, tangents):
        (value,) = plain.run([name], feeds)
        assert (tangent.shape, tangent.dtype) == (value.shape, value.dtype)
    return forward, {**feeds, **directions}, tangents


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_ops(case):
    rng = np.random.default_rng(11)
    inputs = case.draw(rng)
    model = model_of(case.op, inputs, case.attributes, case.outputs, case.opset).SerializeToString()
    outputs = [o.name for o in rondel.InferenceSession(model).get_outputs()]
    check_tangents(model, feeds_of(inputs), rng, outputs)


@pytest.mark.parametrize("case", test_loop_gradients.CASES.values(), ids=test_loop_gradients.CASES)
def test_loops(case):
    text, given = case
    model, rng = test_loop_gradients.model_of(text), np.random.default_rng(12)
    feeds, outputs = test_loop_gradients.feeds_of(given, rng), names_of(test_loop_gradients.model_of(text))
    forward, fed, tangents = check_tangents(model, feeds, rng, outputs)
    for got, want in zip(elsewhere(forward, fed)[-len(outputs) :], tangents):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    step, session = 1e-6, rondel.InferenceSession(model)
    above, below = (
        session.run(outputs, {n: x + sign * step * fed[f"tangent_{n}"] for n, x in feeds.items()}) for sign in (1, -1)
    )
    for tangent, high, low in zip(tangents, above, below):
        scale = 1 + np.abs(tangent).max(initial=0)
        np.testing.assert_allclose(tangent / scale, (high - low) / (2 * step) / scale, atol=1e-7)


def test_all_float_outputs_and_initializers():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[N] x, int64 k) => (float[N] y, int64[N] i, float z) <float w = {2}> {
          y = Mul (x, w)  i = Cast <to = 7> (y)  z = ReduceSum <keepdims = 0> (y) }""")
    made = rondel.jvp(model, wrt=["w", "x"])
    assert [i.name for i in made.graph.input] == ["x", "k", "tangent_w", "tangent_x"]
    assert [o.name for o in made.graph.output] == ["y", "i", "z", "tangent_y", "tangent_z"]
    x, dx = np.array([1, 2, 3], np.float32), np.array([1, 0, 0], np.float32)
    feeds = {"x": x, "k": np.int64(0), "tangent_w": np.float32(10), "tangent_x": dx}
    dy, dz = rondel.InferenceSession(made.SerializeToString()).run(["tangent_y", "tangent_z"], feeds)
    np.testing.assert_array_equal(dy, 10 * x + 2 * dx)
    np.testing.assert_array_equal(dz, 62)


def test_the_mean_of_nothing_has_the_tangent_0():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[N,M] x, int64[1] axis) => (double[K] y) { y = ReduceMean <keepdims = 0> (x, axis) }""")
    session = rondel.InferenceSession(rondel.jvp(model, wrt=["x"]))
    for shape, want in [((2, 0), [0, 0]), ((0, 3), []), ((2, 4), [1, 1])]:
        feeds = {"x": np.zeros(shape), "axis": np.array([1]), "tangent_x": np.ones(shape)}
        for value in session.run(["y"], feeds):
            np.testing.assert_array_equal(value, np.zeros(shape[0]))
        for tangent in session.run(["tangent_y"], feeds):
            np.testing.assert_array_equal(tangent, want)


@pytest.mark.parametrize("op", ["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"])
def test_a_reduction_of_nothing_has_the_tangent_0(op):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,M] x, int64[1] axis) => (double[2] y) {{ y = {op} <keepdims = 0> (x, axis) }}""")
    feeds = {"x": np.zeros((2, 0)), "axis": np.array([1]), "tangent_x": np.zeros((2, 0))}
    (tangent,) = rondel.InferenceSession(rondel.jvp(model, wrt=["x"])).run(["tangent_y"], feeds)
    np.testing.assert_array_equal(tangent, [0, 0])


def test_the_norm_of_zeros_has_the_tangent_0():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,3] x, int64[1] axis) => (double[2] y) { y = ReduceL2 <keepdims = 0> (x, axis) }""")
    feeds = {"x": np.array([[0.0, 0, 0], [3, 4, 0]]), "axis": np.array([1]), "tangent_x": np.ones((2, 3))}
    (tangent,) = rondel.InferenceSession(rondel.jvp(model, wrt=["x"])).run(["tangent_y"], feeds)
    np.testing.assert_allclose(tangent, [0, 1.4])


def test_a_tangent_keeps_the_opset_and_stops_where_it_is_told():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        f (float[2] x) => (float[2] y, float[2] z) { e = Exp (x)  y = Mul (e, x)  z = Sub (x, x) }""")
    made = rondel.jvp(model, wrt="x", outputs="y", stop_gradient="e", prefix="d")
    assert (made.opset_import[0].version, made.ir_version) == (13, 8)
    x, dx = np.array([0, 1], np.float32), np.array([1, 2], np.float32)
    (dy,) = rondel.InferenceSession(made.SerializeToString()).run(["dy"], {"x": x, "dx": dx})
    np.testing.assert_allclose(dy, np.exp(x) * dx, rtol=1e-6)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"wrt": []}, "wrt is empty"),
        ({"wrt": "q"}, "wrt names 'q', which is no input"),
        ({"wrt": 3}, "jvp: wrt is 3; expected names"),
        ({"wrt": "x", "outputs": "q"}, "outputs names 'q', which is no output"),
        ({"wrt": "x", "outputs": "i"}, "output 'i' is i64.*expected a tensor of floats"),
        ({"wrt": "x", "prefix": ""}, "the model has an input or output 'x' already"),
        ({"wrt": "x", "prefix": 3}, "jvp: prefix is 3"),
    ],
)
def test_wrong_names_are_told(arguments, words):
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        f (float[2] x) => (float[2] y, int64[2] i) { y = Exp (x)  i = Cast <to = 7> (x) }""")
    with pytest.raises(rondel.CallerError, match=words):
        rondel.jvp(model, **arguments)


def test_a_model_without_float_outputs_has_no_tangents():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        f (float[2] x) => (int64[2] i) { i = Cast <to = 7> (x) }""")
    with pytest.raises(rondel.CallerError, match="no output of floats to differentiate; there are 'i'"):
        rondel.jvp(model, wrt="x")


@pytest.mark.parametrize("trips", [0, 2])
@pytest.mark.parametrize("columns", ["2", "n", "?"])
def test_a_stack_of_no_trip_that_another_loop_carries(columns, trips):
    """No trip tells the rank of the adjoints of its rows, which become the state of a loop that makes trips."""
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 18]>
main (double[{columns}] x, int64 trips) => (double[s, {columns}] y) <int64 three = {{3}}> {{
  last, rows = Loop (trips, , x) <body = b (int64 i, bool g, double[{columns}] s) => (bool on, double[{columns}] t, double[{columns}] row) {{
    on = Identity (g)
    t = Sin (s)
    row = Identity (s)
  }}>
  y = Loop (three, , rows) <body = c (int64 i, bool g, double[s, {columns}] a) => (bool on, double[s, {columns}] b) {{
    on = Identity (g)
    b = Sin (a)
  }}>
}}""")
    x, direction = np.array([0.5, 1.0]), np.array([1.0, -2.0])
    session = rondel.InferenceSession(rondel.jvp(model, ["x"], ["y"]).SerializeToString())
    y, tangent = session.run(None, {"x": x, "trips": np.array(trips), "tangent_x": direction})

    def rows(x):
        made = [x, np.sin(x)][:trips]
        return np.sin(np.sin(np.sin(np.array(made).reshape(trips, 2))))

    along = (rows(x + 1e-6 * direction) - rows(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(y, rows(x))
    assert tangent.shape == along.shape
    np.testing.assert_allclose(tangent, along, rtol=1e-8)
