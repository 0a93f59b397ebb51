"""Models loaded, replaced and removed while requests come; a full queue; the stop; the command."""

import gc
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import onnx
import pytest

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")

from serving import ENDLESS, SUM, TANH, TRIPS, Gate, ask, in_parallel, infer, model, tensor, wait_for  # noqa: E402

import rondel  # noqa: E402
from rondel.serve import ModelSettings, Server, Service, application, models, service  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
ONE, TWO = ([[1, 1]], [[2, 2]])


def scale(by):
    return model(f"g (float[b,2] x) => (float[b,2] y) <float k = {{{by}}}> {{ y = Mul (x, k) }}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("repository")
    onnx.save(scale(1), made / "scale.onnx")
    (made / "tree" / "1").mkdir(parents=True)
    onnx.save(scale(7), made / "tree" / "1" / "model.onnx")
    (made / "text.txt").write_text("no model")
    (made / "broken.onnx").write_text("no model")
    return made


@pytest.fixture(scope="module")
def server(folder):
    with Server({}, repository=str(folder), http_port=0, grpc_port=None) as s:
        yield s


def index(s, **said):
    return {m["name"]: m for m in json.loads(ask(s.url, "/v2/repository/index", said or b"", method="POST")[2])}


def test_the_repository(server, folder):
    assert {n: m["state"] for n, m in index(server).items()} == {"broken": "UNAVAILABLE", "scale": "READY", "tree": "READY"}
    assert "broken.onnx" in index(server)["broken"]["reason"]
    assert infer(server.url, "tree", tensor("x", ONE))[2]["y"].tolist() == [[7, 7]]
    assert ask(server.url, "/v2/repository/models/new/load", b"")[0] == 404
    onnx.save(scale(3), folder / "new.onnx")
    assert index(server)["new"]["state"] == "UNAVAILABLE"
    assert ask(server.url, "/v2/repository/models/new/load", b"")[0] == 200
    assert infer(server.url, "new", tensor("x", ONE))[2]["y"].tolist() == [[3, 3]]
    assert ask(server.url, "/v2/repository/models/new/unload", b"")[0] == 200
    assert "new" not in index(server, ready=True) and index(server)["new"]["reason"] == "unloaded"
    assert infer(server.url, "new", tensor("x", ONE))[0] == 404
    assert ask(server.url, "/v2/repository/models/new/unload", b"")[0] == 404


def test_a_file_that_is_gone_while_its_model_runs(server, folder):
    onnx.save(scale(5), folder / "gone.onnx")
    assert ask(server.url, "/v2/repository/models/gone/load", b"")[0] == 200
    (folder / "gone.onnx").unlink()
    status, _, answer = ask(server.url, "/v2/repository/models/gone/load", b"")
    assert status == 404 and "there is no model 'gone' to load: its file is gone, " in json.loads(answer)["error"] and b"gone.onnx; what runs goes on" in answer
    assert infer(server.url, "gone", tensor("x", ONE))[2]["y"].tolist() == [[5, 5]] and index(server)["gone"]["state"] == "READY"
    assert ask(server.url, "/v2/repository/models/gone/unload", b"")[0] == 200 and "gone" not in index(server)


def test_files_of_the_repository_that_are_left_out_are_named(tmp_path, caplog):
    onnx.save(scale(1), tmp_path / "a b.onnx")
    (tmp_path / "later" / "2").mkdir(parents=True)
    onnx.save(scale(1), tmp_path / "later" / "2" / "model.onnx")
    (tmp_path / "twice" / "1").mkdir(parents=True)
    onnx.save(scale(2), tmp_path / "twice" / "1" / "model.onnx")
    onnx.save(scale(3), tmp_path / "twice.onnx")
    with Server({}, repository=str(tmp_path), http_port=0, grpc_port=None) as s:
        assert set(index(s)) == {"twice"} and infer(s.url, "twice", tensor("x", ONE))[2]["y"].tolist() == [[3, 3]]
    text = "\n".join(r.getMessage() for r in caplog.records)
    assert text.count("a b.onnx") == text.count("2/model.onnx") == text.count("which is taken") == 1


def test_a_broken_file_replaces_nothing(server, folder):
    good = (folder / "scale.onnx").read_bytes()
    (folder / "scale.onnx").write_bytes(b"no model")
    status, _, answer = ask(server.url, "/v2/repository/models/scale/load", b"")
    assert status == 400 and b"scale.onnx" in answer
    assert infer(server.url, "scale", tensor("x", ONE))[2]["y"].tolist() == [[1, 1]]
    (folder / "scale.onnx").write_bytes(good)
    for name in ("..%2Fscale", "a%2Fb", ".."):
        assert ask(server.url, f"/v2/repository/models/{name}/load", b"")[0] == 404


def test_the_proof_and_the_session_are_of_one_file(tmp_path, monkeypatch):
    """The file is replaced by a model that mixes rows, after the session has read the one that does not."""
    path = tmp_path / "m.onnx"
    onnx.save(scale(2), path)
    opened = models.open_session

    def replaced(source, *rest):
        session = opened(source, *rest)
        if "k" not in seen:
            seen.append("k")
            onnx.save(model("g (float[b,2] x) => (float[b,2] mixed) { m = ReduceMean (x) mixed = Sub (x, m) }"), path)
        return session

    seen = []
    monkeypatch.setattr(models, "open_session", replaced)
    loaded = models.LoadedModel("m", str(path), ModelSettings())
    assert loaded.outputs[0].name == "mixed" and "it reduces the rows" in loaded.why_alone


def test_replacing_loses_no_request(server, folder):
    """Four threads ask all the time while the model is replaced six times: every answer is right, and the last model answers at the end."""
    stop, wrong, answered, seen = threading.Event(), [], [0], set()

    def keep_asking():
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)
        body = json.dumps({"inputs": [tensor("x", ONE)]})
        while not stop.is_set():
            connection.request("POST", "/v2/models/scale/infer", body)
            answer = connection.getresponse()
            said = json.loads(answer.read())
            y = said["outputs"][0]["data"] if answer.status == 200 else said
            answered[0] += 1
            if y in ([k, k] for k in range(1, 8)):
                seen.add(y[0])
            else:
                wrong.append(y)

    threads = [threading.Thread(target=keep_asking) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for k in range(2, 8):
            onnx.save(scale(k), folder / "scale.onnx")
            assert ask(server.url, "/v2/repository/models/scale/load", b"")[0] == 200
            before = answered[0]
            wait_for(lambda: answered[0] > before + 8)
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert wrong == [] and seen >= {2, 7}
    assert infer(server.url, "scale", tensor("x", ONE))[2]["y"].tolist() == [[7, 7]]


def test_a_sequence_ends_with_the_model_that_it_began_with(tmp_path):
    path = tmp_path / "sum.onnx"
    onnx.save(SUM, path)
    with Server({"sum": str(path)}, http_port=0, grpc_port=None) as s:
        step = lambda id, start: infer(s.url, "sum", tensor("x", ONE), sequence_id=id, sequence_start=start)[2]["y"].tolist()  # noqa: E731
        assert step(1, True) == [[1, 1]]
        doubled = model("""sum (float[b,2] x, float[b,2] state) => (float[b,2] y, float[b,2] stateN) {
            stateN = Add (x, state)  y = Add (stateN, stateN) }""")
        onnx.save(doubled, path)
        assert ask(s.url, "/v2/repository/models/sum/load", b"")[0] == 200
        assert step(2, True) == [[2, 2]] and step(1, False) == [[2, 2]] and step(1, False) == [[3, 3]]
        assert step(1, True) == [[2, 2]] and step(1, False) == [[4, 4]], "begun anew"


def test_removing_waits_for_what_is_under_way():
    gate = Gate()
    with Server({"gate": (gate, ModelSettings(batch="on", max_batch=1))}, http_port=0, grpc_port=None) as s:
        under_way = in_parallel(*(lambda: infer(s.url, "gate", tensor("x", ONE)) for _ in range(3)))
        wait_for(lambda: s.service.models.under_way == 3)
        (removed,) = in_parallel(lambda: ask(s.url, "/v2/repository/models/gate/unload", b"")[0])
        wait_for(lambda: ask(s.url, "/v2/models/gate/ready")[0] == 400)
        assert infer(s.url, "gate", tensor("x", ONE))[0] == 404 and not removed.done()
        gate.open.set()
        assert [f.result(20)[2]["y"].tolist() for f in under_way] == [TWO] * 3 and removed.result(20) == 200


def test_the_stop_waits_for_models_that_are_removed():
    """A model is being removed when the server stops: its requests are answered, over HTTP and gRPC."""
    tritongrpc = pytest.importorskip("tritonclient.grpc")
    gate = Gate()
    s = Server({"gate": (gate, ModelSettings(batch="on", max_batch=1))}, http_port=0, grpc_port=0)
    s.start()
    with tritongrpc.InferenceServerClient(s.grpc_url) as client:
        x = tritongrpc.InferInput("x", [1, 2], "FP32")
        x.set_data_from_numpy(np.ones((1, 2), np.float32))
        by_http, by_grpc = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE)), lambda: client.infer("gate", [x]))
        wait_for(lambda: s.service.models.under_way == 2)
        (removed,) = in_parallel(lambda: ask(s.url, "/v2/repository/models/gate/unload", b"")[0])
        wait_for(lambda: ask(s.url, "/v2/models/gate/ready")[0] == 400)
        assert s.service.models.under_way == 2
        (stopped,) = in_parallel(s.stop)
        wait_for(lambda: s.service.stopping)
        gate.open.set()
        assert by_http.result(20)[2]["y"].tolist() == TWO and by_grpc.result(20).as_numpy("y").tolist() == TWO and removed.result(20) == 200
        stopped.result(20)


