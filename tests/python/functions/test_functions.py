"""rondel.functions.onnx on arrays: every operator that runs, dtypes, numbers, omitted inputs, signatures, errors."""

import ast
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx import helper

import rondel
from rondel import _rondel
from rondel.functions import onnx as f
from rondel.functions.operators import operators, snake_case

A = np.array([1, 2, 3], np.float32)
FLOATS = [np.float16, np.float32, np.float64]


def current_schemas():
    return [s for s in onnx.defs.get_all_schemas() if s.domain == ""]


def test_every_operator_of_onnx_has_a_name():
    for schema in current_schemas():
        for name in (snake_case(schema.name), schema.name.lower()):
            assert callable(getattr(f, name)), name
        function = getattr(f, schema.name.lower())
        assert (function.__name__ in f.__all__) == operators(f._opset)[schema.name].runs * (not schema.deprecated)
    assert len(f.__all__) > 150


def test_every_function_has_a_signature_and_a_text():
    for name in f.__all__:
        function = getattr(f, name)
        schema = onnx.defs.get_schema(operators(f._opset)[_onnx_name(name)].name)
        parameters = inspect.signature(function).parameters
        assert [p for p in parameters if p not in ("outputs", "opset")] == [
            *(i.name for i in schema.inputs),
            *sorted(schema.attributes),
        ]
        assert all(p.annotation is not inspect.Parameter.empty for p in parameters.values())
        assert schema.name in function.__doc__ and function.__annotations__["return"]


def _onnx_name(name):
    return next(o.name for o in operators(f._opset).values() if o.python_name == name)


def test_the_functions_need_no_onnx_package():
    code = "import sys; sys.modules['onnx'] = None; from rondel.functions import onnx as f; print(f.add([1, 2], 3), f.loop(2, True, 1.0, body=lambda i, c, x: (c, x * 2)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("[4 5] 4.0\n", "")


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_dtypes_are_kept(dtype):
    x = np.array([[3, 4], [5, 6]], dtype)
    result = f.add(x, x[0])
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x + x[0])


def test_arrays_in_any_layout():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in (x.T, x[:, ::-1], x[..., 1], np.asfortranarray(x), x.astype(">f4"), x[0, 0, 0]):
        np.testing.assert_array_equal(f.neg(view), -view)
    unaligned = np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(np.float32)
    np.testing.assert_array_equal(f.neg(unaligned), -A)
    before = x.copy()
    f.neg(x)
    np.testing.assert_array_equal(x, before)


def test_dtypes_that_numpy_does_not_have():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = A.astype(ml_dtypes.bfloat16)
    assert f.add(x, x).dtype == x.dtype
    np.testing.assert_array_equal(f.add(x, 1).astype(np.float32), A + 1)


@pytest.mark.parametrize(
    "x, y, dtype",
    [(A, 2, "float32"), (A, 2.5, "float32"), (A, True, "float32"), (2, 3, "int64"), (2, 3.5, "float64"), (np.int8([1]), 5, "int8"),
     (A, [1, 2, 3], "float32"), ([[1, 2], [3, 4]], 1, "int64"), (A, [[1], [2]], "float32"), ([1.5], np.float64(2), "float64"), (np.float16(3), 1, "float16")],
)  # fmt: skip
def test_numbers_take_the_dtype_beside_them(x, y, dtype):
    result = f.add(x, y)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.add(x, y))


def test_numbers_beside_arrays_of_every_kind_of_floats():
    assert f.where([True, False], np.complex64([1j, 1j]), 1.5).tolist() == [1j, 1.5]
    assert f.concat(np.complex64([1j]), [1.5], axis=0).tolist() == [1j, 1.5]
    assert f.pad(f.cast([1.0], to="float8_e4m3fn"), [1, 1], 1.5).astype(float).tolist() == [1.5, 1, 1.5]


def test_lists_of_texts_are_tensors_where_no_sequence_fits():
    assert f.string_concat(["a", "b"], ["c"]).tolist() == ["ac", "bc"]
    assert f.equal(["a", "b"], ("a", "c")).tolist() == [True, False]


