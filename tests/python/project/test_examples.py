"""The short examples run and print the expected results."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser, save

import rondel

ROOT = Path(__file__).resolve().parents[3]


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


def test_a_perceptron_of_instructions(capsys):
    """Training in deepx lines only reduces the loss tenfold."""
    from rondel_cli.main import main

    assert main(["deepx", str(ROOT / "examples" / "deepx" / "perceptron.deepx")]) == 0
    first, last = re.findall(r"^([\d.]+)$", capsys.readouterr().out, re.MULTILINE)
    assert 0 < float(last) * 10 < float(first)


def run_example(name, *arguments, folder):
    run = subprocess.run([sys.executable, ROOT / "examples" / f"{name}.py", *arguments], capture_output=True, text=True, encoding="utf-8", cwd=folder)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_digits_are_learned(tmp_path):
    from sklearn.datasets import load_digits

    out = run_example("train_digits", folder=tmp_path)
    assert float(re.search(r"([\d.]+) % of 599 held-out images are right", out)[1]) >= 97
    (logits,) = ort.InferenceSession(tmp_path / "digits.onnx").run(None, {"image": (load_digits().images[:, None] / 16).astype(np.float32)})
    assert np.mean(logits.argmax(1) == load_digits().target) > 0.97


def test_rates_of_an_ode_are_found(tmp_path):
    out = run_example("fit_ode", folder=tmp_path)
    off = [abs(float(x)) for x in re.findall(r"([-+][\d.]+) %", out)]
    assert len(off) == 4 and max(off) < 3, out
    out = run_example("fit_ode", "--data", "hares", folder=tmp_path)
    rates = [float(line.split()[-1]) for line in out.splitlines()[1:]]
    # Posterior means and standard deviations from Carpenter, "Predator-Prey Population Dynamics" (Stan case studies, 2018), for the same data.
    for rate, mean, deviation in zip(rates, (0.55, 0.028, 0.80, 0.024), (0.06, 0.004, 0.09, 0.004), strict=True):
        assert abs(rate - mean) < deviation, out


def test_an_lstm_learns_to_write(tmp_path):
    out = run_example("train_char_rnn", "--steps", "120", "--hidden", "64", "--batch", "16", "--length", "100", folder=tmp_path)
    bits = [float(x) for x in re.findall(r"([\d.]+) bits a character", out)]
    assert bits[-1] < bits[0] - 1.5, out
    written = out.split("bits a character\n")[-1].rstrip("\n")
    assert len(written) >= 90 and len(set(written)) > 5, out


def test_every_training_example_is_run():
    assert {p.stem for p in (ROOT / "examples").glob("*.py")} == {"train_digits", "fit_ode", "train_char_rnn"}
    for path in (ROOT / "examples").glob("*.py"):
        run = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True)
        assert run.returncode == 0 and "usage" in run.stdout


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


def network_example(name):
    program = ROOT / "build" / "release" / "examples" / "network" / f"network_{name}"
    if not program.exists():  # pytest was run without a build; `./dev test` builds it
        assert "CI" not in os.environ
        pytest.skip("examples/network is not built")
    run = subprocess.run([program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    "name, lines",
    [
        (
            "counting_loop",
            [
                "last: i32[] 17",
                "all: i32[4] 5 8 11 14",
                "rows: f32[2,3] 2 3 5 4 6 8",
                "rows_as_columns: f32[3,2] 2 4 3 6 5 8",
                "columns: f32[3,2] 2 4 3 6 5 8",
                "mirrored: f32[2,3] 5 3 2 8 6 4",
            ],
        ),
        ("char_rnn", ["rondel: its opening lines keep coming back."]),
        ("nest", ["distances: f32[2,3] 0 9 16 25 16 9"]),
        ("conditional", ["y: f32[2] 0.6 0.8", "y: f32[3] 0 0 0"]),
    ],
)
def test_network_examples(name, lines):
    assert network_example(name) == lines


def test_network_lstm_is_the_lstm_of_onnx():
    def waves(shape, scale, step):
        at = np.arange(1, np.prod(shape) + 1, dtype=np.float64)
        return (scale * np.sin(step * at)).astype(np.float32).reshape(shape)

    lines = dict(line.split(": ") for line in network_example("lstm"))
    steps, batch, inputs, hidden = 5, 2, 3, 4
    w = waves((1, 4 * hidden, inputs), 0.5, 0.7)
    r = waves((1, 4 * hidden, hidden), 0.5, 1.1)
    b = np.concatenate([waves((1, 4 * hidden), 0.1, 1.3), np.zeros((1, 4 * hidden), np.float32)], 1)
    names = ["y", "y_h", "y_c"]
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "w", "r", "b"], names, hidden_size=hidden)],
        "lstm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["t", batch, inputs])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(v, name) for name, v in (("w", w), ("r", r), ("b", b))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    x = waves((steps, batch, inputs), 1, 0.3)
    expected = [rondel.InferenceSession(model).run(names, {"x": x})]
    expected.append(ort.InferenceSession(model.SerializeToString()).run(names, {"x": x}))
    for outputs in expected:
        for name, value in zip(names, outputs):
            shape, *numbers = lines[name].split()
            assert shape.startswith("f32["), lines[name]
            ours = np.array(numbers, np.float32)
            np.testing.assert_allclose(ours, value.ravel(), rtol=1e-5, atol=1e-6)
