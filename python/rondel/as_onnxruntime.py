"""Rondel in place of onnxruntime, for packages that import onnxruntime by its name."""

import importlib
import sys
from types import ModuleType

_MODULES = ("", ".capi", ".capi._pybind_state", ".capi.onnxruntime_inference_collection", ".capi.onnxruntime_pybind11_state")
_replaced: dict[str, ModuleType | None] = {}


def install() -> None:
    """From now on `import onnxruntime` gives Rondel, also its inner modules, whether onnxruntime is installed or not.

    Call it before the packages that use onnxruntime are imported: those that have imported it keep it. Calling `install` again
    changes nothing; `uninstall` undoes it.
    """
    if _replaced:
        return
    for inner in _MODULES:
        _replaced["onnxruntime" + inner] = sys.modules.get("onnxruntime" + inner)
    for inner in _MODULES:
        sys.modules["onnxruntime" + inner] = importlib.import_module("rondel" + inner)


def uninstall() -> None:
    """Undoes `install`: `import onnxruntime` gives what it gave before."""
    for name, module in _replaced.items():
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module
    _replaced.clear()
