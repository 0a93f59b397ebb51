"""Names: how errors list them and guess what was meant, and fresh ones in the graph of an ONNX model."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import Any


def listed(names: Iterable[str]) -> str:
    """Names as errors list them, at most twelve."""
    names = [repr(n) for n in names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "") or "none"


def closest(name: str, known: Collection[str]) -> str:
    """What an error adds about the known name that is most like a wrong one; nothing if none is like it."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs in the attributes of a node: bodies and branches."""
    for attribute in node.attribute:
        yield from ([attribute.g] if attribute.HasField("g") else [])
        yield from attribute.graphs


def all_nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, each before those inside of it."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from all_nodes(inner)


class Names:
    """The names of a graph's values at any depth, which new values must not have."""

    def __init__(self, graph: Any) -> None:
        self._taken = {name for node in all_nodes(graph) for name in (*node.input, *node.output)}
        self._taken.update(v.name for v in (*graph.input, *graph.output, *graph.initializer))

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def add(self, name: str) -> None:
        self._taken.add(name)

    def fresh(self, wanted: str) -> str:
        """`wanted`, or `wanted` with a number if it is taken. The name is taken from now on."""
        name, k = wanted, 0
        while name in self._taken:
            k += 1
            name = f"{wanted}_{k}"
        self._taken.add(name)
        return name
