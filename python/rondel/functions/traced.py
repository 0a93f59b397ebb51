"""The values that a traced function works with, and Python's operators on them."""

import numpy as np

from .. import arrays
from ..errors import CallerError
from ..metadata import extent_of
from .table import function as _function


def _binary(name, swapped=False):
    def method(self, other):
        if not _is_operand(other):
            return NotImplemented
        return _function(name)(other, self) if swapped else _function(name)(self, other)

    return method


def _unary(name):
    return lambda self: _function(name)(self)


def _is_operand(x):
    return isinstance(x, (Traced, int, float, np.ndarray, np.generic)) or hasattr(x, "__dlpack__")


def _is_float(x):
    element = x.element if isinstance(x, Traced) else "f" if isinstance(x, float) else np.asarray(x).dtype.kind
    return element[0] in "fbV" and element not in ("bool", "b")


def true_divide(x, y):
    """x / y of floats. Integers are refused: ONNX's Div truncates the quotient, Python's / does not."""
    if not (_is_float(x) or _is_float(y)):
        raise CallerError("'/' of integers; use // for whole quotients, or cast one of them to a float")
    return _function("div")(x, y)


def floor_divide(x, y):
    """x // y, rounded down as in Python; of floats, the whole number that is nearest to (x - x % y) / y, as in NumPy."""
    if not (_is_float(x) or _is_float(y)):
        down = _function("and_")(not_equal(_function("mod")(x, y), 0), _signs_differ(x, y))
        return _function("sub")(_function("div")(x, y), _as_number(down, x, y))
    rest = _function("mod")(x, y, fmod=1)
    quotient = _function("div")(_function("sub")(x, rest), y)
    down = _function("and_")(not_equal(rest, 0), _signs_differ(rest, y))
    rounded = _function("round")(_function("sub")(quotient, _as_number(down, x, y)))
    return _function("where")(_compared("equal", y, 0), _function("div")(x, y), rounded)


def remainder(x, y):
    """x % y, with the sign of y as in Python."""
    if not (_is_float(x) or _is_float(y)):
        return _function("mod")(x, y)
    rest = _function("mod")(x, y, fmod=1)  # has the sign of x
    other = _function("and_")(not_equal(rest, 0), _signs_differ(rest, y))
    return _function("where")(other, _function("add")(rest, y), rest)


def _signs_differ(x, y):
    return _function("xor")(_compared("less", x, 0), _compared("less", y, 0))


def _compared(name, x, y):
    """less or equal, by NumPy where x is not traced."""
    return _function(name)(x, y) if isinstance(x, Traced) else getattr(np, name)(x, y)


def _as_number(condition, x, y):
    """A condition as 0 and 1 of the dtype of those of x and y that are traced."""
    return _function("cast")(condition, to=(x if isinstance(x, Traced) else y).dtype)


def _composed(function, swapped=False):
    def method(self, other):
        if not _is_operand(other):
            return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return method


def _logical(on_bools, on_bits):
    def apply(x, y):
        either = x if isinstance(x, Traced) else y
        return _function(on_bools if either.element == "bool" else on_bits)(x, y)

    return apply


_and, _or, _xor = _logical("and_", "bitwise_and"), _logical("or_", "bitwise_or"), _logical("xor", "bitwise_xor")


def power(x, y):
    """x ** y. Integers to the power of floats or of negative constants are refused: ONNX's Pow truncates the result, Python's ** does not."""
    if _is_float(y) and not _is_float(x) and not isinstance(x, int):
        raise CallerError("'**' of integers and floats; cast the integers to a float")
    if not (_is_float(x) or _is_float(y) or isinstance(y, Traced)) and np.less(y, 0).any():
        raise CallerError("'**' of integers and negative integers; cast the integers to a float")
    return _function("pow")(x, y)


def not_equal(x, y):
    return _function("not_")(_function("equal")(x, y))


