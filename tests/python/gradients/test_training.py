"""rondel.train: losses, what is trained and what is carried, parts of a batch, fit and evaluation, and wrong use."""

import signal
import threading
import time
import typing
import warnings

import models
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from training_models import LABELS, RANDOM, X, Y, batch_norm, classifier, cross_entropy, deep, initial, linear, mse_gradients

import rondel
from rondel import train
from rondel.train import reach


# ---- losses


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("loss", [train.CrossEntropy(output="logits"), train.NegativeLogLikelihood(output="log")])
def test_losses_of_labels(loss, opset):
    proto = classifier(opset)
    trainer = train.Trainer(proto, loss, train.SGD(lr=0.5))
    w = initial(proto)["w"]
    for _ in range(3):
        want, gradient = cross_entropy(w, X, LABELS)
        assert trainer.step({"x": X, "labels": LABELS}) == pytest.approx(want, rel=1e-5)
        w = w - 0.5 * gradient
    np.testing.assert_allclose(trainer.parameters["w"], w, rtol=2e-5, atol=2e-6)


def test_ignored_labels_and_sums():
    proto = classifier()
    ignoring = train.Trainer(proto, train.CrossEntropy("logits", ignore_index=-1), train.SGD(lr=0.5))
    labels = LABELS.copy()
    labels[4:] = -1
    assert ignoring.step({"x": X, "labels": labels}) == pytest.approx(cross_entropy(initial(proto)["w"], X[:4], LABELS[:4])[0], rel=1e-5)
    summing = train.Trainer(proto, train.CrossEntropy("logits", "classes", "sum"), "sgd")
    assert summing.batch_inputs == ["x", "classes"]
    assert summing.step({"x": X, "classes": LABELS}) == pytest.approx(12 * cross_entropy(initial(proto)["w"], X, LABELS)[0], rel=1e-5)


