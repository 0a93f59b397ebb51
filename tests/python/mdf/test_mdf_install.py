"""rondel.mdf.install: modeci_mdf's functions and engine give the same results with Rondel as with ONNX Runtime."""

import json

import numpy as np
import onnx
import onnx.parser
import onnx.printer
import pytest

import rondel.mdf

functions = pytest.importorskip("modeci_mdf.functions.onnx")
from modeci_mdf.execution_engine import EvaluableGraph  # noqa: E402
from modeci_mdf.functions.standard import mdf_functions  # noqa: E402
from modeci_mdf.mdf import Graph, Node, OutputPort, Parameter  # noqa: E402

A = np.arange(6.0).reshape(2, 3)
IMAGE = np.arange(16.0).reshape(1, 1, 4, 4)
CALLS = {
    "add": lambda f: f.add(A, A),
    "attributes": lambda f: f.softmax(A, axis=1),
    "several": lambda f: f.maxpool(IMAGE, kernel_shape=[2, 2]),
    "variadic": lambda f: f.concat(A, A, axis=0),
    "split": lambda f: f.split(A, axis=0),
    "pad": lambda f: f.pad(A, np.array([0, 1, 0, 1]), np.array(2.0)),
    "old form": lambda f: f.reducemean(A, axes=[1]),
    "conv": lambda f: f.conv(IMAGE, np.ones((1, 1, 3, 3)), pads=[1, 1, 1, 1]),
    "optional": lambda f: f.dropout(A),
    "normalization": lambda f: f.batchnormalization(np.ones((1, 2, 2)), *[np.ones(2)] * 4, training_mode=0),
    "lstm": lambda f: f.lstm(np.ones((2, 1, 1)), np.ones((1, 4, 1)), np.ones((1, 4, 1)), hidden_size=1),
    "constant": lambda f: f.constantofshape(np.array([2]), value=np.array([1.0])),
    "reshape": lambda f: f.reshape(A, np.array([[3, 2]])),
    "cast": lambda f: f.cast(A, to=7),
    "sequence": lambda f: f.concatfromsequence([A, A], axis=0),
    "depth": lambda f: f.spacetodepth(IMAGE, blocksize=2),
    "missing": lambda f: f.lrn(IMAGE, size=3),
}
BODY = onnx.parser.parse_graph(
    "body (int64 i, bool go, float[n] x) => (bool on, float[n] y, float[n] item)"
    "{ on = Identity(go)  y = Add(x, x)  item = Identity(x) }"
)


@pytest.fixture
def installed():
    rondel.mdf.install()
    rondel.mdf.install()
    yield
    rondel.mdf.uninstall()


def test_all_parts_of_a_split_are_given(installed):
    first, second = functions.split(A, np.array([1, 2]), 1)
    assert first.tolist() == [[0], [3]] and second.tolist() == [[1, 2], [4, 5]]
    assert list(functions.run_onnx_op("Split", {"input": A, "split": np.array([1, 1, 1])}, ["a", "b"], axis=1)) == ["a", "b", "b[1]"]


@pytest.mark.parametrize("name", CALLS)
def test_functions_give_what_onnx_runtime_gives(name):
    expected = CALLS[name](functions)
    original = functions.run_onnx_op
    rondel.mdf.install()
    try:
        assert functions.run_onnx_op is not original
        got = CALLS[name](functions)
    finally:
        rondel.mdf.uninstall()
    assert functions.run_onnx_op is original
    assert type(got) is type(expected)
    expected, got = (x if isinstance(x, tuple) else (x,) for x in (expected, got))
    assert [np.asarray(x).dtype for x in got] == [np.asarray(x).dtype for x in expected]
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_functions_run_without_a_session_of_onnx_runtime(installed, monkeypatch):
    monkeypatch.setattr(functions.ort, "InferenceSession", None)
    for name in CALLS.keys() - {"sequence", "missing"}:
        CALLS[name](functions)


def test_models_are_run(installed):
    text = '<ir_version: 8, opset_import: ["" : 15]> g (float[n] a) => (float[n] b) { b = Neg(a) }'
    results = functions.predict_with_onnxruntime(onnx.parser.parse_model(text), np.float32([1, 2]))
    assert list(results) == ["b"] and results["b"].tolist() == [-1, -2]


def test_models_with_operators_that_rondel_does_not_have_are_run_as_before(installed):
    text = """<ir_version: 8, opset_import: ["" : 15, "com.microsoft" : 1]> g (float[2, 1] a) => (float[2, 2] b) {
      b = com.microsoft.CDist <metric = "euclidean"> (a, a)
    }"""
    assert rondel.inspect(onnx.parser.parse_model(text)).runs is False  # if Rondel gets this operator, choose another one here
    results = functions.predict_with_onnxruntime(onnx.parser.parse_model(text), np.array([[1], [4]], np.float32))
    np.testing.assert_allclose(results["b"], [[0, 3], [3, 0]], atol=1e-6)


def test_loops(installed):
    x = np.array([1.0, 2.0])
    for trips, cond in [(3, True), (np.array(3), np.array(True)), (np.array([3]), 1), (3, ""), (3, None)]:
        y, items = functions.loop(trips, cond, x, body=BODY)
        assert y.tolist() == [8, 16] and items.shape == (3, 2) and y.dtype == np.float32
    assert functions.loop(3, True, x, BODY)[0].tolist() == [8, 16]
    assert functions.loop.__doc__.startswith("\nGeneric Looping construct")


