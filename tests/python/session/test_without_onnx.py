"""What works with NumPy alone, and what the rest says that it needs: each in a process in which the package onnx is not there."""

import subprocess
import sys
import textwrap

import pytest
from models import model

MISSING = """
import sys
sys.modules["onnx"] = None  # importing it is a ModuleNotFoundError
import numpy as np
import rondel
"""
SQUARE = "main (float[3] x) => (float y) <float[3] w = {1, 2, 3}> { p = Mul (x, w)  q = Mul (p, p)  y = ReduceSum <keepdims: int = 0> (q) }"


@pytest.fixture
def python(tmp_path):
    """Runs a program beside a file model.onnx; returns the process."""
    (tmp_path / "model.onnx").write_bytes(model(SQUARE).SerializeToString())

    def run(text):
        program = MISSING + textwrap.dedent(text)
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=120)

    return run


@pytest.mark.parametrize("command", [
    "run model.onnx -i x=1,2,3", "check model.onnx", "inspect model.onnx", "convert model.onnx -o again.onnx",
    "grad model.onnx --wrt x,w -o grad.onnx",
])  # fmt: skip
def test_commands(python, command):
    done = python(f"from rondel_cli.main import main\nsys.exit(main({command.split()}))")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("what", "call"), [
    ("rondel.grad", 'rondel.grad("model.onnx", "x")'),
    ("rondel.jvp", 'rondel.jvp("model.onnx", "x")'),
    ("rondel.train", 'rondel.train.Trainer("model.onnx", loss="y")'),
    ("a sweep of an ONNX model", 'rondel.sweeps.run(rondel.sweeps.OnnxSweep("model.onnx", {"x": np.zeros((1, 3), np.float32)}))'),
])  # fmt: skip
def test_what_needs_it_says_so(python, what, call):
    done = python(f"import rondel.train, rondel.sweeps\ntry:\n    {call}\nexcept rondel.UnsupportedError as error:\n    print(error)")
    assert done.stdout == f"{what} needs the package onnx; try: pip install 'rondel[onnx]'\n", done.stdout + done.stderr
