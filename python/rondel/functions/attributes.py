"""Conversion of attributes from Python values to the form that the engine takes."""

import operator

import numpy as np

from .. import arrays
from ..errors import CallerError


def dtype_number(dtype) -> int:
    """ONNX's number of a dtype: np.float32, "float32", np.dtype("float32") -> 1, "bfloat16" -> 16"""
    named = arrays.extended_name(dtype) if isinstance(dtype, str) else None
    return arrays.onnx_number(named or arrays.dtype_name(np.dtype(dtype)))


#: The attributes whose value is the number of an element type.
_DTYPES = {"to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision", "precision"}


def _integer(x):
    value = operator.index(x.item() if isinstance(x, np.ndarray) else x)
    return value if -(2**63) <= value < 2**63 else _refuse()


def _float(x):
    value = float(x)
    arrays.numbers_as(value, "f32")  # refuses what the file cannot keep
    return value


def _text(x):
    return x.decode() if isinstance(x, bytes) else str(np.str_(x)) if isinstance(x, str) else _refuse()


def _refuse():
    raise TypeError


def _items(x):
    return np.atleast_1d(x).reshape(-1).tolist() if isinstance(x, (np.ndarray, np.generic, int, float)) else list(x)


def _tensor(x):
    if hasattr(x, "SerializeToString"):  # a TensorProto
        from onnx import numpy_helper

        x = numpy_helper.to_array(x)
    return np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x)


#: For each type of attribute: the expected value, as errors describe it, and the function that converts a value.
_FORMS = {
    "INT": ("an integer of 64 bits", _integer),
    "FLOAT": ("a number that f32 holds", _float),
    "STRING": ("a string", _text),
    "INTS": ("a list of integers of 64 bits", lambda x: [_integer(i) for i in _items(x)]),
    "FLOATS": ("a list of numbers that f32 holds", lambda x: [_float(i) for i in _items(x)]),
    "STRINGS": ("a list of strings", lambda x: [_text(s) for s in x]),
    "TENSOR": ("an array", _tensor),
    "TYPE_PROTO": ("a type, as text: 'tensor(float)'", _text),
}


def canonical(op, name: str, value):
    """The value of attribute `name` of `op` as a plain Python value or array. CallerError if the value has a wrong type."""
    kind = op.attributes[name].type
    if kind == "GRAPH":
        return value
    if kind not in _FORMS:
        raise CallerError(f"{op.name}: attribute '{name}' ({kind}) cannot be given here")
    expected, convert = _FORMS[kind]
    if name in _DTYPES and isinstance(value, (str, type, np.dtype)):
        expected, convert = "a dtype, or ONNX's number of one", dtype_number
    try:
        return convert(value)
    except CallerError:
        raise
    except Exception:
        raise CallerError(f"{op.name}: attribute '{name}' is {value!r:.60}; expected {expected}") from None


def written(op, attributes: dict) -> list:
    """Attributes in the form that GraphWriter.node takes: a list of (name, type, value)."""
    items = []
    for name, value in attributes.items():
        kind = op.attributes[name].type
        plain = canonical(op, name, value)
        if kind == "TENSOR":
            plain = arrays.to_value(plain, f"attribute '{name}' of {op.name}", "")
        items.append((name, kind, plain))
    return items