def test_a_model_that_is_removed_is_freed():
    with Server({"tanh": TANH}, http_port=0, grpc_port=None) as s:
        assert infer(s.url, "tanh", tensor("x", np.zeros((1, 4))))[0] == 200
        seen = weakref.ref(s.service.models.find("tanh"))
        assert ask(s.url, "/v2/repository/models/tanh/unload", b"")[0] == 200
        for _ in range(20):  # a thread may still be about to end
            gc.collect()
            if seen() is None:
                break
        assert seen() is None
        assert b'rondel_queue_length{model="tanh"} 0.0' in ask(s.url, "/metrics")[2]


def test_names_that_are_unknown_leave_nothing(server):
    for name in ("nobody", "knows"):
        assert ask(server.url, f"/v2/repository/models/{name}/load", b"")[0] == 404
        assert ask(server.url, f"/v2/repository/models/{name}/unload", b"")[0] == 404
    gc.collect()
    assert len(server.service.models._locks) == 0


def test_a_job_wakes_a_thread_that_takes_it():
    """Of two threads, one waits for a batch to fill; the other is woken for what does not fit that batch."""
    gate = Gate()
    gate.open.set()
    too_many = tensor("x", np.ones((9, 2)))
    with Server({"gate": (gate, ModelSettings(batch="on", instances=2, max_batch=4, batch_delay=100.0))}, http_port=0, grpc_port=None) as s:
        queue = s.service.models.find("gate")._queue
        (first,) = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE)))
        wait_for(lambda: queue._idle == 1)
        for _ in range(2):
            wait_for(lambda: len(queue._changed._waiters) == 2)
            assert infer(s.url, "gate", too_many)[0] == 200
        assert not first.done()
        gate.open.clear()  # the other thread is busy, so that the one that waits takes what fills its batch
        (other,) = in_parallel(lambda: infer(s.url, "gate", too_many))
        wait_for(lambda: queue._idle == 0)
        (last,) = in_parallel(lambda: infer(s.url, "gate", tensor("x", np.ones((3, 2)))))
        wait_for(lambda: gate.runs[-1] == 4)
        gate.open.set()
        assert [f.result(20)[0] for f in (first, other, last)] == [200] * 3


