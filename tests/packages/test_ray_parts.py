"""The parts of rondel.ray that need Ray's packages, but no cluster: sums in slices, steps of several workers, routes over HTTP."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import requests

ray = pytest.importorskip("ray")

import uvicorn  # noqa: E402
from ray_cluster import rounds  # noqa: E402
from test_ray_train import DATA, SETTINGS, losses_of_one_process, model  # noqa: E402

import rondel  # noqa: E402
from rondel import train  # noqa: E402
from rondel.ray import cluster as cluster_of  # noqa: E402
from rondel.ray import reducing, sweep, training  # noqa: E402
from rondel.ray.cluster import cause_of, model_bytes  # noqa: E402
from rondel.ray.predicting import Predictor  # noqa: E402
from rondel.ray.serving import application, service_application  # noqa: E402
from rondel.serve import ModelSettings  # noqa: E402
from rondel.train.batches import Batches  # noqa: E402


def test_a_slice_sums_in_the_order_of_ranks_also_if_one_worker_is_a_step_ahead():
    async def both():
        piece = reducing._Slice(2)

        async def worker(rank, pause):
            found = []
            for step in range(4):
                await asyncio.sleep(pause)
                found.append(await piece.add(step, rank, float(rank), np.array([10.0 * step, rank])))
            return found

        return await asyncio.gather(worker(0, 0.0), worker(1, 0.01))

    for found in asyncio.run(both()):
        assert [loss for loss, _ in found] == [1.0] * 4
        assert [x.tolist() for _, x in found] == [[20.0 * step, 1.0] for step in range(4)]


class InThreads:
    """An all-reduce between threads."""

    def __init__(self, workers):
        self._parts, self._barrier, self._workers = {}, threading.Barrier(workers), workers

    def __call__(self, step, rank, loss, vector):
        self._parts[step, rank] = loss, vector
        self._barrier.wait(60)
        losses, vectors = zip(*(self._parts[step, k] for k in range(self._workers)))
        return sum(losses), sum(vectors)


@pytest.mark.parametrize("workers", [1, 3])
def test_steps_of_workers_are_those_of_one_process(workers):
    wanted, one = losses_of_one_process(3, 40)  # the last batch of an epoch has 10 rows, which 3 workers do not share evenly
    reduce, found, trainers = InThreads(workers), [[] for _ in range(workers)], [train.Trainer(model(), **SETTINGS) for _ in range(workers)]

    def work(rank):
        for step, batch in training._batches_from(0, 21, Batches(DATA, 40, True), 5):
            found[rank].append(training._step(trainers[rank], reduce, step, rank, batch, workers))

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(wanted) == 21
    for rank in range(workers):
        np.testing.assert_allclose(found[rank], wanted, rtol=1e-4)
        for name, x in trainers[0].parameters.items():
            assert np.array_equal(trainers[rank].parameters[name], x)
            np.testing.assert_allclose(x, one.parameters[name], rtol=1e-3, atol=1e-4)


def test_batches_continue_where_a_checkpoint_was():
    batches = Batches(DATA, 40, True)
    whole = list(training._batches_from(0, 21, batches, 5))
    for first in (1, 7, 20):
        rest = list(training._batches_from(first, 21, batches, 5))
        assert [step for step, _ in rest] == list(range(first, 21))
        assert all(np.array_equal(batch["labels"], whole[step][1]["labels"]) for step, batch in rest)


def test_a_worker_without_rows_adds_nothing():
    trainer = train.Trainer(model(), **SETTINGS)
    loss, vector = training._scaled(trainer, {name: x[:0] for name, x in DATA.items()}, (0.0, 0.0), 0)
    assert loss == 0 and vector.dtype == np.float32 and vector.size == 8 * 16 + 16 + 16 * 3 and not vector.any()


def test_a_worker_with_ignored_labels_only_adds_nothing():
    """The mean over no labels is NaN, which no factor makes zero."""
    settings = {**SETTINGS, "loss": train.CrossEntropy(ignore_index=2)}
    batch = {"x": DATA["x"][:8], "labels": np.array([0, 1, 0, 2, 2, 2, 2, 2])}
    one = train.Trainer(model(), **settings)
    wanted = [one.step(batch) for _ in range(3)]
    reduce, found, trainers = InThreads(2), [[], []], [train.Trainer(model(), **settings) for _ in range(2)]
    assert trainers[0].shares(training._parts(batch, 2)) == [1.0, 0.0] and np.isnan(trainers[0].gradients(training._parts(batch, 2)[1]).loss)

    def work(rank):
        found[rank] = [training._step(trainers[rank], reduce, step, rank, batch, 2) for step in range(3)]

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    np.testing.assert_allclose(found, [wanted, wanted], rtol=1e-4)


def test_our_error_inside_of_rays():
    inner = rondel.CallerError("no such input")
    outer = RuntimeError("a task failed")
    outer.cause = inner
    assert cause_of(outer) is inner and cause_of(inner) is inner
    other = RuntimeError("a node died")
    assert cause_of(other) is other


@pytest.fixture
def joined(monkeypatch):
    """connect, in a process without Ray: the cluster that it joins is at HOST:1. Returns the addresses that Ray was given."""
    asked, state = [], SimpleNamespace(gcs_address=None)

    def init(address, **settings):
        asked.append(address)
        state.gcs_address = "HOST:1"

    monkeypatch.setattr(cluster_of, "_joined", (None, None))
    monkeypatch.setattr(ray, "is_initialized", lambda: state.gcs_address is not None)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "get_runtime_context", lambda: state)
    return asked, state


def test_a_process_in_a_cluster_joins_no_other_one(joined):
    asked, state = joined
    for address in ("local", "local", "HOST:1", None):
        cluster_of.connect(address)
    assert asked == ["local"]
    for act in (cluster_of.connect, lambda address: sweep(None, on=address), lambda address: training.fit(model(), DATA, storage="runs", on=address, **SETTINGS)):
        with pytest.raises(rondel.CallerError, match="is in the Ray cluster at 'HOST:1' already, so it cannot join 'ray://OTHER:10001'"):
            act("ray://OTHER:10001")
    state.gcs_address = "OTHER:1"  # the program left that cluster, and joined another one by itself
    with pytest.raises(rondel.CallerError, match="at 'OTHER:1' already, so it cannot join 'local'"):
        cluster_of.connect("local")
    cluster_of.connect()
    cluster_of.connect("auto")  # whichever there is


def test_runs_go_on_where_the_same_run_ended():
    def key(data=DATA, batch_size=50, **changed):
        return training._run_key(model(), train.Trainer(model(), **{**SETTINGS, **changed}), Batches(data, batch_size, True))

    one = key()
    assert one == key() == key(sess_options=rondel.SessionOptions()) == key(loss=train.CrossEntropy()) == key(clip_norm=np.float64(1))
    assert key(schedule=lambda step: 1.0) == key(schedule=lambda step: 0.5)
    assert key(frozen={"w1", "b1"}) == key(frozen=["b1", "w1"]) == key(trained={"w2"})
    late = np.ones(5000)
    late[2000:] = 0.5
    others = [
        key(schedule=lambda step: 1.0), key(schedule=np.ones(5000)), key(schedule=late), key(frozen="w1"), key(training_mode=False),
        key(loss=train.CrossEntropy(ignore_index=1)),
        key(data={**DATA, "x": DATA["x"] + 1}), key(data={**DATA, "x": DATA["x"].astype(np.float64)}), key(batch_size=25), key(seed=6),
        key(optimizer=train.Adam(0.03)), key(loss=train.CrossEntropy(ignore_index=2)), key(clip_norm=2.0),
    ]  # fmt: skip
    assert len({one, *others}) == 1 + len(others)


def as_a_worker(monkeypatch, actor, processors):
    """Makes Ray say that this process is a worker."""
    context = SimpleNamespace(
        get_actor_id=lambda: actor, get_assigned_resources=lambda: {"CPU": processors}, worker=SimpleNamespace(mode=ray.WORKER_MODE)
    )
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "get_runtime_context", lambda: context)


def test_each_worker_draws_its_own_numbers(monkeypatch):
    noise = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]> noise (float[n] x) => (float[n] y) { y = RandomUniformLike (x) }""")
    drawn = []
    for actor in ("5b2f", "5b30", None):
        as_a_worker(monkeypatch, actor, 2)
        predictor = Predictor(noise.SerializeToString())
        drawn += [x for _ in range(2) for x in predictor({"x": np.zeros(3, np.float32)})["y"].tolist()]
    assert len(set(drawn)) == 18


