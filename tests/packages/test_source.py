"""`pip install .` in a fresh clone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLONE = ROOT / "build" / "packages-clone"  # in one place, so that the compiler cache knows it the next time
FIRST_RUN = ROOT / "examples" / "python" / "first_run.py"


@pytest.fixture
def clone():
    shutil.rmtree(CLONE, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, CLONE], check=True)
    yield CLONE
    shutil.rmtree(CLONE)


@pytest.fixture
def python(tmp_path):
    """The interpreter of a new environment."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    return tmp_path / "venv" / "bin" / "python"


def install(python, clone, *settings):
    options = [word for setting in settings for word in ("--config-settings", setting)]
    return subprocess.run([python, "-m", "pip", "install", *options, f"{clone}[onnx]"], capture_output=True, text=True)


def test_it_works_by_itself(clone, python, tmp_path):
    """It needs no more than Debian's packages."""
    done = install(python, clone)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    ran = subprocess.run([python, FIRST_RUN], capture_output=True, text=True, cwd=tmp_path)
    assert "[1. 2. 4. 8.]" in ran.stdout, ran.stderr


def said(done):
    assert done.returncode != 0
    return [line.strip() for line in (done.stdout + done.stderr).splitlines()]


@pytest.mark.parametrize("missing", ["fmt", "LLVM"])
def test_it_says_in_one_line_what_it_lacks(clone, python, missing):
    """Before it builds anything."""
    done = install(python, clone, f"cmake.define.CMAKE_DISABLE_FIND_PACKAGE_{missing}=ON")
    assert f"Rondel needs {missing}: run ./dev setup in {clone}" in said(done)
    assert not (clone / ".deps").exists()


def test_a_library_that_cannot_be_built_is_named_in_one_line(clone, python):
    script = clone / "tools" / "deps.sh"
    script.write_text("#!/bin/sh\necho working\necho no network\nexit 1\n")
    lines = said(install(python, clone))
    log = clone / "build" / "release" / "deps-protobuf.log"
    assert f"Rondel needs protobuf, which tools/deps.sh cannot build (no network; see {log}): run ./dev setup in {clone}" in lines
