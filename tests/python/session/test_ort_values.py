"""OrtValue, OrtDevice and SparseTensor: made from arrays and other libraries' tensors, and converted back."""

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import onnx
import pytest
from models import f32, i64, model, refused, same
from runtimes import MUL, both

import rondel

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def value(array):
    return rondel.OrtValue.ortvalue_from_numpy(array)


# ---- tensors --------------------------------------------------------------------------------------------


@both
def test_a_tensor_of_an_array(ort):
    v = ort.OrtValue.ortvalue_from_numpy(X)
    assert (v.device_name(), v.shape(), v.data_type(), v.element_type()) == ("cpu", [3, 2], "tensor(float)", onnx.TensorProto.FLOAT)
    assert v.is_tensor() and v.has_value() and not v.is_sparse_tensor() and not v.is_tensor_sequence()
    assert v.tensor_size_in_bytes() == 24 and v.data_ptr() == X.ctypes.data
    same(v.numpy(), X)


@both
@pytest.mark.parametrize("dtype", "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ?".split())
def test_each_dtype(ort, dtype):
    array = np.array([[0, 1], [1, 0]], dtype)
    v = ort.OrtValue.ortvalue_from_numpy(array)
    same(v.numpy(), array)
    assert v.element_type() == onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


@both
def test_other_dtypes_by_their_number_in_onnx(ort):
    bits = np.array([0x3F80, 0xC000], np.uint16)
    v = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
    assert (v.data_type(), v.element_type(), v.shape()) == ("tensor(bfloat16)", onnx.TensorProto.BFLOAT16, [2])


def test_a_number_in_onnx_gives_the_array_its_dtype():
    v = rondel.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80, 0xC000], np.uint16), onnx.TensorProto.BFLOAT16)
    same(v.numpy().astype(np.float32), f32(1, -2))
    fresh = rondel.OrtValue.ortvalue_from_shape_and_type([2], onnx.TensorProto.BFLOAT16)
    assert fresh.numpy().dtype == ml_dtypes.bfloat16
    double = "main (bfloat16[2] x) => (bfloat16[2] y) { y = Add (x, x) }"
    same(rondel.InferenceSession(model(double)).run(None, {"x": v})[0].astype(np.float32), f32(2, -4))


@both
def test_a_tensor_of_a_shape(ort):
    for element in (np.float32, np.dtype("f4"), onnx.TensorProto.FLOAT):
        v = ort.OrtValue.ortvalue_from_shape_and_type([3, 2], element)
        assert (v.shape(), v.data_type()) == ([3, 2], "tensor(float)")
        v.update_inplace(X)
        same(v.numpy(), X)


@both
def test_numpy_shares_the_memory(ort):
    v = ort.OrtValue.ortvalue_from_numpy(X.copy())
    assert np.asarray(v).ctypes.data == v.data_ptr() == np.asarray(v, dtype=np.float32).ctypes.data
    same(np.asarray(v, np.float64), X.astype(np.float64))
    same(np.array(v), X)
    same(np.asarray(ort.OrtValue.ortvalue_from_numpy(i64(1, 2))), i64(1, 2))


@both
def test_update_in_place(ort):
    v = ort.OrtValue.ortvalue_from_numpy(X.copy())
    at = v.data_ptr()
    v.update_inplace(X + 1)
    v.update_inplace(np.asfortranarray(X * 2))
    assert v.data_ptr() == at
    same(v.numpy(), X * 2)


def test_copies_of_several():
    targets = [value(np.zeros_like(X)), value(i64(0, 0))]
    rondel.copy_tensors([value(X), value(i64(1, 2))], targets)
    same(targets[0].numpy(), X)
    same(targets[1].numpy(), i64(1, 2))


