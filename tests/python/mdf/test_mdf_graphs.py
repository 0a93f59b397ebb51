"""onnx::Loop, onnx::Scan and onnx::If in MDF files, with bodies in ONNX's text form."""

import numpy as np
import pytest

import rondel
import rondel.mdf


def model(function, args, parameters=(), outputs=("f",), functions=(), inputs=()):
    """A model of one node 'A' whose function 'f' is the function under test."""
    node = {
        "input_ports": dict(inputs),
        "functions": {**dict(functions), "f": {"function": function, "args": args}},
        "parameters": {name: {"value": value} for name, value in dict(parameters).items()},
        "output_ports": {f"y{k}": {"value": value} for k, value in enumerate(outputs)},
    }
    return rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": node}}}})


def values(made, **settings):
    results = made.run(0, **settings)
    return [results[name][0] for name in results if name != "time"]


STEP = """
body (int64 i, bool go, float[n] x, float[n] y) => (bool on, float[n] x2, float[n] y2, float[n] item) {
  on = Identity(go)
  x2 = Add(x, y)
  y2 = Mul(y, scale)
  item = Identity(x)
}"""


def test_a_loop_of_two_states_with_items_and_a_name_of_the_node():
    args = {"M": 5, "cond": 1, "v_initial": "[x, y]", "body": {"onnx": STEP}}
    made = model("onnx::Loop", args, {"x": [1.0, 2.0], "y": [1.0, -1.0], "scale": 2.0}, ("f[0]", "f[1]", "f[2]"))
    x, y, items = values(made)
    np.testing.assert_array_equal(x, [1 + 31, 2 - 31])
    np.testing.assert_array_equal(y, [32, -32])
    np.testing.assert_array_equal(items, np.array([[1, 2], [2, 1], [4, -1], [8, -5], [16, -13]]))
    assert x.dtype == np.float64
    np.testing.assert_array_equal(values(made, set={"A.scale": 1.0})[1], [1, -1])


DOUBLE = "body (int64 i, bool go, float[n] x) => (bool on, float[n] z) { z = Add(x, x) large = ReduceMax(z) on = Less(large, limit) }"


@pytest.mark.parametrize("args, times", [
    ({"M": 3, "cond": True}, 3), ({"M": 3.0}, 3), ({"M": "3"}, 3), ({"M": 0, "cond": 1}, 0), ({"M": 9, "cond": 0}, 0), ({"cond": 1}, 7), ({"M": 99, "cond": 1}, 7),
])  # fmt: skip
def test_what_ends_a_loop(args, times):
    made = model("onnx::Loop", {**args, "v_initial": "x", "body": {"onnx": DOUBLE}}, {"x": [1.0], "limit": [100.0]})
    np.testing.assert_array_equal(values(made)[0], [2.0**times])


def test_a_loop_of_a_known_number_of_trips_has_items_of_a_known_shape():
    body = "body (int64 i, bool go, float[n] x) => (bool on, float[n] y, float[n] item) { on = Identity(go) y = Add(x, x) item = Identity(x) }"
    for args in ({"M": 3.0, "cond": 1}, {"M": 3, "cond": True}, {"M": 3}):
        made = model("onnx::Loop", {**args, "v_initial": "x", "body": {"onnx": body}}, {"x": [1.0]}, ["f[1]"])
        assert values(made)[0].tolist() == [[1], [2], [4]]


def test_a_list_holds_expressions_and_a_state_may_be_one():
    args = {"M": 2, "cond": 1, "v_initial": "[x + 1, 2 * y]", "body": {"onnx": STEP}}
    x, y = values(model("onnx::Loop", args, {"x": [1.0], "y": [3.0], "scale": 1.0}, ("f[0]", "f[1]")))
    assert x == [2 + 12] and y == [6]
    args = {"M": 2, "cond": 1, "v_initial": "x + 1", "body": {"onnx": DOUBLE}}
    assert values(model("onnx::Loop", args, {"x": [1.0], "limit": [100.0]}))[0] == [8]


def test_a_scan():
    body = "body (float s, float x) => (float t, float item) { t = Add(s, x) item = Mul(t, t) }"
    args = {"initial_state_and_scan_inputs": "[0 * x[0], x]", "num_scan_inputs": 1, "body": {"onnx": body}}
    final, items = values(model("onnx::Scan", args, {"x": [1.0, 2.0, 3.0]}, ("f[0]", "f[1]")))
    assert final == 6
    np.testing.assert_array_equal(items, [1, 9, 36])


