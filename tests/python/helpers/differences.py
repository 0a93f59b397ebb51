"""Gradients against central differences in float64, and models in other runtimes."""

import numpy as np
import onnx
import onnxruntime
import rondel
from onnx.reference import ReferenceEvaluator

SMOOTH = 1e-6  #: the largest relative error of a smooth function
STEP = 1e-5  #: relative step of central differences


def is_float(x):
    return x.dtype in (np.float64, np.float32)


def feeds_of(inputs):
    return {f"x{k}": x for k, x in enumerate(inputs) if x is not None and is_float(x)}


def central_differences(run, feeds, name, seeds):
    """The gradient of sum(output * seed) with respect to one input, element by element."""
    x = feeds[name]
    gradient = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = STEP * max(1.0, abs(x[at]))
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[at] += sign * step
            ends.append(sum(float((y * s).sum()) for y, s in zip(run({**feeds, name: moved}), seeds)))
        gradient[at] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def check_gradient(model, feeds, rng, tolerance=SMOOTH, outputs=None):
    """All gradients of a model against central differences, with random seeds; the model with its gradient is valid.

    Feeds that are not floats stay constant.
    """
    by = [name for name, x in feeds.items() if is_float(x)]
    session = rondel.InferenceSession(model)
    names = [o.name for o in session.get_outputs()] if outputs is None else outputs
    run = lambda f: session.run(names, f)  # noqa: E731
    values = run(feeds)
    assert all(np.isfinite(y).all() for y in values), "a case with values that have no gradient"
    seeds = [rng.standard_normal(y.shape) for y in values]
    made = rondel.grad(model, wrt=by, outputs=names, seed=[f"seed_{n}" for n in names])
    onnx.checker.check_model(made, full_check=True)
    fed = {**feeds, **{f"seed_{n}": s for n, s in zip(names, seeds)}}
    got = rondel.InferenceSession(made.SerializeToString()).run([f"grad_{n}" for n in by], fed)
    for name, gradient in zip(by, got):
        want = central_differences(run, feeds, name, seeds)
        assert gradient.shape == want.shape and gradient.dtype == feeds[name].dtype
        scale = 1 + np.abs(want).max(initial=0)
        np.testing.assert_allclose(gradient / scale, want / scale, atol=tolerance, rtol=0, err_msg=name)
    return made, fed, got


def elsewhere(model, feeds):
    """The outputs in ONNX Runtime, or in onnx's reference evaluator if ONNX Runtime lacks a kernel."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:  # several exception types
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        return ReferenceEvaluator(model).run(None, feeds)
    return session.run(None, feeds)
