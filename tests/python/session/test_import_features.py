"""What the importer and the session accept: forms of models, feeds and queries that ONNX Runtime accepts."""

import threading
import warnings

import numpy as np
import onnx
import pytest
import rondel
from models import TRUE, f32, i64, in_onnxruntime, make_model, model, options, refused, run, same, scalar, session, strings, tensor, value
from onnx import TensorProto, helper, numpy_helper

DOUBLE = "main (float[n] x) => (float[n] y) { y = Add (x, x) }"

# ---- sources --------------------------------------------------------------------------------------------


def test_from_path_bytes_and_proto(tmp_path):
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


def test_arguments_by_name():
    s = rondel.InferenceSession(model(DOUBLE), sess_options=rondel.SessionOptions(), providers=["CPUExecutionProvider"])
    same(s.run(output_names=["y"], input_feed={"x": f32(1)})[0], f32(2))


def test_version():
    assert rondel.__version__.split(".")[0].isdigit()


# ---- queries --------------------------------------------------------------------------------------------

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
def test_type_words(onnx_type, text):
    s = session(f"main ({onnx_type}[2] x) => ({onnx_type}[2] y) {{ y = Identity (x) }}")
    assert s.get_inputs()[0].type == f"tensor({text})"
    assert s.get_outputs()[0].type == f"tensor({text})"


def test_same_answers_as_onnxruntime():
    ort = pytest.importorskip("onnxruntime")
    made = model(ASKED.replace("[?]", "[m]").replace(", optional(int32[4]) o", ""))
    theirs = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = session(made)
    assert described(ours.get_inputs()) == described(theirs.get_inputs())
    assert described(ours.get_outputs()) == described(theirs.get_outputs())


def test_initializers_that_are_inputs_too_are_not_asked_for():
    s = session(overridable())
    assert [v.name for v in s.get_inputs()] == ["x"]


def test_modelmeta():
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


def test_providers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = rondel.InferenceSession(model(DOUBLE), providers=["CPUExecutionProvider"])
    assert "CPUExecutionProvider" in s.get_providers()


@pytest.mark.parametrize("unknown", ["CUDAExecutionProvider", ("CUDAExecutionProvider", {"device_id": 0})])
def test_an_unknown_provider_warns(unknown):
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        s = rondel.InferenceSession(model(DOUBLE), providers=[unknown, "CPUExecutionProvider"])
    same(s.run(None, {"x": f32(1)})[0], f32(2))


def test_session_options_people_set():
    made = options(intra_op_num_threads=1, graph_optimization_level=0)
    same(run(DOUBLE, {"x": f32(1, 2)}, options=made)[0], f32(2, 4))


def test_options_of_onnxruntime_that_mean_nothing_here_are_taken():
    made = rondel.SessionOptions()
    made.log_severity_level = 3
    made.inter_op_num_threads = 1
    same(run(DOUBLE, {"x": f32(1)}, options=made)[0], f32(2))


# ---- outputs --------------------------------------------------------------------------------------------

THREE = "main (float[n] x) => (float[n] a, float[n] b, float[n] c) { a = Add (x, x)  b = Neg (x)  c = Identity (x) }"


def test_outputs_by_name_and_order():
    s = session(THREE)
    x = f32(1, 2)
    want = {"a": 2 * x, "b": -x, "c": x}
    for names in (["a"], ["c", "a"], ["b", "b"], ("c", "b", "a"), ["a", "b", "c"]):
        got = s.run(names, {"x": x})
        assert isinstance(got, list)
        for name, y in zip(names, got, strict=True):
            same(y, want[name])
    for empty in (None, []):
        assert len(s.run(empty, {"x": x})) == 3


def test_unknown_output_name():
    with refused(rondel.CallerError, "d", ("a", "b", "c")):
        session(THREE).run(["a", "d"], {"x": f32(1)})


def test_an_output_not_asked_for_need_not_be_computed():
    text = """
    main (float[n] x, int64 k) => (float good, float bad) { good = ReduceSum <keepdims: int = 0> (x)  bad = Gather (x, k) }"""
    same(session(text).run(["good"], {"x": f32(1, 2), "k": scalar(0)})[0], scalar(3, np.float32))


