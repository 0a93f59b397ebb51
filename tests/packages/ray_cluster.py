"""A cluster of three nodes on this machine whose workers and nodes can be killed, for the tests of rondel.ray."""

import concurrent.futures
import os
import pathlib
import signal
import socket
import time

# Read when Ray is imported. On a busy machine, processes take longer to start and to answer than Ray waits for them.
os.environ |= {
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "60",
}
os.environ["PYTHONPATH"] = os.path.dirname(__file__)  # workers read classes of these tests

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import ray  # noqa: E402
from onnx import numpy_helper  # noqa: E402

MEMORY = 200 * 2**20


class ThreeNodes:
    """A head without processors, and two nodes with two processors each; this process is a driver of it.

    address: of the head. client: of Ray Client.
    """

    def __init__(self):
        from ray.cluster_utils import Cluster

        port = _free_port()
        few = {"object_store_memory": MEMORY, "include_dashboard": False, "include_log_monitor": False}
        head = {"num_cpus": 0, "no_monitor": True, "ray_client_server_port": port, **few}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes = []
        self.address, self.client = self._cluster.address, f"ray://127.0.0.1:{port}"
        self.complete()
        ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")

    def complete(self):
        """Adds nodes in place of those that were killed."""
        while len(self._nodes) < 2:
            self._nodes.append(self._cluster.add_node(num_cpus=2, object_store_memory=MEMORY))

    def kill_node(self, node_id=None):
        """Kills all processes of a node (None: any) at once."""
        node = next(node for node in self._nodes if node_id in (None, node.node_id))
        self._nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self):
        ray.shutdown()
        self._cluster.shutdown()


def _free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


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

    def wait_for(self, count, work, seconds=240):
        """Waits for the announcements of so many workers, while `work`, a Future, goes on."""
        end = time.monotonic() + seconds
        while len(self.workers()) < count:
            if work.done():
                work.result()
                raise AssertionError(f"the work ended with {len(self.workers())} workers, before {count} had begun")
            assert time.monotonic() < end, f"{len(self.workers())} of {count} workers have begun"
            time.sleep(0.05)
        return self.workers()

    def alive(self):
        return [(pid, node) for pid, node in self.workers() if os.path.exists(f"/proc/{pid}")]


def begin(work, *args):
    """Runs work(*args) on a thread; returns a Future."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(work, *args)
    pool.shutdown(wait=False)
    return future


def kill_a_worker_then_a_node(cluster, seen, work, pause=1.0):
    """Kills a worker that has begun and, when another one has, a node on which a worker is. `work` is a Future that must still go on.

    Returns what was killed, in words.
    """
    before = len(seen.wait_for(2, work))
    pid, _ = seen.alive()[0]
    os.kill(pid, signal.SIGKILL)
    seen.wait_for(before + 1, work)
    time.sleep(pause)
    alive = seen.alive()
    assert alive and not work.done(), "the work ended before a node was killed"
    cluster.kill_node(alive[-1][1])
    return f"killed process {pid}, then node {alive[-1][1][:8]}; {len(seen.workers())} workers so far"


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
