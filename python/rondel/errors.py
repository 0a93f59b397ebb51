"""Every error Rondel raises. The message names the node, the op, types and shapes, and what to try."""

from __future__ import annotations


class Error(RuntimeError):
    """Base of all errors. `str(error)` is the complete text: where it happened, then what happened.

    frames: where it happened, outermost first, as pairs of a source ("node 'decode' (Loop)", "layer 'gate'", an input, a
    file) and a trip: for a loop the trip under way, counted from 0, else None. () if the error has no place.
    message: what happened, without the place.
    """

    frames: tuple[tuple[str, int | None], ...] = ()

    @property
    def message(self) -> str:
        return self.__dict__.get("_message", str(self))

    @property
    def node(self) -> str | None:
        """The innermost source; None if there is no frame."""
        return self.frames[-1][0] if self.frames else None

    @property
    def trips(self) -> tuple[int, ...]:
        """The trips under way of the enclosing loops, outermost first."""
        return tuple(trip for _, trip in self.frames if trip is not None)


class CallerError(Error, ValueError):
    """A wrong model, input or option."""


class ModelWarning(UserWarning):
    """Something in a model that other runtimes interpret differently; `rondel check` lists it, too."""


class UnsupportedError(Error, NotImplementedError):
    """A known limit of Rondel; the message names what is not supported."""


class InternalError(Error):
    """A bug in Rondel."""


class LimitExceeded(Error):
    """A budget of memory or trips is used up: the run's own, or its session's."""


class DeadlineExceeded(Error):
    """The run's deadline passed."""


class Cancelled(Error):
    """The run was ended by its terminate flag."""
