"""Tensors as bytes and as lists of numbers: the datatypes of the Open Inference Protocol."""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import numpy as np

from .. import arrays
from .errors import Refusal, bad_request

_NAMES = {
    "bool": "BOOL", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64", "i8": "INT8", "i16": "INT16",
    "i32": "INT32", "i64": "INT64", "f16": "FP16", "f32": "FP32", "f64": "FP64", "bf16": "BF16", "str": "BYTES",
}  # fmt: skip
_DTYPES = {theirs: arrays.numpy_dtype(ours) for ours, theirs in _NAMES.items()}
_OF_DTYPE = {dtype: theirs for theirs, dtype in _DTYPES.items() if theirs != "BYTES"}
_LENGTH = struct.Struct("<I")


def datatype_of_port(onnx_type: str) -> str:
    """'tensor(float)' -> 'FP32'. A type that the protocol does not have is named as ONNX does."""
    if not onnx_type.startswith("tensor("):
        return onnx_type
    return _NAMES.get(arrays.element_name(onnx_type), onnx_type)


def datatype_of(array: Any, name: str) -> str:
    """The datatype of an output; refuses what has none."""
    if not isinstance(array, (np.ndarray, np.generic)):
        raise _no_form(f"output '{name}' is no tensor but a {type(array).__name__}, which the Open Inference Protocol does not have; ask for other outputs by name")
    if array.dtype.kind in "OUS":
        return "BYTES"
    found = _OF_DTYPE.get(array.dtype)
    if found is None:
        raise _no_form(f"output '{name}' is of {array.dtype}, which the Open Inference Protocol does not have")
    return found


def _no_form(why: str) -> Refusal:
    return Refusal(why, 501, "UNIMPLEMENTED")


def dtype_of(datatype: str, name: str) -> np.dtype:
    found = _DTYPES.get(datatype) if isinstance(datatype, str) else None
    if found is None:
        raise bad_request(f"input '{name}' has the datatype {datatype!r}; expected one of {', '.join(_DTYPES)}")
    return found


def checked_shape(shape: Any, name: str) -> tuple[int, ...]:
    if not isinstance(shape, (list, tuple)) or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise bad_request(f"input '{name}' has the shape {shape!r:.100}; expected a list of extents, each 0 or more")
    if len(shape) > 64:
        raise bad_request(f"input '{name}' has {len(shape)} axes; expected at most 64")
    if math.prod(n or 1 for n in shape) >= 2**60:  # NumPy has no such array, even if another extent is 0
        raise bad_request(f"input '{name}' has the shape {list(shape)!r:.100}; expected extents whose product is less than 2**60")
    return tuple(shape)


