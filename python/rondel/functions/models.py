"""Python functions of arrays as models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _rondel
from ..errors import CallerError
from ..models import issue_warnings
from ..options import SessionOptions
from ..session import InferenceSession
from . import bodies, calling, numbers, tracing
from .traced import Traced
from .traces import described


def trace(function: Callable[..., Any], *examples: Any) -> InferenceSession:
    """Makes a model from a function of arrays; `rondel.export` saves the model.

    The function is called with traced values, like the body of a loop, and returns traced values, arrays or numbers. examples:
    an array, a number or a list of arrays for each of its parameters. Only the dtype and the rank of an example matter; extents
    may differ from run to run. The model's inputs have the names of the parameters, its outputs are output0, output1, ... Arrays
    that the function reads become weights of the model, with the values that they have now.
    """
    if not callable(function):
        raise CallerError(f"trace: the function is {function!r:.60}; expected a function, then an example for each of its parameters")
    level = tracing.Level(getattr(function, "__name__", "function").strip("<>"), _rondel.newest_opset(), weights=True)
    inputs = [_input(level, name, x) for name, x in zip(_names(function, len(examples)), examples)]
    results = bodies.call(level, function, inputs, "the traced function")
    for k, x in enumerate(results):
        traced = x if isinstance(x, Traced) else level.of_array(np.asarray(x) if numbers.is_number(x) else x)
        level.writer.node("Identity", f"output{k}", [level.name_of(traced)], [f"output{k}"], [])
        level.writer.output(f"output{k}")
    options = SessionOptions()
    made, warnings = _rondel.session_of_writer(level.writer, options)
    issue_warnings(warnings, stacklevel=3)
    return InferenceSession.of(made, options)


def _input(level, name, example):
    what = f"the example for '{name}'"
    value = np.asarray(example) if numbers.is_number(example) else example
    _, type_text, rank = described(value if isinstance(value, list) else calling.usual(value, what), what)
    return level.input(name, type_text, calling.unknown_extents(rank), exactly=True)


def _names(function, count) -> list:
    """The names of the parameters that `count` positional arguments are bound to."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"input{k}" for k in range(count)]
    try:
        bound = signature.bind(*range(count))
    except TypeError as error:
        raise CallerError(f"trace: {count} examples are given for {function.__name__}{signature}: {error}") from None
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    names = []
    for name, value in bound.arguments.items():
        several = kinds[name] is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}{k}" for k in range(len(value))] if several else [name]
    return names
