"""MDF's functions: the standard ones by their formulas, ONNX's against modeci_mdf's engine."""

import json

import mdf_engine
import numpy as np
import pytest

import rondel
import rondel.mdf


def load(tmp_path, nodes, edges=None):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes, "edges": edges or {}}}}}))
    return path, rondel.mdf.load(path)


def one_node(tmp_path, ports, function, arguments, value="f"):
    """A node with input ports (name to default value) and a function 'f', whose result is the output port 'y'."""
    node = {
        "input_ports": {name: {"default_value": np.asarray(v).tolist(), "shape": list(np.shape(v))} for name, v in ports.items()},
        "functions": {"f": {"function": function, "args": arguments}},
        "output_ports": {"y": {"value": value}},
    }
    return load(tmp_path, {"A": node})


X = [-0.5, 0.25, 0.75]
# function, arguments, the formula
STANDARD = [
    ("linear", {"variable0": "x", "slope": 2, "intercept": 0.5}, lambda x: 2 * x + 0.5),
    ("logistic", {"variable0": "x", "gain": 3, "bias": 1, "offset": 0.25}, lambda x: 1 / (1 + np.exp(-3 * (x + 1) + 0.25))),
    ("exponential", {"variable0": "x", "scale": 2, "rate": 3, "bias": 1, "offset": 4}, lambda x: 2 * np.exp(3 * x + 1) + 4),
    *((name, {"variable0": "x", "scale": 2}, lambda x, f=getattr(np, name): 2 * f(x))
      for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan", "arcsin", "arccos")),
    ("MatMul", {"A": "x", "B": "x"}, lambda x: x @ x),
    ("Relu", {"A": "x"}, lambda x: x * (x > 0)),
]  # fmt: skip


@pytest.mark.parametrize("function, arguments, formula", STANDARD, ids=lambda x: x if isinstance(x, str) else "")
def test_standard_function(tmp_path, function, arguments, formula):
    path, model = one_node(tmp_path, {"x": X}, function, arguments)
    got = model.run(0)["A.y"]
    np.testing.assert_allclose(got[0], formula(np.array(X)), rtol=1e-14)
    np.testing.assert_allclose(got, mdf_engine.run(path, 0, 1, ["A.y"])["A.y"], rtol=1e-14)


rng = np.random.default_rng(5)
IMAGE, KERNEL = rng.normal(size=(1, 2, 6, 6)), rng.normal(size=(3, 2, 3, 3))
A, B = rng.normal(size=(2, 3)), rng.normal(size=(3, 4))

# ports, function, arguments, expression of the output port
ONNX = [
    ({"x": A}, "onnx::Relu", {"X": "x"}, "f"),
    ({"x": A}, "onnx::Tanh", {"input": "x"}, "f"),
    ({"x": A}, "onnx::Sin", {"input": "x"}, "f"),
    ({"x": A}, "onnx::Abs", {"X": "x"}, "f"),
    ({"x": A, "z": -A}, "onnx::Add", {"A": "x", "B": "z"}, "f"),
    ({"x": A, "z": B}, "onnx::MatMul", {"A": "x", "B": "z"}, "f"),
    ({"A": A, "B": B}, "onnx::MatMul", {}, "f"),
    ({"x": A, "z": B}, "onnx::Gemm", {"A": "x", "B": "z", "alpha": 0.5}, "f"),
    ({"x": A, "z": A}, "onnx::Less", {"A": "x", "B": "z"}, "f"),
    ({"x": A}, "onnx::ReduceMean", {"data": "x", "axes": [1], "keepdims": 0}, "f"),
    ({"x": A}, "onnx::Transpose", {"data": "x", "perm": [1, 0]}, "f"),
    ({"x": A}, "onnx::Unsqueeze", {"data": "x", "axes": [0]}, "f"),
    ({"x": A}, "onnx::Reshape", {"data": "x", "shape": [3, 2]}, "f"),
    ({"x": A}, "onnx::Gather", {"data": "x", "indices": [1, 0], "axis": 1}, "f"),
    ({"x": A}, "onnx::Slice", {"data": "x", "starts": [0], "ends": [2], "axes": [1]}, "f"),
    ({"x": A}, "onnx::Clip", {"input": "x", "min": -0.5, "max": 0.5}, "f"),
    ({"x": A}, "onnx::Flatten", {"input": "x", "axis": 0}, "f"),
    ({"x": A, "z": A}, "onnx::Concat", {"axis": 1}, "f"),
    ({"x": A, "z": A}, "onnx::Concat", {"inputs": "[x, z]", "axis": 0}, "f"),
    ({"x": IMAGE, "w": KERNEL}, "onnx::Conv", {"X": "x", "W": "w", "pads": [1, 1, 1, 1]}, "f"),
    ({"x": IMAGE}, "onnx::MaxPool", {"X": "x", "kernel_shape": [2, 2]}, "f[0]"),
    ({"x": IMAGE}, "onnx::AveragePool", {"X": "x", "kernel_shape": [3, 3]}, "f"),
    ({"x": IMAGE}, "onnx::GlobalAveragePool", {"X": "x"}, "f"),
    ({"x": A}, "onnx::Softmax", {"input": "x", "axis": 1}, "f"),
    ({"x": A}, "onnx::Softmax", {"input": "x", "axis": "2 - 1"}, "f"),
    ({"x": A}, "onnx::LeakyRelu", {"X": "x", "alpha": "1/5"}, "f"),
    ({"x": A}, "onnx::Reshape", {"data": "x", "shape": "numpy.array([1+2, 2])"}, "f"),
]  # fmt: skip


@pytest.mark.parametrize("ports, function, arguments, value", ONNX, ids=[f"{c[1]}-{k}" for k, c in enumerate(ONNX)])
def test_function_of_onnx(tmp_path, ports, function, arguments, value):
    path, model = one_node(tmp_path, ports, function, arguments, value)
    got = model.run(1)["A.y"]
    expected = mdf_engine.run(path, 1, 1, ["A.y"])["A.y"]
    assert got.shape == expected.shape and got.dtype == expected.dtype.newbyteorder("=") or expected.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


def test_functions_of_onnx_compute_in_float32_unless_told_otherwise(tmp_path):
    _, model = one_node(tmp_path, {"x": A}, "onnx::Exp", {"input": "x"})
    single, double = model.run(0)["A.y"][0], model.run(0, single_precision=False)["A.y"][0]
    assert single.dtype == double.dtype == np.float64
    np.testing.assert_array_equal(single, single.astype(np.float32))
    np.testing.assert_allclose(double, np.exp(A), rtol=1e-14)


def test_functions_of_functions_are_put_in_order(tmp_path):
    node = {
        "functions": {
            "last": {"value": "middle + first"},
            "middle": {"function": "linear", "args": {"variable0": "first", "slope": 2, "intercept": "offset"}},
            "first": {"function": {"onnx::Neg": {"X": "p"}}},
        },
        "parameters": {"p": {"value": [3.0]}, "offset": {"value": 1}},
        "output_ports": {"y": {"value": "last"}},
    }
    path, model = load(tmp_path, {"A": node})
    np.testing.assert_allclose(model.run(0)["A.y"], [[-8.0]])


def test_a_stateful_parameter_of_an_onnx_function(tmp_path):
    """The function reads the previous value of its parameter: an exponential moving average."""
    node = {
        "parameters": {
            "t": {"default_initial_value": 0.0, "time_derivative": "1"},
            "mean": {"default_initial_value": [1.0], "value": "0.5 * mean + 0.5 * noise"},
            "noise": {"function": "onnx::Sin", "default_initial_value": [0.0], "args": {"input": "3 * t + mean"}},
        },
        "output_ports": {"y": {"value": "mean"}, "noise": {"value": "noise"}},
    }
    path, model = load(tmp_path, {"A": node})
    got, expected = model.run(20, 0.1), mdf_engine.run(path, 20, 0.1, ["A.y", "A.noise"])
    for name, rows in expected.items():
        np.testing.assert_allclose(got[name], rows, rtol=1e-6)


def leaky(alpha):
    parameters = {"x": {"value": [-1.0, 2.0]}, "half": {"value": 0.5}, "alpha": alpha}
    return {"parameters": parameters, "functions": {"f": {"function": "onnx::LeakyRelu", "args": {"X": "x"}}}, "output_ports": {"y": {"value": "f"}}}


@pytest.mark.parametrize("alpha", [0.5, "0.25*2", "half"])
def test_an_attribute_that_a_parameter_gives(tmp_path, alpha):
    _, model = load(tmp_path, {"A": leaky({"value": alpha})})
    np.testing.assert_array_equal(model.run(1)["A.y"], [[-0.5, 2.0]] * 2)


def test_integers_of_an_attribute_keep_all_their_digits(tmp_path):
    _, model = one_node(tmp_path, {}, "onnx::Constant", {"value_ints": [9223372036854775807, 9007199254740993]})
    assert model.run(0)["A.y"][0].tolist() == [9223372036854775807, 9007199254740993]


def test_an_attribute_that_a_parameter_or_a_port_gives_is_constant(tmp_path):
    """It is not replaced by the default of the op."""
    message = "node 'A': function 'f': the node's 'alpha': attribute 'alpha' depends on values of the model"
    for alpha, settings in (({"value": "alpha + 1"}, {}), ({"value": 0.5}, {"set": {"A.alpha": 0.9}})):
        _, model = load(tmp_path, {"A": leaky(alpha)})
        with pytest.raises(rondel.CallerError, match=message):
            model.run(1, **settings)
    node = {"input_ports": {"axis": {}, "x": {"default_value": [[1.0, 2.0]]}}, "functions": {"f": {"function": "onnx::Softmax", "args": {"input": "x"}}}}
    _, model = load(tmp_path, {"A": {**node, "output_ports": {"y": {"value": "f"}}}})
    with pytest.raises(rondel.CallerError, match="attribute 'axis' depends on values of the model"):
        model.run(inputs={"A.axis": 0})


# function, arguments, kind of error, message
REFUSED = [
    ("lineer", {}, rondel.CallerError, "there is no function 'lineer'; did you mean 'linear'?"),
    ("linear", {"variable0": "x"}, rondel.CallerError, "linear needs 'slope', 'intercept' among its arguments"),
    ("onnx::Reluu", {}, rondel.CallerError, "ONNX has no op 'Reluu'"),
    ("onnx::Relu", {"Y": "x"}, rondel.CallerError, "Relu has no input or attribute of this name; it has 'X'"),
    ("onnx::Relu", {"X": "nope"}, rondel.CallerError, "the name 'nope' is not known here"),
    ("onnx::Conv", {"X": "x", "W": "x"}, rondel.CallerError, "Conv"),
    ("onnx::Transpose", {"data": "x", "perm": "x * 2"}, rondel.CallerError, "attribute 'perm' depends on values of the model"),
    ("onnx::Transpose", {"data": "x", "perm": [1.5]}, rondel.CallerError, "attribute 'perm' is given 1.5; expected an integer of 64 bits"),
    ("onnx::Flatten", {"input": "x", "axis": 2.0**63}, rondel.CallerError, "attribute 'axis' is given 9.223372036854776e+18; expected an integer of 64 bits"),
    ("onnx::Loop", {"M": 1, "body": 3}, rondel.CallerError, "argument 'body': it is no graph; expected {onnx: TEXT}"),
    ("update_goal", {}, rondel.UnsupportedError, "functions of ACT-R"),
    ("drift_diffusion_integrator", {}, rondel.UnsupportedError, "modeci_mdf does not run it either"),
]


@pytest.mark.parametrize("function, arguments, kind, message", REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_function_that_is_refused(tmp_path, function, arguments, kind, message):
    _, model = one_node(tmp_path, {"x": X}, function, arguments)
    with pytest.raises(kind) as error:
        model.run(0)
    assert message in str(error.value)
    assert [source for source, _ in error.value.frames][:2] == ["node 'A'", "function 'f'"]
