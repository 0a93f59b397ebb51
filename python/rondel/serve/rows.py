"""Whether the rows of a model influence each other: the proof that requests may be joined along the first axis.

Each value of the model gets one of these facts:

    SHARED      does not depend on the rows, nor on how many there are
    Rows(k)     holds the rows along its axis k; a row depends on the same row of the inputs alone
    Extents     a small vector of extents, of which some are the number of rows

A rule for each op derives the facts of outputs from those of inputs. An op without a rule, or one that mixes rows, ends the
proof with its reason: such a model is batched only if its user declares it. The README's square root is one: its loop goes on until the
last row has converged, and so each row takes as many trips as the slowest.

The meaning of ops is ONNX's, from opset 9 on. Shapes are those of row_shapes.py.
"""

from __future__ import annotations

import os
from typing import Any

import onnx
import onnx.inliner

from .row_facts import Mixed, Rows, Scope
from .row_rules import walk
from .row_shapes import with_shapes


def why_rows_mix(model: Any) -> str | None:
    """None if the rows of the first axis do not influence each other; else the reason why that is not known.

    model: a path or serialized bytes.
    """
    try:
        _prove(_prepared(model))
    except Mixed as reason:
        return str(reason)
    except Exception as error:  # onnx has many kinds of errors; without a proof, nothing is joined
        return f"onnx cannot read its shapes: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return None


def _prepared(model: Any) -> onnx.ModelProto:
    read = onnx.load(os.fspath(model), load_external_data=False) if isinstance(model, (str, os.PathLike)) else onnx.load_from_string(model)
    if read.functions:
        read = onnx.inliner.inline_local_functions(read)
    return with_shapes(read)


def _prove(model: onnx.ModelProto) -> None:
    graph = model.graph
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
    if opset < 9:
        raise Mixed(f"its opset is {opset}; expected 9 or more")
    constant = {i.name for i in graph.initializer} | {i.values.name for i in graph.sparse_initializer}
    inputs = [i for i in graph.input if i.name not in constant]
    _check_batch_symbol(inputs)
    scope = Scope(graph, opset, {i.name: Rows(0) for i in inputs})
    walk(scope)
    for o in graph.output:
        if scope.fact(o.name) != Rows(0):
            raise Mixed(f"output '{o.name}' does not have the rows along its first axis")


def _check_batch_symbol(inputs: list[Any]) -> None:
    """The first extents of all inputs must be one symbol, which is no other extent."""
    if not inputs:
        raise Mixed("it has no inputs")
    names = []
    for i in inputs:
        dims = i.type.tensor_type.shape.dim if i.type.WhichOneof("value") == "tensor_type" else ()
        if not dims or not dims[0].dim_param:
            raise Mixed(f"the first axis of input '{i.name}' is not symbolic")
        if any(d.dim_param == dims[0].dim_param for d in dims[1:]):
            raise Mixed(f"input '{i.name}' has the extent '{dims[0].dim_param}' twice")
        names.append(dims[0].dim_param)
    for i, name in zip(inputs, names):
        if name != names[0]:
            raise Mixed(f"the first axes of the inputs '{inputs[0].name}' and '{i.name}' are '{names[0]}' and '{name}'; expected one symbol")
