"""Settings of a run: recorded values, inputs, initial values, replaced parameters and sweeps; and the interpretations listed in docs/mdf.md."""

import io
import json
import pathlib

import mdf_engine
import numpy as np
import pandas
import pytest

import rondel
import rondel.mdf

MODELS = pathlib.Path(__file__).parent


def load(tmp_path, nodes, edges=None, conditions=None):
    path = tmp_path / "model.json"
    graph = {"nodes": nodes, "edges": edges or {}}
    if conditions is not None:
        graph["conditions"] = conditions
    path.write_text(json.dumps({"m": {"format": "ModECI MDF v0.4", "graphs": {"g": graph}}}))
    return path, rondel.mdf.load(path)


def edge(sender, sender_port, receiver, receiver_port, **parameters):
    said = {"sender": sender, "sender_port": sender_port, "receiver": receiver, "receiver_port": receiver_port}
    return {**said, "parameters": parameters} if parameters else said


def compare(path, model, steps, dt, record, inputs=()):
    got, expected = model.run(steps, dt, record=record), mdf_engine.run(path, steps, dt, record, inputs)
    for name in record:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-9, err_msg=name)


LEAK = {
    "A": {
        "input_ports": {"x": {"shape": []}, "w": {"default_value": 2.0}},
        "parameters": {"tau": {"value": 5.0}, "v": {"default_initial_value": 1.0, "time_derivative": "-v / tau + w * x"}},
        "output_ports": {"v": {"value": "v"}},
    }
}


def leak(v, tau, x, w, steps, dt):
    """The same in NumPy."""
    rows = [np.asarray(v, float)]
    for k in range(1, steps + 1):
        rows.append(rows[-1] + dt * (-rows[-1] / tau + w * x[k]))
    return np.stack(rows)


def test_what_is_recorded(tmp_path):
    _, model = load(tmp_path, LEAK)
    assert model.recordable == ["A.v", "A.tau", "A.x", "A.w"]
    results = model.run(3, 0.5, record=["A.w", "A.tau", "A.v"])
    assert list(results) == ["A.w", "A.tau", "A.v", "time"]
    np.testing.assert_array_equal(results["A.w"], [2.0] * 4)
    np.testing.assert_array_equal(results["A.tau"], [5.0] * 4)
    np.testing.assert_array_equal(results["time"], [0, 0.5, 1, 1.5])
    assert list(model.run(0)) == ["A.v", "time"]


def test_an_input_is_one_value_or_a_row_for_each_evaluation(tmp_path):
    path, model = load(tmp_path, LEAK)
    rows = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(model.run(8, 0.1, inputs={"A.x": 3})["A.v"], leak(1, 5, [3] * 9, 2, 8, 0.1), rtol=1e-13)
    got = model.run(8, 0.1, inputs={"A.x": rows})["A.v"]
    np.testing.assert_allclose(got, leak(1, 5, rows, 2, 8, 0.1), rtol=1e-13)
    expected = mdf_engine.run(path, 8, 0.1, ["A.v"], [{"x": x} for x in rows])
    np.testing.assert_allclose(got, expected["A.v"], rtol=1e-9)


def wired(**receiver):
    port = {"x": receiver}
    return (
        {"A": {"output_ports": {"y": {"value": "2"}}}, "B": {"input_ports": port, "output_ports": {"y": {"value": "x"}}}},
        {"wire": edge("A", "y", "B", "x")},
    )


def test_an_input_that_an_edge_overwrites_is_an_error(tmp_path):
    _, model = load(tmp_path, *wired())
    for use in (model.run, model.session):
        with pytest.raises(rondel.CallerError, match="inputs: 'B.x' takes what edge 'wire' delivers from node 'A'"):
            use(1, inputs={"B.x": 5})
    _, model = load(tmp_path, *wired(reduce="add"))
    np.testing.assert_array_equal(model.run(1, inputs={"B.x": 5})["B.y"], [7, 7])


