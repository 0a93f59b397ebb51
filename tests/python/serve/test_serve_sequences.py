"""Sequences: states that a server carries from one request to the next."""

import concurrent.futures
import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")

from serving import SUM, Gate, Port, ask, in_parallel, infer, model, tensor, wait_for  # noqa: E402

import rondel  # noqa: E402
from rondel.serve import ModelSettings, Server  # noqa: E402
from rondel.serve.sequences import states_by_name  # noqa: E402

CACHE = model("""cache (float[b,1] x, float[b,past] past_key) => (float[b,now] present_key, float[b,1] y) <int64[1] a = {1}> {
  present_key = Concat <axis = 1> (past_key, x)  y = ReduceSum (present_key, a) }""")


@pytest.fixture(scope="module")
def server():
    with Server({"sum": SUM, "cache": CACHE, "few": (SUM, ModelSettings(max_sequences=2, sequence_idle=0.0))}, http_port=0, grpc_port=None) as s:
        yield s


def step(s, name, id, x, start=False, end=False, **rest):
    return infer(s.url, name, tensor("x", x), sequence_id=id, sequence_start=start, sequence_end=end, **rest)


def test_sums_go_on(server):
    for k in range(4):
        for id in (1, "other", 2**63 + 5):
            status, _, found = step(server, "sum", id, [[k + 1, 0]], start=k == 0, end=k == 3)
            assert status == 200 and set(found) == {"y"}
            assert found["y"][0, 0] == (k + 1) * (k + 2) / 2
    status, _, error = step(server, "sum", 1, [[1, 0]])
    assert status == 400 and "sequence 1 of model 'sum' has not begun, or is over" in error


def test_a_state_that_grows(server):
    total = 0
    for k in range(5):
        total += k + 1
        _, _, found = step(server, "cache", 3, [[k + 1], [1]], start=k == 0, end=k == 4)
        np.testing.assert_array_equal(found["y"], [[total], [k + 1]])


def test_the_first_request_may_bring_a_state_and_each_may_ask_for_it(server):
    body = {"inputs": [tensor("x", [[1, 1]]), tensor("state", [[10, 20]])], "outputs": [{"name": "stateN"}],
            "parameters": {"sequence_id": 4, "sequence_start": True}}  # fmt: skip
    status, _, answer = ask(server.url, "/v2/models/sum/infer", body)
    assert status == 200 and b"[11.0,21.0]" in answer
    assert step(server, "sum", 4, [[1, 1]])[2]["y"].tolist() == [[12, 22]]
    del body["parameters"]["sequence_start"]
    status, _, answer = ask(server.url, "/v2/models/sum/infer", body)
    assert status == 400 and b"only the request that starts a sequence may bring its state 'state'" in answer


def test_a_failed_request_leaves_the_state(server):
    step(server, "sum", 5, [[1, 1]], start=True)
    status, _, _ = step(server, "sum", 5, [[1, 1, 1]])
    assert status == 400
    assert step(server, "sum", 5, [[1, 1]], end=True)[2]["y"].tolist() == [[2, 2]]


def test_a_sequence_whose_first_request_failed_has_not_begun(server):
    assert step(server, "sum", 6, [[1, 1, 1]], start=True)[0] == 400
    status, _, error = step(server, "sum", 6, [[1, 1]])
    assert status == 400 and "has not begun" in error


def test_start_begins_anew(server):
    for _ in range(2):
        assert step(server, "sum", 7, [[1, 1]], start=True)[2]["y"].tolist() == [[1, 1]]
        assert step(server, "sum", 7, [[1, 1]])[2]["y"].tolist() == [[2, 2]]


def test_without_a_sequence_the_states_are_inputs(server):
    status, _, error = infer(server.url, "sum", tensor("x", [[1, 1]]))
    assert status == 400 and "lacks the inputs state of model 'sum'; a request with a sequence_id has state from the server" in error
    status, _, error = infer(server.url, "sum", tensor("state", [[1, 1]]))
    assert status == 400 and error.endswith("lacks the inputs x of model 'sum'")
    status, _, found = infer(server.url, "sum", tensor("x", [[1, 1]]), tensor("state", [[5, 5]]))
    assert status == 200 and found["y"].tolist() == [[6, 6]] and found["stateN"].tolist() == [[6, 6]]


def test_bad_parameters(server):
    wrong = [{"sequence_id": 1.5}, {"sequence_id": True}, {"sequence_id": 1, "sequence_start": 1}, {"sequence_end": "yes"}]
    for parameters in wrong:
        status, _, error = infer(server.url, "sum", tensor("x", [[1, 1]]), **parameters)
        assert status == 400 and "sequence_" in error


def test_a_step_without_a_sequence(server):
    both = [tensor(name, [[1, 1]]) for name in ("x", "state")]
    for parameters, expected in [
        ({"sequence_start": True}, "the parameter sequence_start is true, but sequence_id is missing or 0; expected the sequence's"),
        ({"sequence_end": True, "sequence_id": 0}, "the parameter sequence_end is true, but sequence_id is missing or 0"),
        ({"sequence_start": True, "sequence_id": ""}, "but sequence_id is empty"),
    ]:
        status, _, error = infer(server.url, "sum", *both, **parameters)
        assert status == 400 and expected in error
    assert infer(server.url, "sum", *both, sequence_id=0, sequence_start=False, sequence_end=False)[0] == 200, "as Triton's clients have it"


