"""rondel.ray.application on three nodes: the protocol, and requests while a replica and then a node die."""

import concurrent.futures
import functools
import json
import os
import signal
import threading
import time

import numpy as np
import onnx
import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

ray = pytest.importorskip("ray")

from ray import serve  # noqa: E402
from ray_cluster import Announcements, rounds  # noqa: E402
from test_ray_predict import trips_for  # noqa: E402

import rondel  # noqa: E402
import rondel.ray  # noqa: E402
import rondel.serve  # noqa: E402

URL = "http://127.0.0.1:8000/v2/models/net"
SUM = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
sum (float[b,2] x, float[b,2] state) => (float[b,2] y, float[b,2] stateN) { stateN = Add (x, state)  y = Identity (stateN) }""")


def client():
    """A client that repeats a request which a dying replica did not answer: inference may be repeated."""
    session = requests.Session()
    session.mount("http://", HTTPAdapter(max_retries=Retry(total=60, backoff_factor=0.1, backoff_max=1, status_forcelist=[500, 502, 503, 504], allowed_methods=None)))
    return session


def request(k, x):
    return {"id": str(k), "inputs": [{"name": "x", "datatype": "FP32", "shape": list(x.shape), "data": x.ravel().tolist()}]}


def announced_routes(folder, service):
    Announcements(folder).announce()
    return rondel.serve.application(service)


def serve_on_head(application):
    serve.start(proxy_location="HeadOnly", http_options={"port": 8000})
    serve.run(application, name="rondel", route_prefix="/")


def test_the_protocol_and_no_request_is_lost_when_a_replica_and_a_node_die(cluster, tmp_path, note):
    model, seen = rounds(50), tmp_path / "seen"
    seen.mkdir()
    x = np.random.default_rng(0).normal(size=(1500, 2, 64)).astype(np.float32)
    routes = functools.partial(announced_routes, str(seen))
    serve_on_head(rondel.ray.application({"net": model}, replicas=2, routes=routes, health_check_period_s=1))
    asked = requests.get(URL, timeout=30).json()
    assert asked["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 64]}]
    assert requests.get("http://127.0.0.1:8000/v2/health/ready", timeout=30).status_code == 200
    bad = requests.post(URL + "/infer", json={"inputs": [{"name": "z", "datatype": "FP32", "shape": [1], "data": [1]}]}, timeout=30)
    assert bad.status_code == 400 and "z" in bad.json()["error"]
    assert requests.post(URL + "er/infer", json={}, timeout=30).status_code == 404
    assert requests.post(URL + "/infer", data="{", timeout=30).status_code == 400

    answers, killed = {}, threading.Event()
    with concurrent.futures.ThreadPoolExecutor(4) as pool, client() as http:
        def ask(k):
            killed.wait(0.5)  # so that requests go on until both kills are over
            answer = http.post(URL + "/infer", json=request(k, x[k]), timeout=60)
            answer.raise_for_status()
            return k, answer.json()

        work = [pool.submit(ask, k) for k in range(len(x))]
        seen_by = Announcements(seen)
        pid, _ = seen_by.wait_for(2, work[-1])[0]
        time.sleep(1)
        os.kill(pid, signal.SIGKILL)
        seen_by.wait_for(3, work[-1])
        node = seen_by.alive()[-1][1]
        assert not all(f.done() for f in work), "the kills came after the end"
        cluster.kill_node(node)
        at = sum(f.done() for f in work)
        killed.set()
        for future in work:
            k, answer = future.result(timeout=200)
            assert k not in answers and answer["id"] == str(k)
            answers[k] = answer
    expected = rondel.InferenceSession(model).run(None, {"x": x.reshape(-1, 64)})[0].reshape(x.shape)
    for k, answer in answers.items():
        (y,) = answer["outputs"]
        np.testing.assert_allclose(np.reshape(y["data"], y["shape"]), expected[k], rtol=1e-4, atol=1e-5)
    assert len(answers) == len(x)
    note(f"serving on Ray: killed replica {pid} and a node after {at} of {len(x)} answers; replicas were {len(seen_by.workers())}; no request was lost")
    serve.shutdown()


def test_replicas_come_with_the_load_and_a_sequence_is_refused_in_several(cluster, tmp_path, note):
    seen = tmp_path / "seen"
    seen.mkdir()
    slow = rounds(trips_for(0.2))
    scaling = {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 1, "upscale_delay_s": 1}
    models, routes = {"net": slow, "sum": SUM.SerializeToString()}, functools.partial(announced_routes, str(seen))
    serve_on_head(rondel.ray.application(models, replicas=(1, 2), routes=routes, autoscaling_config=scaling))
    assert len(Announcements(seen).workers()) == 1
    x, begin = np.zeros((8, 64), np.float32), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool, client() as http:
        while len(Announcements(seen).workers()) < 2:
            assert time.monotonic() - begin < 120, "no second replica came"
            for answer in pool.map(lambda k: http.post(URL + "/infer", json=request(k, x), timeout=60), range(8)):
                answer.raise_for_status()
    note(f"serving on Ray: a second replica came {time.monotonic() - begin:.1f} s after the load began")
    begun = {"inputs": request(0, np.ones((1, 2), np.float32))["inputs"], "parameters": {"sequence_id": 7, "sequence_start": True}}
    refused = requests.post(URL.replace("net", "sum") + "/infer", json=begun, timeout=30)
    assert refused.status_code == 400 and "carries no states" in refused.json()["error"]
    serve.shutdown()


def test_a_sequence_in_one_replica(cluster):
    serve_on_head(rondel.ray.application({"sum": SUM.SerializeToString()}, replicas=1))
    found = []
    for k in range(3):
        asked = {"inputs": request(0, np.full((1, 2), k + 1, np.float32))["inputs"], "parameters": {"sequence_id": 7, "sequence_start": k == 0, "sequence_end": k == 2}}
        if k == 0:
            asked["inputs"].append({"name": "state", "datatype": "FP32", "shape": [1, 2], "data": [0, 0]})
        answer = requests.post(URL.replace("net", "sum") + "/infer", json=asked, timeout=30)
        answer.raise_for_status()
        found.append(answer.json()["outputs"][0]["data"])
    assert found == [[1, 1], [3, 3], [6, 6]]
    serve.shutdown()


def test_what_ray_takes(cluster, note):
    """Gives figures for docs/scale.md."""
    model = rounds(trips_for(0.010))
    session = rondel.InferenceSession(model)
    x = np.zeros((64, 64), np.float32)
    body = json.dumps(request(0, x))
    begin = time.perf_counter()
    for _ in range(50):
        session.run(None, {"x": x})
    here = (time.perf_counter() - begin) / 50
    serve_on_head(rondel.ray.application({"net": model}, replicas=1))
    with client() as http:
        for count in (20, 100):
            begin = time.perf_counter()
            for _ in range(count):
                http.post(URL + "/infer", data=body, timeout=60).raise_for_status()
            took = (time.perf_counter() - begin) / count
    serve.shutdown()
    note(f"serving on Ray: a request of 64 rows: {1e3 * here:.1f} ms of the model in the process, {1e3 * took:.1f} ms through Ray Serve")
