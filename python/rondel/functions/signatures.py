"""Signatures and documentation of functions, made from ONNX's schemas."""

import inspect
import textwrap
from collections.abc import Callable, Sequence

import numpy as np

_ATTRIBUTE_TYPES = {
    "INT": int, "FLOAT": float, "STRING": str, "INTS": Sequence[int], "FLOATS": Sequence[float], "STRINGS": Sequence[str],
    "TENSOR": np.ndarray, "TYPE_PROTO": str, "GRAPH": Callable | object,
}  # fmt: skip
_MOST_TYPES = 6


def signature(op) -> inspect.Signature:
    """add(A: ArrayLike, B: ArrayLike) -> ndarray; attributes are given by name."""
    kinds = inspect.Parameter
    parameters = []
    for port in op.inputs:
        if port.form == "variadic":
            parameters.append(kinds(port.name, kinds.VAR_POSITIONAL, annotation="ArrayLike"))
            continue
        optional = port.form == "optional"
        # An optional input has a default, unless *inputs follow: then no parameter before them has one.
        parameters.append(
            kinds(
                port.name,
                kinds.POSITIONAL_OR_KEYWORD,
                default=None if optional and not op.variadic else kinds.empty,
                annotation="ArrayLike | None" if optional else "ArrayLike",
            )
        )
    for a in op.attributes.values():
        default = kinds.empty if a.required or a.type == "GRAPH" else a.default
        if isinstance(default, tuple) or isinstance(default, np.ndarray):
            default = None
        if isinstance(default, float):
            default = float(str(np.float32(default)))  # the shortest text of the schema's 32-bit float
        annotation = _ATTRIBUTE_TYPES.get(a.type, object)
        if default is None:
            annotation = annotation | None
        parameters.append(kinds(a.name, kinds.KEYWORD_ONLY, default=default, annotation=annotation))
    if any(a.type == "GRAPH" for a in op.attributes.values()):
        parameters.append(kinds("opset", kinds.KEYWORD_ONLY, default=None, annotation=int | None))
    elif any(p.form != "single" for p in op.outputs):
        parameters.append(kinds("outputs", kinds.KEYWORD_ONLY, default=None, annotation=int | None))
    one = len(op.outputs) == 1 and op.outputs[0].form == "single"
    returns = np.ndarray if one else np.ndarray | tuple[np.ndarray, ...]
    return inspect.Signature(parameters, return_annotation=returns)


def documentation(op) -> str:
    """The text of the schema, then inputs, attributes and results."""
    parts = [textwrap.dedent(op.doc).strip(), f"ONNX's {op.name}, in the version of opset {op.since_version}."]
    if op.inputs:
        parts.append("Inputs\n" + "\n".join(map(_port, op.inputs)))
    if any(a.type == "GRAPH" for a in op.attributes.values()):
        parts.append("A body is a Python function, a GraphProto, a ModelProto, or a graph of Rondel; opset is that of a GraphProto.")
    if op.attributes:
        parts.append("Attributes\n" + "\n".join(map(_attribute, op.attributes.values())))
    parts.append("Results\n" + "\n".join(map(_port, op.outputs)))
    return "\n\n".join(parts)


def _port(port):
    form = "" if port.form == "single" else f", {port.form}"
    types = ", ".join(port.types[:_MOST_TYPES]) + (", ..." if len(port.types) > _MOST_TYPES else "")
    return _item(f"{port.name} ({types}{form})", port.doc)


def _attribute(a):
    default = "required" if a.required else "" if a.default is None else f"default {a.default!r}"
    return _item(f"{a.name} ({', '.join(filter(None, [a.type, default]))})", a.doc)


def _item(head, text):
    return f"    {head}: " + " ".join(text.split())
