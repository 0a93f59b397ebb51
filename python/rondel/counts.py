"""Arguments that count something."""

from __future__ import annotations

from typing import Any

from .errors import CallerError


def checked_count(what: str, value: Any) -> int:
    """`value` as an int of 1 or more; CallerError that begins with `what` if it is none."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 1:
        raise CallerError(f"{what} is {value!r}; expected an integer of 1 or more")
    return value.__index__()
