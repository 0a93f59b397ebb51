"""Converts arguments to what the engine takes. A wrong argument is a CallerError that names the method and the argument.

The annotations of a method alone determine the types of its arguments. `checked` reads the annotations and converts each
argument with the converter of its type (`CONVERTERS`). `Attribute` does the same for a property.
"""

import functools
import inspect
import operator
import types
import typing
from collections.abc import Sequence
from enum import Enum, IntEnum
from pathlib import Path

import numpy as np

from ..errors import CallerError
from ..option_checks import is_unicode, path_text


def describe(x) -> str:
    """What an argument is, for a message: 'the int 3', 'a list', 'the class float32', 'None'."""
    if x is None:
        return "None"
    if isinstance(x, Enum):
        return repr(x)
    if isinstance(x, type):
        return f"the class {x.__name__}"
    kind = type(x).__name__
    if isinstance(x, (bool, int, float, str)) and len(repr(x)) < 40:
        return f"the {kind} {x!r}"
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


class WrongArgument(Exception):
    """An argument cannot be converted. The text says what was expected; the caller, who knows the name of the argument,
    makes the message.

    at, x: set when only a part of the argument is wrong: its position, such as "[2]", and its value.
    """

    def __init__(self, expected, at="", x=None):
        super().__init__(expected)
        self.at, self.x = at, x


def convert_each(items, convert_one) -> list:
    """The items converted; an error names the position of the wrong item."""
    made = []
    for k, item in enumerate(items):
        try:
            made.append(convert_one(item))
        except WrongArgument as wrong:
            raise WrongArgument(str(wrong), f"[{k}]{wrong.at}", wrong.x if wrong.at else item) from None
    return made


def as_bool(x) -> bool:
    if isinstance(x, (bool, np.bool_)) or (isinstance(x, int) and not isinstance(x, Enum) and x in (0, 1)):
        return bool(x)
    raise WrongArgument("True or False")


def whole_number(x, least=-(2**63), most=2**63 - 1) -> int:
    """An int, one of NumPy's, or an array of one."""
    if isinstance(x, (bool, np.bool_, Enum)):
        raise WrongArgument("a whole number")
    if isinstance(x, np.ndarray) and x.size == 1:
        x = x.item()
    try:
        number = operator.index(x)
    except TypeError:
        raise WrongArgument("a whole number") from None
    if not least <= number <= most:
        raise WrongArgument(f"a whole number from {least} to {most}")
    return number


def as_int(x) -> int:
    """A 32-bit int: the index of an axis or an input, or a count."""
    return whole_number(x, -(2**31), 2**31 - 1)


def as_axes(x) -> int:
    try:
        return whole_number(x, 0, 2**32 - 1)
    except WrongArgument:
        is_axis_list = isinstance(x, (tuple, list)) and 0 < len(x) < 9 and all(type(axis) is int and axis >= 0 for axis in x)
        example = " | ".join(f"1 << {axis}" for axis in x) if is_axis_list else "1 << k for axis k alone"
        raise WrongArgument(f"a mask, in which bit k stands for axis k: {example}") from None


def as_flags(x) -> int:
    return whole_number(int(x) if isinstance(x, IntEnum) else x, 0, 2**32 - 1)


def as_number(x):
    """A whole number as int, any other as float."""
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return whole_number(x)
    return as_float(x)


def as_float(x) -> float:
    if isinstance(x, (bool, np.bool_, str, bytes, Enum)):
        raise WrongArgument("a number")
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        raise WrongArgument("a number") from None


def as_str(x) -> str:
    if not isinstance(x, str) or "\0" in x:
        raise WrongArgument("a str (without NUL)")
    if not is_unicode(x):
        raise WrongArgument("a str of whole characters (a surrogate stands alone in it)")
    return x


def as_path(x) -> Path:
    try:
        return Path(path_text(x))
    except (TypeError, ValueError):
        raise WrongArgument("a path") from None


def whole_numbers(x, expected="a whole number") -> tuple:
    """A tuple of ints from a tuple, list, array, other sequence, or one number. expected: for errors, what an item should be."""

    def number(item):
        try:
            return whole_number(item)
        except WrongArgument:
            raise WrongArgument(expected) from None

    if isinstance(x, np.ndarray):
        x = x.reshape(-1).tolist()
    if isinstance(x, (str, bytes)):
        raise WrongArgument("a sequence of whole numbers")
    try:
        items = tuple(x)
    except TypeError:
        try:
            return (whole_number(x),)
        except WrongArgument:
            raise WrongArgument("a sequence of whole numbers") from None
    return tuple(convert_each(items, number))