def test_an_input_stands_until_the_sender_of_an_edge_has_run(tmp_path):
    nodes = {
        "A": {"input_ports": {"x": {"default_value": 0}}, "output_ports": {"y": {"value": "x + 1"}}},
        "B": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x"}}},
    }
    _, model = load(tmp_path, nodes, {"there": edge("A", "y", "B", "x"), "back": edge("B", "y", "A", "x")})
    np.testing.assert_array_equal(model.run(2, inputs={"A.x": 5})["B.y"], [6, 7, 8])


def test_an_input_of_vectors(tmp_path):
    node = {"input_ports": {"x": {"shape": [2]}}, "parameters": {"s": {"value": "s + x[0] * x[1]"}}, "output_ports": {"s": {"value": "s"}}}
    _, model = load(tmp_path, {"A": node})
    np.testing.assert_allclose(model.run(2, inputs={"A.x": [2, 3]})["A.s"], [6, 12, 18])
    np.testing.assert_allclose(model.run(2, inputs={"A.x": [[1, 1], [2, 2], [3, 3]]})["A.s"], [1, 5, 14])


def test_initial_values_and_replaced_parameters(tmp_path):
    _, model = load(tmp_path, LEAK)
    got = model.run(8, 0.1, initial={"A.v": -2}, set={"A.tau": 0.5}, inputs={"A.x": 1})["A.v"]
    np.testing.assert_allclose(got, leak(-2, 0.5, [1] * 9, 2, 8, 0.1), rtol=1e-13)
    np.testing.assert_array_equal(model.run(3, set={"A.v": 7})["A.v"], [7.0] * 4)


def test_a_sweep_is_axis_1(tmp_path):
    _, model = load(tmp_path, LEAK)
    taus, begins = np.array([0.5, 1.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0, 3.0])
    got = model.run(8, 0.1, set={"A.tau": taus}, initial={"A.v": begins}, inputs={"A.x": 1})["A.v"]
    assert got.shape == (9, 4)
    for k in range(4):
        np.testing.assert_allclose(got[:, k], leak(begins[k], taus[k], [1] * 9, 2, 8, 0.1), rtol=1e-13)


def test_a_sweep_of_vectors_and_of_a_model_with_conditions(tmp_path):
    model = rondel.mdf.load(MODELS / "rnn.json")
    begins = np.random.default_rng(3).normal(size=(3, 5))
    got = model.run(20, 0.1, record=["readout.z", "units.x"], initial={"units.x": begins}, set={"units.g": [1.0, 1.5, 2.0]})
    assert got["readout.z"].shape[:2] == (21, 3) and got["units.x"].shape == (21, 3, 5)
    alone = model.run(20, 0.1, record=["units.x"], initial={"units.x": begins[1]}, set={"units.g": 1.5})
    np.testing.assert_array_equal(got["units.x"][:, 1], alone["units.x"])
    nodes = {name: {"parameters": {"n": {"value": "n + by"}, "by": {"value": 1}}, "output_ports": {"n": {"value": "n"}}} for name in "AB"}
    every = {"type": "EveryNCalls", "kwargs": {"dependency": "A", "n": 2}}
    _, model = load(tmp_path, nodes, conditions={"node_specific": {"B": every}})
    got = model.run(2, set={"A.by": [1, 10]})
    np.testing.assert_array_equal(got["A.n"], [[2, 20], [4, 40], [6, 60]])
    np.testing.assert_array_equal(got["B.n"], [[1, 1], [2, 2], [3, 3]])


def test_a_sweep_without_points_is_refused(tmp_path):
    _, model = load(tmp_path, LEAK)
    for given in ({"set": {"A.tau": []}}, {"initial": {"A.v": np.zeros(0)}}):
        with pytest.raises(rondel.CallerError, match="a sweep has no points; expected one at least"):
            model.run(3, **given)