def test_update_in_place_with_what_does_not_fit():
    v = value(X.copy())
    for wrong, words in (
        (f32(1, 2), ("float32[3, 2]", "float32[2]")),
        (X.astype(np.float64), ("float64",)),
        ([1, 2], ("list", "OrtValue")),
        (rondel.OrtValue(None, "optional(tensor(float))"), ("NoneType",)),
    ):
        with refused(rondel.CallerError, "update_inplace", *words):
            v.update_inplace(wrong)
    with refused(rondel.CallerError, "update_inplace: the data are float32[2]; expected float32[3, 2], as the value they replace"):
        v.update_inplace(f32(1, 2))
    with refused(rondel.CallerError, "copy_tensors: the data are float32[2]; expected float32[3, 2]"):
        rondel.copy_tensors([value(f32(1, 2))], [v])
    with refused(rondel.CallerError, "copy_tensors: src is a int; expected a list of OrtValues"):
        rondel.copy_tensors(3, [v])
    with refused(rondel.CallerError, "copy_tensors: dst holds a ndarray; expected OrtValues"):
        rondel.copy_tensors([v], [X])
    same(v.numpy(), X)
    fixed = X.copy()
    fixed.flags.writeable = False
    with refused(rondel.CallerError, "read-only"):
        value(fixed).update_inplace(X)
    with refused(rondel.CallerError, "2 values", "1"):
        rondel.copy_tensors([v, v], [v])


def test_an_array_with_another_layout_is_copied():
    v = value(X[:, ::-1])
    same(v.numpy(), X[:, ::-1])
    assert v.data_ptr() != X.ctypes.data and v.numpy().flags.c_contiguous


@pytest.mark.parametrize("array", [np.array([1, 2], ">f4"), np.ma.array([1, 2], mask=[1, 0], dtype=np.float32), np.array(3, ">f4")])
def test_a_value_is_a_plain_array(array):
    got = value(array).numpy()
    assert type(got) is np.ndarray and got.dtype.isnative
    same(got, np.ma.getdata(array).astype(np.float32))


def test_strings():
    v = value(np.array(["a", "bc"]))
    assert (v.data_type(), v.element_type()) == ("tensor(string)", onnx.TensorProto.STRING)
    echo = rondel.InferenceSession(model("main (string[2] s) => (string[2] t) { t = Identity (s) }"))
    assert echo.run_with_ort_values(None, {"s": v})[0].numpy().tolist() == ["a", "bc"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: value([1, 2]), ("ortvalue_from_numpy", "list")),
        (lambda: value(np.zeros(2, "M8[s]")), ("datetime64",)),
        (lambda: rondel.OrtValue.ortvalue_from_shape_and_type([2, -1], np.float32), ("shape", "[2, -1]")),
        (lambda: rondel.OrtValue.ortvalue_from_shape_and_type(2, np.float32), ("shape", "2")),
        (lambda: rondel.OrtValue.ortvalue_from_shape_and_type([2], "no such"), ("element_type", "no such")),
        (lambda: rondel.OrtValue.ortvalue_from_shape_and_type([2], 99), ("99", "TensorProto.DataType")),
        (lambda: rondel.OrtValue.ortvalue_from_numpy_with_onnx_type(X, onnx.TensorProto.BFLOAT16), ("float32", "2 bytes")),
        (lambda: rondel.OrtValue.from_dlpack(3), ("from_dlpack", "3")),
        (lambda: rondel.OrtValue.from_dlpack(np.zeros(2, "M8[s]")), ("datetime64",)),
        (lambda: value(X).as_sparse_tensor(), ("tensor(float)", "numpy()")),
        (lambda: value(X).to_list(), ("tensor(float)", "sequence")),
        (lambda: rondel.OrtDevice.make("tpu", 0), ("Unsupported device type: tpu", "cuda")),
        (lambda: rondel.OrtDevice(0, 0), ("OrtDevice", "2 arguments")),
        (lambda: value(X).__dlpack__(stream=1), ("__dlpack__", "stream is 1")),
        (lambda: rondel.copy_tensors([], [], stream="s"), ("copy_tensors", "'s'")),
        (lambda: value(X).shape_of, ("shape_of",)),
    ],
)  # fmt: skip
def test_what_makes_no_value(call, words):
    with refused((rondel.CallerError, AttributeError), *words):
        call()


def test_there_is_only_the_cpu():
    cuda = rondel.OrtDevice.make("cuda", 1)
    for call in (
        lambda: rondel.OrtValue.ortvalue_from_numpy(X, "cuda", 1),
        lambda: rondel.OrtValue.ortvalue_from_numpy(X, cuda),
        lambda: rondel.OrtValue.ortvalue_from_shape_and_type([1], np.float32, "cuda", 1),
        lambda: rondel.InferenceSession(MUL).io_binding().bind_output("Y", "cuda", 1),
        lambda: rondel.InferenceSession(MUL).io_binding().bind_input("X", "cuda", 1, np.float32, [3, 2], 1),
    ):
        with refused(rondel.UnsupportedError, "OrtDevice(", "1)", "only the CPU"):
            call()


