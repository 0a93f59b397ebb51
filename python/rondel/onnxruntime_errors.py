"""The exceptions of onnxruntime under their names, each derived from the error of ours that it is.

A session raises these, so that `except` clauses written for onnxruntime catch what they caught there.
"""

import os

from .errors import CallerError, Error, UnsupportedError


class Fail(Error):
    """onnxruntime's general failure. Here it is the base of the errors of invalid models, and is not raised itself."""


class InvalidGraph(CallerError, Fail):
    """The model is not valid, or an option does not fit it; the error names the node."""


class InvalidProtobuf(InvalidGraph):
    """The bytes are no model."""


class NoSuchFile(CallerError):
    """There is no file of this name."""


class InvalidArgument(CallerError):
    """An input, a requested output or an option of a run does not fit the model."""


class NotImplemented(UnsupportedError):  # noqa: A001: onnxruntime's name
    """The model has an op or a type that Rondel does not run."""


class NoModel(CallerError):
    """Never raised: a session always has a model."""


class RuntimeException(Error):
    """Never raised: errors of ops are InvalidArgument, which names the node."""


class EngineError(Error):
    """Never raised."""


class EPFail(Error):
    """Never raised: there is only the CPU."""


class ModelLoaded(Error):
    """Never raised: a session loads one model."""


class NotFound(Error):
    """Never raised."""


def name_loading_error(error: Error, source: str | bytes) -> None:
    """Gives an error from reading the model `source` (a path or bytes) its name in onnxruntime."""
    if type(error) is UnsupportedError:
        error.__class__ = NotImplemented
    elif type(error) is CallerError:
        if isinstance(source, str) and not os.path.isfile(source):
            error.__class__ = NoSuchFile
        else:
            in_the_model = any(place != source for place, _ in error.frames)
            error.__class__ = InvalidGraph if in_the_model else InvalidProtobuf


def name_run_error(error: Error) -> None:
    """Gives an error of a run its name in onnxruntime."""
    if type(error) is UnsupportedError:
        error.__class__ = NotImplemented
    elif type(error) is CallerError:
        error.__class__ = InvalidArgument