def test_outputs_alias_nothing():
    # c and d are x itself, w and v are a weight: each output is a separate copy.
    text = """
    main (float[n] x) => (float[n] c, float[n] d, float[2] w, float[2] v) <float[2] weight = {1.0, 2.0}> {
      c = Identity (x)
      d = Identity (c)
      w = Identity (weight)
      shape = Constant <value_ints: ints = [2]> ()
      v = Reshape (weight, shape)
    }"""
    s = session(text)
    x = f32(5, 6)
    outputs = s.run(None, {"x": x})
    for i, y in enumerate(outputs):
        assert not np.shares_memory(x, y)
        for z in outputs[i + 1 :]:
            assert not np.shares_memory(y, z)
        y[:] = 99  # each output is writable
    same(x, f32(5, 6))
    for y, want in zip(s.run(None, {"x": x}), [x, x, f32(1, 2), f32(1, 2)], strict=True):
        same(y, want)


def test_an_input_and_an_initializer_as_outputs():
    made = make_model([], [value("x", 1, [2])], [value("x", 1, [2]), value("w", 1, [1])], [tensor("w", f32(3))])
    x, w = run(made, {"x": f32(1, 2)})
    same(x, f32(1, 2))
    same(w, f32(3))


def test_results_of_earlier_runs_stay():
    s = session(DOUBLE)
    results = [s.run(None, {"x": np.full(1000, k, np.float32)})[0] for k in range(20)]
    for k, y in enumerate(results):
        same(y, np.full(1000, 2 * k, np.float32))


# ---- feeds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lay",
    [
        lambda a: a,
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
        lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        lambda a: a.T.copy().T,
        lambda a: a.astype(a.dtype.newbyteorder(">")),
        lambda a: np.ma.masked_array(a),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
    ],
    ids=["plain", "fortran", "strided", "backwards", "transposed", "big endian", "subclass", "unaligned"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float64, np.int16])
def test_memory_layouts(lay, dtype):
    names = {np.float32: "float", np.int64: "int64", np.float64: "double", np.int16: "int16"}
    name = names[dtype]
    a = np.arange(12).reshape(3, 4).astype(dtype)
    same(run(f"main ({name}[3, 4] x) => ({name}[3, 4] y) {{ y = Identity (x) }}", {"x": lay(a)})[0], a)


def test_scalars_and_lists():
    same(run("main (float x) => (float y) { y = Neg (x) }", {"x": np.float32(2)})[0], scalar(-2, np.float32))
    same(run(DOUBLE, {"x": np.broadcast_to(np.float32(1), (3,))})[0], f32(2, 2, 2))
    # A Python list or number has no dtype: it takes the dtype of the input, if every value fits.
    same(run(DOUBLE, {"x": [1.0, 2.0]})[0], f32(2, 4))
    same(run("main (int64 k) => (int64 y) { y = Neg (k) }", {"k": 3})[0], scalar(-3))
    same(run("main (bool b) => (bool y) { y = Not (b) }", {"b": True})[0], np.array(False))
    with pytest.raises((ValueError, TypeError)):
        run("main (int64 k) => (int64 y) { y = Neg (k) }", {"k": 2.5})


@pytest.mark.parametrize(
    "words",
    [strings("a", "", "é漢"), np.array(["a", "", "é漢"]), np.array([b"a", b"", "é漢".encode()]), ["a", "", "é漢"]],
    ids=["objects", "fixed width", "bytes", "list"],
)
def test_string_feeds(words):
    (y,) = run("main (string[3] x) => (string[3] y) { y = Identity (x) }", {"x": words})
    assert y.dtype == object
    assert y.tolist() == ["a", "", "é漢"]


def test_empty_and_scalar_tensors():
    for shape in ((0,), (2, 0), ()):
        extents = f"[{', '.join(map(str, shape))}]" if shape else ""
        x = np.zeros(shape, np.float32)
        same(run(f"main (float{extents} x) => (float{extents} y) {{ y = Identity (x) }}", {"x": x})[0], x)