def test_copies_of_values():
    v = value(X.copy())
    for made in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        same(made.numpy(), X)
        assert made.data_type() == v.data_type() and made.data_ptr() != v.data_ptr()


# ---- DLPack ---------------------------------------------------------------------------------------------


@both
def test_dlpack_shares_the_memory(ort):
    v = ort.OrtValue.ortvalue_from_numpy(X.copy())
    assert v.__dlpack_device__() == (1, 0)
    for made in (ort.OrtValue.from_dlpack(v.__dlpack__()), ort.OrtValue.from_dlpack(v)):
        assert made.data_ptr() == v.data_ptr()
        same(made.numpy(), X)
    made.update_inplace(X + 1)
    same(v.numpy(), X + 1)
    assert ort.OrtValue.from_dlpack(X).data_ptr() == X.ctypes.data


@both
@pytest.mark.parametrize("shape", [(1, 8, 0, 128), (0,), (0, 4), (4, 0)])
def test_dlpack_without_elements(ort, shape):
    inner = ort.capi._pybind_state
    assert inner.OrtValue.from_dlpack(np.zeros(shape, np.float32).__dlpack__(), False).shape() == list(shape)
    there = ort.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))._ortvalue.to_dlpack()
    assert inner.OrtValue.from_dlpack(there, False).shape() == list(shape)


@both
def test_dlpack_of_bool_and_of_bytes(ort):
    for array in (np.array([True, False]), np.array([1, 2, 255], np.uint8)):
        same(ort.OrtValue.from_dlpack(ort.OrtValue.ortvalue_from_numpy(array)).numpy(), array)
    inner = ort.capi._pybind_state
    assert not inner.is_dlpack_uint8_tensor(X.__dlpack__())
    same(inner.OrtValue.from_dlpack(np.array([1, 0], np.uint8).__dlpack__(), True).numpy(), np.array([True, False]))


def test_the_memory_lives_as_long_as_the_value():
    v = rondel.OrtValue.from_dlpack(np.arange(1000, dtype=np.float64).__dlpack__())
    gc.collect()
    same(v.numpy(), np.arange(1000, dtype=np.float64))


def test_torch_tensors_share_the_memory():
    torch = pytest.importorskip("torch")
    t = torch.arange(6, dtype=torch.float32)
    assert rondel.OrtValue.from_dlpack(t).data_ptr() == t.data_ptr()
    assert torch.from_dlpack(value(X)).data_ptr() == X.ctypes.data


def test_dtypes_that_dlpack_lacks():
    v = rondel.OrtValue.ortvalue_from_shape_and_type([2], onnx.TensorProto.BFLOAT16)
    with refused(rondel.UnsupportedError, "DLPack", "tensor(bfloat16)", "numpy()"):
        v.__dlpack__()


# ---- devices --------------------------------------------------------------------------------------------


@both
def test_devices(ort):
    cpu, cuda = ort.OrtDevice.make("cpu", 0), ort.OrtDevice.make("cuda", 2)
    assert (cpu.device_type(), cpu.device_id(), cpu.device_mem_type(), cpu.device_vendor_id()) == (0, 0, 0, ort.OrtDeviceVendorId.NONE)
    assert (cuda.device_type(), cuda.device_id(), cuda.device_vendor_id()) == (1, 2, ort.OrtDeviceVendorId.NVIDIA)
    assert ort.OrtDevice.make("gpu", 0, ort.OrtDeviceVendorId.AMD).device_vendor_id() == 0x1002
    inner = ort.capi._pybind_state.OrtDevice
    for name in ("cpu", "gpu", "cuda", "npu", "cann", "dml", "fpga", "webgpu"):
        assert inner(getattr(inner, name)(), inner.default_memory(), 1).device_id() == 1
    v = ort.capi._pybind_state.OrtValue.ortvalue_from_numpy(X, inner(inner.cpu(), inner.default_memory(), 0))
    same(v.numpy(), X)


