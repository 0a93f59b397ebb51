"""Calls of operators with arrays: what a signature needs is prepared once; bindings/calls.cpp does the rest."""

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError, UnsupportedError
from . import attributes, control, numbers, tracing
from .operators import Operator
from .sessions import session_of


class Caller:
    """What is called where an operator's function is."""

    def __init__(self, op: Operator):
        self.op = op
        name = f"{op.name}-{op.opset}"
        made = _rondel.Function(name, op.input_names, op.variadic, self.prepare, self.otherwise, arrays.from_value)
        self.call = self._control if op.name in control.GRAPHS else made.call

    def _control(self, args, kwargs):
        return control.call(self.op, args, kwargs)

    def prepare(self, args, kwargs):
        """(session, [(its input, dtype of a number)], number of inputs) for a signature of arrays, numbers and plain attributes;
        None for calls that `otherwise` does."""
        op = self.op
        if op.name == "Constant":
            return None
        bound = op.bind(args, kwargs)
        count = op.output_count(bound)
        if count is None or any(a is not None and a.number < 0 for a in bound.inputs):
            return None
        if any(attributes.canonical(op, k, v) is not v for k, v in bound.attributes.items() if isinstance(v, np.ndarray)):
            return None
        values = [a.value if a else None for a in bound.inputs]
        known = [None if x is None or numbers.is_number(x) else tracing.dtype_of(x) for x in values]
        chosen = numbers.dtypes_of_numbers(op, values, known)
        if any(c not in (None, "f64", "f32", "bool") and c[0] not in "iu" or c in ("i4", "u4", "i2", "u2") for c in chosen if c):
            return None
        level = tracing.Level(op.python_name.rstrip("_"), op.opset)
        plan = [(-1, "")] * (len(args) + len(kwargs))
        inputs = []
        for k, argument in enumerate(bound.inputs):
            if argument is None:
                inputs.append(None)
                continue
            dtype = chosen[k] or known[k]
            rank = int(isinstance(argument.value, (list, tuple))) if chosen[k] else argument.value.ndim
            plan[argument.number] = (sum(x is not None for x in inputs), chosen[k] or "")
            inputs.append(level.input(op.input(k).name, f"tensor({tracing.onnx_name(dtype)})", [""] * rank))
        results = level.add(op, inputs, attributes.written(op, bound.attributes), count)
        for x in results:
            level.writer.output(x.name)
        return session_of(level.writer), plan, sum(x is not None for x in inputs)

    def otherwise(self, args, kwargs):
        """A call with traced values; one with arguments in another form, which are brought into the usual one; and one whose
        values decide how many results there are."""
        if any(map(tracing.holds_traced, args)) or any(map(tracing.holds_traced, kwargs.values())):
            return tracing.call(self.op, args, kwargs)
        plain = self._plain(args, kwargs)
        if plain is not None:
            return self.call(*plain)
        return self._once(args, kwargs)

    def _plain(self, args, kwargs):
        """The arguments with arrays that are exact, row by row and aligned, and attributes as Python has them; None where they
        were so already."""
        op = self.op
        changed = False

        def form(name, x):
            nonlocal changed
            y = x
            if name in op.attributes:
                y = None if x is None else attributes.canonical(op, name, x)
                changed = changed or (y is not x and not isinstance(x, (int, float, str, list, tuple, np.ndarray)))
            elif isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__dlpack__"):
                y = _usual(arrays._array(x, f"{op.name}: input '{name}'", "a tensor"))
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
        values = [a.value if a else None for a in bound.inputs]
        known = [None if x is None or numbers.is_number(x) else tracing.dtype_of(x) for x in values]
        chosen = numbers.dtypes_of_numbers(op, values, known)
        level = tracing.Level(op.python_name.rstrip("_"), op.opset)
        inputs = []
        for k, x in enumerate(values):
            what = f"{op.name}: input '{op.input(k).name}'"
            if x is None:
                inputs.append(None)
                continue
            if chosen[k]:
                x = numbers.array_of(x, chosen[k], what)
            elif isinstance(x, tuple):
                x = list(x)
            elif not isinstance(x, list):
                x = arrays._array(x, what, "a tensor")
            inputs.append(level.feed(op.input(k).name, x, what))
        count = op.output_count(bound) or _extent_of_split(op, values)
        results = level.add(op, inputs, attributes.written(op, bound.attributes), count)
        for x in results:
            level.writer.output(x.name)
        return _rondel.run_in_order(session_of(level.writer), level.values, arrays.from_value)


def _usual(array):
    array = np.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements="CA")


def _extent_of_split(op, values):
    if op.name == "Split" and len(values) > 1 and values[1] is not None:
        return int(np.size(values[1]))
    raise CallerError(f"{op.name}: the number of its results is not known; give outputs=")


def refused(op: Operator):
    """Why an operator cannot be called."""
    if op.deprecated:
        return UnsupportedError(f"ONNX has taken {op.name} out of its operators, and Rondel does not run it")
    return UnsupportedError(f"Rondel does not have the ONNX operator {op.name} yet; docs/ops.md lists those that it has")

