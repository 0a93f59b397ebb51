"""Rondel in place of onnxruntime, for packages that import onnxruntime by its name."""

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_LATER = ("backend",)  #: modules that both packages have, and that are imported when they are asked for
_MODULES = ("", ".capi", ".capi._pybind_state", ".capi.onnxruntime_inference_collection", ".capi.onnxruntime_pybind11_state")
_replaced: dict[str, ModuleType | None] = {}


class _OtherModules:
    """Finds the modules of an installed onnxruntime that Rondel does not have, such as its tools for quantization, while Rondel is in its place."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self.found: list[str] = []  # their names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        parent = name.rpartition(".")[0]
        if parent.split(".")[0] != "onnxruntime" or not sys.modules[parent].__name__.startswith("rondel"):
            return None  # a module inside one of onnxruntime's own is found as always
        if name.removeprefix("onnxruntime.") in _LATER:
            return ModuleSpec(name, _Alias())
        found = PathFinder.find_spec(name, [os.path.join(folder, *parent.split(".")[1:]) for folder in self._folders])
        if found is None:
            raise ModuleNotFoundError(f"No module named '{name}': Rondel is in the place of onnxruntime, and has none", name=name)
        self.found.append(name)
        return found


class _Alias:
    """Loads a module of onnxruntime's by taking Rondel's of that name."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(module.__name__.replace("onnxruntime", "rondel", 1))


def install() -> None:
    """From now on `import onnxruntime` gives Rondel, also its inner modules. Others, such as onnxruntime.quantization, are those of
    onnxruntime where it is installed.

    Call it before the packages that use onnxruntime are imported: those that have imported it keep it. Calling `install` again
    changes nothing; `uninstall` undoes it.
    """
    if _replaced:
        return
    for inner in _MODULES:
        _replaced["onnxruntime" + inner] = sys.modules.get("onnxruntime" + inner)
    spec = PathFinder.find_spec("onnxruntime")
    sys.meta_path.insert(0, _OtherModules(spec.submodule_search_locations or [] if spec else []))
    for inner in _MODULES:
        sys.modules["onnxruntime" + inner] = importlib.import_module("rondel" + inner)


def uninstall() -> None:
    """Undoes `install`: `import onnxruntime` gives what it gave before. Modules of onnxruntime that were imported meanwhile, and that use
    Rondel, are imported anew when they are next asked for."""
    for finder in [finder for finder in sys.meta_path if isinstance(finder, _OtherModules)]:
        sys.meta_path.remove(finder)
        for name in finder.found:
            _forget(name)
    for name in _LATER:
        sys.modules.pop(f"onnxruntime.{name}", None)
    for name, module in _replaced.items():
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module
    _replaced.clear()


def _forget(module: str) -> None:
    """Removes a module and those inside of it from what has been imported."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{module}.")]:
        del sys.modules[name]
    parent, _, name = module.rpartition(".")
    vars(sys.modules[parent]).pop(name, None)