def classes_of_places():
    """A model of logits [N, classes, T]."""
    proto = models.model("places (float[N, 2, T] x) => (float[N, 2, T] logits) { logits = Mul (x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((2, 1), np.float32), "w"))
    return proto


@pytest.mark.parametrize("loss", [train.CrossEntropy, train.NegativeLogLikelihood])
def test_other_numbers_of_labels_than_of_rows_are_refused(loss):
    trainer = train.Trainer(classifier(), loss("logits"), "sgd")
    for count in (1, 5, 15, 24):
        for use in (trainer.step, trainer.gradients, trainer.evaluate):
            with pytest.raises(rondel.CallerError, match=f"'loss/labels' .*: {count} elements do not fill a shape of 12"):
                use({"x": X, "labels": np.resize(LABELS, count)} if use != trainer.evaluate else [{"x": X, "labels": np.resize(LABELS, count)}])
    places = train.Trainer(classes_of_places(), loss(), "sgd")
    x = RANDOM.normal(size=(4, 2, 6)).astype(np.float32)
    places.step({"x": x, "labels": np.resize(LABELS, (4, 6))})
    for shape in ((6, 4), (4, 1), (3, 6), (24, 1)):
        with pytest.raises(rondel.CallerError, match="loss/(shape of )?labels'"):
            places.step({"x": x, "labels": np.resize(LABELS, shape)})


def test_the_loss_may_be_an_output_of_the_model():
    proto = models.model(
        "net (float[N, 3] x, float[N, 2] t) => (float loss, float[N, 2] y) { y = MatMul (x, w) d = Sub (y, t) s = Abs (d) loss = ReduceMean <keepdims = 0> (s) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((3, 2), np.float32), "w"))
    trainer = train.Trainer(proto, "loss", train.SGD(lr=0.1))
    losses = trainer.fit({"x": X, "t": Y}, epochs=5, progress=False)
    assert losses == sorted(losses, reverse=True)
    assert trainer.evaluate({"x": X, "t": Y}) < losses[-1]
    (y,) = trainer.predict({"x": X, "t": Y}, "y")
    np.testing.assert_allclose(y, X @ trainer.parameters["w"], rtol=1e-4, atol=1e-5)


# ---- which initializers are trained


def quantized_net(text, **initializers):
    proto = models.model(text, domains={"com.microsoft": 1})
    proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in initializers.items())
    return proto


BYTES, SCALES, SHIFT = np.ones((4, 2), np.uint8), np.ones(2, np.float32), np.zeros(2, np.float32)


def test_scales_of_quantized_weights_are_settings():
    """Trained if they are named."""
    few = dict(w=np.ones((2, 1, 8), np.uint8), s=np.ones((2, 1), np.float32), z=np.ones((2, 1), np.float32))
    for text, weights in (
        ("f (float[N, 4] x) => (float[N, 2] y) { d = DequantizeLinear <axis = 1> (w, s)  p = MatMul (x, d)  y = Add (p, b) }", dict(w=BYTES, s=SCALES)),
        ("f (float[N, 4] x) => (float[N, 2] y) { p = com.microsoft.DynamicQuantizeMatMul (x, w, s)  y = Add (p, b) }", dict(w=BYTES, s=SCALES)),
        ("f (float[N, 16] x) => (float[N, 2] y) { p = com.microsoft.MatMulNBits <K = 16, N = 2, block_size = 16> (x, w, s, z)  y = Add (p, b) }", few),
    ):
        proto = quantized_net(text, b=SHIFT, **weights)
        assert list(train.Trainer(proto, "mse").parameters) == ["b"], text
        assert set(train.Trainer(proto, "mse", trained=["b", "s"]).parameters) == {"b", "s"}


def test_a_weight_behind_a_quantization_is_named_in_a_warning():
    text = """f (float[N, 4] x) => (float[N, 2] y) <float s = {0.5}, uint8 z = {3}> {
        q = QuantizeLinear (w, s, z)  d = DequantizeLinear (q, s, z)  p = MatMul (x, d)  y = Add (p, b) }"""
    proto = quantized_net(text, w=np.ones((4, 2), np.float32), b=SHIFT)
    with pytest.warns(rondel.ModelWarning, match="'w' cannot change: no gradient passes what lies between .QuantizeLinear") as caught:
        trainer = train.Trainer(proto, "mse")
    assert caught[0].filename == __file__ and list(trainer.parameters) == ["b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(train.Trainer(proto, "mse", frozen="w").parameters) == ["b"]


#: Where a gradient ends: the text of nodes from x and the constants `a` and `b` to y.
ENDS = {
    "a comparison": "g = Greater (x, a) f = CastLike (g, x) y = Mul (x, f)",
    "integers": "i = Cast <to = 7> (b) y = Reshape (x, i)",
    "a rounding": "f = Floor (a) y = Add (x, f)",
    "a large one": "f = Sign (large) s = ReduceMax <keepdims = 0> (f) y = Mul (x, s)",
    "a branch": """y = If (flag) <then_branch = g1 () => (t) { g = Greater (x, a) f = CastLike (g, x) t = Mul (x, f) },
        else_branch = g2 () => (e) { f = Round (a) e = Add (x, f) }>""",
    "a branch in a loop": """y = Loop (three, , x) <body = trip (int64 i, bool go, s) => (bool on, s1) { on = Identity (go) s1 = If (flag)
        <then_branch = g1 () => (t) { g = Greater (s, a) f = CastLike (g, s) t = Mul (s, f) }, else_branch = g2 () => (e) { e = Mul (s, w) }> }>""",
    "a condition of a state": """y, last = Loop (three, , x, a) <body = trip (int64 i, bool go, s, v) => (bool on, s1, v1) {
        on = Identity (go) g = Greater (s, v) f = CastLike (g, s) s1 = Mul (s, f) v1 = Mul (v, v) }>""",
}


@pytest.mark.parametrize("what", ENDS)
@pytest.mark.filterwarnings("ignore::rondel.ModelWarning")
def test_what_no_gradient_reaches_stays_as_it_is(what, tmp_path):
    text = f"net (float[N, 2] x, bool flag) => (float[N, 2] z) <int64 three = {{3}}> {{ {ENDS[what]} z = MatMul (y, w) }}"
    proto = models.model(text)
    for name, value in dict(a=np.full(2, 0.1), b=np.array([-1, 2]), large=np.ones((200, 200)), w=np.eye(2)).items():
        proto.graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), name))
    trainer = train.Trainer(proto, "mse", train.AdamW(lr=0.5, weight_decay=0.1))
    assert list(trainer.parameters) == ["w"]
    batch = {"x": X[:, :2], "flag": True, "target": Y}
    losses = [trainer.step(batch) for _ in range(5)]
    assert losses[-1] < losses[0]
    trainer.update(trainer.gradients(batch))
    assert trainer.evaluate([batch]) < losses[0]
    trainer.write_model(tmp_path / "net.onnx")
    written, given = (initial(p) for p in (onnx.load(tmp_path / "net.onnx"), proto))
    assert all(np.array_equal(written[name], x) != (name == "w") for name, x in given.items())


def test_what_is_named_and_cannot_be_trained_is_told():
    proto = models.model("net (float[N, 3] x) => (float[N, 3] y) { f = Floor (a) p = Add (x, f) y = Mul (p, w) }")
    for name in ("a", "w", "unused"):
        proto.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), name))
    with pytest.warns(rondel.ModelWarning) as caught:
        trainer = train.Trainer(proto, "mse", trained="*")
    assert list(trainer.parameters) == ["w"] and [w.filename for w in caught] == [__file__] * 2
    first, second = (str(w.message) for w in caught)
    assert "'unused' cannot change: the loss does not depend on it" in first and "'a' cannot change: no gradient passes" in second
    with pytest.warns(rondel.ModelWarning), pytest.raises(rondel.CallerError, match="nothing to train: no gradient reaches 'a', 'unused'"):
        train.Trainer(proto, "mse", trained=["unused", "a"])


def test_parameters_have_the_order_of_the_model():
    names = train.Trainer(deep(), "mse", trained=["w2", "two", "w1"]).parameters  # sets have another order in each process
    assert list(names) == ["two", "w1", "w2"]


def test_weights_are_trained_and_settings_are_not():
    trainer = train.Trainer(deep(), "mse", "sgd")
    assert list(trainer.parameters) == ["w1", "w2"]
    assert list(train.Trainer(deep(), "mse", "sgd", trained=["two", "w?"]).parameters) == ["two", "w1", "w2"]


