"""MDF models from files, texts and dicts: what is accepted, warnings, and places in errors."""

import json
import pathlib
import warnings

import numpy as np
import pytest

import rondel
import rondel.mdf

MODELS = pathlib.Path(__file__).parent


def in_graph(nodes, **more):
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes, **more}}}}


def counter(**more):
    return {"parameters": {"n": {"default_initial_value": 0, "value": "n + 1"}}, "output_ports": {"n": {"value": "n"}}, **more}


def test_a_text_is_the_model_that_its_file_is():
    for name in ("states.json", "iafs.yaml"):
        text = (MODELS / name).read_text(encoding="utf-8")
        want = rondel.mdf.load(MODELS / name).run(20, 0.1)
        for source in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
            got = rondel.mdf.loads(source).run(20, 0.1)
            assert list(got) == list(want)
            for port in want:
                np.testing.assert_array_equal(got[port], want[port])


def test_a_dict_is_a_model():
    text = json.loads((MODELS / "states.json").read_text())
    want = rondel.mdf.load(MODELS / "states.json").run(20, 0.1)
    for source in (text, next(iter(text.values()))):
        np.testing.assert_array_equal(rondel.mdf.loads(source).run(20, 0.1)["sine_node.out_port"], want["sine_node.out_port"])


def test_a_dict_may_hold_arrays_and_what_json_has_no_number_for():
    values = {"a": np.array([[1.5, np.inf], [-np.inf, np.nan]]), "b": np.float64(np.nan), "c": float("-inf"), "d": (np.int64(1), 2)}
    nodes = {"A": {"parameters": {name: {"value": x} for name, x in values.items()}, "output_ports": {name: {"value": name} for name in values}}}
    got = rondel.mdf.loads(in_graph(nodes)).run()
    for name, x in values.items():
        np.testing.assert_array_equal(got[f"A.{name}"][0], x)
    assert got["A.d"].dtype == np.int64


SCALARS = """0x10 0XFF 010 0o17 08 09.5 1_000 1__0 -1_0 +12 0b101 0b12 1:30 1:30:15 -1:30 1:30.5 1:75 190:20:30.15 .inf -.inf +.Inf .INF .iNF .nan .NaN
.NAN -.nan ~ null Null NULL nUll yes Yes YES yEs no on Off OFF true True TRUE tRUE y n 1e3 1.0e3 1.5e+3 1.e+3 .5 -.5 +.5e-1 . _1 0 00 -0 0.0 1. 1_0.5_0
685_230.15 0x 0x_F 0b 9223372036854775807 9223372036854775808 0xFFFFFFFFFFFFFFFFFF inf nan Infinity e3 - + 1-2 : a 12e03 1.2.3""".split()


@pytest.mark.parametrize("text", SCALARS)
def test_a_plain_scalar_is_what_pyyaml_reads(text):
    yaml = pytest.importorskip("yaml")
    want = yaml.safe_load(f"x: [{text}]")["x"][0] if text != ":" else ":"
    if isinstance(want, str):  # modeci_mdf converts texts to numbers
        try:
            want = float(want) if "." in want or "e" in want.lower() or "n" in want.lower() else int(want)
        except ValueError:
            pass
    source = "m: {graphs: {g: {nodes: {A: {parameters: {p: {value: [%s]}}, output_ports: {y: {value: p}}}}}}}" % text
    if isinstance(want, (bool, int, float)):
        got = rondel.mdf.loads(source).run()["A.y"][0, 0]
        np.testing.assert_array_equal(got, want if abs(want) < 2**63 else float(want))
        assert isinstance(want, bool) == (got.dtype == bool)
        assert got.dtype.kind == (np.asarray(want).dtype.kind if abs(want) < 2**63 else "f")
    else:
        with pytest.raises(rondel.CallerError):
            rondel.mdf.loads(source).run()


