"""rondel.ray.predict on three nodes: from and to Parquet and NumPy, what a second worker gains, Ray's share, and kills."""

import time

import numpy as np
import pyarrow.parquet as parquet
import pytest

ray = pytest.importorskip("ray")

import ray.data  # noqa: E402
from ray_cluster import Announcements, begin, kill_a_worker_then_a_node, rounds  # noqa: E402

import rondel  # noqa: E402
import rondel.ray  # noqa: E402
from rondel.ray import predicting  # noqa: E402

ROWS = 64  # in a batch


def table(rows):
    x = np.random.default_rng(1).normal(size=(rows, 64)).astype(np.float32)
    return x, np.arange(rows)


def dataset(rows, blocks):
    x, ids = table(rows)
    return ray.data.from_items([{"id": int(i), "x": row} for i, row in zip(ids, x)], override_num_blocks=blocks)


def expected(model, x):
    return rondel.InferenceSession(model).run(None, {"x": x})[0]


def check_rows(ids, y, model, x):
    order = np.argsort(ids)
    np.testing.assert_array_equal(np.asarray(ids)[order], np.arange(len(x)))  # each row exactly once
    np.testing.assert_allclose(np.stack(list(y))[order], expected(model, x), rtol=1e-5, atol=1e-6)


def test_parquet_in_and_out(cluster, tmp_path):
    model = rounds(3)
    dataset(1000, 8).write_parquet(str(tmp_path / "in"))
    rows = rondel.ray.predict(ray.data.read_parquet(str(tmp_path / "in")), model, batch_size=ROWS, workers=2)
    rows.write_parquet(str(tmp_path / "out"))
    assert sorted(rows.schema().names) == ["id", "y"]
    found = ray.data.read_parquet(str(tmp_path / "out")).to_pandas()
    x, _ = table(1000)
    check_rows(found["id"], found["y"], model, x)

    named = rondel.ray.predict(ray.data.from_numpy(x), model, columns={"x": "data"})
    named.write_numpy(str(tmp_path / "numpy"), column="y")
    written = np.concatenate([np.load(path) for path in sorted((tmp_path / "numpy").iterdir())])
    np.testing.assert_allclose(written, expected(model, x), rtol=1e-5, atol=1e-6)


class Slow(predicting.Predictor):
    """The Predictor of `predict`, which takes a moment for each batch, and says where it runs."""

    def __init__(self, model, *, folder, pause, **settings):
        super().__init__(model, **settings)
        self._seen, self._pause = Announcements(folder), pause

    def __call__(self, batch):
        self._seen.announce()
        time.sleep(self._pause)
        return super().__call__(batch)


class Slowly:
    """A dataset for `predict` whose workers are Slow instead of Predictor; all else that predict asks for stays."""

    def __init__(self, given, **more):
        self._given, self._more = given, more

    def map_batches(self, worker, *, fn_constructor_kwargs, **asked):
        assert worker is predicting.Predictor
        return self._given.map_batches(Slow, fn_constructor_kwargs={**fn_constructor_kwargs, **self._more}, **asked)


def test_a_worker_and_a_node_die(cluster, tmp_path, note):
    model, seen = rounds(20), tmp_path / "seen"
    seen.mkdir()
    rows = 20_000
    given = dataset(rows, 40).materialize()
    work = rondel.ray.predict(Slowly(given, folder=seen, pause=0.15), model, batch_size=ROWS, workers=2)
    writing = begin(work.write_parquet, str(tmp_path / "out"))
    killed = kill_a_worker_then_a_node(cluster, Announcements(seen), writing)
    writing.result(400)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    found = [parquet.read_table(file).to_pandas() for file in files]
    x, _ = table(rows)
    check_rows(np.concatenate([f["id"] for f in found]), np.concatenate([f["y"] for f in found]), model, x)
    note(f"inference on Ray: {killed}; nothing was lost")


def test_what_a_second_worker_gains_and_ray_takes(cluster, note):
    """Gives figures for docs/scale.md. What is asserted does not depend on the machine: rows and the number of batches."""
    trips = trips_for(0.010)
    model, blocks, rows = rounds(trips), 8, 8 * 160 * ROWS
    x, ids = table(rows)
    given = ray.data.from_blocks([__import__("pandas").DataFrame({"id": i}) for i in np.split(ids, blocks)])
    given = given.map_batches(_with_x, batch_size=None).materialize()
    figures = {}
    for runs, workers in ((1, 1), (8, 1), (8, 2), (8, 1), (8, 2)):
        begin = time.monotonic()
        found = given.map_batches(
            Timed, fn_constructor_args=(ray.put(model),), fn_constructor_kwargs={"batch_size": ROWS}, batch_size=runs * ROWS, batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(size=workers), num_cpus=1,
        ).to_pandas()  # fmt: skip
        wall = time.monotonic() - begin
        assert sorted(found["id"]) == list(range(rows)) and found["runs"].sum() == rows // ROWS
        inside = found[found["runs"] > 0]
        busy = inside["seconds"].sum()
        span = inside["end"].max() - (inside["end"] - inside["seconds"]).min()
        figures.setdefault((runs, workers), []).append(span)
        note(f"inference on Ray, {workers} workers, {runs} runs at once: {wall:.1f} s in all, {span:.1f} s from first to last batch, {rows // ROWS} batches of "
             f"{1e3 * busy / (rows // ROWS):.1f} ms, outside of the model {100 * (1 - busy / (workers * span)):.1f} %")  # fmt: skip
    note(f"inference on Ray: 2 workers are {min(figures[8, 1]) / min(figures[8, 2]):.2f} times as fast as 1")


def _with_x(batch):
    return {"id": batch["id"], "x": np.random.default_rng(1).normal(size=(len(batch["id"]), 64)).astype(np.float32)}


class Timed(predicting.Predictor):
    """The Predictor that says how long a batch took, and how many runs it was, in the batch's first row."""

    def __call__(self, batch):
        begin = time.time()
        found = super().__call__(batch)
        found.pop("y")
        first = np.arange(len(batch["id"])) == 0
        return {**found, "seconds": first * (time.time() - begin), "end": first * time.time(), "runs": first * (len(first) // ROWS)}


def trips_for(seconds):
    """The trips with which a batch takes so long."""
    x, _ = table(ROWS)
    session = rondel.InferenceSession(rounds(100))
    took = []
    for _ in range(50):
        begin = time.perf_counter()
        session.run(None, {"x": x})
        took.append(time.perf_counter() - begin)
    return max(1, int(100 * seconds / min(took)))  # the least: on a busy machine, most runs are interrupted
