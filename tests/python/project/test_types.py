"""Annotations: mypy and pyright read a script that uses all of the package, and find the mistakes in it, and no others."""

import enum
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rondel
import rondel.benchmarking
import rondel.prediction
import rondel.profiling
import rondel.sweeps.scanning
import rondel.sweeps.tables

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tests" / "types" / "uses_it_all.py"
WRONG = {k for k, line in enumerate(SCRIPT.read_text().splitlines(), 1) if "  # wrong: " in line}


def test_mypy():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", ROOT / "build" / "mypy", SCRIPT]
    done = subprocess.run(command, cwd=ROOT, env={"MYPYPATH": "python", "PATH": ""}, capture_output=True, text=True)
    found = {int(line) for line in re.findall(r"uses_it_all\.py:(\d+): error", done.stdout)}
    assert found == WRONG, done.stdout + done.stderr


def test_pyright(tmp_path):
    pytest.importorskip("pyright")
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"include": [SCRIPT.name], "extraPaths": [str(ROOT / "python")], "pythonVersion": "3.11", "typeCheckingMode": "standard"})
    )
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", tmp_path]
    quiet = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}  # it asks the network for newer versions, else
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    report = json.loads(done.stdout)
    found = {d["range"]["start"]["line"] + 1 for d in report["generalDiagnostics"] if d["severity"] == "error"}
    assert report["summary"]["filesAnalyzed"] == 1 and found == WRONG, done.stdout


def test_the_stub_of_the_network_builder_is_up_to_date():
    spec = importlib.util.spec_from_file_location("network_stubs", ROOT / "tools/network_stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    assert stubs.PATH.read_text() == stubs.text(), "run .venv/bin/python tools/network_stubs.py --write"


#: Modules whose functions and classes are public. Stubs of rondel.network and of rondel.functions.onnx have tests of their own.
PUBLIC = [rondel, rondel.backend, rondel.benchmarking, rondel.deepx, rondel.functions, rondel.mdf, rondel.prediction, rondel.profiling, rondel.sweeps,
          rondel.sweeps.scanning, rondel.sweeps.tables, rondel.train, rondel.capi.onnxruntime_pybind11_state, rondel.capi.onnxruntime_inference_collection]  # fmt: skip
SPECIAL = {"__init__", "__call__", "__len__", "__getitem__", "__iter__", "__enter__", "__exit__", "__repr__", "__array__", "__dlpack__"}


def public_functions():
    """(its name, the function) of each function and method that users see."""
    for module in PUBLIC:
        for name in module.__all__ if hasattr(module, "__all__") else dir(module):
            x = getattr(module, name)
            if name.startswith("_"):
                continue
            if inspect.isfunction(x) and x.__module__.startswith("rondel"):
                yield name, x
            elif inspect.isclass(x) and x.__module__.startswith("rondel") and not issubclass(x, enum.Enum):
                for method, f in vars(x).items():
                    f = f.fget if isinstance(f, property) else getattr(f, "__func__", f)
                    if inspect.isfunction(f) and f.__module__.startswith("rondel") and (not method.startswith("_") or method in SPECIAL):
                        yield f"{name}.{method}", f


def test_every_public_function_is_annotated():
    lacking, seen = [], 0
    for name, f in public_functions():
        seen += 1
        signature = inspect.signature(f)
        bare = [p.name for k, p in enumerate(signature.parameters.values()) if p.annotation is p.empty and p.name not in ("self", "cls")]
        if bare or signature.return_annotation is signature.empty and not name.endswith("__init__"):
            lacking.append((name, bare))
    assert seen > 200 and lacking == []
