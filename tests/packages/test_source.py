"""`pip install .` in a fresh clone."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_fresh_clone_says_in_one_line_what_it_lacks(tmp_path):
    """The libraries of .deps/ are not there before ./dev setup."""
    clone = tmp_path / "rondel"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    done = subprocess.run([environment / "bin" / "pip", "install", clone], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"Rondel needs protobuf, onnx: run ./dev setup in {clone}" in " ".join((done.stdout + done.stderr).split())
