"""Conversions between NumPy arrays and the engine's values."""

import numbers
from collections.abc import Mapping

import numpy as np

from . import _rondel
from .errors import CallerError, UnsupportedError

_NUMPY = {
    "f64": "float64", "f32": "float32", "f16": "float16",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
    "bool": "bool", "c64": "complex64", "c128": "complex128",
}  # fmt: skip
# Types that NumPy gets from ml_dtypes (a dependency of onnx); raw integers without ml_dtypes.
_EXTENDED = {
    "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn", "i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2",
}  # fmt: skip
# The engine stores these in one byte for each element, sign-extended; ml_dtypes leaves the upper bits unset.
_BYTE_STORAGE = {"i4": np.int8, "i2": np.int8, "u4": np.uint8, "u2": np.uint8}
_NAME_OF = {numpy: ours for ours, numpy in (_NUMPY | _EXTENDED).items()}
# NumPy dtypes that the engine accepts without conversion.
_NATIVE = {np.dtype(numpy): ours for ours, numpy in _NUMPY.items()}
#: Kinds of NumPy dtypes whose elements may be strings: object, str, bytes, and StringDType.
STRING_KINDS = "OUST"
ONNX_NAME = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "string": "str",
              "complex64": "c64", "complex128": "c128", "bool": "bool",
              "float8e4m3fn": "f8e4m3fn", "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2",
              "float8e5m2fnuz": "f8e5m2fnuz", "float8e8m0": "f8e8m0", "float4e2m1": "f4e2m1"}  # fmt: skip


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype of a Rondel dtype, given by name."""
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    if name == "str":
        return np.dtype(object)
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _EXTENDED[name]))
    except ImportError:
        return np.dtype("uint16" if name == "bf16" else "uint8")


def extended_name(text: str) -> str | None:
    """The Rondel name of a dtype that NumPy knows only once ml_dtypes is imported, by its name there: 'bfloat16' -> 'bf16'."""
    return _NAME_OF[text] if _NAME_OF.get(text) in _EXTENDED else None


def dtype_name(dtype: np.dtype) -> str:
    """The Rondel name of a NumPy dtype."""
    if dtype in _NATIVE:
        return _NATIVE[dtype]
    if dtype.kind in STRING_KINDS:
        return "str"
    name = _NAME_OF.get(dtype.newbyteorder("=").name)
    if name is None:
        raise CallerError(f"NumPy dtype {dtype}, which no tensor has")
    return name


def element_name(onnx_type: str) -> str:
    """The Rondel name of the element type in an ONNX type text: 'seq(tensor(float))' -> 'f32'."""
    inner = _inner(onnx_type)
    if inner in ONNX_NAME:
        return ONNX_NAME[inner]
    return inner.replace("uint", "u").replace("int", "i")


_TO_ONNX_NAME = {ours: theirs for theirs, ours in ONNX_NAME.items()}


def onnx_name(dtype: str) -> str:
    """ONNX's name of a Rondel dtype: 'f32' -> 'float', 'u8' -> 'uint8'."""
    return _TO_ONNX_NAME.get(dtype) or dtype.replace("i", "int").replace("u", "uint")


#: The dtypes in the order of TensorProto.DataType, which numbers them from 1.
_BY_NUMBER = (
    "f32 u8 i8 u16 i16 i32 i64 str bool f16 f64 u32 u64 c64 c128 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz u4 i4 f4e2m1 f8e8m0 u2 i2"
).split()


def onnx_number(dtype: str) -> int:
    """The number of a Rondel dtype in TensorProto.DataType."""
    return _BY_NUMBER.index(dtype) + 1


def dtype_of_number(number: int) -> str:
    """The Rondel dtype of a number of TensorProto.DataType."""
    if not 0 < number <= len(_BY_NUMBER):
        raise CallerError(f"there is no element type {number}; expected a number of onnx.TensorProto.DataType")
    return _BY_NUMBER[number - 1]


def _inner(onnx_type):
    return onnx_type[onnx_type.rfind("(") + 1 :].rstrip(")")


def to_value(x, what: str, expected: str):
    """The value of a feed: an array, scalar, list (a sequence if one is expected), dict (for a map) or None.

    what: how errors name the feed; expected: the ONNX type text of the input, or "" if the model has no such input.
    """
    if x is None:
        return _rondel.nothing()
    if "seq(" in expected:
        return _sequence(x, what, expected)
    if expected.startswith("map("):
        return _map(x, what, expected)
    array = as_array(x, what, expected)
    name = _NATIVE.get(array.dtype)
    if name is not None:
        return _rondel.tensor_over(name, array if _is_plain(array) else np.require(array, requirements="CA"))
    if array.dtype.type is np.void and array.dtype.names is None:  # bytes without a meaning
        array = array.view(f"S{array.dtype.itemsize}")
    if array.dtype.kind in STRING_KINDS:
        return _of_strings(array, what, expected)
    try:
        name = dtype_name(array.dtype)
    except CallerError as error:
        raise CallerError(f"{what} has {error}; expected {expected}") from None
    array = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    if name in _BYTE_STORAGE:
        array = np.asarray(array.astype(_BYTE_STORAGE[name]), order="C")
    elif name in _EXTENDED:
        array = array.view(f"u{array.itemsize}")
    return _rondel.tensor_over(name, array)


