"""Gradients of gradients of ops, against central differences."""

import numpy as np
import pytest
import rondel
from differences import central_differences, check_gradient, feeds_of
from gradient_cases import CASES, model_of
from onnx import parser


def test_second_derivatives_come_from_the_gradient_of_the_gradient():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[3] x) => (double y) { t = Sin (x)  u = Mul (t, x)  v = Exp (u)  y = ReduceSum <keepdims = 0> (v) }""")
    first = rondel.grad(model, wrt="x")
    feeds = {"x": np.array([0.3, -1.1, 0.8])}
    second = rondel.grad(first, wrt="x", outputs="grad_x", prefix="second_")
    got = rondel.InferenceSession(second.SerializeToString()).run(["second_x"], feeds)[0]
    run = rondel.InferenceSession(first.SerializeToString())
    want = central_differences(lambda f: run.run(["grad_x"], f), feeds, "x", [np.ones(3)])
    np.testing.assert_allclose(got, want, rtol=1e-6)


SMOOTH_OPS = "Neg Exp Sigmoid Tanh Erf Sin Cos Sinh Cosh Atan Asinh Softplus Softsign Mish Log Sqrt Reciprocal Add Mul Div MatMul Gemm Softmax ReduceMean ReduceProd LayerNormalization Conv Gather Concat"  # fmt: skip
SECOND = list({case.op: case for case in CASES if case.op in SMOOTH_OPS.split()}.values())


@pytest.mark.parametrize("case", SECOND, ids=repr)
def test_second_derivatives_of_ops(case):
    """The gradient of a weighted sum of the gradient's elements, with random weights."""
    rng = np.random.default_rng(13)
    inputs = case.draw(rng)
    model, feeds = model_of(case.op, inputs, case.attributes, case.outputs, case.opset), feeds_of(inputs)
    outputs = [o.name for o in model.graph.output]
    seeds = [f"seed_{n}" for n in outputs]
    values = rondel.InferenceSession(model.SerializeToString()).run(outputs, feeds)
    once = rondel.grad(model, list(feeds), outputs, seeds, prefix="first_")
    fed = feeds | {s: rng.standard_normal(y.shape) for s, y in zip(seeds, values)}
    check_gradient(once.SerializeToString(), fed, rng, outputs=[f"first_{n}" for n in feeds])


@pytest.mark.parametrize("op", ["Elu", "Selu"])
def test_second_derivatives_do_not_overflow(op):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[3] x) => (float y) {{ e = {op} (x)  s = Mul (e, e)  y = ReduceSum <keepdims = 0> (s) }}""")
    second = rondel.grad(rondel.grad(model, wrt="x"), wrt="x", outputs="grad_x", prefix="second_")
    x = np.array([100, -1, 3], np.float32)
    got = rondel.InferenceSession(second.SerializeToString()).run(["second_x"], {"x": x})[0]
    assert np.isfinite(got).all() and got[0] == pytest.approx(2 if op == "Elu" else 2 * 1.0507009873554805**2, rel=1e-6)


def test_powers_of_zero_have_second_derivatives():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[3] x, double[3] p) => (double y) { z = Pow (x, p)  y = ReduceSum <keepdims = 0> (z) }""")
    first = rondel.grad(model, wrt="x")
    second = rondel.grad(first, wrt=["x", "p"], outputs="grad_x", prefix="second_")
    feeds = {"x": np.zeros(3), "p": np.array([2.0, 1, 0])}
    got = rondel.InferenceSession(second.SerializeToString()).run(["second_x", "second_p"], feeds)
    np.testing.assert_array_equal(got[0], [2, 0, 0])
    np.testing.assert_array_equal(got[1][:1], [0])