def test_a_dtype_that_numpy_lacks_may_be_named():
    code = "from rondel.functions import onnx as f; print(f.cast([1.5], to='bfloat16').dtype, f.cast([1], to='int4').dtype)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "bfloat16 int4\n", run.stderr


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: f.add(np.int64([1]), 2.5), "Add: input 'B' is 2.5, which does not fit i64"),
        (lambda: f.add(np.int8([1]), 1000), "which does not fit i8"),
        (lambda: f.add(A, A.astype(np.float64)), "cast one of them"),
        (lambda: f.add(A, 1e39), "input 'B' is 1e+39, which does not fit f32"),
        (lambda: f.add(np.float16([1]), 1e9), "which does not fit f16"),
        (lambda: f.pad(f.cast([1], to="int4"), [1, 1], 9), "which does not fit i4: i4 does not hold 9; its range is -8 to 7"),
        (lambda: f.elu(A, alpha=1e40), "attribute 'alpha' is 1e+40; expected a number that f32 holds"),
        (lambda: f.reduce_sum(A, keepdims=2**70), "attribute 'keepdims' is 1180591620717411303424; expected an integer of 64 bits"),
        (lambda: f.transpose(A[None], perm=[2**70, 0]), "expected a list of integers of 64 bits"),
        (lambda: f.add([[1], [1, 2]], 1), "Add: input 'A' is [[1], [1, 2]]; expected lists of equal lengths"),
        (lambda: f.concat(A, None, axis=0), "Concat: value 1 of 'inputs' is None"),
        (lambda: f.add(A), "input 'B' is missing; expected add(A, B)"),
        (lambda: f.add(A, A, A), "3 arguments are given; it takes at most 2"),
        (lambda: f.softmax(A, axes=0), "did you mean 'axis'?"),
        (lambda: f.softmax(A, axis="x"), "attribute 'axis' is 'x'; expected an integer"),
        (lambda: f.cast(A, to="nothing"), "attribute 'to' is 'nothing'; expected a dtype"),
        (lambda: f.add(A, object()), "input 'B'"),
        (lambda: f.add(A, "text"), "input 1"),
        (lambda: f.split(A), "the number of its results is not known; give outputs="),
        (lambda: f.max_pool(A, kernel_shape=[1], outputs=3), "outputs is 3; it has 2"),
        (lambda: f.constant(), "a value is missing"),
        (lambda: f.concat([A, A], axis=0), "Concat: a value of 'inputs' is a list of arrays; give the arrays one by one, as concat(x, y), or as inputs=[x, y]"),
        (lambda: f.max((A, A)), "Max: a value of 'data_0' is a list of arrays"),
        (lambda: f.concat(axis=0), "0 inputs are given; expected 1 or more"),
        (lambda: f.gather(A, np.int64([7])), "gather"),
    ],
)
def test_wrong_arguments(call, text):
    with pytest.raises(rondel.CallerError, match=re.escape(text)):
        call()


def test_editors_know_the_functions():
    """The stub is valid Python, and has the functions of the module."""
    path = pathlib.Path(__file__).parents[3] / "tools/function_stubs.py"
    spec = importlib.util.spec_from_file_location("function_stubs", path)
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    text = stubs.PATH.read_text()
    assert text == stubs.text(), "run .venv/bin/python tools/function_stubs.py --write"
    names = {n.name if isinstance(n, ast.FunctionDef) else n.targets[0].id for n in ast.parse(text).body[2:] if hasattr(n, "name") or hasattr(n, "targets")}
    assert names >= {*f.__all__, "matmul", "reducesum"}
    exec(compile(text, str(stubs.PATH), "exec"), {})


def test_operators_that_there_are_not():
    with pytest.raises(rondel.UnsupportedError, match="taken Upsample out"):
        f.upsample(A)
    with pytest.raises(AttributeError, match="no operator of the name 'reduce_summ'; did you mean 'reduce_sum'"):
        f.reduce_summ
    assert not hasattr(f, "nothing_like_it")