def _is_plain(array):
    """Whether the array is row-major (C-contiguous) and aligned."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def _sequence(x, what, expected):
    if not isinstance(x, (list, tuple)):
        raise CallerError(f"{what} is a {type(x).__name__}; expected {expected}, a list of arrays")
    item_type = f"tensor({_inner(expected)})"
    items = []
    for k, item in enumerate(x):
        if item is None:
            raise CallerError(f"item {k} of {what} is None; expected {item_type}")
        items.append(to_value(item, f"item {k} of {what}", item_type))
    return _rondel.sequence_of(element_name(expected), items)


def _map(x, what, expected):
    if not isinstance(x, Mapping):
        raise CallerError(f"{what} is a {type(x).__name__}; expected {expected}, a dict")
    key, value = "string" if expected.startswith("map(string") else "int64", _inner(expected)
    values = list(x.values())
    if value != "string":
        values = [int(v) if isinstance(v, (bool, np.bool_)) else v for v in values]
    keys = to_value(list(x), f"the list of keys of {what}", f"tensor({key})")
    return _rondel.map_of(keys, to_value(values, f"the list of values of {what}", f"tensor({value})"))


def as_array(x, what, expected) -> np.ndarray:
    """x as an array. Tensors of other libraries are read in place through DLPack, or converted by their method `numpy`."""
    if type(x) is np.ndarray:
        return x
    try:
        if hasattr(x, "__dlpack__") and not isinstance(x, (np.ndarray, np.generic)) and (array := _from_dlpack(x)) is not None:
            return array
        if hasattr(x, "numpy") and callable(x.numpy) and not isinstance(x, np.ndarray):
            x = x.numpy()
        return np.asarray(x) if hasattr(x, "dtype") else _untyped(x, what, expected)
    except CallerError:
        raise
    except Exception as error:  # any exception of NumPy or of the library that x comes from
        raise CallerError(f"{what} is a {type(x).__name__} that makes no array: {error}; expected {expected}") from error


#: Torch dtypes that DLPack or NumPy's support for it lacks, and the integer dtypes that their tensors are viewed as.
_TORCH_VIEWS = {"torch.bfloat16": "int16", "torch.bool": "uint8"}


def _from_dlpack(x) -> np.ndarray | None:
    """The array over a tensor's memory; None if DLPack cannot transfer it (a dtype that NumPy does not have, another device)."""
    try:
        return _read_dlpack(x)
    except (BufferError, RuntimeError, TypeError):
        return None


def _read_dlpack(x):
    view = _TORCH_VIEWS.get(str(getattr(x, "dtype", None)))
    if view is None:
        return np.from_dlpack(x)
    import torch

    own = {"int16": numpy_dtype("bf16"), "uint8": np.bool_}[view]
    return np.from_dlpack(x.view(getattr(torch, view))).view(own)


def _of_strings(array, what, expected):
    """The value of an array of str or bytes. expected: as in to_value."""
    items = array.reshape(-1).tolist()
    try:
        value = _rondel.tensor_of_strings(list(array.shape), items)
    except UnicodeEncodeError as error:
        raise CallerError(f"{what} holds text that is no Unicode: {error}") from None
    if value is not None:
        return value
    raise CallerError(f"{what} {_wrong_object(items, element_name(expected))}; expected {expected or 'numbers'}")


def _wrong_object(items, name):
    """What is wrong with objects of which one is no string, for a tensor of a dtype: the first that is no element, or that all are numbers."""
    wanted = (numbers.Number, np.bool_) if name in _NAME_OF.values() else (str, bytes)
    for item in items:
        if not isinstance(item, wanted):
            return f"holds a {type(item).__name__}, {item!r:.40}"
    dtype = numpy_dtype(name).type
    return f"is an array of dtype object, which np.asarray(x, {dtype.__module__.replace('numpy', 'np')}.{dtype.__name__}) converts"


def _untyped(x, what: str, expected: str) -> np.ndarray:
    """A Python number, string or nested list, which has no dtype: it gets the dtype of the input if all elements fit."""
    name = element_name(expected) if expected else ""
    if name == "str":
        return np.array(x, dtype=object)  # else NumPy would convert numbers in a list of strings to strings
    array = np.asarray(x)
    integers = array.dtype.kind == "O" and all(type(v) is int for v in array.reshape(-1).tolist())
    if name not in _NAME_OF.values() or not (array.dtype.kind in "biuf" or integers) or not _may_become(array, name):
        return array
    try:
        return numbers_as(x, name)
    except ValueError as error:
        raise CallerError(f"{what}: {error}") from None


