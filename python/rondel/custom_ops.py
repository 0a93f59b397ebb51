"""Ops of the user's own, written as functions of NumPy arrays.

A registered op is found by its domain and name in every ONNX model that is read afterwards, also inside loops and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from . import _rondel, arrays
from .errors import CallerError
from .models import kind_of
from .option_checks import TRUE_OR_FALSE, checked

Extent = Union[int, str, None]
"""One extent of a shape: a number, a name that equal extents share, or None if it is not known."""


class TensorType(NamedTuple):
    """The type of a tensor as far as it is known. shape: None if the rank is not known."""

    dtype: np.dtype[Any]
    shape: tuple[Extent, ...] | None = None


Function = Callable[..., Any]
"""Called with an array for each input (None: left out) and the attributes as keyword arguments; gives an array, or a tuple of them."""

TypeFunction = Callable[..., Any]
"""Called with a TensorType for each input (None: left out) and the attributes; gives a TensorType, (dtype, shape) or a dtype for the
output, or a list of them."""


def register_op(
    domain: str,
    name: str,
    function: Function | Any,
    *,
    types: TypeFunction | Literal["run"] | None = None,
    gradient: Function | None = None,
    pure: bool = False,
    replace: bool = False,
) -> None:
    """Makes a function the meaning of the op `name` of `domain`, in all models that are read from now on.

    function: called with an array for each input of the node (None for one that is left out) and with the attributes of the node as
    keyword arguments: int, float, str (bytes if it is not UTF-8), lists of these, arrays. Gives an array, or a tuple with one for each
    output; more than the node names are dropped. The arrays that it is given are read-only, and hold their values during the call only.
    Or an ONNX function, as an onnx.FunctionProto, ONNX text, or what onnxscript makes: the op is then compiled, differentiated and
    exported as its nodes are.

    types: a function of the inputs' TensorTypes and the attributes that gives the types of the outputs: a TensorType, (dtype, shape) or
    a dtype, or a list of them. It is called while a model is compiled, with shapes that may be unknown in part, and again for each new
    shape that is run. "run": dtypes and ranks are those that `function` gives for arrays of zeros, while a model is compiled. None:
    outputs have the dtypes and shapes that the model declares, else the dtype of the first input and any shape.

    gradient: called with three tuples, the inputs, the outputs and the adjoints of the outputs, and with the attributes; gives a tuple
    with the adjoint of each input, an array of its dtype and shape, or None for zeros. rondel.grad and training then work.

    pure: whether equal inputs give equal outputs and a call has no effect. Only then the function is called while a model is compiled
    (for constant inputs), or once for several equal calls.

    replace: whether an op that is registered already, or one of com.microsoft that Rondel has, is replaced. Sessions keep what they had
    when they were made.

    Raises CallerError if the op is registered already, is one of ONNX's own, or one of Rondel's; if `function` is neither a function nor an ONNX
    function. An exception of `function` ends the run with a CallerError that names the node, the op and the types, and has the
    exception as its `__cause__`. Several threads may call it at once, each with the GIL.
    """
    _require_names(domain, name)
    body = b"" if callable(function) and not hasattr(function, "to_function_proto") else _onnx_function(function)
    if types is not None and types != "run" and not callable(types):
        raise CallerError(f"types is a {kind_of(types)}; expected a function of TensorTypes, 'run' or None")
    if gradient is not None and not callable(gradient):
        raise CallerError(f"gradient is a {kind_of(gradient)}; expected a function of the inputs, the outputs and their adjoints")
    _rondel.register_op(
        domain,
        name,
        None if body else _kernel(function),
        None if types is None else _types_by_running(function) if types == "run" else _type_rule(types),
        None if gradient is None else _gradient(gradient),
        body,
        checked("pure", pure, TRUE_OR_FALSE),
        checked("replace", replace, TRUE_OR_FALSE),
    )


def unregister_op(domain: str, name: str) -> None:
    """Removes an op. Sessions keep what they had when they were made. Raises CallerError if there is no such op."""
    _require_names(domain, name)
    if not _rondel.unregister_op(domain, name):
        known = ", ".join(f"{d}.{n}" for d, n in registered_ops()) or "none"
        raise CallerError(f"op '{name}' of domain '{domain}' is not registered; registered are: {known}")


def registered_ops() -> list[tuple[str, str]]:
    """Domain and name of each registered op."""
    return [(domain, name) for domain, name in _rondel.registered_ops()]


def require_ops(needed: Iterable[tuple[str, str]]) -> None:
    """Raises CallerError unless all these ops are registered: a session that was pickled needs them."""
    missing = sorted(set(needed) - set(registered_ops()))
    if missing:
        ops = ", ".join(f"'{name}' of domain '{domain}'" for domain, name in missing)
        raise CallerError(f"the session uses ops that are not registered in this process: {ops}; call rondel.register_op for each before it is unpickled")


def _require_names(domain, name):
    for what, x in (("domain", domain), ("name", name)):
        if not isinstance(x, str):
            raise CallerError(f"{what} is a {kind_of(x)}; expected text")


def _onnx_function(function) -> bytes:
    if hasattr(function, "to_function_proto"):
        function = function.to_function_proto()
    if hasattr(function, "SerializeToString"):
        return function.SerializeToString()
    if isinstance(function, str):
        return function.encode()
    raise CallerError(f"function is a {kind_of(function)}; expected a function of arrays, an onnx.FunctionProto, or its text")


# What the engine calls. It gives inputs as `arrays.from_value` takes them, and takes lists.


def _array(unpacked, what):
    array = arrays.from_value(unpacked, what)
    if array is not None:
        array.flags.writeable = False
    return array


def _inputs(inputs):
    return [_array(x, f"input {k}") for k, x in enumerate(inputs)]


def _attributes(attributes):
    return {name: _array(x, f"attribute '{name}'") if isinstance(x, (tuple, np.ndarray)) else x for name, x in attributes.items()}


def _each_result(results, outputs, what):
    """The result for each output: a tuple has one for each, everything else is the only one."""
    several = isinstance(results, tuple) or (isinstance(results, list) and outputs > 1)
    found = results if several else (results,)
    if len(found) < outputs:
        raise CallerError(f"{what} gave {len(found)} of {outputs} outputs; expected a tuple with an array for each")
    for j, x in enumerate(found[:outputs]):
        if x is None:
            raise CallerError(f"{what} gave None for output {j}; expected an array")
    return found[:outputs]


def _values(results, outputs, what):
    """The results as values of the engine."""
    return [arrays.to_value(x, f"output {j}", "an array") for j, x in enumerate(_each_result(results, outputs, what))]


def _kernel(function):
    def run(inputs, attributes, outputs):
        return _values(function(*_inputs(inputs), **_attributes(attributes)), outputs, "it")

    return run


def _gradient(function):
    def run(inputs, attributes, wanted):
        given = _inputs(inputs)
        outputs = (len(given) - wanted) // 2
        of_op = tuple(given[:wanted])
        results = function(of_op, tuple(given[wanted : wanted + outputs]), tuple(given[wanted + outputs :]), **_attributes(attributes))
        if not isinstance(results, (tuple, list)):
            results = (results,)
        if len(results) != wanted:
            raise CallerError(f"it gave {len(results)} adjoints for {wanted} inputs; expected a tuple with one for each, None for zeros")
        return _values(tuple(_zeros_like(x) if dx is None else dx for x, dx in zip(of_op, results)), wanted, "it")

    return run


def _zeros_like(x):
    """Zeros of an input's type. What is given for an input that is left out, or that is text, is not read."""
    return np.zeros((), np.float32) if x is None or x.dtype == object else np.zeros(x.shape, x.dtype)


