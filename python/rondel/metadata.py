"""What a model says of itself: its inputs and outputs, and the metadata of its file."""

from __future__ import annotations

import re
from typing import Any


class NodeArg:
    """An input or output: its name, type ('tensor(float)') and shape (numbers, names, or None).

    As in onnxruntime, a sequence or a map has shape []. An optional has the shape of the tensor it may hold. A tensor of
    unknown rank has shape None. Nothing can be set; `shape` is a new list each time.
    """

    def __init__(self, info: Any) -> None:
        self._name: str = info.name
        self._type: str = info.type
        self._shape = [] if "seq(" in info.type or "map(" in info.type else _shape(info.shape)

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return self._type

    @property
    def shape(self) -> list[int | str | None] | None:
        return None if self._shape is None else list(self._shape)

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


def _shape(extents):
    if extents is None:
        return None
    return [extent_of(e) for e in extents]


def extent_of(text: str) -> int | str | None:
    """An extent that the engine tells as text: a number, a name, or None for "".

    A name in the decimal form of an extent ("3", not "03", and below 2**63) cannot be told from a number, and is taken for one.
    """
    is_number = re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) < 2**63
    return int(text) if is_number else text or None


class ModelMetadata:
    """The metadata of a model's file."""

    graph_name: str
    producer_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]

    def __init__(self, info: Any) -> None:
        for key in self.__annotations__:
            setattr(self, key, getattr(info, key))

    def __repr__(self) -> str:
        return f"ModelMetadata(graph_name={self.graph_name!r}, producer_name={self.producer_name!r}, version={self.version})"
