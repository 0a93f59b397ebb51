"""MDF models as one loop: trajectories of known models, and the errors of bad models."""

import pathlib
import re

import mdf_engine
import numpy as np
import pytest

import rondel
import rondel.mdf

MODELS = pathlib.Path(__file__).parent

# file, steps, dt, and the values after the last step, computed by modeci_mdf 0.4.15
TRAJECTORIES = [
    ("states.json", 200, 0.01, {"counter_node.out_port": 201, "sine_node.out_port": 0.09744396935877586}),
    ("newton_cooling.yaml", 1000, 0.1, {"cup.temperature": 20.003021987318757}),
    ("switched_rlc.json", 2000, 0.001, {"V.V_out": 0.10005090594115358, "V.i_L_out": 0.0010007978780578262}),
    ("rnn.json", 200, 0.1, {"readout.z": 0.1893549861203108}),
    ("iafs.yaml", 1000, 0.1, {"pre.v": -65.38653343321861, "post.v": -65.6335833638283}),
]


@pytest.mark.parametrize("file, steps, dt, last", TRAJECTORIES)
def test_trajectory(file, steps, dt, last):
    results = rondel.mdf.load(MODELS / file).run(steps, dt, record=list(last))
    assert list(results) == [*last, "time"]
    np.testing.assert_allclose(results["time"], np.arange(steps + 1) * dt)
    for name, value in last.items():
        assert len(results[name]) == steps + 1
        np.testing.assert_allclose(results[name][-1], value, rtol=1e-9)


@pytest.mark.parametrize("file, steps, dt", [t[:3] for t in TRAJECTORIES])
def test_every_row_is_as_the_engine_of_mdf_has_it(file, steps, dt):
    model = rondel.mdf.load(MODELS / file)
    steps = min(steps, 250)
    results = model.run(steps, dt)
    expected = mdf_engine.run(MODELS / file, steps, dt, [name for name in results if name != "time"])
    for name, rows in expected.items():
        np.testing.assert_allclose(results[name], rows, rtol=1e-9, err_msg=name)


def test_a_file_is_a_model_like_any_other():
    session = rondel.InferenceSession(MODELS / "states.json")
    assert [p.name for p in session.get_outputs()] == ["counter_node.out_port", "sine_node.out_port"]
    got = session.run(None, {"steps": 200, "dt": 0.01})
    np.testing.assert_allclose([rows[-1] for rows in got], [201, 0.09744396935877586], rtol=1e-9)
    report = rondel.inspect(MODELS / "rnn.json")
    assert report.runs and report.op_counts == {"mdf.MatMul": 2, "mdf.sin": 1, "mdf.tanh": 1}
    assert any(state.startswith("units.x") for state in report.loops[0]["states"])


def test_a_model_that_does_not_run_is_surveyed(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"m": {"graphs": {"g": {"nodes": {"A": {"output_ports": {"y": {"value": "nope"}}}}}}}}')
    report = rondel.inspect(path)
    assert not report.runs and "the name 'nope' is not known here" in report.findings[0][2]