def model(function, args, out="r"):
    node = Node(id="n")
    node.parameters += [Parameter(id="x", value=[1.0, 2.0]), Parameter(id="scale", value=3.0)]
    node.parameters.append(Parameter(id="r", function=function, args=args))
    node.output_ports.append(OutputPort(id="out", value=out))
    graph = Graph(id="g")
    graph.nodes.append(node)
    return evaluated(graph)


def evaluated(graph):
    evaluable = EvaluableGraph(graph, verbose=False)
    evaluable.evaluate(array_format="numpy")
    return evaluable.enodes["n"].evaluable_outputs["out"].curr_value


def doubled(i, go, x):
    return go, x * 2, x


@pytest.mark.parametrize("body", [BODY, doubled, {"onnx": onnx.printer.to_text(BODY)}])
def test_loops_in_models(installed, capsys, body):
    y, items = model("onnx::Loop", {"M": "5", "cond": "1", "v_initial": "x", "body": body})
    assert y.tolist() == [32, 64] and items.shape == (5, 2)
    assert model("onnx::Loop", {"M": 2, "cond": True, "v_initial": "x", "body": body}, "r[1]").tolist() == [[1, 2], [2, 4]]


TWO_STATES = """b (int64 i, bool go, float[n] x, float[n] y) => (bool on, float[n] x2, float[n] y2, float[n] item)
  { on = Identity(go)  x2 = Add(x, y)  y2 = Mul(y, scale)  item = Identity(x) }"""


def test_bodies_read_names_of_their_node(installed, capsys):
    """Several states form a list; names that a body does not define are parameters of the node."""
    for initial in ("[x, x + 1]", ["x", "x + 1"]):
        x, y, items = model("onnx::Loop", {"M": 2, "cond": 1, "v_initial": initial, "body": {"onnx": TWO_STATES}})
        assert x.tolist() == [1 + 2 + 6, 2 + 3 + 9] and y.tolist() == [18, 27] and items.tolist() == [[1, 2], [3, 5]]
    branches = {"then_branch": {"onnx": "t () => (float[n] y) { y = Mul(x, scale) }"}, "else_branch": {"onnx": "e () => (float[n] y) { y = Neg(x) }"}}
    assert model("onnx::If", {"cond": "scale > 1", **branches}).tolist() == [3, 6]
    assert model("onnx::If", {"cond": "scale < 1", **branches}).tolist() == [-1, -2]
    sums = {"onnx": "s (float[n] total, float e) => (float[n] sum, float[n] item) { sum = Add(total, e)  item = Mul(sum, scale) }"}
    total, items = model("onnx::Scan", {"initial_state_and_scan_inputs": "[scale - 2.5, x]", "num_scan_inputs": 1, "body": sums})
    assert total.tolist() == [3.5] and items.tolist() == [[4.5], [10.5]]


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_loops_in_files(installed, capsys, tmp_path, suffix):
    from modeci_mdf.utils import load_mdf

    arguments = {"M": 3, "cond": 1, "v_initial": "x", "body": {"onnx": onnx.printer.to_text(BODY)}}
    parameters = {"x": {"value": [1.0, 2.0]}, "r": {"function": "onnx::Loop", "args": arguments}}
    node = {"parameters": parameters, "output_ports": {"out": {"value": "r[0]"}}}
    document = {"M": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"n": node}}}}}
    path = tmp_path / f"loop.{suffix}"
    path.write_text(json.dumps(document))  # JSON is YAML, too
    assert evaluated(load_mdf(str(path)).graphs[0]).tolist() == [8, 16]


@pytest.mark.parametrize(
    "args, text",
    [
        ({"M": 2, "cond": 1, "v_initial": "x"}, "Loop: 'body' is missing; expected a map {onnx: TEXT}"),
        ({"M": 2, "cond": 1, "v_initial": "x", "body": {"text": "x"}}, "'body' is a map of text; expected {onnx: TEXT}"),
        ({"M": 2, "cond": 1, "v_initial": "x", "body": {"onnx": "b (x) =>"}}, "is no text of an ONNX graph"),
        ({"M": 2, "cond": 1, "v_initial": "x", "body": {"onnx": TWO_STATES.replace("scale", "nowhere")}}, "reads 'nowhere', which neither"),
        ({"M": 2, "cond": 1, "v_initial": "x", "body": {"onnx": TWO_STATES}}, "its body has 4 inputs; expected 3"),
    ],
)
def test_wrong_bodies_in_models(installed, capsys, args, text):
    with pytest.raises(rondel.CallerError) as raised:
        model("onnx::Loop", args)
    assert text in str(raised.value)


def test_functions_in_models(capsys):
    expected = model("onnx::Softmax", {"input": "x", "axis": "0"})
    rondel.mdf.install()
    try:
        got = model("onnx::Softmax", {"input": "x", "axis": "0"})
    finally:
        rondel.mdf.uninstall()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_it_is_undone():
    rondel.mdf.install()
    assert "onnx::Loop" in mdf_functions
    rondel.mdf.uninstall()
    rondel.mdf.uninstall()
    assert "onnx::Loop" not in mdf_functions
