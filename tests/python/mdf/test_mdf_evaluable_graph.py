"""rondel.mdf.EvaluableGraph: scripts read the same values from it as from modeci_mdf's own EvaluableGraph."""

import contextlib
import io
import json
import pathlib

import numpy as np
import pytest

import rondel
import rondel.mdf
from rondel.mdf import EvaluableGraph

engine = pytest.importorskip("modeci_mdf.execution_engine", reason="modeci_mdf, the engine to compare with, is not installed")
from modeci_mdf.mdf import Condition, ConditionSet, Edge, Graph, InputPort, Node, OutputPort, Parameter  # noqa: E402
from modeci_mdf.utils import load_mdf  # noqa: E402

MODELS = pathlib.Path(__file__).parent
FILES = [("states.json", 0.01), ("newton_cooling.yaml", 0.1), ("switched_rlc.json", 0.001), ("rnn.json", 0.1), ("iafs.yaml", 0.1)]


def theirs(graph):
    with contextlib.redirect_stdout(io.StringIO()):  # modeci_mdf prints its progress
        return engine.EvaluableGraph(graph, verbose=False)


def read(path):
    with contextlib.redirect_stdout(io.StringIO()):
        return load_mdf(str(path)).graphs[0]


def evaluate(both, *args, **kwargs):
    for graph in both:
        with contextlib.redirect_stdout(io.StringIO()):
            graph.evaluate(*args, **kwargs)
    compare(*both)


def compare(ours, expected):
    """Asserts that all values of outputs, parameters and functions in `expected` are equal in `ours`."""
    assert list(ours.enodes) == list(expected.enodes)
    compared = 0
    for node, found in expected.enodes.items():
        for kind in ("evaluable_outputs", "evaluable_parameters", "evaluable_functions"):
            got = getattr(ours.enodes[node], kind)
            assert set(got) == set(getattr(found, kind))
            for item, known in getattr(found, kind).items():
                if known.curr_value is not None:
                    np.testing.assert_allclose(got[item].curr_value, known.curr_value, rtol=1e-9, err_msg=f"{kind} {node}.{item}")
                    compared += 1
    assert compared > 0


@pytest.mark.parametrize("source", [read, str, rondel.mdf.load])
@pytest.mark.parametrize("file, dt", FILES)
def test_evaluations_of_a_script(file, dt, source):
    both = EvaluableGraph(source(MODELS / file)), theirs(read(MODELS / file))
    assert all(o.curr_value is None for node in both[0].enodes.values() for o in node.evaluable_outputs.values())
    evaluate(both)
    for _ in range(12):
        evaluate(both, time_increment=dt)


@pytest.mark.parametrize("file, dt", FILES)
def test_other_increments_and_a_new_beginning(file, dt):
    both = EvaluableGraph(MODELS / file), theirs(read(MODELS / file))
    for increment in [None, *[dt] * 6, *[dt / 2] * 3, dt, None, None, *[dt] * 3, dt / 2, None, dt]:
        evaluate(both, time_increment=increment)


def leak():
    graph = Graph(id="g")
    sender = Node(id="source")
    sender.input_ports.append(InputPort(id="x", shape=(2,)))
    sender.parameters.append(Parameter(id="gain", value=np.array([1.0, 3.0])))
    sender.output_ports.append(OutputPort(id="gain", value="gain * x"))
    cell = Node(id="cell")
    cell.input_ports.append(InputPort(id="current", shape=(2,)))
    cell.parameters.append(Parameter(id="v", default_initial_value=[0.0, 1.0], time_derivative="-v + current"))
    cell.parameters.append(Parameter(id="squashed", function="tanh", args={"variable0": "v", "scale": 2}))
    cell.output_ports.append(OutputPort(id="v", value="v"))
    graph.nodes += [sender, cell]
    weight = {"weight": np.array([0.5, 2.0])}
    graph.edges.append(
        Edge(id="e", sender="source", sender_port="gain", receiver="cell", receiver_port="current", parameters=weight)
    )
    return graph


def test_a_graph_made_by_a_script_with_values_for_its_ports():
    both = EvaluableGraph(leak(), verbose=False), theirs(leak())
    evaluate(both, initializer={"x": np.array([1.0, 2.0]), "of no port": 1})
    for k in range(20):
        evaluate(both, time_increment=0.1, initializer={"x": np.array([k, -1.0])})
    for _ in range(20):
        evaluate(both, time_increment=0.1)
    # An output port and a parameter of the same name have different values.
    source = both[0].enodes["source"]
    assert source.evaluable_parameters["gain"].curr_value.tolist() == [1, 3]
    assert source.evaluable_outputs["gain"].curr_value.tolist() == [0, 0]
    assert both[0].enodes["cell"].get_output() is not None and source.get_output("gain").tolist() == [0, 0]


