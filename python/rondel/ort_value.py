"""OrtValue: a value that runs read and give, with onnxruntime's names. It holds an array, and converts to and from others."""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, not_here
from .counts import checked_extents
from .device import OrtDevice, need_cpu
from .errors import CallerError, UnsupportedError
from .missing_names import ExplainsMissingNames
from .sparse import SparseTensor

ElementType = npt.DTypeLike | int
"""A NumPy dtype, or a number of onnx.TensorProto.DataType."""


class OrtValue(ExplainsMissingNames):
    """A tensor, a list of tensors (a sequence), nothing (an empty optional), or a sparse tensor.

    Made by the class methods. A tensor is an array in the memory of the process: `numpy` gives it without a copy, and a run
    reads it in place.
    """

    _missing_names = not_here.ORT_VALUE

    def __init__(self, content: Any, data_type: str) -> None:
        self._content, self._type = content, data_type

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A tensor over the memory of an array; a copy if the array is not row-major, or not in the byte order of the processor."""
        need_cpu(device_type, "ortvalue_from_numpy", device_id, vendor_id)
        return cls._of_array(_an_array(numpy_obj, "ortvalue_from_numpy"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """A tensor over the memory of an array, whose elements are read as an ONNX type of the same size, such as
        onnx.TensorProto.BFLOAT16 over an array of uint16."""
        array = _an_array(data, "ortvalue_from_numpy_with_onnx_type")
        dtype = _numpy_dtype(onnx_element_type)
        if dtype.itemsize != array.dtype.itemsize or dtype.hasobject or array.dtype.hasobject:
            raise CallerError(
                f"ortvalue_from_numpy_with_onnx_type: elements of {array.dtype} cannot be read as {dtype}; expected elements of {dtype.itemsize} bytes"
            )
        if dtype != array.dtype:
            _require_whole_bytes(dtype, "ortvalue_from_numpy_with_onnx_type: the array")
        native = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        return cls._of_array(native.view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: ElementType,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor of this shape, with memory of its own, whose elements are not set yet."""
        need_cpu(device_type, "ortvalue_from_shape_and_type", device_id, vendor_id)
        dtype, extents = _numpy_dtype(element_type), checked_extents("shape", shape)
        return cls._of_array(np.full(extents, "", object) if dtype.kind in arrays.STRING_KINDS else np.empty(extents, dtype))

    ortvalue_from_shape_and_onnx_type = ortvalue_from_shape_and_type

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> OrtValue:
        if not isinstance(sparse_tensor, SparseTensor):
            raise CallerError(f"ort_value_from_sparse_tensor: this is a {type(sparse_tensor).__name__}; expected a SparseTensor")
        return cls(sparse_tensor, sparse_tensor.data_type())

    @classmethod
    def from_dlpack(cls, data: Any, /, is_bool_tensor: bool = False) -> OrtValue:
        """A tensor over the memory of another library's tensor, or of a DLPack capsule.

        is_bool_tensor: the elements, which are called uint8, are bool.
        """
        data = content_of(data)
        array = arrays.as_array(data, "from_dlpack: the tensor", "a tensor on the CPU") if hasattr(data, "__dlpack__") else _array_of_capsule(data)
        return cls._of_array(array.view(np.bool_) if is_bool_tensor and array.dtype == np.uint8 else array)

    @classmethod
    def _of_array(cls, array: np.ndarray) -> OrtValue:
        data_type = f"tensor({arrays.onnx_name(arrays.dtype_name(array.dtype))})"
        dtype = array.dtype if array.dtype.kind == "T" else array.dtype.newbyteorder("=")
        return cls(np.asarray(array, dtype=dtype, order="C"), data_type)

    def numpy(self) -> np.ndarray:
        """The tensor, without a copy: writing to the array writes to the value."""
        return self._array("numpy")

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if copy is None:
            return array if dtype is None else array.astype(dtype, copy=False)
        return np.array(array, dtype=dtype, copy=copy)

    def __dlpack__(self, *, stream: Any = None, **how: Any) -> Any:
        """A DLPack capsule over the memory of the tensor. stream: None; the CPU has no streams."""
        _no_stream(stream, "__dlpack__")
        try:
            return self._array("__dlpack__").__dlpack__(**how)
        except BufferError as error:
            raise UnsupportedError(f"DLPack transfers no {self._type} here: {error}; numpy() gives an array") from None

    to_dlpack = __dlpack__

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Copies elements of the same dtype and shape into the memory of the tensor."""
        self._copy_from(data, "update_inplace")

    def _copy_from(self, data, method):
        target, source = self._array(method), _an_array(data, method)
        if source.dtype != target.dtype or source.shape != target.shape:
            raise CallerError(
                f"{method}: the data are {source.dtype}{list(source.shape)}; expected {target.dtype}{list(target.shape)}, as the value they replace"
            )
        _check_writable(target, f"{method}: the value")
        target[...] = source

    def as_sparse_tensor(self) -> SparseTensor:
        if not self.is_sparse_tensor():
            raise CallerError(f"as_sparse_tensor: the value is a {self._type}; expected a sparse tensor; numpy() gives a tensor")
        return self._content

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._array("data_ptr").ctypes.data

    def shape(self) -> list[int]:
        return self._content.dense_shape() if self.is_sparse_tensor() else list(self._array("shape").shape)

    def data_type(self) -> str:
        """The type in ONNX's notation, such as 'tensor(float)'."""
        return self._type

    def element_type(self) -> int:
        """The number of the dtype in onnx.TensorProto.DataType."""
        return arrays.onnx_number(arrays.element_name(self._type))

    def tensor_size_in_bytes(self) -> int:
        return self._array("tensor_size_in_bytes").nbytes

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        """False for an empty optional."""
        return self._content is not None

    def is_tensor(self) -> bool:
        return isinstance(self._content, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return isinstance(self._content, SparseTensor)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._content, list)

    def _array(self, method):
        if isinstance(self._content, np.ndarray):
            return self._content
        way_out = {SparseTensor: "; as_sparse_tensor() gives it", list: "; to_list() gives its arrays"}.get(type(self._content), "")
        raise CallerError(f"{method}: the value is {'empty' if self._content is None else f'a {self._type}'}, no tensor{way_out}")

    def to_list(self) -> list[Any]:
        """The arrays of a sequence."""
        if not isinstance(self._content, list):
            raise CallerError(f"to_list: the value is a {self._type}, no sequence")
        return list(self._content)

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    def __repr__(self) -> str:
        return f"OrtValue({self._type}{self.shape() if self.is_tensor() or self.is_sparse_tensor() else ''})"