def test_sequences_and_optionals_at_the_boundary():
    text = """
    main (seq(float[k]) q, optional(float[2]) o) => (seq(float[k]) r, bool has) {
      r = Identity (q)
      has = OptionalHasElement (o)
    }"""
    for q in ([], [f32(1)], (f32(1), f32(1, 2, 3))):
        r, has = run(text, {"q": q, "o": None})
        assert isinstance(r, list)
        for got, want in zip(r, q, strict=True):
            same(got, want)
            assert not np.shares_memory(got, want)
        assert not has
    assert run(text, {"q": [], "o": f32(1, 2)})[1]


# ---- initializers, optional inputs, sparse --------------------------------------------------------------


def overridable():
    add = helper.make_node("Add", ["x", "w"], ["y"])
    return make_model([add], [value("x", 1, [2]), value("w", 1, [2])], [value("y", 1, [2])], [tensor("w", f32(10, 20))])


def test_an_initializer_that_is_an_input_too_may_be_fed():
    s = session(overridable())
    same(s.run(None, {"x": f32(1, 2)})[0], f32(11, 22))
    same(s.run(None, {"x": f32(1, 2), "w": f32(0, 1)})[0], f32(1, 3))
    same(s.run(None, {"x": f32(1, 2)})[0], f32(11, 22))


def test_an_initializer_that_is_no_input_may_not_be_fed():
    text = "main (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add (x, w) }"
    with refused(rondel.CallerError, "w"):
        run(text, {"x": f32(1, 2), "w": f32(1, 2)})


def test_an_overriding_feed_changes_shapes_that_depend_on_it():
    reshape = helper.make_node("Reshape", ["x", "shape"], ["y"])
    made = make_model(
        [reshape],
        [value("x", 1, [6]), value("shape", TensorProto.INT64, [2])],
        [value("y", 1, ["a", "b"])],
        [tensor("shape", i64(2, 3))],
    )
    s = session(made)
    x = np.arange(6, dtype=np.float32)
    same(s.run(None, {"x": x})[0], x.reshape(2, 3))
    same(s.run(None, {"x": x, "shape": i64(3, 2)})[0], x.reshape(3, 2))


def test_initializer_of_an_old_model_that_must_be_an_input():
    made = overridable()
    made.ir_version = 3
    made.opset_import[0].version = 7
    same(run(made, {"x": f32(1, 2)})[0], f32(11, 22))


@pytest.mark.parametrize("version", [3, 4])
def test_initializers_of_old_files_are_no_inputs(version):
    made = overridable()
    made.ir_version = version
    made.opset_import[0].version = 7
    names = ["w"] if version >= 4 else []
    ort = pytest.importorskip("onnxruntime").InferenceSession(made.SerializeToString())
    s = session(made)
    for here in (s, ort):
        assert [p.name for p in here.get_inputs()] == ["x"] and [p.name for p in here.get_overridable_initializers()] == names
    if names:
        same(s.run(None, {"x": f32(1, 2), "w": f32(0, 1)})[0], f32(1, 3))
    else:
        with refused(rondel.CallerError, "there is no input 'w'"):
            s.run(None, {"x": f32(1, 2), "w": f32(0, 1)})


def test_missing_optional_inputs():
    text = """
    main (float[k] x, float low, float high) => (float[k] a, float[k] b, float[k] c) {
      a = Clip (x, , high)
      b = Clip (x, low)
      c = Clip (x)
    }"""
    x = f32(-2, 0, 5)
    a, b, c = run(text, {"x": x, "low": scalar(-1, np.float32), "high": scalar(2, np.float32)})
    same(a, f32(-2, 0, 2))
    same(b, f32(-1, 0, 5))
    same(c, x)