Axes = typing.NewType("Axes", int)
"""Bit k set: axis k."""
Flags = typing.NewType("Flags", int)
"""Bits of flags. A single member of an enumeration stands for its number, as in TensorRT."""
Number = typing.NewType("Number", float)
"""An int, or a float."""

CONVERTERS = {bool: as_bool, int: as_int, Axes: as_axes, Flags: as_flags, Number: as_number, float: as_float, str: as_str,
              Path: as_path, tuple: whole_numbers}  # fmt: skip


def converter(annotation):
    """A decorator: registers the function as the converter for arguments with this annotation."""

    def register(function):
        CONVERTERS[annotation] = function
        return function

    return register


def convert(x, annotation):
    """The argument converted to the type of the annotation; raises WrongArgument."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        options = typing.get_args(annotation)
        if x is None and type(None) in options:
            return None
        return convert(x, next(o for o in options if o is not type(None)))
    if origin is Sequence:
        (kind,) = typing.get_args(annotation)
        if isinstance(x, (str, bytes)) or not hasattr(x, "__iter__"):
            raise WrongArgument(f"a list of {kind.__name__}")
        return convert_each(x, lambda item: convert(item, kind))
    if annotation in CONVERTERS:
        return CONVERTERS[annotation](x)
    if annotation in (object, typing.Any, inspect.Parameter.empty) or isinstance(x, annotation):
        return x
    raise WrongArgument(expected(annotation))


def expected(kind) -> str:
    text = f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    return f"{text}, such as {kind.__name__}.{next(iter(kind)).name}" if issubclass(kind, Enum) else text


def refuse(where: str, name: str, x, wrong: WrongArgument):
    raise CallerError(f"{where}: {name}{wrong.at} is {describe(wrong.x if wrong.at else x)}; expected {wrong}") from None


def checked(method):
    """The method with its arguments converted by their annotations; every misuse is a CallerError naming the argument."""
    signature = inspect.signature(method)
    hints = None

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        nonlocal hints
        where = f"{label_of(self)}.{method.__name__}"
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise CallerError(f"{where}: {error}; its arguments are {parameter_list(signature)}") from None
        hints = hints or typing.get_type_hints(method)
        for name, x in bound.arguments.items():
            if name in hints:
                try:
                    bound.arguments[name] = convert(x, hints[name])
                except WrongArgument as wrong:
                    refuse(where, name, x, wrong)
                except CallerError as error:
                    raise CallerError(f"{where}: {name}: {error}") from None
                require_same_network(self, bound.arguments[name], f"{where}: {name}")
        return method(*bound.args, **bound.kwargs)

    return call


def require_same_network(owner, argument, what):
    """Raises when the argument is, or contains, a tensor of another network than the owner's."""
    if isinstance(argument, list):
        for k, item in enumerate(argument):
            require_same_network(owner, item, f"{what}[{k}]")
    elif getattr(argument, "_network", None) is not getattr(owner, "_network", None) and hasattr(argument, "_label"):
        raise CallerError(f"{what} is {argument._label()} of another network")


def parameter_list(signature) -> str:
    """The parameters of a method, without `self`."""
    return str(signature.replace(parameters=list(signature.parameters.values())[1:], return_annotation=inspect.Signature.empty))


def label_of(x) -> str:
    """How errors name an object: a layer or loop by its name, any other object by its class."""
    return x._label() if hasattr(x, "_label") else type(x).__name__


class Attribute(property):
    """A property of the engine's object. A value is converted when it is set.

    kind: an annotation. read: converts the engine's value to the user's; write: the user's to the engine's.
    """

    def __init__(self, *, kind, doc, read=None, write=None, settable=True):
        self.kind, self.read, self.write = kind, read, write
        super().__init__(self.get, self.set if settable else None)
        self.__doc__ = doc  # Python 3.11 loses the doc that a class derived from property is given

    def __set_name__(self, owner, name):
        self.name = name

    def get(self, owner):
        value = getattr(owner._raw, self.name)
        return value if self.read is None or value is None else self.read(value)

    def set(self, owner, value):
        try:
            value = convert(value, self.kind)
        except WrongArgument as wrong:
            refuse(label_of(owner), self.name, value, wrong)
        setattr(owner._raw, self.name, value if self.write is None else self.write(value))
