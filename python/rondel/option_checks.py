"""Checks of values that options and arguments take. Each returns the value, or raises TypeError or ValueError.

A rule is a pair of a text, what is expected, and a check.
"""

import enum
import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .counts import argument_text
from .errors import CallerError


def checked(name: str, value: Any, rule: tuple[str, Callable[[Any], Any]]) -> Any:
    """The value of an argument, checked by a rule. Raises CallerError, which begins with the name, for a wrong one."""
    expected, check = rule
    try:
        return check(value)
    except (TypeError, ValueError, OverflowError):
        raise CallerError(f"{name} is {argument_text(value)}; expected {expected}") from None


def is_unicode(value: object) -> bool:
    """Whether the value is a str that UTF-8 can hold: without halves of surrogate pairs."""
    return isinstance(value, str) and value == value.encode("utf-8", "replace").decode()


def integer(least, most):
    def check(value):
        if isinstance(value, bool):
            raise TypeError
        value = operator.index(value)
        if not least <= value <= most:
            raise ValueError
        return value

    return f"an integer of {least} or more, below 2**{most.bit_length()}", check


def boolean(value):
    if type(value).__name__ not in ("bool", "bool_"):  # bool_: NumPy's
        raise TypeError
    return bool(value)


def boolean_or_number(value):
    """As `boolean`, also for 0 and 1, which options of onnxruntime take."""
    return boolean(bool(value) if type(value) is int and value in (0, 1) else value)


def one_of(*texts):
    def check(value):
        if not isinstance(value, str) or value not in texts:
            raise ValueError
        return value

    return " or ".join(repr(t) for t in texts), check


def level(value):
    """A level of optimisation, as a number or as a member of onnxruntime's enum."""
    if isinstance(value, (bool, str, float)):
        raise TypeError
    value = int(value)
    if value not in (0, 1, 2, 3, 99):
        raise ValueError
    return value


def folder(value):
    if value is None:
        return None
    path = path_text(value)
    if not is_unicode(path):  # the engine keeps it as text
        raise ValueError
    return path


def seconds(value):
    if value is None:
        return None
    if isinstance(value, (bool, str)):
        raise TypeError
    value = float(value)
    if not value >= 0:
        raise ValueError
    return value


def number(value):
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)):
        raise TypeError
    return float(value)


def path_text(path: str | bytes | os.PathLike[Any]) -> str:
    """A path as text; ValueError if no file can have this name."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    os.fsencode(text)  # UnicodeEncodeError for half of a surrogate pair
    return text


def member_of(kind: type[enum.IntEnum]):
    """A member of an enumeration, or of onnxruntime's enumeration of the same name."""

    def check(value):
        if isinstance(value, (bool, str, float)):
            raise TypeError
        return kind(int(value))

    return f"a member of {kind.__name__}: " + ", ".join(kind.__members__), check


def whole_number(least, most):
    """As `integer`, for numbers that may be negative."""
    return f"a whole number from {least} to {most}", integer(least, most)[1]


def text(value):
    if not is_unicode(value) or "\0" in value:
        raise TypeError
    return value


def file_name(value):
    return path_text(value) if value else ""


TRUE_OR_FALSE = "True or False", boolean
NUMBER = "a number", number
PATH = "a path", path_text