def test_results_as_a_table(tmp_path):
    frame = rondel.mdf.load(MODELS / "rnn.json").run(4, 0.1, record=["units.x", "wave.t"]).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [*(f"units.x[{k}]" for k in range(5)), "wave.t"]
    assert frame.index.name == "time" and len(frame) == 5


# settings, message of the error
REFUSED = [
    ({"record": ["A.q"]}, "there is no 'A.q' to record; did you mean 'A.v'"),
    ({"record": ["A.v", "A.v"]}, "'A.v' is to be recorded twice"),
    ({"record": "A.v"}, "record is 'A.v'; expected a list of names"),
    ({"inputs": {"A.q": 1}}, "there is no input port 'A.q'; did you mean"),
    ({"inputs": {"A.x": [1, 2]}}, "'A.x' is i64[2]; expected one value of shape [] for all evaluations, or 4 rows"),
    ({"initial": {"A.tau": 1}}, "parameter 'A.tau' has no state"),
    ({"initial": {"B.v": 1}}, "there is no parameter 'B.v'"),
    ({"set": {"A.tau": "fast"}}, "'A.tau' is of dtype"),
    ({"set": {"A.tau": 2**63}}, "set: 'A.tau' is 9223372036854775808; integers are at most 2^63 - 1"),
    ({"inputs": {"A.x": np.array(2**63, np.uint64)}}, "inputs: 'A.x' is 9223372036854775808; integers are at most 2^63 - 1"),
    ({"set": {"A.tau": [1, 2]}, "initial": {"A.v": [1, 2, 3]}}, "the sweep of 'A.v' has 3 points, that of 'A.tau' 2"),
    ({"steps": -1}, "steps is -1; expected a number of steps, 0 or more"),
    ({"record": ["A.\ud800"]}, "record is ['A.\\ud800']; expected a list of names"),
    ({"set": {"A.\ud800": 1}}, "set has the key 'A.\\ud800'; expected names"),
    ({"steps": True}, "steps is True; expected a number of steps, 0 or more"),
    ({"dt": float("nan")}, "dt is nan; expected a finite number"),
    ({"dt": "0.5"}, "dt is '0.5'; expected a number"),
    ({"dt": True}, "dt is True; expected a number"),
    ({"single_precision": "no"}, "single_precision is 'no'; expected True or False"),
    ({"progress": "no"}, "progress is 'no'; expected True or False"),
]  # fmt: skip


@pytest.mark.parametrize("settings, message", REFUSED, ids=lambda s: next(iter(s)) if isinstance(s, dict) else None)
def test_settings_that_are_refused(tmp_path, settings, message):
    _, model = load(tmp_path, LEAK)
    with pytest.raises(rondel.CallerError) as error:
        model.run(**{"steps": 3, **settings})
    assert message in str(error.value)


def test_other_values_compile_nothing(tmp_path):
    """Steps, dt and values are inputs of one compiled graph."""
    _, model = load(tmp_path, LEAK)
    session = model.session(5, 0.1, set={"A.tau": 2.0})
    assert {p.name for p in session.get_overridable_initializers()} == {"steps", "dt", "set A.tau"}
    got = session.run(None, {"steps": 8, "dt": 0.5, "set A.tau": 4.0})[0]
    np.testing.assert_allclose(got, leak(1, 4, [0] * 9, 2, 8, 0.5), rtol=1e-13)


# ---- interpretations (docs/mdf.md)


def counter(ports=None, value="n + 1", **more):
    return {"input_ports": ports or {}, "parameters": {"n": {"value": value, **more}}, "output_ports": {"n": {"value": "n"}}}


def test_a_circle_through_a_port_with_a_default_runs_on_previous_values(tmp_path):
    nodes = {"A": counter({"back": {"default_value": 10}}, "n + back"), "B": counter({"x": {}}, "0.5 * x", default_initial_value=0)}
    edges = {"there": edge("A", "n", "B", "x"), "back": edge("B", "n", "A", "back", weight=2)}
    path, model = load(tmp_path, nodes, edges)
    # A reads B's value of the previous evaluation, B reads A's value of the current one.
    np.testing.assert_allclose(model.run(3)["A.n"], [10, 20, 40, 80])
    compare(path, model, 6, 1.0, ["A.n", "B.n"])


