"""The cluster: how a process joins one, and how models get to its nodes."""

from __future__ import annotations

import copy
import hashlib
import logging
from typing import Any

import ray

from ..errors import CallerError, Error
from ..models import Model, model_source
from ..options import SessionOptions, checked_options

_joined: tuple[str | None, str | None] = None, None  #: the latest address that `connect` was given, and the cluster that was there


def connect(address: str | None = None) -> None:
    """Joins a cluster.

    address: "ray://HOST:PORT" (Ray Client), "HOST:PORT" or "auto" from one of the nodes, "local" for a cluster of this machine
        alone; None: the cluster that this process is in, else RAY_ADDRESS, or a cluster of this machine.

    Raises CallerError if none answers, or for the address of another cluster than the one that this process is in.
    """
    global _joined
    if ray.is_initialized():
        if address not in (None, "auto") and address not in (here := _addresses()):
            way = "leave the address out, or call ray.shutdown() first"
            raise CallerError(f"this process is in the Ray cluster at {here[0]!r} already, so it cannot join {address!r}; {way}")
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except (ConnectionError, TimeoutError, ValueError, RuntimeError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CallerError(f"no Ray cluster at {address or 'RAY_ADDRESS'!r}: {reason}; `ray start --head` starts one") from error
    _joined = address, ray.get_runtime_context().gcs_address


def _addresses():
    """The addresses of the cluster that this process is in: its own, and the one by which `connect` joined it."""
    own = ray.get_runtime_context().gcs_address
    given, joined = _joined
    return [own, given] if joined == own else [own]


def model_bytes(model: Model) -> bytes:
    """The bytes of a model, with its external data inside."""
    source = model_source(model)
    if isinstance(source, bytes):
        return source
    try:
        with open(source, "rb") as file:
            data = file.read()
    except OSError as error:
        raise CallerError(f"the model '{source}' cannot be read: {error.strerror or error}") from error
    if b"location" not in data:  # the key that external data have
        return data
    import onnx

    try:
        return onnx.load(source).SerializeToString()
    except Exception as error:  # onnx and protobuf have exceptions of their own
        raise CallerError(f"the model '{source}' cannot be sent to a cluster as one message: {error}") from error


def assigned_processors() -> int:
    """The processors that Ray counts for this worker, at least one; 0 outside of a worker."""
    if not ray.is_initialized():  # asking for the context would start a cluster
        return 0
    context = ray.get_runtime_context()
    return max(1, int(context.get_assigned_resources().get("CPU", 1))) if context.worker.mode == ray.WORKER_MODE else 0


def with_own_threads(options: SessionOptions | None) -> SessionOptions:
    """A copy of options (None: the default ones) with as many threads as Ray counts processors for this worker, unless they ask for a
    number above 0."""
    made = copy.copy(checked_options(options, SessionOptions, "sess_options"))
    made.intra_op_num_threads = made.intra_op_num_threads or assigned_processors()
    return made


def first_draw() -> int:
    """Where this worker's random draws begin, as `drawing_from` counts: elsewhere in each actor; 0 outside of one."""
    actor = ray.get_runtime_context().get_actor_id() if ray.is_initialized() else None
    return int.from_bytes(hashlib.blake2b(actor.encode(), digest_size=8).digest(), "little") if actor else 0


def fetched(x: Any) -> Any:
    """x, or what it refers to in the object store, of which each node keeps one copy."""
    return ray.get(x) if isinstance(x, ray.ObjectRef) else x


def cause_of(error: Exception) -> Exception:
    """Our error inside of one of Ray's, else the error itself."""
    seen, inner = [], error
    while inner is not None and inner not in seen:
        if isinstance(inner, Error):
            cause = getattr(inner, "cause", None)  # Ray's class for an error of a task is also one of ours
            return cause if isinstance(cause, Error) else inner
        seen.append(inner)
        inner = getattr(inner, "cause", None) or inner.__cause__
    return error