def test_a_job_that_is_put_back_wakes_a_thread():
    """A batch of 1, 1 and 3 rows is cut to 2 rows. The thread that waits for work takes the 3 rows, and fills a batch, while the 2 run."""
    gate = Gate()
    ask_for = lambda rows: in_parallel(lambda: infer(s.url, "gate", tensor("x", np.ones((rows, 2)))))  # noqa: E731
    with Server({"gate": (gate, ModelSettings(batch="on", instances=2, max_batch=5, batch_delay=100.0))}, http_port=0, grpc_port=None) as s:
        queue = s.service.models.find("gate")._queue
        waiters = queue._changed._waiters
        asked = ask_for(6)  # one thread is busy
        wait_for(lambda: queue._idle == 1 and gate.runs == [6])
        asked += ask_for(1)  # the other fills a batch
        wait_for(lambda: queue._idle == 0 and len(waiters) == 1)
        asked += ask_for(1)
        wait_for(lambda: s.service.models.under_way == 3 and len(queue) == 0 and len(waiters) == 1)
        gate.open.set()  # the first waits again, behind the other
        wait_for(lambda: queue._idle == 1 and len(waiters) == 2)
        gate.open.clear()

        def put(job):  # wakes only the thread that fills the batch
            with queue._changed:
                queue._jobs.append(job)
                queue._changed.notify()

        queue.put = put
        asked += ask_for(3)
        wait_for(lambda: gate.runs == [6, 2] and queue._idle == 0 and len(queue) == 0)
        asked += ask_for(2)
        wait_for(lambda: gate.runs == [6, 2, 5])
        gate.open.set()
        assert [f.result(20)[0] for f in asked] == [200] * 5


