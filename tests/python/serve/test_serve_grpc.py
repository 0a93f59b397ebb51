"""`rondel.serve` over gRPC: tritonclient's calls, and messages equal to tritonclient's."""

import asyncio
import queue
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import descriptor_pb2

pytest.importorskip("fastapi")
grpc = pytest.importorskip("grpc")
tritongrpc = pytest.importorskip("tritonclient.grpc")

from serving import SUM, TANH, TRIPS, Gate, model, wait_for  # noqa: E402
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc  # noqa: E402
from tritonclient.utils import InferenceServerException  # noqa: E402

from rondel.serve import ModelSettings, Server, messages  # noqa: E402

PROTO = Path(messages.__file__).parent / "grpc_service.proto"


@pytest.fixture(scope="module")
def gate():
    return Gate()


@pytest.fixture(scope="module")
def server(gate):
    models = {"tanh": TANH, "trips": (TRIPS, ModelSettings(max_trips=100)), "sum": SUM, "gate": (gate, ModelSettings(queue=1))}
    with Server(models, http_port=0, grpc_port=0) as s:
        yield s


@pytest.fixture(scope="module")
def client(server):
    with tritongrpc.InferenceServerClient(server.grpc_url) as c:
        yield c


@pytest.fixture(scope="module")
def stub(server):
    with grpc.insecure_channel(server.grpc_url) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def given(name, array, datatype="FP32"):
    made = tritongrpc.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


ONES = np.ones((2, 4), np.float32)