def test_a_worker_has_as_many_threads_as_processors(monkeypatch):
    as_a_worker(monkeypatch, "5b2f", 3)
    asked = rondel.SessionOptions()
    asked.intra_op_num_threads = 2
    assert [cluster_of.with_own_threads(options).intra_op_num_threads for options in (None, rondel.SessionOptions(), asked)] == [3, 3, 2]


def test_a_model_with_external_data_travels_as_one(tmp_path):
    plain = onnx.load_model_from_string(rounds(3))
    onnx.save(plain, tmp_path / "net.onnx", save_as_external_data=True, size_threshold=0, location="net.data")
    data = model_bytes(tmp_path / "net.onnx")
    (tmp_path / "net.data").unlink()
    x = np.ones((2, 64), np.float32)
    assert np.array_equal(rondel.InferenceSession(data).run(None, {"x": x})[0], rondel.InferenceSession(rounds(3)).run(None, {"x": x})[0])
    with pytest.raises(rondel.CallerError, match="cannot be read"):
        model_bytes(tmp_path / "none.onnx")


@pytest.fixture(params=[None, "secret"])
def token(request):
    return request.param


@pytest.fixture
def url(token):
    app = service_application({"net": rounds(3)}, token=token)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v2"
    server.should_exit = True
    thread.join(30)


def test_routes(url, token):
    headers = None if token is None else {"Authorization": f"Bearer {token}"}
    if token is not None:
        assert [requests.get(url + "/models/net", headers=h).status_code for h in (None, {"Authorization": "Bearer another"})] == [401, 401]
    assert requests.get(url + "/health/ready").status_code == 200
    assert requests.get(url + "/models/net", headers=headers).json()["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 64]}]
    x = np.random.default_rng(0).normal(size=(2, 64)).astype(np.float32)
    asked = {"id": "7", "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 64], "data": x.ravel().tolist()}]}
    answer = requests.post(url + "/models/net/infer", json=asked, headers=headers).json()
    (y,) = answer["outputs"]
    assert answer["id"] == "7" and (y["name"], y["datatype"], y["shape"]) == ("y", "FP32", [2, 64])
    np.testing.assert_allclose(np.reshape(y["data"], [2, 64]), rondel.InferenceSession(rounds(3)).run(None, {"x": x})[0], rtol=1e-6)


@pytest.mark.parametrize("replicas", [2, (1, 2)])
def test_states_of_sequences_in_several_replicas_are_refused_at_once(replicas):
    with pytest.raises(rondel.CallerError, match="a sequence's states are in one replica; expected replicas=1"):
        application({"net": rounds(3)}, settings=ModelSettings(states={"x": "y"}), replicas=replicas)


def test_an_empty_token_is_refused_at_once():
    with pytest.raises(rondel.CallerError, match="the token is empty"):
        application({"net": rounds(3)}, token="")
