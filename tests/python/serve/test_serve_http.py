"""`rondel.serve` over HTTP: tritonclient's calls, plain JSON, and what is refused."""

import base64
import gzip
import json
import re
import zlib

import numpy as np
import onnx
import pytest

pytest.importorskip("fastapi")
tritonhttp = pytest.importorskip("tritonclient.http")

from serving import SUM, TANH, TRIPS, Gate, ask, in_parallel, infer, model, tensor, wait_for  # noqa: E402
from tritonclient.utils import InferenceServerException  # noqa: E402

import rondel.serve  # noqa: E402
import rondel.serve.errors  # noqa: E402
from rondel.serve import ModelSettings, Server  # noqa: E402
from rondel.serve.datatypes import datatype_of, from_bytes, from_list  # noqa: E402

# A client of tritonclient that the server's thread collects cannot close itself.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TYPES = model("""types (bool[n] a, uint8[n] b, int64[n] c, float16[n] d, double[n] e, string[n] f, int8[n] g, bfloat16[n] h)
  => (bool[n] a2, uint8[n] b2, int64[n] c2, float16[n] d2, double[n] e2, string[n] f2, int8[n] g2, bfloat16[n] h2) {
  a2 = Identity (a) b2 = Identity (b) c2 = Identity (c) d2 = Identity (d) e2 = Identity (e) f2 = Identity (f) g2 = Identity (g) h2 = Identity (h) }""")

DRAWN = model("drawn (float[b,2] x, float[b,2] h) => (float[b,2] y, float[b,2] hn) { y = RandomUniformLike (x) hn = Add (y, h) }")


@pytest.fixture(scope="module")
def server():
    limited = ModelSettings(max_trips=100, max_memory_bytes=1 << 20, deadline=10.0)
    models = {"tanh": TANH, "types": TYPES, "trips": (TRIPS, limited), "sum": SUM}
    with Server(models, http_port=0, grpc_port=None, max_request_bytes=1 << 20) as s:
        yield s


@pytest.fixture(scope="module")
def client(server):
    with tritonhttp.InferenceServerClient(server.url.removeprefix("http://")) as c:
        yield c


def triton_input(name, array, datatype, binary=True):
    made = tritonhttp.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, binary_data=binary)
    return made


def test_health_and_metadata(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tanh") and client.is_model_ready("tanh", "1")
    assert not client.is_model_ready("none") and not client.is_model_ready("tanh", "2")
    assert client.get_server_metadata()["name"] == "rondel" and "binary_tensor_data" in client.get_server_metadata()["extensions"]
    ports = client.get_model_metadata("tanh")
    assert ports["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}] and ports["versions"] == ["1"]
    config = client.get_model_config("tanh")
    assert config["max_batch_size"] == 32 and config["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}]
    assert client.get_model_config("trips")["max_batch_size"] == 0


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
def test_infer(client, binary_in, binary_out):
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    wanted = [tritonhttp.InferRequestedOutput("y", binary_data=binary_out)]
    found = client.infer("tanh", [triton_input("x", x, "FP32", binary_in)], outputs=wanted, request_id="7")
    (expected,) = rondel.InferenceSession(TANH).run(None, {"x": x})
    np.testing.assert_array_equal(found.as_numpy("y"), expected)
    assert found.get_response()["id"] == "7" and found.as_numpy("y").dtype == np.float32


@pytest.mark.parametrize("binary", [True, False])
def test_every_datatype_comes_back(client, binary):
    texts = np.array(["a", "", "ü\0b"], object)
    given = {"a": np.array([True, False, True]), "b": np.array([0, 255, 3], np.uint8), "c": np.array([-(2**63), 2**63 - 1, 0]),
             "e": np.array([1e-300, np.pi, -0.0]), "g": np.array([-128, 127, 0], np.int8), "f": texts}  # fmt: skip
    names = {"a": "BOOL", "b": "UINT8", "c": "INT64", "e": "FP64", "g": "INT8", "f": "BYTES"}
    inputs = [triton_input(n, x, names[n], binary) for n, x in given.items()]
    half, brain = np.array([1, 0.5, -2], np.float16), np.array([1, 0.5, -2], np.float32)
    inputs += [triton_input("d", half, "FP16"), triton_input("h", brain, "BF16")]  # these are always binary
    outputs = [tritonhttp.InferRequestedOutput(n + "2", binary_data=binary or n in "dh") for n in "abcdefgh"]
    found = client.infer("types", inputs, outputs=outputs)
    for name, x in given.items():
        got = found.as_numpy(name + "2")
        texts_of = [t.decode() if isinstance(t, bytes) else t for t in got.tolist()]
        assert got.shape == x.shape and texts_of == x.tolist()
    np.testing.assert_array_equal(found.as_numpy("d2"), half)
    np.testing.assert_array_equal(found.as_numpy("h2"), brain)


def test_packed_bodies(client):
    x = np.ones((2, 4), np.float32)
    for kind in ("gzip", "deflate"):
        found = client.infer("tanh", [triton_input("x", x, "FP32")], request_compression_algorithm=kind, response_compression_algorithm=kind)
        np.testing.assert_array_equal(found.as_numpy("y"), np.tanh(x))


def test_what_json_cannot_say_is_not_null(server):
    x = np.array([[np.nan, np.inf, -np.inf, 0]], np.float32)
    status, _, found = infer(server.url, "tanh", tensor("x", x))
    np.testing.assert_array_equal(found["y"], [[np.nan, 1, -1, 0]])


def test_nan_of_every_float_is_not_null(server):
    body = {"inputs": [tensor("a", [True]), tensor("b", [1]), tensor("c", [1]), tensor("d", [np.inf]), tensor("e", [np.nan]), tensor("f", ["a"]),
                       tensor("g", [1]), tensor("h", [np.nan])]}  # fmt: skip
    for item, datatype in zip(body["inputs"], ("BOOL", "UINT8", "INT64", "FP16", "FP64", "BYTES", "INT8", "BF16")):
        item["datatype"] = datatype
    for name in ("d2", "e2", "h2"):
        status, _, answer = ask(server.url, "/v2/models/types/infer", {**body, "outputs": [{"name": name}]})
        assert status == 200 and b"null" not in answer and not np.isfinite(json.loads(answer)["outputs"][0]["data"]).any()


@pytest.mark.parametrize("datatype, data", [("UINT64", [1, 2**63]), ("UINT64", [[2**64 - 1], [0]]), ("FP16", [65504]), ("FP32", [3e38]), ("FP64", [1e300, np.inf])])
def test_numbers_that_a_datatype_holds(datatype, data):
    found = from_list(data, datatype, np.shape(data), "x")
    assert np.ravel(found).tolist() == pytest.approx(np.ravel(np.array(data, object)).tolist(), rel=1e-6) and datatype_of(found, "x") == datatype


@pytest.mark.parametrize("datatype, data", [
    ("FP16", [70000]), ("FP32", [1e300]), ("BF16", [1e39]), ("UINT64", [2**64]), ("UINT64", [-1, 2**63]), ("INT64", [2**63]), ("UINT64", [1, 2.5]),
    ("UINT64", [2**63, "a"]), ("FP64", [10**400]),
])  # fmt: skip
def test_numbers_that_a_datatype_does_not_hold(datatype, data):
    with pytest.raises(rondel.serve.errors.Refusal, match="input 'x'"):
        from_list(data, datatype, (len(data),), "x")


@pytest.mark.parametrize("datatype, data, expected", [
    ("INT32", [7, True], "true or false; expected integers"), ("FP32", [0.5, True], "true or false; expected integers or floats"),
    ("BOOL", [True, 1], "integers; expected true or false"), ("INT32", [1, 2.0], "floats; expected integers"), ("FP32", [1, None], "null"),
    ("UINT64", [1, [2]], "lists"), ("FP32", [1, {}], "objects"),
])  # fmt: skip
def test_data_of_another_kind(datatype, data, expected):
    with pytest.raises(rondel.serve.errors.Refusal, match=f"input 'x' .*: its data hold {expected}"):
        from_list(data, datatype, (2,), "x")


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 1), (2, 0, 3), (1,), (2, 1, 2)])
@pytest.mark.parametrize("datatype", ["INT32", "BYTES"])
def test_data_are_flat_or_nested_as_the_shape_is(datatype, shape):
    array = np.arange(np.prod(shape)).astype(str if datatype == "BYTES" else np.int32).reshape(shape)
    for data in (array.tolist(), array.reshape(-1).tolist()):
        found = from_list(data, datatype, shape, "x")
        assert found.shape == shape and found.tolist() == array.tolist()


@pytest.mark.parametrize("shape, data", [
    ((2, 3), [[1, 2], [3, 4], [5, 6]]), ((4,), [[1, 2], [3, 4]]), ((2, 2), [[[1], [2]], [[3], [4]]]), ((2, 2), [[1, 2], [3]]), ((2, 1), [[1], 2]), ((), [[1]]),
])  # fmt: skip
@pytest.mark.parametrize("datatype", ["INT32", "BYTES"])
def test_data_that_are_nested_otherwise(datatype, shape, data):
    if datatype == "BYTES":
        data = json.loads(re.sub("[0-9]", '"a"', json.dumps(data)))
    with pytest.raises(rondel.serve.errors.Refusal, match="input 'x' has data that are nested otherwise than its shape"):
        from_list(data, datatype, shape, "x")


def test_bytes_of_bool_are_0_or_1():
    assert from_bytes(b"\0\1", "BOOL", (2,), "x").tolist() == [False, True]
    with pytest.raises(rondel.serve.errors.Refusal, match="input 'x' is of BOOL; expected bytes of 0 and 1"):
        from_bytes(b"\0\2", "BOOL", (2,), "x")


def test_packed_bodies_that_are_cut_off_or_go_on(server):
    text = json.dumps({"inputs": [X]}).encode()
    for kind, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        for body, expected in ((pack(text)[:-1], "cut off"), (pack(text) + b"more", "go on")):
            status, _, answer = ask(server.url, "/v2/models/tanh/infer", body, {"Content-Encoding": kind})
            assert status == 400 and expected in json.loads(answer)["error"]
        for name in (kind, kind.upper()):
            status, headers, _ = ask(server.url, "/v2/models/tanh/infer", pack(text), {"Content-Encoding": name, "Accept-Encoding": name})
            assert (status, headers["Content-Encoding"]) == (200, kind)


def test_asyncio_client(server):
    import asyncio

    aio = pytest.importorskip("tritonclient.http.aio")

    async def main():
        async with aio.InferenceServerClient(server.url.removeprefix("http://")) as c:
            x = np.ones((1, 4), np.float32)
            given = aio.InferInput("x", [1, 4], "FP32")
            given.set_data_from_numpy(x)
            found = await asyncio.gather(*(c.infer("tanh", [given]) for _ in range(8)))
            return [f.as_numpy("y") for f in found]

    assert all((y == np.tanh(np.ones((1, 4), np.float32))).all() for y in asyncio.run(main()))


X = tensor("x", np.zeros((1, 4)))
SHARED = {"shared_memory_region": "r", "shared_memory_byte_size": 16}
REFUSED = {
    "no json": (b"{", "no JSON"),
    "no object": (b"[1]", "expected a JSON object"),
    "deep": (b"[" * 100_000, "no JSON"),
    "no inputs": ({}, "'inputs' is missing; expected a list"),
    "inputs are no list": ({"inputs": 1}, "'inputs' is 1"),
    "missing input": ({"inputs": []}, "lacks the inputs x"),
    "unknown input": ({"inputs": [X, tensor("q", [1])]}, "has no input 'q'; the inputs are x"),
    "twice": ({"inputs": [X, X]}, "two items named 'x'"),
    "name": ({"inputs": [{**X, "name": 3}]}, "expected text"),
    "datatype": ({"inputs": [{**X, "datatype": "FP31"}]}, "'FP31'; expected one of"),
    "other datatype": ({"inputs": [tensor("x", [[1, 2, 3, 4]], "INT64")]}, "is INT64; expected FP32"),
    "shape": ({"inputs": [{**X, "shape": [-1, 4]}]}, "expected a list of extents"),
    "huge shape": ({"inputs": [{**X, "shape": [2**62, 2**62]}]}, "input 'x'"),
    "count": ({"inputs": [{**X, "data": [1, 2, 3]}]}, "input 'x'"),
    "ragged": ({"inputs": [{**X, "data": [[1, 2], [3]]}]}, "input 'x'"),
    "texts": ({"inputs": [{**X, "data": ["a"] * 4}]}, "input 'x'"),
    "no data": ({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4]}]}, "neither 'data' nor"),
    "bytes": ({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": 16}}]}, "0 bytes are left"),
    "rank": ({"inputs": [tensor("x", np.zeros(4))]}, "x"),
    "data and bytes": ({"inputs": [{**X, "parameters": {"binary_data_size": 0}}]}, "input 'x' has 'data' and the parameter 'binary_data_size'"),
    "id": ({"inputs": [X], "id": 7}, "'id' is 7; expected text"),
    "outputs are no list": ({"inputs": [X], "outputs": 0}, "'outputs' is 0; expected a list"),
    "bytes of an output": ({"inputs": [X], "outputs": [{"name": "y", "parameters": {"binary_data": 1}}]}, "output 'y': the parameter binary_data is 1; expected true or false"),
    "bytes of outputs": ({"inputs": [X], "parameters": {"binary_data_output": "true"}}, "the parameter binary_data_output is 'true'; expected true or false"),
    "output": ({"inputs": [X], "outputs": [{"name": "z"}]}, "has no output 'z'; the outputs are y"),
    "classes": ({"inputs": [X], "outputs": [{"name": "y", "parameters": {"classification": 2}}]}, "'classification' is not served"),
    "shared input": ({"inputs": [{**X, "parameters": SHARED}]}, "input 'x': the extension 'shared_memory' is not served"),
    "shared output": ({"inputs": [X], "outputs": [{"name": "y", "parameters": SHARED}]}, "output 'y': the extension 'shared_memory' is not served"),
    "timeout": ({"inputs": [X], "parameters": {"timeout": -1}}, "expected an integer of 0 or more"),
    "seed": ({"inputs": [X], "parameters": {"seed": -1}}, "the parameter seed is -1; expected an integer of 0 or more"),
    "large seed": ({"inputs": [X], "parameters": {"seed": 2**64 + 1}}, "the parameter seed is 18446744073709551617; expected an integer of 0 or more, below 2**63"),
    "half a character": ({"inputs": [X, {**X, "name": "\ud83d"}]}, "has no input '\ud83d'"),
    "sequence": ({"inputs": [X], "parameters": {"sequence_id": 5, "sequence_start": True}}, "carries no states"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_requests_say_what_is_wrong(server, name):
    body, expected = REFUSED[name]
    status, _, answer = ask(server.url, "/v2/models/tanh/infer", body)
    assert status == 400 and expected in json.loads(answer)["error"]


def test_bad_bytes(server):
    text = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": 16}}]}).encode()
    path, header = "/v2/models/tanh/infer", "Inference-Header-Content-Length"
    for data, length, expected in [
        (text + bytes(17), str(len(text)), "1 bytes after the JSON belong to no input"),
        (text + bytes(16), "9999", "Content-Length is '9999'"),
        (text + bytes(16), "x", "Content-Length is 'x'"),
        (text + bytes(16), None, "no JSON"),
    ]:
        status, _, answer = ask(server.url, path, data, {header: length} if length else {})
        assert status == 400 and expected in json.loads(answer)["error"]
    said = {"inputs": [{"name": "f", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 5}}]}
    text = json.dumps(said).encode()
    status, _, answer = ask(server.url, "/v2/models/types/infer", text + b"\5\0\0\0a", {header: str(len(text))})
    assert status == 400 and "ends within the element 0" in json.loads(answer)["error"]


@pytest.mark.parametrize("datatype", ["BF16", "FP16", "BOOL", "UINT64", "BYTES"])
@pytest.mark.parametrize("data", [[], [[], []]])
def test_lists_without_elements(datatype, data):
    shape = np.shape(data)
    found = from_list(data, datatype, shape, "x")
    assert found.shape == shape and datatype_of(found, "x") == datatype
    with pytest.raises(rondel.serve.errors.Refusal, match="input 'x'"):
        from_list(data, datatype, (1,), "x")


TEXTS = model("texts (string[n] x) => (string[n] y) { y = Identity (x) }")


def test_bytes_that_are_no_text_come_back():
    given = triton_input("x", np.array([b"\xff\xd8", "ü".encode()], object), "BYTES")
    with Server({"texts": TEXTS}, http_port=0, grpc_port=None) as s, tritonhttp.InferenceServerClient(s.url.removeprefix("http://")) as c:
        assert c.infer("texts", [given]).as_numpy("y").tolist() == [b"\xff\xd8", "ü".encode()]
        with pytest.raises(InferenceServerException, match="output 'y' is no text in UTF-8, which JSON needs"):
            c.infer("texts", [given], outputs=[tritonhttp.InferRequestedOutput("y", binary_data=False)])


@pytest.mark.parametrize("length", ["²", "-1", "+5", "1_0", "9" * 5000])
def test_lengths_that_are_no_numbers_of_bytes(server, length):
    status, _, answer = ask(server.url, "/v2/models/tanh/infer", b'{"inputs": []}', {"Inference-Header-Content-Length": length})
    assert status == 400 and "the header Inference-Header-Content-Length is" in json.loads(answer)["error"]


@pytest.mark.parametrize("datatype", ["FP32", "BYTES"])
def test_a_shape_that_is_no_arrays_although_it_is_empty(server, datatype):
    said = {"inputs": [{"name": "x", "datatype": datatype, "shape": [2**62, 2**62, 0], "parameters": {"binary_data_size": 0}}]}
    status, _, answer = ask(server.url, "/v2/models/tanh/infer", said)
    assert status == 400 and "product is less than 2**60" in json.loads(answer)["error"]


@pytest.mark.parametrize("id, said", [(None, None), ("", None), ("7", "7"), ("\ud83d", "\ud83d")])
def test_the_id_of_an_answer(server, id, said):
    status, _, answer = ask(server.url, "/v2/models/tanh/infer", {"inputs": [X], "id": id})
    assert status == 200 and json.loads(answer).get("id") == said


def test_too_large_unknown_and_wrong_methods(server):
    path = "/v2/models/tanh/infer"
    assert ask(server.url, path, bytes((1 << 20) + 1))[0] == 413
    assert ask(server.url, path, gzip.compress(bytes(1 << 22)), {"Content-Encoding": "gzip"})[0] == 413
    assert ask(server.url, path, b"xx", {"Content-Encoding": "gzip"})[0] == 400
    assert ask(server.url, path, b"xx", {"Content-Encoding": "br"})[0] == 415
    assert ask(server.url, path)[0] == 405
    for missing in ("/v2/models/none/infer", "/v2/models/tanh/versions/2/infer"):
        for sent in ({"inputs": [X]}, {}, b"{"):
            status, _, body = ask(server.url, missing, sent)
            assert status == 404 and "no" in json.loads(body)["error"]
    assert ask(server.url, "/v2/nothing")[0] == 404 and ask(server.url, "/v2/models/none")[0] == 404


def test_limits_of_a_request(server):
    long = (tensor("n", 10**9, "INT64"), tensor("x", [1.0]))
    few = (tensor("n", 50, "INT64"), tensor("x", [1.0]))
    assert infer(server.url, "trips", *few)[0] == 200
    status, _, error = infer(server.url, "trips", *long)
    assert status == 400 and "the budget of 100 trips" in error
    status, _, error = infer(server.url, "trips", *few, max_trips=10)
    assert status == 400 and "the budget of 10 trips" in error
    status, _, error = infer(server.url, "trips", *long, max_trips=10**6)
    assert "the budget of 100 trips" in error, "a request may have less than the model, not more"
    large = (tensor("n", 50, "INT64"), tensor("x", np.ones(2000)))
    assert infer(server.url, "trips", *large)[0] == 200
    status, _, error = infer(server.url, "trips", *large, max_memory_bytes=1000)
    assert status == 400 and "memory budget of 1000 bytes" in error


def test_a_budget_of_memory_is_not_shared_by_runs():
    """A run holds three quarters of the budget while another needs as much."""
    x = tensor("x", np.ones(100_000))
    with Server({"trips": (TRIPS, ModelSettings(max_memory_bytes=600_000, instances=2))}, http_port=0, grpc_port=None) as s:
        (long,) = in_parallel(lambda: infer(s.url, "trips", tensor("n", 10**15, "INT64"), x, timeout=3_000_000)[0])
        wait_for(lambda: s.service.models.find("trips")._queue._idle == 1)
        for _ in range(5):
            assert infer(s.url, "trips", tensor("n", 5, "INT64"), x)[0] == 200
        assert not long.done()


def drawn(s, **parameters):
    """100 random numbers."""
    zeros = np.zeros((50, 2))
    status, _, found = infer(s.url, "drawn", tensor("x", zeros), *([] if "sequence_id" in parameters else [tensor("h", zeros)]), **parameters)
    assert status == 200, found
    return found["y"].tolist()


def test_each_run_draws_afresh_unless_it_has_a_seed():
    with Server({"drawn": DRAWN}, http_port=0, grpc_port=None) as s:
        assert drawn(s) != drawn(s)
        steps = [drawn(s, sequence_id=1, sequence_start=k == 0) for k in range(3)]
        assert steps[0] != steps[1] != steps[2]
        assert drawn(s, seed=5) == drawn(s, seed=5) == drawn(s, seed=5, sequence_id=1) != drawn(s, seed=6)
        assert drawn(s, seed=2**63 - 1) != drawn(s, seed=0) == drawn(s, seed=0)


def test_a_request_with_a_seed_shares_no_batch():
    settings = ModelSettings(batch="on", batch_delay=100.0, max_batch=100)
    with Server({"drawn": (DRAWN, settings)}, http_port=0, grpc_port=None) as s:
        alone = [drawn(s, seed=5), drawn(s, seed=6)]
        assert [f.result(20) for f in in_parallel(*(lambda k=k: drawn(s, seed=k) for k in (5, 6)))] == alone


def test_a_seed_that_an_engine_does_not_take():
    with Server({"gate": Gate()}, http_port=0, grpc_port=None) as s:
        status, _, error = infer(s.url, "gate", tensor("x", [[1, 2]]), seed=1)
        assert status == 400 and "has no seed of a run" in error


def test_a_deadline_ends_the_run():
    with Server({"trips": TRIPS}, http_port=0, grpc_port=None) as s:
        status, _, error = infer(s.url, "trips", tensor("n", 10**15, "INT64"), tensor("x", [1.0]), timeout=50_000)
        assert status == 504 and "deadline" in error
        assert infer(s.url, "trips", tensor("n", 3, "INT64"), tensor("x", [1.0]))[0] == 200, "the run has ended: the next one is not behind it"


def test_token():
    with Server({"tanh": TANH}, http_port=0, grpc_port=None, token="s3cret") as s:
        assert ask(s.url, "/v2/health/ready")[0] == 200
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "s3cret"}):
            for path in ("/v2", "/metrics", "/v2/models/tanh"):
                status, answer_headers, _ = ask(s.url, path, headers=headers)
                assert status == 401 and answer_headers["WWW-Authenticate"] == "Bearer"
            assert ask(s.url, "/v2/repository/models/tanh/unload", b"", headers)[0] == 401
        with tritonhttp.InferenceServerClient(s.url.removeprefix("http://")) as c:
            given = [triton_input("x", np.ones((1, 4), np.float32), "FP32")]
            assert c.infer("tanh", given, headers={"Authorization": "Bearer s3cret"}).as_numpy("y").shape == (1, 4)
            with pytest.raises(InferenceServerException, match="lacks the token"):
                c.infer("tanh", given)
        for scheme, status in (("bearer", 200), ("BEARER", 200), ("Bearer ", 200), ("Basic", 401), ("", 401)):
            assert ask(s.url, "/v2", headers={"Authorization": f"{scheme} s3cret"})[0] == status, "the scheme's name has no case"


@pytest.mark.parametrize("headers, expected", [
    ({"Origin": "https://evil.example"}, "a page of 'https://evil.example' sends it"),
    ({"Origin": "null"}, "a page of 'null' sends it"),
    ({"Sec-Fetch-Site": "cross-site"}, "a page of another server sends it"),
    ({"Host": "evil.example:8000"}, "the header Host is 'evil.example:8000'; expected localhost"),
    ({"Origin": "http://evil.example:8000", "Host": "evil.example:8000", "Sec-Fetch-Site": "same-origin"}, "the header Host is"),
    ({"Host": "[127.0.0.1"}, "the header Host is"),
])  # fmt: skip
def test_pages_of_other_servers_do_not_change_models(server, headers, expected):
    for path in ("index", "models/tanh/load", "models/tanh/unload"):
        status, _, answer = ask(server.url, f"/v2/repository/{path}", b"", {"Content-Type": "text/plain", **headers})
        assert status == 403 and expected in json.loads(answer)["error"]
    assert ask(server.url, "/v2/models/tanh/ready")[0] == 200


def test_pages_of_the_server_itself_and_clients_change_models(server):
    port = server.url.rpartition(":")[2]
    for host in ("localhost", "LOCALHOST", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        for page in ({}, {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}):
            assert ask(server.url, "/v2/repository/models/tanh/load", b"", {"Host": host, **page})[0] == 200


def test_a_host_is_not_looked_at_where_others_reach_the_server_or_have_the_token():
    for given in ({"host": "0.0.0.0"}, {"token": "abc"}):
        with Server({"tanh": TANH}, http_port=0, grpc_port=None, **given) as s:
            url = s.url.replace("0.0.0.0", "127.0.0.1")
            assert ask(url, "/v2/repository/index", b"", {"Host": "models.example", "Authorization": "Bearer abc"})[0] == 200
            foreign = ask(url, "/v2/repository/index", b"", {"Origin": "http://evil.example", "Authorization": "Bearer abc"})[0]
            assert foreign == (200 if "token" in given else 403)


def test_refused_requests_to_load_are_no_faults_of_the_server(server, caplog):
    said = {"parameters": {"file:1/model.onnx": base64.b64encode(b"no model").decode()}}
    assert ask(server.url, "/v2/repository/models/new/load", said)[0] == 400
    assert ask(server.url, "/v2/repository/models/none/load", b"")[0] == ask(server.url, "/v2/repository/models/none/unload", b"")[0] == 404
    assert [r.getMessage() for r in caplog.records if r.exc_info] == []


#: Models with an output y of which JSON or the protocol has no form, and what is said of it.
WITHOUT_FORM = {
    "sequence": ("g (float[n] x) => (seq(float[m]) y, float[n] z) { y = SequenceConstruct (x, x) z = Neg (x) }", "is no tensor but a list"),
    "optional": ("g (float[n] x) => (optional(float[n]) y, float[n] z) { y = Optional <type = float[n]> () z = Neg (x) }", "is no tensor but a NoneType"),
    "eighth": ("g (float[n] x) => (float8e4m3fn[n] y, float[n] z) { y = Cast <to = 17> (x) z = Neg (x) }", "is of float8_e4m3fn"),
    "noise": ("g (float[n] x) => (string[k] y, float[n] z) <string[1] y = {\"a\"}> { z = Neg (x) }", "is no text in UTF-8"),
}


def without_form(name):
    made = model(WITHOUT_FORM[name][0])
    for t in made.graph.initializer:
        t.string_data[:] = [b"a\xff"]
    return made


@pytest.mark.parametrize("name", WITHOUT_FORM)
def test_outputs_without_a_form_are_refused_and_counted_as_that(name):
    with Server({name: without_form(name)}, http_port=0, grpc_port=None) as s:
        status, _, error = infer(s.url, name, tensor("x", [1.0]))
        assert status == 501 and f"output 'y' {WITHOUT_FORM[name][1]}" in error
        status, _, answer = ask(s.url, f"/v2/models/{name}/infer", {"inputs": [tensor("x", [1.0])], "outputs": [{"name": "z"}]})
        assert status == 200 and json.loads(answer)["outputs"][0]["data"] == [-1]
        counts = samples(s)
        assert counts[f'rondel_requests_total{{model="{name}",outcome="501"}}'] == counts[f'rondel_requests_total{{model="{name}",outcome="200"}}'] == 1


def test_bytes_of_a_model_that_are_no_text():
    with Server({"noise": without_form("noise")}, http_port=0, grpc_port=None) as s:
        body = {"inputs": [tensor("x", [1.0])], "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
        status, _, answer = ask(s.url, "/v2/models/noise/infer", body)
        assert status == 200 and answer.endswith(b"}\2\0\0\0a\xff")


def test_metrics(server, client):
    before = samples(server)
    client.infer("sum", [triton_input(n, np.ones((3, 2), np.float32), "FP32") for n in ("x", "state")])
    infer(server.url, "sum")
    after = samples(server)
    grown = {key: after[key] - before.get(key, 0) for key in after}
    assert grown['rondel_requests_total{model="sum",outcome="200"}'] == 1 and grown['rondel_requests_total{model="sum",outcome="400"}'] == 1
    assert grown['rondel_batch_rows_sum{model="sum"}'] == 3 and grown['rondel_run_seconds_count{model="sum"}'] == 1
    assert grown['rondel_request_seconds_count{model="sum"}'] == 2 and after['rondel_model_ready{model="sum"}'] == 1
    assert after['rondel_queue_length{model="sum"}'] == 0


def samples(server):
    from prometheus_client.parser import text_string_to_metric_families

    text = ask(server.url, "/metrics")[2].decode()
    assert re.search(r"^# HELP rondel_requests_total ", text, re.MULTILINE)
    found = {}
    for family in text_string_to_metric_families(text):
        for s in family.samples:
            labels = ",".join(f'{k}="{v}"' for k, v in sorted(s.labels.items()))
            found[f"{s.name}{{{labels}}}"] = s.value
    return found


def test_statistics(server, client):
    client.infer("types", [triton_input(n, np.zeros(1, t), d) for n, t, d in [
        ("a", bool, "BOOL"), ("b", np.uint8, "UINT8"), ("c", np.int64, "INT64"), ("d", np.float16, "FP16"), ("e", float, "FP64"),
        ("g", np.int8, "INT8"), ("h", np.float32, "BF16")]] + [triton_input("f", np.array(["a"], object), "BYTES")])  # fmt: skip
    (one,) = client.get_inference_statistics("types")["model_stats"]
    assert one["inference_stats"]["success"]["count"] >= 1 and one["execution_count"] >= 1
    assert {m["name"] for m in client.get_inference_statistics()["model_stats"]} == {"tanh", "types", "trips", "sum"}


def test_statistics_count_runs_that_did_not_fail():
    limited = ModelSettings(max_trips=100)
    with Server({"trips": (TRIPS, limited)}, http_port=0, grpc_port=None) as s:
        for trips in (3, 1000, 5, 1000):
            infer(s.url, "trips", tensor("n", trips, "INT64"), tensor("x", [1.0]))
        (one,) = json.loads(ask(s.url, "/v2/models/trips/stats")[2])["model_stats"]
    assert (one["inference_count"], one["execution_count"]) == (2, 2)
    counts = {key: value["count"] for key, value in one["inference_stats"].items()}
    assert counts == {"success": 2, "fail": 2, "compute_infer": 2}


def test_any_session_with_the_interface_is_served():
    onnxruntime = pytest.importorskip("onnxruntime")
    theirs = onnxruntime.InferenceSession(TANH.SerializeToString(), providers=["CPUExecutionProvider"])
    gate = Gate(add=1.0)
    gate.open.set()
    with Server({"theirs": theirs, "gate": gate}, http_port=0, grpc_port=None) as s:
        x = np.linspace(-1, 1, 8).reshape(2, 4)
        np.testing.assert_allclose(infer(s.url, "theirs", tensor("x", x))[2]["y"], np.tanh(x), rtol=1e-6)
        np.testing.assert_array_equal(infer(s.url, "gate", tensor("x", [[1, 2]]))[2]["y"], [[3, 5]])
        status, _, error = infer(s.url, "gate", tensor("x", [[1, 2]]), max_trips=5)
        assert status == 400 and "no budgets" in error
        status, _, error = infer(s.url, "gate", tensor("x", [[-1, 2]]))
        assert status == 500 and "a negative number" in error
        status, _, error = infer(s.url, "theirs", tensor("x", [1, 2, 3]))
        assert status == 400 and "x" in error


def test_the_same_models_by_onnxruntime(tmp_path):
    pytest.importorskip("onnxruntime")
    onnx.save(TANH, tmp_path / "tanh.onnx")
    with Server({"tanh": str(tmp_path / "tanh.onnx")}, http_port=0, grpc_port=None, engine="onnxruntime") as s:
        assert json.loads(ask(s.url, "/v2/models/tanh")[2])["platform"] == "onnxruntime_onnx"
        np.testing.assert_allclose(infer(s.url, "tanh", tensor("x", np.ones((1, 4))))[2]["y"], np.tanh(np.ones((1, 4))), rtol=1e-6)
    with pytest.raises(rondel.CallerError, match="no budgets"):
        Server({"tanh": TANH}, ModelSettings(max_trips=1), http_port=0, grpc_port=None, engine="onnxruntime").start()
    with pytest.raises(rondel.CallerError, match="no module"):
        Server({"tanh": TANH}, http_port=0, grpc_port=None, engine="nothing_here").start()


@pytest.mark.parametrize("wrong, message", [
    ({"http_port": "8000"}, "http_port is '8000'; expected an integer from 0 to 65535"), ({"http_port": None}, "http_port is None"),
    ({"grpc_port": -1}, "grpc_port is -1; expected an integer from 0 to 65535"), ({"grpc_port": True}, "grpc_port is True"),
    ({"host": None}, "host is None; expected a name or an address"), ({"host": ""}, "host is ''"),
    ({"grace": "x"}, "grace is 'x'; expected seconds of 0 or more"), ({"grace": None}, "grace is None"),
    ({"max_request_bytes": "a"}, "max_request_bytes is 'a'; expected an integer from 1"), ({"max_request_bytes": 0}, "max_request_bytes is 0"),
    ({"repository": "no folder"}, "repository is 'no folder'; expected a folder"), ({"repository": 3}, "repository is 3"),
    ({"token": 5}, "token is a int; expected a str"),
    ({"tls_cert": 5, "tls_key": "k"}, "the certificate 5 with the key k cannot be used"),
])  # fmt: skip
def test_arguments_of_the_server_are_checked(wrong, message):
    with pytest.raises(rondel.CallerError, match=message):
        Server({"tanh": TANH}, **wrong)


def test_a_port_that_is_taken(server):
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(rondel.CallerError, match="try another port"):
        Server({"tanh": TANH}, http_port=port, grpc_port=None).start()


@pytest.mark.parametrize("wrong", [
    {"batch": "maybe"}, {"queue": 0}, {"max_batch": -1}, {"deadline": -1.0}, {"instances": True}, {"instances": 1.5}, {"threads": 0.5},
    {"batch_delay": float("inf")}, {"max_trips": 2.5}, {"deadline": float("nan")}, {"states": [("x", "y")]}, {"states": {"x": 1}},
])  # fmt: skip
def test_settings_are_checked(wrong):
    with pytest.raises(rondel.CallerError, match="ModelSettings." + next(iter(wrong))):
        ModelSettings(**wrong)
