"""rondel.ray.sweep on three nodes: the same rows as on one machine, also when a worker and then a node die."""

import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as parquet
import pytest

ray = pytest.importorskip("ray")

from ray_cluster import Announcements, begin, kill_a_worker_then_a_node  # noqa: E402

import rondel  # noqa: E402
import rondel.ray  # noqa: E402
from rondel import sweeps  # noqa: E402

STATES = pathlib.Path(__file__).parents[1] / "python" / "mdf" / "states.json"


def job(points=4000, model=STATES):
    return sweeps.MdfSweep(model, 100, 0.01, set={"sine_node.period": sweeps.span(0.2, 0.8, points)}, record=["sine_node.out_port"])


class Announced(sweeps.MdfSweep):
    """A sweep whose parts take a moment, and say where they run."""

    def part(self, first, count):
        Announcements(self.folder).announce()
        time.sleep(0.1)
        return super().part(first, count)


def test_the_rows_are_those_of_one_machine_although_a_worker_and_a_node_die(cluster, tmp_path, note):
    here = job()
    sweeps.run(here, tmp_path / "here.parquet")
    far = job()
    far.__class__, far.folder = Announced, str(tmp_path / "seen")
    (tmp_path / "seen").mkdir()
    work = begin(lambda: rondel.ray.sweep(far, tmp_path / "far.parquet", batch=10, progress=False))
    killed = kill_a_worker_then_a_node(cluster, Announcements(tmp_path / "seen"), work)
    assert work.result(300).points == 4000

    wrong = job()
    wrong._settings["record"] = ["sine_node.no_port"]
    with pytest.raises(rondel.CallerError, match="no_port"):
        rondel.ray.sweep(wrong, tmp_path / "wrong.parquet", progress=False)
    assert not (tmp_path / "wrong.parquet").exists()
    assert parquet.read_table(tmp_path / "far.parquet").equals(parquet.read_table(tmp_path / "here.parquet"))
    note(f"sweep on Ray: {killed}; nothing was lost")


def test_from_the_shell_with_ray_client(cluster, tmp_path):
    arguments = ["mdf", str(STATES), "--steps", "100", "--dt", "0.01", "--set", "sine_node.period=0.2:0.8:5000", "--record", "sine_node.out_port"]
    command = [sys.executable, "-m", "rondel_cli.main", *arguments, "--on", cluster.client, "--table", str(tmp_path / "rows")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "5000 points" in done.stdout, done.stderr
    rows = parquet.read_table(tmp_path / "rows").to_pandas()
    assert np.array_equal(rows["point"], np.arange(5000))
    expected = rondel.mdf.load(STATES).run(100, 0.01, ["sine_node.out_port"], set={"sine_node.period": np.linspace(0.2, 0.8, 5000)})
    np.testing.assert_allclose(rows["sine_node.out_port"], expected["sine_node.out_port"][-1], rtol=1e-6, atol=1e-9)


def points_for(seconds):
    """The points of a part that takes so long on one core."""
    one, points, took = job(100_000, on_one_core()), 10_000, []
    for k in range(10):
        begin = time.perf_counter()
        one.part(k * points, points)
        took.append(time.perf_counter() - begin)
    return int(points * seconds / min(took))


def on_one_core():
    options = rondel.SessionOptions()
    options.intra_op_num_threads = 1
    return rondel.mdf.load(STATES, options)


def test_what_a_second_worker_gains_and_ray_takes(cluster, note):
    """Gives figures for docs/scale.md: batches of 10 ms on two nodes with a worker each, on one, and in this process."""
    batch, parts = points_for(0.010), 2000
    work, figures = job(batch * parts, on_one_core()), {}
    cluster.kill_node()
    for workers in (1, 2):
        if workers == 2:
            cluster.complete()
        rondel.ray.sweep(job(100), batch=2, cpus=2, progress=False)  # starts the workers
        begin = time.perf_counter()
        assert rondel.ray.sweep(work, batch=batch, cpus=2, progress=False).points == batch * parts
        figures[f"{workers} workers"] = time.perf_counter() - begin
    begin = time.perf_counter()
    sweeps.run(work, batch=batch, progress=False)
    figures["here"] = time.perf_counter() - begin
    seconds = json.dumps({name: round(x, 2) for name, x in figures.items()})
    note(f"sweep on Ray: {parts} parts of {batch} points, {1e3 * figures['here'] / parts:.1f} ms each, seconds: {seconds}")
    gain, share = figures["1 workers"] / figures["2 workers"], 1 - figures["here"] / figures["1 workers"]
    note(f"sweep on Ray: 2 workers are {gain:.2f} times as fast as 1; Ray's share with 1 is {100 * share:.1f} %")
