"""Writes python/rondel/network/__init__.pyi: rondel.network for editors and type checkers.

    .venv/bin/python tools/network_stubs.py --write

The attributes of layers are made when the module is imported, so that tools which only read sources cannot see them; and the
annotations of methods say what an argument is converted to, while a stub says what it accepts.
"""

import argparse
import enum
import inspect
import types
import typing
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rondel import network
from rondel.missing_names import Ignored
from rondel.network import arguments, foundation

PATH = Path(__file__).parents[1] / "python/rondel/network/__init__.pyi"
HEAD = """\
# Written by tools/network_stubs.py.
import builtins
import os
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from ..exporting import ExportReport
from ..options import SessionOptions
from ..session import InferenceSession

_Extents = Sequence[int] | npt.NDArray[Any] | int
_Weights = Weights | npt.ArrayLike
"""

#: What arguments of these annotations accept, and what attributes of these kinds give.
ACCEPTS = {foundation.Dims: "_Extents", foundation.Extents: "_Extents", foundation.Permutation: "_Extents", foundation.Weights: "_Weights",
           arguments.Axes: "int", arguments.Flags: "int", arguments.Number: "float", Path: "str | os.PathLike[str]"}  # fmt: skip
GIVES = {foundation.Extents: "Dims", foundation.Weights: "npt.NDArray[Any]", arguments.Axes: "int", arguments.Flags: "int",
         arguments.Number: "float"}  # fmt: skip
PLAIN = {bool: "builtins.bool", type(None): "None", typing.Any: "Any", inspect.Parameter.empty: "Any", object: "object", typing.NoReturn: "None",
         np.ndarray: "npt.NDArray[Any]"}  # fmt: skip
SPECIAL = {"__init__", "__new__", "__len__", "__getitem__", "__bool__", "__enter__", "__exit__"}


def text_of(annotation, table):
    """An annotation as it is written in a stub."""
    if annotation in table:
        return table[annotation]
    if annotation in PLAIN:
        return PLAIN[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(text_of(a, table) for a in inner)
    if origin is not None:
        name = "Sequence" if origin is Sequence else origin.__name__
        return f"{name}[{', '.join(text_of(a, table) for a in inner)}]"
    return getattr(annotation, "__qualname__", str(annotation))


def default_text(default):
    if default is inspect.Parameter.empty:
        return ""
    return f" = {default!r}" if isinstance(default, (int, float, str, type(None), tuple)) and not isinstance(default, enum.Enum) else " = ..."


def parameters_text(function, hints):
    """The parameters as text, with the markers of keyword-only ones."""
    found, starred = [], False
    for p in inspect.signature(function).parameters.values():
        if p.name in ("self", "cls"):
            found.append(p.name)
            continue
        annotation = text_of(hints.get(p.name, p.annotation), ACCEPTS)
        if p.kind is p.VAR_POSITIONAL:
            found.append(f"*{p.name}: {annotation}")
            starred = True
        elif p.kind is p.VAR_KEYWORD:
            found.append(f"**{p.name}: {annotation}")
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                found.append("*")
                starred = True
            found.append(f"{p.name}: {annotation}{default_text(p.default)}")
    return ", ".join(found)


def function_lines(name, function):
    hints = typing.get_type_hints(function)
    returned = text_of(hints.get("return", type(None) if name == "__init__" else typing.Any), GIVES)
    if name in ("__new__", "__enter__"):
        returned = "Self"
    if name == "__exit__":
        returned = "None"
    return [f"def {name}({parameters_text(function, hints)}) -> {returned}: ..."]


def attribute_lines(name, attribute):
    """A property made by `Attribute`: what it gives, and what it takes."""
    doc = [] if not attribute.__doc__ else [f"    {attribute.__doc__!r}"]
    lines = ["@property", f"def {name}(self) -> {text_of(attribute.kind, GIVES)}:" + ("" if doc else " ..."), *doc]
    if attribute.fset is not None:
        lines += [f"@{name}.setter", f"def {name}(self, value: {text_of(attribute.kind, ACCEPTS)}) -> None: ..."]
    return lines


def member_lines(name, member, owner):
    if isinstance(member, arguments.Attribute):
        return attribute_lines(name, member)
    if isinstance(member, property):
        hints = typing.get_type_hints(member.fget)
        return ["@property", f"def {name}(self) -> {text_of(hints.get('return', typing.Any), GIVES)}: ..."]
    if isinstance(member, staticmethod):  # __new__
        member = member.__func__
    if isinstance(member, types.FunctionType):
        return function_lines(name, member)
    if isinstance(member, Ignored):
        return [f"{name}: Any"]
    if isinstance(member, type) and issubclass(member, enum.Enum):
        return enum_lines(member)
    if isinstance(member, enum.Enum):
        return [f"{name}: ClassVar[{type(member).__qualname__}]"]
    if isinstance(member, (bool, int, float, str)):
        return [f"{name}: {text_of(type(member), {})}"]
    return []


def enum_lines(kind):
    lines = [f"class {kind.__name__}(IntEnum):"]
    lines += [f"    {name} = {int(member)}" for name, member in kind.__members__.items()]
    for name, member in vars(kind).items():
        if isinstance(member, property) and not name.startswith("_"):
            lines += ["    " + line for line in member_lines(name, member, kind)]
    return lines


def class_lines(kind, public):
    """The class: bases that are public, and the members of itself and of its bases that are not."""
    inner = [c for c in kind.__mro__ if c is kind or (c.__module__.startswith("rondel") and c not in public)]
    above = {c for base in kind.__mro__[1:] if base in public for c in base.__mro__}
    bases = [c.__name__ for c in kind.__bases__ if c in public] or (["tuple[int, ...]"] if issubclass(kind, tuple) else [])
    members = {}
    for c in reversed([c for c in inner if c not in above]):
        members.update(vars(c))
        for name, annotation in inspect.get_annotations(c, eval_str=True).items():
            if not name.startswith("_"):
                members[name] = annotation
    lines = []
    for name, member in members.items():
        if name.startswith("_") and name not in SPECIAL:
            continue
        is_annotation = name in {n for c in inner for n in inspect.get_annotations(c)}
        lines += [f"{name}: {text_of(member, GIVES)}"] if is_annotation else member_lines(name, member, kind)
    if "__setattr__" in vars(kind):  # any attribute may be set
        lines += ["def __getattr__(self, name: str) -> Any: ...", "def __setattr__(self, name: str, value: Any) -> None: ..."]
    return [f"class {kind.__name__}{f'({chr(44).join(bases)})' if bases else ''}:", *("    " + line for line in lines or ["..."])]


def text() -> str:
    names = [n for n in network.__all__ if n != "NoSuchLayer"]
    public = {getattr(network, n) for n in names if isinstance(getattr(network, n), type)}
    lines, written = [], {}
    for name in names:
        x = getattr(network, name)
        if x in written:
            lines += ["", f"{name} = {written[x]}"]
        elif isinstance(x, type):
            lines += ["", *(enum_lines(x) if issubclass(x, enum.Enum) else class_lines(x, public))]
        else:
            lines += ["", *function_lines(name, x)]
        written[x] = name
    short = [n for n, x in vars(network).items() if isinstance(x, network.DataType) and not n.startswith("_")]
    lines += ["", "__version__: str", *(f"{n}: DataType" for n in short), f"__all__ = {names!r}"]
    return HEAD + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the file; otherwise its text is printed")
    if parser.parse_args().write:
        PATH.write_text(text())
    else:
        print(text(), end="")


if __name__ == "__main__":
    main()
