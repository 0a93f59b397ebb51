"""Objects of modeci_mdf in the structure of a file."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ..errors import CallerError


def is_object(x: Any) -> bool:
    """Whether x is an object of modeci_mdf, as far as its class tells."""
    return bool(_fields(x))


def document(x: Any) -> dict[str, Any]:
    """A Model or a Graph of modeci_mdf as the content of a file."""
    if hasattr(x, "graphs"):
        return {x.id: _plain(x)}
    if hasattr(x, "nodes"):
        return {"graphs": {x.id: _plain(x)}}
    raise CallerError(f"the model is a {type(x).__name__}; expected a Model or a Graph of modeci_mdf, a text, a dict or a path")


def _plain(x: Any) -> Any:
    """Lists of objects with ids become dicts by id. modeci_mdf's own to_dict fails for conditions that were read from a file."""
    if _fields(x):
        items = {name: getattr(x, name) for name in _fields(x) if name not in ("id", "metadata", "notes")}
        return {name: _plain(value) for name, value in items.items() if value is not None}
    if isinstance(x, enum.Enum):
        return f"{type(x).__name__}.{x.name}"
    if isinstance(x, dict):
        return {str(key): _reference(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        if x and all(_fields(item) and hasattr(item, "id") for item in x):
            _require_unique(x)
            return {item.id: _plain(item) for item in x}
        return [_reference(item) for item in x]
    return x


def _require_unique(items: Sequence[Any]) -> None:
    seen = set()
    for item in items:
        if item.id in seen:
            raise CallerError(f"there are two objects {type(item).__name__} '{item.id}'; expected an id of its own for each")
        seen.add(item.id)


def _reference(x: Any) -> Any:
    """The id of an object that has one, since arguments refer to objects by id; else the object as `_plain` converts it."""
    return x.id if _fields(x) and hasattr(x, "id") else _plain(x)


def _fields(x: Any) -> list[str]:
    return [field.name for field in getattr(type(x), "__attrs_attrs__", ())]
