"""Python functions as graphs: their functions of this package are called with traced values, and write nodes."""

import contextlib
import contextvars
import itertools

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError
from . import attributes, numbers
from .operators import operators
from .traced import Traced

#: Arrays of integers of at most this many elements are constants of the graph, since shapes may follow from them; all other
#: arrays are inputs, so that a graph need not be compiled anew for other numbers.
MOST_CONSTANT = 64

_innermost: contextvars.ContextVar = contextvars.ContextVar("innermost", default=None)


class Level:
    """A graph that is being written: the outermost one of a call, or a body in it."""

    def __init__(self, name: str, opset: int, parent=None, feeds_arrays=True):
        self.writer = _rondel.GraphWriter(name, opset)
        self.opset = opset
        self.parent = parent
        self.root = parent.root if parent else self
        self.ended = False
        self._known = set()
        if parent is None:
            self.feeds_arrays = feeds_arrays
            self.values = []  #: of the inputs, where the call gives them
            self._numbers = itertools.count()
            self._arrays = {}

    def fresh(self, stem: str) -> str:
        """A name that no graph of this call has."""
        return f"{stem}_{next(self.root._numbers)}"

    def input(self, stem: str, type_text: str, shape) -> Traced:
        name = self.fresh(stem)
        self.writer.input(name, type_text, shape)
        self._known.add(name)
        return Traced(self, name, type_text, shape)

    def feed(self, stem: str, x, what: str) -> Traced:
        """An input of the outermost graph that the call feeds with a value. what: how errors name it."""
        value, type_text, rank = described(x, what)
        traced = self.input(stem, type_text, None if rank is None else [""] * rank)
        self.values.append(value)
        return traced

    def constant(self, array: np.ndarray) -> Traced:
        name = self.fresh("constant")
        value, type_text, _ = described(array, "a constant")
        self.writer.constant(name, value)
        self._known.add(name)
        return Traced(self, name, type_text, [str(e) for e in np.shape(array)])

    def of_array(self, x) -> Traced:
        """An array that a traced function reads."""
        array = x if isinstance(x, list) else arrays._array(x, "an array that a body reads", "a tensor")
        small = isinstance(array, np.ndarray) and array.dtype.kind in "iub" and array.size <= MOST_CONSTANT
        root = self.root
        if small or not root.feeds_arrays:
            return self.constant(array)
        found = root._arrays.get(id(x))
        if found is None:
            found = root._arrays[id(x)] = (root.feed("array", array, "an array that a body reads"), x)  # x is kept, so that its id is
        return found[0]

    def name_of(self, traced: Traced) -> str:
        """The name of a value here, which may be one of a graph around this one."""
        if traced.level is not self:
            self._capture(traced)
        return traced.name

    def _capture(self, traced):
        around = []
        level = self
        while level is not None and level is not traced.level:
            around.append(level)
            level = level.parent
        if level is None or traced.level.ended:
            raise CallerError(
                f"the traced value '{traced.name}' belongs to a body that has ended, or to another call; "
                f"a body hands values on by returning them"
            )
        for level in reversed(around):
            if traced.name not in level._known:
                level.writer.capture(traced.name, traced.type, traced.extents)
                level._known.add(traced.name)

    def add(self, op, inputs: list, attribute_values: list, outputs: int) -> list:
        """A node. inputs: traced values, or None. attribute_values: as attributes.written gives them."""
        names = [self.name_of(x) if x is not None else "" for x in inputs]
        label = self.fresh(op.python_name.rstrip("_"))
        results = [label if k == 0 else f"{label}.{k}" for k in range(outputs)]
        ports = self.writer.node(op.name, label, names, results, attribute_values)
        self._known.update(results)
        return [Traced(self, p.name, p.type, p.shape) for p in ports]


