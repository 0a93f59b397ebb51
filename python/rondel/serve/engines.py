"""What runs a model: Rondel, or any object with the interface of onnxruntime's InferenceSession."""

from __future__ import annotations

import dataclasses
import importlib
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
    """What a run may use. deadline: seconds; None: no limit."""

    deadline: float | None = None
    max_trips: int | None = None
    max_memory_bytes: int | None = None


def open_session(source: Any, engine: str, settings: ModelSettings) -> Any:
    """A session of a model file. engine: the name of a module with onnxruntime's interface."""
    if engine == "rondel":
        options = SessionOptions()
        for name in ("max_trips", "max_memory_bytes"):
            if getattr(settings, name) is not None:
                setattr(options, name, getattr(settings, name))
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
    return module.InferenceSession(source, theirs, providers=["CPUExecutionProvider"])


def check_given(session: Any, name: str, settings: ModelSettings) -> Limits:
    """The budgets that each run of a session that has been made elsewhere gets. Raises CallerError for what it cannot keep."""
    if settings.threads != ModelSettings.threads:
        raise CallerError(f"model '{name}' is given as a session, which has threads of its own; leave out threads, or set them in its SessionOptions")
    limits = Limits(None, settings.max_trips, settings.max_memory_bytes)
    if not isinstance(session, InferenceSession) and limits != Limits():
        raise CallerError(f"model '{name}' is given as a session that has no budgets of trips and memory; leave out max_trips and max_memory_bytes")
    return limits


def check_limits(session: Any, limits: Limits) -> None:
    """Refuses a budget that the session does not keep."""
    if not isinstance(session, InferenceSession) and (limits.max_trips is not None or limits.max_memory_bytes is not None):
        raise bad_request("this model's engine has no budgets of trips and memory; leave out max_trips and max_memory_bytes")


def run_options(session: Any, limits: Limits) -> Any:
    """The options of a run; setting their `terminate` ends it. None if the session's module has none."""
    if isinstance(session, InferenceSession):
        options = RunOptions()
        options.deadline = limits.deadline
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


def default_inputs(session: Any) -> list[Any]:
    """Inputs that need not be fed."""
    return list(session.get_overridable_initializers()) if hasattr(session, "get_overridable_initializers") else []
