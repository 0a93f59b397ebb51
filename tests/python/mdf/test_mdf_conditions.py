"""Conditions of MDF's scheduler, against modeci_mdf's own engine; and cases in which that engine is wrong."""

import json
import random

import mdf_engine
import numpy as np
import pytest

import rondel
import rondel.mdf


def node(position, parents):
    """A node that counts its executions, and accumulates the values of its parents in `seen`."""
    ports = {f"i{k}": {} for k in range(len(parents))}
    seen = " + ".join(["0.5 * seen", f"{position + 1}.0", *(f"{k + 2} * i{k}" for k in range(len(parents)))])
    return {
        "input_ports": ports,
        "parameters": {"count": {"value": "count + 1"}, "seen": {"value": seen, "default_initial_value": 0.25}},
        "output_ports": {"count": {"value": "count"}, "seen": {"value": "seen"}},
    }


def model(parents, conditions, termination=None):
    """A graph of nodes A, B, ... with edges from `parents` (lists of numbers), as a dict."""
    names = [chr(ord("A") + k) for k in range(len(parents))]
    edges = {}
    for k, those in enumerate(parents):
        for j, p in enumerate(those):
            edges[f"e{k}_{j}"] = {"sender": names[p], "sender_port": "seen", "receiver": names[k], "receiver_port": f"i{j}"}
    nodes = {names[k]: node(k, those) for k, those in enumerate(parents)}
    said = {"node_specific": conditions}
    if termination is not None:
        said["termination"] = {"environment_state_update": termination}
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes, "edges": edges, "conditions": said}}}}


def condition(kind, **arguments):
    return {"type": kind, "kwargs": arguments}


def load(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    return path, rondel.mdf.load(path)


def agrees(tmp_path, content, steps=6):
    path, loaded = load(tmp_path, content)
    results = loaded.run(steps, 1.0)
    names = [name for name in results if name != "time"]
    expected = mdf_engine.run(path, steps, 1.0, names)
    for name in names:
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-9, err_msg=f"{name} of {json.dumps(content)}")


ABC = [[], [0], [0, 1]]
PASSES = condition("AfterNPasses", n=4)
PASS, SEQUENCE = "TimeScale.PASS", "TimeScale.ENVIRONMENT_SEQUENCE"