# ---- sparse tensors -------------------------------------------------------------------------------------

VALUES, PLACES = f32(1, 2, 3), i64(3, 5, 15)


@both
def test_coordinates(ort):
    cpu = ort.OrtDevice.make("cpu", 0)
    for values, data_type in ((VALUES, "float"), (np.array(["xyz", "yxz", "zyx"]), "string")):
        t = ort.SparseTensor.sparse_coo_from_numpy([9, 9], values, PLACES, cpu)
        assert t.format() == ort.OrtSparseFormat.ORT_SPARSE_COO
        assert (list(t.dense_shape()), t.data_type(), t.device_name()) == ([9, 9], f"sparse_tensor({data_type})", "cpu")
        assert t.values().tolist() == values.tolist()
        same(t.as_coo_view().indices(), PLACES)
        assert not t.as_coo_view().indices().flags.writeable
    t = ort.SparseTensor.sparse_coo_from_numpy([9, 9], VALUES, np.array([[0, 3], [0, 5], [1, 6]], np.int64), cpu)
    assert t.as_coo_view().indices().shape == (3, 2) and not t.values().flags.writeable
    back = ort.OrtValue.ort_value_from_sparse_tensor(t)
    assert back.is_sparse_tensor() and not back.is_tensor() and back.data_type() == "sparse_tensor(float)"
    same(back.as_sparse_tensor().values(), VALUES)


@both
def test_rows(ort):
    inner, outer = i64(1, 1, 1), i64(0, 1, 2, 3, 3, 3, 3, 3, 3, 3)
    t = ort.SparseTensor.sparse_csr_from_numpy([9, 9], VALUES, inner, outer, ort.OrtDevice.make("cpu", 0))
    assert t.format() == ort.OrtSparseFormat.ORT_SPARSE_CSRC and t.data_type() == "sparse_tensor(float)"
    gc.collect()
    same(t.as_csrc_view().inner(), inner)
    same(t.as_csrc_view().outer(), outer)
    with pytest.raises(RuntimeError):
        t.as_coo_view()
    with pytest.raises(RuntimeError):
        t.to_cuda(ort.OrtDevice.make("cuda", 0))


def test_sparse_tensors_as_dense_ones():
    cpu = rondel.OrtDevice.make("cpu", 0)
    dense = np.zeros((2, 3), np.float32)
    dense[0, 1], dense[1, 0], dense[1, 2] = 4, 5, 6
    made = rondel.SparseTensor
    for t in (
        made.sparse_coo_from_numpy([2, 3], f32(4, 5, 6), i64(1, 3, 5), cpu),
        made.sparse_coo_from_numpy([2, 3], f32(4, 5, 6), np.array([[0, 1], [1, 0], [1, 2]]), cpu),
        made.sparse_csr_from_numpy([2, 3], f32(4, 5, 6), i64(1, 0, 2), i64(0, 1, 3), cpu),
    ):
        same(t.to_dense(), dense)
        double = rondel.InferenceSession(model("main (float[2, 3] x) => (float[2, 3] y) { y = Add (x, x) }"))
        with refused(rondel.CallerError, "input 'x'", "sparse_tensor(float)", "to_dense()"):
            double.run(None, {"x": t})
        same(double.run(None, {"x": t.to_dense()})[0], dense * 2)
    words = made.sparse_coo_from_numpy([2, 2], np.array(["a"]), i64(2), cpu).to_dense()
    assert words.tolist() == [["", ""], ["a", ""]]


@pytest.mark.parametrize(
    ("shape", "values", "places", "words"),
    [
        ([9, -1], VALUES, PLACES, ("dense_shape", "-1")),
        (9, VALUES, PLACES, ("dense_shape", "9")),
        ([9, 9], VALUES, i64(1, 2), ("coo_indices", "[2]", "[3]")),
        ([9, 9], VALUES, PLACES.astype(np.int32), ("coo_indices", "int32", "int64")),
        ([9, 9], VALUES, [3, 5, 15], ("coo_indices", "list")),
        ([9, 9], VALUES, i64(3, 5, 81), ("coo_indices", "81")),
        ([9, 9], VALUES, i64(-3, 5, 8), ("coo_indices",)),
        ([9, 9], VALUES.reshape(1, 3), PLACES, ("values", "[1, 3]")),
        ([9, 9], VALUES.tolist(), PLACES, ("values", "list")),
    ],
)
def test_wrong_coordinates(shape, values, places, words):
    with refused(rondel.CallerError, *words):
        rondel.SparseTensor.sparse_coo_from_numpy(shape, values, places, rondel.OrtDevice.make("cpu", 0))


