"""Weights of a model: initializers that may be fed or not, in every dtype, constants of every form, inputs that are left out."""

import numpy as np
import pytest
import rondel
from models import f32, i64, make_model, model, refused, run, same, scalar, session, strings, tensor, value
from onnx import TensorProto, helper, numpy_helper


def overridable():
    add = helper.make_node("Add", ["x", "w"], ["y"])
    return make_model([add], [value("x", 1, [2]), value("w", 1, [2])], [value("y", 1, [2])], [tensor("w", f32(10, 20))])


def test_initializers_that_are_inputs_too_are_not_asked_for():
    s = session(overridable())
    assert [v.name for v in s.get_inputs()] == ["x"]


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


def test_an_initializer_of_an_old_model_need_not_be_fed():
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


@pytest.mark.parametrize("is_input", [False, True])
def test_of_initializers_of_one_name_the_last_one_counts(is_input):
    made = model("main (float[2] x, float[2] c) => (float[2] y) { y = Add (x, c) }")
    if not is_input:
        del made.graph.input[1]
    made.graph.initializer.extend([numpy_helper.from_array(f32(1, 1), "c"), numpy_helper.from_array(f32(2, 3), "c")])
    with pytest.warns(rondel.ModelWarning, match="initializer 'c': graph 'main' has several of this name; the last one is used"):
        s = session(made)
    same(s.run(None, {"x": f32(0, 0)})[0], f32(2, 3))


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


# ---- constants, and inputs that are left out -------------------------------------------------------------


def test_constants_of_every_form():
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


def test_a_constant_may_be_sparse():
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("v", TensorProto.FLOAT, [2], [5, 7]),
        helper.make_tensor("i", TensorProto.INT64, [2], [1, 3]),
        [2, 3],
    )
    node = helper.make_node("Constant", [], ["y"], sparse_value=sparse)
    same(run(make_model([node], [], [value("y", 1, [2, 3])]))[0], f32([0, 5, 0], [7, 0, 0]))


def test_optional_inputs_of_ops_may_be_left_out():
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