def test_results():
    values, indices = f.top_k(A, [2])
    assert values.tolist() == [3, 2] and indices.dtype == np.int64
    x = np.ones((1, 1, 4, 4), np.float32)
    assert f.max_pool(x, kernel_shape=[2, 2]).shape == (1, 1, 3, 3)
    assert f.max_pool(x, kernel_shape=[2, 2], outputs=2)[1].dtype == np.int64
    assert [part.tolist() for part in f.split(A, [1, 2])] == [[1], [2, 3]]
    assert [part.tolist() for part in f.split(A, [2, 1])] == [[1, 2], [3]]
    assert len(f.split(np.arange(6), num_outputs=3)) == 3
    assert len(f.gru(np.ones((2, 1, 1), np.float32), np.ones((1, 3, 1), np.float32), np.ones((1, 3, 1), np.float32), hidden_size=1)) == 2


def test_a_power_of_a_number_has_the_dtype_of_the_exponent():
    np.testing.assert_allclose(f.pow(2, A / 2), 2 ** (A / 2), rtol=1e-6)
    assert f.pow(2, A).dtype == np.float32
    assert f.pow(np.array([2, 3]), 2).dtype == np.int64


@pytest.mark.parametrize("nothing", [None, ""])
def test_omitted_inputs(nothing):
    np.testing.assert_array_equal(f.clip(A, nothing, 2.0), np.minimum(A, 2))
    np.testing.assert_array_equal(f.clip(A, min=nothing, max=np.float32(2)), np.minimum(A, 2))


def test_inputs_by_name_and_attributes_by_position():
    x = np.ones((1, 1, 4, 4), np.float32)
    w = np.ones((1, 1, 3, 3), np.float32)
    expected = f.conv(x, w, pads=[1, 1, 1, 1])
    assert expected.shape == x.shape
    np.testing.assert_array_equal(f.conv(W=w, X=x, pads=(1, 1, 1, 1)), expected)
    np.testing.assert_array_equal(f.conv(x, w, pads=np.array([1, 1, 1, 1])), expected)
    np.testing.assert_array_equal(f.gather(A, np.int64([1]), 0), [2])
    np.testing.assert_array_equal(f.concat(inputs=[A, A], axis=0), np.tile(A, 2))


def test_attributes_in_many_forms():
    for dtype in (np.int64, "int64", np.dtype("int64"), onnx.TensorProto.INT64):
        assert f.cast(A, to=dtype).dtype == np.int64
    for value in (np.array([7.5]), helper.make_tensor("value", onnx.TensorProto.DOUBLE, [1], [7.5])):
        np.testing.assert_array_equal(f.constant_of_shape([2], value=value), [7.5, 7.5])
    np.testing.assert_array_equal(f.constant_of_shape([2], value=np.array([8.5])), [8.5, 8.5])
    np.testing.assert_array_equal(f.constant(value_ints=[1, 2]), [1, 2])
    np.testing.assert_allclose(f.leaky_relu(-A, alpha=np.float32(0.5)), -A / 2)


def test_sequences_and_text():
    items = f.sequence_construct(A, A * 2)
    assert isinstance(items, list) and f.sequence_length(items) == 2
    np.testing.assert_array_equal(f.sequence_at(items, 1), A * 2)
    assert f.cast(np.array(["1.5", "2"]), to=np.float32).tolist() == [1.5, 2]


def test_draws_differ_from_call_to_call():
    assert (f.random_normal(shape=[8]) != f.random_normal(shape=[8])).any()


def test_the_kept_calls_are_bounded():
    _, most = _rondel.prepared_calls()
    for k in range(most + 5):
        f.leaky_relu(A, alpha=float(k))
    assert _rondel.prepared_calls() == (most, most)
    np.testing.assert_allclose(f.leaky_relu(-A, alpha=0.0), 0 * A)


def test_a_list_that_grows_is_read_anew():
    axes = [0]
    x = np.ones((2, 3), np.float32)
    assert f.reduce_sum(x, axes).shape == (1, 3)
    axes.append(1)
    assert f.reduce_sum(x, axes).shape == (1, 1)
