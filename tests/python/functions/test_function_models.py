"""rondel.functions.trace: Python functions of arrays as models, run here and by ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest

import rondel
from rondel.functions import onnx as f
from rondel.functions import trace

X = np.array([1.0, 2.0, 3.0])
W = np.eye(3) * 0.5


def recurrent(x, steps, *more):
    """A loop with a branch and weights."""

    def body(i, go, x):
        return go, f.tanh(W @ x) + f.if_(i > 1, then_branch=lambda: x, else_branch=lambda: x * 2), x[0]

    x, firsts = f.loop(steps, True, x, body=body)
    return x, firsts, f.loop(2, True, 7, body=lambda i, go, n: (go, n + i))


def test_a_function_as_a_model(tmp_path, recwarn, capfd):
    session = trace(recurrent, X, 3)
    assert [(p.name, p.type, p.shape) for p in session.get_inputs()] == [("x", "tensor(double)", [None]), ("steps", "tensor(int64)", [])]
    assert [p.name for p in session.get_outputs()] == ["output0", "output1", "output2"]
    path = tmp_path / "recurrent.onnx"
    rondel.export(session, path)
    onnx.checker.check_model(str(path), full_check=True)
    other = onnxruntime.InferenceSession(str(path))
    for steps in (0, 3, 5):
        expected = recurrent(X[:3], np.int64(steps))
        for run in (session.run, other.run):
            for x, y in zip(run(None, {"x": X, "steps": np.array(steps)}), expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-14)
    assert capfd.readouterr().err == "" and not recwarn.list


def test_weights_are_those_of_now():
    w = np.array([2.0, 3.0, 4.0])
    session = trace(lambda x: x * w, X)
    expected = X * w
    w[:] = 0
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], expected)
    assert len(session.get_inputs()) == 1


def test_names_and_examples():
    session = trace(lambda add_0, *rest: f.concat(add_0 + 1, *rest, axis=0), X, X, [1.5])
    assert [p.name for p in session.get_inputs()] == ["add_0", "rest0", "rest1"]
    np.testing.assert_array_equal(session.run(None, {"add_0": X, "rest0": X, "rest1": np.ones(1)})[0], [2, 3, 4, 1, 2, 3, 1])
    lengths = trace(lambda s: f.sequence_length(s), [X, X])
    assert lengths.run(None, {"s": [X]})[0] == 1


def test_a_gradient_of_a_function():
    session = trace(lambda x: f.reduce_sum(x * x, keepdims=0), X)
    gradient = rondel.InferenceSession(rondel.grad(session, wrt=["x"]))
    np.testing.assert_array_equal(gradient.run(["grad_x"], {"x": X})[0], 2 * X)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: trace(lambda x, y: x, X), "1 examples are given for <lambda>(x, y)"),
        (lambda: trace(lambda x: None, X), "the traced function gives None as result 0"),
        (lambda: trace(lambda x: x, object()), "the example for 'x'"),
    ],
)
def test_wrong_calls(call, text):
    with pytest.raises(rondel.CallerError) as raised:
        call()
    assert text in str(raised.value)


def test_all_functions_that_take_a_model_take_a_session(tmp_path):
    session = trace(recurrent, X, 3)
    feeds = {"x": X, "steps": np.array(3)}
    expected = session.run(None, feeds)
    assert rondel.inspect(session).runs and rondel.trace_passes(session)
    assert rondel.inspection.schedule_text(session) and rondel.inspection.graph_html(session)
    again = [rondel.InferenceSession(session).run(None, feeds), rondel.backend.prepare(session).run(feeds)]
    rondel.compile_model(session, tmp_path / "model.so", shapes={"x": [3], "steps": []})
    again.append(rondel.load_compiled(tmp_path / "model.so").run(None, feeds))
    for found in again:
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    rows = rondel.prediction.Predictor(trace(lambda x: x * 2, X))({"x": X})
    np.testing.assert_array_equal(rows["output0"], X * 2)
    with pytest.raises(rondel.UnsupportedError, match="needs the graph of the model, which a compiled model does not have"):
        rondel.inspect(rondel.load_compiled(tmp_path / "model.so"))
    with pytest.raises(rondel.CallerError, match=r"the model is a class \(InferenceSession\)"):
        rondel.inspect(rondel.InferenceSession)


def test_what_is_no_function_is_refused():
    with pytest.raises(rondel.CallerError, match="trace: the function is 3; expected a function"):
        trace(3, 1.0)