def test_frozen_parameters_stay_bit_by_bit():
    proto = deep()
    trainer = train.Trainer(proto, "mse", train.Adam(lr=0.1, weight_decay=0.1), frozen="w1")
    before = trainer.parameters["w2"].copy()
    trainer.fit({"x": X, "target": Y}, epochs=3, batch_size=4, progress=False)
    assert list(trainer.parameters) == ["w2"] and not np.array_equal(before, trainer.parameters["w2"])
    path_free = trainer.predict({"x": X})[0]
    w1 = initial(proto)["w1"]
    np.testing.assert_allclose(path_free, 2 * np.maximum(X @ w1, 0) @ trainer.parameters["w2"], rtol=1e-4, atol=1e-4)


def test_weights_that_a_loop_captures():
    proto = models.model(
        """
        rnn (float[T, 2, 3] x) => (float[2, 3] y) <float[2, 3] zeros = {0, 0, 0, 0, 0, 0}> {
          y = Scan <num_scan_inputs = 1, body = cell (float[2, 3] h, float[2, 3] s) => (float[2, 3] h1) { a = MatMul (h, w) b = Add (a, s) h1 = Tanh (b) }> (zeros, x)
        }"""
    )
    proto.graph.initializer.append(numpy_helper.from_array(0.3 * np.eye(3, dtype=np.float32), "w"))
    plain, checkpointed = (train.Trainer(proto, "mse", train.Adam(0.05), frozen=["zeros"], checkpoint=how) for how in ("none", "sqrt"))
    assert list(plain.parameters) == ["w"]
    batch = {"x": RANDOM.normal(size=(5, 2, 3)).astype(np.float32), "target": np.zeros((2, 3), np.float32)}
    losses = [plain.step(batch) for _ in range(20)]
    assert losses[-1] < losses[0]
    np.testing.assert_allclose([checkpointed.step(batch) for _ in range(20)], losses, rtol=1e-5)


def test_a_model_that_has_the_names_of_a_step():
    proto = models.model(
        'net (float[N, 3] x, float "loss", float updates) => (float[N, 2] y) { a = MatMul (x, w) b = Add (a, "loss") y = Add (b, updates) }'.replace('"loss"', "loss")
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((3, 2), np.float32), "w"))
    trainer = train.Trainer(proto, "mse", "adam")
    assert trainer.batch_inputs == ["x", "loss", "updates", "target"]
    batch = {"x": X, "loss": np.float32(1), "updates": np.float32(2), "target": Y}
    assert trainer.step(batch) == pytest.approx(np.mean((X @ np.ones((3, 2)) + 3 - Y) ** 2), rel=1e-5)


# ---- random ops and batch normalization