BRANCHES = {"then_branch": {"onnx": "t () => (float[n] r) { r = Add(x, one) }"}, "else_branch": {"onnx": "e () => (float[n] r) { r = Neg(x) }"}}


def test_branches_read_names_of_the_node():
    made = model("onnx::If", {"cond": "choice > 0", **BRANCHES}, {"x": [1.0, 2.0], "one": 1.0, "choice": 1})
    np.testing.assert_array_equal(values(made)[0], [2, 3])
    np.testing.assert_array_equal(values(made, set={"A.choice": -1})[0], [-1, -2])
    # The condition may be the name of a parameter of the node.
    made = model("onnx::If", BRANCHES, {"x": [1.0, 2.0], "one": 1.0, "cond": 0})
    np.testing.assert_array_equal(values(made)[0], [-1, -2])


def test_a_body_reads_functions_parameters_and_ports():
    body = "body (int64 i, bool go, float[n] v) => (bool on, float[n] w) { on = Identity(go) a = Add(v, p) b = Add(a, port) w = Add(b, g) }"
    args = {"M": 1, "cond": 1, "v_initial": "p", "body": {"onnx": body}}
    functions = {"f": {}, "g": {"value": "2 * port"}}  # f is listed first, but depends on g
    made = model("onnx::Loop", args, {"p": [1.0]}, functions=functions, inputs={"port": {"default_value": [10.0]}})
    assert values(made)[0] == [1 + 1 + 10 + 20]


def test_a_loop_in_a_state_is_a_loop_in_the_loop():
    body = "body (int64 i, bool go, float[n] x) => (bool on, float[n] z) { on = Identity(go) z = Mul(x, rate) }"
    node = {
        "functions": {"f": {"function": "onnx::Loop", "args": {"M": 3, "cond": 1, "v_initial": "level", "body": {"onnx": body}}}},
        "parameters": {"rate": {"value": 2.0}, "level": {"default_initial_value": [1.0], "value": "f"}},
        "output_ports": {"level": {"value": "level"}},
    }
    made = rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": node}}}})
    np.testing.assert_array_equal(made.run(3)["A.level"][:, 0], [8, 64, 512, 4096])
    swept = made.run(2, set={"A.rate": [1.0, 2.0]})["A.level"]
    np.testing.assert_array_equal(swept[:, :, 0], [[1, 8], [1, 64], [1, 512]])


# the arguments of a Loop, message of the error
REFUSED = [
    ({"body": {"onnx": "body (int64 i"}}, "argument 'body': this is no graph in ONNX's text form", "line: 1 column: "),
    ({"body": {"onnx": "body () =>\n (float y) { y = 3 }"}}, "argument 'body'", "line: 2 column: "),
    ({"body": {"text": ""}}, "argument 'body': the value is a map", "expected a number, a list, an expression, or {onnx: TEXT}"),
    ({"body": {"onnx": 3}}, "argument 'body': the value is a map", "{onnx: TEXT}"),
    ({"body": "x"}, "argument 'body': it is no graph", "expected {onnx: TEXT}"),
    ({"body": {"onnx": STEP}}, "", "the graph reads 'scale', which neither it nor the node has"),
    ({"body": {"onnx": DOUBLE.replace("limit", "x")}, "v_initial": "[x, x]"}, "", "its body has 3 inputs; expected 4"),
    ({}, "", "attribute 'body' is missing"),
    ({"body": {"onnx": DOUBLE.replace("limit", "x")}, "M": 2.5}, "", "M is 2.5; expected a whole number"),
    ({"body": {"onnx": DOUBLE.replace("limit", "x")}, "M": "inf"}, "", "M is inf; expected a whole number"),
    ({"body": {"onnx": DOUBLE.replace("limit", "x")}, "M": {"onnx": DOUBLE}}, "argument 'M'", "a graph of ONNX stands here"),
    ({"body": {"onnx": DOUBLE.replace("Add(x, x)", "Nope(x)").replace("limit", "x")}}, "", "Nope"),
]  # fmt: skip


@pytest.mark.parametrize("args, place, message", REFUSED)
def test_a_graph_that_is_refused(args, place, message):
    with pytest.raises(rondel.CallerError) as error:
        values(model("onnx::Loop", {"M": 2, "v_initial": "x", "cond": 1, **args}, {"x": [1.0]}))
    text = str(error.value)
    assert message in text and place in text and "node 'A'" in text and "function 'f'" in text


def test_a_graph_is_an_argument_of_nothing_else():
    with pytest.raises(rondel.CallerError, match="argument 'variable0': a graph of ONNX stands here"):
        values(model("linear", {"variable0": {"onnx": DOUBLE}, "slope": 1, "intercept": 0}))
