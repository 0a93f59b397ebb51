"""Python numbers as inputs: they have no dtype, and take that of the arrays beside them."""

import numpy as np

from .. import arrays
from ..errors import CallerError
from .traced import Traced

#: The dtypes that Python's numbers have by themselves, as in NumPy, and what they become where an input does not take those.
_OWN = {"f": ["f64", "f32", "f16"], "i": ["i64", "i32", "f64", "f32"], "b": ["bool"]}
_KINDS = {float: "f", int: "i", bool: "b"}
_KIND = {"f64": "f", "f32": "f", "f16": "f", "bf16": "f", "bool": "b"}


def is_number(x) -> bool:
    """Whether x is a Python number, or a list or tuple of them, also a nested one."""
    if isinstance(x, (list, tuple)):
        return not isinstance(x, arrays.EmptySequence) and all(map(is_number, x))
    return type(x) in (int, float, bool)


def kind_of(x) -> str:
    """'b', 'i' or 'f': what holds the number, or all numbers of the list."""
    if not isinstance(x, (list, tuple)):
        return _KINDS[type(x)]
    kinds = set(map(kind_of, x))
    return "f" if "f" in kinds else "b" if kinds == {"b"} else "i"


def own_dtype(x) -> str:
    """The dtype of a number by itself."""
    return _OWN[kind_of(x)][0]


def fits(x, dtype: str) -> bool:
    """Whether a number may take a dtype: no float becomes an integer, and none but True and False a bool."""
    given, wanted = kind_of(x), _KIND.get(dtype, "i")
    empty = isinstance(x, (list, tuple)) and not np.size(x)
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


def is_number_for(port, x) -> bool:
    """Whether x is a number that an input takes as a tensor; lists for one that only takes sequences are sequences."""
    return x is not None and is_number(x) and any(t.startswith("tensor(") for t in port.types)


def dtypes_of_numbers(op, values: list) -> list:
    """The dtype of each input that is a number, else None. values: of the inputs in order, None where one is left out. Inputs of
    one type in the schema have one dtype; where there is no array of that type, a number takes that of an array beside it.
    """
    ports = [op.input(k) for k in range(len(values))]
    number = [is_number_for(port, x) for port, x in zip(ports, values)]
    known = [None if x is None or n else dtype_of(x) for n, x in zip(number, values)]
    if not any(number):
        return [None] * len(values)
    shared = {}
    for port, dtype in zip(ports, known):
        if dtype is not None and _is_shared(port):
            shared.setdefault(port.type, dtype)
    for k, port in enumerate(ports):
        if number[k] and _is_shared(port) and port.type not in shared:
            alike = [x for x, n, other in zip(values, number, ports) if n and other.type == port.type]
            shared[port.type] = _beside(port, alike, known) or _own(op, k, min(map(kind_of, alike), key="fib".index))
    return [_fitting(op, k, x, shared.get(ports[k].type)) if number[k] else None for k, x in enumerate(values)]


def _beside(port, alike, known):
    """The dtype of the first array that a port takes, if all numbers of its type fit it."""
    dtype = next((d for d in known if d is not None), None)
    return dtype if dtype in element_names(port.types) and all(fits(x, dtype) for x in alike) else None


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
        with np.errstate(over="raise"):
            return np.asarray(x, dtype=arrays.numpy_dtype(dtype))
    except (OverflowError, ValueError, TypeError, FloatingPointError) as error:
        raise CallerError(f"{what} is {x!r:.60}, which does not fit {dtype}: {error}") from None
