"""Refusals of requests, each with its status in HTTP and in gRPC."""

from __future__ import annotations

from ..errors import CallerError, Cancelled, DeadlineExceeded, Error, LimitExceeded, UnsupportedError


class Refusal(Error):
    """A request that is not answered. status: of HTTP; code: the name of a grpc.StatusCode; retry_after: seconds, or None."""

    def __init__(self, message: str, status: int = 400, code: str = "INVALID_ARGUMENT", retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after = status, code, retry_after


def bad_request(message: str) -> Refusal:
    return Refusal(message, 400, "INVALID_ARGUMENT")


def not_found(message: str) -> Refusal:
    return Refusal(message, 404, "NOT_FOUND")


def busy(message: str, retry_after: int) -> Refusal:
    return Refusal(message, 503, "UNAVAILABLE", retry_after)


def stopping() -> Refusal:
    return busy("the server is stopping", 1)


def deadline_passed(where: str) -> Refusal:
    return Refusal(f"the request's deadline has passed {where}", 504, "DEADLINE_EXCEEDED")


_KINDS = [
    (DeadlineExceeded, 504, "DEADLINE_EXCEEDED"),
    (LimitExceeded, 400, "RESOURCE_EXHAUSTED"),
    (Cancelled, 499, "CANCELLED"),
    (UnsupportedError, 501, "UNIMPLEMENTED"),
    (CallerError, 400, "INVALID_ARGUMENT"),
]

#: Errors that a client hears of, and that are no faults of the server.
REFUSED = (Refusal, *(kind for kind, _, _ in _KINDS))


def refusal_of(error: BaseException) -> Refusal:
    """What a client hears of an error. An error of another engine than Rondel blames the request, as far as its name says so."""
    if isinstance(error, Refusal):
        return error
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            return Refusal(str(error), status, code)
    if type(error).__name__ in ("InvalidArgument", "NotImplemented"):  # onnxruntime's own
        return bad_request(str(error))
    if isinstance(error, MemoryError):
        return Refusal(f"out of memory: {error}", 503, "RESOURCE_EXHAUSTED", 1)
    return Refusal(f"{type(error).__name__}: {error}", 500, "INTERNAL")
