"""rondel.ray.fit on three nodes: the losses of one process, also when a worker and then a node die."""

import time

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

ray = pytest.importorskip("ray")

from ray_cluster import Announcements, begin, kill_a_worker_then_a_node  # noqa: E402

import rondel  # noqa: E402
import rondel.ray  # noqa: E402
from rondel import train  # noqa: E402

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
net (float[N, 8] x) => (float[N, 3] logits) { h = MatMul (x, w1) s = Add (h, b1) t = Tanh (s) logits = MatMul (t, w2) }"""
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(250, 8)).astype(np.float32)
LABELS = RANDOM.integers(0, 3, 250)
DATA = {"x": X, "labels": LABELS}


def model():
    proto = onnx.parser.parse_model(TEXT)
    random = np.random.default_rng(1)
    for name, shape in {"w1": (8, 16), "b1": (16,), "w2": (16, 3)}.items():
        proto.graph.initializer.append(numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name))
    return proto


SETTINGS = {"loss": "cross_entropy", "optimizer": train.Adam(0.02), "clip_norm": 1.0, "seed": 5}


def losses_of_one_process(epochs, batch_size):
    trainer, losses = train.Trainer(model(), **SETTINGS), []
    from rondel.train.batches import Batches

    for epoch in range(epochs):
        losses += [trainer.step(batch) for batch in Batches(DATA, batch_size, True).epoch(np.random.default_rng([5, epoch]))]
    return losses, trainer


class Slowly:
    """A schedule, which each worker asks in each step: takes a moment, and says where it runs. The rate is always the same."""

    def __init__(self, folder, pause):
        self.folder, self.pause = folder, pause

    def __call__(self, step):
        if ray.is_initialized():  # not so in a trainer of this process alone
            Announcements(self.folder).announce()
            time.sleep(self.pause)
        return 1.0


def test_the_losses_are_those_of_one_process_although_a_worker_and_a_node_die(cluster, tmp_path, note):
    epochs, batch_size = 40, 50
    wanted, trainer = losses_of_one_process(epochs, batch_size)
    (tmp_path / "seen").mkdir()
    work = begin(
        lambda: rondel.ray.fit(
            model(), DATA, epochs=epochs, batch_size=batch_size, workers=2, storage=tmp_path / "storage", name="run",
            checkpoint_steps=10, failures=4, schedule=Slowly(tmp_path / "seen", 0.1), **SETTINGS,
        )  # fmt: skip
    )
    killed = kill_a_worker_then_a_node(cluster, Announcements(tmp_path / "seen"), work, pause=5.0)
    found = work.result(400)
    np.testing.assert_allclose(found.losses, wanted, rtol=2e-4)
    assert found.trainer.steps == len(wanted) == epochs * 5
    for name, x in trainer.parameters.items():
        np.testing.assert_allclose(found.trainer.parameters[name], x, rtol=2e-3, atol=2e-4)
    note(f"training on Ray: {killed}; nothing was lost")


def test_a_mistake_comes_from_the_driver_and_from_workers(cluster, tmp_path):
    with pytest.raises(rondel.CallerError, match="optimizer is 'adamm'"):
        rondel.ray.fit(model(), DATA, loss="cross_entropy", optimizer="adamm", storage=tmp_path)
    with pytest.raises(rondel.CallerError, match="expected a mapping of arrays, which workers cut into parts"):
        rondel.ray.fit(model(), [DATA], loss="cross_entropy", storage=tmp_path)
    with pytest.raises(rondel.CallerError, match="'labels' has the label [789]; expected 0 to 2"):
        rondel.ray.fit(model(), {**DATA, "labels": LABELS + 7}, loss="cross_entropy", workers=2, storage=tmp_path, failures=0)


def test_a_name_is_for_one_run(cluster, tmp_path):
    def fit(epochs, data=DATA):
        return rondel.ray.fit(model(), data, epochs=epochs, batch_size=50, workers=1, storage=tmp_path, name="run", **SETTINGS)

    fit(1)
    found, (wanted, _) = fit(2), losses_of_one_process(2, 50)
    np.testing.assert_allclose(found.losses, wanted, rtol=2e-4)
    one = train.Trainer(model(), **SETTINGS)
    one.fit(DATA, 3, batch_size=50, progress=False)
    found.trainer.fit(DATA, 1, batch_size=50, progress=False)  # the third epoch: in its order of rows
    np.testing.assert_allclose(found.trainer.parameters["w2"], one.parameters["w2"], rtol=2e-3, atol=2e-4)
    with pytest.raises(rondel.CallerError, match="the run 'run' in .* was of another model, other data or settings; give another name"):
        fit(3, {**DATA, "x": X + 1})
    with pytest.raises(rondel.CallerError, match="was of 10 steps, more than 5"):
        fit(1)


def test_what_a_step_costs(cluster, tmp_path, note):
    """Gives figures for docs/scale.md: steps of one process, and of one and two workers, with gradients of 16 KiB and 4 MiB."""
    for hidden in (128, 4096):
        proto = onnx.parser.parse_model(TEXT)
        for name, shape in {"w1": (8, hidden), "b1": (hidden,), "w2": (hidden, 3)}.items():
            proto.graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.float32), name))
        trainer = train.Trainer(proto, "cross_entropy")
        trainer.fit(DATA, 20, progress=False)
        begin = time.perf_counter()
        trainer.fit(DATA, 100, progress=False)
        text = f"training on Ray, gradients of {12 * hidden * 4 / 2**10:.0f} KiB: one process {10 * (time.perf_counter() - begin):.2f} ms a step"
        for workers in (1, 2):
            times = []
            for epochs in (1, 101):
                begin = time.perf_counter()
                rondel.ray.fit(proto, DATA, loss="cross_entropy", epochs=epochs, workers=workers, storage=tmp_path, checkpoint_steps=10**6)
                times.append(time.perf_counter() - begin)
            text += f"; {workers} workers {10 * (times[1] - times[0]):.1f} ms, {times[0]:.0f} s to begin and end"
        note(text)