def test_every_form_of_constant():
    text = """
    main () => (float a, float[2] b, int64 c, int64[2] d, string e, string[2] f, int32[2] g) {
      a = Constant <value_float: float = 1.5> ()
      b = Constant <value_floats: floats = [1.5, 2.5]> ()
      c = Constant <value_int: int = 3> ()
      d = Constant <value_ints: ints = [3, 4]> ()
      e = Constant <value_string: string = "s"> ()
      f = Constant <value_strings: strings = ["s", "t"]> ()
      g = Constant <value = int32[2] {5, 6}> ()
    }"""
    got = run(text)
    want = [scalar(1.5, np.float32), f32(1.5, 2.5), scalar(3), i64(3, 4)]
    want += [np.array("s", object), strings("s", "t"), np.array([5, 6], np.int32)]
    for have, expected in zip(got, want, strict=True):
        same(have, expected)


def test_sparse_constant():
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("v", TensorProto.FLOAT, [2], [5, 7]),
        helper.make_tensor("i", TensorProto.INT64, [2], [1, 3]),
        [2, 3],
    )
    node = helper.make_node("Constant", [], ["y"], sparse_value=sparse)
    same(run(make_model([node], [], [value("y", 1, [2, 3])]))[0], f32([0, 5, 0], [7, 0, 0]))


@pytest.mark.parametrize(
    "dtype", "float32 float64 float16 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool complex64 complex128".split()
)
@pytest.mark.parametrize("raw", [True, False])
def test_initializers_of_every_dtype(dtype, raw):
    array = np.array([[0, 1], [1, 2], [3, 100]]).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    data = array.tobytes() if raw else array.ravel()
    made = helper.make_tensor("w", kind, array.shape, data, raw=raw)
    keep = helper.make_node("Identity", ["w"], ["y"])
    same(run(make_model([keep], [], [value("y", kind, array.shape)], [made]))[0], array)


# ---- functions ------------------------------------------------------------------------------------------


def test_local_functions_nested_with_attribute_references():
    text = """
    main (float[2, 3] x) => (float[] y, float[] z) {
      y = local.outer <axis = 1> (x)
      z = local.outer <axis = 0> (x)
    }
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    outer <axis> (x) => (y) {
      t = Neg (x)
      y = local.inner <which: int = @axis, count = 2> (t)
    }
    <domain: "local", opset_import: ["" : 18]>
    inner <which, count> (t) => (y) {
      n = Constant <value_int: int = @count> ()
      f = CastLike (n, t)
      m = Mul (t, f)
      axes = Constant <value_int: int = @which> ()
      one = Constant <value_ints: ints = [1]> ()
      where = Reshape (axes, one)
      y = ReduceSum <keepdims: int = 0> (m, where)
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y, z = run(text, {"x": x}, opset=18, domains={"local": 1})
    same(y, -2 * x.sum(1))
    same(z, -2 * x.sum(0))


def test_function_attribute_defaults():
    text = """
    main (float[2] x) => (float[2] y, float[2] z) {
      y = local.scaled (x)
      z = local.scaled <by = 5.0> (x)
    }
    <domain: "local", opset_import: ["" : 18]>
    scaled <by: float = 3.0> (x) => (y) {
      k = Constant <value_float: float = @by> ()
      y = Mul (x, k)
    }"""
    y, z = run(text, {"x": f32(1, 2)}, opset=18, domains={"local": 1})
    same(y, f32(3, 6))
    same(z, f32(5, 10))


def test_functions_in_bodies_and_bodies_in_functions():
    text = """
    main (int64 m, float x) => (float y) {
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) { b = local.twice_if (a, go) }>
    }
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    twice_if (a, c) => (b) {
      b = If (c) <
        then_branch: graph = yes () => (t) { t = local.twice (a) },
        else_branch: graph = no () => (e) { e = Neg (a) }
      >
    }
    <domain: "local", opset_import: ["" : 18]>
    twice (a) => (b) { b = Add (a, a) }"""
    same(run(text, {"m": scalar(3), "x": scalar(1, np.float32)}, opset=18, domains={"local": 1})[0], scalar(8, np.float32))


def test_function_names_do_not_clash_with_the_callers():
    text = """
    main (float[2] x) => (float[2] y) {
      t = Neg (x)
      a = local.f (t)
      b = local.f (a)
      y = Add (b, t)
    }
    <domain: "local", opset_import: ["" : 18]>
    f (x) => (y) { t = Add (x, x)  y = Add (t, x) }"""
    same(run(text, {"x": f32(1, 2)}, opset=18, domains={"local": 1})[0], f32(-10, -20))


def test_optional_inputs_and_outputs_of_functions():
    text = """
    main (float[2] x) => (float[2] y) { y = local.f (x) }
    <domain: "local", opset_import: ["" : 18]>
    f (x, high) => (y, unused) { y = Clip (x, , high)  unused = Neg (x) }"""
    same(run(text, {"x": f32(1, 2)}, opset=18, domains={"local": 1})[0], f32(1, 2))


def test_a_function_of_another_opset_than_the_model():
    # Before opset 13, the axes of ReduceSum are an attribute.
    text = """
    main (float[2, 3] x) => (float[2] y) { y = local.rows (x) }
    <domain: "local", opset_import: ["" : 18]>
    rows (x) => (y) { a = Constant <value_ints: ints = [1]> ()  y = ReduceSum <keepdims: int = 0> (x, a) }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = model(text, 18, domains={"local": 1})
    same(run(made, {"x": x})[0], x.sum(1))


