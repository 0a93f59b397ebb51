"""Models as the engine reads them: a path or bytes; and the warnings about them."""

import os
import warnings
from collections.abc import Iterable
from typing import Any

from .errors import CallerError, ModelWarning, UnsupportedError
from .option_checks import path_text

Model = Any
"""A path, bytes, an onnx.ModelProto, an InferenceSession or a network."""


def built(model: Model) -> Model:
    """The session of a network; any other model as it is."""
    return model.build_session() if hasattr(model, "build_session") and not isinstance(model, type) else model


def model_source(model: Model) -> str | bytes:
    """Converts a path, bytes, protobuf object, session or network to what the engine takes: a path or bytes."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    model = built(model)
    if hasattr(model, "_as_onnx") and not isinstance(model, type):
        return model._as_onnx()
    try:
        if isinstance(model, (str, os.PathLike)):
            return path_text(model)
        if hasattr(model, "SerializeToString") and not isinstance(model, type):
            return model.SerializeToString()
    except Exception as error:  # protobuf has exceptions of its own
        raise CallerError(f"the model {model!r:.100} cannot be read: {error}") from error
    makes_session = callable(getattr(model, "session", None)) and not isinstance(model, type)  # rondel.mdf.Model
    hint = "; its method session(...) makes a session" if makes_session else ""
    raise CallerError(f"the model is a {kind_of(model)}; expected a path, bytes, a ModelProto, a session or a network{hint}")


def require_onnx(what: str) -> None:
    """Raises UnsupportedError if the package onnx, which `what` needs, is not installed."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(f"{what} needs the package onnx; try: pip install 'rondel[onnx]'") from error


def kind_of(x: object) -> str:
    """How errors name a wrong argument."""
    return f"class ({x.__name__})" if isinstance(x, type) else type(x).__name__


def issue_warnings(messages: Iterable[str], stacklevel: int) -> None:
    """Issues a ModelWarning for each message. stacklevel: as in warnings.warn."""
    for text in messages:
        warnings.warn(text, ModelWarning, stacklevel=stacklevel)
