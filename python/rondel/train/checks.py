"""Checks of arguments; each error says what was expected."""

import fnmatch
import math

from ..counts import checked_count
from ..errors import CallerError
from ..naming import closest, listed
from ..option_checks import TRUE_OR_FALSE, checked


def number(what, value, *, least=0.0, below=math.inf, above=None):
    """`value` as a float in [least, below), or greater than `above`."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        checked = float(value)
    except (TypeError, ValueError, OverflowError):
        checked = math.nan
    if not (above < checked if above is not None else least <= checked) or not checked < below:
        bound = f"above {above:g}" if above is not None else f"{least:g} or more"
        raise CallerError(f"train: {what} is {value!r}; expected a number {bound}" + (f", below {below:g}" if below < math.inf else ""))
    return checked


def count(what, value):
    """`value` as an int of 1 or more."""
    return checked_count(f"train: {what}", value)


def flag(what, value):
    """`value` as a bool: True or False, NumPy's too."""
    return checked(f"train: {what}", value, TRUE_OR_FALSE)


def choice(what, value, known):
    if value not in known:
        raise CallerError(f"train: {what} is {value!r}; expected {' or '.join(repr(k) for k in known)}")
    return value


def chosen(what, patterns, known):
    """The names of `known`, in its order, that match one of the patterns: a name, or a pattern with * and ?. Each pattern must match a name."""
    try:
        given = [patterns] if isinstance(patterns, str) else list(patterns)
    except TypeError:
        raise CallerError(f"train: {what} is {patterns!r}; expected names") from None
    found = set()
    for pattern in given:
        if not isinstance(pattern, str):
            raise CallerError(f"train: {what} holds {pattern!r}; expected names")
        matches = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        if not matches:
            raise CallerError(f"train: {what} names {pattern!r}, which no float initializer matches{closest(pattern, known)}; there are {listed(known)}")
        found.update(matches)
    return [name for name in known if name in found]