def test_a_request_that_fits_no_batch_does_not_wait_for_one_to_fill():
    with Server({"tanh": (TANH, ModelSettings(batch="on", batch_delay=100.0))}, http_port=0, grpc_port=None) as s:
        x = tensor("x", np.zeros((1, 4)))
        queue = s.service.models.find("tanh")._queue
        (first,) = in_parallel(lambda: infer(s.url, "tanh", x)[0])
        wait_for(lambda: queue._idle == 0)
        assert infer(s.url, "tanh", x, seed=1)[0] == 200 and first.result(20) == 200


def test_the_last_idle_thread_ends_the_filling_of_a_batch():
    """One thread fills a batch; the other takes one of two jobs that do not fit it, and wakes the first for the second of them."""
    gate = Gate()
    with Server({"gate": (gate, ModelSettings(batch="on", instances=2, max_batch=4, batch_delay=100.0))}, http_port=0, grpc_port=None) as s:
        queue = s.service.models.find("gate")._queue
        asked = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE)))
        wait_for(lambda: queue._idle == 1 and len(queue._changed._waiters) == 2)

        def put(job):  # wakes only the thread that waits for work, when both jobs are there
            with queue._changed:
                queue._jobs.append(job)
                if len(queue._jobs) == 2:
                    queue._changed._waiters.rotate(1)
                    queue._changed.notify()

        queue.put = put
        asked += in_parallel(*(lambda: infer(s.url, "gate", tensor("x", np.ones((9, 2)))) for _ in range(2)))
        wait_for(lambda: gate.runs == [9, 1])
        gate.open.set()
        assert [f.result(20)[0] for f in asked] == [200] * 3


def test_budgets_of_a_session_that_is_given():
    """They hold for each run, as for a file; what a session cannot keep is refused."""
    session = rondel.InferenceSession(TRIPS)
    x = tensor("x", [1.0])
    with Server({"trips": (session, ModelSettings(max_trips=100))}, http_port=0, grpc_port=None) as s:
        assert infer(s.url, "trips", tensor("n", 50, "INT64"), x)[0] == 200
        for own in ({}, {"max_trips": 10**6}):
            status, _, error = infer(s.url, "trips", tensor("n", 1000, "INT64"), x, **own)
            assert status == 400 and "the budget of 100 trips" in error
        assert "the budget of 10 trips" in infer(s.url, "trips", tensor("n", 50, "INT64"), x, max_trips=10)[2]
    with Server({"trips": (session, ModelSettings(max_memory_bytes=1000))}, http_port=0, grpc_port=None) as s:
        assert "memory budget of 1000 bytes" in infer(s.url, "trips", tensor("n", 50, "INT64"), tensor("x", np.ones(2000)))[2]
    for settings, expected in [({"max_trips": 5}, "no budgets of trips"), ({"max_memory_bytes": 5}, "no budgets of trips"), ({"threads": 2}, "threads of its own")]:
        with pytest.raises(rondel.CallerError, match=f"'gate'.*{expected}"):
            Server({"gate": (Gate(), ModelSettings(**settings))}, http_port=0, grpc_port=None).start()


def test_a_budget_of_the_model_does_not_keep_requests_apart():
    with Server({"tanh": (rondel.InferenceSession(TANH), ModelSettings(max_trips=5, batch="on", batch_delay=100.0, max_batch=2))}, http_port=0, grpc_port=None) as s:
        futures = in_parallel(*(lambda: infer(s.url, "tanh", tensor("x", np.zeros((1, 4)))) for _ in range(2)))
        assert [f.result(20)[0] for f in futures] == [200] * 2
        assert b'rondel_batch_rows_bucket{le="1.0",model="tanh"} 0.0' in ask(s.url, "/metrics")[2]


