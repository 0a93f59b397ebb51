"""rondel.sweeps: points, native batches against single runs, tables, and rows that are lost or come twice."""

import csv
import itertools
import pathlib
import pickle

import models
import numpy as np
import onnx
import pytest
from rondel_cli.main import main

import rondel
import rondel.mdf
from rondel import sweeps
from rondel.sweeps.points import Points

STATES = pathlib.Path(__file__).parents[1] / "mdf" / "states.json"
PERIOD = {"sine_node.period": sweeps.span(0.2, 0.8, 7)}


def test_points_are_side_by_side_or_all_combinations():
    axes = {"a": sweeps.span(0, 1, 3), "b": sweeps.over([10, 20, 30])}
    assert {n: x.tolist() for n, x in Points(axes).take(1, 2).items()} == {"a": [0.5, 1.0], "b": [20, 30]}
    product = Points(axes, product=True)
    found = [product.take(k, 3) for k in range(0, 9, 3)]
    assert list(zip(np.concatenate([f["a"] for f in found]), np.concatenate([f["b"] for f in found]))) == list(itertools.product([0, 0.5, 1], [10, 20, 30]))


def test_a_span_is_evenly_spaced_and_ends_where_it_says():
    for start, stop, count in [(-1, 0.3, 1000), (1, 25, 7), (0, 1, 11), (1, 2, 101), (3, 3, 5), (0, 5e-324, 4)]:
        assert sweeps.span(start, stop, count).take(np.arange(count)).tolist() == np.linspace(start, stop, count).tolist()
    assert sweeps.span(-1e308, 1e308, 3).take(np.arange(3)).tolist() == [-1e308, 0, 1e308]
    ends = sweeps.span(0.1, 0.7, 10**12).take(np.array([0, 10**12 - 1]))
    assert ends.tolist() == [0.1, 0.7]
    assert sweeps.span(2, 3, 1).take(np.array([0])).tolist() == [2.0]


@pytest.mark.parametrize("series", [False, True])
def test_rows_are_those_of_single_runs(series, tmp_path):
    job = sweeps.MdfSweep(STATES, 20, 0.01, set=PERIOD, initial={"sine_node.level": 0.25}, series=series)
    job = pickle.loads(pickle.dumps(job))
    summary = sweeps.run(job, tmp_path / "rows.csv", batch=3, progress=False)
    assert summary.points == 7 and summary.rows == (7 * 21 if series else 7)
    rows = list(csv.DictReader(open(tmp_path / "rows.csv")))
    model = rondel.mdf.load(STATES)
    for k, period in enumerate(np.linspace(0.2, 0.8, 7)):
        one = model.run(20, 0.01, set={"sine_node.period": period}, initial={"sine_node.level": 0.25})
        own = [row for row in rows if row["point"] == str(k)]
        for port in ("sine_node.out_port", "counter_node.out_port"):
            found = [float(row[port]) for row in own]
            np.testing.assert_allclose(found, one[port] if series else one[port][-1:], rtol=1e-12)
        assert np.isclose(float(own[0]["sine_node.period"]), period)
    least = {name: low for name, low, _, _ in summary}
    assert least["counter_node.out_port"] == (1 if series else 21)


def test_a_pickled_model_keeps_its_options():
    options = rondel.SessionOptions()
    options.max_memory_bytes = 100_000
    model = rondel.mdf.load(STATES, options)
    job = pickle.loads(pickle.dumps(sweeps.MdfSweep(model, 20, 0.01, set={"sine_node.period": sweeps.span(0.2, 0.8, 100_000)})))
    with pytest.raises(rondel.LimitExceeded):
        job.part(0, 100_000)
    assert len(job.part(0, 10)["point"]) == 10
    usual = pickle.loads(pickle.dumps(rondel.mdf.load(STATES)))
    assert usual.run(3, 0.1)["sine_node.out_port"].tolist() == rondel.mdf.load(STATES).run(3, 0.1)["sine_node.out_port"].tolist()


NOISE = "noise (float x) => (float y) { y = RandomUniformLike (x) }"
NOISE_IN_MDF = {"graphs": {"g": {"nodes": {"A": {
    "parameters": {"k": {"value": 0.0}}, "functions": {"noise": {"function": "onnx::RandomUniform", "args": {"shape": [1]}}},
    "output_ports": {"y": {"value": "noise + k"}},
}}}}}  # fmt: skip


