"""`rondel bench`: what it measures, beside ONNX Runtime. No test depends on how long something takes."""

import json

import numpy as np
import onnx
import pytest
from models import model

from rondel import benchmarking
from rondel_cli.main import main

SUM = "main (float[n, m] x, float[m, 3] w, int64[k] i) => (float[n, 3] y, int64[k] j) { y = MatMul (x, w)  j = Neg (i) }"
QUICK = ("--rounds", "1", "--cold", "1", "--threads", "1")


@pytest.fixture
def bench(capsys, tmp_path, monkeypatch):
    """Runs `rondel bench` on a model, given as text, in a folder of its own; returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def act(text, *arguments):
        onnx.save(model(text), "model.onnx")
        try:
            code = main(["bench", "model.onnx", *arguments])
        except SystemExit as ended:  # raised by argparse
            code = ended.code
        return code, *capsys.readouterr()

    return act


def test_both_engines_are_measured_cold_and_warm(bench):
    code, out, err = bench(SUM, *QUICK, "--extent", "n=4", "--extent", "2", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["inputs"] == {"x": "float32[4,2]", "w": "float32[2,3]", "i": "int64[2]"}
    assert [(row["engine"], row["threads"]) for row in found["rows"]] == [("rondel", 1), ("onnxruntime", 1)]
    for row in found["rows"]:
        for what in ("load", "first_run", "warm"):
            assert 0 < row[what]["low"] <= row[what]["median"] <= row[what]["high"] and len(row[what]["all"]) == 1
        assert row["peak_bytes"] is None or 0 < row["peak_bytes"] < 2**30
        assert row["difference"] < 1e-5
    ours, theirs = found["rows"]
    assert ours["ratio"] == 1 and theirs["ratio"] == theirs["warm"]["median"] / ours["warm"]["median"]
    assert found["versions"].keys() == {"rondel", "onnxruntime"} and found["machine"]["cores"] >= 1


def test_the_table_names_the_inputs_and_both_engines(bench):
    code, out, err = bench(SUM, *QUICK, "-i", "x=random:f32[5,2]")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[:3] == ["input  x: float32[5,2]", "input  w: float32[2,3]", "input  i: int64[1]"], "w has the m that x has"
    header, rule, ours, theirs = lines[4:8]
    assert header.split()[:2] == ["engine", "threads"] and set(rule) == {"-", " "}
    assert ours.startswith("rondel ") and theirs.startswith("onnxruntime ") and "x " in theirs
    assert len(header) == len(rule) == len(theirs)


def test_one_engine(bench):
    code, out, _ = bench(SUM, *QUICK, "--only", "--json")
    assert code == 0 and [row["engine"] for row in json.loads(out)["rows"]] == ["rondel"]


def test_a_model_that_onnxruntime_refuses_is_measured_alone(bench):
    text = "main (float16[n] x) => (float16[n] y) { y = BitwiseOps (x) }"
    code, _, err = bench(text, *QUICK)
    assert code == 1 and "BitwiseOps" in err, "Rondel's own refusal ends the command"
    code, out, err = bench("main (double[n] x) => (double[n] y) { y = ThresholdedRelu (x) }", *QUICK)
    assert code == 0 and "onnxruntime does not run it: " in out and "NOT_IMPLEMENTED" in out, out + err


def test_an_engine_that_fails_in_its_own_process_only_has_an_error(bench, monkeypatch):
    real = benchmarking.in_own_process

    def refused(engine, *rest):
        if engine == "onnxruntime":
            raise RuntimeError("onnxruntime failed in a process of its own: out of memory")
        return real(engine, *rest)

    monkeypatch.setattr(benchmarking, "in_own_process", refused)
    code, out, err = bench(SUM, *QUICK)
    assert code == 0 and "onnxruntime does not run it: RuntimeError: onnxruntime failed in a process of its own: out of memory" in out, err
    code, out, _ = bench(SUM, *QUICK, "--json")
    ours, theirs = json.loads(out)["rows"]
    assert ours["ratio"] == 1 and set(theirs) == {"engine", "threads", "error"}


def test_the_note_tells_how_many_rounds_there_were(bench, monkeypatch):
    monkeypatch.setattr(benchmarking, "MOST_SECONDS", 0.0)
    code, out, err = bench(SUM, "--rounds", "11", "--cold", "1", "--threads", "1", "--only")
    assert code == 0 and "warm: of 3 rounds, the engines in turn" in out, err


class Better:
    """An engine whose outputs are wrong as soon as it has better code."""

    run_count = 0

    def run(self, names, feeds):
        Better.run_count += 1
        return [np.float32([1 if Better.run_count == 1 else 2])]


def test_the_outputs_compared_are_those_of_the_code_that_is_timed(monkeypatch):
    class Reference:
        def run(self, names, feeds):
            return [np.float32([1])]

    monkeypatch.setattr(benchmarking, "make_session", lambda engine, *rest: {"reference": Reference, "better": Better}[engine]())
    monkeypatch.setattr(benchmarking, "in_own_process", lambda *rest: {"load": 1.0, "first_run": 1.0, "peak_bytes": None})
    monkeypatch.setattr(benchmarking, "warm_up", lambda call: call())
    found = benchmarking.benchmark(b"", {}, ["reference", "better"], rounds=1, cold_rounds=1)
    assert [row["difference"] for row in found["rows"]] == [0.0, 0.5]


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("--extent", "n=-1"), 2, "'n=-1' is not NAME=N or N"),
        (("--extent", "q=3"), 2, "--extent q: the inputs have no extent of this name; the names are: k, m, n"),
        (("--rounds", "0"), 2, "'0' is not a number of 1 or more"),
        (("-i", "x=[[1, 2]]", "-i", "w=[[1, 2, 3]]"), 1, "x"),
    ],
)
def test_what_cannot_be_measured_is_said_at_once(bench, arguments, code, said):
    ended, out, err = bench(SUM, *arguments)
    assert ended == code and said in err and out == "", err


def test_differences():
    one, two = np.float32([1, np.nan]), np.float32([1.5, np.nan])
    assert benchmarking.disagreement([one, None, ["a"]], [one, None, ["a"]]) == 0
    assert benchmarking.disagreement([one], [two]) == 0.2
    assert benchmarking.disagreement([one], [np.float32([1])]) == np.inf
    assert benchmarking.disagreement([np.array(["a"], object)], [np.array(["b"], object)]) == np.inf
    assert benchmarking.disagreement([[one]], [[two, two]]) == np.inf
    # Maps, as classifiers of scikit-learn give them.
    assert benchmarking.disagreement([[{"a": 1.0, "b": 1.0}]], [[{"a": 1.0, "b": 1.5}]]) == 0.2
    assert benchmarking.disagreement([[{"a": 1.0}]], [[{"b": 1.0}]]) == np.inf
    assert benchmarking.disagreement([[{"a": 1.0}]], [[1.0]]) == np.inf