def test_an_initializer_is_a_dict():
    graph = Graph(id="g")
    graph.nodes.append(Node(id="A", output_ports=[OutputPort(id="out", value="1")]))
    for wrong in (3, "a", [1]):
        with pytest.raises(rondel.CallerError, match="initializer is a .*; expected a dict of the name of an input port to its value"):
            rondel.mdf.EvaluableGraph(graph).evaluate(initializer=wrong)


def test_conditions():
    def counted():
        graph = Graph(id="g")
        for id in ("A", "B"):
            node = Node(id=id)
            node.parameters.append(Parameter(id="count", value="count + 1"))
            node.output_ports.append(OutputPort(id="out", value="count"))
            graph.nodes.append(node)
        graph.nodes[1].input_ports.append(InputPort(id="in"))
        graph.edges.append(Edge(id="e", sender="A", sender_port="out", receiver="B", receiver_port="in"))
        specific = {"A": Condition(type="Always"), "B": Condition(type="EveryNCalls", dependencies="A", n=3)}
        graph.conditions = ConditionSet(node_specific=specific, termination={"environment_state_update": Condition(type="AfterNCalls", dependencies="B", n=2)})
        return graph

    both = EvaluableGraph(counted()), theirs(counted())
    for increment in (None, 1.0, 1.0, 1.0, 1.0, None, 1.0):
        evaluate(both, time_increment=increment)
    assert both[0].enodes["A"].evaluable_outputs["out"].curr_value > 20


def test_a_loop_of_calls_is_one_of_parts():
    graph = EvaluableGraph(MODELS / "iafs.yaml")
    expected = rondel.mdf.load(MODELS / "iafs.yaml").run(1000, 0.1)["post.v"]
    values = []
    for k in range(1001):
        graph.evaluate(time_increment=0.1 if k else None)
        values.append(graph.enodes["post"].evaluable_outputs["v"].curr_value)
    np.testing.assert_array_equal(values, expected)


def doubled(**port):
    graph = Graph(id="g")
    node = Node(id="A")
    node.input_ports.append(InputPort(id="x", **port))
    node.parameters.append(Parameter(id="sum", default_initial_value=0, value="sum + numpy.sum(x)"))
    node.output_ports += [OutputPort(id="twice", value="2 * x"), OutputPort(id="sum", value="sum")]
    graph.nodes.append(node)
    return graph


@pytest.mark.parametrize("values", [(None, 1), (1, 0.5, 2), ([1, 2], 1, [0.5, 2, 3]), (True, 2, 0.5)], ids=repr)
def test_inputs_of_changing_types(values):
    both = EvaluableGraph(doubled()), theirs(doubled())
    for value in values:
        evaluate(both, initializer=None if value is None else {"x": np.array(value)})


@pytest.mark.parametrize("port", [{}, {"type": "int"}, {"default_value": 0}])
def test_a_port_that_is_given_a_value_now_and_then(port):
    for values, expected in (((None, 0.5, None, 1), [0, 0.5, 0.5, 1.5]), ((1, None, 0.5, 1), [1, 1, 1.5, 2.5])):
        graph = EvaluableGraph(doubled(**port))
        sums = []
        for value in values:
            graph.evaluate(initializer=None if value is None else {"x": value})
            sums.append(graph.enodes["A"].evaluable_outputs["sum"].curr_value)
        assert sums == expected


def test_a_state_that_cannot_hold_what_it_held_is_named():
    graph = doubled()
    graph.nodes[0].parameters.append(Parameter(id="all", default_initial_value=0, value="all + x"))
    graph = EvaluableGraph(graph)
    graph.evaluate(initializer={"x": 1})
    graph.evaluate(initializer={"x": np.array([1, 2])})
    assert graph.enodes["A"].evaluable_parameters["all"].curr_value.tolist() == [2, 3]
    message = r"node 'A', parameter 'all': it holds i64\[2\] of an earlier evaluation; with the inputs given now it is i64\[3\]"
    with pytest.raises(rondel.CallerError, match=message):
        graph.evaluate(initializer={"x": np.array([1, 2, 3])})


@pytest.mark.parametrize("reduce", ["overwrite", "add", "multiply"])
def test_values_given_to_input_ports(reduce):
    def driven():
        graph = leak()
        graph.nodes[0].input_ports[0].reduce = reduce
        return graph

    def give(value):
        for graph in both:
            with contextlib.redirect_stdout(io.StringIO()):
                graph.enodes["source"].evaluable_inputs["x"].set_input_value(np.array(value))

    both = EvaluableGraph(driven()), theirs(driven())
    for increment, values in ((None, [[1.0, 2.0]]), (0.1, []), (0.1, [[2.0, 5.0], [3.0, 7.0]]), (0.1, []), (0.1, [])):
        for value in values:
            give(value)
            ports = [graph.enodes["source"].evaluable_inputs["x"] for graph in both]
            np.testing.assert_array_equal(ports[0].curr_value, ports[1].curr_value)
        evaluate(both, time_increment=increment)
        assert all(graph.enodes["source"].evaluable_inputs["x"].curr_value is None for graph in both)