@pytest.mark.parametrize(
    ("shape", "inner", "outer", "words"),
    [
        ([2, 3, 4], i64(1, 0, 2), i64(0, 1, 3), ("dense_shape", "rows and columns")),
        ([2, 3], i64(1, 0), i64(0, 1, 3), ("inner_indices", "[3]")),
        ([2, 3], i64(1, 0, 3), i64(0, 1, 3), ("inner_indices", "extent")),
        ([2, 3], i64(1, 0, 2), i64(0, 3), ("outer_indices", "[3]")),
        ([2, 3], i64(1, 0, 2), i64(0, 2, 1), ("outer_indices", "rise")),
        ([2, 3], i64(1, 0, 2), i64(1, 2, 3), ("outer_indices", "from 0 to 3")),
    ],
)
def test_wrong_rows(shape, inner, outer, words):
    with refused(rondel.CallerError, *words):
        rondel.SparseTensor.sparse_csr_from_numpy(shape, VALUES, inner, outer, rondel.OrtDevice.make("cpu", 0))


def test_bytes_of_another_order_are_converted_before_they_are_read_anew():
    bits = np.array([0x3F80, 0x4000])
    for order in "<>":
        value = rondel.OrtValue.ortvalue_from_numpy_with_onnx_type(bits.astype(order + "u2"), onnx.TensorProto.BFLOAT16)
        assert value.numpy().astype(float).tolist() == [1, 2]


@pytest.mark.parametrize("shape", [[2.9], "23", ["3"], [True], [-1], 3, None])
def test_extents_that_are_none(shape):
    cpu = rondel.OrtDevice.make("cpu", 0)
    empty = np.array([], np.float32), np.array([], np.int64)
    for call in (
        lambda: rondel.OrtValue.ortvalue_from_shape_and_type(shape, np.float32),
        lambda: rondel.SparseTensor.sparse_coo_from_numpy(shape, *empty, cpu),
    ):
        with refused(rondel.CallerError, "shape is", "expected a list of extents, each 0 or more"):
            call()


def test_sparse_tensors_of_any_size():
    cpu = rondel.OrtDevice.make("cpu", 0)
    large = rondel.SparseTensor.sparse_coo_from_numpy([2**40, 2**40], f32(1), np.array([2**62]), cpu)
    assert large.dense_shape() == [2**40, 2**40]
    one = rondel.SparseTensor.sparse_coo_from_numpy([], f32(7), np.zeros((1, 0), np.int64), cpu)
    assert one.to_dense() == 7


def test_a_tensor_of_dlpack_needs_no_dtype():
    class Bare:
        def __init__(self, array):
            self._array = array

        def __dlpack__(self, **how):
            return self._array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    same(rondel.InferenceSession(MUL).run(None, {"X": Bare(X)})[0], X * X)
    same(rondel.OrtValue.from_dlpack(Bare(X)).numpy(), X)


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
def test_packed_memory_is_refused(name):
    """onnxruntime packs these; here each element has a byte, which NumPy's arrays of ml_dtypes have, too."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    number = {"int4": 22, "uint4": 21, "int2": 26, "uint2": 25, "float4_e2m1fn": 23}[name]
    packed = np.array([0x21, 3], np.uint8)
    binding = rondel.InferenceSession(MUL).io_binding()
    for call in (
        lambda: rondel.OrtValue.ortvalue_from_numpy_with_onnx_type(packed, number),
        lambda: binding.bind_input("X", "cpu", 0, number, [4], packed.ctypes.data),
    ):
        with refused(rondel.UnsupportedError, "would be packed", f"dtype ml_dtypes.{name}"):
            call()
    plain = rondel.OrtValue.ortvalue_from_numpy(np.array([1, 1]).astype(dtype))
    assert plain.numpy().astype(int).tolist() == [1, 1]