@pytest.mark.parametrize(
    "job",
    [
        lambda: sweeps.OnnxSweep(models.model(NOISE), {"x": sweeps.over(np.zeros(8, np.float32))}),
        lambda: sweeps.MdfSweep(rondel.mdf.loads(NOISE_IN_MDF), set={"A.k": sweeps.over(np.zeros(8))}),
    ],
)
def test_each_point_draws_its_own_numbers(job, tmp_path):
    for batch in (1, 3, 8):
        sweeps.run(job(), tmp_path / "rows.csv", batch=batch, progress=False)
        drawn = [list(row.values())[-1] for row in csv.DictReader(open(tmp_path / "rows.csv"))]
        assert len(set(drawn)) == 8


def test_columns_that_change_from_part_to_part_are_refused(tmp_path):
    ranges = models.model("ranges (int64 n) => (int64[k] y, int64 s) <int64 zero = {0}, int64 one = {1}> { y = Range (zero, n, one) s = Add (n, one) }")
    job = sweeps.OnnxSweep(ranges, {"n": sweeps.over([2, 3, 1])})
    with pytest.raises(rondel.CallerError, match=r"from point 1 on .* 'y\[2\]' is not in all rows"):
        sweeps.run(job, tmp_path / "rows.csv", batch=1, progress=False)
    assert not (tmp_path / "rows.csv").exists()


def test_integers_that_an_input_does_not_hold_are_refused():
    same = models.model("same (int32 x, int32 z) => (int32 y) { y = Add (x, z) }")
    with pytest.raises(rondel.CallerError, match="sweep: 'x': i32 does not hold 4294967301"):
        sweeps.OnnxSweep(same, {"x": sweeps.over([1, 2**32 + 5]), "z": 0}).part(0, 2)
    with pytest.raises(rondel.CallerError, match="sweep: 'z': i32 does not hold 4294967296"):
        sweeps.OnnxSweep(same, {"x": sweeps.over([1, 2]), "z": 2**32})


def test_numbers_that_would_become_infinite_are_refused():
    same = models.model("same (float x) => (float y) { y = Identity (x) }")
    with pytest.raises(rondel.CallerError, match=r"sweep: 'x': f32 does not hold 1e\+300; its largest number is 3.40282e\+38"):
        sweeps.OnnxSweep(same, {"x": sweeps.over([1.0, 1e300])}).part(0, 2)


def test_the_batch_of_a_sweep_fits_its_outputs():
    wide = models.model("wide (float x) => (float[e] y) <int64[1] e = {250000}> { y = Expand (x, e) }")
    job = sweeps.OnnxSweep(wide, {"x": sweeps.span(0, 1, 3)})
    assert job.batch == 8 and len(job.part(0, 3)["y[0]"]) == 3
    assert sweeps.OnnxSweep(models.model(NOISE), {"x": sweeps.span(0, 1, 3)}).batch == 4096


@pytest.mark.parametrize("asked, given", [(0, 3), (2, 2)])
def test_threads_of_a_sweep_are_those_of_its_model_or_those_given(asked, given):
    options = rondel.SessionOptions()
    options.intra_op_num_threads = asked
    job = sweeps.MdfSweep(rondel.mdf.load(STATES, options), 20, 0.01, set=PERIOD)
    there = pickle.loads(pickle.dumps(job.with_threads(3)))
    assert there._model._options.intra_op_num_threads == given and job._model._options.intra_op_num_threads == asked
    assert np.array_equal(there.part(0, 7)["sine_node.out_port"], job.part(0, 7)["sine_node.out_port"])


def test_threads_of_a_sweep_of_an_onnx_model():
    job = sweeps.OnnxSweep(models.model(NOISE), {"x": sweeps.over(np.zeros(8, np.float32))})
    there = pickle.loads(pickle.dumps(job.with_threads(1)))
    assert np.array_equal(there.part(0, 8)["y"], job.part(0, 8)["y"])
    assert there._made.get_session_options().intra_op_num_threads == 1 and job._made.get_session_options().intra_op_num_threads == 0


