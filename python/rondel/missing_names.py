"""Names of other packages that Rondel does not have, and options of theirs that have no meaning here."""

import os
import sys
import warnings

from .errors import UnsupportedError


class NotHereError(UnsupportedError, AttributeError):
    """A name of another package that Rondel does not have; the message says what to use instead. hasattr() gives False."""


def missing(kind: str, table: dict[str, str], name: str) -> AttributeError:
    """The error for a name that `kind` does not have. If the table has the name, the error says what to use instead."""
    if name in table:
        return NotHereError(f"{kind}.{name} is not here: {table[name]}")
    return AttributeError(f"'{kind}' has no attribute '{name}'")


class ExplainsMissingNames:
    """Base of classes that lack names of another package: reading or setting a name in `_missing_names` raises NotHereError."""

    __slots__ = ()
    _missing_names: dict[str, str] = {}

    def __getattr__(self, name):
        raise missing(type(self).__name__, self._missing_names, name)

    def __setattr__(self, name, value):
        if name in self._missing_names:
            raise missing(type(self).__name__, self._missing_names, name)
        super().__setattr__(name, value)


class Ignored:
    """An attribute that can be set and read back, and has no effect.

    The owner stores the values in the dict `_ignored_values`; its method `_note` is called at each assignment.
    why: what to use instead.
    """

    def __init__(self, default, why):
        self.default, self.why = default, why

    def __set_name__(self, kind, name):
        self.name = name

    def __get__(self, owner, kind=None):
        return self if owner is None else owner._ignored_values.get(self.name, self.default)

    def __set__(self, owner, value):
        owner._note(f"{type(owner).__name__}.{self.name} is ignored: {self.why}")
        owner._ignored_values[self.name] = value


_PACKAGE = os.path.dirname(__file__)
_said: set[str] = set()


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns with the line of the caller, outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename).startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def warn_once(text: str) -> None:
    """As `warn`, the first time that the process has something to say with this text."""
    if text not in _said:
        _said.add(text)
        warn(text)
