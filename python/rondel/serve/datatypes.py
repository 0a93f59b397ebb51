"""Tensors as bytes and as lists of numbers: the datatypes of the Open Inference Protocol."""

from __future__ import annotations

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
    if len(items) != math.prod(shape):
        raise bad_request(f"input '{name}' has {len(items)} elements; expected {math.prod(shape)} for BYTES{list(shape)}")
    made = np.empty(len(items), object)
    made[:] = [x.decode(errors="surrogateescape") if isinstance(x, bytes) else x for x in items]
    if not all(isinstance(x, str) for x in made):
        raise bad_request(f"input '{name}' is of BYTES; expected texts")
    return made.reshape(shape)


def from_list(data: Any, datatype: str, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The tensor in a list of numbers, flat or nested. A number that the datatype does not hold is refused."""
    dtype = dtype_of(datatype, name)
    if datatype == "BYTES":
        return _texts(_flat(data), shape, name)
    try:
        found = np.asarray(data)
        if dtype == np.uint64 and found.dtype.kind == "f" and all(type(x) is int for x in _flat(data)):
            found = np.array(data, object)  # NumPy makes floats of small and large integers together
        if found.size == 0:
            return np.empty(0, dtype).reshape(shape)
        if found.dtype == object and dtype.kind in "iu" and all(type(x) is int for x in found.flat):
            _check_range(found, dtype)
            found = found.astype(dtype)
        kinds = {"b": "b", "u": "iu", "i": "iu"}.get(dtype.kind, "iuf")
        if found.dtype.kind not in kinds:
            raise ValueError(f"its data are of {found.dtype}; expected {datatype}")
        if dtype.kind in "iu":
            _check_range(found, dtype)
        with np.errstate(over="ignore"):
            made = found.astype(dtype)
        if dtype.kind in "fV" and (np.isinf(made.astype(np.float64)) & np.isfinite(found)).any():
            raise ValueError("a number is too large for the datatype")
        return made.reshape(shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise bad_request(f"input '{name}' ({datatype}{list(shape)}): {error}") from None


def _check_range(numbers: np.ndarray, dtype: np.dtype) -> None:
    limits = np.iinfo(dtype)
    if int(numbers.min()) < limits.min or int(numbers.max()) > limits.max:
        raise ValueError(f"a number is not within {limits.min} to {limits.max}")


def _flat(data: Any) -> list[Any]:
    flat: list[Any] = []
    rest = [data]
    while rest:
        item = rest.pop()
        if isinstance(item, list):
            rest.extend(reversed(item))
        else:
            flat.append(item)
    return flat


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
