"""Random ops: their distributions; draws depend only on the seed, the node and the trip indices."""

import numpy as np
import onnx
import pytest
import rondel
from models import interpreter
from onnx import TensorProto, helper

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16}


def session(nodes, outputs, inputs=(), options=None):
    graph = helper.make_graph(nodes, "random", list(inputs), [onnx.ValueInfoProto(name=o) for o in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return rondel.InferenceSession(model, options) if options else rondel.InferenceSession(model)


def seeded(seed):
    options = rondel.RunOptions()
    options.seed = seed
    return options


def uniform(output="y", shape=(3,), **attributes):
    return helper.make_node("RandomUniform", [], [output], shape=list(shape), **attributes)


def value_info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def kolmogorov(values, cdf):
    """The Kolmogorov-Smirnov statistic, sqrt(n) times the largest distance between the distributions: above 2.2 with probability 1e-4."""
    x = np.sort(values.astype(np.float64).ravel())
    steps = np.arange(len(x) + 1) / len(x)
    f = cdf(x)
    return np.sqrt(len(x)) * max(np.abs(f - steps[:-1]).max(), np.abs(f - steps[1:]).max())


def normal_cdf(x):
    from math import erf, sqrt

    return np.array([0.5 * (1 + erf(v / sqrt(2))) for v in x])


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_uniform_is_uniform(kind):
    node = uniform(shape=(100, 1000), low=-3.0, high=5.0, dtype=TYPES[kind])
    (y,) = session([node], ["y"]).run(None, {})
    assert y.dtype == kind and y.shape == (100, 1000)
    assert y.min() >= -3 and y.max() <= 5
    assert kolmogorov(y, lambda x: (x + 3) / 8) < 2.2
    centred = (y - y.mean()).ravel().astype(np.float64)
    for lag in (1, 2, 1000):  # neighbours along either axis are uncorrelated
        correlation = np.mean(centred[:-lag] * centred[lag:]) / centred.var()
        assert abs(correlation) < 4 / np.sqrt(y.size)


def test_every_bit_of_uniform_is_even():
    (y,) = session([uniform(shape=(1 << 16,))], ["y"]).run(None, {})
    bits = (y * 2.0**24).astype(np.uint32)
    for bit in range(24):
        assert abs(np.mean((bits >> bit) & 1) - 0.5) < 4 * 0.5 / 256


def test_float16_takes_every_value_of_its_own():
    (y,) = session([uniform(shape=(40000,), dtype=TYPES["float16"])], ["y"]).run(None, {})
    assert y.dtype == np.float16 and y.max() < 1
    assert len(np.unique(y)) == 2048


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_normal_is_normal(kind):
    node = helper.make_node("RandomNormal", [], ["y"], shape=[100, 500], mean=2.0, scale=3.0, dtype=TYPES[kind])
    (y,) = session([node], ["y"]).run(None, {})
    assert y.dtype == kind
    z = (y.astype(np.float64) - 2) / 3
    assert kolmogorov(z, normal_cdf) < 2.2
    assert abs(np.mean(z**4) - 3) < 4 * np.sqrt(96 / z.size)


@pytest.mark.parametrize("op", ["RandomUniformLike", "RandomNormalLike"])
def test_like_follows_the_shape_and_dtype_it_is_given(op):
    nodes = [
        helper.make_node(op, ["x"], ["same"]),
        helper.make_node(op, ["x"], ["other"], dtype=TYPES["float64"]),
    ]
    s = session(nodes, ["same", "other"], [value_info("x", TensorProto.FLOAT16, ["a", None])])
    for shape in ((2, 3), (0, 3), (5, 1)):
        same, other = s.run(None, {"x": np.zeros(shape, np.float16)})
        assert same.dtype == np.float16 and other.dtype == np.float64
        assert same.shape == other.shape == shape


def test_draws_are_the_same_run_for_run_and_differ_by_seed_and_node():
    s = session([uniform("a"), uniform("b")], ["a", "b"])
    a, b = s.run(None, {})
    again, _ = s.run(None, {})
    other, _ = s.run(None, {}, seeded(1))
    assert np.array_equal(a, again)
    assert not np.array_equal(a, b) and not np.array_equal(a, other)
    assert np.array_equal(other, s.run(None, {}, seeded(1))[0])


def test_a_seed_of_the_node_stands_for_the_node():
    nodes = [uniform("a", seed=7.0), uniform("b", seed=7.0), uniform("c", seed=8.0), uniform("d")]
    s = session(nodes, list("abcd"))
    a, b, c, d = s.run(None, {})
    assert np.array_equal(a, b) and not np.array_equal(a, c) and not np.array_equal(a, d)
    assert not np.array_equal(a, s.run(None, {}, seeded(1))[0])


def loop(body_nodes, item, states=(), trips="n", name="loop", output="stack"):
    """A loop of `trips` trips that stacks the item `item` of its body."""
    body = helper.make_graph(
        [*body_nodes, helper.make_node("Identity", ["go_in"], ["go"])],
        f"{name}_body",
        [value_info(f"{name}_i", TensorProto.INT64, []), value_info("go_in", TensorProto.BOOL, [])],
        [value_info("go", TensorProto.BOOL, []), onnx.ValueInfoProto(name=item)],
    )
    return helper.make_node("Loop", [trips, ""], [output], body=body, name=name)


COUNT = value_info("n", TensorProto.INT64, [])


@pytest.mark.parametrize("options", [None, "interpreter"])
def test_a_loop_draws_anew_each_trip(options):
    s = session([loop([uniform()], "y")], ["stack"], [COUNT], interpreter() if options else None)
    (y,) = s.run(None, {"n": np.array(50)})
    assert y.shape == (50, 3) and len(np.unique(y)) == 150
    (longer,) = s.run(None, {"n": np.array(80)})
    assert np.array_equal(longer[:50], y)
    assert not np.array_equal(s.run(None, {"n": np.array(50)}, seeded(3))[0], y)


def test_loops_draw_the_same_natively_and_interpreted():
    nodes = [loop([uniform("u"), helper.make_node("RandomNormalLike", ["u"], ["y"])], "y")]
    n = {"n": np.array(1000)}
    (native,) = session(nodes, ["stack"], [COUNT]).run(None, n)
    (interpreted,) = session(nodes, ["stack"], [COUNT], interpreter()).run(None, n)
    assert native.tobytes() == interpreted.tobytes()
    assert kolmogorov(native, normal_cdf) < 2.2


def test_nested_loops_draw_by_both_trips():
    inner = loop([uniform(shape=(1,))], "y", name="inner", output="row")
    s = session([loop([inner], "row", output="stack")], ["stack"], [COUNT])
    (y,) = s.run(None, {"n": np.array(20)})
    assert y.shape == (20, 20, 1) and len(np.unique(y)) == 400


def test_a_branch_draws_only_by_its_place():
    branches = {
        side: helper.make_graph([uniform("y")], side, [], [onnx.ValueInfoProto(name="y")])
        for side in ("then_branch", "else_branch")
    }
    node = helper.make_node("If", ["c"], ["y"], **branches)
    s = session([node], ["y"], [value_info("c", TensorProto.BOOL, [])])
    (yes,), (no,) = (s.run(None, {"c": np.array(c)}) for c in (True, False))
    assert not np.array_equal(yes, no)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_bernoulli_gives_ones_with_the_probability_asked_for(kind):
    node = helper.make_node("Bernoulli", ["x"], ["y"], dtype=TensorProto.INT32)
    s = session([node], ["y"], [value_info("x", TYPES[kind], [None])])
    for p in (0.0, 0.25, 1.0):
        (y,) = s.run(None, {"x": np.full(20000, p, kind)})
        assert y.dtype == np.int32
        assert abs(y.mean() - p) <= 4 * np.sqrt(p * (1 - p) / y.size)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_multinomial_draws_by_unnormalised_logarithms(kind):
    weights = np.array([[1, 2, 3, 0, 4], [5, 0, 0, 0, 5]], np.float64)
    with np.errstate(divide="ignore"):
        x = (np.log(weights) + 1.5).astype(kind)
    node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=20000, dtype=TensorProto.INT64)
    s = session([node], ["y"], [value_info("x", TYPES[kind], [None, None])])
    (y,) = s.run(None, {"x": x})
    assert y.shape == (2, 20000) and y.dtype == np.int64
    for row, p in zip(y, weights / weights.sum(1, keepdims=True), strict=True):
        counts = np.bincount(row, minlength=5)
        assert np.all(counts[p == 0] == 0)
        expected = p[p > 0] * row.size
        assert np.sum((counts[p > 0] - expected) ** 2 / expected) < 25  # chi-squared test, 4 degrees of freedom: probability 5e-5


def test_what_has_no_random_numbers_says_so():
    with pytest.raises(rondel.Error, match=r"RandomUniformLike.*there are no random numbers of type i32; .*give dtype"):
        session([helper.make_node("RandomUniformLike", ["x"], ["y"])], ["y"], [value_info("x", TensorProto.INT32, [2])])


def test_multinomial_refuses_what_has_no_classes():
    node = helper.make_node("Multinomial", ["x"], ["y"], name="draw")
    s = session([node], ["y"], [value_info("x", TensorProto.FLOAT, [None, None])])
    with pytest.raises(rondel.Error, match="draw.*nothing to draw from"):
        s.run(None, {"x": np.zeros((2, 0), np.float32)})
    with pytest.raises(rondel.Error, match="draw.*expected rank 2"):
        session([node], ["y"], [value_info("x", TensorProto.FLOAT, [3])])
