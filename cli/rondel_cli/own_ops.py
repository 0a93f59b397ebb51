"""`--ops FILE.py` and `--custom MODULE`: code of the user that registers ops."""

import importlib
import os
import runpy
import sys
import traceback

import rondel

from .exit_codes import UsageError


def load_ops(options):
    """Runs the files and imports the modules that the command line names; a command may have no such options."""
    for path in getattr(options, "ops", []):
        if not os.path.isfile(path):
            raise UsageError(f"--ops {path}: there is no such file; expected a Python file that calls rondel.register_op")
        _load(f"--ops {path}", path, lambda path=path: runpy.run_path(path))
    for name in getattr(options, "custom", []):
        if not name or name.startswith("."):
            raise UsageError(f"--custom '{name}': expected the name of a module, such as my_ops or package.my_ops")
        _load(f"--custom {name}", name, lambda name=name: _import(name))


def _import(name):
    """Imports a module from the current folder, too, as `python -m` does."""
    sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module(name)
    finally:
        sys.path.remove(os.getcwd())


def _load(option, what, load):
    try:
        load()
    except rondel.Error:
        raise
    except ModuleNotFoundError as error:
        if f"{what}.".startswith(f"{error.name}."):  # the module, or the package that it would be in
            raise UsageError(f"{option}: there is no such module") from error
        raise rondel.CallerError(f"{option}: {error}") from error
    except Exception as error:
        traceback.print_exc()
        raise rondel.CallerError(f"{option}: it raised {type(error).__name__}: {error}") from error