def test_dropout_is_in_training_mode_during_steps_only():
    proto = models.model("net (float[N, 200] x) => (float[N, 200] y) <float ratio = {0.5}> { p = Mul (x, w) y = Dropout (p, ratio) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(200, np.float32), "w"))
    batch = {"x": np.ones((1, 200), np.float32), "target": np.zeros((1, 200), np.float32)}
    trainers = [train.Trainer(proto, "mse", train.SGD(lr=0.0), seed=seed) for seed in (1, 1, 2)]
    losses = [[t.step(batch) for _ in range(3)] for t in trainers]
    assert losses[0] == losses[1] != losses[2] and len(set(losses[0])) > 1  # masks depend on the seed and the step
    assert all(1 < loss < 3 for loss in losses[0])  # elements that are kept are doubled
    assert trainers[0].evaluate(batch) == 1
    off = train.Trainer(proto, "mse", "sgd", training_mode=False)
    assert off.step(batch) == 1


def test_running_statistics_are_carried(tmp_path):
    path = tmp_path / "net.onnx"
    onnx.save(batch_norm(), path)
    trainer = train.Trainer(path, "mse", train.SGD(lr=0.1))
    assert list(trainer.parameters) == ["scale", "bias", "w"]
    mean, var = np.full(3, 0.5), np.full(3, 2.0)
    for rows in (X[:6], X[6:], X):
        trainer.step({"x": rows, "target": rows})
        mean, var = 0.75 * mean + 0.25 * rows.mean(0), 0.75 * var + 0.25 * rows.var(0)
    np.testing.assert_allclose(trainer.running_statistics["mean"], mean, rtol=1e-5)
    np.testing.assert_allclose(trainer.running_statistics["var"], var, rtol=1e-5)
    trainer.write_model()
    written = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    assert np.array_equal(written["mean"], trainer.running_statistics["mean"])
    assert np.array_equal(written["w"], trainer.parameters["w"])
    (y,) = rondel.InferenceSession(path).run(None, {"x": X})
    assert np.array_equal(y, trainer.predict({"x": X})[0])


def test_an_update_copies_the_running_statistics_that_it_is_given():
    trainer = train.Trainer(batch_norm(), "mse", train.SGD(lr=0.1))
    gradients = trainer.gradients({"x": X, "target": X})
    trainer.update(gradients)
    held, before = trainer.running_statistics["mean"], trainer.running_statistics["mean"].copy()
    (y,) = trainer.predict({"x": X})
    for x in gradients.running_statistics.values():
        x[...] = 0
    assert np.array_equal(held, before) and np.array_equal(trainer.running_statistics["mean"], before)
    assert np.array_equal(trainer.predict({"x": X})[0], y)


def test_frozen_running_statistics_are_those_of_inference():
    proto = batch_norm()
    trainer = train.Trainer(proto, "mse", train.SGD(lr=0.1), frozen=["mean", "var"])
    assert trainer.running_statistics == {}
    assert trainer.step({"x": X, "target": X}) == pytest.approx(np.mean(((X - 0.5) / np.sqrt(2 + 1e-5) - X) ** 2), rel=1e-5)
    (y,) = trainer.predict({"x": X})
    p = trainer.parameters
    np.testing.assert_allclose(y, ((X - 0.5) / np.sqrt(2 + 1e-5) * p["scale"] + p["bias"]) * p["w"], rtol=1e-4, atol=1e-5)


def test_a_trained_mean_has_no_running_statistics():
    trainer = train.Trainer(batch_norm(), "mse", train.SGD(lr=0.1), trained=["mean", "w"])
    assert list(trainer.parameters) == ["mean", "w"] and trainer.running_statistics == {}
    assert trainer.step({"x": X, "target": X}) == pytest.approx(np.mean(((X - 0.5) / np.sqrt(2 + 1e-5) - X) ** 2), rel=1e-5)


# ---- a step in two halves


def total(found, shares):
    """The sum of Gradients, each times its share."""
    sums = [{name: sum(s * g[k][name] for g, s in zip(found, shares)).astype(x.dtype) for name, x in found[0][k].items()} for k in (1, 2)]
    return train.Gradients(sum(s * g.loss for g, s in zip(found, shares)), *sums)


SPLIT = {
    "adam, clipped": (linear, "mse", train.Adam(0.05), {"clip_norm": 0.5, "clip_value": 0.3}),
    "momentum": (deep, "mse", train.SGD(0.1, 0.9, nesterov=True), {"schedule": [1.0, 0.5]}),
    "a sum": (linear, train.MeanSquaredError(reduction="sum"), train.Adagrad(0.1), {}),
}


@pytest.mark.parametrize("case", SPLIT)
def test_the_parts_of_a_batch_make_the_step_of_the_whole(case):
    model, loss, optimizer, more = SPLIT[case]
    whole, parted = (train.Trainer(model(), loss, optimizer, **more) for _ in range(2))
    for _ in range(5):
        parts = [{"x": X[rows], "target": Y[rows]} for rows in (slice(0, 7), slice(7, 9), slice(9, 12))]
        made = total([parted.gradients(part) for part in parts], parted.shares(parts))
        assert made.loss == pytest.approx(whole.step({"x": X, "target": Y}), rel=1e-5)
        parted.update(made)
        for name, x in whole.parameters.items():
            np.testing.assert_allclose(parted.parameters[name], x, rtol=1e-4, atol=1e-6)
    assert parted.steps == 5


def test_ignored_labels_have_no_share():
    labels = np.where(np.arange(12) < 5, -1, LABELS)
    whole, parted = (train.Trainer(classifier(), train.CrossEntropy("logits", ignore_index=-1), "sgd") for _ in range(2))
    parts = [{"x": X[rows], "labels": labels[rows]} for rows in (slice(0, 6), slice(6, 12))]
    assert parted.shares(parts) == [1 / 7, 6 / 7]
    made = total([parted.gradients(part) for part in parts], parted.shares(parts))
    assert made.loss == pytest.approx(whole.step({"x": X, "labels": labels}), rel=1e-5)


def test_the_halves_of_a_step_carry_running_statistics():
    whole, halves = (train.Trainer(batch_norm(), "mse", train.SGD(lr=0.1)) for _ in range(2))
    for rows in (X[:6], X[6:]):
        whole.step({"x": rows, "target": rows})
        halves.update(halves.gradients({"x": rows, "target": rows}))
    for name, x in whole.running_statistics.items():
        np.testing.assert_allclose(halves.running_statistics[name], x, rtol=1e-6)


def test_each_part_draws_its_own_numbers():
    proto = models.model("net (float[N, 200] x) => (float[N, 200] y) <float ratio = {0.5}> { p = Mul (x, w) y = Dropout (p, ratio) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(200, np.float32), "w"))
    batch = {"x": np.ones((1, 200), np.float32), "target": np.zeros((1, 200), np.float32)}
    trainer, other = (train.Trainer(proto, "mse", train.SGD(lr=0.0)) for _ in range(2))
    assert trainer.gradients(batch).loss != trainer.gradients(batch, part=1).loss
    assert trainer.gradients(batch).loss == other.step(batch)


def test_gradients_of_another_model_are_refused():
    trainer = train.Trainer(linear(), "mse", "sgd")
    good = trainer.gradients({"x": X, "target": Y})
    with pytest.raises(rondel.CallerError, match="the gradients are a dict; expected rondel.train.Gradients"):
        trainer.update(good.parameters)
    with pytest.raises(rondel.CallerError, match="the gradients are for 'w'; expected 'w', 'b'"):
        trainer.update(good._replace(parameters={"w": good.parameters["w"]}))
    with pytest.raises(rondel.CallerError, match=r"have 'b' as float64\[2\]; expected float32\[2\]"):
        trainer.update(good._replace(parameters={**good.parameters, "b": np.zeros(2)}))
    assert trainer.steps == 0


# ---- iterating over data


def test_fit_cuts_arrays_into_batches():
    seen = []

    class Watching(train.Trainer):
        def step(self, batch, run_options=None):
            seen.append(batch["x"].copy())
            return super().step(batch, run_options)

    def run(**how):
        seen.clear()
        Watching(linear(), "mse", "sgd").fit({"x": X, "target": Y}, epochs=2, batch_size=5, progress=False, **how)
        assert [len(x) for x in seen] == [5, 5, 2] * 2
        return np.concatenate(seen[:3]), np.concatenate(seen[3:])

    first, second = run()
    assert not np.array_equal(first, second)
    for epoch in (first, second):
        assert np.array_equal(np.sort(epoch, axis=0), np.sort(X, axis=0))
    assert all(np.array_equal(epoch, X) for epoch in run(shuffle=False))


def test_fit_takes_batches_and_functions():
    batches = [{"x": X[:6], "target": Y[:6]}, {"x": X[6:], "target": Y[6:]}]
    a, b = train.Trainer(linear(), "mse", "adam"), train.Trainer(linear(), "mse", "adam")
    assert a.fit(batches, epochs=3, progress=False) == b.fit(lambda: iter(batches), epochs=3, progress=False)
    assert a.steps == b.steps == 6
    assert len(a.fit(iter(batches), progress=False)) == 1


def test_evaluation_weighs_rows_and_changes_nothing():
    trainer = train.Trainer(linear(), "mse", "adam")
    whole = trainer.evaluate({"x": X, "target": Y})
    assert whole == pytest.approx(mse_gradients(initial(linear()), X, Y)[0], rel=1e-5)
    assert trainer.evaluate({"x": X, "target": Y}, batch_size=5) == pytest.approx(whole, rel=1e-6)
    assert trainer.steps == 0
    assert trainer.step({"x": X, "target": Y}) == pytest.approx(whole, rel=1e-6)


def test_evaluation_counts_labels_that_are_not_ignored():
    labels = LABELS.copy()
    labels[1:6] = -1
    batch = {"x": X, "labels": labels}
    trainer = train.Trainer(classifier(), train.CrossEntropy("logits", ignore_index=-1), "sgd")
    for size in (1, 2, 5):
        assert trainer.evaluate(batch, batch_size=size) == pytest.approx(trainer.evaluate(batch), rel=1e-5)
    summing = train.Trainer(classifier(), train.CrossEntropy("logits", "labels", "sum", ignore_index=-1), "sgd")
    assert summing.evaluate(batch, batch_size=5) == pytest.approx(summing.evaluate(batch), rel=1e-5)


SCALED = """scaled (float[2] scale, float[N, 3] x, float[N, 2] t) => (float[N, 2] y, float loss) {
  p = MatMul (x, w) y = Mul (p, scale) d = Sub (y, t) e = Mul (d, d) loss = ReduceMean <keepdims = 0> (e) }"""


@pytest.mark.parametrize("loss", ["loss", train.MeanSquaredError("y", "t")])
def test_inputs_without_rows_do_not_weigh(loss):
    proto = models.model(SCALED)
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((3, 2), np.float32), "w"))
    trainer = train.Trainer(proto, loss, train.SGD(lr=0.0))
    batches = [{"scale": np.ones(2, np.float32), "x": X[rows], "t": Y[rows]} for rows in (slice(0, 3), slice(3, 12))]
    whole = trainer.evaluate([{"scale": np.ones(2, np.float32), "x": X, "t": Y}])
    for given in (batches, [dict(reversed(batch.items())) for batch in batches]):
        assert trainer.shares(given) == [0.25, 0.75]
        assert trainer.evaluate(given) == pytest.approx(whole, rel=1e-6)
        assert trainer.fit(given, progress=False) == [pytest.approx(whole, rel=1e-6)]


