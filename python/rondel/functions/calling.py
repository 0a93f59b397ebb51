"""Calls of operators with arrays: a session is prepared once for each signature; bindings/calls.cpp does the rest."""

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError, UnsupportedError
from . import attributes, numbers, tracing
from .operators import Operator
from .sessions import session_of
from .traces import described


class Caller:
    """The implementation of an operator's function: `call(args, kwargs)`."""

    #: The attributes that hold graphs, and the inputs whose Python numbers become constants of the compiled graph.
    graphs = constants = ()

    def __init__(self, op: Operator):
        self.op = op
        name = f"{op.name}-{op.opset}"
        reading = _rondel.Arguments(op.input_names, op.variadic, list(self.graphs), list(self.constants))
        self.call = _rondel.Function(name, reading, self, tracing.INNERMOST, arrays.from_value).call

    def traced(self, level, args, kwargs):
        """A call while a body is traced: adds a node."""
        results = level.call(self.op, args, kwargs)
        return results[0] if len(results) == 1 else tuple(results)

    def prepare(self, args, kwargs):
        """The Prepared for a signature of arrays, numbers and plain attributes; None for calls that `otherwise` executes."""
        op = self.op
        if op.name == "Constant":
            return None
        bound = op.bind(args, kwargs)
        count = op.output_count(bound)
        if count is None:
            return None
        if any(attributes.canonical(op, k, v) is not v for k, v in bound.attributes.items() if isinstance(v, np.ndarray)):
            return None
        values = [a.value if a else None for a in bound.inputs]
        chosen = numbers.dtypes_of_numbers(op, values)
        if any(isinstance(x, (list, tuple)) and dtype is None for x, dtype in zip(values, chosen)):
            return None
        plan = plan_of(op, bound.inputs, values, chosen, len(args) + len(kwargs))
        if plan is None:
            return None
        level = tracing.Level(op.python_name.rstrip("_"), op.opset)
        inputs = [
            None if x is None else level.input(op.input(k).name, *type_of(x, chosen[k])) for k, x in enumerate(values)
        ]
        results = level.add(op, inputs, attributes.written(op, bound.attributes), count)
        for x in results:
            level.writer.output(x.name)
        return _rondel.Prepared(session_of(level.writer), plan, sum(x is not None for x in inputs))

    def otherwise(self, args, kwargs):
        """A call with arguments that must first be converted, or whose number of results depends on values."""
        tracing.refuse_traced(self.op, args, kwargs)
        plain = self._plain(args, kwargs)
        if plain is not None:
            return self.call(*plain)
        return self._once(args, kwargs)

    def _plain(self, args, kwargs):
        """The arguments with plain Python attributes and with row-major, aligned arrays in native byte order; None if nothing had to
        be converted."""
        op = self.op
        changed = False

        def form(name, x):
            nonlocal changed
            y = x
            if name in op.attributes:
                y = None if x is None else attributes.canonical(op, name, x)
                changed = changed or (y is not x and not isinstance(x, (int, float, str, list, tuple, np.ndarray)))
            elif isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__dlpack__"):
                y = usual(x, f"{op.name}: input '{name}'")
                changed = changed or y is not x
            return y

        free = [n for n in op.attributes if n not in kwargs]
        names = [op.input(k).name if op.variadic or k < len(op.inputs) else None for k in range(len(args))]
        names = [n or (free[k - len(op.inputs)] if k - len(op.inputs) < len(free) else "") for k, n in enumerate(names)]
        plain = tuple(form(n, x) for n, x in zip(names, args)), {n: form(n, x) for n, x in kwargs.items()}
        return plain if changed else None

    def _once(self, args, kwargs):
        op = self.op
        bound = op.bind(args, kwargs)
        if op.name == "Constant" and not bound.attributes:
            raise CallerError("Constant: a value is missing; expected value=..., value_float=..., ...")
        values = as_arrays(op, [a.value if a else None for a in bound.inputs])
        level = tracing.Level(op.python_name.rstrip("_"), op.opset)
        fed, inputs = [], []
        for k, x in enumerate(values):
            name = op.input(k).name
            value, *kind = (None,) if x is None else described(x, f"{op.name}: input '{name}'")
            inputs.append(None if x is None else level.input(name, kind[0], unknown_extents(kind[1])))
            fed += [] if x is None else [value]
        count = op.output_count(bound) or _extent_of_split(op, values)
        results = level.add(op, inputs, attributes.written(op, bound.attributes), count)
        for x in results:
            level.writer.output(x.name)
        return _rondel.run_in_order(session_of(level.writer), fed, arrays.from_value)


#: The dtypes that bindings/calls.cpp can make from Python numbers.
_MADE_OF_NUMBERS = {"f64", "f32", "bool", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"}


def plan_of(op, arguments: list, values: list, chosen: list, count: int):
    """[(input of the session, dtype of a number)] for each of the `count` arguments of a call. The values of the operator's inputs
    that are not None are fed in order. None if one of them is not an argument by itself."""
    plan = [(-1, "")] * count
    fed = 0
    for k, x in enumerate(values):
        if x is None:
            continue
        if arguments[k].number < 0 or not (chosen[k] is None or chosen[k] in _MADE_OF_NUMBERS):
            return None
        plan[arguments[k].number] = (fed, chosen[k] or "")
        fed += 1
    return plan


def type_of(x, number: str | None):
    """(type, extents) of an input for an array, a list of arrays, or numbers. number: the dtype that numbers get."""
    if number is None and isinstance(x, (list, tuple)):
        return described(x if isinstance(x, list) else list(x), "a list")[1], None
    dtype = number or arrays.dtype_name(x.dtype)
    rank = np.ndim(x) if number else x.ndim
    return f"tensor({arrays.onnx_name(dtype)})", unknown_extents(rank)


def unknown_extents(rank: int | None):
    return None if rank is None else [""] * rank


def as_arrays(op, values: list) -> list:
    """The values as arrays. Lists of arrays, or of texts for an input that takes sequences, and None are unchanged."""
    chosen = numbers.dtypes_of_numbers(op, values)
    made = []
    for k, x in enumerate(values):
        what = f"{op.name}: input '{op.input(k).name}'"
        if chosen[k] is not None:
            x = numbers.array_of(x, chosen[k], what)
        elif isinstance(x, (list, tuple)):
            x = np.array(x, object) if _is_tensor_of_texts(op.input(k), x) else list(x) if isinstance(x, tuple) else x
        elif x is not None:
            x = arrays.as_array(x, what, "a tensor")
        made.append(x)
    return made


def _is_tensor_of_texts(port, x) -> bool:
    """Whether x is a list of texts for an input that takes no sequences."""
    return bool(x) and all(isinstance(item, (str, bytes)) for item in x) and not any("seq(" in kind for kind in port.types)


def usual(x, what: str) -> np.ndarray:
    """x as a row-major, aligned array in native byte order."""
    array = np.asarray(arrays.as_array(x, what, "a tensor"))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements="CA")


def _extent_of_split(op, values):
    if op.name == "Split" and len(values) > 1 and values[1] is not None:
        return int(np.size(values[1]))
    raise CallerError(f"{op.name}: the number of its results is not known; give outputs=")


def refused(op: Operator):
    """The error for a call of an operator that Rondel does not have."""
    if op.deprecated:
        return UnsupportedError(f"ONNX has taken {op.name} out of its operators, and Rondel does not run it")
    return UnsupportedError(f"Rondel does not have the ONNX operator {op.name} yet; docs/ops.md lists those that it has")