def test_too_many_points_are_refused():
    axis = sweeps.span(0, 1, 10**7)
    with pytest.raises(rondel.CallerError, match="100,000,000,000,000 points: a has 10000000, b has 10000000; expected at most"):
        Points({"a": axis, "b": axis}, product=True)


def test_a_model_older_than_scan_is_refused():
    old = models.model("sum (float x) => (float y) { y = Neg (x) }", opset=8)
    with pytest.raises(rondel.CallerError, match="has opset 8; expected 9 or newer"):
        sweeps.OnnxSweep(old, {"x": sweeps.over([1.0, 2.0])})


SOLVER = """solver (float k, float[2] b, int64 n) => (float y, float[2] z) <bool yes = {1}, float t = {0.5}> {
  one = Constant <value_float = 1.0> ()
  y = Loop (n, yes, one) <body = step (int64 i, bool c, float v) => (bool c1, float v1) { c1 = Identity (c) d = Mul (v, k) v1 = Mul (d, t) }>
  z = Mul (b, y) }"""


def test_inputs_and_settings_of_a_model_in_one_native_run():
    job = sweeps.OnnxSweep(models.model(SOLVER), {"k": sweeps.span(0, 2, 5), "t": sweeps.over([0.5, 3]), "b": [1, 2], "n": 3}, product=True)
    job = pickle.loads(pickle.dumps(job))
    table = job.part(0, 10)
    assert list(table) == ["point", "k", "t", "y", "z[0]", "z[1]"]
    np.testing.assert_allclose(table["y"], (table["k"] * table["t"]) ** 3, rtol=1e-5)
    np.testing.assert_allclose(table["z[1]"], 2 * table["y"], rtol=1e-6)
    assert list(sweeps.OnnxSweep(models.model(SOLVER), {"k": sweeps.span(0, 2, 5), "b": [1, 2], "n": 3}, outputs="y").part(2, 1)) == ["point", "k", "y"]


def test_a_model_that_a_path_names(tmp_path):
    path = tmp_path / "solver.onnx"
    onnx.save(models.model(SOLVER), path)
    job = sweeps.OnnxSweep(path, {"k": sweeps.over(np.arange(3)), "b": np.ones(2), "n": 1})
    assert job.part(0, 3)["y"].tolist() == [0, 0.5, 1]


class Job:
    """A job whose parts are made of the points that it is told."""

    title, batch = "job", 2

    def __init__(self, change=lambda first, points: points):
        self.points = Points({"x": sweeps.span(0, 1, 5)})
        self._change = change

    def part(self, first, count):
        points = np.array(self._change(first, list(range(first, first + count))), np.int64)
        return {"point": points, "y": points * 2.0}


@pytest.mark.parametrize(
    "change",
    [lambda first, p: p[:-1] if first else p, lambda first, p: p + p if first else p, lambda first, p: [0, 1] if first == 2 else p, lambda first, p: p[::-1]],
    ids=["lost", "twice", "of another part", "out of order"],
)
def test_a_part_with_other_points_ends_the_sweep_and_leaves_no_table(change, tmp_path):
    with pytest.raises(rondel.InternalError, match="the part for points"):
        sweeps.run(Job(change), tmp_path / "t.csv", progress=False)
    assert not list(tmp_path.iterdir())


def test_a_part_that_never_comes():
    with pytest.raises(rondel.InternalError, match="points 4 to 4 has nothing"):
        sweeps.run(Job(), parts=lambda job, ranges: (job.part(*place) for place in ranges[:-1]), progress=False)


def test_an_error_in_the_middle_leaves_no_table(tmp_path):
    def parts(job, ranges):
        yield job.part(*ranges[0])
        raise rondel.LimitExceeded("too much")

    for name in ("t.csv", "t.parquet"):
        if name == "t.parquet":
            pytest.importorskip("pyarrow")
        with pytest.raises(rondel.LimitExceeded):
            sweeps.run(Job(), tmp_path / name, parts=parts, progress=False)
    assert not list(tmp_path.iterdir())


