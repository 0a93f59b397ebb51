"""Checks of values that options and arguments take. Each returns the value, or raises TypeError or ValueError."""

import enum
import operator
import os
from typing import Any


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
    return None if value is None else path_text(value)


def seconds(value):
    if value is None:
        return None
    if isinstance(value, (bool, str)):
        raise TypeError
    value = float(value)
    if not value >= 0:
        raise ValueError
    return value


def path_text(path: str | bytes | os.PathLike[Any]) -> str:
    """A path as text; ValueError if no file can have this name."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise ValueError("it holds a NUL character")
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
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    return value


def file_name(value):
    return path_text(value) if value else ""