def test_a_circle_without_a_default_is_an_error(tmp_path):
    nodes = {"A": counter({"x": {}}), "B": counter({"x": {}}), "C": counter()}
    edges = {"ab": edge("A", "n", "B", "x"), "ba": edge("B", "n", "A", "x")}
    _, model = load(tmp_path, nodes, edges)
    with pytest.raises(rondel.CallerError, match="edges form a circle: '.' -> '.' -> '.'; give an input port in it a default_value"):
        model.run(1)


def test_a_port_forgets_its_value_once_it_is_read(tmp_path):
    """B runs twice per evaluation, A once, before the first run of B."""
    nodes = {"A": counter(), "B": counter({"x": {"default_value": 100}}, "n + x", default_initial_value=0)}
    always, once = {"type": "Always"}, {"type": "AtPass", "kwargs": {"n": 0}}
    conditions = {"node_specific": {"A": once, "B": always}, "termination": {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": 2}}}}
    _, model = load(tmp_path, nodes, {"e": edge("A", "n", "B", "x")}, conditions)
    # The edge delivers A's value whenever B runs, even if A has not run again.
    np.testing.assert_allclose(model.run(2)["B.n"], [2, 6, 12])


@pytest.mark.parametrize("reduce, expected", [("add", 5.0), ("multiply", 6.0), ("overwrite", 3.0)])
def test_edges_that_meet_in_a_port(tmp_path, reduce, expected):
    """If edges overwrite each other, the last declared one wins; in modeci_mdf, the order is that of a set."""
    constants = {name: {"parameters": {"v": {"value": value}}, "output_ports": {"v": {"value": "v"}}} for name, value in (("A", 2.0), ("B", 3.0))}
    sink = {"input_ports": {"x": {"reduce": reduce}}, "output_ports": {"y": {"value": "x"}}}
    edges = {"a": edge("A", "v", "C", "x"), "b": edge("B", "v", "C", "x")}
    path, model = load(tmp_path, {**constants, "C": sink}, edges)
    np.testing.assert_array_equal(model.run(2)["C.y"], [expected] * 3)
    if reduce != "overwrite":
        compare(path, model, 3, 1.0, ["C.y"])


def test_an_edge_multiplies_element_by_element(tmp_path):
    nodes = {"A": counter(None, [1.0, 2.0, 3.0]), "B": counter({"x": {"shape": [3]}}, "x", default_initial_value=0)}
    path, model = load(tmp_path, nodes, {"e": edge("A", "n", "B", "x", weight=[1, 0.5, 2])})
    np.testing.assert_array_equal(model.run(0)["B.n"][0], [1, 1, 6])


def test_the_conditions_of_a_parameter_see_its_own_previous_value(tmp_path):
    reset = [{"id": "reset", "test": "n >= 3", "value": 0}, {"id": "late", "test": "n == 2", "value": "n + 40"}]
    path, model = load(tmp_path, {"A": counter(conditions=reset)})
    compare(path, model, 12, 1.0, ["A.n"])


def test_functions_see_the_previous_values_of_parameters(tmp_path):
    node = {
        "functions": {"f": {"function": "linear", "args": {"variable0": "n", "slope": 10, "intercept": "m"}}},
        "parameters": {"n": {"value": "n + 1"}, "m": {"value": "2 * n"}},
        "output_ports": {"f": {"value": "f"}, "m": {"value": "m"}},
    }
    path, model = load(tmp_path, {"A": node})
    compare(path, model, 5, 1.0, ["A.f", "A.m"])


def test_a_value_of_numbers_begins_with_its_initial_value(tmp_path):
    node = {
        "parameters": {"p": {"value": 2, "default_initial_value": 0}},
        "functions": {"f": {"value": "p * 10"}},
        "output_ports": {"o": {"value": "f"}, "p": {"value": "p"}},
    }
    path, model = load(tmp_path, {"A": node})
    compare(path, model, 2, 1.0, ["A.o", "A.p"])
    assert model.run(2)["A.o"].tolist() == [0, 20, 20]
    assert model.run(2, initial={"A.p": 7})["A.o"].tolist() == [70, 20, 20]
    assert model.run(2, set={"A.p": 7})["A.o"].tolist() == [0, 70, 70]
    assert model.run(2, set={"A.p": [7, 8]}, initial={"A.p": [1, 2]})["A.o"].tolist() == [[10, 20], [70, 80], [70, 80]]


def test_a_power_whose_exponent_is_not_known_is_a_float(tmp_path):
    node = {"parameters": {"n": {"value": 3}, "k": {"value": "k + 1"}}, "output_ports": {"y": {"value": "10 ** -n"}, "z": {"value": "2 ** -k"}}}
    path, model = load(tmp_path, {"A": node})
    compare(path, model, 2, 1.0, ["A.y", "A.z"])
    assert model.run(0, set={"A.n": 3})["A.y"].tolist() == [0.001]
    assert model.run(0, set={"A.n": [3, -1]})["A.y"].tolist() == [[0.001, 10.0]]


TWICE = {"a": {"value": 1}, "b": {"function": "linear", "args": {"variable0": "a", "slope": 2, "intercept": 3}}}


@pytest.mark.parametrize("more", [{"value": "b"}, {"value": "2*b", "default_initial_value": "b"}, {"default_initial_value": "b", "time_derivative": "1"}])
def test_a_value_that_is_the_result_of_a_function(tmp_path, more):
    """Nothing reads the value that it does not have before the first execution."""
    path, model = load(tmp_path, {"A": {"parameters": {**TWICE, "c": more}, "output_ports": {"c": {"value": "c"}}}})
    compare(path, model, 3, 0.5, ["A.c"])


def test_a_parameter_that_is_read_before_it_has_a_value_is_named(tmp_path):
    node = {
        "functions": {"f": {"value": "p + 1"}},
        "parameters": {"p": {"function": "linear", "args": {"variable0": 1, "slope": 2, "intercept": 3}}},
        "output_ports": {"f": {"value": "f"}},
    }
    _, model = load(tmp_path, {"A": node})
    with pytest.raises(rondel.CallerError, match="function 'f': 'p \\+ 1': it reads parameter 'p' of node 'A' before that has a value"):
        model.run(1)


def test_a_parameter_that_is_declared_later_is_named(tmp_path):
    node = {"parameters": {"early": {"value": "late + 1"}, "late": {"value": 2}}, "output_ports": {"y": {"value": "early"}}}
    _, model = load(tmp_path, {"A": node})
    with pytest.raises(rondel.CallerError, match="parameter 'early': 'late \\+ 1': it reads parameter 'late', which is declared after it"):
        model.run(1)


def test_a_function_that_a_first_value_reads_is_named(tmp_path):
    """modeci_mdf fails here, too. With an initial value, the parameter reads what the function gives in each step."""
    functions = {"f": {"value": "6 * 7"}}
    node = {"functions": functions, "parameters": {"p": {"value": "f + 1"}}, "output_ports": {"y": {"value": "p"}}}
    _, model = load(tmp_path, {"A": node})
    with pytest.raises(rondel.CallerError, match="parameter 'p': 'f \\+ 1': it reads function 'f' before that has run: give the parameter a default_initial_value"):
        model.run(1)
    node["parameters"]["p"]["default_initial_value"] = 0
    _, model = load(tmp_path, {"A": node})
    assert model.run(1)["A.y"][-1] == 43


def test_a_node_that_has_not_run_has_no_value(tmp_path):
    conditions = {"node_specific": {"B": {"type": "AfterNEnvironmentStateUpdates", "kwargs": {"n": 2}}},
                  "termination": {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": 1}}}}  # fmt: skip
    nodes = {"A": counter(), "B": {"parameters": {"t": {"default_initial_value": 5.0, "time_derivative": "1"}}, "output_ports": {"t": {"value": "t"}}}}
    _, model = load(tmp_path, nodes, conditions=conditions)
    # modeci_mdf fails here: it integrates from None. In Rondel, the first execution initialises the state.
    np.testing.assert_array_equal(model.run(4, 0.5)["B.t"], [np.nan, np.nan, 5.0, 5.5, 6.0])


def test_an_unknown_sender_is_an_error(tmp_path):
    with pytest.raises(rondel.CallerError, match="edge 'e': sender 'Q': there is no such node"):
        load(tmp_path, {"A": counter({"x": {}})}, {"e": edge("Q", "n", "A", "x")})


def test_extents_that_disagree_are_an_error(tmp_path):
    nodes = {"A": counter(None, [1.0, 2.0]), "B": counter({"x": {}}, "x + [1, 2, 3]", default_initial_value=0)}
    _, model = load(tmp_path, nodes, {"e": edge("A", "n", "B", "x")})
    with pytest.raises(rondel.CallerError, match="node 'B'.*parameter 'n'.*\\[2\\].*\\[3\\]"):
        model.run(1)


def test_extents_that_grow_are_an_error(tmp_path):
    _, model = load(tmp_path, {"A": counter(None, "[n, n]", default_initial_value=0)})
    with pytest.raises(rondel.CallerError, match="node 'A', parameter 'n': the extents of its value grow from evaluation to evaluation"):
        model.run(1)


# ---- runs that go on


def test_a_simulation_goes_on_as_one_run_would():
    for file in ("iafs.yaml", "rnn.json"):
        model = rondel.mdf.load(MODELS / file)
        expected = model.run(49, 0.1)
        simulation = model.simulation()
        parts = [simulation.advance(n, 0.1) for n in (1, 30, 19)]
        assert simulation.evaluated == 50
        for name in parts[0]:
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), expected[name])


def test_a_simulation_takes_other_inputs_and_steps(tmp_path):
    _, model = load(tmp_path, LEAK)
    simulation = model.simulation(set={"A.tau": [5.0, 1.0]})
    first = simulation.advance(1, 0.1)["A.v"]
    second = simulation.advance(2, 0.5, inputs={"A.x": [1.0, 2.0]})["A.v"]
    third = simulation.advance(1, 0.25, inputs={"A.x": 3.0})["A.v"]
    for k, tau in enumerate((5.0, 1.0)):
        v = [1.0]
        for dt, x in ((0.5, 1.0), (0.5, 2.0), (0.25, 3.0)):
            v.append(v[-1] + dt * (-v[-1] / tau + 2 * x))
        np.testing.assert_allclose(np.concatenate([first, second, third])[:, k], v, rtol=1e-13)


def test_a_simulation_under_conditions(tmp_path):
    nodes = {name: {"parameters": {"n": {"value": "n + 1"}}, "output_ports": {"n": {"value": "n"}}} for name in "AB"}
    late = {"type": "AfterNCalls", "kwargs": {"dependency": "A", "n": 3, "time_scale": "TimeScale.LIFE"}}
    end = {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": 1}}}
    _, model = load(tmp_path, nodes, conditions={"node_specific": {"B": late}, "termination": end})
    expected = model.run(9)
    simulation = model.simulation()
    parts = [simulation.advance(n) for n in (2, 5, 3)]
    for name in expected:
        if name != "time":
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), expected[name])


def test_a_simulation_begins_anew_and_is_copied():
    model = rondel.mdf.load(MODELS / "states.json")
    record = ["counter_node.count", "sine_node.rate"]
    simulation = model.simulation(record)
    rows = simulation.advance(4, 0.01)
    other = simulation.copy()
    simulation.begin_anew()
    anew = simulation.advance(4, 0.01)
    # A state that reads itself continues; a state with a time derivative starts again.
    assert anew["counter_node.count"].tolist() == [5, 6, 7, 8]
    np.testing.assert_array_equal(anew["sine_node.rate"], rows["sine_node.rate"])
    assert other.evaluated == 4 and simulation.evaluated == 8
    expected = model.run(7, 0.01, record)
    for name, array in other.advance(4, 0.01).items():
        np.testing.assert_array_equal(array, expected[name][4:])


def test_a_parameter_beside_a_port_of_its_name(tmp_path):
    node = {
        "functions": {"v": {"value": "7.0"}},
        "parameters": {"v": {"value": "3.0"}},
        "output_ports": {"v": {"value": "2 * v"}},
    }
    _, model = load(tmp_path, {"A": node})
    results = model.run(0, record=["A.v", "parameter A.v", "function A.v"])
    assert [results[name].tolist() for name in list(results)[:3]] == [[6.0], [3.0], [7.0]]
    with pytest.raises(rondel.CallerError, match="there is no 'parameter A.w' to record"):
        model.run(0, record=["parameter A.w"])


def test_a_failing_part_leaves_the_simulation_where_it_was(tmp_path):
    _, model = load(tmp_path, LEAK)
    simulation = model.simulation()
    simulation.advance(3, 0.1)
    with pytest.raises(rondel.CallerError, match="'A.x'"):
        simulation.advance(2, 0.1, inputs={"A.x": [1, 2, 3]})
    options = rondel.RunOptions()
    options.terminate = True
    with pytest.raises(rondel.Cancelled):
        simulation.advance(2, 0.1, run_options=options)
    assert simulation.evaluated == 3
    np.testing.assert_array_equal(simulation.advance(2, 0.1)["A.v"], model.run(4, 0.1)["A.v"][3:])


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_long_run_shows_a_bar_and_gives_the_same(tmp_path, monkeypatch):
    _, model = load(tmp_path, LEAK)
    rows = np.linspace(0, 1, 5001)
    expected = model.run(5000, 0.01, inputs={"A.x": rows, "A.w": 3.0}, progress=False)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("rondel.mdf.model._BAR_AFTER", 0.0)
    got = model.run(5000, 0.01, inputs={"A.x": rows, "A.w": 3.0})
    assert "1000/5001" in terminal.getvalue() and terminal.getvalue().endswith("\r\x1b[K")
    np.testing.assert_array_equal(got["A.v"], expected["A.v"])
    np.testing.assert_array_equal(got["time"], expected["time"])


def test_a_run_with_a_bar_leaves_its_options_as_they_are(tmp_path, monkeypatch):
    _, model = load(tmp_path, LEAK)
    options, seen = rondel.RunOptions(deadline=60.0), []
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("rondel.mdf.model.Progress.update", lambda *_: seen.append(options.deadline))
    model.run(3000, 0.01, inputs={"A.x": 1.0}, run_options=options)
    assert set(seen) == {60.0} and len(seen) > 1 and options.deadline == 60.0
    options.terminate = True
    with pytest.raises(rondel.Cancelled):
        model.run(3000, 0.01, inputs={"A.x": 1.0}, run_options=options)


def test_a_run_that_needs_more_memory_than_there_is_is_refused_before_the_first_step(tmp_path):
    model = rondel.mdf.load(MODELS / "states.json")
    with pytest.raises(rondel.LimitExceeded, match="does not allow"):
        model.run(10**12)
    with pytest.raises(rondel.LimitExceeded, match="budget of 1000000 bytes"):
        model.run(10**6, dt=0.01, max_memory_bytes=1_000_000)
    few = model.run(100, dt=0.01, max_memory_bytes=1_000_000)
    for name, rows in model.run(100, dt=0.01).items():
        np.testing.assert_array_equal(few[name], rows)


def test_a_run_with_another_budget_is_of_the_same_model(tmp_path):
    """Also if the file has changed since, and for YAML that looks like JSON."""
    path = tmp_path / "model.yaml"
    path.write_text("{m: {graphs: {g: {nodes: {A: {output_ports: {y: {value: 2.0}}}}}}}}")
    model = rondel.mdf.load(path)
    path.write_text("{m: {graphs: {g: {nodes: {A: {output_ports: {y: {value: 5.0}}}}}}}}")
    assert model.run(max_memory_bytes=10**6)["A.y"].tolist() == [2.0]
    path.unlink()
    assert model.run(max_memory_bytes=10**7)["A.y"].tolist() == [2.0]


def test_results_in_parts_are_within_the_budget(monkeypatch):
    """With a bar a run is made in parts, whose results together may be larger than what the engine ever holds."""
    from rondel.mdf import model as module

    monkeypatch.setattr(module, "_BAR_AFTER", 0.0)
    monkeypatch.setattr(module.Progress, "moves", True, raising=False)
    model = rondel.mdf.load(MODELS / "states.json")
    with pytest.raises(rondel.LimitExceeded, match="the results: the memory budget of 1000000 bytes"):
        model.run(10**6, dt=0.01, max_memory_bytes=1_000_000)
    assert len(model.run(2000, dt=0.01, max_memory_bytes=1_000_000)["time"]) == 2001


def test_a_container_s_limit_counts(tmp_path, monkeypatch):
    from rondel.mdf import memory

    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "other").write_text("max\n")
    whole = memory.default_budget()
    monkeypatch.setattr(memory, "_LIMITS", (str(tmp_path / "memory.max"), str(tmp_path / "other"), str(tmp_path / "absent")))
    assert memory.default_budget() == 500_000 < whole


