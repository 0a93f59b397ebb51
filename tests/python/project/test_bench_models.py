"""bench/models.py: what it measures and writes. No test depends on how long something takes."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def bench():
    """The module, under a name of its own: tests/python has a models.py, too."""
    sys.path.append(str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("bench_models", ROOT / "bench" / "models.py")
    module = sys.modules["bench_models"] = importlib.util.module_from_spec(spec)  # its dataclass looks for it
    spec.loader.exec_module(module)
    module.measuring.SETTLING = 0.01
    yield module
    sys.path.remove(str(ROOT / "bench"))


@pytest.fixture
def measured(bench, tmp_path, monkeypatch, capsys):
    """Runs the bench with a page of its own; returns (exit code, stdout, the JSON)."""
    monkeypatch.setenv("RONDEL_JIT", os.environ.get("RONDEL_JIT", ""))  # which the bench sets
    monkeypatch.setattr(bench, "PAGE", ROOT / "build" / f"performance-{os.getpid()}.md")
    yield lambda *arguments: (
        bench.main(["--results", str(tmp_path / "rows.json"), "--rounds", "1", *arguments]),
        capsys.readouterr().out,
        json.loads((tmp_path / "rows.json").read_text()),
    )
    bench.PAGE.unlink(missing_ok=True)


def test_a_model_and_ops(measured, bench):
    code, out, found = measured("--quick", "--only", "onnxscript/newton", "--only", "op ArgM")
    assert code == 0
    rows = {row["name"]: row for row in found["rows"]}
    assert set(rows) == {"onnxscript/newton", "ArgMax", "ArgMin"} and rows["ArgMax"]["kind"] == "op"
    for row in rows.values():
        for threads in ("1", "2"):
            assert 0 < row["fastest"][threads]["rondel"] <= row["seconds"][threads]["rondel"]
            assert 0 < row["fastest"][threads]["onnxruntime"] <= row["seconds"][threads]["onnxruntime"]
        assert row["difference"] < 1e-5 and "peak_bytes" not in row
    assert "2 ops, 2 threads: geometric mean" in out and "1 model, 1 thread:" in out
    code, out, found = measured("--quick", "--only", "op ArgMax", "--write")
    assert code == 0 and len(found["rows"]) == 3, "the others are kept"
    page = bench.PAGE.read_text()
    assert page.startswith("# Performance\n") and page.count("\n| ArgM") == 2 and page.count("\n| onnxscript/newton |") == 1
    assert found["machine"]["processor"] in page and "load average" in page


def test_the_memory_of_a_model(measured):
    code, out, found = measured("--only", "onnxscript/newton")
    assert code == 0
    peaks = found["rows"][0]["peak_bytes"]
    assert set(peaks) == {"rondel", "onnxruntime"} and all(peak is None or 0 < peak < 2**30 for peak in peaks.values())


def test_every_op_has_a_case_that_runs(bench):
    import rondel

    names = [case.name for case in bench.ops()]
    assert len(names) > 90 and {"Add", "Conv", "LSTM", "StringSplit"} <= set(names)
    for case in bench.ops():
        model, feeds = case.make()
        rondel.InferenceSession(model).run(None, feeds)


def test_models_of_installed_packages(bench):
    cases = {case.name: case for case in bench.packaged_models()}
    _, feeds = cases["silero_vad/silero_vad"].make()
    assert feeds["sr"] == 16_000 and feeds["input"].shape == (1, 576) and feeds["state"].dtype == np.float32


def test_the_page_says_what_is_slow_and_what_is_not_run(bench):
    import model_tables

    row = {"kind": "op", "difference": 0.0, "load": 9.0}
    times = {str(threads): {"rondel": 3e-6 * threads, "onnxruntime": 2e-6} for threads in (1, 2)}
    medians = {threads: {engine: 2 * seconds for engine, seconds in of.items()} for threads, of in times.items()}
    rows = [row | {"name": "Slow", "seconds": medians, "fastest": times}, row | {"name": "Refused", "error": "no kernel"}]
    found = {"machine": {"processor": "P", "cores": 2, "date": "D"}, "versions": {"rondel": "1", "onnxruntime": "2"}, "rows": rows}
    page = model_tables.page(found, 40, 1000)
    assert "*fastest* above 1.1, with one thread and with two: Slow (1.50, 3.00)." in page
    assert "ONNX Runtime does not run: Refused." in page and "other work ran beside it" in page
    assert "| ops | 1 | 1 | 1.50 | 1.50 | 1 |" in page and "| Refused |  | cannot run it |" in page