def _type_rule(function):
    def rule(inputs, attributes, outputs):
        found = function(*map(_tensor_type, inputs), **_attributes(attributes))
        listed = isinstance(found, list) or (isinstance(found, tuple) and not isinstance(found, TensorType) and not _is_pair(found))
        return [_written(t, j) for j, t in enumerate(found if listed else [found])]

    return rule


def _tensor_type(given):
    if given is None:
        return None
    dtype, shape = given
    return TensorType(arrays.numpy_dtype(dtype), None if shape is None else tuple(shape))


def _is_pair(x):
    """Whether a tuple is (dtype, shape), not a type for each of several outputs."""
    if len(x) != 2 or isinstance(x[0], (tuple, list)) or isinstance(x[1], TensorType):
        return False
    return x[1] is None or (isinstance(x[1], (tuple, list)) and not any(isinstance(e, (type, np.dtype, tuple, list)) for e in x[1]))


def _written(t, j):
    """(name of the dtype, shape) of the type of output j as the user gave it."""
    dtype, shape = t if isinstance(t, tuple) else (t, None)
    try:
        if dtype is None:
            raise TypeError("no dtype")  # to NumPy, None means float64
        name = arrays.dtype_name(np.dtype(dtype))
    except (TypeError, CallerError) as error:
        raise CallerError(f"it gave {t!r} for output {j}; expected a TensorType, (dtype, shape) or a dtype: {error}") from None
    if shape is None:
        return name, None
    for extent in shape:
        if not (extent is None or isinstance(extent, (int, str, np.integer))) or isinstance(extent, bool):
            raise CallerError(f"it gave the extent {extent!r} for output {j}; expected a number, a name or None")
    return name, [int(e) if isinstance(e, np.integer) else e for e in shape]


def _types_by_running(function):
    """Dtypes and ranks that the function gives for zeros, once for the dtypes and ranks of its inputs."""
    known: dict[Any, list[tuple[str, list[None]]]] = {}

    def rule(inputs: Sequence[Any], attributes: dict[str, Any], outputs: int) -> list[tuple[str, list[None]]]:
        for k, t in enumerate(inputs):
            if t is not None and t[1] is None:
                raise CallerError(f"the rank of input {k} is not known, so nothing can be run to find types; give a function as `types`")
        key = (tuple(t and (t[0], len(t[1])) for t in inputs), repr(sorted(attributes.items(), key=lambda item: item[0])), outputs)
        if key not in known:
            results = function(*map(_zeros, inputs), **_attributes(attributes))
            shown: list[npt.NDArray[Any]] = [np.asarray(x) for x in _each_result(results, outputs, "it")]
            known[key] = [(arrays.dtype_name(x.dtype), [None] * x.ndim) for x in shown]
        return known[key]

    return rule


def _zeros(given):
    """Zeros of a partial type; an extent that is not known is 1."""
    if given is None:
        return None
    dtype, shape = given
    extents = [e if isinstance(e, int) else 1 for e in shape]
    return np.full(extents, "", object) if dtype == "str" else np.zeros(extents, arrays.numpy_dtype(dtype))
