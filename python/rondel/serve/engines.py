"""What runs a model: Rondel, or any object with the interface of onnxruntime's InferenceSession."""

from __future__ import annotations

import dataclasses
import importlib
import secrets
import sys
from typing import Any

from .. import arrays
from ..errors import CallerError
from ..options import RunOptions, SessionOptions
from ..session import InferenceSession
from .errors import bad_request
from .settings import ModelSettings


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a run may use, and what its random ops draw. deadline: seconds; None: no limit. seed: None: each run draws afresh."""

    deadline: float | None = None
    max_trips: int | None = None
    max_memory_bytes: int | None = None
    seed: int | None = None


def open_session(source: Any, engine: str, settings: ModelSettings) -> Any:
    """A session of a model file, which has no budgets of its own: each run has them. engine: the name of a module with onnxruntime's
    interface; what it cannot open raises CallerError."""
    if engine == "rondel":
        options = SessionOptions()
        options.intra_op_num_threads = settings.threads
        return InferenceSession(source, options)
    try:
        module = importlib.import_module(engine)
        theirs = module.SessionOptions()
    except (ImportError, AttributeError) as error:
        raise CallerError(f"the engine '{engine}' is no module with InferenceSession and SessionOptions: {error}") from None
    if settings.max_trips is not None or settings.max_memory_bytes is not None:
        raise CallerError(f"the engine '{engine}' has no budgets of trips and memory; leave out max_trips and max_memory_bytes")
    theirs.intra_op_num_threads = settings.threads
    try:
        return module.InferenceSession(source, theirs, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise
    except Exception as error:
        raise CallerError(f"the engine '{engine}' cannot open the model: {type(error).__name__}: {error}") from error


def budgets_of(settings: ModelSettings) -> Limits:
    """The budgets that each run of a model gets."""
    return Limits(None, settings.max_trips, settings.max_memory_bytes)


def check_given(session: Any, name: str, settings: ModelSettings) -> None:
    """Raises CallerError for settings that a session that has been made elsewhere cannot keep."""
    if settings.threads != ModelSettings.threads:
        raise CallerError(f"model '{name}' is given as a session, which has threads of its own; leave out threads, or set them in its SessionOptions")
    if not isinstance(session, InferenceSession) and budgets_of(settings) != Limits():
        raise CallerError(f"model '{name}' is given as a session that has no budgets of trips and memory; leave out max_trips and max_memory_bytes")


def check_limits(session: Any, limits: Limits) -> None:
    """Refuses a budget or a seed that the session does not keep."""
    if isinstance(session, InferenceSession):
        return
    if limits.max_trips is not None or limits.max_memory_bytes is not None:
        raise bad_request("this model's engine has no budgets of trips and memory; leave out max_trips and max_memory_bytes")
    if limits.seed is not None:
        raise bad_request("this model's engine has no seed of a run; leave out seed")


def run_options(session: Any, limits: Limits) -> Any:
    """The options of a run; setting their `terminate` ends it. None if the session's module has none."""
    if isinstance(session, InferenceSession):
        options = RunOptions()
        options.deadline = limits.deadline
        options.seed = secrets.randbits(64) if limits.seed is None else limits.seed
        if limits.max_trips is not None:
            options.max_trips = limits.max_trips
        if limits.max_memory_bytes is not None:
            options.max_memory_bytes = limits.max_memory_bytes
        return options
    module = sys.modules.get(type(session).__module__.partition(".")[0])
    return module.RunOptions() if hasattr(module, "RunOptions") else None


def element_dtype(port: Any) -> Any:
    """The NumPy dtype of a port that is a tensor."""
    return arrays.numpy_dtype(arrays.element_name(port.type))


def declares_scalar(session: Any, port: Any) -> bool:
    """Whether a port is declared as a tensor without axes. Other engines say the same of a tensor of which nothing is declared."""
    return isinstance(session, InferenceSession) and port.type.startswith("tensor(") and port.shape is not None and len(port.shape) == 0


def default_inputs(session: Any) -> list[Any]:
    """Inputs that need not be fed."""
    return list(session.get_overridable_initializers()) if hasattr(session, "get_overridable_initializers") else []