def test_health_and_metadata(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tanh")
    assert not client.is_model_ready("none") and not client.is_model_ready("tanh", "3")
    assert client.get_server_metadata().name == "rondel"
    metadata = client.get_model_metadata("tanh", as_json=True)
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": ["-1", "4"]}]
    config = client.get_model_config("tanh").config
    assert config.max_batch_size == 32 and config.input[0].data_type == model_config_pb2.TYPE_FP32 and list(config.input[0].dims) == [4]


def test_infer(client):
    found = client.infer("tanh", [given("x", ONES)], outputs=[tritongrpc.InferRequestedOutput("y")], request_id="5")
    np.testing.assert_array_equal(found.as_numpy("y"), np.tanh(ONES))
    assert found.get_response().id == "5" and found.get_response().model_name == "tanh"
    assert client.get_inference_statistics("tanh").model_stats[0].inference_stats.success.count >= 1


def test_asynchronous_calls(client):
    answers = queue.Queue()
    for _ in range(5):
        client.async_infer("tanh", [given("x", ONES)], callback=lambda result, error: answers.put((result, error)))
    for _ in range(5):
        result, error = answers.get(timeout=20)
        assert error is None and (result.as_numpy("y") == np.tanh(ONES)).all()


def test_typed_contents_are_answered_by_typed_contents(stub):
    request = service_pb2.ModelInferRequest(model_name="tanh")
    item = request.inputs.add(name="x", datatype="FP32", shape=[1, 4])
    item.contents.fp32_contents.extend([0, 1, 2, 3])
    answer = stub.ModelInfer(request)
    np.testing.assert_allclose(answer.outputs[0].contents.fp32_contents, np.tanh([0, 1, 2, 3]), rtol=1e-6)
    assert not answer.raw_output_contents


NOISE = model("""noise (float[n] x) => (string[k] y, seq(float[m]) z) <string[1] y = {"a"}> { z = SequenceConstruct (x, x) }""")
NOISE.graph.initializer[0].string_data[:] = [b"a\xff"]


@pytest.mark.parametrize("typed", [False, True])
def test_bytes_that_are_no_text_and_outputs_that_are_no_tensors(typed):
    with Server({"noise": NOISE}, http_port=0, grpc_port=0) as s, grpc.insecure_channel(s.grpc_url) as channel:
        own = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        request = service_pb2.ModelInferRequest(model_name="noise", raw_input_contents=[] if typed else [bytes(4)])
        item = request.inputs.add(name="x", datatype="FP32", shape=[1])
        if typed:
            item.contents.fp32_contents.append(0)
        assert status(lambda: own.ModelInfer(request))[0] == grpc.StatusCode.UNIMPLEMENTED
        request.outputs.add(name="y")
        answer = own.ModelInfer(request)
        assert answer.outputs[0].contents.bytes_contents[:] == ([b"a\xff"] if typed else [])
        assert answer.raw_output_contents[:] == ([] if typed else [b"\2\0\0\0a\xff"])


def test_a_stream_is_answered_in_order(client):
    answers = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    for k in range(6):
        name = "none" if k == 3 else "tanh"
        client.async_stream_infer(name, [given("x", np.full((1, 4), k, np.float32))], request_id=str(k))
    for k in range(6):
        result, error = answers.get(timeout=20)
        if k == 3:
            assert "there is no model 'none'" in str(error)
        else:
            assert result.get_response().id == str(k) and (result.as_numpy("y") == np.tanh(np.float32(k))).all()
    client.stop_stream()


def test_an_error_in_a_stream_says_its_request(stub):
    requests = [service_pb2.ModelInferRequest(model_name="none", id=id) for id in ("a", "b")]
    assert [answer.infer_response.id for answer in stub.ModelStreamInfer(iter(requests))] == ["a", "b"]


def test_a_sequence_in_a_stream(client):
    answers = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    for k in range(4):
        x = given("x", np.full((1, 2), k + 1, np.float32))
        client.async_stream_infer("sum", [x], sequence_id=9, sequence_start=k == 0, sequence_end=k == 3)
    found = []
    for _ in range(4):
        result, error = answers.get(timeout=20)
        assert error is None
        found.append(result.as_numpy("y")[0, 0])
    client.stop_stream()
    assert found == [1, 3, 6, 10]


def status(act):
    with pytest.raises(grpc.RpcError) as caught:
        act()
    return caught.value.code(), caught.value.details()


def test_refusals(stub, client):
    request = service_pb2.ModelInferRequest
    assert status(lambda: stub.ModelInfer(request(model_name="none"))) == (grpc.StatusCode.NOT_FOUND, "there is no model 'none'; the models are gate, sum, tanh, trips")
    code, text = status(lambda: stub.ModelInfer(request(model_name="tanh")))
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "lacks the inputs x" in text
    item = request.InferInputTensor(name="x", datatype="FP32", shape=[1, 4])
    typed = request.InferInputTensor(name="x", datatype="FP32", shape=[1, 4], contents={"fp32_contents": [0] * 4, "fp64_contents": [1] * 4})
    wanted = request.InferRequestedOutputTensor(name="y")
    for wrong, expected in [
        (request(model_name="tanh", inputs=[item], raw_input_contents=[b"1"]), "has 1 bytes; expected 16"),
        (request(model_name="tanh", inputs=[item], raw_input_contents=[b"", b""]), "1 inputs and 2 raw_input_contents"),
        (request(model_name="tanh", inputs=[item, item]), "'inputs' has two items named 'x'"),
        (request(model_name="tanh", inputs=[item], raw_input_contents=[bytes(16)], outputs=[wanted, wanted]), "'outputs' has two items named 'y'"),
        (request(model_name="tanh", inputs=[typed]), "input 'x' is of FP32 and has fp64_contents; expected fp32_contents alone"),
        (request(model_name="tanh", inputs=[request.InferInputTensor(name="x", datatype="FP32", shape=[2**62, 2**62, 0])], raw_input_contents=[b""]), "2**60"),
        (request(model_name="tanh", inputs=[request.InferInputTensor(name="x", datatype="FP16", shape=[1])]), "expected raw_input_contents"),
    ]:
        code, text = status(lambda: stub.ModelInfer(wrong))
        assert code == grpc.StatusCode.INVALID_ARGUMENT and expected in text
    many = [given("n", np.array(10**6, np.int64), "INT64"), given("x", np.ones(1, np.float32))]
    with pytest.raises(InferenceServerException, match="RESOURCE_EXHAUSTED.*budget of 100 trips"):
        client.infer("trips", many)


def test_extensions_that_are_not_served_are_refused(client):
    def shared(made):
        made.set_shared_memory("region", 32)
        return made

    x, wanted = given("x", ONES), tritongrpc.InferRequestedOutput
    for given_x, output, expected in [
        (x, wanted("y", class_count=1), "output 'y': the extension 'classification'"),
        (x, shared(wanted("y")), "output 'y': the extension 'shared_memory'"),
        (shared(tritongrpc.InferInput("x", [2, 4], "FP32")), wanted("y"), "input 'x': the extension 'shared_memory'"),
    ]:
        with pytest.raises(InferenceServerException, match=f"INVALID_ARGUMENT.*{expected} is not served"):
            client.infer("tanh", [given_x], outputs=[output])


def test_a_full_queue_and_deadlines(client, stub, gate, server):
    x = given("x", np.ones((1, 2), np.float32))
    answers = queue.Queue()
    call = lambda: client.async_infer("gate", [x], callback=lambda result, error: answers.put((result, error)))
    call()
    assert gate.entered.acquire(timeout=20)  # one runs
    with pytest.raises(InferenceServerException, match="(?i)deadline"):
        client.infer("gate", [x], client_timeout=0.2)  # waits until its own deadline
    model = server.service.models.find("gate")
    wait_for(lambda: model.under_way == 1)
    call()
    wait_for(lambda: model.under_way == 2)  # one runs, one waits: the late one has left the queue
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(as_message(np.ones((1, 2), np.float32)))
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE and dict(caught.value.trailing_metadata())["retry-after"] == "1"
    gate.open.set()
    for _ in range(2):
        result, error = answers.get(timeout=20)
        assert error is None and (result.as_numpy("y") == 2).all()


def as_message(x):
    request = service_pb2.ModelInferRequest(model_name="gate", raw_input_contents=[x.tobytes()])
    request.inputs.add(name="x", datatype="FP32", shape=x.shape)
    return request


def test_models_are_removed_and_loaded(client):
    client.unload_model("tanh")
    assert not client.is_model_ready("tanh")
    states = {m.name: m.state for m in client.get_model_repository_index().models}
    assert states["tanh"] == "UNAVAILABLE" and states["sum"] == "READY"
    client.load_model("tanh")
    assert client.infer("tanh", [given("x", ONES)]).as_numpy("y").shape == (2, 4)
    with pytest.raises(InferenceServerException, match="there is no model 'none' to load"):
        client.load_model("none")


def test_token():
    with Server({"tanh": TANH}, http_port=0, grpc_port=0, token="s3cret") as s, tritongrpc.InferenceServerClient(s.grpc_url) as c:
        assert c.is_server_live()
        with pytest.raises(InferenceServerException, match="UNAUTHENTICATED"):
            c.infer("tanh", [given("x", ONES)])
        with pytest.raises(InferenceServerException, match="UNAUTHENTICATED"):
            c.unload_model("tanh")
        assert c.infer("tanh", [given("x", ONES)], headers={"authorization": "Bearer s3cret"}).as_numpy("y").shape == (2, 4)


def test_asyncio_client(server):
    aio = pytest.importorskip("tritonclient.grpc.aio")

    async def main():
        async with aio.InferenceServerClient(server.grpc_url) as c:
            return [r.as_numpy("y") for r in await asyncio.gather(*(c.infer("tanh", [given("x", ONES)]) for _ in range(8)))]

    assert all((y == np.tanh(ONES)).all() for y in asyncio.run(main()))


def test_our_messages_have_the_names_and_numbers_of_tritonclients():
    theirs = {**service_pb2.DESCRIPTOR.message_types_by_name, **model_config_pb2.DESCRIPTOR.message_types_by_name}
    compared = 0
    for name, ours in messages.service.file.message_types_by_name.items():
        compared += compare(ours, theirs[name])
    assert compared > 80
    methods = {m.name: m for m in service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods}
    for m in messages.service.methods:
        assert (m.input_type.full_name, m.output_type.full_name) == (methods[m.name].input_type.full_name, methods[m.name].output_type.full_name)
    values = model_config_pb2.DESCRIPTOR.enum_types_by_name["DataType"].values
    ours = messages.service.file.enum_types_by_name["DataType"].values
    assert [(v.name, v.number) for v in ours] == [(v.name, v.number) for v in values]


def compare(ours, theirs):
    """The number of fields that are equal."""
    fields = {f.name: f for f in theirs.fields}
    for f in ours.fields:
        other = fields[f.name]
        kinds = [(g.number, g.type, g.is_repeated, g.message_type and g.message_type.full_name, g.containing_oneof and g.containing_oneof.name) for g in (f, other)]
        assert kinds[0] == kinds[1], f.full_name
    return len(ours.fields) + sum(compare(n, theirs.nested_types_by_name[n.name]) for n in ours.nested_types)


def test_the_descriptor_is_that_of_the_proto(tmp_path):
    protoc = shutil.which("protoc")
    if protoc is None:
        pytest.skip("protoc is not installed")
    made = tmp_path / "made.binpb"
    subprocess.run([protoc, f"--proto_path={PROTO.parent}", f"--descriptor_set_out={made}", PROTO.name], check=True)
    files = [descriptor_pb2.FileDescriptorSet.FromString(p.read_bytes()) for p in (made, PROTO.with_suffix(".binpb"))]
    assert files[0] == files[1], f"protoc --descriptor_set_out={PROTO.stem}.binpb {PROTO.name}"
