"""What makes a session, and what a session says of its model: sources, providers, options, descriptions of inputs and outputs, metadata."""

import warnings

import onnx
import pytest
import rondel
from models import f32, model, options, run, same, session
from onnx import helper
from session_cases import DOUBLE

# ---- sources, providers, options -------------------------------------------------------------------------


def test_a_model_may_be_a_path_bytes_or_a_proto(tmp_path):
    made = model(DOUBLE)
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    for source in (str(path), path, made.SerializeToString(), made):
        same(rondel.InferenceSession(source).run(None, {"x": f32(1, 2)})[0], f32(2, 4))


def test_the_proto_is_not_changed_and_may_change_later():
    made = model(DOUBLE)
    before = made.SerializeToString(deterministic=True)
    s = rondel.InferenceSession(made)
    assert made.SerializeToString(deterministic=True) == before
    made.graph.node[0].op_type = "Sub"
    same(s.run(None, {"x": f32(1, 2)})[0], f32(2, 4))


def test_arguments_may_be_given_by_name():
    s = rondel.InferenceSession(model(DOUBLE), sess_options=rondel.SessionOptions(), providers=["CPUExecutionProvider"])
    same(s.run(output_names=["y"], input_feed={"x": f32(1)})[0], f32(2))


def test_the_version_begins_with_a_number():
    assert rondel.__version__.split(".")[0].isdigit()


def test_the_provider_of_the_cpu_is_taken_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = rondel.InferenceSession(model(DOUBLE), providers=["CPUExecutionProvider"])
    assert "CPUExecutionProvider" in s.get_providers()


@pytest.mark.parametrize("unknown", ["CUDAExecutionProvider", ("CUDAExecutionProvider", {"device_id": 0})])
def test_an_unknown_provider_warns(unknown):
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        s = rondel.InferenceSession(model(DOUBLE), providers=[unknown, "CPUExecutionProvider"])
    same(s.run(None, {"x": f32(1)})[0], f32(2))


def test_common_session_options_change_no_result():
    made = options(intra_op_num_threads=1, graph_optimization_level=0)
    same(run(DOUBLE, {"x": f32(1, 2)}, options=made)[0], f32(2, 4))


def test_options_of_onnxruntime_that_mean_nothing_here_are_taken():
    made = options(log_severity_level=3, inter_op_num_threads=1)
    same(run(DOUBLE, {"x": f32(1)}, options=made)[0], f32(2))


# ---- descriptions ----------------------------------------------------------------------------------------

ASKED = """
main (float[n, 3] x, int64 k, string[?] words, seq(float[2]) q, optional(int32[4]) o)
    => (float[n, 3] y, bool[?] b, seq(float[2]) r) {
  y = Identity (x)
  b = Equal (words, words)
  r = Identity (q)
}"""


def described(values):
    return [(v.name, v.shape, v.type) for v in values]


def test_inputs_and_outputs_as_onnxruntime_describes_them():
    made = model(ASKED.replace("[?]", "[m]"))
    del made.graph.input[2].type.tensor_type.shape.dim[0]
    made.graph.input[2].type.tensor_type.shape.dim.add()
    made.graph.output[1].type.tensor_type.shape.CopyFrom(made.graph.input[2].type.tensor_type.shape)
    s = session(made)
    inputs = described(s.get_inputs())
    assert inputs[:3] == [
        ("x", ["n", 3], "tensor(float)"),
        ("k", [], "tensor(int64)"),
        ("words", [None], "tensor(string)"),
    ]
    assert [(n, t) for n, _, t in inputs[3:]] == [("q", "seq(tensor(float))"), ("o", "optional(tensor(int32))")]
    outputs = described(s.get_outputs())
    assert outputs[0] == ("y", ["n", 3], "tensor(float)")
    assert outputs[1] == ("b", [None], "tensor(bool)")
    assert (outputs[2][0], outputs[2][2]) == ("r", "seq(tensor(float))")


@pytest.mark.parametrize(
    ("onnx_type", "text"),
    [
        ("float", "float"),
        ("double", "double"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("int8", "int8"),
        ("uint8", "uint8"),
        ("int16", "int16"),
        ("uint16", "uint16"),
        ("int32", "int32"),
        ("uint32", "uint32"),
        ("int64", "int64"),
        ("uint64", "uint64"),
        ("bool", "bool"),
        ("string", "string"),
        ("float8e4m3fn", "float8e4m3fn"),
        ("int4", "int4"),
    ],
)
def test_types_have_onnxruntimes_words(onnx_type, text):
    s = session(f"main ({onnx_type}[2] x) => ({onnx_type}[2] y) {{ y = Identity (x) }}")
    assert s.get_inputs()[0].type == f"tensor({text})"
    assert s.get_outputs()[0].type == f"tensor({text})"


def test_descriptions_equal_onnxruntimes():
    ort = pytest.importorskip("onnxruntime")
    made = model(ASKED.replace("[?]", "[m]").replace(", optional(int32[4]) o", ""))
    theirs = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = session(made)
    assert described(ours.get_inputs()) == described(theirs.get_inputs())
    assert described(ours.get_outputs()) == described(theirs.get_outputs())


def test_metadata_are_those_of_the_model():
    made = model(DOUBLE)
    made.producer_name = "the producer"
    made.domain = "a.domain"
    made.doc_string = "what it is"
    made.model_version = 7
    made.graph.doc_string = "what the graph is"
    helper.set_model_props(made, {"key": "text", "other": ""})
    meta = session(made).get_modelmeta()
    assert meta.producer_name == "the producer"
    assert meta.graph_name == "main"
    assert meta.domain == "a.domain"
    assert meta.description == "what it is"
    assert meta.version == 7
    assert meta.custom_metadata_map == {"key": "text", "other": ""}