def test_a_full_queue_answers_503():
    gate = Gate()
    with Server({"gate": (gate, ModelSettings(queue=2))}, http_port=0, grpc_port=None) as s:
        waiting = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE)))
        assert gate.entered.acquire(timeout=20)
        waiting += in_parallel(*(lambda: infer(s.url, "gate", tensor("x", ONE)) for _ in range(2)))
        wait_for(lambda: s.service.models.under_way == 3)
        status, headers, error = infer(s.url, "gate", tensor("x", ONE))
        assert status == 503 and int(headers["Retry-After"]) >= 1 and "2 requests waiting" in error
        assert b'rondel_queue_length{model="gate"} 2.0' in ask(s.url, "/metrics")[2]
        gate.open.set()
        assert [f.result(20)[0] for f in waiting] == [200] * 3


def test_what_is_late_leaves_the_queue():
    gate = Gate()
    with Server({"gate": (gate, ModelSettings(queue=1, batch="on", max_batch=1))}, http_port=0, grpc_port=None) as s:
        first = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE)))
        assert gate.entered.acquire(timeout=20)
        for _ in range(3):
            assert infer(s.url, "gate", tensor("x", ONE), timeout=20_000)[0] == 504
        gate.open.set()
        assert first[0].result(20)[0] == 200 and infer(s.url, "gate", tensor("x", ONE))[0] == 200
        assert gate.runs == [1, 1], "what was late was not run"


def test_several_instances_run_at_once():
    gate = Gate()
    with Server({"gate": (gate, ModelSettings(instances=2))}, http_port=0, grpc_port=None) as s:
        futures = in_parallel(*(lambda: infer(s.url, "gate", tensor("x", ONE)) for _ in range(2)))
        assert gate.entered.acquire(timeout=20) and gate.entered.acquire(timeout=20)
        gate.open.set()
        assert [f.result(20)[0] for f in futures] == [200] * 2


def test_names_and_missing_files(tmp_path):
    for name in ("", "a/b", "../x", "a b", "x" * 300):
        with pytest.raises(rondel.CallerError, match="cannot be named"):
            Server({name: TANH})
    with pytest.raises(rondel.CallerError, match="none.onnx"):
        Server({"none": str(tmp_path / "none.onnx")}, http_port=0, grpc_port=None).start()
    with pytest.raises(rondel.CallerError, match="token is empty"):
        Server({"tanh": TANH}, token="")


@pytest.mark.parametrize(
    "models, settings, message",
    [
        ("root.onnx", None, "models is a str; expected a dict of a name to a model"),
        ([TANH], None, "models is a list; expected a dict of a name to a model"),
        ({3: TANH}, None, "models holds the name 3; expected a str"),
        ({"tanh": (TANH, {})}, None, r"as 'tanh'; expected a model, or \(model, ModelSettings"),
        ({"tanh": (TANH,)}, None, r"as 'tanh'; expected a model, or \(model, ModelSettings"),
        ({"tanh": TANH}, {"tanh": ModelSettings()}, "settings is a dict; expected ModelSettings; one model's own go beside it"),
        ({"tanh": TANH}, 3, "settings is a int; expected ModelSettings"),
    ],
)
def test_models_and_settings_of_a_wrong_kind(models, settings, message):
    with pytest.raises(rondel.CallerError, match=message):
        Server(models, settings)


def test_the_application_under_another_server():
    """As Ray Serve or another ASGI server starts it, by its lifespan: here uvicorn alone, twice."""
    app = application(Service({"tanh": TANH}))
    for _ in range(2):
        web = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="on", log_config=None))
        thread = threading.Thread(target=web.run)
        thread.start()
        try:
            wait_for(lambda: web.started)
            url = "http://127.0.0.1:{}".format(web.servers[0].sockets[0].getsockname()[1])
            assert ask(url, "/v2/health/ready")[0] == 200
            assert infer(url, "tanh", tensor("x", np.zeros((1, 4))))[2]["y"].tolist() == [[0] * 4]
        finally:
            web.should_exit = True
            thread.join()


# ---- the start -------------------------------------------------------------------------------------------------------


@pytest.fixture
def loading(monkeypatch):
    """Models load only when this event is set."""
    go = threading.Event()

    def waiting(*arguments):
        assert go.wait(20)
        return opened(*arguments)

    opened = models.open_session
    monkeypatch.setattr(models, "open_session", waiting)
    yield go
    go.set()