# conditions of B (which follows A), and the termination condition
CASES = [
    (condition("Always"), None),
    (condition("Never"), PASSES),
    (condition("EveryNCalls", dependency="A", n=2), None),
    (condition("EveryNCalls", dependencies="A", n=3), condition("AfterNCalls", dependency="B", n=2)),
    (condition("AfterNCalls", dependency="A", n=2), PASSES),
    (condition("AfterNCalls", dependency="A", n=5, time_scale=SEQUENCE), PASSES),
    (condition("AtNCalls", dependency="A", n=2), PASSES),
    (condition("BeforeNCalls", dependency="A", n=3), PASSES),
    (condition("AfterCall", dependency="A", n=2), PASSES),
    (condition("AtNCalls", dependency="A", n=1, time_scale=PASS), PASSES),
    (condition("JustRan", dependency="A"), PASSES),
    (condition("AllHaveRun"), PASSES),
    (condition("AllHaveRun", time_scale=SEQUENCE), PASSES),
    (condition("BeforePass", n=2), PASSES),
    (condition("AtPass", n=2), PASSES),
    (condition("AfterPass", n=1), PASSES),
    (condition("AfterNPasses", n=1), PASSES),
    (condition("AfterNPasses", n=6, time_scale=SEQUENCE), PASSES),
    (condition("EveryNPasses", n=2), PASSES),
    (condition("BeforeEnvironmentStateUpdate", n=3), PASSES),
    (condition("AtEnvironmentStateUpdate", n=3), PASSES),
    (condition("AfterEnvironmentStateUpdate", n=1), PASSES),
    (condition("AfterNEnvironmentStateUpdates", n=2), PASSES),
    (condition("AtEnvironmentSequence", n=0), PASSES),
    (condition("AfterEnvironmentSequence", n=0), PASSES),
    (condition("AfterNEnvironmentSequences", n=0), PASSES),
    (condition("AtEnvironmentStateUpdateStart"), PASSES),
    (condition("AtEnvironmentStateUpdateNStart", n=2), PASSES),
    (condition("AtEnvironmentSequenceStart"), PASSES),
    (condition("AtEnvironmentSequenceNStart", n=0), PASSES),
    (condition("BeforeConsiderationSetExecution", n=3), PASSES),
    (condition("AtConsiderationSetExecution", n=1), PASSES),
    (condition("AfterConsiderationSetExecution", n=3), PASSES),
    (condition("AfterNConsiderationSetExecutions", n=4, time_scale=SEQUENCE), PASSES),
    (condition("All", args=[condition("AfterPass", n=0), condition("EveryNCalls", dependency="A", n=2)]), PASSES),
    (condition("And", dependencies=[condition("AtPass", n=1), condition("Always")]), PASSES),
    (condition("Any", args=[condition("AtPass", n=0), condition("AtPass", n=3)]), PASSES),
    (condition("Or", args=[condition("AtPass", n=1), condition("EveryNCalls", dependency="A", n=4)]), PASSES),
    (condition("Not", condition=condition("AtPass", n=1)), PASSES),
    (condition("NWhen", condition=condition("AfterPass", n=0), n=3), PASSES),
    (condition("All", args=[condition("NWhen", condition=condition("Always"), n=5), condition("AfterPass", n=1)]), PASSES),
    (condition("Threshold", dependency="A", parameter="count", threshold=3, comparator=">="), PASSES),
    (condition("Threshold", dependency="A", parameter="seen", threshold=1.9, comparator="<"), PASSES),
    (condition("Threshold", dependency="A", parameter="count", threshold=4, comparator="=="), PASSES),
    (condition("Threshold", dependency="A", parameter="count", threshold=4, comparator="!=", atol=1.5), PASSES),
    (condition("TimeInterval", repeat=2, unit="ms"), PASSES),
    (condition("TimeInterval", repeat=3, start=2, end=9), PASSES),
    (condition("TimeInterval", start=2, end=4, start_inclusive=False, end_inclusive=False), PASSES),
    (condition("TimeInterval", repeat=3, unit="us"), condition("TimeTermination", t=9, unit="us")),
    (condition("TimeInterval", repeat=2), condition("TimeTermination", t=5, inclusive=False)),
    (condition("Always"), condition("AfterNCalls", dependency="B", n=3)),
    (condition("Always"), condition("AllHaveRun")),
    (condition("Always"), condition("Threshold", dependency="B", parameter="seen", threshold=9, comparator=">")),
]  # fmt: skip


@pytest.mark.parametrize("of_b, end", CASES, ids=lambda c: c and c["type"])
def test_condition(tmp_path, of_b, end):
    agrees(tmp_path, model(ABC, {"B": of_b, "C": condition("Always") if end else condition("EveryNCalls", dependency="B", n=1)}, end))


def test_a_node_starts_others_of_its_set(tmp_path):
    conditions = {"A": condition("Always"), "B": condition("EveryNCalls", dependency="A", n=2), "C": condition("EveryNCalls", dependency="B", n=2)}
    agrees(tmp_path, model([[], [], []], conditions))


def test_nested_conditions(tmp_path):
    after = condition("All", args=[condition("AfterNCalls", dependency="A", n=2), condition("Not", condition=condition("JustRan", dependency="B"))])
    agrees(tmp_path, model([[], [0], [0], [1, 2]], {"B": condition("EveryNCalls", dependency="A", n=2), "C": after}, condition("AfterNCalls", dependency="D", n=2)))


def test_a_known_schedule(tmp_path):
    """B every second, C every third call of A, until C has run twice and A has just run."""
    conditions = {"A": condition("Always"), "B": condition("EveryNCalls", dependencies="A", n=2), "C": condition("EveryNCalls", dependencies="A", n=3)}
    end = condition("And", dependencies=[condition("AfterNCalls", dependencies="C", n=2), condition("JustRan", dependencies="A")])
    _, loaded = load(tmp_path, model([[], [0], [0]], conditions, end))
    assert [loaded.run(0)[f"{name}.count"][0] for name in "ABC"] == [7, 3, 2]


