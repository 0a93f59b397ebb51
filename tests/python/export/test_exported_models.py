"""Models as exporters write them (tests/exported), with loops or of scikit-learn, beside ONNX Runtime, for several sizes each; and whether their loops run natively."""

from pathlib import Path

import numpy as np
import onnx.reference
import onnxruntime
import pytest
import rondel
from models import run_as

from exported.feeds import feeds_of

FOLDER = Path(__file__).parents[2] / "exported"
MODELS = {f"{p.parent.name}/{p.stem}": p for p in sorted(FOLDER.glob("*/*.onnx"))}
NATIVELY = "natively, as a whole"

#: The least size, 0 elsewhere. torch.export's models are made for extents of at least 1 (ONNX Runtime ends the whole process at some
#: scans of nothing), and neither ONNX Runtime nor onnx's reference runs what scans less than one element.
#: ONNX Runtime refuses no rows in some models of scikit-learn; test_learned_models.py has such batches.
LEAST = {"sklearn": 1, "torch_export": 1, "torch_export/ctc_forward": 2, "torch_export/viterbi": 2, "torch_export/edit_distance": 3}

#: Where a loop makes no trip, ONNX Runtime's stack of nothing has extent 0 on each unknown axis; ours is as long as an item.
EMPTY = {"tensorflow/keras_peephole", "tensorflow/masked_gru", "tensorflow/peephole_lstm"}


def options_for(name):
    options = rondel.SessionOptions()
    if name == "onnxscript/greedy_gru":  # `for ... break`, which onnxscript writes without an initial condition
        options.loop_cond = "honour"
    return options


def peer(path):
    """A function of feeds: ONNX Runtime's results; onnx's own where that fails; None if both refuse the feeds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(str(path), options)

    def run(feeds):
        for runtime in (lambda: session, lambda: onnx.reference.ReferenceEvaluator(str(path))):
            try:
                return runtime().run(None, feeds)
            except Exception:
                continue
        return None

    return run


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model(name, monkeypatch):
    run_as(monkeypatch, "2")
    path = MODELS[name]
    ours, theirs = rondel.InferenceSession(str(path), options_for(name)), peer(path)
    how = {}
    least = LEAST.get(name, LEAST.get(path.parent.name, 0))
    for size in [n for n in (0, 1, 2, 5, 17, 40) if n >= least]:
        feeds = feeds_of(path, size, seed=size)
        want = theirs(feeds)
        if want is None:
            with pytest.raises(rondel.CallerError):
                ours.run(None, feeds)
            continue
        for _ in range(2):
            for got, expected in zip(ours.run(None, feeds), want, strict=True):
                agree(got, expected, only_sizes=name in EMPTY and size == 0)
        how |= ours.how_it_ran()
    assert [text for text in how.values() if text != NATIVELY] == []


def agree(got, want, only_sizes):
    if isinstance(got, list):  # of dicts, one for each row
        assert [list(row) for row in got] == [list(row) for row in want]
        np.testing.assert_allclose([list(row.values()) for row in got], [list(row.values()) for row in want], rtol=1e-4, atol=1e-5)
        return
    want = np.asarray(want)
    assert got.dtype == want.dtype
    if only_sizes:
        assert got.size == want.size
        return
    assert got.shape == want.shape
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(got, want)
