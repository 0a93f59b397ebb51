"""Python numbers as inputs: they have no dtype, and take that of the arrays beside them."""

import numpy as np

from .. import arrays
from ..errors import CallerError
from .traced import Traced

#: The dtypes that Python's numbers have by themselves, as in NumPy, and what they become where an input does not take those.
_OWN = {"f": ["f64", "f32", "f16"], "i": ["i64", "i32", "f64", "f32"], "b": ["bool"]}
_KIND = {"f64": "f", "f32": "f", "f16": "f", "bf16": "f", "bool": "b"}


def is_number(x) -> bool:
    """Whether x is a Python number, or a list or tuple of them."""
    if isinstance(x, (list, tuple)):
        return all(type(i) in (int, float, bool) for i in x)
    return type(x) in (int, float, bool)


def kind_of(x) -> str:
    """'b', 'i' or 'f': what holds the number, or all numbers of the list."""
    kinds = {type(i) for i in x} if isinstance(x, (list, tuple)) else {type(x)}
    return "f" if float in kinds else "b" if kinds == {bool} else "i"


def own_dtype(x) -> str:
    """The dtype of a number by itself."""
    return _OWN[kind_of(x)][0]


def fits(x, dtype: str) -> bool:
    """Whether a number may take a dtype: no float becomes an integer, and none but True and False a bool."""
    given, wanted = kind_of(x), _KIND.get(dtype, "i")
    empty = isinstance(x, (list, tuple)) and not x
    return empty or "bif".index(given) <= "bif".index(wanted)


def element_names(types) -> list:
    """The dtypes of tensors among the types that an input takes: ["tensor(float)"] -> ["f32"]"""
    return [arrays.element_name(t) for t in types if t.startswith("tensor(")]


def dtype_of(x) -> str | None:
    """The dtype of a traced value, an array, or the items of a list of arrays."""
    if isinstance(x, Traced):
        return x.element
    if isinstance(x, (list, tuple)):
        return dtype_of(x[0]) if x else None
    if hasattr(x, "dtype") and isinstance(x.dtype, np.dtype):
        return arrays.dtype_name(x.dtype)
    return arrays.dtype_name(arrays.as_array(x, "an argument", "a tensor").dtype)


def known_dtypes(values: list) -> list:
    """The dtype of each value that has one; None for numbers, and where one is left out."""
    return [None if x is None or is_number(x) else dtype_of(x) for x in values]


def dtypes_of_numbers(op, values: list) -> list:
    """The dtype of each input that is a number, else None. values: of the inputs in order, None where one is left out. Inputs of
    one type in the schema have one dtype.
    """
    known = known_dtypes(values)
    shared = {}
    for k, dtype in enumerate(known):
        if dtype is not None and _is_shared(op.input(k)):
            shared.setdefault(op.input(k).type, dtype)
    for k, x in enumerate(values):  # among numbers alone, a float decides
        port = op.input(k)
        if known[k] is None and is_number_value(x) and _is_shared(port):
            others = [v for j, v in enumerate(values) if op.input(j).type == port.type and is_number_value(v)]
            widest = min((kind_of(v) for v in others), key="fib".index)
            shared.setdefault(port.type, _own(op, k, widest))
    return [
        _fitting(op, k, x, shared.get(op.input(k).type)) if known[k] is None and is_number_value(x) else None
        for k, x in enumerate(values)
    ]


def is_number_value(x):
    return x is not None and is_number(x)


def _is_shared(port):
    return port.form != "variadic" or port.same_types


def _own(op, k, kind):
    allowed = element_names(op.input(k).types)
    for name in _OWN[kind]:
        if name in allowed:
            return name
    return allowed[0] if len(allowed) == 1 else None


def _fitting(op, k, x, dtype):
    """The dtype of the others, where x fits it."""
    dtype = dtype or _own(op, k, kind_of(x))
    port = op.input(k)
    if dtype is None:
        raise CallerError(f"{op.name}: input '{port.name}' is {x!r:.60}; expected {' or '.join(port.types[:6])}")
    if not fits(x, dtype):
        raise CallerError(
            f"{op.name}: input '{port.name}' is {x!r:.60}, which does not fit {dtype}, the dtype of the others; "
            f"give it as an array of a dtype, or cast the others"
        )
    return dtype


def array_of(x, dtype: str, what: str) -> np.ndarray:
    """Numbers as an array of a dtype. CallerError where one is out of range."""
    try:
        array = np.asarray(x, dtype=arrays.numpy_dtype(dtype))
    except (OverflowError, ValueError, TypeError) as error:
        raise CallerError(f"{what} is {x!r:.60}, which does not fit {dtype}: {error}") from None
    return array