def random_condition(rng, others, first, depth=0):
    """A condition that refers only to nodes of other consideration sets: within a set, modeci_mdf's order depends on hashes.

    `first`: the node is in the first set, for which modeci_mdf cannot evaluate JustRan."""
    n = rng.randrange(1, 4)
    kinds = ["Always", "BeforePass", "AtPass", "AfterPass", "AfterNPasses", "EveryNPasses", "AfterNEnvironmentStateUpdates"]
    if others:
        kinds += ["EveryNCalls", "AfterNCalls", "AtNCalls", "BeforeNCalls", "AfterCall", "Threshold"] * 2 + ["JustRan"] * (not first)
    if depth < 2:
        kinds += ["All", "Any", "Not", "NWhen"] * 2
    kind = rng.choice(kinds)
    if kind in ("All", "Any"):
        return condition(kind, args=[random_condition(rng, others, first, depth + 1) for _ in range(rng.randrange(1, 4))])
    if kind in ("Not", "NWhen"):
        extra = {"n": n + 2} if kind == "NWhen" else {}
        return condition(kind, condition=random_condition(rng, others, first, depth + 1), **extra)
    if kind == "Always":
        return condition(kind)
    if kind == "JustRan":
        return condition(kind, dependency=rng.choice(others))
    if kind == "Threshold":
        comparator = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return condition(kind, dependency=rng.choice(others), parameter="seen", threshold=2 * n, comparator=comparator)
    if kind.endswith(("Calls", "Call")):
        scale = {} if kind == "EveryNCalls" or rng.random() < 0.7 else {"time_scale": SEQUENCE}
        return condition(kind, dependency=rng.choice(others), n=n, **scale)
    return condition(kind, n=n)


# graphs: the parents of each node, and its consideration set
GRAPHS = [
    ([[], [0], [1], [2]], [0, 1, 2, 3]),
    ([[], [], [0], [0, 1], [2, 3]], [0, 0, 1, 1, 2]),
    ([[], [0], [0], [1, 2], [0]], [0, 1, 1, 2, 1]),
]


@pytest.mark.parametrize("seed", range(40))
def test_random_conditions(tmp_path, seed):
    rng = random.Random(seed)
    parents, sets = rng.choice(GRAPHS)
    conditions = {}
    for k in range(len(parents)):
        others = [chr(ord("A") + j) for j in range(len(parents)) if sets[j] != sets[k]]
        if k > 0 and rng.random() < 0.8:  # A is unconditional, so that some node has run: modeci_mdf's JustRan fails before that
            conditions[chr(ord("A") + k)] = random_condition(rng, others, sets[k] == 0)
    ends = [condition("AfterNPasses", n=rng.randrange(2, 6))]
    if rng.random() < 0.5:
        ends.append(condition("AllHaveRun"))
    print("seed", seed)
    agrees(tmp_path, model(parents, conditions, condition("Any", args=ends)), steps=4)


def followed(sender, threshold, end, edge=False):
    """B, which counts, runs while a threshold on node A holds."""
    counter = {"input_ports": {"i": {}}, "parameters": {"n": {"default_initial_value": 0, "value": "n+1"}}, "output_ports": {"n": {"value": "n"}}}
    nodes = {"A": sender, "B": counter} if edge else {"B": counter, "A": sender}
    edges = {"e": {"sender": "A", "sender_port": "o", "receiver": "B", "receiver_port": "i"}} if edge else {}
    said = {"node_specific": {"A": condition("Always"), "B": condition("Threshold", dependency="A", **threshold)}}
    said["termination"] = {"environment_state_update": condition("AfterNPasses", n=end)}
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes, "edges": edges, "conditions": said}}}}