MERGED = """
m:
  graphs:
    g:
      nodes:
        A:
          parameters: &values
            a: {value: 1}
            b: &b {value: 2}
          output_ports: &ports {a: {value: a}, b: {value: b}}
        B:
          parameters:
            b: {<<: *b, value: 5}
            <<: *values
          output_ports:
            <<: [{a: {value: 10 * a}}, *ports]
        C:
          <<: {parameters: *values, output_ports: {'<<': {value: a}}}
"""


def test_merge_keys_of_yaml():
    yaml = pytest.importorskip("yaml")
    got = rondel.mdf.loads(MERGED).run()
    assert {name: rows[0] for name, rows in got.items() if name != "time"} == {"A.a": 1, "A.b": 2, "B.b": 5, "B.a": 10, "C.<<": 1}
    want = rondel.mdf.loads(yaml.safe_load(MERGED)).run()
    assert list(got) == list(want)
    for name, rows in want.items():
        np.testing.assert_array_equal(got[name], rows)


# an invalid model, message of the error
REFUSED = [
    ('{"m": {"graphs": {', "line 1, column 19"),
    ("m:\n  graphs:\n    g: [1,\n", "line 4, column 1"),
    ("m: \ud800", "line 1, column 4: byte 0xed is not UTF-8"),
    (b"m: \xff", "line 1, column 4: byte 0xff is not UTF-8"),
    ("", "this is no MDF model: it has no 'graphs'"),
    ({}, "this is no MDF model: it has no 'graphs'"),
    ("m:\n  <<: 3", "line 2, column 7: '<<' stands before the number 3; expected a map or a list of maps"),
    ("m:\n  <<: [{}, [1]]", "line 2, column 12: '<<' stands before a list with a list; expected maps"),
    ({"m": {"graphs": {"g": object}}}, "the model cannot be written as JSON"),
    (None, "the model is None; expected a text or a dict"),
    (3, "the model is 3; expected a text or a dict"),
    ([{"graphs": {}}], "expected a text or a dict"),
    (pathlib.Path("states.json"), "(load reads files)"),
    ("states.json", "the model is the text 'states.json'; expected what a file of a model holds; load reads files"),
]


@pytest.mark.parametrize("source, message", REFUSED, ids=lambda x: repr(x)[:20])
def test_a_text_that_is_refused(source, message):
    with pytest.raises(rondel.CallerError) as error:
        rondel.mdf.loads(source)
    assert message in str(error.value)


def test_a_dict_that_holds_itself_is_refused():
    model = {"graphs": {}}
    model["graphs"]["g"] = model
    with pytest.raises(rondel.CallerError, match="cannot be written as JSON"):
        rondel.mdf.loads(model)


def test_what_is_no_path_is_refused():
    for source in (None, 3, {"graphs": {}}, b"m: \0"):
        with pytest.raises(rondel.CallerError, match="expected a path"):
            rondel.mdf.load(source)


