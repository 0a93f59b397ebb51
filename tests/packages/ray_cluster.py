"""A cluster of three nodes on this machine whose workers and nodes can be killed, for the tests of rondel.ray."""

import contextlib
import os
import pathlib
import signal
import time

# Read when Ray is imported. On a busy machine, processes take longer to start than Ray waits for them, and it starts others in vain.
os.environ |= {"RAY_worker_register_timeout_seconds": "600", "RAY_prestart_worker_first_driver": "0", "RAY_enable_metrics_collection": "0"}

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import ray  # noqa: E402
from onnx import numpy_helper  # noqa: E402

MEMORY = 200 * 2**20


class ThreeNodes:
    """A head without processors, and two nodes with `cpus` each."""

    def __init__(self, cpus):
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": MEMORY, "include_dashboard": False})
        self._nodes = [self._cluster.add_node(num_cpus=cpus, object_store_memory=MEMORY) for _ in range(2)]
        self.address = self._cluster.address

    def kill_node(self, node_id):
        """Kills all processes of a node at once."""
        node = next(node for node in self._nodes if node.node_id == node_id)
        self._cluster.remove_node(node, allow_graceful=False)
        self._nodes.remove(node)

    def close(self):
        ray.shutdown()
        self._cluster.shutdown()


@contextlib.contextmanager
def three_nodes(cpus=2):
    cluster = ThreeNodes(cpus)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        cluster.close()


class Announcements:
    """A folder in which each worker leaves its process id and its node when it works. Workers on nodes that died stay in it."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)

    def announce(self):
        node = ray.get_runtime_context().get_node_id()
        path = self._folder / f"{os.getpid()}.{node}"
        if not path.exists():
            path.touch()

    def workers(self):
        """(process id, node) of each worker so far."""
        found = [path.name.split(".") for path in self._folder.iterdir()]
        return [(int(pid), node) for pid, node in found]

    def wait_for(self, count, seconds=120):
        end = time.monotonic() + seconds
        while len(self.workers()) < count:
            assert time.monotonic() < end, f"{len(self.workers())} of {count} workers have begun"
            time.sleep(0.05)
        return self.workers()

    def alive(self):
        return [(pid, node) for pid, node in self.workers() if os.path.exists(f"/proc/{pid}")]


def kill_a_worker_then_a_node(cluster, seen, pause=1.0):
    """Kills a worker that has begun and, when its replacement works, a node on which a worker is. Returns what it killed."""
    before = len(seen.wait_for(2))
    pid, _ = seen.alive()[0]
    os.kill(pid, signal.SIGKILL)
    seen.wait_for(before + 1)
    time.sleep(pause)
    alive = seen.alive()
    assert alive, "no worker is left to kill a node of: the work ended too soon"
    node = alive[-1][1]
    cluster.kill_node(node)
    return pid, node


TEXT = """<ir_version: 10, opset_import: ["" : 21]>
rounds (float[N, 64] x) => (float[N, 64] y) <int64 trips = {%d}, bool yes = {1}> {
  y = Loop (trips, yes, x) <body = round (int64 i, bool go, float[N, 64] h) => (bool on, float[N, 64] h1) {
    on = Identity (go) p = MatMul (h, w) h1 = Tanh (p) }>
}"""


def rounds(trips):
    """A model whose time grows with its trips: y = tanh(... tanh(x w) w ...)."""
    model = onnx.parser.parse_model(TEXT % trips)
    w = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32) / 8
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    return model.SerializeToString()
