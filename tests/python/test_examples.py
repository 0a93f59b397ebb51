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


NETWORKS = {
    "counting_loop": ["[ 3  8 13 18] and ends as 23", "transposed: [[2.0, 4.0], [3.0, 6.0], [5.0, 8.0]]", "[[4.0, 6.0, 8.0], [2.0, 3.0, 5.0]]"],
    "lstm": ["y[12, 1, 3, 8]: largest difference", "c[1, 3, 8]: largest difference"],
    "char_rnn": ["Le temps a laissié son manteau", "De vent, de froidure et de pluie.\n"],
    "nest": ["[1. 2. 3. 4.] -> 3 elements, sum 6.0", "[0. 1. 0. 1.] -> 4 elements, sum 2.0"],
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_in_python(name):
    script = ROOT / "examples" / "network" / f"{name}.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    assert not [line for line in NETWORKS[name] if line not in run.stdout], run.stdout


def test_every_network_in_python_is_run():
    assert {p.stem for p in (ROOT / "examples" / "network").glob("*.py")} == set(NETWORKS)


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