@pytest.mark.parametrize("length", [1, 2, 5])
def test_cyclic_functions_are_refused(length):
    functions = "".join(
        f"""
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    f{k} (x) => (y) {{ y = local.f{(k + 1) % length} (x) }}"""
        for k in range(length)
    )
    text = f"main (float[2] x) => (float[2] y) {{ y = local.f0 (x) }}{functions}"
    with refused(rondel.CallerError, ("cycle", "cyclic", "recurs", "itself")):
        session(text, opset=18, domains={"local": 1})


def test_functions_that_double_each_other_do_not_explode():
    # Thirty levels, each of which calls the one below twice: a billion nodes if inlined without limit.
    levels = 30
    functions = "".join(
        f"""
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    f{k} (x) => (y) {{ t = local.f{k + 1} (x)  y = local.f{k + 1} (t) }}"""
        for k in range(levels)
    )
    functions += f"""
    <domain: "local", opset_import: ["" : 18]>
    f{levels} (x) => (y) {{ y = Neg (x) }}"""
    text = f"main (float[2] x) => (float[2] y) {{ y = local.f0 (x) }}{functions}"
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded, rondel.UnsupportedError)):
        session(text, opset=18, domains={"local": 1})


def test_an_unknown_function_is_named():
    text = """
    main (float[2] x) => (float[2] y) { y = local.g (x) }
    <domain: "local", opset_import: ["" : 18]>
    f (x) => (y) { y = Neg (x) }"""
    with refused(rondel.CallerError, "g"):
        session(text, opset=18, domains={"local": 1})


def test_ops_that_the_standard_defines_as_functions():
    # Bodies that depend on attributes and types come from the onnx library.
    text = """
    main (float[2, 3] x) => (float[2, 3] a, float[2, 3] b, float[2, 3] c, int64[2, 3] d) {
      a = HardSwish (x)
      b = Softmax <axis: int = 0> (x)
      c = LogSoftmax <axis: int = 1> (x)
      like = Constant <value_int: int = 1> ()
      d = CastLike (x, like)
    }"""
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    a, b, c, d = run(text, {"x": x})
    e0, e1 = np.exp(x - x.max(0)), np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(a, x * np.clip(x / 6 + 0.5, 0, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b, e0 / e0.sum(0), rtol=1e-5)
    np.testing.assert_allclose(c, np.log(e1 / e1.sum(1, keepdims=True)), rtol=1e-5)
    same(d, x.astype(np.int64))


# ---- threads --------------------------------------------------------------------------------------------

LONG_LOOP = """
main (int64 m, float x) => (float y) {
  half = Constant <value_float: float = 0.5> ()
  y = Loop (m, , x) <body: graph = body (i, go, b) => (go, c) { t = Mul (b, half)  c = Add (t, x) }>
}"""


def test_many_threads_share_a_session():
    text = """
    main (int64 m, float[k] x) => (float[k] y, float[n, k] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, a) { b = Add (a, x) }>
    }"""
    s = session(text)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x, m = rng.integers(0, 9, rng.integers(0, 50)).astype(np.float32), int(rng.integers(1, 12))
            y, stack = s.run(None, {"m": scalar(m), "x": x})
            want = x[None] * np.arange(1, m + 1, dtype=np.float32)[:, None]
            if not (np.array_equal(y, x * (m + 1)) and np.array_equal(stack, want)):
                wrong.append((seed, m, len(x)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not wrong, wrong
    assert not any(t.is_alive() for t in threads)


def test_the_interpreter_lock_is_released_while_running():
    # The loop is endless: only this thread, which needs the lock, can terminate it.
    text = LONG_LOOP.replace("Loop (m, , x)", "Loop (, , x)").replace("int64 m, ", "")
    s, stop, ended = session(text), rondel.RunOptions(), []

    def work():
        try:
            s.run(None, {"x": scalar(1, np.float32)}, stop)
        except rondel.Cancelled:
            ended.append(True)

    runner = threading.Thread(target=work, daemon=True)
    runner.start()
    progress = sum(1 for _ in range(100_000))
    stop.terminate = True
    runner.join(60)
    assert progress == 100_000
    assert ended == [True]


def test_sessions_may_go_while_outputs_live():
    s = session(DOUBLE)
    (y,) = s.run(None, {"x": np.full(100_000, 3, np.float32)})
    del s
    same(y, np.full(100_000, 6, np.float32))


def test_a_boolean_condition_as_numpy_scalar():
    text = "main (bool c, float x) => (float y) { y = Where (c, x, x) }"
    same(run(text, {"c": np.bool_(True), "x": np.float32(4)})[0], scalar(4, np.float32))
    same(run(text, {"c": TRUE, "x": np.float32(4)})[0], scalar(4, np.float32))


def test_tensors_of_other_libraries_are_read_through_dlpack():
    class Owner:
        def __init__(self, array):
            self.array, self.dtype, self.reads = array, array.dtype, 0

        def __dlpack__(self, **how):
            self.reads += 1
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    session = rondel.InferenceSession(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> f (float[N] x) => (float[N] y) { y = Neg (x) }'))
    owner = Owner(np.array([1, 2], np.float32))
    np.testing.assert_array_equal(session.run(None, {"x": owner})[0], [-1, -2])
    assert owner.reads == 1


def test_stft_of_a_signal_without_its_last_axis():
    """As PyTorch's exporter writes it."""
    made = model("""main (float[b,n] x) => (float[b,f,k,2] y) <int64 step = {4}, int64 frame = {8}, float[8] window = {1, 2, 3, 4, 4, 3, 2, 1}> {
      y = STFT <onesided = 1> (x, step, window, frame)
    }""", opset=17)
    feeds = {"x": np.random.default_rng(0).normal(size=(2, 24)).astype(np.float32)}
    want = in_onnxruntime(made.SerializeToString(), feeds)[0]
    for s in (session(made), session(rondel.export(made))):
        np.testing.assert_allclose(s.run(None, feeds)[0], want, atol=1e-4)


@pytest.mark.parametrize("is_input", [False, True])
def test_of_initializers_of_one_name_the_last_one_counts(is_input):
    made = model("main (float[2] x, float[2] c) => (float[2] y) { y = Add (x, c) }")
    if not is_input:
        del made.graph.input[1]
    made.graph.initializer.extend([numpy_helper.from_array(f32(1, 1), "c"), numpy_helper.from_array(f32(2, 3), "c")])
    with pytest.warns(rondel.ModelWarning, match="initializer 'c': graph 'main' has several of this name; the last one is used"):
        s = session(made)
    same(s.run(None, {"x": f32(0, 0)})[0], f32(2, 3))