def test_the_suffix_of_a_table_says_what_it_is(tmp_path):
    sweeps.run(Job(), tmp_path / "t.csv", progress=False)
    sweeps.run(Job(), tmp_path / "u.CSV", progress=False)
    assert (tmp_path / "u.CSV").read_text() == (tmp_path / "t.csv").read_text() and len((tmp_path / "t.csv").read_text().splitlines()) == 6
    for name in ("t.txt", "t.pq", "v1.0"):
        with pytest.raises(rondel.CallerError, match=f"the table is '.*{name}'; expected a name that ends in .csv or .parquet, or has no suffix"):
            sweeps.run(Job(), tmp_path / name, progress=False)
        assert not (tmp_path / name).exists()


NAMED = """named (float point, float k) => (float k1, float y) { k1 = Add (point, k) y = Mul (k1, k1) }"""


def test_swept_values_and_outputs_of_one_name_keep_their_columns(tmp_path):
    proto = models.model(NAMED)
    job = sweeps.OnnxSweep(proto, {"point": sweeps.over([5.0, 6.0, 7.0]), "k": 1.0})
    table = job.part(0, 3)
    assert list(table) == ["point", "point swept", "k1", "y"] and table["point"].tolist() == [0, 1, 2] and table["point swept"].tolist() == [5, 6, 7]
    assert sweeps.run(job, tmp_path / "t.csv", batch=2, progress=False).points == 3

    proto.graph.input[0].name = proto.graph.node[0].input[0] = "x"
    proto.graph.output[0].name = proto.graph.node[0].output[0] = proto.graph.node[1].input[0] = proto.graph.node[1].input[1] = "point"
    job = sweeps.OnnxSweep(proto, {"x": sweeps.over([5.0, 6.0, 7.0]), "k": 1.0})
    assert {n: x.tolist() for n, x in job.part(1, 2).items()} == {"point": [1, 2], "x": [6, 7], "point recorded": [7, 8], "y": [49, 64]}
    assert sweeps.run(job, batch=2, progress=False).points == 3


def test_a_swept_initializer_that_is_an_output_has_two_columns():
    proto = models.model("same (float x) => (float k) <float k = {2}> { y = Add (x, k) }")
    table = sweeps.OnnxSweep(proto, {"k": sweeps.over([5.0, 6.0]), "x": 0.0}).part(0, 2)
    assert list(table) == ["point", "k", "k recorded"] and table["k"].tolist() == table["k recorded"].tolist() == [5, 6]


def test_tables_in_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("t.parquet", "folder"):
        sweeps.run(Job(), tmp_path / name, progress=False)
        table = parquet.read_table(tmp_path / name)
        assert table["point"].to_pylist() == list(range(5)) and table["y"].to_pylist() == [0, 2, 4, 6, 8]
    assert len(list((tmp_path / "folder").iterdir())) == 3
    with pytest.raises(rondel.CallerError, match="is not empty; expected a new folder"):
        sweeps.run(Job(), tmp_path / "folder", progress=False)


def sweep_of(values, **more):
    return lambda: sweeps.OnnxSweep(models.model(SOLVER), values, **more)


K = sweeps.span(0, 1, 3)
LISTS = "lists (float x) => (seq(float) y, string s, float z) { y = SequenceConstruct (x) s = Cast <to = 8> (x) z = Neg (x) }"