EDGE = {"sender": "A", "sender_port": "n", "receiver": "B", "receiver_port": "x"}
RECEIVER = {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x"}}}

# a model, the place of the key, message of the warning
SLIPS = [
    ({**in_graph({"A": counter()})["m"], "fromat": 1}, "the model", "the key 'fromat' is not one of MDF's, and is not read; did you mean 'format'?"),
    (in_graph({"A": counter()}, edgs={}), "graph 'g'", "'edgs' is not one of MDF's, and is not read; did you mean 'edges'?"),
    (in_graph({"A": counter(paramters={})}), "node 'A'", "'paramters' is not one of MDF's, and is not read; did you mean 'parameters'?"),
    (in_graph({"A": counter(input_ports={"x": {"defualt_value": 1}})}), "node 'A', input port 'x'", "did you mean 'default_value'?"),
    (in_graph({"A": counter(functions={"f": {"value": "1", "arg": {}}})}), "node 'A', function 'f'", "did you mean 'args'?"),
    (in_graph({"A": {"parameters": {"p": {"value": 1, "zzz": 2}}, "output_ports": {"p": {"value": "p"}}}}), "node 'A', parameter 'p'",
     "'zzz' is not one of MDF's, and is not read; there are 'value', 'default_initial_value', 'time_derivative', 'function', 'args', 'conditions'"),
    (in_graph({"A": {"parameters": {"p": {"value": 1, "conditions": [{"id": "c", "test": "p > 0", "value": 0, "vaule": 1}]}},
                     "output_ports": {"p": {"value": "p"}}}}), "node 'A', parameter 'p', condition 'c'", "did you mean 'value'?"),
    (in_graph({"A": {"output_ports": {"p": {"value": "1", "shap": "(1,)"}}}}), "node 'A', output port 'p'", "did you mean 'shape'?"),
    (in_graph({"A": counter(), "B": RECEIVER}, edges={"e": {**EDGE, "wieght": 2}}), "edge 'e'", "'wieght' is not one of MDF's"),
    (in_graph({"A": counter(), "B": RECEIVER}, edges={"e": {**EDGE, "parameters": {"wieght": 2}}}), "edge 'e', parameters", "did you mean 'weight'?"),
    (in_graph({"A": counter()}, conditions={"node_specifc": {}}), "graph 'g', conditions", "did you mean 'node_specific'?"),
    (in_graph({"A": counter()}, conditions={"node_specific": {"A": {"type": "Always", "kwarg": {}}}}), "graph 'g', conditions, node_specific 'A'",
     "did you mean 'kwargs'?"),
    (in_graph({"A": counter()}, conditions={"node_specific": {"A": {"type": "Any", "kwargs": {"args": [{"type": "Always", "kwarg": {}}]}}}}),
     "graph 'g', conditions, node_specific 'A', Always", "did you mean 'kwargs'?"),
    (in_graph({"A": counter()}, conditions={"termination": {"environment_state_update": {"type": "AllHaveRun", "kwarg": {}}}}),
     "graph 'g', conditions, termination 'environment_state_update'", "did you mean 'kwargs'?"),
]  # fmt: skip


@pytest.mark.parametrize("model, place, message", SLIPS, ids=[slip[1] for slip in SLIPS])
def test_a_key_that_nothing_reads_is_warned_of(model, place, message):
    with pytest.warns(rondel.ModelWarning) as found:
        rondel.mdf.loads(model).run(2)
    assert len(found) == 1 and found[0].filename == __file__
    text = str(found[0].message)
    assert text.startswith(place + ": ") and message in text


def test_a_slip_in_a_file_is_warned_of_whoever_reads_it(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(in_graph({"A": counter(paramters={})})))
    for read in (rondel.mdf.load, rondel.InferenceSession):
        with pytest.warns(rondel.ModelWarning, match="node 'A': the key 'paramters'"):
            read(path)
    report = rondel.inspect(path)
    assert report.runs and [finding[:2] for finding in report.findings] == [("warning", "node 'A'")]


def test_remarks_and_all_keys_of_mdf_are_not_warned_of():
    node = {
        "id": "A", "metadata": {"x": 1}, "notes": "a remark",
        "input_ports": {"x": {"default_value": [1.0], "shape": [1], "type": "float", "reduce": "add", "metadata": {}}},
        "functions": {"f": {"function": "linear", "args": {"variable0": "x", "slope": 2, "intercept": 1}, "metadata": {}}},
        "parameters": {"p": {"default_initial_value": 1.0, "time_derivative": "-p", "metadata": {},
                             "conditions": {"c": {"test": "p < 0", "value": 0}}}},
        "output_ports": {"y": {"value": "f", "shape": [1], "type": "float", "metadata": {}}},
    }  # fmt: skip
    conditions = {"node_specific": {"A": {"type": "AfterPass", "kwargs": {"n": 0}, "metadata": {}}}, "termination": {}, "metadata": {}}
    model = in_graph({"A": node}, conditions=conditions, parameters={}, metadata={}, notes="")
    model["m"].update(generating_application="hand", onnx_opset_version="15", id="m", metadata={})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rondel.mdf.loads(model).run(2)
        for path in MODELS.iterdir():
            if path.suffix in (".json", ".yaml"):
                rondel.mdf.load(path)