def test_health_is_answered_while_models_load(loading):
    tritongrpc = pytest.importorskip("tritonclient.grpc")
    s = Server({"tanh": TANH}, http_port=0, grpc_port=0)
    (started,) = in_parallel(s.start)
    wait_for(lambda: hasattr(s, "url"))
    x = tensor("x", np.zeros((1, 4)))
    assert ask(s.url, "/v2/health/live")[0] == 200 and ask(s.url, "/v2/health/ready")[0] == 400
    for path in ("/v2/models/tanh/infer", "/v2/repository/models/tanh/load", "/v2/repository/models/tanh/unload"):
        status, headers, answer = ask(s.url, path, {"inputs": [x]} if "infer" in path else b"")
        assert (status, headers["Retry-After"]) == (503, "1") and b"the server is starting" in answer
    assert ask(s.url, "/v2/models/tanh")[0] == 503 and ask(s.url, "/v2/models/tanh/ready")[0] == 400
    with tritongrpc.InferenceServerClient(s.grpc_url) as client:
        assert client.is_server_live() and not client.is_server_ready()
        assert not started.done()
        loading.set()
        started.result(20)
        assert client.is_server_ready()
    assert ask(s.url, "/v2/health/ready")[0] == 200 and infer(s.url, "tanh", x)[0] == 200
    s.stop()


def test_a_stop_does_not_wait_for_models_that_load(loading):
    s = Server({"tanh": TANH}, http_port=0, grpc_port=0)
    (started,) = in_parallel(s.start)
    wait_for(lambda: hasattr(s, "url"))
    s.stop()
    with pytest.raises(rondel.CallerError, match="stopped before its models were loaded"):
        started.result(20)


# ---- the end of the grace --------------------------------------------------------------------------------------------


def threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("rondel-serve")]


@pytest.mark.parametrize("most", [1, 2])
def test_requests_that_outlast_the_grace_are_told_to_come_again(most):
    """One batch runs, others wait; runs and threads end, those of models without requests, too."""
    tritongrpc = pytest.importorskip("tritonclient.grpc")
    before = threads()
    s = Server({"endless": (ENDLESS, ModelSettings(batch="on", max_batch=most, batch_delay=100.0)), "tanh": TANH}, http_port=0, grpc_port=0, grace=0.2)
    s.start()
    x = tritongrpc.InferInput("x", [1], "FP32")
    x.set_data_from_numpy(np.ones(1, np.float32))

    def by_grpc():
        with tritongrpc.InferenceServerClient(s.grpc_url) as client:
            client.infer("endless", [x])

    asked = in_parallel(*(lambda: infer(s.url, "endless", tensor("x", [1.0])) for _ in range(3)), by_grpc)
    queue = s.service.models.find("endless")._queue
    wait_for(lambda: s.service.models.under_way == 4 and queue._idle == 0 and len(queue) == 4 - most)
    s.stop()
    for one in asked[:3]:
        status, headers, error = one.result(20)
        assert (status, headers["Retry-After"], error) == (503, "1", "the server is stopping")
    with pytest.raises(tritongrpc.InferenceServerException, match="UNAVAILABLE.*the server is stopping"):
        asked[3].result(20)
    wait_for(lambda: threads() == before)


def test_a_run_that_nothing_stops_does_not_hold_the_server(monkeypatch, caplog):
    monkeypatch.setattr(service, "_PATIENCE", 0.05)
    gate = Gate()
    s = Server({"gate": gate}, http_port=0, grpc_port=None, grace=0.1)
    s.start()
    (asked,) = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE))[0])
    assert gate.entered.acquire(timeout=20)
    (stopped,) = in_parallel(s.stop)
    stopped.result(20)
    assert asked.result(20) == 503
    assert [r.getMessage() for r in caplog.records if r.name == "rondel.serve"] == [
        "1 requests are given up: they did not end within 0.1 s", "a run that was told to stop goes on; its thread ends with it",
    ]  # fmt: skip
    gate.open.set()
    wait_for(lambda: "rondel-serve gate 0" not in threads())


def test_a_body_that_is_still_being_read_at_the_end_of_the_grace_is_refused():
    s = Server({"tanh": TANH}, http_port=0, grpc_port=None, grace=0.0)
    s.start()
    host, port = s.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"POST /v2/models/tanh/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        wait_for(lambda: ask(s.url, "/v2/health/live")[0] == 200)
        s.stop()
        assert connection.recv(1000).startswith(b"HTTP/1.1 503")


