"""Connections of `rondel serve`: clients that hang up or stay silent, and TLS."""

import http.client
import json
import queue
import socket
import ssl
import subprocess
import threading
import urllib.request

import numpy as np
import pytest

pytest.importorskip("fastapi")
grpc = pytest.importorskip("grpc")
tritongrpc = pytest.importorskip("tritonclient.grpc")

from serving import ENDLESS, SUM, TANH, TRIPS, Gate, ask, infer, tensor, wait_for  # noqa: E402

import rondel  # noqa: E402
from rondel.serve import ModelSettings, Server  # noqa: E402

ONES = np.ones((1, 4), np.float32)


def given(name, array):
    made = tritongrpc.InferInput(name, list(array.shape), "FP32")
    made.set_data_from_numpy(array)
    return made


# ---- clients that hang up ------------------------------------------------------------------------------------


def asking(s, name, *inputs, **parameters):
    """A connection on which a request has been sent."""
    host, port = s.url.removeprefix("http://").split(":")
    body = json.dumps({"inputs": list(inputs), "parameters": parameters}).encode()
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"POST /v2/models/{name}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def given_up(s, name):
    return f'rondel_requests_total{{model="{name}",outcome="499"}} 1.0'.encode() in ask(s.url, "/metrics")[2]


def test_a_client_of_http_that_hangs_up_ends_its_run():
    with Server({"trips": TRIPS}, http_port=0, grpc_port=None) as s:
        connection = asking(s, "trips", tensor("n", 10**15, "INT64"), tensor("x", [1.0]))
        wait_for(lambda: s.service.models.find("trips")._queue._idle == 0)
        connection.close()
        wait_for(lambda: given_up(s, "trips"))
        assert infer(s.url, "trips", tensor("n", 3, "INT64"), tensor("x", [1.0]))[0] == 200, "the run has ended: the next one is not behind it"


def test_a_batch_ends_when_its_last_client_hangs_up():
    with Server({"endless": (ENDLESS, ModelSettings(batch="on", max_batch=2, batch_delay=100.0))}, http_port=0, grpc_port=None) as s:
        queue, given_up = s.service.models.find("endless")._queue, b'rondel_requests_total{model="endless",outcome="499"}'
        first, last = (asking(s, "endless", tensor("x", [1.0])) for _ in range(2))
        wait_for(lambda: s.service.models.under_way == 2 and queue._idle == 0 and len(queue) == 0)
        first.close()
        wait_for(lambda: given_up + b" 1.0" in ask(s.url, "/metrics")[2])
        assert queue._idle == 0, "the other client waits for the batch"
        last.close()
        wait_for(lambda: queue._idle == 1)


def test_what_waits_leaves_the_queue_with_its_client_and_no_other():
    gate = Gate()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        waiting = s.service.models.find("gate")._queue
        stays = asking(s, "gate", tensor("x", [[1, 1]]))
        wait_for(lambda: waiting._idle == 0)
        leaves = asking(s, "gate", tensor("x", [[2, 2]]))
        wait_for(lambda: len(waiting) == 1)
        leaves.close()
        wait_for(lambda: len(waiting) == 0 and given_up(s, "gate"))
        gate.open.set()
        assert stays.recv(1000).startswith(b"HTTP/1.1 200")
        assert gate.runs == [1]
        stays.close()


@pytest.mark.parametrize("header", ["", "Connection: close\r\n", "Expect: 100-continue\r\n"])
@pytest.mark.parametrize("path", ["models/tanh/infer", "repository/models/tanh/load"])
def test_a_body_that_is_too_large_is_refused_by_its_header(path, header):
    with Server({"tanh": TANH}, http_port=0, grpc_port=None, max_request_bytes=1 << 20) as s:
        host, port = s.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(f"POST /v2/{path} HTTP/1.1\r\nHost: {host}\r\n{header}Content-Length: 5000000\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == 413 and b"--max-request-bytes allows more" in answer.read()


def test_a_client_that_sends_all_of_a_body_that_is_too_large_has_its_answer():
    """urllib reads nothing before it has sent all, and asks for the connection's end."""
    with Server({"tanh": TANH}, http_port=0, grpc_port=None, max_request_bytes=1 << 20) as s:
        for _ in range(20):
            assert ask(s.url, "/v2/models/tanh/infer", bytes(5_000_000))[0] == 413


def test_a_step_of_a_sequence_whose_client_hangs_up_leaves_the_state():
    with Server({"sum": (SUM, ModelSettings(batch="on", batch_delay=0.5))}, http_port=0, grpc_port=None) as s:
        assert infer(s.url, "sum", tensor("x", [[1, 2]]), sequence_id=3, sequence_start=True)[0] == 200
        asking(s, "sum", tensor("x", [[10, 10]]), sequence_id=3).close()
        wait_for(lambda: given_up(s, "sum"))
        assert infer(s.url, "sum", tensor("x", [[1, 1]]), sequence_id=3)[2]["y"].tolist() == [[2, 3]]


def test_a_slow_request_on_a_connection_that_goes_on():
    """Its connection is watched, and answers more requests afterwards."""
    gate = Gate()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        connection = http.client.HTTPConnection(s.url.removeprefix("http://"), timeout=20)
        threading.Timer(0.2, gate.open.set).start()
        for _ in range(2):
            connection.request("POST", "/v2/models/gate/infer", json.dumps({"inputs": [tensor("x", [[1, 1]])]}))
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["outputs"][0]["data"]) == (200, [2, 2])
        connection.close()