def test_a_loss_of_inputs_with_other_numbers_of_rows():
    proto = models.model("""pairs (float[N] x, float[M] z) => (float loss) {
      a = Mul (x, w) s = ReduceMean <keepdims = 0> (a) t = ReduceMean <keepdims = 0> (z) loss = Mul (s, t) }""")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    trainer = train.Trainer(proto, "loss", train.SGD(lr=0.0))
    even, odd = {"x": X[:, 0], "z": X[:, 1]}, {"x": X[:, 0], "z": X[:4, 1]}
    trainer.evaluate([odd])
    for use in (trainer.shares, trainer.evaluate):
        with pytest.raises(rondel.CallerError, match="how much each batch counts in a mean is not known: of its rows, 'x' has 12, 'z' has 4"):
            use([even, odd])
    assert trainer.fit([even, odd], progress=False) == [pytest.approx((trainer.evaluate([even]) + trainer.evaluate([odd])) / 2, rel=1e-5)]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_of_an_epoch_is_that_of_all_rows(reduction):
    labels = LABELS.copy()
    labels[:7] = -1  # the first batch has no label
    squares, entropy = train.MeanSquaredError("logits", reduction=reduction), train.CrossEntropy("logits", reduction=reduction, ignore_index=-1)
    for loss, data in ((squares, {"x": X, "target": Y}), (entropy, {"x": X, "labels": labels})):
        trainer = train.Trainer(classifier(), loss, train.SGD(lr=0.0))
        (found,) = trainer.fit(data, batch_size=5, shuffle=False, progress=False)
        assert found == pytest.approx(trainer.evaluate(data), rel=1e-5)