# ---- the command -----------------------------------------------------------------------------------------------------


class Command:
    """`rondel serve` in a process of its own, with free ports."""

    def __init__(self, *arguments, **environment):
        paths = os.pathsep.join([str(ROOT / "cli"), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rondel_cli.main", "serve", "--port", "0", "--grpc-port", "0", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONPATH": paths, **environment},
        )  # fmt: skip
        self.printed = ""
        while "grpc  " not in self.printed:
            line = self.process.stdout.readline()
            assert line, self.printed
            self.printed += line
        self.url = re.search(r"http  (http://\S+)/v2", self.printed).group(1)
        self.grpc_url = re.search(r"grpc  (\S+)", self.printed).group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_graceful_stop(tmp_path, how):
    """A request is under way: after the signal, ready is false, new requests are refused, and the one under way is answered."""
    (tmp_path / "token").write_text("abc\n")
    options = ("--token-file", tmp_path / "token", "--engine", "waiting_engine")
    with Command(f"one={tmp_path / 'no_file.onnx'}", *options, WAITING_ENGINE=str(tmp_path)) as c:
        assert "one    none: " in c.printed and ask(c.url, "/v2")[0] == 401
        ask_one = lambda: ask(c.url, "/v2/models/one/infer", {"inputs": [tensor("x", ONE)]}, {"Authorization": "Bearer abc"})  # noqa: E731
        (under_way,) = in_parallel(ask_one)
        wait_for((tmp_path / "begun").exists)
        c.process.send_signal(how)
        wait_for(lambda: ask(c.url, "/v2/health/ready")[0] == 400)
        status, headers, answer = ask_one()
        assert status == 503 and headers["Retry-After"] == "1" and b"stopping" in answer
        assert not under_way.done()
        (tmp_path / "go").touch()
        status, _, answer = under_way.result(20)
        assert status == 200 and json.loads(answer)["outputs"][0]["data"] == [2, 2]
        assert c.process.wait(20) == 0
        assert c.process.stdout.read() == "stopped\n"


def test_a_stop_may_wait_for_ever():
    gate = Gate()
    s = Server({"gate": gate}, http_port=0, grpc_port=0, grace=float("inf"))
    s.start()
    (under_way,) = in_parallel(lambda: infer(s.url, "gate", tensor("x", ONE)))
    assert gate.entered.acquire(timeout=20)
    (stopped,) = in_parallel(s.stop)
    wait_for(lambda: s.service.stopping)
    gate.open.set()
    assert under_way.result(20)[2]["y"].tolist() == TWO
    stopped.result(20)
    for wrong in (-1.0, float("nan")):
        with pytest.raises(rondel.CallerError, match="grace is .*; expected seconds of 0 or more"):
            Server({"gate": gate}, grace=wrong)


def test_a_second_signal_does_not_wait(tmp_path):
    with Command(f"one={tmp_path / 'no_file.onnx'}", "--engine", "waiting_engine", WAITING_ENGINE=str(tmp_path)) as c:
        in_parallel(lambda: pytest.raises(OSError, ask, c.url, "/v2/models/one/infer", {"inputs": [tensor("x", ONE)]}))
        wait_for((tmp_path / "begun").exists)
        c.process.send_signal(signal.SIGTERM)
        wait_for(lambda: ask(c.url, "/v2/health/ready")[0] == 400)
        c.process.send_signal(signal.SIGTERM)
        assert c.process.wait(20) == 128 + signal.SIGTERM


def test_the_command_serves_files_by_name(tmp_path):
    for name, made in (("tanh", TANH), ("sum", SUM)):
        onnx.save(made, tmp_path / f"{name}.onnx")
    files = (tmp_path / "tanh.onnx", f"total={tmp_path / 'sum.onnx'}")
    options = ("--batch", "total=off", "--state", "total:state=stateN", "--deadline", "20", "--host", "127.0.0.1")
    with Command(*files, *options, RONDEL_SERVE_TOKEN="xyz") as c:
        rows = {line.split()[0]: line for line in c.printed.splitlines()[2:4]}
        assert "up to 32 rows" in rows["tanh"] and rows["tanh"].endswith("none")
        assert "told not to" in rows["total"] and "state=stateN" in rows["total"]
        status, _, answer = ask(c.url, "/v2/models/tanh/infer", {"inputs": [tensor("x", np.zeros((1, 4)))]}, {"Authorization": "Bearer xyz"})
        assert status == 200
        tritongrpc = pytest.importorskip("tritonclient.grpc")
        with tritongrpc.InferenceServerClient(c.grpc_url) as client:
            assert client.is_server_ready()


