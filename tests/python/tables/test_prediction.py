"""rondel.prediction: a model as a function of a table's columns. And `import rondel.ray` without Ray."""

import subprocess
import sys

import models
import numpy as np
import pytest
from onnx import numpy_helper

import rondel
from rondel.prediction import Predictor

X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)


def linear(rows="N"):
    proto = models.model(f"linear (float[{rows}, 3] x) => (float[{rows}, 2] y, float[2] total) {{ y = MatMul (x, w) total = ReduceSum <keepdims = 0> (y, axis) }}")
    proto.graph.initializer.append(numpy_helper.from_array(W, "w"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0]), "axis"))
    return proto


def test_columns_in_and_out():
    found = Predictor(linear(), outputs="y")({"x": X, "id": np.arange(7)})
    assert list(found) == ["id", "y"] and found["id"].tolist() == list(range(7))
    np.testing.assert_allclose(found["y"], X @ W, rtol=1e-5)


def test_columns_of_other_names_dtypes_and_lists():
    lists = np.empty(7, object)
    lists[:] = [list(map(float, row)) for row in X]
    for column in (X.astype(np.float64), lists):
        found = Predictor(linear(), outputs=["y"], columns={"x": "features"}, keep=["id"])({"features": column, "id": np.arange(7), "more": np.ones(7)})
        assert list(found) == ["id", "y"]
        np.testing.assert_allclose(found["y"], X @ W, rtol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 8])
def test_a_fixed_extent_is_filled_up(rows):
    x = np.concatenate([X, X])[:rows]
    found = Predictor(linear("4"), outputs="y")({"x": x})
    assert found["y"].shape == (rows, 2)
    np.testing.assert_allclose(found["y"], x @ W, rtol=1e-5)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_runs_of_a_few_rows_give_the_same(size):
    counts = models.model("counts (float[n, 3] x) => (float[n, 3] y) { rows = Shape <end = 1> (x)  of_run = Cast <to = 1> (rows)  all = Shape (x)  y = Expand (of_run, all) }")
    rows = Predictor(counts, batch_size=size)({"x": X})["y"][:, 0]
    assert rows.tolist() == [min(size, 7 - first) for first in range(0, 7, size) for _ in range(min(size, 7 - first))]
    found = Predictor(linear(), outputs="y", batch_size=size)({"x": X})
    np.testing.assert_allclose(found["y"], Predictor(linear(), outputs="y")({"x": X})["y"], rtol=1e-6)
    assert Predictor(linear(), outputs="y", batch_size=size)({"x": X[:0]})["y"].shape == (0, 2)


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(rondel.CallerError, match="different numbers of rows: 'x' has 2, 'z' has 4"):
        Predictor(models.model("sum (float[n] x, float[m] z) => (float[k] y) { y = Add (x, z) }"))({"x": X[:2, 0], "z": X[:4, 0]})


def test_integers_that_an_input_does_not_hold_are_refused():
    same = Predictor(models.model("same (int8[n] x) => (int8[n] y) { y = Identity (x) }"))
    assert same({"x": np.array([1, -128, 127])})["y"].tolist() == [1, -128, 127]
    for wrong in ([1, 128], [-129]):
        with pytest.raises(rondel.CallerError, match="predict: column 'x': i8 does not hold -?12.; its range is -128 to 127"):
            same({"x": np.array(wrong)})


@pytest.mark.parametrize(
    "kind, wrong, most", [("float", 1e300, 3.4e38), ("float16", 70000.0, 65504), ("float16", 70000, 65504), ("bfloat16", 1e300, 3.3e38)]
)
def test_numbers_that_would_become_infinite_are_refused(kind, wrong, most):
    same = Predictor(models.model(f"same ({kind}[n] x) => ({kind}[n] y) {{ y = Identity (x) }}"))
    with pytest.raises(rondel.CallerError, match="predict: column 'x': .* does not hold"):
        same({"x": np.array([1, wrong])})
    kept = same({"x": np.array([most, np.inf, -np.inf, np.nan])})["y"].astype(np.float64)
    np.testing.assert_allclose(kept, [most, np.inf, -np.inf, np.nan], rtol=1e-2)


def test_each_run_draws_its_own_numbers():
    noise = models.model("noise (float[n] x) => (float[n] y) { y = RandomUniformLike (x) }")
    drawing = Predictor(noise, batch_size=2)
    drawn = [x for _ in range(2) for x in drawing({"x": X[:, 0]})["y"].tolist()]
    assert len(set(drawn)) == 14
    assert Predictor(noise, batch_size=2)({"x": X[:, 0]})["y"].tolist() == drawn[:7]


def test_no_rows():
    assert Predictor(linear(), outputs="y")({"x": X[:0]})["y"].shape == (0, 2)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda: Predictor(linear(), outputs="y", batch_size=0), "batch_size is 0; expected an integer of 1 or more"),
        (lambda: Predictor(linear(), outputs="z"), "there is no output 'z'; there are 'y', 'total'"),
        (lambda: Predictor(linear(), columns={"q": "x"}), "columns names 'q', which is no input"),
        (lambda: Predictor(linear())({"x": X}), r"output 'total' is float32\[2\] for 7 rows; expected the rows on its first axis"),
        (lambda: Predictor(linear(), outputs="y")({"z": X}), "the batch has no column 'x'; there are 'z'"),
        (lambda: Predictor(linear(), outputs="y")({"x": X, "y": X}), "'y' is a column and an output"),
        (lambda: Predictor(linear(), outputs="y")({"x": np.array([[1, 2, 3], [1, 2]], object)}), "the rows of column 'x' have different shapes"),
        (lambda: Predictor(linear(), outputs="y")({"x": X.astype(str)}), "'x'"),
        (lambda: Predictor(b"no model"), "model"),
    ],
)
def test_wrong_use(wrong, message):
    with pytest.raises(rondel.CallerError, match=message):
        wrong()


@pytest.mark.parametrize("package, install", [("ray", "'rondel[ray]'"), ("torch", "torch")])
def test_a_package_that_is_missing_is_named(package, install):
    code = f"import sys; sys.modules['{package}'] = None\nimport rondel\ntry: rondel.{package}\nexcept ModuleNotFoundError as error: print(error)\nimport rondel.{package}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    wanted = f"rondel.{package} needs the package {package}: python -m pip install {install}"
    assert done.stdout.strip() == wanted and done.returncode == 1 and done.stderr.strip().endswith(wanted)


def test_the_command_without_ray_names_the_extra():
    code = "import sys; sys.modules['ray'] = None; from rondel_cli.main import main; sys.exit(main(sys.argv[1:]))"
    model = __file__.replace("tables/test_prediction.py", "mdf/states.json")
    arguments = ["mdf", model, "--set", "sine_node.period=0.2:0.4:3", "--on", "auto"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "--on: rondel.ray needs the package ray: python -m pip install 'rondel[ray]'" in done.stderr
