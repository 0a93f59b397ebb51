"""What onnxruntime's package says of itself, for Rondel."""

import platform

from . import _rondel
from .missing_names import warn_once


def get_device() -> str:
    """Where models run: 'CPU'."""
    return "CPU"


def get_version_string() -> str:
    """Rondel's version."""
    return str(_rondel.version())


def get_build_info() -> str:
    return f"Rondel Build Info: version={get_version_string()}, device={get_device()}, machine={platform.machine()}, python={platform.python_version()}"


def disable_telemetry_events() -> None:
    """Does nothing: Rondel sends nothing anywhere."""


def enable_telemetry_events() -> None:
    """Has no effect: Rondel sends nothing anywhere."""
    warn_once("enable_telemetry_events is ignored: Rondel sends nothing anywhere")
