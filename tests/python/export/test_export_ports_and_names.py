"""What an exported model keeps of its source: inputs and outputs, symbols, defaults, names and metadata; functions are inlined."""

import numpy as np
import onnx
import pytest
import rondel
from models import agree, f32, in_onnxruntime, model, run, same, scalar, session
from onnx import helper

# ---- ports without a rank, and outputs -------------------------------------------------------------------


def test_what_has_no_rank_is_held_by_an_optional(tmp_path):
    source = model("main (float[] x, int64[n] s) => (float[] y, float[2] z) { y = Reshape (x, s) z = Neg (x) }")
    report = rondel.export(source, tmp_path / "m.onnx")
    assert [note[:3] for note in report.notes] == ["'x'", "'y'"] and "as an optional" in report.notes[0]
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    feeds = {"x": f32(1, 2), "s": np.array([2, 1])}
    for result in (run(tmp_path / "m.onnx", feeds), in_onnxruntime(str(tmp_path / "m.onnx"), feeds)):
        same(result[0], f32([1], [2]))
        same(result[1], f32(-1, -2))


def test_an_output_that_is_an_input_without_a_rank_comes_back_the_same():
    source = model("main (float[] x) => (float[] x, float[] y) { y = Neg (x) }")
    written = rondel.export(source)
    onnx.checker.check_model(written, full_check=True)
    for results in (run(written, {"x": f32(1, 2)}), in_onnxruntime(written, {"x": f32(1, 2)})):
        same(results[0], f32(1, 2))
        same(results[1], f32(-1, -2))


def test_an_output_that_declares_no_rank_gets_the_one_that_is_known():
    source = model("main (float[n,2] x) => (float[] y, float[n,m] z) { y = Sin (x) z = Cos (x) }")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    for compiled in (False, True):
        written = onnx.load_from_string(rondel.export(source, compiled=compiled))
        onnx.checker.check_model(written, full_check=True)
        shapes = [[d.dim_param or d.dim_value for d in o.type.tensor_type.shape.dim] for o in written.graph.output]
        assert shapes == [["n", 2], ["n", "m"]]


@pytest.mark.parametrize("compiled", [False, True])
def test_an_output_that_is_listed_twice_is_written_once(compiled):
    made = model("main (float[2] x) => (float[2] z, float[2] y) { z = Neg (x)  y = Identity (z) }")
    made.graph.output.append(made.graph.output[1])
    written = rondel.export(made, compiled=compiled)
    for values in (session(written).run(None, {"x": f32(1, 2)}), in_onnxruntime(written, {"x": f32(1, 2)})):
        assert [v.tolist() for v in values] == [[-1, -2]] * 3


UNREAD = {
    "TopK": "float[4] x) => (int64[2] y) { k = Constant <value: tensor = int64[1] {2}> () v, y = TopK (x, k) }",
    "MaxPool": "float[1, 1, 4] x) => (int64[1, 1, 3] y) { v, y = MaxPool <kernel_shape = [2]> (x) }",
    "Dropout": "float[4] x) => (bool[4] y) { v, y = Dropout (x) }",
    "Split": "float[4] x) => (float[2] y) { y, v = Split <num_outputs = 2> (x) }",
    "LSTM": """float[3, 1, 2] x, float[1, 8, 2] w, float[1, 8, 2] r) => (float[1, 1, 2] y) {
      v, y = LSTM <hidden_size = 2> (x, w, r) }""",
}


@pytest.mark.parametrize("op", UNREAD)
def test_an_op_whose_other_output_nobody_reads_comes_back_the_same(op):
    source = model(f"main ({UNREAD[op]}")
    feeds = {p.name: np.random.default_rng(3).random(p.shape, np.float32) for p in session(source).get_inputs()}
    written = rondel.export(source)
    onnx.checker.check_model(written, full_check=True)
    want = session(source).run(None, feeds)
    agree(session(written).run(None, feeds), want)
    np.testing.assert_allclose(in_onnxruntime(written, feeds)[0], want[0], rtol=1e-6)


# ---- what the model says of itself, and names ------------------------------------------------------------


def test_what_the_model_says_of_itself_is_kept():
    source = model("main (float[2] x) => (float[2] y) { y = Add (x, x) }")
    source.domain, source.doc_string, source.model_version = "a.b", "what it is", 7
    source.graph.doc_string, source.graph.name = "its graph", "the graph"
    helper.set_model_props(source, {"key": "value"})
    written = onnx.load_from_string(rondel.export(source))
    assert (written.domain, written.doc_string, written.model_version) == ("a.b", "what it is", 7)
    assert (written.graph.doc_string, written.graph.name) == ("its graph", "the graph")
    assert {p.key: p.value for p in written.metadata_props} == {"key": "value"}
    assert (written.producer_name, written.producer_version) == ("rondel", rondel.__version__)


def test_symbols_and_defaults_are_kept():
    source = model("m (float[N, 2] x, float[2] w) => (float[N, 2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
    written = rondel.export(source)
    loaded = onnx.load_from_string(written)
    assert [d.dim_param or d.dim_value for d in loaded.graph.input[0].type.tensor_type.shape.dim] == ["N", 2]
    s = session(written)
    assert [p.name for p in s.get_overridable_initializers()] == ["w"]
    same(s.run(None, {"x": f32([1, 1])})[0], f32([2, 3]))


def names_of(graph, found):
    for node in graph.node:
        found += [n for n in node.output if n]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += [v.name for v in attribute.g.input]
                names_of(attribute.g, found)
    return found


def test_names_that_shadow_are_made_unique():
    source = model("""
    main (int64 m, float[2] x) => (float[2] y) {
      y = Loop (m, , x) <body: graph = body (int64 i, bool go, float[2] x) => (bool more, float[2] t) {
        more = Identity (go)
        t = Add (x, x)
      }>
    }""")
    written = onnx.load_from_string(rondel.export(source))
    names = names_of(written.graph, [v.name for v in written.graph.input])
    assert len(names) == len(set(names)) and "x" in names and "x_1" in names
    same(run(source, {"m": scalar(3), "x": f32(1, 2)})[0], f32(8, 16))


def test_functions_are_inlined():
    source = model(
        "main (float[2] x) => (float[2] y) { y = own.Twice (x) }\n"
        '<domain: "own", opset_import: ["" : 21]> Twice (a) => (b) { b = Add (a, a) }',
        domains={"own": 1},
    )
    written = onnx.load_from_string(rondel.export(source))
    assert len(written.functions) == 0 and [n.op_type for n in written.graph.node] == ["Add"]