def test_a_threshold_of_a_value_that_is_not_recorded(tmp_path):
    """A function, and a port; the node's parameter at the same position has another value."""
    sender = {
        "parameters": {"k": {"value": 5}, "m": {"default_initial_value": 0, "value": "m+1"}},
        "functions": {"f": {"value": "m*2"}},
        "output_ports": {"o": {"value": "f"}, "p": {"value": "f"}},
    }
    for read in ("f", "p"):
        _, loaded = load(tmp_path, followed(sender, {"parameter": read, "threshold": 6, "comparator": ">"}, 2, edge=True))
        for record in (["B.n"], ["B.n", "A.f"], ["B.n", "A.o", "A.p"]):
            assert loaded.run(3, record=record)["B.n"].tolist() == [0, 0, 2, 4]
    _, loaded = load(tmp_path, followed(sender, {"parameter": "k", "threshold": 4, "comparator": ">"}, 1))
    assert loaded.run(1)["B.n"].tolist() == [1, 2]
    assert loaded.run(1, set={"A.k": [4, 5]})["B.n"].tolist() == [[0, 1], [0, 2]]


def test_a_threshold_of_a_state_before_its_first_execution(tmp_path):
    below = {"parameter": "v", "threshold": 5, "comparator": "<"}
    for begin, counts in ((0, [1, 2, 3]), (10, [0, 0, 0]), ("k*2", [0, 0, 0])):
        sender = {"parameters": {"k": {"value": 5}, "v": {"default_initial_value": begin, "value": "v+1"}}, "output_ports": {"o": {"value": "v"}}}
        path, loaded = load(tmp_path, followed(sender, below, 1))
        assert loaded.run(2)["B.n"].tolist() == counts
    assert loaded.run(2, set={"A.k": [5, 1]})["B.n"].tolist() == [[0, 1], [0, 2], [0, 3]]
    assert loaded.run(2, initial={"A.v": 10})["B.n"].tolist() == [0, 0, 0]
    assert loaded.run(2, initial={"A.v": [0, 10]})["B.n"].tolist() == [[1, 0], [2, 0], [3, 0]]


def test_a_threshold_of_a_state_behind_a_parameter_that_reads_a_port(tmp_path):
    sender = {
        "input_ports": {"x": {"default_value": 3}},
        "parameters": {"w": {"value": "2 * x"}, "v": {"default_initial_value": 0, "value": "v + w"}},
        "output_ports": {"o": {"value": "v"}},
    }
    below = {"parameter": "v", "threshold": 5, "comparator": "<"}
    _, loaded = load(tmp_path, followed(sender, below, 1))
    assert loaded.run(2)["B.n"].tolist() == [1, 1, 1]
    sender["parameters"]["v"]["default_initial_value"] = "w"
    _, loaded = load(tmp_path, followed(sender, below, 1))
    with pytest.raises(rondel.CallerError, match="parameter 'v': 'w': it reads parameter 'w' of node 'A' before that has a value"):
        loaded.run(2)


@pytest.mark.parametrize(
    "threshold, message",
    [
        ({}, "the condition of node 'B': Threshold reads 2 elements of node 'A', parameter 'v'; name one by 'indices'"),
        ({"indices": [0, 1]}, "the condition of node 'B': Threshold has 2 indices for node 'A', parameter 'v', whose shape is [2]"),
    ],
)
def test_a_threshold_without_one_element_is_named(tmp_path, threshold, message):
    sender = {"parameters": {"v": {"default_initial_value": [0, 1], "value": "v+1"}}, "output_ports": {"o": {"value": "v"}}}
    _, loaded = load(tmp_path, followed(sender, {"parameter": "v", "threshold": 1, "comparator": "<", **threshold}, 1))
    with pytest.raises(rondel.CallerError) as error:
        loaded.run(1)
    assert message in str(error.value)