@pytest.mark.parametrize("loss", [train.CrossEntropy, train.NegativeLogLikelihood])
@pytest.mark.parametrize("ignored", [None, -100])
def test_negative_labels_are_refused(loss, ignored):
    trainer = train.Trainer(classifier(), loss("logits", ignore_index=ignored), "sgd")
    labels = np.where(np.arange(len(X)) == 2, -1, LABELS)
    for use in (trainer.step, trainer.gradients, trainer.evaluate):
        with pytest.raises(rondel.CallerError, match=r"'labels' has the label -1; expected 0 to 1, .* see ignore_index"):
            use({"x": X, "labels": labels})


@pytest.mark.parametrize("loss", [train.CrossEntropy, train.NegativeLogLikelihood])
def test_labels_beyond_the_classes_are_refused(loss):
    trainer = train.Trainer(classifier(), loss("logits", ignore_index=255), "sgd")
    labels = np.where(np.arange(len(X)) == 2, 5, LABELS)
    with pytest.raises(rondel.CallerError, match=r"'labels' has the label 5; expected 0 to 1, the classes of the output \(255 is ignored"):
        trainer.step({"x": X, "labels": labels})
    trainer.step({"x": X, "labels": np.where(np.arange(len(X)) == 2, 255, LABELS)})


def test_progress_is_lines_in_a_file_and_a_bar_on_a_terminal(capsys, monkeypatch):
    data = {"x": X, "target": Y}
    trainer = train.Trainer(linear(), "mse", "sgd")
    (first, second) = trainer.fit(data, epochs=2, batch_size=4)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[:2] for line in lines] == [["epoch 1/2", f"loss {first:.4g}"], ["epoch 2/2", f"loss {second:.4g}"]]
    trainer.fit(data, progress=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    trainer.fit(data, batch_size=4)
    shown = capsys.readouterr().err
    assert shown.startswith("\repoch 1/1 [========                ] 1/3  loss ") and shown.endswith(" s\x1b[K\n")


# ---- parameters as arrays


def test_parameters_are_snapshots_that_cannot_be_written():
    trainer = train.Trainer(linear(), "mse", "adam")
    before = trainer.parameters["w"]
    copy = before.copy()
    for _ in range(3):
        trainer.step({"x": X, "target": Y})
    assert np.array_equal(before, copy) and not np.array_equal(before, trainer.parameters["w"])
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 1


def test_a_failed_step_changes_nothing():
    trainer = train.Trainer(classifier(), train.CrossEntropy("logits"), "adam")
    trainer.step({"x": X, "labels": LABELS})
    before = {name: x.copy() for name, x in trainer.parameters.items()}
    with pytest.raises(rondel.CallerError):
        trainer.step({"x": X, "labels": LABELS + 7})
    late = rondel.RunOptions()
    late.deadline = 0
    with pytest.raises(rondel.DeadlineExceeded):
        trainer.step({"x": X, "labels": LABELS}, late)
    assert trainer.steps == 1
    assert all(np.array_equal(x, before[name]) for name, x in trainer.parameters.items())
    trainer.step({"x": X, "labels": LABELS})
    assert trainer.steps == 2


@pytest.mark.parametrize("optimizer", [train.Adam(lr=0.01), train.SGD(lr=0.01, momentum=0.9)])
def test_a_step_without_enough_memory_leaves_old_or_new_values(optimizer, tmp_path):
    proto = models.model("""g (float[b, 100] x, float[b, 50] t) => (float loss) {
      y = Gemm (x, w, c) d = Sub (y, t) e = Mul (d, d) loss = ReduceMean <keepdims = 0> (e)
    }""")
    random = np.random.default_rng(0)
    for name, shape in {"w": (100, 50), "c": (50,)}.items():
        proto.graph.initializer.append(numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name))
    batch = {"x": random.normal(size=(4, 100)).astype(np.float32), "t": random.normal(size=(4, 50)).astype(np.float32)}

    def state(trainer):
        trainer.save(tmp_path / "state.npz")
        return dict(np.load(tmp_path / "state.npz"))

    trainer = train.Trainer(proto, "loss", optimizer)
    before = state(trainer)
    trainer.step(batch)
    after = state(trainer)
    refused = 0
    for budget in range(40_000, 100_000, 5000):
        trainer = train.Trainer(proto, "loss", optimizer, sess_options=models.options(max_memory_bytes=budget))
        try:
            trainer.step(batch)
        except rondel.LimitExceeded:
            refused += 1
        for name, value in state(trainer).items():
            assert np.array_equal(value, before[name]) or np.array_equal(value, after[name]), (budget, name)
    assert 2 < refused < 12


