"""The short examples do what they say."""

import subprocess
import sys
from pathlib import Path

import pytest
from onnx import parser, save

ROOT = Path(__file__).resolve().parents[2]


def test_first_run_in_python():
    script = ROOT / "examples" / "python" / "first_run.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "[1. 2. 4. 8.]" in run.stdout and "16" in run.stdout


def test_first_run_in_cpp(tmp_path):
    program = ROOT / "build" / "release" / "examples" / "cpp" / "first_run"
    if not program.exists():
        pytest.skip("examples/cpp is not built")
    model = tmp_path / "model.onnx"
    save(
        parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        sums (float[2, 3] x, int64 unused) => (float[3] sum) {
          axis = Constant <value_ints = [0]> ()
          sum = ReduceSum <keepdims = 0> (x, axis)
        }"""),
        model,
    )
    run = subprocess.run([program, model], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "sum: f32[3]" in run.stdout

    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    run = subprocess.run([program, broken], capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr
