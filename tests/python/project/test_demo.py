"""Each part of the demo, on smaller inputs, runs and agrees with its reference."""

import importlib
import shutil
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def demo(monkeypatch):
    """Imports a module of examples/demo by name."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "demo"))
    return importlib.import_module


def assert_agrees(outcome):
    assert outcome.faults == []
    assert outcome.difference <= outcome.tolerance
    assert outcome.rondel_seconds > 0 and outcome.onnxruntime_seconds > 0


def test_digits_agree_with_scikit_learn(demo):
    pytest.importorskip(
        "skl2onnx", reason="the demo's own packages: see tools/requirements.txt"
    )
    assert_agrees(demo("digits_knn").run(quick=True))


def test_heat_agrees_with_numpy(demo):
    pytest.importorskip(
        "onnxscript", reason="the demo's own packages: see tools/requirements.txt"
    )
    assert_agrees(demo("heat").run(quick=True))


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="needs espeak-ng, a Debian package")
def test_speech_agrees_with_onnxruntime(demo):
    pytest.importorskip(
        "scipy", reason="the demo's own packages: see tools/requirements.txt"
    )
    assert_agrees(demo("speech").run(quick=True))


def test_the_table_fits_and_the_exit_code_tells(demo, monkeypatch, capsys):
    pytest.importorskip(
        "onnxscript", reason="the demo's own packages: see tools/requirements.txt"
    )
    main = demo("demo").main
    assert main(["--only", "heat", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    assert "\033" not in printed

    heat = demo("heat")
    truth = heat.settle_in_numpy
    monkeypatch.setattr(heat, "settle_in_numpy", lambda **feeds: (truth(**feeds)[0] + 1e-3, 1))
    assert main(["--only", "heat", "--quick"]) == 1

    monkeypatch.setattr(heat, "build", lambda: b"not a model")
    assert main(["--only", "heat", "--quick"]) == 2
    assert "could not run" in capsys.readouterr().out


def test_difference_is_infinite_where_nothing_can_be_compared(demo):
    difference = demo("side_by_side").largest_difference
    assert difference([1.0, 2.0], [1.0, 2.5]) == 0.5
    assert difference([1.0, np.nan], [1.0, np.nan]) == 0.0
    assert difference([1.0, np.nan], [1.0, 2.0]) == np.inf
    assert difference([1.0], [1.0, 2.0]) == np.inf
    assert difference([np.inf], [np.inf]) == 0.0