def model_of(tmp_path, text, name="model.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return rondel.mdf.load(path)


def node_model(tmp_path, body, more=""):
    """A model with one node 'A' whose body is the text."""
    lines = "\n".join("          " + line for line in body.strip("\n").splitlines())
    return model_of(tmp_path, f"m:\n  graphs:\n    g:\n      nodes:\n        A:\n{lines}\n{more}")


def parameter_model(tmp_path, expression, **parameters):
    """A model whose output A.y is an expression of constant parameters."""
    rows = "".join(f"\n  {name}: {{value: {value}}}" for name, value in parameters.items())
    return node_model(tmp_path, f"parameters:{rows}\n  unused: {{value: 0}}\noutput_ports:\n  y: {{value: '{expression}'}}")


# expression, parameters, value in Python and NumPy
EXPRESSIONS = [
    ("a + b * 2 - 1", {"a": 3, "b": 4}, 10),
    ("a / b", {"a": 7, "b": 2}, 3.5),
    ("a // b", {"a": -7, "b": 2}, -4),
    ("a % b", {"a": -7, "b": 3}, 2),
    ("1.0 // 0.1", {}, 9.0),
    ("-a ** 2", {"a": 3}, -9),
    ("2 ** -1", {}, 0.5),
    ("[2 ** (1 - 3), pow(2, 1 - 3), 2 ** int(-1.0), 10 ** -a]", {"a": 3}, [0.25, 0.25, 0.5, 0.001]),
    ("[2 ** (a % 4), 2 ** abs(a), 2 ** (len(v) + 1), 3 ** (a > 0)]", {"a": -3, "v": [1, 2]}, [2, 8, 8, 1]),
    ("[a // -2, -a % 3, 2 ** 62 - 1 + 2 ** 62, (-2) ** 63]", {"a": 7}, [-4, 2, 2**63 - 1, -(2**63)]),
    ("[1 / 8, a // 2, a % -2, 7.5 // -0.1, 2 ** 0.5, 5 * -0.5]", {"a": -7.5}, [0.125, -4.0, -1.5, 7.5 // -0.1, 2**0.5, -2.5]),
    ("[numpy.zeros(a + 1), numpy.sum(M, a - 1), numpy.round(M[0], a - 1)]", {"a": 1, "M": [[1, 2], [3, 4]]}, [[0.0, 0.0], [4.0, 6.0], [1.0, 2.0]]),
    ("numpy.ones((1 + 1, 2))[a - 1] + numpy.argmax(v, axis=a - 1)", {"a": 1, "v": [1, 5, 0]}, [2.0, 2.0]),
    ("2 ** 3 ** 2", {}, 512),
    ("a ** 0.5", {"a": 2}, 2**0.5),
    ("not a or b > 2 and a < b <= 4", {"a": 3, "b": 4}, True),
    ("a if a > b else b", {"a": 3, "b": 4}, 4),
    ("a and b", {"a": 0, "b": 4}, 0),
    ("v[1] + v[-1]", {"v": [1.5, 2, 3]}, 5.0),
    ("M[1, 0] + M[0][1]", {"M": [[1, 2], [3, 4]]}, 5),
    ("v[::-1][0:2]", {"v": [1, 2, 3]}, [3, 2]),
    ("v[-3::-1]", {"v": [1, 2, 3]}, [1]),
    ("v[-4::-1]", {"v": [1, 2, 3]}, np.zeros(0, np.int64)),
    ("M[:, 1]", {"M": [[1, 2], [3, 4]]}, [2, 4]),
    ("v[i]", {"v": [1, 2, 3], "i": 2}, 3),
    ("[a, b, 1.5]", {"a": 3, "b": 4}, [3.0, 4.0, 1.5]),
    ("M @ v", {"M": [[1, 2], [3, 4]], "v": [1, 1]}, [3, 7]),
    ("(v > 1) & (v < 3) | (v == 3)", {"v": [1, 2, 3]}, [False, True, True]),
    ("numpy.exp(-a) + math.sqrt(b)", {"a": 1, "b": 4}, np.exp(-1) + 2),
    ("numpy.where(v > 1, v, 0.5)", {"v": [1, 2, 3]}, [0.5, 2.0, 3.0]),
    ("numpy.sum(v) + max(v) + min(1, 2.5) + abs(-3)", {"v": [1, 2, 3]}, 13.0),
    ("numpy.mean(M, 0)", {"M": [[1, 2], [3, 4]]}, [2.0, 3.0]),
    ("round(2.5) + int(3.9) + math.floor(-0.5)", {}, 4),
    ("numpy.pi + math.e", {}, np.pi + np.e),
    ("numpy.clip(v, 1.5, 2)", {"v": [1, 2, 3]}, [1.5, 2.0, 2.0]),
    ("True + True", {}, 2),
    ("1_000 + 1e3 + .5", {}, 2000.5),
    ("~(a > 1)", {"a": [1, 2]}, [True, False]),
    ("a != b", {"a": 1, "b": 2}, True),
    ("τ * 2 + größe", {"τ": 3, "größe": 4}, 10),
    ("numpy.dot(v, v) + numpy.dot(2, 3)", {"v": [1, 2, 3]}, 20),
    ("numpy.dot(M, M)", {"M": [[1, 2], [3, 4]]}, [[7, 10], [15, 22]]),
    ("len(M) + len([1, 2, 3])", {"M": [[1, 2], [3, 4]]}, 5),
    ("numpy.argmax(v) + 10 * numpy.argmin(v)", {"v": [1, 5, 0]}, 21),
    ("numpy.argmax(M, axis=1)", {"M": [[1, 2], [4, 3]]}, [1, 0]),
    ("numpy.argmax(M)", {"M": [[1, 2], [4, 3]]}, 2),
    ("numpy.cumsum(v)", {"v": [1, 5, 0]}, [1, 6, 6]),
    ("numpy.cumsum(M, axis=0)", {"M": [[1, 2], [4, 3]]}, [[1, 2], [5, 5]]),
    ("numpy.cumprod(M)", {"M": [[1, 2], [4, 3]]}, [1, 2, 8, 24]),
    ("numpy.any(v > 4) + any(v > 5) + numpy.all(v >= 0) + all(v)", {"v": [1, 5, 0]}, 2),
    ("numpy.any(M > 3, axis=0)", {"M": [[1, 2], [4, 3]]}, [True, False]),
    ("numpy.var(v) + numpy.std(M, axis=0)", {"v": [1, 5, 0], "M": [[1, 2], [4, 4]]}, np.var([1, 5, 0]) + np.array([1.5, 1.0])),
    ("[numpy.equal(a, b), numpy.not_equal(a, b), numpy.less(a, b), numpy.less_equal(a, b)]", {"a": 1, "b": 2}, [False, True, True, True]),
    ("[numpy.greater(a, b), numpy.greater_equal(a, a), numpy.logical_xor(a, 0)]", {"a": 1, "b": 2}, [False, True, True]),
    ("(v > 1) + (v < 0)", {"v": [1, 2, 3]}, [False, True, True]),
    ("(v > 1) * (v < 3)", {"v": [1, 2, 3]}, [False, True, False]),
    ("(v > 1) * (a > 0) + (a > 5)", {"v": [1, 2, 3], "a": 1}, [False, True, True]),
    ("(a > 0) + (a > 0) - (a > 5)", {"a": 1}, 2),
    ("numpy.heaviside(v, 0.5)", {"v": [-1.5, 0, 2]}, [0.0, 0.5, 1.0]),
    ("numpy.outer(v, v)", {"v": [1, 2]}, [[1, 2], [2, 4]]),
    ("numpy.fmod(a, 3) + math.fmod(a, 3)", {"a": -7}, -2.0),
    ("numpy.zeros_like(M) + numpy.ones_like(M)", {"M": [[1, 2], [4, 3]]}, [[1, 1], [1, 1]]),
    ("numpy.ravel(M)", {"M": [[1, 2], [4, 3]]}, [1, 2, 4, 3]),
    ("numpy.log1p(v)", {"v": [1e-20, 1e-9, 0.5, 1e300, -1.0]}, np.append(np.log1p([1e-20, 1e-9, 0.5, 1e300]), -np.inf)),
    ("numpy.expm1(v)", {"v": [1e-20, -1e-9, 0.5, 3.0, -50.0, 800.0]}, [1e-20, *np.expm1([-1e-9, 0.5, 3.0, -50.0]), np.inf]),
    ("numpy.hypot(v, w) + math.hypot(3, 4)", {"v": [3e200, 0.0], "w": [4e200, 0.0]}, [5e200, 5.0]),
    ("numpy.hypot(v, w)", {"v": ["inf", "nan", 1.0], "w": ["nan", "-inf", "nan"]}, [np.inf, np.inf, np.nan]),
    ("numpy.zeros((2, 3)) + numpy.ones([2, 3]) + numpy.full((2, 3), a)", {"a": 5}, np.full((2, 3), 6.0)),
    ("[numpy.zeros(2), numpy.full(2, 1.5)]", {}, [[0.0, 0.0], [1.5, 1.5]]),
    ("numpy.round(v, 2) + numpy.around(v, decimals=-1)", {"v": [2.675, -0.125, 15.0]}, np.round([2.675, -0.125, 15.0], 2) + np.round([2.675, -0.125, 15.0], -1)),
    ("[round(a, 1), round(a, ndigits=0)]", {"a": 2.46}, [2.5, 2.0]),
    ("[numpy.round(a, -1), numpy.round(a, 3)]", {"a": 125}, [120, 125]),
    ("numpy.isfinite(v)", {"v": [1.0, "inf", "nan"]}, [True, False, False]),
    ("numpy.trunc(v)", {"v": [-1.5, 1.5]}, [-1.0, 1.0]),
    ("math.log(a, 2) + math.log(1)", {"a": 8}, 3.0),
    ("int(math.log10(1000)) + int(math.log2(a))", {"a": 8}, 6),
    ("numpy.log10(v)", {"v": [1000.0, 1e15, 0.001, 0.0, "inf", -1.0, 2.0]}, [3.0, 15.0, -3.0, -np.inf, np.inf, np.nan, np.log10(2)]),
    ("numpy.log10(v)", {"v": [1e29, 1e169, 1e-278, 1e-323, 1000.0000000000002]}, np.log10([1e29, 1e169, 1e-278, 1e-323, 1000.0000000000002])),
    ("numpy.log2(v)", {"v": [8.0, 2.0**-1022, 2.0**1023, "inf"]}, [3.0, -1022.0, 1023.0, np.inf]),
    ("[any(v), all(v), numpy.any(v), numpy.all(v)]", {"v": []}, [False, True, False, True]),
    ("numpy.any(M, axis=0)", {"M": "[[], []]"}, np.zeros(0, bool)),
    ("numpy.any(M, axis=1)", {"M": "[[], []]"}, [False, False]),
    ("[numpy.mean(v), numpy.var(v), numpy.std(v), numpy.mean(w[2:])]", {"v": [], "w": [1, 2]}, [np.nan] * 4),
    ("numpy.mean(M, axis=1) + numpy.sum(M, axis=1)", {"M": "[[], []]"}, [np.nan, np.nan]),
    ("numpy.max(M, axis=0)", {"M": "[[], []]"}, np.zeros(0)),
    ("math.prod(v) + math.fsum(v)", {"v": [2, 3]}, 11.0),
    ("numpy.sum(M, axis=0)", {"M": [[1, 2], [3, 4]]}, [4, 6]),
    ("sum(M)", {"M": [[1, 2], [3, 4]]}, [4, 6]),
    ("math.prod(M)", {"M": [[1, 2], [3, 4]]}, [3, 8]),
    ("numpy.mean(M, axis=-1)", {"M": [[1, 2], [3, 4]]}, [1.5, 3.5]),
    ("numpy.max(M, axis=1) - numpy.min(M, axis=1)", {"M": [[1, 2], [3, 7]]}, [1, 4]),
]


def test_the_documentation_lists_the_functions_of_expressions():
    page = (pathlib.Path(__file__).parents[3] / "docs" / "mdf.md").read_text()
    rows = re.findall(r"^\| ([^|]*) \| ((?:`[a-z0-9_]+` ?)+)\|$", page, re.MULTILINE)
    assert [of for of, _ in rows] == ["Python", "`math` and `numpy`", "`math`", "`numpy`"]
    names = [re.findall(r"`(\w+)`", row) for _, row in rows]
    assert names == [sorted(row) for row in names]
    python, both, math, numpy = map(set, names)
    listed = python | {f"math.{name}" for name in both | math} | {f"numpy.{name}" for name in both | numpy}
    assert listed == set(rondel._rondel.mdf.functions_of_expressions())


@pytest.mark.parametrize("expression, parameters, expected", EXPRESSIONS)
def test_expression(tmp_path, expression, parameters, expected):
    got = parameter_model(tmp_path, expression, **parameters).run(0)["A.y"][0]
    want = np.array(expected)
    assert got.dtype == want.dtype, expression
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_outputs_of_a_function_are_counted_from_either_end():
    top = {"a": {"value": [1.0, 5.0, 3.0]}, "f": {"function": "onnx::TopK", "args": {"X": "a", "K": 2}}}

    def value(expression):
        node = {"parameters": top, "output_ports": {"o": {"value": expression}}}
        return rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": node}}}}).run(0)["A.o"][0].tolist()

    assert value("f[0]") == value("f[-2]") == [5, 3]
    assert value("f[1]") == value("f[-1]") == [1, 2]
    for wrong in ("f[2]", "f[-3]", "f[1, 0]", "f[0:1]"):
        with pytest.raises(rondel.CallerError, match="'f' has 2 outputs"):
            value(wrong)


def test_an_output_of_the_previous_value_of_a_function_is_refused():
    """Only the first output is kept, so p[1] would be its second row."""
    top = {"a": {"value": [[1.0, 5.0], [7.0, 2.0]]}, "p": {"function": "onnx::TopK", "args": {"X": "a", "K": 2}, "default_initial_value": [[0.0, 0.0]] * 2}}

    def run(read):
        node = {"parameters": top, "functions": {"g": {"value": read}}, "output_ports": {"o": {"value": "g"}, "q": {"value": "p[1]"}}}
        return rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": node}}}}).run(1)

    results = run("p")
    assert results["A.o"].tolist() == [[[0, 0], [0, 0]], [[5, 1], [7, 2]]]
    assert results["A.q"].tolist() == [[[1, 0], [0, 1]]] * 2
    with pytest.raises(rondel.UnsupportedError, match=r"parameter 'p': it has several outputs, and function 'g' reads '2 \* p\[1\]' of its previous value"):
        run("2 * p[1]")


@pytest.mark.parametrize("text", ["0x10", "-0b101", "0o17", "0X_fF", "0x1_0 + 0B1_1"])
def test_integers_of_other_bases_in_expressions(text):
    model = rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": {"parameters": {"p": {"value": text}}, "output_ports": {"o": {"value": "p"}}}}}}})
    assert model.run()["A.o"].tolist() == [eval(text)]


@pytest.mark.parametrize("text", ["0x", "0b12", "0o8", "0x1__0", "0x10_", "0xFFFFFFFFFFFFFFFFFF", "0b1.5", "0x-1"])
def test_what_is_no_integer_of_another_base_is_refused(text):
    with pytest.raises(rondel.CallerError, match="column 1: '0[xbo]|column [23]|column 4"):
        rondel.mdf.loads({"graphs": {"g": {"nodes": {"A": {"parameters": {"p": {"value": text}}, "output_ports": {"o": {"value": "p"}}}}}}}).run()


def test_a_file_with_names_beyond_ascii_is_as_the_engine_of_mdf_has_it(tmp_path):
    rows = "parameters:\n  τ: {default_initial_value: 1, value: τ * 2}\noutput_ports:\n  y: {value: τ + 1}"
    got = node_model(tmp_path, rows).run(3)["A.y"]
    np.testing.assert_array_equal(got, mdf_engine.run(tmp_path / "model.yaml", 3, 1.0, ["A.y"])["A.y"])


EDGES_OF_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 7.5, -7.5, 1e300, -5e-324, np.inf, -np.inf, np.nan]
PAIRS = np.array([(x, y) for x in EDGES_OF_FLOATS for y in EDGES_OF_FLOATS])
RANDOM_PAIRS = np.random.default_rng(5).normal(size=(200, 2)) * [1e3, 1]


@pytest.mark.parametrize("expression, numpys", [("x // y", np.floor_divide), ("x % y", np.remainder), ("numpy.arctan2(x, y)", np.arctan2)])
@pytest.mark.parametrize("pairs", [PAIRS, RANDOM_PAIRS], ids=["edges", "random"])
def test_floats_divided_and_angles_are_those_of_numpy(tmp_path, expression, numpys, pairs):
    model = parameter_model(tmp_path, expression, x=[0.0], y=[0.0])
    got = model.run(0, set={"A.x": pairs[:, :1], "A.y": pairs[:, 1:]})["A.y"][0, :, 0]
    with np.errstate(all="ignore"):
        want = numpys(pairs[:, 0], pairs[:, 1])
    np.testing.assert_allclose(got, want, rtol=1e-15)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


def test_integers_divided_are_those_of_numpy(tmp_path):
    pairs = np.array([(x, y) for x in (-7, -6, -1, 0, 5, 6, 2**62) for y in (-3, -1, 1, 4)])
    model = parameter_model(tmp_path, "[x // y, x % y]", x=0, y=1)
    got = model.run(0, set={"A.x": pairs[:, 0], "A.y": pairs[:, 1]})["A.y"][0]
    np.testing.assert_array_equal(got, np.stack(np.divmod(*pairs.T), axis=1))


@pytest.mark.parametrize("sign, reason", [("//", "integer division by zero"), ("%", "integer remainder of division by zero")])
def test_an_integer_division_by_zero_names_the_expression(tmp_path, sign, reason):
    model = parameter_model(tmp_path, f"1 + a {sign} b", a=1, b=2)
    with pytest.raises(rondel.CallerError) as error:
        model.run(0, set={"A.b": 0})
    assert f"node 'A', output port 'y', '1 + a {sign} b': {reason}" in str(error.value)


def test_a_long_expression_is_cut_in_an_error(tmp_path):
    long = "+".join(["a"] * 200) + "+ nope"
    with pytest.raises(rondel.CallerError, match="the name 'nope' is not known here") as error:
        parameter_model(tmp_path, long, a=1).run(0)
    assert error.value.frames[-1][0] == "'" + long[:100] + "...'"


# expression, message of the error
REFUSED = [
    ("x + 1", "the name 'x' is not known here; there are 'a', 'unused', 'v', 'w'"),
    ("zz", "the name 'zz' is not known here; there are"),
    ("τ * 2 $ 1", "column 7: '$' cannot stand in an expression"),
    ("a × 2", "column 3: '×' cannot stand in an expression"),
    ("2τ", "column 1: '2τ' is no number that is read here"),
    ("numpy.exp(a, axis=0)", "numpy.exp is given 2 arguments; it takes 1"),
    ("numpy.sum(v, axes=0)", "numpy.sum is given 'axes' by name; only 'axis' may be"),
    ("numpy.power(v, b=0)", "numpy.power is given 'b' by name; its arguments are given by position here"),
    ("numpy.sum(axis=0, v)", "column 19: an argument by position stands after one by name"),
    ("a +", "column 4: expected a number, a name or a bracket, but the text ends"),
    ("a b", "column 3: expected an operator or the end, found 'b'"),
    ("a.shape", "nothing else has attributes"),
    ("a(1)", "there is no function 'a' here"),
    ("__import__(1)", "there is no function '__import__' here"),
    ("numpy.linalg.norm(a)", "nothing else has attributes"),
    ("numpy.expp(a)", "did you mean 'numpy.exp'"),
    ("exp(a)", "there is no function 'exp' here; did you mean 'numpy.exp'?"),
    ("np.exp(a)", "column 1: functions of NumPy are written with 'numpy.', not 'np.'"),
    ("numpy.exp(a, 1)", "numpy.exp is given 2 arguments; it takes 1"),
    ("lambda: 1", "'lambda' cannot stand here"),
    ("a[0]", "1 indices for a value of type i64[]"),
    ("v[3]", "column 3: index 3 is out of range for extent 3"),
    ("v[0.5]", "an index is f64[]; expected an integer"),
    ("v + w", "f64"),
    ("[a, v]", "a list holds"),
    ("(" * 300 + "a" + ")" * 300, "more than 200 deep"),
    ("+".join(["a"] * 5000), "chains more than 1000"),
    ("numpy.pie", "there is no constant 'numpy.pie'"),
    ("a $ 1", "column 3: '$' cannot stand in an expression"),
    ("(v > 1) - (v > 2)", "- of arrays of truth values; NumPy has none either: ^ tells where they differ"),
    ("len(a)", "len is given a number; expected a list"),
    ("max([])", "the greatest or least of no elements; expected one at least"),
    ("numpy.amin(numpy.zeros((0, 2)), 0)", "the greatest or least of no elements"),
]


def quoted(expression):
    """The text as errors quote it."""
    return f"'{expression}'" if len(expression) <= 100 else f"'{expression[:100]}...'"


@pytest.mark.parametrize("expression, message", REFUSED, ids=lambda x: x[:20])
def test_expression_that_is_refused(tmp_path, expression, message):
    model = parameter_model(tmp_path, expression, a=3, v=[1.0, 2.0, 3.0], w=[1.0, 2.0])
    with pytest.raises(rondel.CallerError) as error:
        model.run(1)
    assert message in str(error.value)
    assert [source for source, _ in error.value.frames] == ["node 'A'", "output port 'y'", quoted(expression)]


# text of a file, message of the error
BROKEN = [
    ('{"m": {"graphs": {', "line 1, column 19"),
    ('{"m":\n  {"graphs": nope}}', "line 2, column"),
    ('{"a": 1, "a": 2}', "line 1, column 10: the key 'a' stands twice"),
    ('{"m":\n {"é": 1, "x\\"é": {}, "x\\"é": 2}}', "line 2, column 23: the key 'x\"é' stands twice"),
    ("[" * 500 + "]" * 500, "line 1, column 201: lists and objects stand more than 200 deep"),
    ('{"m": 3}', "this is no MDF model"),
    ('{"m": {"graphs": {}}}', "the model has no graphs"),
    ('{"m": {"graphs": {"g": {}}}}', "graph 'g': it has no nodes"),
    ('{"m": {"graphs": {"g": {"nodes": {"A": {"parameters": {"p": {}}}}}}}}', "node 'A': parameter 'p': it has no value"),
    ('{"m": {"graphs": {"g": {"nodes": {"A": {"parameters": {"p": {"value": [[1], 2]}}}}}}}}', "parameter 'p': value: a list holds"),
    ('{"m": {"graphs": {"g": {"nodes": {"A": {}}, "edges": {"e": {"sender": "B", "receiver": "A"}}}}}}',
     "edge 'e': sender 'B': there is no such node; there are 'A'"),
]  # fmt: skip


@pytest.mark.parametrize("text, message", BROKEN, ids=lambda x: x[:20])
def test_file_that_is_refused(tmp_path, text, message):
    with pytest.raises(rondel.CallerError) as error:
        model_of(tmp_path, text, "model.json")
    assert message in str(error.value)
    assert "model.json" in str(error.value)


def test_malformed_yaml_names_line_and_column(tmp_path):
    with pytest.raises(rondel.CallerError, match="line 4, column 1"):
        model_of(tmp_path, "m:\n  graphs:\n    g: [1,\n")


def test_a_byte_that_is_no_character_is_named(tmp_path):
    for name in ("model.yaml", "model.json"):
        (tmp_path / name).write_bytes(b'{"m":\n {"graphs": {"g\xe2(": 1}}}')
        with pytest.raises(rondel.CallerError, match="line 2, column 16: byte 0xe2 is not UTF-8"):
            rondel.mdf.load(tmp_path / name)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(rondel.CallerError, match="absent.json"):
        rondel.mdf.load(tmp_path / "absent.json")


def test_a_port_that_gives_a_parameter_has_no_state_of_its_own(tmp_path):
    path = tmp_path / "model.yaml"
    node_model(tmp_path, "parameters:\n  n: {default_initial_value: 0, value: n + 1}\noutput_ports:\n  y: {value: n}\n  z: {value: n}")
    assert rondel.inspect(path).loops[0]["states"] == ["A.n: i64[]"]
    got = rondel.mdf.load(path).run(3, record=["A.y", "A.n", "A.z"])
    for name in ("A.y", "A.n", "A.z"):
        np.testing.assert_array_equal(got[name], np.arange(1, 5))