def test_ctrl_c_leaves_whole_steps():
    random = np.random.default_rng(5)
    proto = models.model("net (float[N, 400] x) => (float[N, 400] y) { a = MatMul (x, w1) b = Tanh (a) y = MatMul (b, w2) }")
    for name in ("w1", "w2"):
        proto.graph.initializer.append(numpy_helper.from_array(random.normal(size=(400, 400)).astype(np.float32) / 20, name))
    x = random.normal(size=(200, 400)).astype(np.float32)

    def trainer():
        return train.Trainer(proto, "mse", train.Adam(1e-3))

    interrupted = trainer()
    interrupted.step({"x": x, "target": x})
    main = threading.main_thread().ident
    threading.Thread(target=lambda: (time.sleep(0.3), signal.pthread_kill(main, signal.SIGINT))).start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            interrupted.step({"x": x, "target": x})
    other = trainer()
    for _ in range(interrupted.steps):
        other.step({"x": x, "target": x})
    assert all(np.array_equal(p, other.parameters[name]) for name, p in interrupted.parameters.items())


def test_lists_get_the_dtypes_of_the_inputs():
    a, b = train.Trainer(linear(), "mse", "adam"), train.Trainer(linear(), "mse", "adam")
    assert a.fit({"x": X.tolist(), "target": Y.tolist()}, batch_size=5, progress=False) == b.fit({"x": X, "target": Y}, batch_size=5, progress=False)


def test_losses_and_optimizers_show_all_of_their_arguments():
    assert repr(train.CrossEntropy(ignore_index=3)) == "CrossEntropy(output=None, target='labels', reduction='mean', ignore_index=3)"
    assert repr(train.MeanSquaredError("y")) == "MeanSquaredError(output='y', target='target', reduction='mean')"
    assert repr(train.SGD(0.1, 0.9)) == "SGD(lr=0.1, weight_decay=0.0, momentum=0.9, nesterov=False)"


def test_annotations_can_be_read():
    for kind in (train.Optimizer, train.SGD, train.Adam, train.AdamW, train.Adagrad):
        assert typing.get_type_hints(kind.update)["rate"] is str


def test_targets_are_not_broadcast_against_outputs():
    trainer = train.Trainer(linear(), "mse", "adam")
    with pytest.raises(rondel.CallerError, match="node 'loss/target'"):
        trainer.step({"x": X, "target": Y[:1]})


