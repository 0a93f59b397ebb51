"""Python numbers as inputs: they have no dtype, and take the dtype of the other inputs."""

import numpy as np

from .. import arrays
from ..errors import CallerError
from .traced import Traced

#: The default dtypes of Python numbers, as in NumPy, then alternatives for inputs that do not accept the default, in order.
_OWN = {"f": ["f64", "f32", "f16"], "i": ["i64", "i32", "f64", "f32"], "b": ["bool"]}
_KINDS = {float: "f", int: "i", bool: "b"}


def is_number(x) -> bool:
    """Whether x is a Python number, or a (nested) list or tuple of numbers."""
    if isinstance(x, (list, tuple)):
        return not isinstance(x, arrays.EmptySequence) and all(map(is_number, x))
    return type(x) in (int, float, bool)


def kind_of(x) -> str:
    """'b', 'i' or 'f': the kind of dtype that can hold the number, or all numbers of the list."""
    if not isinstance(x, (list, tuple)):
        return _KINDS[type(x)]
    kinds = set(map(kind_of, x))
    return "f" if "f" in kinds else "b" if kinds == {"b"} else "i"


def own_dtype(x) -> str:
    """The default dtype of a number."""
    return _OWN[kind_of(x)][0]


def fits(x, dtype: str) -> bool:
    """Whether a number may take a dtype: a float does not become an integer, and only True and False become bool."""
    given, wanted = kind_of(x), "b" if dtype == "bool" else "i" if dtype[0] in "iu" else "f"
    empty = isinstance(x, (list, tuple)) and not np.size(x)
    return empty or "bif".index(given) <= "bif".index(wanted)


def element_names(types) -> list:
    """The dtypes of the tensors among the types that an input accepts: ["tensor(float)"] -> ["f32"]"""
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
    """Whether x is a number, or a list of numbers, that an input accepts as a tensor. For an input that accepts only sequences, a list
    is a sequence."""
    return x is not None and is_number(x) and any(t.startswith("tensor(") for t in port.types)


def dtypes_of_numbers(op, values: list) -> list:
    """The dtype of each input that is a number; None for other inputs. values: the inputs in order, None for an input that is left
    out. Inputs with the same type variable in the schema have the same dtype. If no array has this type variable, a number takes the
    dtype of another array.
    """
    ports = [op.input(k) for k in range(len(values))]
    number = [is_number_for(port, x) for port, x in zip(ports, values)]
    known = [None if x is None or n else dtype_of(x) for n, x in zip(number, values)]
    if not any(number):
        return [None] * len(values)
    for port, x, n in zip(ports, values, number):
        if n:
            _require_equal_lengths(op, port, x)
    shared = {}
    for port, dtype in zip(ports, known):
        if dtype is not None and _is_shared(port):
            shared.setdefault(port.type, dtype)
    for k, port in enumerate(ports):
        if number[k] and _is_shared(port) and port.type not in shared:
            alike = [x for x, n, other in zip(values, number, ports) if n and other.type == port.type]
            shared[port.type] = _beside(port, alike, known) or _own(op, k, min(map(kind_of, alike), key="fib".index))
    return [_fitting(op, k, x, shared.get(ports[k].type)) if number[k] else None for k, x in enumerate(values)]


def _require_equal_lengths(op, port, x):
    try:
        np.ndim(x)
    except ValueError:
        raise CallerError(f"{op.name}: input '{port.name}' is {x!r:.60}; expected lists of equal lengths") from None


def _beside(port, alike, known):
    """The dtype of the first array, if the port accepts it and all numbers of the port's type variable fit it; else None."""
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
    """The dtype of x: `dtype`, that of the other inputs, or its default. CallerError if x does not fit."""
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
    """Numbers as an array of a dtype. CallerError if a number is out of range."""
    try:
        return arrays.numbers_as(x, dtype)
    except ValueError as error:
        raise CallerError(f"{what} is {x!r:.60}, which does not fit {dtype}: {error}") from None
