"""The commands of tools/: a question or a wrong argument writes nothing and says what they are for."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
LISTED = (TOOLS / "README.md").read_text()
PYTHON = sorted(path.name for path in TOOLS.glob("*.py"))
NEEDS = {"fit_polynomials.py": "gmpy2", "wheel.py": "auditwheel"}  #: tool to a package that it imports


def run(folder, name, *arguments):
    """Runs a copy of a tool, so that it would write into the folder."""
    (folder / "tools").mkdir(exist_ok=True)
    tool = Path(shutil.copy(TOOLS / name, folder / "tools"))
    command = [sys.executable, tool] if name.endswith(".py") else [tool]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    assert [path for path in folder.rglob("*") if path.is_file() and path != tool] == []
    return done


def test_every_tool_is_listed():
    for path in TOOLS.iterdir():
        assert path.name == "README.md" or path.name == "__pycache__" or f"`{path.name}" in LISTED, path.name


@pytest.mark.parametrize("name", PYTHON)
def test_a_tool_that_names_its_interpreter_can_be_run(name):
    tool = TOOLS / name
    assert tool.read_text().startswith("#!/usr/bin/env python3\n") == bool(tool.stat().st_mode & 0o100)


@pytest.mark.parametrize("name", PYTHON)
def test_help_and_a_wrong_option(tmp_path, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    done = run(tmp_path, name, "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: ") and len(done.stdout.splitlines()) > 5, done.stderr
    done = run(tmp_path, name, "--no-such-option")
    assert done.returncode == 2 and "usage: " in done.stderr and done.stdout == ""


@pytest.mark.skipif(importlib.util.find_spec("gmpy2") is not None, reason="gmpy2 is installed")
def test_what_a_tool_needs_is_said(tmp_path):
    done = run(tmp_path, "fit_polynomials.py")
    assert done.returncode == 1 and "pip install mpmath gmpy2 numpy" in done.stderr


@pytest.mark.parametrize(("name", "arguments", "code"), [
    ("deps.sh", ["--help"], 0),
    ("deps.sh", [], 2),
    ("deps.sh", ["--done"], 2),
    ("deps.sh", ["ls"], 2),
    ("aarch64.sh", ["--help"], 0),
])  # fmt: skip
def test_help_of_shell_scripts(tmp_path, name, arguments, code):
    done = run(tmp_path, name, *arguments)
    assert done.returncode == code and done.stdout.startswith(f"tools/{name} ["), done.stderr


def test_a_fault_that_is_not_there():
    done = subprocess.run([sys.executable, TOOLS / "mutations.py", "no_such_fault", "nor_this"], capture_output=True, text=True)
    assert done.returncode == 1 and "no fault of tests/mutations.toml has no_such_fault or nor_this in its file or description" in done.stderr


def test_a_library_that_is_not_there():
    done = subprocess.run([sys.executable, TOOLS / "exports.py", "no_such_library.so"], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot list no_such_library.so" in done.stderr
