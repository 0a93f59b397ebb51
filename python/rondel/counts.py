"""Arguments that are whole numbers, or lists of them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from .errors import CallerError


def whole(value: Any) -> int | None:
    """`value` as an int; None if it is no integer. True and False are none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:  # of arrays, too, all of which have __index__
        return None


def argument_text(value: Any) -> str:
    """How errors show an argument that is no such number: an array by its kind alone."""
    return f"a {type(value).__name__}" if getattr(value, "shape", ()) else f"{value!r:.100}"


def checked_count(what: str, value: Any) -> int:
    """`value` as an int of 1 or more; CallerError that begins with `what` if it is none."""
    count = whole(value)
    if count is None or count < 1:
        raise CallerError(f"{what} is {argument_text(value)}; expected an integer of 1 or more")
    return count


def checked_extents(what: str, shape: Any) -> list[int]:
    """A shape as a list of extents of 0 or more; CallerError that begins with `what` if it is none."""
    extents = list(map(whole, shape)) if isinstance(shape, Iterable) and not isinstance(shape, (str, bytes)) else [None]
    if any(extent is None or extent < 0 for extent in extents):
        raise CallerError(f"{what} is {shape!r:.100}; expected a list of extents, each 0 or more")
    return extents
