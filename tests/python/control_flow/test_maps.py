"""Inputs that are maps, and the ops that read them, beside ONNX Runtime.

ONNX Runtime's Python package takes maps to float only, and none without keys; other maps are compared with the text of the op.
"""

import numpy as np
import onnx
import onnxruntime
import pytest
import rondel
from onnx import TensorProto, helper

KINDS = {"float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "int64": TensorProto.INT64, "string": TensorProto.STRING}
WORDS = {"string": ["b", "a", "é", "zz"], "int64": [7, -1, 0, 5]}
ENTRIES = {
    "string": [{"a": 1.5, "other": 4, "b": -2}, {"é": True}, {"zz": 0.1, "b": np.float32(0.1), "a": float("nan")}, {"none": 1}],
    "int64": [{-1: 1.5, 99: 4, 7: -2}, {np.int64(5): 0.25, 0: 3}, {3: 1}],
}


def model(op, key, value, out, **attributes):
    node = helper.make_node(op, ["x"], ["y"], domain="ai.onnx.ml", name="node", **attributes)
    maps = helper.make_map_type_proto(KINDS[key], helper.make_tensor_type_proto(KINDS[value], []))
    graph = helper.make_graph([node], "g", [helper.make_value_info("x", maps)], [helper.make_tensor_value_info("y", KINDS[out], None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10)


def ours(written, x):
    """The result; that of the exported model must be the same."""
    (y,) = rondel.InferenceSession(written).run(None, {"x": x})
    back = onnx.load_from_string(rondel.export(written))
    assert [node.op_type for node in back.graph.node] == [written.graph.node[0].op_type]
    assert back.graph.input[0].type.map_type.key_type == written.graph.input[0].type.map_type.key_type
    (again,) = rondel.InferenceSession(back).run(None, {"x": x})
    np.testing.assert_array_equal(again, y)
    return y


def theirs(written, x):
    return onnxruntime.InferenceSession(written.SerializeToString()).run(None, {"x": x})[0]


def same(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("key", ["string", "int64"])
def test_dict_vectorizer(key):
    for words in (WORDS[key], WORDS[key] + WORDS[key][:1]):
        written = model("DictVectorizer", key, "float", "float", **{f"{key}_vocabulary": words})
        for x in ENTRIES[key]:
            same(ours(written, x), theirs(written, x))


@pytest.mark.parametrize("key, value", [("string", "double"), ("int64", "double"), ("string", "int64"), ("int64", "string")])
def test_dict_vectorizer_of_other_values(key, value):
    words = WORDS[key]
    written = model("DictVectorizer", key, value, value, **{f"{key}_vocabulary": words})
    one, two, nothing, dtype = {"double": (1.1, 2, 0, "float64"), "int64": (2**60 + 1, -3, 0, "int64"), "string": ("é", "two", "", object)}[value]
    for x in ({}, {words[2]: one}, {words[0]: one, "none" if key == "string" else 42: two, words[3]: two}):
        same(ours(written, x), np.array([[x.get(w, nothing) for w in words]], dtype))


@pytest.mark.parametrize("out", ["float", "int64", "string"])
@pytest.mark.parametrize("form, most", [("DENSE", 1), ("SPARSE", 1), ("SPARSE", 4), ("SPARSE", 20)])
def test_cast_map(out, form, most):
    written = model("CastMap", "int64", "float", out, cast_to=f"TO_{out.upper()}", map_form=form, max_map=most)
    for x in ({3: 1.5, 0: -2.75}, {9: 1, 1: 2.5, 3: 1e10}, {0: 0.1}):
        same(ours(written, x), theirs(written, x))
    if form == "DENSE":
        same(ours(written, {-4: 2, -7: 1}), theirs(written, {-4: 2, -7: 1}))


@pytest.mark.parametrize("out", ["float", "int64", "string"])
def test_cast_map_of_texts(out):
    read = {"float": float, "int64": lambda text: int(float(text)), "string": str}[out]
    dtype = {"float": np.float32, "int64": np.int64, "string": object}[out]
    x = {3: "1.5", 0: " -2 ", 1: "1e3"}
    dense = model("CastMap", "int64", "string", out, cast_to=f"TO_{out.upper()}")
    same(ours(dense, x), np.array([[read(x[k]) for k in sorted(x)]], dtype))
    sparse = model("CastMap", "int64", "string", out, cast_to=f"TO_{out.upper()}", map_form="SPARSE", max_map=3)
    same(ours(sparse, x), np.array([[read(x[0]), read(x[1]), "0.f" if out == "string" else 0]], dtype))


def test_large_numbers():
    as_int = model("CastMap", "int64", "float", "int64", cast_to="TO_INT64")
    same(ours(as_int, {0: 1e20, 1: -1e20, 2: np.nan}), np.array([[2**63 - 1, -(2**63), 0]]))
    of_text = model("CastMap", "int64", "string", "int64", cast_to="TO_INT64")
    same(ours(of_text, {0: str(2**60 + 1)}), np.array([[2**60 + 1]]))
    assert rondel.InferenceSession(as_int).run(None, {"x": {}})[0].shape == (1, 0)


def test_pipelines_that_sklearn_vectorizes():
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DictionaryType, FloatTensorType, Int64TensorType, StringTensorType
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = [{"red": 1.0, "size": 3.0}, {"blue": 1.0, "size": 1.0}, {"red": 1.0}, {"size": 2.5, "blue": 1.0}] * 3
    fitted = make_pipeline(DictVectorizer(sparse=False), LogisticRegression()).fit(rows, [0, 1, 0, 1] * 3)
    kind = DictionaryType(StringTensorType([1]), FloatTensorType([1]))
    written = convert_sklearn(fitted, initial_types=[("x", kind)], target_opset=15, options={"zipmap": False})
    session, reference = rondel.InferenceSession(written), onnxruntime.InferenceSession(written.SerializeToString())
    for row in [*rows[:4], {"red": 2, "other": 1}]:
        found, wanted = session.run(None, {"x": row}), reference.run(None, {"x": row})
        same(found[0], wanted[0])
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)
    numbered = DictVectorizer(sparse=False).fit([{1: 2.0, 5: 3.0}])
    written = convert_sklearn(numbered, initial_types=[("x", DictionaryType(Int64TensorType([1]), FloatTensorType([1])))], target_opset=15)
    same(rondel.InferenceSession(written).run(None, {"x": {5: 1.5}})[0], theirs(written, {5: 1.5}))


def test_a_map_is_described_and_passed_on():
    written = model("DictVectorizer", "string", "float", "float", string_vocabulary=["a"])
    (port,), (reference,) = (m.InferenceSession(written.SerializeToString()).get_inputs() for m in (rondel, onnxruntime))
    assert (port.name, port.type, port.shape) == (reference.name, reference.type, reference.shape)
    assert "map<str, f32>" in rondel.InferenceSession(written).ir_text()
    written.graph.output.append(helper.make_value_info("x", written.graph.input[0].type))
    session = rondel.InferenceSession(written)
    assert session.run(["x"], {"x": {"a": 1, "b": 2.5}}) == [{"a": 1.0, "b": 2.5}]
    assert session.get_outputs()[1].type == "map(string,tensor(float))"


def test_a_loop_reads_a_map_step_by_step():
    written = model("DictVectorizer", "string", "float", "float", string_vocabulary=["a", "b"])
    reads = written.graph.node[0]
    reads.output[0] = "row"
    body = helper.make_graph(
        [reads, helper.make_node("Add", ["sum", "row"], ["more"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("sum", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("more", TensorProto.FLOAT, [1, 2])],
    )
    loop = helper.make_node("Loop", ["trips", "", "zero"], ["y"], body=body, name="loop")
    del written.graph.node[:]
    written.graph.node.append(loop)
    written.graph.initializer.extend([onnx.numpy_helper.from_array(np.array(3), "trips"), onnx.numpy_helper.from_array(np.zeros((1, 2), np.float32), "zero")])
    (y,) = rondel.InferenceSession(written).run(None, {"x": {"b": 1.5, "c": 9}})
    same(y, theirs(written, {"b": 1.5, "c": 9}))
    same(y, np.float32([[0, 4.5]]))


WRONG = [
    ([1.0], "input 'x' is a list; expected map\\(string,tensor\\(float\\)\\), a dict"),
    ({1: 1.0}, "the list of keys of input 'x' holds a int, 1"),
    ({"a": "text"}, "map of 1 str to str"),
    ({"a": None}, "the list of values of input 'x'"),
    ({"a": [1.0, 2.0]}, "expected two lists of one length"),
    (np.array([1.0]), "input 'x' is a ndarray"),
]


@pytest.mark.parametrize("x, message", WRONG)
def test_wrong_maps_are_named(x, message):
    with pytest.raises(rondel.CallerError, match=message):
        rondel.InferenceSession(model("DictVectorizer", "string", "float", "float", string_vocabulary=["a"])).run(None, {"x": x})


REFUSED = [
    ("DictVectorizer", "string", "float", {}, "string_vocabulary is empty"),
    ("DictVectorizer", "int64", "float", {"string_vocabulary": ["a"]}, "int64_vocabulary is empty"),
    ("DictVectorizer", "string", "string", {"string_vocabulary": ["a"]}, "map\\(string,tensor\\(string\\)\\)"),
    ("CastMap", "string", "float", {}, "map\\(string,tensor\\(float\\)\\)"),
    ("CastMap", "int64", "float", {"cast_to": "TO_DOUBLE"}, "cast_to is 'TO_DOUBLE'"),
    ("CastMap", "int64", "float", {"map_form": "ROW"}, "map_form is 'ROW'"),
    ("CastMap", "int64", "float", {"map_form": "SPARSE", "max_map": 0}, "max_map is 0"),
]


@pytest.mark.parametrize("op, key, value, attributes, message", REFUSED)
def test_what_is_refused_names_the_node(op, key, value, attributes, message):
    with pytest.raises(rondel.CallerError, match=f"node 'node' .{op}.*{message}"):
        rondel.InferenceSession(model(op, key, value, "float", **attributes))


def test_bad_values_name_the_node():
    sparse = model("CastMap", "int64", "float", "float", map_form="SPARSE", max_map=3)
    with pytest.raises(rondel.CallerError, match="node 'node' .CastMap.*the map has the key -1"):
        rondel.InferenceSession(sparse).run(None, {"x": {-1: 1.0}})
    with pytest.raises(rondel.CallerError, match="node 'node' .CastMap.*'3x' is not a number"):
        rondel.InferenceSession(model("CastMap", "int64", "string", "float")).run(None, {"x": {1: "3x"}})


def test_lists_of_maps_are_refused():
    written = model("DictVectorizer", "string", "float", "float", string_vocabulary=["a"])
    kind = written.graph.input[0].type
    kind.CopyFrom(helper.make_sequence_type_proto(onnx.TypeProto.FromString(kind.SerializeToString())))
    with pytest.raises(rondel.UnsupportedError, match="input 'x': lists and optionals of maps"):
        rondel.InferenceSession(written)


def test_a_tensor_is_no_map():
    for op in ("DictVectorizer", "CastMap"):
        written = model(op, "int64", "float", "float")
        written.graph.input[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))
        with pytest.raises(rondel.CallerError, match=f"node 'node' .{op}"):
            rondel.InferenceSession(written)


def test_weights_beside_a_map_have_gradients():
    written = model("DictVectorizer", "string", "float", "float", string_vocabulary=["a", "b"])
    written.graph.node[0].output[0] = "row"
    written.graph.node.append(helper.make_node("MatMul", ["row", "w"], ["y"]))
    written.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 1]))
    made = rondel.grad(written, wrt=["w"], outputs=["y"], seed=["seed"])
    feeds = {"x": {"b": 2.5, "a": -1}, "w": np.float32([[1], [2]]), "seed": np.float32([[3]])}
    same(rondel.InferenceSession(made).run(["grad_w"], feeds)[0], np.float32([[-3], [7.5]]))
