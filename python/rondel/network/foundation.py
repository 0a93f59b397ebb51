"""Shapes, permutations, weights and dtypes of networks, and attributes of these kinds."""

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Any, NewType

import numpy as np

from .. import _rondel, arrays
from ..counts import whole
from ..errors import CallerError
from ..ort_value import array_at
from .arguments import Attribute, Axes, Number, WrongArgument, converter, describe, whole_numbers

DataType = _rondel.network.DataType
_NAMES = {t: _rondel.network.dtype_name(t) for t in DataType}
_OF_NAME = {name: t for t, name in _NAMES.items()}
_BITS = {"i4": 4, "u4": 4, "f4e2m1": 4, "i2": 2, "u2": 2}


class Choice(IntEnum):
    """Base of enumerations whose members are ints and are printed by name."""

    __str__ = Enum.__str__
    __repr__ = Enum.__str__


class NoOpContextManager:
    """Allows `with`, as code for TensorRT uses it. Nothing is freed at the end of the block."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Dims(tuple):
    """The extents of a tensor, outermost first, as a tuple. -1: not known until the network runs. (): a scalar."""

    __slots__ = ()
    MAX_DIMS = 8

    def __new__(cls, shape: Any = ()) -> "Dims":
        try:
            return super().__new__(cls, whole_numbers(shape))
        except WrongArgument as wrong:
            raise CallerError(f"{cls.__name__} of {describe(shape)}; expected {wrong}") from None

    def __repr__(self):
        return tuple.__repr__(self)


class Dims2(Dims):
    """Dims2(a, b), or Dims2(sequence of two)."""

    __slots__ = ()
    count = 2

    def __new__(cls, *extents: Any) -> "Dims2":
        made = super().__new__(cls, extents[0] if len(extents) == 1 else extents)
        if len(made) != cls.count:
            raise CallerError(f"{cls.__name__} has {cls.count} extents, not {len(made)}")
        return made


class DimsHW(Dims2):
    """Height and width."""

    __slots__ = ()

    @property
    def h(self) -> int:
        """Height."""
        return self[0]

    @property
    def w(self) -> int:
        """Width."""
        return self[1]


class Dims3(Dims2):
    """Dims3(a, b, c), or Dims3(sequence of three)."""

    __slots__ = ()
    count = 3


class Dims4(Dims2):
    """Dims4(a, b, c, d), or Dims4(sequence of four)."""

    __slots__ = ()
    count = 4


class Permutation(Dims):
    """The order of axes: axis k of the result is axis p[k] of the input. Axes beyond its length keep their places."""

    __slots__ = ()


@converter(Dims)
def as_dims(x):
    extents = Dims(whole_numbers(x))
    if len(extents) > Dims.MAX_DIMS:
        raise WrongArgument(f"at most {Dims.MAX_DIMS} numbers")
    return extents


Extents = NewType("Extents", Dims)
"""The extents of an input; -1: not known until the network runs."""


@converter(Extents)
def as_extents(x):
    return as_dims(whole_numbers(x, "a whole number, or -1: known only when the network runs"))


@converter(Permutation)
def as_permutation(x):
    order = Permutation(whole_numbers(x))
    if len(order) > Dims.MAX_DIMS or sorted(order) != list(range(len(order))):
        raise WrongArgument(f"an order of axes, in which each number below their count is once, such as (1, 0), not {tuple(order)}")
    return order


class Weights:
    """Elements of a constant or of a layer: a copy of an array, so later changes of the array have no effect.

    Weights(array) takes every dtype. Python numbers become INT64, FLOAT or BOOL. Weights(DataType.FLOAT) is empty.
    Weights(type, ptr, count) copies `count` elements from an address, as in TensorRT: those of 4 and 2 bits are packed, low bits first.
    """

    __slots__ = ("_array", "_dtype")

    def __init__(self, a: Any = DataType.FLOAT, ptr: int | None = None, count: int | None = None) -> None:
        if ptr is not None:
            a = _from_address(a, ptr, count)
        if isinstance(a, DataType):
            self._array, self._dtype = np.empty(0, nptype(a)), a
            return
        try:
            array = np.array(a, order="C")
            if array.dtype == np.float64 and not hasattr(a, "dtype"):
                array = array.astype(np.float32)
            name = arrays.dtype_name(array.dtype)
        except (CallerError, ValueError) as error:
            raise CallerError(f"Weights of {describe(a)}: {error}") from None
        self._array, self._dtype = array, _OF_NAME[name]

    @property
    def dtype(self) -> DataType:
        return self._dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def numpy(self) -> np.ndarray:
        """The elements, in the shape of the given array."""
        return self._array

    def __len__(self) -> int:
        return self.size

    def engine(self):
        """The arguments for the engine: the type, the elements (2- and 4-bit elements packed, low bits first), their number."""
        if not self.size:
            return self._dtype, _rondel.nothing(), 0
        bits = _BITS.get(_NAMES[self._dtype])
        elements = self._array if bits is None else _packed(self._array, bits)
        return self._dtype, arrays.to_value(elements, "weights", "tensor"), self.size


def _packed(array, bits):
    each = 8 // bits
    fields = np.zeros(-(-array.size // each) * each, np.uint8)
    fields[: array.size] = array.reshape(-1).view(np.uint8) & (2**bits - 1)
    shifts = np.arange(each, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(fields.reshape(-1, each) << shifts, axis=1)


def _unpacked(packed, name, count):
    """The first elements of bytes as `_packed` makes them."""
    bits = _BITS[name]
    fields = (packed[:, np.newaxis] >> np.arange(0, 8, bits, dtype=np.uint8)).reshape(-1)[:count] << (8 - bits)
    if name.startswith("f"):
        return (fields >> (8 - bits)).view(arrays.numpy_dtype(name))
    return (fields.view(np.int8 if name.startswith("i") else np.uint8) >> (8 - bits)).astype(arrays.numpy_dtype(name))


def _from_address(dtype, ptr, count):
    number = whole(count)
    if not isinstance(dtype, DataType) or number is None or number < 0:
        raise CallerError("Weights(type, ptr, count) takes a DataType, an address and a number of elements")
    name = _NAMES[dtype]
    if name in _BITS:
        return _unpacked(array_at(ptr, np.uint8, [-(-number * _BITS[name] // 8)]), name, number)
    return array_at(ptr, nptype(dtype), [number])


@converter(Weights)
def as_weights(x):
    """Weights from Weights, an array, a number, or a (nested) list of numbers."""
    if isinstance(x, Weights):
        return x
    if isinstance(x, (np.ndarray, np.generic, int, float, str, list, tuple)) and not isinstance(x, Enum):
        return Weights(x)
    raise WrongArgument("Weights or an array")


# The arguments of `Attribute` for each kind of attribute; python/bindings/network_class.h names the kinds.
KINDS = {
    "bool": {"kind": bool},
    "int": {"kind": int},
    "float": {"kind": float},
    "number": {"kind": Number},
    "str": {"kind": str},
    "axes": {"kind": Axes},
    "dims": {"kind": Dims, "read": Dims},
    "extents": {"kind": Extents, "read": Dims},
    "permutation": {"kind": Permutation, "read": Permutation},
    "weights": {"kind": Weights, "read": lambda value: arrays.from_value(value, "weights"), "write": Weights.engine},
}


def add_attributes(cls, engine_class):
    """Gives a class the attributes that the class of the engine lists, with their documentation."""
    for name, kind, settable, doc in engine_class.attributes:
        attribute = Attribute(doc=doc, settable=settable, **(KINDS[kind] if isinstance(kind, str) else {"kind": kind}))
        attribute.__set_name__(cls, name)
        setattr(cls, name, attribute)


def nptype(dtype: DataType) -> type[Any]:
    """The NumPy type of a DataType; types that NumPy lacks come from ml_dtypes."""
    if not isinstance(dtype, DataType):
        raise CallerError(f"nptype of {describe(dtype)}; expected a DataType, such as DataType.FLOAT")
    return arrays.numpy_dtype(_NAMES[dtype]).type


def _itemsize(dtype: DataType) -> float | None:
    """Bytes of an element: a fraction for types of less than a byte, None for strings."""
    if dtype == DataType.STRING:
        return None
    bits = _BITS.get(_NAMES[dtype])
    return np.dtype(nptype(dtype)).itemsize if bits is None else bits / 8


DataType.itemsize = property(_itemsize, doc=_itemsize.__doc__)


def volume(shape: Iterable[int]) -> int:
    """The number of elements; -1 if an extent is -1."""
    extents = Dims(shape)
    return -1 if -1 in extents else int(np.prod(extents, dtype=object)) if extents else 1