@pytest.mark.parametrize("reduce, expected", [("add", [4, 6]), ("multiply", [3, 8]), ("overwrite", [3, 4])])
def test_a_list_is_an_array_and_an_array_is_copied(reduce, expected):
    graph = leak()
    graph.nodes[0].input_ports[0].reduce = reduce
    port = EvaluableGraph(graph).enodes["source"].evaluable_inputs["x"]
    port.set_input_value([1.0, 2.0])
    given = np.array([3.0, 4.0])
    port.set_input_value(given)
    given[:] = 0
    assert port.curr_value.tolist() == expected
    with pytest.raises(rondel.CallerError, match="the value of input port 'x' makes no array"):
        port.set_input_value([[1, 2], [3]])
    if reduce != "overwrite":
        for other in ([1, 2, 3], None):
            with pytest.raises(rondel.CallerError, match="the values of input port 'x' do not go together"):
                port.set_input_value(other)
        assert port.curr_value.tolist() == expected


def test_an_initializer_joins_what_a_port_was_given():
    def driven():
        graph = leak()
        graph.nodes[0].input_ports[0].reduce = "add"
        return graph

    both = EvaluableGraph(driven()), theirs(driven())
    for graph in both:
        with contextlib.redirect_stdout(io.StringIO()):
            graph.enodes["source"].evaluable_inputs["x"].set_input_value(np.array([1.0, 2.0]))
    evaluate(both, initializer={"x": np.array([10.0, 20.0])})
    assert both[0].enodes["source"].evaluable_outputs["gain"].curr_value.tolist() == [11, 66]


def test_ports_before_the_first_evaluation():
    for file, _ in FILES:
        ours, expected = EvaluableGraph(MODELS / file), theirs(read(MODELS / file))
        for node, found in expected.enodes.items():
            assert list(ours.enodes[node].evaluable_inputs) == list(found.evaluable_inputs)
            for port, known in found.evaluable_inputs.items():
                np.testing.assert_array_equal(ours.enodes[node].evaluable_inputs[port].curr_value, known.curr_value)


def test_nodes_where_a_graph_begins_and_ends():
    graphs = [read(MODELS / file) for file, _ in FILES] + [leak()]
    ring = leak()
    ring.nodes[0].input_ports[0].default_value = np.array([1.0, 1.0])
    ring.edges.append(Edge(id="back", sender="cell", sender_port="v", receiver="source", receiver_port="x"))
    for graph in (*graphs, ring):
        ours, expected = EvaluableGraph(graph), theirs(graph)
        assert ours.root_nodes == expected.root_nodes
        ends = [found.node.id for found in expected.output_enodes]
        assert [ours.enodes[id] for id in ends] == ours.output_enodes


def test_an_error_leaves_what_a_port_was_given():
    graph = EvaluableGraph(leak())
    port = graph.enodes["source"].evaluable_inputs["x"]
    port.set_input_value([1.0, 2.0, 3.0])
    with pytest.raises(rondel.CallerError, match="do not broadcast"):
        graph.evaluate()
    assert port.curr_value.tolist() == [1.0, 2.0, 3.0]
    port.set_input_value([1.0, 2.0])
    graph.evaluate()
    assert port.curr_value is None and graph.enodes["source"].evaluable_outputs["gain"].curr_value.tolist() == [1, 6]


def test_an_error_comes_at_its_evaluation(tmp_path):
    node = {
        "parameters": {"n": {"value": "n + 1"}, "rest": {"value": "100 // (30 - int(n))"}},
        "output_ports": {"n": {"value": "n"}, "rest": {"value": "rest"}},
    }
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"m": {"graphs": {"g": {"nodes": {"A": node}}}}}))
    graph = EvaluableGraph(path)
    for k in range(29):
        graph.evaluate(1.0)
        assert graph.enodes["A"].evaluable_outputs["n"].curr_value == k + 1
    for _ in range(2):
        with pytest.raises(rondel.Error, match="divi"):
            graph.evaluate(1.0)
        assert graph.enodes["A"].evaluable_outputs["n"].curr_value == 29


def test_what_it_has_not():
    graph = EvaluableGraph(MODELS / "states.json")
    with pytest.raises(rondel.UnsupportedError, match="no scheduler, nor its execution_list.*value: n . 1"):
        graph.scheduler.execution_list
    with pytest.raises(rondel.UnsupportedError, match="order of execution"):
        graph.order_of_execution
    with pytest.raises(rondel.UnsupportedError, match="'tensorflow'; expected 'numpy'"):
        graph.evaluate(array_format="tensorflow")
    with pytest.raises(rondel.CallerError, match="time_increment is 'soon'"):
        graph.evaluate("soon")
    with pytest.raises(rondel.CallerError, match="time_increment is '0.5'"):
        graph.evaluate("0.5")
    with pytest.raises(rondel.CallerError, match="expected a Model or a Graph of modeci_mdf"):
        EvaluableGraph(Node(id="n"))