def test_a_network_is_trained(tmp_path):
    from rondel.network import DataType, MatrixOperation, Network

    n = Network()
    x = n.add_input("x", DataType.FLOAT, (12, 3))
    w = n.add_constant((3, 2), np.ones((3, 2), np.float32)).get_output(0)
    y = n.add_matrix_multiply(x, MatrixOperation.NONE, w, MatrixOperation.NONE).get_output(0)
    y.name = "y"
    n.mark_output(y)
    trainer = train.Trainer(n, "mse", train.SGD(lr=0.1))
    losses = [trainer.step({"x": X, "target": Y}) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    trainer.write_model(tmp_path / "network.onnx")
    assert np.array_equal(rondel.InferenceSession(tmp_path / "network.onnx").run(None, {"x": X})[0], trainer.predict({"x": X})[0])


# ---- misuse


def make(*args, **more):
    return lambda: train.Trainer(*args, **more)


MADE = train.Trainer(linear(), "mse", "adam")
DATA = {"x": X, "target": Y}


@pytest.mark.parametrize(
    "wrong, message",
    [
        (make(linear(), "msE"), "loss is 'msE', which is no loss and no output; did you mean 'mse'"),
        (make(linear(), 3), "loss is 3; expected a loss such as"),
        (make(linear(), "y"), "the output 'y' is no scalar"),
        (make(classifier(), "mse"), "the model has 2 outputs; name the one for MeanSquaredError"),
        (make(classifier(), train.CrossEntropy("logit")), "names output 'logit'; did you mean 'logits'"),
        (make(linear(), train.MeanSquaredError(target="p")), "the model has a value of this name"),
        (make(linear(), "mse", "adamm"), "optimizer is 'adamm'; expected one such as"),
        (make(linear(), "mse", train.Adam), "optimizer is <class"),
        (make(linear(), "mse", frozen=["v"]), "frozen names 'v', which no float initializer matches"),
        (make(linear(), "mse", frozen="*"), "nothing to train.*all of which are frozen"),
        (make(linear(), "mse", trained=[3]), "trained holds 3; expected names"),
        (make(linear(), "mse", frozen=3), "frozen is 3; expected names"),
        (lambda: train.CrossEntropy(ignore_index="x"), "ignore_index is 'x'; expected an integer or None"),
        (lambda: MADE.fit({"x": [[1], [2, 3]], "target": Y}), "the data's 'x' is a list that makes no array"),
        (lambda: MADE.fit({"x": 1, "target": Y}), "arrays without rows"),
        (make(linear(), "mse", clip_norm=0), "clip_norm is 0; expected a number above 0"),
        (make(linear(), "mse", clip_value="x"), "clip_value is 'x'"),
        (make(linear(), "mse", schedule=[]), r"schedule is \[\]; expected a function of the step"),
        (make(linear(), "mse", schedule=3), "schedule is 3; expected"),
        (make(linear(), "mse", checkpoint="some"), "checkpoint"),
        (make(linear(), "mse", training_mode="no"), "training_mode is 'no'; expected True or False"),
        (make(linear(), "mse", seed=-1), "seed is -1; expected an integer of 0 or more"),
        (make(linear(), "mse", sess_options=3), "sess_options is a int"),
        (make("no such file.onnx", "mse"), "cannot be read"),
        (make(b"no model", "mse"), "cannot be read"),
        (make(3, "mse"), "the model is a int"),
        (lambda: train.Adam(lr=-1), "lr is -1; expected a number 0 or more"),
        (lambda: train.Adam(betas=3), "betas is 3; expected two numbers"),
        (lambda: train.Adam(betas=0.9), "betas is 0.9; expected two numbers"),
        (lambda: train.Adam(betas=(0.9, 1)), "betas is 1; expected a number 0 or more, below 1"),
        (lambda: train.SGD(momentum=1), "momentum is 1; expected"),
        (lambda: train.SGD(nesterov=True), "nesterov is True, but momentum is 0; give a momentum"),
        (lambda: MADE.fit(DATA, shuffle="no"), "shuffle is 'no'; expected True or False"),
        (lambda: train.CrossEntropy(reduction="none"), "reduction is 'none'; expected 'mean' or 'sum'"),
        (lambda: MADE.step([X]), "the batch is a list; expected a mapping"),
        (lambda: MADE.step({"x": X}), "input 'target' is missing"),
        (lambda: MADE.step({"x": X, "targets": Y}), "the batch has 'targets'; did you mean 'target'"),
        (lambda: MADE.step({**DATA, "w": X}), "the batch has 'w'; expected 'x', 'target'"),
        (lambda: MADE.step({"x": X[:, :2], "target": Y}), "input 'x' is f32"),
        (lambda: MADE.fit(DATA, epochs=0), "epochs is 0; expected an integer of 1 or more"),
        (lambda: MADE.fit(DATA, batch_size=0), "batch_size is 0"),
        (lambda: MADE.fit([DATA], batch_size=4), "the data are batches already"),
        (lambda: MADE.fit(3), "the data are a int"),
        (lambda: MADE.fit(X, Y), "the data are a ndarray; .*put the arrays into one mapping: {'x': ..., 'target': ...}"),
        (lambda: MADE.evaluate(X), "the data are a ndarray; .*put the arrays into one mapping"),
        (lambda: MADE.fit(DATA, X), "epochs is a ndarray; expected an integer of 1 or more"),
        (lambda: MADE.fit(DATA, batch_size=LABELS), "batch_size is a ndarray; expected"),
        (make(linear(), "mse", seed=X), "seed is a ndarray; expected"),
        (lambda: train.CrossEntropy(ignore_index=LABELS), "ignore_index is a ndarray; expected"),
        (lambda: MADE.fit([]), "the data gave no batch"),
        (lambda: MADE.fit(iter([DATA]), epochs=2), "the data can be gone through once"),
        (lambda: MADE.fit({"x": X, "target": Y[:5]}), "different numbers of rows"),
        (lambda: MADE.fit({"x": X[:0], "target": Y[:0]}), "the data have no rows"),
        (lambda: MADE.evaluate([]), "the data gave no batch"),
        (lambda: MADE.predict({"x": X}, ["z"]), "there is no output 'z'"),
        (lambda: MADE.predict({"x": X, "w": X}), "the feeds have 'w'; expected 'x', the model's own inputs"),
        (lambda: MADE.predict({"x": X, "target": Y}), "the feeds have 'target'; expected 'x'"),
        (lambda: MADE.fit(lambda: None), "the function for the data gave a NoneType; expected an iterable of batches"),
        (lambda: MADE.shares(DATA), "the parts are a dict; expected a list of batches"),
        (lambda: MADE.shares(3), "the parts are a int; expected a list of batches"),
        (lambda: MADE.save("a\0b"), "path is .*; expected a path"),
        (lambda: train.Trainer(linear(), "mse", schedule=lambda step: "x").step(DATA), "the schedule's factor for step 0 is 'x'"),
    ],
)
def test_wrong_use(wrong, message):
    with pytest.raises(rondel.CallerError, match=message):
        wrong()


def sums(count, last):
    """A graph that adds a zero up `count` times, and at last `last`."""
    node = onnx.helper.make_node
    nodes = [node("Add", [f"s{k}", f"s{k}" if k < count else last], [f"s{k + 1}"]) for k in range(count + 1)]
    zero = onnx.numpy_helper.from_array(np.zeros(2, np.float32), "s0")
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    return onnx.helper.make_graph(nodes, "sums", [x], [], [zero])


def test_sums_of_zeros_of_any_length():
    assert reach.zeros_among(sums(5000, "s0"), ["s5001", "x"]) == {"s5001"}
    assert reach.zeros_among(sums(5000, "x"), ["s5001", "s5000"]) == {"s5000"}


def test_names_of_one_body_are_not_those_of_another():
    """Two branches use one name for zeros and for an input, and the name is another value outside."""
    def branch(reads):
        out = onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [2])
        return onnx.helper.make_graph([onnx.helper.make_node("Identity", [reads], ["a"])], "branch", [], [out])

    graph = sums(0, "s0")
    both = {f"{way}_branch": branch("s0") for way in ("then", "else")}
    one = {"then_branch": branch("s0"), "else_branch": branch("x")}
    graph.node.extend([
        onnx.helper.make_node("If", ["c"], ["y"], **both), onnx.helper.make_node("If", ["c"], ["z"], **one),
        onnx.helper.make_node("Identity", ["x"], ["a"]),
    ])  # fmt: skip
    assert reach.zeros_among(graph, ["y", "z", "a"]) == {"y"}