class Traced:
    """A value of a graph that is being written. It has a dtype and perhaps a shape, but no elements before the graph runs. It
    supports Python's operators, indexing, and all functions of this package.
    """

    __slots__ = ("level", "name", "type", "extents")
    __hash__ = object.__hash__

    def __init__(self, level, name, type_text, extents):
        self.level, self.name, self.type, self.extents = level, name, type_text, extents

    @property
    def element(self) -> str:
        """Rondel's name of the dtype, "f32"; for a sequence, the dtype of its items."""
        return arrays.element_name(self.type)

    @property
    def dtype(self) -> np.dtype:
        return arrays.numpy_dtype(self.element)

    @property
    def shape(self):
        """A tuple with None for each unknown extent; None if the rank is unknown."""
        extents = None if self.extents is None else [extent_of(e) for e in self.extents]
        return None if extents is None else tuple(e if isinstance(e, int) else None for e in extents)

    @property
    def ndim(self):
        """The rank; None if it is unknown."""
        return None if self.extents is None else len(self.extents)

    @property
    def T(self):
        return _function("transpose")(self)

    def astype(self, dtype):
        return _function("cast")(self, to=dtype)

    def reshape(self, *shape):
        extents = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else list(shape)
        if None in extents:
            raise CallerError(
                f"reshape of '{self.name}' to {extents}: an extent that is not known before the graph runs is None; "
                "expected -1 in its place (once), or an extent computed from shape(x)"
            )
        return _function("reshape")(self, extents)

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __matmul__, __rmatmul__ = _binary("mat_mul"), _binary("mat_mul", True)
    __pow__, __rpow__ = _composed(power), _composed(power, True)
    __truediv__, __rtruediv__ = _composed(true_divide), _composed(true_divide, True)
    __floordiv__, __rfloordiv__ = _composed(floor_divide), _composed(floor_divide, True)
    __mod__, __rmod__ = _composed(remainder), _composed(remainder, True)
    __and__, __rand__ = _composed(_and), _composed(_and, True)
    __or__, __ror__ = _composed(_or), _composed(_or, True)
    __xor__, __rxor__ = _composed(_xor), _composed(_xor, True)
    __lt__, __le__ = _binary("less"), _binary("less_or_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_or_equal")
    __eq__, __ne__ = _binary("equal"), _composed(not_equal)
    __neg__, __abs__ = _unary("neg"), _unary("abs")

    def __pos__(self):
        return self

    def __invert__(self):
        return _function("not_" if self.element == "bool" else "bitwise_not")(self)

    def __getitem__(self, index):
        return _function("[]")(self, index)

    def __bool__(self):
        raise CallerError(
            f"whether the traced value '{self.name}' is true is not known before the graph runs; "
            "use if_(condition, then_branch=..., else_branch=...), where(condition, x, y), or & and | for 'and' and 'or'"
        )

    def _no_number(self, *_, **__):
        raise CallerError(
            f"the traced value '{self.name}' has no elements before the graph runs; use the functions of rondel.functions.onnx "
            "on it, not those of NumPy or Python (an element of an array: gather(array, i))"
        )

    __float__ = __int__ = __index__ = __complex__ = __array__ = __len__ = __iter__ = _no_number

    def __setitem__(self, index, value):
        raise CallerError(f"the traced value '{self.name}' cannot be changed; where, scatter_nd and scatter_elements give new values")

    def __getattr__(self, name):
        near = _OF_METHODS.get(name)
        hint = f"use {near} of rondel.functions.onnx" if near else "the functions of rondel.functions.onnx work on it"
        raise AttributeError(f"a traced value has no '{name}'; {hint}", name=name, obj=self)

    def __deepcopy__(self, _):
        return self

    def __array_function__(self, function, types, args, kwargs):
        """numpy.where calls this package's `where`; other functions that are no ufuncs are errors."""
        if function is np.where and len(args) == 3 and not kwargs:
            return _function("where")(*args)
        near = _OF_METHODS.get(function.__name__)
        hint = f"use {near}" if near else "use the functions"
        raise CallerError(f"numpy.{function.__name__} does not work on traced values; {hint} of rondel.functions.onnx")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """NumPy's element-wise functions call this package's functions."""
        name = _OF_UFUNC.get(ufunc.__name__)
        if method != "__call__" or kwargs or name is None:
            raise CallerError(f"numpy.{ufunc.__name__} does not work on traced values; use the functions of rondel.functions.onnx")
        return name(*inputs) if callable(name) else _function(name)(*inputs)

    def __repr__(self):
        extents = "" if self.extents is None else "[" + ",".join(e or "?" for e in self.extents) + "]"
        return f"<traced {self.name}: {self.element if self.type.startswith('tensor') else self.type}{extents}>"


#: The functions of this package that replace methods and functions of NumPy.
_OF_METHODS = {
    "sum": "reduce_sum", "mean": "reduce_mean", "max": "reduce_max", "min": "reduce_min", "amax": "reduce_max", "amin": "reduce_min",
    "prod": "reduce_prod", "argmax": "arg_max", "argmin": "arg_min", "clip": "clip", "cumsum": "cum_sum", "dot": "mat_mul",
    "flatten": "reshape", "ravel": "reshape", "item": "squeeze", "size": "size", "squeeze": "squeeze", "transpose": "transpose",
    "swapaxes": "transpose", "concatenate": "concat", "stack": "concat", "take": "gather", "repeat": "tile", "tile": "tile",
    "einsum": "einsum", "expand_dims": "unsqueeze", "nonzero": "non_zero", "pad": "pad", "sort": "top_k",
    "argsort": "top_k", "split": "split", "round": "round",
}  # fmt: skip
_OF_UFUNC = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": true_divide, "true_divide": true_divide,
    "floor_divide": floor_divide, "remainder": remainder, "power": power, "matmul": "mat_mul", "negative": "neg",
    "absolute": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "floor": "floor", "ceil": "ceil",
    "rint": "round", "sign": "sign", "reciprocal": "reciprocal", "maximum": "max", "minimum": "min", "less": "less",
    "less_equal": "less_or_equal", "greater": "greater", "greater_equal": "greater_or_equal", "equal": "equal",
    "not_equal": not_equal, "logical_and": "and_", "logical_or": "or_", "logical_xor": "xor", "logical_not": "not_",
    "bitwise_and": _and, "bitwise_or": _or, "bitwise_xor": _xor, "isnan": "is_nan", "isinf": "is_inf",
}  # fmt: skip