@pytest.mark.parametrize("begin, value, seen", [(0, "(v+1) % 3", "a[i]"), (0, "(v+1) % 3", "i & 1"), (0, "v+1", "~i"), (False, "not v", "i | False")])
def test_values_of_edges_keep_their_dtype_under_conditions(tmp_path, begin, value, seen):
    nodes = {
        "S": {"parameters": {"v": {"default_initial_value": begin, "value": value}}, "output_ports": {"v": {"value": "v"}}},
        "R": {"input_ports": {"i": {}}, "parameters": {"a": {"value": [10, 20, 30]}}, "output_ports": {"y": {"value": seen}}},
    }
    graph = {"nodes": nodes, "edges": {"e": {"sender": "S", "sender_port": "v", "receiver": "R", "receiver_port": "i"}}}
    want = rondel.mdf.loads({"graphs": {"g": graph}}).run(3)["R.y"]
    got = rondel.mdf.loads({"graphs": {"g": {**graph, "conditions": {"node_specific": {"S": condition("Always")}}}}}).run(3)["R.y"]
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_a_port_whose_declared_shape_is_another_under_conditions(tmp_path):
    nodes = {
        "S": {"parameters": {"v": {"value": [1.0, 2.0]}}, "output_ports": {"v": {"value": "v"}}},
        "R": {"input_ports": {"i": {"shape": [3]}}, "output_ports": {"y": {"value": "i"}}},
    }
    graph = {"nodes": nodes, "edges": {"e": {"sender": "S", "sender_port": "v", "receiver": "R", "receiver_port": "i"}}}
    agrees(tmp_path, {"m": {"graphs": {"g": {**graph, "conditions": {"node_specific": {"S": condition("Always")}}}}}}, 2)


def test_a_port_of_integers_is_an_index_before_a_value_arrives():
    node = {"input_ports": {"i": {"type": "int"}}, "parameters": {"a": {"value": [10, 20]}}, "output_ports": {"y": {"value": "a[i]"}}}
    loaded = rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": node}}}})
    assert loaded.run(1)["A.y"].tolist() == [10, 10]
    assert loaded.run(1, inputs={"A.i": [1, 0]})["A.y"].tolist() == [20, 10]


