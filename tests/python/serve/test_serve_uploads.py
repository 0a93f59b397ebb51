"""Models in the body of `load`, over HTTP and gRPC, as Triton's clients send them."""

import base64
import json

import numpy as np
import onnx
import pytest

pytest.importorskip("fastapi")
tritonhttp = pytest.importorskip("tritonclient.http")
tritongrpc = pytest.importorskip("tritonclient.grpc")

from serving import TANH, TRIPS, Gate, ask, in_parallel, infer, model, tensor, wait_for  # noqa: E402
from tritonclient.utils import InferenceServerException  # noqa: E402

from rondel.serve import ModelSettings, Server, models  # noqa: E402

ONE = [[1, 1]]


def scale(by):
    return model(f"g (float[b,2] x) => (float[b,2] y) <float k = {{{by}}}> {{ y = Mul (x, k) }}")


def files(made):
    return {"file:1/model.onnx": made.SerializeToString()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("repository")
    onnx.save(scale(2), made / "own.onnx")
    return made


@pytest.fixture(scope="module")
def server(folder):
    models = {"trips": (TRIPS, ModelSettings(max_trips=100))}
    with Server(models, ModelSettings(max_trips=50), repository=str(folder), http_port=0, grpc_port=0) as s:
        yield s


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(request, server):
    kind, url = (tritonhttp, server.url.removeprefix("http://")) if request.param == "http" else (tritongrpc, server.grpc_url)
    with kind.InferenceServerClient(url) as c:
        yield c


def scaled(server, name):
    return infer(server.url, name, tensor("x", ONE))[2]["y"].tolist()[0][0]


def states(server):
    return {m["name"]: m["state"] for m in json.loads(ask(server.url, "/v2/repository/index", b"", method="POST")[2])}


def config_of(server, name):
    return json.loads(ask(server.url, f"/v2/models/{name}/config")[2])


def test_a_new_model_comes_and_goes(server, client):
    client.load_model("new", config="{}", files=files(scale(3)))
    assert scaled(server, "new") == 3 and states(server)["new"] == "READY"
    client.load_model("new", config="{}", files=files(scale(4)))
    assert scaled(server, "new") == 4
    with pytest.raises(InferenceServerException, match="there is no model 'new' to load: it was sent, and has no file; what runs goes on"):
        client.load_model("new")
    assert scaled(server, "new") == 4
    client.unload_model("new")
    assert "new" not in states(server), "it has no file to be loaded from"


def families(server, name):
    return sum(f'model="{name}"'.encode() in line for line in ask(server.url, "/metrics")[2].splitlines())


def test_metrics_forget_what_the_index_forgets(server, client, folder):
    client.load_model("passing", files=files(scale(3)))
    assert scaled(server, "passing") == 3 and families(server, "passing") > 20
    client.unload_model("passing")
    assert families(server, "passing") == 0
    onnx.save(scale(1), folder / "leaving.onnx")
    client.load_model("leaving")
    client.unload_model("leaving")
    assert states(server)["leaving"] == "UNAVAILABLE" and families(server, "leaving") > 20, "it has a file to be loaded from"
    (folder / "leaving.onnx").unlink()
    assert "leaving" not in states(server) and families(server, "leaving") == 0


def test_requests_under_way_do_not_bring_back_the_metrics_of_a_model_that_is_gone(server, client, monkeypatch):
    gate = Gate()
    monkeypatch.setattr(models, "open_session", lambda *_: gate)
    client.load_model("passing", files=files(scale(3)))
    asked = in_parallel(*(lambda x=x: infer(server.url, "passing", tensor("x", [[x, x]]))[0] for x in (1, -1)))
    wait_for(lambda: server.service.models.find("passing").under_way == 2)
    (removed,) = in_parallel(lambda: ask(server.url, "/v2/repository/models/passing/unload", b"")[0])
    wait_for(lambda: "passing" not in states(server))
    assert families(server, "passing") == 0
    gate.open.set()
    assert [f.result(20) for f in asked] == [200, 500] and removed.result(20) == 200 and families(server, "passing") == 0
    monkeypatch.undo()
    client.load_model("passing", files=files(scale(3)))
    assert scaled(server, "passing") == 3
    assert b'rondel_requests_total{model="passing",outcome="200"} 1.0' in ask(server.url, "/metrics")[2], "it counts anew"
    client.unload_model("passing")


def test_an_upload_replaces_a_file_until_that_is_loaded_again(server, client):
    client.load_model("own", files=files(scale(5)))
    assert scaled(server, "own") == 5
    client.load_model("own")
    assert scaled(server, "own") == 2


def test_settings_of_the_server_hold_for_uploads(server, client):
    client.load_model("theirs", files=files(TRIPS))
    assert "the budget of 50 trips" in infer(server.url, "theirs", tensor("n", 60, "INT64"), tensor("x", [1.0]))[2]
    client.load_model("trips", files=files(TRIPS))
    assert "the budget of 100 trips" in infer(server.url, "trips", tensor("n", 101, "INT64"), tensor("x", [1.0]))[2]
    client.unload_model("theirs")


def test_the_configuration_may_tell_the_size_of_batches(server, client):
    usual = config_of(server, "own")
    assert usual["max_batch_size"] == 32
    client.load_model("own", config=json.dumps({**usual, "max_batch_size": 4}))
    assert config_of(server, "own")["max_batch_size"] == 4
    client.load_model("own", config='{"max_batch_size": 2147483647}')
    assert config_of(server, "own")["max_batch_size"] == 32, "it may be less than the server's, not more"
    client.load_model("own", config='{"max_batch_size": 0}', files=files(scale(9)))
    assert config_of(server, "own")["max_batch_size"] == 0 and scaled(server, "own") == 9
    client.load_model("own")
    assert config_of(server, "own")["max_batch_size"] == 32


def test_external_data_comes_along(server, client, tmp_path):
    weights = np.arange(2000, dtype=np.float32).reshape(2, 1000)
    graph = model("big (float[b,2] x) => (float[b,1000] y) { y = MatMul (x, w) }")
    graph.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(graph, tmp_path / "model.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    both = {f"file:1/{name}": (tmp_path / name).read_bytes() for name in ("model.onnx", "big.data")}
    client.load_model("big", files=both)
    for _ in range(3):
        assert (infer(server.url, "big", tensor("x", ONE))[2]["y"] == weights.sum(0)).all()
    with pytest.raises(InferenceServerException, match="big.data"):
        client.load_model("big", files={"file:1/model.onnx": both["file:1/model.onnx"]})
    assert (infer(server.url, "big", tensor("x", ONE))[2]["y"] == weights.sum(0)).all(), "a load that fails changes nothing"
    client.unload_model("big")


def test_an_upload_reads_no_file_of_the_server(tmp_path, monkeypatch):
    """By onnxruntime, which takes the external data of bytes from the working folder."""
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(b"my secret text!!")
    spy = model("""spy (uint8[n] x, bool c) => (uint8[n] y) { y = If (c)
      <then_branch = a () => (uint8[m] p) { p = BitwiseOr (x, w) }, else_branch = b () => (uint8[k] q) { q = Identity (x) }> }""")
    weights = spy.graph.initializer.add(name="w", data_type=onnx.TensorProto.UINT8, dims=[16], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", "secret"), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    with Server({}, repository=str(tmp_path), http_port=0, grpc_port=None, engine="onnxruntime") as s:
        with tritonhttp.InferenceServerClient(s.url.removeprefix("http://")) as client:
            with pytest.raises(InferenceServerException, match="the engine 'onnxruntime' cannot open the model.*secret"):
                client.load_model("spy", files=files(spy))
            client.load_model("spy", files={**files(spy), "file:1/secret": b"what came along!"})
        found = infer(s.url, "spy", tensor("x", [0] * 16, "UINT8"), tensor("c", True, "BOOL"))[2]
        assert bytes(found["y"].tolist()) == b"what came along!"


GOOD = scale(1).SerializeToString()


@pytest.mark.parametrize(
    "name, files, config, expected",
    [
        ("new", {"file:1/model.onnx": b"no model"}, None, "model"),
        ("new", {"file:1/model.onnx": b""}, None, "the 0 bytes are no model"),
        ("new", {"file:2/model.onnx": GOOD}, None, "no file of a model; expected file:1/model.onnx"),
        ("new", {"file:1/../../model.onnx": GOOD}, None, "no file of a model"),
        ("new", {"file:1/weights.bin": b"1"}, None, "expected file:1/model.onnx, too"),
        ("new", {"model.onnx": GOOD}, None, "load has no parameter 'model.onnx'"),
        ("a b", {"file:1/model.onnx": GOOD}, None, "cannot be named"),
        ("new", None, "{}", "there is no model 'new' to load"),
        ("own", None, "[]", "expected Triton's model configuration"),
        ("own", None, "{", "no JSON"),
        ("own", None, '{"max_batch_size": -1}', "expected an integer of 0 or more"),
        ("own", None, '{"instance_group": []}', "'config' has instance_group"),
    ],
)
def test_what_is_refused_changes_nothing(server, client, name, files, config, expected):
    before = states(server)
    with pytest.raises(InferenceServerException, match=expected):
        client.load_model(name, files=files, config=config)
    assert states(server) == before and scaled(server, "own") == 2
    assert not server.service.models._reasons.keys() - {"own"}


def test_bodies_that_are_no_upload(server):
    def load(parameters):
        status, _, said = ask(server.url, "/v2/repository/models/new/load", {"parameters": parameters})
        return status, json.loads(said)["error"]

    assert load({"file:1/model.onnx": "***"})[0] == 400 and "no base64" in load({"file:1/model.onnx": "***"})[1]
    assert "expected base64" in load({"file:1/model.onnx": 5})[1] and "expected an object" in load([1])[1]
    assert ask(server.url, "/v2/repository/models/own/load", b"[]")[0] == 400


def test_uploads_have_the_size_of_requests_and_need_the_token():
    small = base64.b64encode(b"x" * 3000).decode()
    with Server({"tanh": TANH}, http_port=0, grpc_port=None, token="abc", max_request_bytes=2000) as s:
        said = {"parameters": {"file:1/model.onnx": small}}
        assert ask(s.url, "/v2/repository/models/new/load", said)[0] == 401
        assert ask(s.url, "/v2/repository/models/new/load", said, {"Authorization": "Bearer abc"})[0] == 413