@contextlib.contextmanager
def entered(level: Level):
    """While it lasts, functions with traced arguments write nodes of this graph."""
    token = _innermost.set(level)
    try:
        yield level
    finally:
        _innermost.reset(token)
        level.ended = True


def innermost() -> Level | None:
    return _innermost.get()


def described(x, what: str):
    """(value, type, rank) of an array, or of a list of arrays, which is a sequence; the rank of that is None."""
    if isinstance(x, list):
        items = [arrays._array(i, what, "tensors") for i in x]
        names = {arrays.dtype_name(i.dtype) for i in items} or {"f32"}
        if len(names) > 1:
            raise CallerError(f"{what} is a list of arrays of the dtypes {', '.join(sorted(names))}; expected one dtype")
        type_text = f"seq(tensor({onnx_name(names.pop())}))"
        return arrays.to_value(items, what, type_text), type_text, None
    type_text = f"tensor({onnx_name(arrays.dtype_name(x.dtype))})"
    return arrays.to_value(x, what, type_text), type_text, x.ndim


def onnx_name(dtype: str) -> str:
    """ONNX's name of a Rondel dtype: f32 -> float, u8 -> uint8"""
    return _ONNX_OF.get(dtype) or ("uint" if dtype[0] == "u" else "int") + dtype[1:]


_ONNX_OF = {ours: theirs for theirs, ours in arrays._ONNX_NAME.items()}


def holds_traced(x) -> bool:
    return isinstance(x, Traced) or (isinstance(x, (list, tuple)) and any(isinstance(i, Traced) for i in x))


def call(op, args: tuple, kwargs: dict):
    """A function of which an argument is traced: a node. Its results are traced."""
    level = innermost()
    if level is None:
        raise CallerError(f"{op.name}: an argument is traced, and its body has ended; a body hands values on by returning them")
    bound = op.bind(args, kwargs)
    inputs = traced_inputs(level, op, [a.value if a else None for a in bound.inputs])
    count = op.output_count(bound) or _count_by_extent(op, inputs)
    results = level.add(op, inputs, attributes.written(op, bound.attributes), count)
    return results[0] if len(results) == 1 else tuple(results)


def traced_inputs(level: Level, op, values: list) -> list:
    """The inputs of a node: traced values as they are, numbers and arrays as constants or inputs of the outermost graph."""
    known = [None if x is None or numbers.is_number(x) else dtype_of(x) for x in values]
    chosen = numbers.dtypes_of_numbers(op, values, known)
    traced = []
    for k, x in enumerate(values):
        if x is None or isinstance(x, Traced):
            traced.append(x)
        elif chosen[k] is not None:
            traced.append(level.constant(numbers.array_of(x, chosen[k], f"{op.name}: input '{op.input(k).name}'")))
        elif isinstance(x, (list, tuple)) and any(isinstance(i, Traced) for i in x):
            traced.append(_sequence(level, x))
        else:
            traced.append(level.of_array(list(x) if isinstance(x, tuple) else x))
    return traced


def _sequence(level, items):
    op = operators(level.opset)["SequenceConstruct"]
    return level.add(op, traced_inputs(level, op, list(items)), [], 1)[0]


def dtype_of(x) -> str | None:
    """The dtype of a traced value, an array, or the items of a list of arrays."""
    if isinstance(x, Traced):
        return x.element
    if isinstance(x, (list, tuple)):
        return dtype_of(x[0]) if x else None
    if hasattr(x, "dtype") and isinstance(x.dtype, np.dtype):
        return arrays.dtype_name(x.dtype)
    return arrays.dtype_name(arrays._array(x, "an argument", "a tensor").dtype)


def _count_by_extent(op, inputs):
    """Of Split: as many results as its second input has elements, where this is known."""
    if op.name == "Split" and len(inputs) > 1 and inputs[1] is not None and inputs[1].shape and inputs[1].shape[0]:
        return inputs[1].shape[0]
    raise CallerError(f"{op.name}: the number of its results is not known; give outputs=")