def test_truth_values_run_in_onnx_runtime(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    parameters = {
        "n": {"default_initial_value": 0, "value": "n+1"},
        "b": {"default_initial_value": True, "value": "not b"},
        "c": {"value": "b if n > 2 else False"},
    }
    graph = {
        "nodes": {
            "A": {"parameters": parameters, "output_ports": {name: {"value": name} for name in parameters}},
            "B": {"parameters": {"n": {"value": "n+1"}}, "output_ports": {"n": {"value": "n"}}},
        },
        "conditions": {"node_specific": {"A": condition("Always"), "B": condition("JustRan", dependency="A")}, "termination": {"environment_state_update": PASSES}},
    }
    for content in (graph, {"nodes": {"A": graph["nodes"]["A"]}}):
        loaded = rondel.mdf.loads({"graphs": {"g": content}})
        written = onnxruntime.InferenceSession(rondel.export(loaded.session(4)))
        expected = loaded.run(4)
        for port, rows in zip(written.get_outputs(), written.run(None, {})):
            np.testing.assert_array_equal(rows, expected[port.name], err_msg=port.name)


def test_a_time_scale_in_an_object_of_modeci_mdf():
    mdf, scheduler = pytest.importorskip("modeci_mdf.mdf"), pytest.importorskip("graph_scheduler")

    def counts(scale):
        graph = mdf.Graph(id="g")
        for id in ("A", "B"):
            graph.nodes.append(mdf.Node(id=id))
            graph.nodes[-1].parameters.append(mdf.Parameter(id="n", default_initial_value=0, value="n + 1"))
            graph.nodes[-1].output_ports.append(mdf.OutputPort(id="n", value="n"))
        after = mdf.Condition(type="AfterNCalls", dependency="A", n=3, time_scale=scale)
        graph.conditions = mdf.ConditionSet(node_specific={"B": after}, termination={"environment_state_update": mdf.Condition(type="AfterNPasses", n=2)})
        return rondel.mdf.loads(graph).run(2)["B.n"].tolist()

    assert counts(scheduler.TimeScale.ENVIRONMENT_SEQUENCE) == counts("TimeScale.ENVIRONMENT_SEQUENCE") != counts(scheduler.TimeScale.ENVIRONMENT_STATE_UPDATE)


def test_names_in_lists_are_nodes(tmp_path):
    """modeci_mdf compares the names in these lists with node objects, so that it fails or never ends."""
    combined = condition("AfterNCallsCombined", dependencies=["A", "B"], n=5)
    _, loaded = load(tmp_path, model(ABC, {"C": combined}, PASSES))
    # A and B run in passes 0 to 3: the sum of their calls reaches 5 in pass 2.
    assert loaded.run(0)["C.count"][0] == 2
    listed = condition("AllHaveRun", dependencies=["A", "B"])
    _, loaded = load(tmp_path, model(ABC, {"B": condition("AfterPass", n=0), "C": condition("Always")}, listed))
    results = loaded.run(0)
    assert [results[f"{name}.count"][0] for name in "ABC"] == [2, 1, 1]


def test_xor_of_two(tmp_path):
    exclusive = condition("Xor", args=[condition("AfterPass", n=0), condition("AfterPass", n=2)])
    _, loaded = load(tmp_path, model(ABC, {"B": exclusive, "C": condition("Always")}, condition("AfterNPasses", n=5)))
    assert loaded.run(0)["B.count"][0] == 2


# condition of B, message of the error
REFUSED = [
    (condition("Allways"), "there is no condition 'Allways'; did you mean 'Always'?"),
    (condition("WhenFinished", dependency="A"), "MDF does not say when a node is finished"),
    (condition("AfterNCalls", dependency="A"), "AfterNCalls needs 'n'"),
    (condition("AfterNCalls", dependency="Q", n=1), "AfterNCalls names 'Q': there is no such node; there are 'A', 'B', 'C'"),
    (condition("AfterNCalls", dependency="A", n=1.5), "'n' of AfterNCalls is the number 1.5; expected an integer"),
    (condition("AfterNCalls", dependency="A", n=1, m=2), "AfterNCalls has no argument 'm'"),
    (condition("AtPass", n=1, time_scale="TimeScale.YEAR"), "'time_scale' of AtPass"),
    (condition("Threshold", dependency="A", parameter="nope", threshold=1, comparator="<"), "Threshold reads 'nope', which node 'A'"),
    (condition("Threshold", dependency="A", parameter="count", threshold=1, comparator="~"), "'comparator' of Threshold"),
    (condition("TimeInterval", repeat=1, unit="parsec"), "TimeInterval has the unit 'parsec'"),
    (condition("All", args=[condition("Foo")]), "there is no condition 'Foo'"),
    (condition("Never"), "no evaluation would end"),
]  # fmt: skip


@pytest.mark.parametrize("of_b, message", REFUSED, ids=lambda c: c["type"] if isinstance(c, dict) else None)
def test_condition_that_is_refused(tmp_path, of_b, message):
    _, loaded = load(tmp_path, model(ABC, {"B": of_b}))
    with pytest.raises((rondel.CallerError, rondel.UnsupportedError), match=message.replace("(", "\\(").replace("?", "\\?")) as error:
        loaded.run(1)
    assert "node 'B'" in str(error.value)


def test_an_evaluation_that_does_not_end_is_an_error(tmp_path):
    _, loaded = load(tmp_path, model(ABC, {"B": condition("BeforePass", n=0)}))
    with pytest.raises(rondel.CallerError, match="an evaluation has not ended after 1000000 passes: it ends when all nodes have run") as error:
        loaded.run(1)
    assert "assertion" not in str(error.value)


def test_a_termination_that_never_holds_is_named(tmp_path):
    never = condition("Threshold", dependency="A", parameter="count", threshold=-1, comparator="<")
    _, loaded = load(tmp_path, model(ABC, {}, never))
    with pytest.raises(rondel.CallerError, match="passes: its termination does not hold: Threshold of 'environment_state_update'"):
        loaded.run(1)


@pytest.mark.parametrize("in_one_set", [False, True])
def test_what_is_written_grows_with_the_nodes_and_no_faster(tmp_path, in_one_set):
    """Each set asks whether all nodes have run; each node of a set, whether another one has."""

    def nodes(count):
        parents = [[]] * count if in_one_set else [[], *([k] for k in range(count - 1))]
        asks = condition("EveryNCalls", dependency="A", n=2)
        path, _ = load(tmp_path, model(parents, {chr(ord("A") + k): asks for k in range(1, count)} if in_one_set else {"B": condition("Always")}))
        return rondel.InferenceSession(path).ir_text(imported=True).count("\n")

    assert nodes(24) - nodes(16) <= 1.1 * (nodes(16) - nodes(8))
