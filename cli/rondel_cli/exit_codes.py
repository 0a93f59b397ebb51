"""The exit codes of the command `rondel`, by the kind of error."""

import rondel


class UsageError(rondel.CallerError):
    """The command line is wrong."""


_CODES = [
    (UsageError, 2),
    (rondel.CallerError, 1),
    (rondel.UnsupportedError, 3),
    (rondel.LimitExceeded, 4),
    (rondel.DeadlineExceeded, 4),
    (rondel.Cancelled, 4),
    (rondel.Error, 5),
]


def exit_code(error):
    return next(code for kind, code in _CODES if isinstance(error, kind))