class OrtValueVector(list[OrtValue]):
    """A list of values."""

    def push_back(self, value: OrtValue) -> None:
        self.append(value)

    def element_type_at(self, index: int) -> int:
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        return self[index].to_dlpack()


def copy_tensors(src: Iterable[OrtValue], dst: Iterable[OrtValue], stream: Any = None) -> None:
    """Copies each tensor into the memory of another. stream: None; the CPU has no streams."""
    _no_stream(stream, "copy_tensors")
    for what, values in (("src", src), ("dst", dst)):
        if not isinstance(values, Iterable):
            raise CallerError(f"copy_tensors: {what} is a {type(values).__name__}; expected a list of OrtValues")
    sources, targets = list(src), list(dst)
    if len(sources) != len(targets):
        raise CallerError(f"copy_tensors: {len(sources)} values are copied to {len(targets)}; expected as many")
    for value, target in zip(sources, targets):
        if not isinstance(target, OrtValue):
            raise CallerError(f"copy_tensors: dst holds a {type(target).__name__}; expected OrtValues")
        target._copy_from(value, "copy_tensors")


def content_of(x: Any) -> Any:
    """What a run reads for a feed: the content of an OrtValue; anything else unchanged."""
    return x._content if isinstance(x, OrtValue) else x


def check_target(target: np.ndarray, source: np.ndarray, what: str) -> None:
    """Raises CallerError if `source` cannot be copied into `target`. what: how errors name the target."""
    if source.dtype != target.dtype or source.shape != target.shape:
        raise CallerError(f"{what} is {target.dtype}{list(target.shape)}; expected {source.dtype}{list(source.shape)}, as what is copied there")
    _check_writable(target, what)


def _check_writable(target, what):
    if not target.flags.writeable:
        raise CallerError(f"{what} is read-only; expected memory that can be written")


def array_at(address: int, element_type: ElementType, shape: Sequence[int], keep: Any = None) -> np.ndarray:
    """The array at an address of memory, which may be 0 if the array is empty. keep: what owns the memory; None: the caller keeps it alive."""
    dtype, extents = _numpy_dtype(element_type), checked_extents("shape", shape)
    _require_whole_bytes(dtype, "the memory")
    if dtype.kind in arrays.STRING_KINDS:
        raise CallerError("strings have no address that others can read; expected a dtype of numbers")
    size = math.prod(extents) * dtype.itemsize
    if isinstance(address, bool) or not isinstance(address, (int, np.integer)) or not (1 if size else 0) <= address < 2**64:
        raise CallerError(f"the buffer is at {address!r}; expected an address, such as ortvalue.data_ptr() or array.ctypes.data")
    if size == 0:
        return np.empty(extents, dtype)
    memory = (ctypes.c_char * size).from_address(int(address))
    memory._keep = keep
    return np.frombuffer(memory, dtype, size // dtype.itemsize).reshape(extents)


def _require_whole_bytes(dtype, what):
    """onnxruntime packs elements of 4 and of 2 bits; here each has a byte."""
    name = arrays.dtype_name(dtype)
    if name in ("i4", "u4", "i2", "u2", "f4e2m1"):
        raise UnsupportedError(f"{what} of {name} would be packed, several elements in a byte; give a NumPy array of dtype ml_dtypes.{dtype.name}")


def _no_stream(stream, what):
    if stream is not None:
        raise CallerError(f"{what}: stream is {stream!r}; expected None: the CPU has no streams")


def _array_of_capsule(capsule):
    try:
        array = np.from_dlpack(_Capsule(capsule))
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise CallerError(f"from_dlpack: {capsule!r:.60} is no tensor that DLPack transfers: {error}") from None
    if array.flags.c_contiguous and array.size:  # NumPy makes what comes in a capsule read-only
        array = array_at(array.ctypes.data, array.dtype, array.shape, array)
    return array


class _Capsule:
    """A DLPack capsule as an object that NumPy reads."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


def _an_array(x, method):
    x = content_of(x)
    if not isinstance(x, np.ndarray):
        raise CallerError(f"{method}: this is a {type(x).__name__}; expected a NumPy array or an OrtValue that holds a tensor")
    return x


def _numpy_dtype(element_type: ElementType) -> np.dtype:
    """The dtype of a NumPy dtype or of a number of onnx.TensorProto.DataType."""
    if isinstance(element_type, (int, np.integer)) and not isinstance(element_type, bool):
        return arrays.numpy_dtype(arrays.dtype_of_number(int(element_type)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dtype = np.dtype(element_type)
    except TypeError:
        raise CallerError(f"element_type is {element_type!r}; expected a NumPy dtype or a number of onnx.TensorProto.DataType") from None
    arrays.dtype_name(dtype)  # refuses dtypes that no tensor has
    return dtype