def from_bytes(data: Any, datatype: str, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The tensor in raw bytes, row-major, little-endian; BYTES: each element after its length in 4 bytes. Shares their memory."""
    dtype, count = dtype_of(datatype, name), math.prod(shape)
    if datatype == "BYTES":
        return _texts(_split(data, name), shape, name)
    if len(data) != count * dtype.itemsize:
        raise bad_request(f"input '{name}' has {len(data)} bytes; expected {count * dtype.itemsize} for {datatype}{list(shape)}")
    if datatype == "BOOL" and (np.frombuffer(data, np.uint8) > 1).any():
        raise bad_request(f"input '{name}' is of BOOL; expected bytes of 0 and 1")
    return np.frombuffer(data, dtype).reshape(shape)


def _split(data: Any, name: str) -> list[bytes]:
    items, at, end = [], 0, len(data)
    while at < end:
        if at + 4 > end or (stop := at + 4 + _LENGTH.unpack_from(data, at)[0]) > end:
            raise bad_request(f"input '{name}' ends within the element {len(items)}; expected lengths of 4 bytes, each before its element")
        items.append(bytes(data[at + 4 : stop]))
        at = stop
    return items


def _texts(items: list[Any], shape: tuple[int, ...], name: str) -> np.ndarray:
    _check_count(len(items), "BYTES", shape, name)
    if not set(map(type, items)) <= {str, bytes}:
        raise bad_request(f"input '{name}' is of BYTES; expected texts")
    made = np.empty(len(items), object)
    made[:] = [x.decode(errors="surrogateescape") if isinstance(x, bytes) else x for x in items]
    return made.reshape(shape)


def _check_count(count: int, datatype: str, shape: tuple[int, ...], name: str) -> None:
    if count != math.prod(shape):
        raise bad_request(f"input '{name}' has {count} elements; expected {math.prod(shape)} for {datatype}{list(shape)}")


def from_list(data: Any, datatype: str, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The tensor in a list of numbers or texts, flat or nested as the shape is. A number that the datatype does not hold is refused."""
    dtype = dtype_of(datatype, name)
    items = _elements(data, shape, name)
    if datatype == "BYTES":
        return _texts(items, shape, name)
    try:
        found = _numbers(items, dtype)
    except (ValueError, OverflowError) as error:
        raise bad_request(f"input '{name}' ({datatype}{list(shape)}): {error}") from None
    return from_array(found, datatype, shape, name)


def from_array(found: np.ndarray, datatype: str, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The tensor in numbers of the datatype's kind, in order. A number that the datatype does not hold is refused."""
    dtype = dtype_of(datatype, name)
    _check_count(found.size, datatype, shape, name)
    try:
        return _cast(found, dtype).reshape(shape)
    except ValueError as error:
        raise bad_request(f"input '{name}' ({datatype}{list(shape)}): {error}") from None


# Lists are long: what is done for each element is done by `map` and by NumPy, not by Python's loops.


def _elements(data: Any, shape: tuple[int, ...], name: str) -> list[Any]:
    """The elements of a list: itself if its first item is no list, else what it holds nested as the shape is."""
    level = data if isinstance(data, list) else [data]
    if not level or type(level[0]) is not list:
        return level
    level = [level]
    for extent in shape:
        if not level:
            break  # an extent before this one is 0
        if set(map(type, level)) != {list} or set(map(len, level)) != {extent}:
            raise _other_nesting(shape, name)
        level = list(itertools.chain.from_iterable(level))
    if level and type(level[0]) is list:
        raise _other_nesting(shape, name)
    return level


def _other_nesting(shape: tuple[int, ...], name: str) -> Refusal:
    return bad_request(f"input '{name}' has data that are nested otherwise than its shape {list(shape)} says; expected that nesting, or one flat list")


#: How an error names what JSON has.
_KINDS = {bool: "true or false", int: "integers", float: "floats", str: "texts", list: "lists", dict: "objects", type(None): "null"}


def _numbers(items: list[Any], dtype: np.dtype) -> np.ndarray:
    """The numbers as NumPy has them: integers in a dtype that holds them all, else float64. Refuses other kinds than that of the dtype."""
    expected: list[type] = {"b": [bool], "u": [int], "i": [int]}.get(dtype.kind, [int, float])
    wrong = set(map(type, items)).difference(expected)
    if wrong:
        raise ValueError(f"its data hold {' and '.join(sorted(_KINDS.get(k, k.__name__) for k in wrong))}; expected {' or '.join(_KINDS[k] for k in expected)}")
    if float in expected:
        return np.array(items, np.float64)
    found = np.array(items)
    return found if found.dtype.kind in "iub" else np.array(items, object)  # NumPy makes floats of small and large integers together


def _cast(found: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if found.size == 0:
        return np.empty(0, dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if int(found.min()) < limits.min or int(found.max()) > limits.max:
            raise ValueError(f"a number is not within {limits.min} to {limits.max}")
    with np.errstate(over="ignore"):
        made = found.astype(dtype)
    if dtype.kind in "fV" and (np.isinf(made.astype(np.float64)) & np.isfinite(found)).any():
        raise ValueError("a number is too large for the datatype")
    return made


def to_bytes(array: np.ndarray) -> bytes:
    if array.dtype.kind not in "OUS":
        return array.tobytes()
    items = [as_bytes(x) for x in array.reshape(-1).tolist()]
    return b"".join(part for x in items for part in (_LENGTH.pack(len(x)), x))


def as_bytes(text: Any) -> bytes:
    """An element of BYTES. Bytes of a model or of a client that are no UTF-8 are surrogates in Python's text; they become what they were."""
    return text if isinstance(text, bytes) else str(text).encode(errors="surrogateescape")


def to_texts(array: np.ndarray, name: str) -> list[str]:
    """The elements of BYTES as text; refuses those that are no UTF-8."""
    try:
        return [as_bytes(x).decode() for x in array.reshape(-1).tolist()]
    except UnicodeDecodeError as error:
        raise _no_form(f"output '{name}' is no text in UTF-8, which JSON needs: {error}; ask for it in bytes, with binary_data") from None