# ---- streams that stay open ----------------------------------------------------------------------------------


def stopped(s):
    """A thread that stops the server."""
    thread = threading.Thread(target=s.stop)
    thread.start()
    return thread


def test_a_silent_stream_does_not_hold_the_stop():
    s = Server({"tanh": TANH}, http_port=0, grpc_port=0, grace=600.0)
    s.start()
    answers = queue.Queue()
    with tritongrpc.InferenceServerClient(s.grpc_url) as client:
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        client.async_stream_infer("tanh", [given("x", ONES)])
        assert answers.get(timeout=20)[1] is None
        stop = stopped(s)
        stop.join(60)
        assert not stop.is_alive()
        result, error = answers.get(timeout=20)
        assert result is None and "UNAVAILABLE" in str(error) and "stopping" in str(error)


def test_a_stream_has_its_answers_before_the_stop_ends_it():
    gate = Gate()
    s = Server({"gate": gate}, http_port=0, grpc_port=0, grace=600.0)
    s.start()
    answers = queue.Queue()
    with tritongrpc.InferenceServerClient(s.grpc_url) as client:
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        for _ in range(2):
            client.async_stream_infer("gate", [given("x", np.ones((1, 2), np.float32))])
        wait_for(lambda: s.service.models.under_way == 2)
        stop = stopped(s)
        wait_for(lambda: s.service.stopping)
        gate.open.set()
        stop.join(60)
        assert not stop.is_alive()
        found = [answers.get(timeout=20) for _ in range(3)]
        assert [error is None for _, error in found] == [True, True, False]
        assert all((result.as_numpy("y") == 2).all() for result, _ in found[:2])


# ---- TLS -----------------------------------------------------------------------------------------------------


def certificate(folder, name="server"):
    """(certificate, key) of 127.0.0.1, signed by itself."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def safe(pair):
    with Server({"tanh": TANH}, http_port=0, grpc_port=0, tls_cert=pair[0], tls_key=pair[1], token="abc") as s:
        yield s


def test_https(safe, pair):
    assert safe.url.startswith("https://")
    context = ssl.create_default_context(cafile=pair[0])
    body = json.dumps({"inputs": [tensor("x", np.zeros((1, 4)))]}).encode()
    request = urllib.request.Request(safe.url + "/v2/models/tanh/infer", body, {"Authorization": "Bearer abc"})
    with urllib.request.urlopen(request, timeout=20, context=context) as answer:
        assert json.loads(answer.read())["outputs"][0]["data"] == [0, 0, 0, 0]
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(safe.url + "/v2", timeout=20)
    with pytest.raises(OSError):
        urllib.request.urlopen(safe.url.replace("https", "http") + "/v2", timeout=20)


def test_tritonclient_over_https(safe, pair):
    tritonhttp = pytest.importorskip("tritonclient.http")
    options = {"ca_certs": str(pair[0])}
    with tritonhttp.InferenceServerClient(safe.url.removeprefix("https://"), ssl=True, ssl_options=options) as client:
        x = tritonhttp.InferInput("x", [1, 4], "FP32")
        x.set_data_from_numpy(ONES)
        assert (client.infer("tanh", [x], headers={"Authorization": "Bearer abc"}).as_numpy("y") == np.tanh(ONES)).all()


def test_grpc_with_tls(safe, pair):
    with tritongrpc.InferenceServerClient(safe.grpc_url, ssl=True, root_certificates=str(pair[0])) as client:
        assert (client.infer("tanh", [given("x", ONES)], headers={"authorization": "Bearer abc"}).as_numpy("y") == np.tanh(ONES)).all()
    with grpc.insecure_channel(safe.grpc_url) as channel, pytest.raises(grpc.FutureTimeoutError):
        grpc.channel_ready_future(channel).result(timeout=0.5)


def test_certificates_that_cannot_be_used(pair, tmp_path):
    cert, key = pair
    _, other = certificate(tmp_path, "other")
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", key, "-out", locked, "-passout", "pass:x"], check=True, capture_output=True)
    (tmp_path / "text").write_text("no certificate")
    for files, expected in [
        ((cert, None), "tls_key is missing"), ((None, key), "tls_cert is missing"), ((cert, other), "belong together"), ((tmp_path / "none", key), "No such file"),
        ((tmp_path / "text", key), "expected PEM"), ((cert, locked), "the key has a password"),
    ]:  # fmt: skip
        with pytest.raises(rondel.CallerError, match=expected):
            Server({"tanh": TANH}, tls_cert=files[0], tls_key=files[1])