def test_outputs_that_are_no_numbers_may_be_left_out():
    assert list(sweeps.OnnxSweep(models.model(LISTS), {"x": K}, outputs="z").part(0, 1)) == ["point", "x", "z"]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (sweep_of({"k": 1.0, "b": [1, 2], "n": 1}), "no value is swept; give one as"),
        (sweep_of({"q": K}), "there is no input or initializer 'q'"),
        (sweep_of({"k": K, "n": 1}), "the input 'b' has no value"),
        (sweep_of({"k": K, "b": [1, 2, 3], "n": 1}), "b"),
        (sweep_of({"k": K, "b": [1, 2], "n": 1}, outputs="x"), "there is no output 'x'"),
        (sweep_of({"k": K, "n": sweeps.over([1, 2]), "b": [1, 2]}), "k has 3, n has 2; give equal numbers"),
        (sweep_of({"k": 1.0, "n": K, "b": [1, 2]}), r"a point of 'n' is f64\[\]; expected i64\[\]; rondel.sweeps.over\(range\(...\)\) has integers"),
        (sweep_of({"k": 1.0, "n": 1, "b": K}), r"a point of 'b' is f32\[\]; expected f32\[2\]"),
        (sweep_of({"k": 1.0, "n": 1, "b": sweeps.over([[1, 2, 3]])}), r"a point of 'b' is f32\[3\]; expected f32\[2\]"),
        (sweep_of({"k": K, "b": [1, 2], "n": 1}, outputs=["y", "y"]), "outputs names 'y' twice"),
        (lambda: sweeps.OnnxSweep(models.model(LISTS), {"x": K}), r"output 'y' is no tensor of numbers but seq\(tensor\(float\)\); name the outputs"),
        (lambda: sweeps.OnnxSweep(models.model(LISTS), {"x": K}, outputs=["z", "s"]), r"output 's' is no tensor of numbers but tensor\(string\)"),
        (lambda: sweeps.OnnxSweep(models.model(SOLVER), [("k", K)]), "the values are a list; expected a dict of names"),
        (lambda: sweeps.run("m.onnx"), "the job is a str; expected an MdfSweep or an OnnxSweep"),
        (lambda: sweeps.over([]), r"the values are float64\[0\]"),
        (lambda: sweeps.over([[1], [1, 2]]), "make no array"),
        (lambda: sweeps.span(0, "x", 3), "expected finite numbers"),
        (lambda: sweeps.span(0, 1, 0), "the count of a span is 0; expected"),
        (lambda: sweeps.span(0, 1, np.array([1, 2])), "the count of a span is a ndarray; expected"),
        (sweep_of({"q": [1.0]}), "there is no input or initializer 'q'"),
        (lambda: sweeps.MdfSweep(STATES, set={"sine_node.amplitude": [1.0, 2.0]}), "no value is swept; .*; a list is one value"),
        (lambda: sweeps.run(Job(), batch=0), "batch is 0"),
        (lambda: sweeps.run(Job(), 3), "the table is 3; expected a path"),
        (lambda: sweeps.MdfSweep(STATES, set={"sine_node.amplitude": K}), "sine_node"),
        (lambda: sweeps.MdfSweep(STATES, steps=-1, set=PERIOD), "steps is -1"),
    ],
)
def test_wrong_use(wrong, message):
    with pytest.raises(rondel.CallerError, match=message):
        wrong()


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        try:
            code = main(["mdf", str(STATES), "--steps", "20", "--dt", "0.01", *arguments])
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_from_the_shell(run):
    code, out, _ = run("--set", "sine_node.period=0.2:0.8:7", "--record", "sine_node.out_port", "--table", "t.csv", "--batch", "2")
    assert code == 0 and "7 points, wrote t.csv" in out and out.splitlines()[0].split() == ["of", "all", "points", "least", "mean", "most"]
    assert len(open("t.csv").readlines()) == 8
    code, out, _ = run("--set", "sine_node.period=[0.2, 0.4]", "--set", "sine_node.rate=1:2:3", "--product", "--series", "--table", "u.csv")
    assert code == 0 and len(open("u.csv").readlines()) == 1 + 6 * 21
    code, out, _ = run("--set", "sine_node.period=0.2:0.8:7", "--record", "sine_node.out_port")
    assert code == 0 and "float64[21, 7]" in out


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--table", "t.csv"], 2, "are for sweeps: --set NODE.PARAMETER=START:STOP:COUNT"),
        (["--set", "sine_node.period=0:1:x"], 2, "'x' is not a number of 1 or more"),
        (["--set", "sine_node.period=0:1:0"], 2, "'0' is not a number of 1 or more"),
        (["--set", "sine_node.period=0.1:1:3", "--table", "t.txt"], 1, "the table is 't.txt'; expected a name that ends in .csv or .parquet, or has no suffix"),
        (["--product"], 2, "--product is for a sweep"),
        (["--set", "sine_node.period=0.1:1:3", "--table", "t.csv", "--plot", "p.png"], 2, "--plot is for one run"),
        (["--set", "sine_node.perio=0.1:1:3", "--table", "t.csv"], 1, "perio"),
        (["--set", "sine_node.period=0.1:1:3", "--table", "no/such/t.csv"], 1, "cannot be written"),
    ],
)
def test_wrong_command_lines(run, arguments, code, message):
    found, _, err = run(*arguments)
    assert found == code and message in err
    assert not list(pathlib.Path().iterdir())