def test_many_sequences_at_once_are_batched_and_stay_apart(server):
    """Eight threads, a sequence each."""

    def run(id):
        return [step(server, "sum", id, [[id, k]], start=k == 0, end=k == 19)[2]["y"].tolist() for k in range(20)]

    for id, future in zip(range(100, 108), in_parallel(*(lambda i=i: run(i) for i in range(100, 108)))):
        assert future.result(60) == [[[id * (k + 1), k * (k + 1) / 2]] for k in range(20)]


def test_idle_sequences_are_dropped_and_their_number_is_bounded(server):
    model_of = server.service.models.find("few")
    step(server, "few", 1, [[1, 1]], start=True)
    step(server, "few", 2, [[1, 1]], start=True)
    status = step(server, "few", 3, [[1, 1]], start=True)[0]
    assert status in (503, 200)  # 200: the first ones have been dropped already
    wait_for(lambda: len(model_of.sequences) == 0)
    assert step(server, "few", 1, [[1, 1]])[0] == 400


class Counting(Gate):
    """A session with a state, of which runs wait: y = x + state."""

    def get_inputs(self):
        return [Port("x", ["b", 2]), Port("state", ["b", 2])]

    def get_outputs(self):
        return [Port("y", ["b", 2]), Port("stateN", ["b", 2])]

    def run(self, names, feeds, options=None):
        super().run(names, {"x": feeds["x"]})
        y = feeds["x"] + feeds["state"]
        return [y for _ in names]


def test_requests_of_a_sequence_wait_for_each_other_and_are_bounded():
    gate = Counting()
    with Server({"gate": (gate, ModelSettings(batch="on", queue=3))}, http_port=0, grpc_port=None) as s:
        first = in_parallel(lambda: step(s, "gate", 1, [[1, 1]], start=True))
        assert gate.entered.acquire(timeout=20)
        rest = []
        for k in range(3):
            rest += in_parallel(lambda: step(s, "gate", 1, [[1, 1]]))
            wait_for(lambda: s.service.models.find("gate").sequences.waiting == k + 1)
        status, headers, _ = step(s, "gate", 1, [[1, 1]])
        assert status == 503 and int(headers["Retry-After"]) >= 1
        gate.open.set()
        assert [f.result(20)[2]["y"][0, 0] for f in first + rest] == [1, 2, 3, 4]
        assert gate.runs == [1, 1, 1, 1]


def test_a_request_behind_the_end_hears_that_it_is_over():
    gate = Counting()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        waiting = in_parallel(lambda: step(s, "gate", 1, [[1, 1]], start=True, end=True))
        assert gate.entered.acquire(timeout=20)
        for k in range(2):
            waiting += in_parallel(lambda: step(s, "gate", 1, [[1, 1]]))
            wait_for(lambda: s.service.models.find("gate").sequences.waiting == k + 1)
        gate.open.set()
        found = [f.result(20) for f in waiting]
        assert found[0][0] == 200 and [answer[0] for answer in found[1:]] == [400, 400]
        assert all("sequence 1 of model 'gate' is over: a request before this one ended it" in answer[2] for answer in found[1:])


def test_a_sequence_that_begins_anew_on_a_new_model_leaves_the_old_one():
    """Its requests to the old model are under way and wait, while it begins anew; what comes then goes to the new model."""
    gate = Counting()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        old = in_parallel(lambda: step(s, "gate", 1, [[1000, 0]], start=True))
        assert gate.entered.acquire(timeout=20)
        old += in_parallel(lambda: step(s, "gate", 1, [[5, 0]]))
        wait_for(lambda: s.service.models.find("gate").sequences.waiting == 1)
        assert ask(s.url, "/v2/repository/models/gate/load", b"")[0] == 200
        (new,) = in_parallel(lambda: step(s, "gate", 1, [[1, 0]], start=True))
        assert gate.entered.acquire(timeout=20)
        gate.open.set()
        assert [f.result(20)[2]["y"][0, 0] for f in [*old, new]] == [1000, 1005, 1]
        assert [step(s, "gate", 1, [[2, 0]])[2]["y"][0, 0] for _ in range(2)] == [3, 5]
        wait_for(lambda: not s.service.models._retired and not s.service.models._closing)


def test_removing_waits_for_sequences_of_a_model_that_was_replaced():
    gate = Counting()
    gate.open.set()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        step(s, "gate", 1, [[1, 1]], start=True)
        assert ask(s.url, "/v2/repository/models/gate/load", b"")[0] == 200
        while gate.entered.acquire(blocking=False):
            pass
        gate.open.clear()
        (under_way,) = in_parallel(lambda: step(s, "gate", 1, [[1, 1]]))
        assert gate.entered.acquire(timeout=20)
        (removed,) = in_parallel(lambda: ask(s.url, "/v2/repository/models/gate/unload", b"")[0])
        with pytest.raises(concurrent.futures.TimeoutError):
            removed.result(0.5)
        gate.open.set()
        assert under_way.result(20)[2]["y"].tolist() == [[2, 2]] and removed.result(20) == 200