def numbers_as(x, name: str) -> np.ndarray:
    """Numbers, lists of them or of arrays as an array of a Rondel dtype: floats are rounded to it, integers and bools keep their values.

    Raises ValueError that names an element which the dtype does not hold.
    """
    given, dtype = np.asarray(x), numpy_dtype(name)
    if given.dtype == dtype:
        return given
    if name[0] in "iu" or name == "bool":
        return _as_integers(given if given.dtype.kind in "biu" else np.array(x, dtype=object), name, dtype)
    if given.dtype.kind == "c" and name[0] != "c":
        raise ValueError(f"{name} does not hold complex numbers")
    try:
        exact = given.astype(float) if given.dtype.kind == "O" else given  # integers beyond 64 bits
    except OverflowError:
        raise ValueError(f"{name} does not hold integers beyond {_largest(dtype):g}") from None
    with np.errstate(over="ignore", invalid="ignore"):
        made = exact.astype(dtype)
    finite = np.isfinite(made)
    if name == "f4e2m1":  # has no infinity: what is too large becomes its largest number
        finite &= np.abs(exact) <= _largest(dtype)
    if not finite.all() and (lost := np.isfinite(exact) & ~finite).any():
        raise ValueError(f"{name} does not hold {exact[lost][0]:g}; its largest number is {_largest(dtype):g}")
    return made


def _as_integers(given, name, dtype):
    """Integers, or objects that are numbers, in a dtype of integers or bools that holds them all."""
    least, most = _range(name, dtype)
    if given.dtype.kind == "O":
        wrong = next((v for v in given.flat if not (least <= v <= most and v == int(v))), None)
    else:
        ends = (given.min(), given.max()) if given.size else ()
        wrong = next((v for v in ends if not least <= int(v) <= most), None)
    if wrong is not None:
        raise ValueError(f"{name} does not hold {wrong}; its range is {least} to {most}")
    if given.dtype.kind == "O":
        given = np.array([int(v) for v in given.flat], np.uint64 if most >= 2**63 else np.int64).reshape(given.shape)
    return given.astype(dtype)


def _range(name, dtype):
    """The least and the greatest number of a dtype of integers or bools."""
    if name == "bool":
        return 0, 1
    limits = np.iinfo(dtype) if name in _NUMPY else _extended_info("iinfo", dtype)
    return int(limits.min), int(limits.max)


def _largest(dtype):
    """The largest number of a dtype of floats."""
    return float((np.finfo(dtype) if dtype.isbuiltin == 1 else _extended_info("finfo", dtype)).max)


def _extended_info(kind, dtype):
    import ml_dtypes

    return getattr(ml_dtypes, kind)(dtype)


def _may_become(array, name):
    """Whether numbers without a dtype may get this one.

    As in onnxruntime, bools in a list may be zeros and ones and the reverse, and floats in a list integers; unlike there, no others.
    """
    kind, is_list = array.dtype.kind, array.ndim > 0
    if name == "bool":
        return kind == "b" or (is_list and bool(((array == 0) | (array == 1)).all()))
    if kind == "b":
        return is_list
    return kind != "f" or name[0] not in "iu" or (is_list and bool((array == np.trunc(array)).all()))


class EmptySequence(list):
    """A sequence without items that still has an element dtype. element: Rondel's name of the dtype."""

    def __init__(self, element: str):
        super().__init__()
        self.element = element


def from_value(unpacked, what: str):
    """An output: an array, a list of them, or None for an empty optional. `what`: how errors name it."""
    if unpacked is None or type(unpacked) is np.ndarray:
        return unpacked
    if unpacked[0] == "sequence":
        items = [from_value(item, f"item {k} of {what}") for k, item in enumerate(unpacked[1])]
        return items or EmptySequence(unpacked[2])
    if unpacked[0] == "map":
        keys, values = (from_value(part, what).tolist() for part in unpacked[1:])
        return dict(zip(keys, values))
    _, dtype, shape, data = unpacked
    try:
        return _elements(dtype, data).reshape(shape)
    except ValueError as error:
        extents = ",".join(map(str, shape))
        raise UnsupportedError(f"{what} is {dtype}[{extents}], which NumPy cannot hold: {error}") from None


def _elements(dtype, data) -> np.ndarray:
    if dtype == "str":
        return data
    if dtype in _BYTE_STORAGE:
        return data.view(_BYTE_STORAGE[dtype]).astype(numpy_dtype(dtype))
    return data.view(numpy_dtype(dtype))


def flat_columns(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """An array [rows, ...] as columns of a table: one for each element of a row, named "name[0, 1]"."""
    if array.ndim == 1:
        return {name: array}
    return {f"{name}[{', '.join(map(str, k))}]": array[(slice(None), *k)] for k in np.ndindex(array.shape[1:])}