@pytest.mark.parametrize(
    "arguments, code, expected",
    [
        ((), 2, "nothing to serve"),
        (("none.onnx",), 1, "none.onnx"),
        (("a/m.onnx", "b/m.onnx"), 2, "two models are named 'm'; give one another name: NAME=b/m.onnx"),
        (("m.onnx", "--batch", "maybe"), 2, "expected auto, on or off"),
        (("m.onnx", "--batch", "q=on"), 2, "--batch q=on: there is no model 'q' on the command line; there are m"),
        (("m.onnx", "--state", "x"), 2, "expected INPUT=OUTPUT"),
        (("m.onnx", "n.onnx", "--state", "x=y"), 2, "expected NAME:INPUT=OUTPUT"),
        (("--repository", ".", "--state", "x=y"), 2, "--state x=y: no model is named on the command line; name the file, too"),
        (("m.onnx", "--port", "70000"), 2, "no port"),
        (("m.onnx", "--queue", "0"), 2, "not a number of 1 or more"),
        (("m.onnx", "--tls-cert", "c.pem"), 2, "--tls-cert and --tls-key: expected both, or neither"),
        (("m.onnx", "--tls-cert", "c.pem", "--tls-key", "k.pem"), 1, "the certificate c.pem with the key k.pem cannot be used"),
        (("m.onnx", "--repository", "nowhere"), 2, "no such folder"),
        (("m.onnx", "--token-file", "nowhere"), 2, "--token-file nowhere: it cannot be read: No such file"),
        (("m.onnx", "--token-file", os.devnull), 2, f"--token-file {os.devnull}: the file is empty; expected the token"),
        (("m.onnx", "--state", "q:x=y"), 2, "--state q:x=y: there is no model 'q' on the command line; there are m"),
        (("m.onnx", "n.onnx", "--state", "q:x=y"), 2, "there is no model 'q' on the command line; there are m, n"),
    ],
)
def test_a_wrong_command_line(arguments, code, expected, capsys, monkeypatch, tmp_path):
    from rondel_cli import main

    monkeypatch.chdir(tmp_path)
    try:
        got = main.main(["serve", "--port", "0", "--grpc-port", "0", *arguments])
    except SystemExit as end:
        got = end.code
    assert got == code and expected in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x:0", "onnx::Add_1", "x"])
def test_states_of_inputs_whose_names_have_colons(name):
    from rondel_cli import serve

    assert serve._states([f"{name}=y:0"], {"m": "m.onnx"}) == serve._states([f"m:{name}=y:0"], {"m": "m.onnx"}) == {"m": {name: "y:0"}}


@pytest.mark.parametrize("token", ["", " \n"])
def test_an_empty_token_is_no_token(token, capsys, monkeypatch, tmp_path):
    from rondel_cli import main

    monkeypatch.setenv("RONDEL_SERVE_TOKEN", token)
    monkeypatch.chdir(tmp_path)
    assert main.main(["serve", "m.onnx", "--port", "0", "--grpc-port", "0"]) == 2
    assert "RONDEL_SERVE_TOKEN is empty; expected the token, or no such variable" in capsys.readouterr().err


def test_a_port_of_grpc_that_is_taken(capfd):
    with Server({"tanh": TANH}, http_port=0, grpc_port=0) as s:
        with pytest.raises(rondel.CallerError, match="gRPC cannot listen at 127.0.0.1:.*Address already in use.*try another port"):
            Server({"tanh": TANH}, http_port=0, grpc_port=int(s.grpc_url.rpartition(":")[2])).start()
    assert capfd.readouterr().err == "", "gRPC would write a log of its own"


def test_the_extra_is_named_if_it_is_missing():
    code = "import sys; sys.modules['fastapi'] = None\nfrom rondel_cli.main import main\nsys.exit(main(['serve', 'x.onnx']))"
    path = os.pathsep.join([str(ROOT / "cli"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 3 and done.stderr == "rondel: serving needs the package 'fastapi'; pip install 'rondel[serve]' installs all that it needs\n"


def test_rondel_alone_imports_nothing_of_it():
    code = "import sys, rondel; print([m for m in ('fastapi', 'grpc', 'uvicorn', 'asyncio', 'rondel.serve') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