def test_a_negative_dt_is_refused():
    model = rondel.mdf.load(MODELS / "states.json")
    with pytest.raises(rondel.CallerError, match=r"dt is -0\.1; expected a finite number, 0 or more"):
        model.run(3, dt=-0.1)
    with pytest.raises(rondel.CallerError, match="dt is -1"):
        model.simulation().advance(dt=-1)
    for wrong in ({"evaluations": 0}, {"evaluations": True}, {"dt": "1"}):
        with pytest.raises(rondel.CallerError, match=f"{next(iter(wrong))} is "):
            model.simulation().advance(**wrong)
    assert model.run(3, dt=0)["time"].tolist() == [0, 0, 0, 0]


def test_models_of_modeci_mdf_in_memory():
    mdf = pytest.importorskip("modeci_mdf.mdf")
    graph = mdf.Graph(id="g")
    node = mdf.Node(id="A")
    node.parameters.append(mdf.Parameter(id="x", default_initial_value=2, time_derivative="-x"))
    node.output_ports.append(mdf.OutputPort(id="y", value="x"))
    graph.nodes.append(node)
    whole = mdf.Model(id="m", graphs=[graph])
    want = rondel.mdf.loads({"m": {"graphs": {"g": {"nodes": {"A": {
        "parameters": {"x": {"default_initial_value": 2, "time_derivative": "-x"}}, "output_ports": {"y": {"value": "x"}}}}}}}}).run(5, 0.1)  # fmt: skip
    for made in (rondel.mdf.load(whole), rondel.mdf.loads(whole), rondel.mdf.loads(graph)):
        np.testing.assert_array_equal(made.run(5, 0.1)["A.y"], want["A.y"])
    for given in (whole, graph):
        stepped = rondel.mdf.EvaluableGraph(given)
        stepped.evaluate()
        stepped.evaluate(time_increment=0.1)
        np.testing.assert_array_equal(stepped.enodes["A"].evaluable_outputs["y"].curr_value, want["A.y"][1])
    with pytest.raises(rondel.CallerError, match="Node; expected a Model or a Graph of modeci_mdf"):
        rondel.mdf.load(node)
    graph.nodes.append(mdf.Node(id="A"))
    with pytest.raises(rondel.CallerError, match="there are two objects Node 'A'"):
        rondel.mdf.load(whole)