def test_a_late_request_does_not_move_the_state_on():
    gate = Counting()
    gate.open.set()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        step(s, "gate", 1, [[1, 1]], start=True)
        gate.open.clear()
        assert step(s, "gate", 1, [[1, 1]], timeout=50_000)[0] == 504
        gate.open.set()
        assert step(s, "gate", 1, [[1, 1]])[2]["y"].tolist() == [[2, 2]]


def test_a_late_start_leaves_no_old_state():
    gate = Counting()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        gate.open.set()
        step(s, "gate", 1, [[1, 1]], start=True)
        gate.open.clear()
        while gate.entered.acquire(blocking=False):
            pass
        (under_way,) = in_parallel(lambda: step(s, "gate", 1, [[1, 1]]))
        assert gate.entered.acquire(timeout=20)
        assert step(s, "gate", 1, [[1, 1]], start=True, timeout=50_000)[0] == 504
        gate.open.set()
        assert under_way.result(20)[2]["y"].tolist() == [[2, 2]]
        assert "has not begun" in step(s, "gate", 1, [[1, 1]])[2]


class Unranked(Counting):
    def get_inputs(self):
        return [Port("x", ["b", 2]), Port("state", None)]


def test_a_start_that_is_refused_leaves_no_old_state():
    gate = Unranked()
    gate.open.set()
    with Server({"gate": gate}, http_port=0, grpc_port=None) as s:
        assert infer(s.url, "gate", tensor("x", [[1, 1]]), tensor("state", [[1, 1]]), sequence_id=1, sequence_start=True)[0] == 200
        assert "expected its first value" in step(s, "gate", 1, [[1, 1]], start=True)[2]
        assert "has not begun" in step(s, "gate", 1, [[1, 1]])[2]


def test_the_names_of_states():
    class Session:
        def __init__(self, inputs, outputs):
            self.inputs, self.outputs = inputs, outputs

        def get_inputs(self):
            return [Port(n, ["b", 1]) if isinstance(n, str) else n for n in self.inputs]

        def get_outputs(self):
            return [Port(n, ["b", 1]) if isinstance(n, str) else n for n in self.outputs]

    pairs = {"state": "stateN", "h": "hn", "past_key_values.0.key": "present.0.key", "past_1": "present_1", "cache_in": "cache_out", "c": "new_c"}
    assert states_by_name(Session(["x", *pairs], ["y", *pairs.values()])) == pairs
    assert states_by_name(Session(["x"], ["y"])) == {}
    assert states_by_name(Session(["h"], [Port("hn", ["b"])])) == {}, "another rank"
    assert states_by_name(Session(["h"], [Port("hn", ["b", 1], "tensor(double)")])) == {}, "another type"
    assert states_by_name(Session(["h"], ["hn", "h_out"])) == {}, "two that fit"


def test_declared_states():
    def served(states):
        return Server({"sum": (SUM, ModelSettings(states=states))}, http_port=0, grpc_port=None)

    for wrong, expected in [({"q": "stateN"}, "there is no input 'q'; the inputs are x, state"), ({"state": "q"}, "there is no output 'q'")]:
        with pytest.raises(rondel.CallerError, match=expected):
            served(wrong).start()
    with served({"x": "y"}) as s:  # the sum so far is the next input
        body = [tensor("state", [[1, 1]])]
        for k in range(3):
            found = infer(s.url, "sum", *body, sequence_id=1, sequence_start=k == 0)[2]
        assert found["stateN"].tolist() == [[3, 3]]
    with served({}) as s:
        assert "carries no states" in step(s, "sum", 1, [[1, 1]], start=True)[2]


def test_silero_vad_as_a_session_hears_it():
    """The demo's speech model, a sequence of chunks: the same bits as a session whose caller carries the state."""
    package = importlib.util.find_spec("silero_vad")
    if package is None:
        pytest.skip("silero_vad is not installed")
    path = str(Path(package.submodule_search_locations[0]) / "data" / "silero_vad.onnx")
    session = rondel.InferenceSession(path)
    chunks = np.random.default_rng(0).standard_normal((4, 1, 576), np.float32) * 0.1
    state, expected = np.zeros((2, 1, 128), np.float32), []
    rate = np.int64(16000)
    for chunk in chunks:
        y, state = session.run(["output", "stateN"], {"input": chunk, "state": state, "sr": rate})
        expected.append(y)
    with Server({"vad": path}, http_port=0, grpc_port=None) as s:
        assert s.service.models.find("vad").states == {"state": "stateN"}
        for k, chunk in enumerate(chunks):
            inputs = [tensor("input", chunk), tensor("sr", rate, "INT64")]
            if k == 0:
                inputs.append(tensor("state", np.zeros((2, 1, 128))))
            status, _, found = infer(s.url, "vad", *inputs, sequence_id=1, sequence_start=k == 0, sequence_end=k == 3)
            assert status == 200, found
            np.testing.assert_array_equal(np.float32(found["output"]), expected[k])
