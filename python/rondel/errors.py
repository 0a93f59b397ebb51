"""Every error Rondel raises. The message names the node, the op, types and shapes, and what to try."""


class Error(RuntimeError):
    """Base of all of them."""


class CallerError(Error, ValueError):
    """A wrong model, input or option."""


class UnsupportedError(Error, NotImplementedError):
    """A known limit of Rondel; the message names what is not supported."""


class InternalError(Error):
    """A bug in Rondel."""


class LimitExceeded(Error):
    """The session's budget of memory or trips is used up."""


class DeadlineExceeded(Error):
    """The run's deadline passed."""


class Cancelled(Error):
    """The run was ended by its terminate flag."""
