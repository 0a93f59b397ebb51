"""What the proof of rows.py knows of a value, and how it reads a graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper


class Mixed(Exception):
    """The proof ends here, with its reason."""


@dataclasses.dataclass(frozen=True)
class Rows:
    axis: int


@dataclasses.dataclass(frozen=True)
class Extents:
    entries: tuple[int | str, ...]  # BATCH: the number of rows; OTHER: an extent that does not depend on it


SHARED = None
BATCH, OTHER = "rows", "other"
Fact = Rows | Extents | None


class Scope:
    """A graph, the facts of its values, and what is known of their shapes and contents."""

    def __init__(self, graph: Any, opset: int, facts: Mapping[str, Fact], outer: Scope | None = None) -> None:
        self.graph, self.opset, self.outer = graph, opset, outer
        self.facts: dict[str, Fact] = {"": SHARED, **facts}
        self.types = {v.name: v.type for v in [*graph.input, *graph.value_info, *graph.output]}
        self.constants = {i.name: i for i in graph.initializer}
        for i in graph.initializer:
            self.facts[i.name] = SHARED
            self.types.setdefault(i.name, onnx.helper.make_tensor_type_proto(i.data_type, i.dims))
        for i in graph.sparse_initializer:
            self.facts[i.values.name] = SHARED

    # what rules ask for

    def fact(self, name: str) -> Fact:
        if name in self.facts:
            return self.facts[name]
        if self.outer is None:
            raise Mixed(f"there is no value '{name}'")
        return self.outer.fact(name)

    def dims(self, name: str) -> list[int | str]:
        """The extents: a number, a symbol, or "" if unknown."""
        scope: Scope | None = self
        while scope is not None and name not in scope.types:
            scope = scope.outer
        kind = scope.types[name] if scope else None
        if kind is None or kind.WhichOneof("value") != "tensor_type" or not kind.tensor_type.HasField("shape"):
            raise Mixed(f"the rank of '{name}' is not known")
        return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in kind.tensor_type.shape.dim]

    def rank(self, name: str) -> int:
        return len(self.dims(name))

    def numbers(self, name: str) -> list[Any] | None:
        """The content of a small constant; None if it is none."""
        if name in self.constants:
            tensor = self.constants[name]
            if tensor.data_location == onnx.TensorProto.EXTERNAL or int(np.prod(tensor.dims, dtype=np.int64)) > 1024:
                return None
            return onnx.numpy_helper.to_array(tensor).reshape(-1).tolist()
        if name in self.facts or self.outer is None:
            return None
        return self.outer.numbers(name)


class Node:
    """A node as rules see it."""

    def __init__(self, node: Any, scope: Scope) -> None:
        self.proto, self.scope, self.op = node, scope, node.op_type
        self.inputs, self.opset = list(node.input), scope.opset
        self.attributes = {a.name: a for a in node.attribute}
        self.facts = [scope.fact(name) for name in self.inputs]

    def get(self, name: str, default: Any = None) -> Any:
        return onnx.helper.get_attribute_value(self.attributes[name]) if name in self.attributes else default

    def given(self, k: int) -> bool:
        return k < len(self.inputs) and self.inputs[k] != ""

    def rank(self, k: int) -> int:
        return self.scope.rank(self.inputs[k])

    def dims(self, k: int) -> list[int | str]:
        return self.scope.dims(self.inputs[k])

    def rows(self, k: int) -> int:
        """The axis of the rows in an input that must have them."""
        fact = self.facts[k] if k < len(self.facts) else SHARED
        if not isinstance(fact, Rows):
            raise Mixed(f"input {k} has no rows; no rule for that")
        return fact.axis

    def only_shared(self, first: int = 0, *but: int) -> None:
        for k in range(first, len(self.inputs)):
            if k not in but and self.facts[k] is not SHARED:
                raise Mixed(f"its input {k} ('{self.inputs[k]}') depends on the rows")

    def axis(self, rank: int, default: int) -> int:
        axis = self.get("axis", default)
        return axis + rank if axis < 0 else axis

    def numbers(self, k: int, attribute: str) -> list[Any] | None:
        """Numbers from an attribute, as old opsets have them, or from a constant input; None if neither is there."""
        if attribute in self.attributes:
            return list(self.get(attribute))
        return self.scope.numbers(self.inputs[k]) if self.given(k) else None

    def axes(self, k: int, rank: int) -> list[int] | None:
        """Axes from an attribute or from a constant input; None if there are none."""
        found = self.numbers(k, "axes")
        if found is None and self.given(k):
            raise Mixed("its axes are not constant")
        return None if found is None else [int(a) + rank if a < 0 else int(a) for a in found]
