"""The log: what sessions say of themselves, by onnxruntime's severities: 0 verbose, 1 information, 2 warning, 3 error, 4 fatal.

A session logs how long it took to be made (1) and how long its runs took (0). Warnings about a model are Python warnings
(rondel.ModelWarning); a severity above 2 silences them. Errors are raised, whatever the severity.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

from .errors import CallerError
from .missing_names import warn_once

VERBOSE, INFORMATION, WARNING = 0, 1, 2

Callback = Callable[[int, str, str, str, str], Any]
"""Called with a severity, a category, the logid of the options, a place in the code, and the text."""

_default = WARNING
_callback: Callback | None = None


def _checked_severity(severity):
    if isinstance(severity, bool) or not isinstance(severity, int) or not 0 <= severity <= 4:
        raise CallerError(f"severity is {severity!r}; expected 0 (verbose), 1 (information), 2 (warning), 3 (error) or 4 (fatal)")
    return severity


def set_default_logger_severity(severity: int) -> None:
    """The least severity that is logged, where options do not set one: 0 verbose, 1 information, 2 warning, 3 error, 4 fatal."""
    global _default
    _default = _checked_severity(severity)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Has no effect: verbose lines have no levels here. Severity 0 logs them all."""
    if verbosity:
        warn_once("set_default_logger_verbosity is ignored: verbose lines have no levels; set_default_logger_severity(0) logs them all")


def set_default_logger_callback(callback: Callback | None, severity: int = WARNING) -> None:
    """Calls `callback(severity, category, logid, place, text)` for each line of the log, instead of printing it; None prints again.

    severity: as set_default_logger_severity. An error in the callback is printed, and ends nothing.
    """
    global _callback
    if callback is not None and not callable(callback):
        raise CallerError(f"callback is {callback!r}; expected a function of a severity, a category, a logid, a place and a text, or None")
    if callback is not None:
        set_default_logger_severity(severity)
    _callback = callback


def logs(severity: int, options: Any) -> bool:
    """Whether a line of this severity is logged under these options; None: the default ones."""
    least = -1 if options is None else options.log_severity_level
    return severity >= (_default if least < 0 else least)


def log(severity: int, options: Any, place: str, text: str) -> None:
    """Logs a line, if the options' severity, or the default, admits it."""
    if not logs(severity, options):
        return
    logid = "" if options is None else options.logid
    if _callback is None:
        now = time.time()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f".{int(now * 1e6) % 1_000_000:06}"
        print(f"{stamp} [{'VIWEF'[severity]}:rondel:{logid}, {place}] {text}", file=sys.stderr)
        return
    try:
        _callback(severity, "rondel", logid, place, text)
    except Exception as error:
        print(f"rondel: the callback of the log raised {type(error).__name__}: {error}", file=sys.stderr)
