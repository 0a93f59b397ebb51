"""rondel.train: steps against the optimizers' formulas in NumPy, clipping and schedules."""

import numpy as np
import pytest
from training_models import X, Y, initial, linear, mse_gradients

import rondel
from rondel import train

# The formulas of the optimizers' papers, and of ONNX's text.


def sgd(p, g, s, t, lr, momentum=0, nesterov=False, weight_decay=0):
    g = g + weight_decay * p
    s["v"] = momentum * s.get("v", 0) + g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def adam(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled=False):
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    corrected = lr * np.sqrt(1 - betas[1] ** (t + 1)) / (1 - betas[0] ** (t + 1))
    return p - corrected * s["m"] / (np.sqrt(s["v"]) + eps)


def adagrad(p, g, s, t, lr, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10):
    g = g + weight_decay * p
    s["h"] = s.get("h", initial_accumulator_value) + g * g
    return p - lr / (1 + t * lr_decay) * g / (np.sqrt(s["h"]) + eps)


CASES = {
    "sgd": (train.SGD(lr=0.1), sgd, {"lr": 0.1}),
    "sgd-decay": (train.SGD(lr=0.1, weight_decay=0.2), sgd, {"lr": 0.1, "weight_decay": 0.2}),
    "momentum": (train.SGD(lr=0.1, momentum=0.8, weight_decay=0.01), sgd, {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.01}),
    "nesterov": (train.SGD(lr=0.1, momentum=0.8, nesterov=True), sgd, {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    "adam": (train.Adam(lr=0.05), adam, {"lr": 0.05}),
    "adam-all": (train.Adam(0.05, (0.7, 0.9), 1e-3, 0.1), adam, {"lr": 0.05, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    "adamw": (train.AdamW(lr=0.05, weight_decay=0.5), adam, {"lr": 0.05, "weight_decay": 0.5, "decoupled": True}),
    "adagrad": (train.Adagrad(lr=0.1), adagrad, {"lr": 0.1}),
    "adagrad-all": (
        train.Adagrad(0.1, 0.3, 0.01, 0.5, 1e-3),
        adagrad,
        {"lr": 0.1, "lr_decay": 0.3, "weight_decay": 0.01, "initial_accumulator_value": 0.5, "eps": 1e-3},
    ),
}


def follow(update, settings, proto, steps, gradients_of=lambda g: g, rates=None):
    """(losses, parameters after `steps` steps), in f64."""
    p, states, losses = initial(proto), {"w": {}, "b": {}}, []
    for t in range(steps):
        loss, gradients = mse_gradients(p, X, Y)
        gradients = gradients_of(gradients)
        losses.append(loss)
        now = settings if rates is None else {**settings, "lr": settings["lr"] * rates(t)}
        p = {name: update(p[name], gradients[name], states[name], t, **now) for name in p}
    return losses, p


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_follow_the_formulas(case, dtype):
    optimizer, update, settings = CASES[case]
    proto = linear(dtype)
    trainer = train.Trainer(proto, "mse", optimizer)
    batch = {"x": X.astype(dtype), "target": Y.astype(dtype)}
    losses = [trainer.step(batch) for _ in range(7)]
    want_losses, want = follow(update, settings, proto, 7)
    # Attributes of ONNX's optimizers are f32, even in an f64 model.
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if dtype is np.float32 else {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(losses, want_losses, **tolerance)
    for name, x in trainer.parameters.items():
        assert x.dtype == dtype and x.shape == want[name].shape
        np.testing.assert_allclose(x, want[name], **tolerance)
    assert trainer.steps == 7 and isinstance(losses[0], float)


def test_options_are_the_trainers_own_and_the_step_is_what_is_written(tmp_path):
    options = rondel.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "step.onnx")
    trainer = train.Trainer(linear(), "mse", sess_options=options)
    written = (tmp_path / "step.onnx").read_bytes()
    options.add_session_config_entry("session.no_such_entry", "1")  # no longer of the trainer
    trainer.evaluate({"x": X, "target": Y})
    trainer.gradients({"x": X, "target": Y})
    trainer.predict({"x": X})
    assert (tmp_path / "step.onnx").read_bytes() == written
    assert options.optimized_model_filepath == str(tmp_path / "step.onnx")


def test_gradients_are_clipped_together():
    def clipped(g):
        norm = np.sqrt(sum((x**2).sum() for x in g.values()))
        assert norm > 0.05
        return {name: x * 0.05 / norm for name, x in g.items()}

    proto = linear()
    trainer = train.Trainer(proto, "mse", train.SGD(lr=1.0), clip_norm=0.05)
    for _ in range(3):
        trainer.step({"x": X, "target": Y})
    _, want = follow(sgd, {"lr": 1.0}, proto, 3, clipped)
    for name, x in trainer.parameters.items():
        np.testing.assert_allclose(x, want[name], rtol=2e-5, atol=2e-6)


def test_a_small_gradient_is_not_clipped():
    batch = {"x": X, "target": Y}
    plain, clipped = (train.Trainer(linear(), "mse", train.SGD(lr=0.1), **how) for how in ({}, {"clip_norm": 1e6, "clip_value": 1e6}))
    plain.step(batch), clipped.step(batch)
    for name, x in plain.parameters.items():
        assert np.array_equal(x, clipped.parameters[name])


def test_gradients_are_clipped_one_by_one():
    proto = linear()
    trainer = train.Trainer(proto, "mse", train.SGD(lr=1.0), clip_value=0.02)
    for _ in range(3):
        trainer.step({"x": X, "target": Y})
    _, want = follow(sgd, {"lr": 1.0}, proto, 3, lambda g: {n: np.clip(x, -0.02, 0.02) for n, x in g.items()})
    for name, x in trainer.parameters.items():
        np.testing.assert_allclose(x, want[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("schedule", [lambda step: 1 / (1 + step), [1, 1 / 2, 1 / 3, 1 / 4]])
def test_the_schedule_multiplies_the_rate(schedule):
    proto = linear()
    trainer = train.Trainer(proto, "mse", train.Adam(lr=0.1), schedule=schedule)
    for step in range(6):
        factor = schedule(step) if callable(schedule) else schedule[min(step, 3)]
        assert trainer.learning_rate == pytest.approx(0.1 * factor)
        trainer.step({"x": X, "target": Y})
    rates = schedule if callable(schedule) else lambda t: schedule[min(t, 3)]
    _, want = follow(adam, {"lr": 0.1}, proto, 6, rates=rates)
    for name, x in trainer.parameters.items():
        np.testing.assert_allclose(x, want[name], rtol=2e-5, atol=2e-6)
