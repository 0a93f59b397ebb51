"""`rondel mdf`: tables, files, and an ONNX model that another runtime runs."""

import csv
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from command_line import rondel as run  # noqa: F401

import rondel.mdf

MODELS = pathlib.Path(__file__).parent


def test_it_prints_what_is_recorded(run):
    code, out, _ = run("mdf", MODELS / "states.json", "--steps", 200, "--dt", 0.01)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["recorded", "type", "first", "last"]
    assert lines[2].split() == ["counter_node.out_port", "float64[201]", "1", "201"]
    assert lines[3].split() == ["sine_node.out_port", "float64[201]", "0", "0.097444"]


def test_it_writes_a_table(run):
    code, out, _ = run("mdf", MODELS / "rnn.json", "--steps", 3, "--dt", 0.1, "--record", "readout.z,units.x", "--csv", "t.csv")
    assert code == 0 and "wrote t.csv" in out
    rows = list(csv.reader(open("t.csv")))
    assert rows[0] == ["time", "readout.z", *(f"units.x[{k}]" for k in range(5))]
    expected = rondel.mdf.load(MODELS / "rnn.json").run(3, 0.1)
    np.testing.assert_array_equal([float(row[1]) for row in rows[1:]], expected["readout.z"])


def test_settings_and_a_sweep(run):
    arguments = ("--set", "sine_node.period=[0.2, 0.4]", "--initial", "sine_node.rate=2", "--record", "sine_node.out_port")
    code, out, _ = run("mdf", MODELS / "states.json", "--steps", 5, "--dt", 0.01, *arguments)
    assert code == 0 and "float64[6, 2]" in out


@pytest.mark.parametrize(("value", "code", "words"), [("[", 2, "neither a number nor a list"), ("[" * 5000, 2, "neither a number nor a list"), ("[]", 1, "no points")])
def test_values_that_are_none(run, value, code, words):
    found, out, err = run("mdf", MODELS / "states.json", "--set", f"sine_node.period={value}")
    assert (found, out) == (code, "") and words in err and len(err) < 3000


@pytest.mark.parametrize("more", [(), ("--table", "t.csv")])
def test_a_value_that_is_given_twice_is_a_wrong_command_line(run, more):
    code, out, err = run("mdf", MODELS / "states.json", "--set", "sine_node.period=0.2:0.4:2", "--set", "sine_node.period=2", *more)
    assert (code, out, err) == (2, "", "rondel: --set sine_node.period: it is given twice\n")


@pytest.mark.parametrize("file", ["states.json", "newton_cooling.yaml", "rnn.json", "iafs.yaml"])
def test_the_onnx_model_runs_elsewhere(run, file):
    code, out, _ = run("mdf", MODELS / file, "--steps", 40, "--dt", 0.1, "--onnx", "out.onnx")
    assert code == 0 and "wrote out.onnx" in out
    written = onnx.load("out.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert "Loop" in [node.op_type for node in written.graph.node]
    session = onnxruntime.InferenceSession("out.onnx")
    model = rondel.mdf.load(MODELS / file)
    for steps, dt, feeds in ((40, 0.1, {}), (9, 0.05, {"steps": np.array(9), "dt": np.array(0.05)})):
        expected = model.run(steps, dt)
        for port, got in zip(session.get_outputs(), session.run(None, feeds)):
            np.testing.assert_allclose(got, expected[port.name], rtol=1e-9, atol=1e-12, err_msg=port.name)


def test_ports_of_other_scales_have_axes_of_their_own():
    from rondel_cli.mdf import _panels

    t = np.linspace(0, 1, 50)
    wave, small, far, still, odd = np.sin(9 * t), 0.01 * np.sin(9 * t), 1000 + np.cos(t), np.full(50, 0.5), np.full(50, np.nan)
    curves = [("a.wave", wave), ("a.small", small), ("a.twice[0]", 2 * wave), ("a.twice[1]", wave), ("a.far", far), ("a.still", still), ("a.odd", odd)]
    panels = [[name for name, _ in panel] for panel in _panels(curves)]
    assert panels == [["a.wave", "a.twice[0]", "a.twice[1]", "a.still", "a.odd"], ["a.small"], ["a.far"]]
    assert _panels([]) == [[]]


def test_a_plot(run):
    code, _, _ = run("mdf", MODELS / "states.json", "--steps", 50, "--dt", 0.01, "--plot", "out.png")
    assert code == 0 and pathlib.Path("out.png").read_bytes().startswith(b"\x89PNG")
    code, _, _ = run("mdf", MODELS / "states.json", "--steps", 50, "--dt", 0.01, "--plot", "out.svg")
    assert code == 0 and "<svg" in pathlib.Path("out.svg").read_text()
    code, _, err = run("mdf", MODELS / "states.json", "--plot", "out.nope")
    assert code == 2 and "nope" in err and not pathlib.Path("out.nope").exists()


# arguments, exit code, message of the error
REFUSED = [
    (("absent.json",), 1, "absent.json"),
    ((MODELS / "states.json", "--steps", "-1"), 2, "not a number of 0 or more"),
    ((MODELS / "states.json", "--dt", "soon"), 2, "not a finite number"),
    ((MODELS / "states.json", "--set", "sine_node.amp"), 2, "not NAME=VALUE"),
    ((MODELS / "states.json", "--set", "sine_node.amp=high"), 2, "neither a number nor a list"),
    ((MODELS / "states.json", "--record", "sine_node.nope"), 1, "there is no 'sine_node.nope' to record"),
    ((MODELS / "states.json", "--set", "sine_node.ample=3"), 1, "did you mean 'sine_node.amp'?"),
]


@pytest.mark.parametrize("arguments, code, message", REFUSED, ids=lambda a: str(a)[-20:])
def test_what_is_refused(run, arguments, code, message):
    got, _, err = run("mdf", *arguments, "--csv", "never.csv")
    assert got == code and message in err
    assert not pathlib.Path("never.csv").exists()
