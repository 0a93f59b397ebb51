"""Ops of ai.onnx.ml beside ONNX Runtime: every dtype, post_transform, aggregate and mode; NaN, ties, no rows; and what they refuse.

Where ONNX Runtime 1.31 does something else than the op's text says, or leaves memory unset, ours is compared with the text
(docs/ops.md lists these cases).
"""

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
import rondel
from onnx import TensorProto, helper

POSTS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
RNG = np.random.default_rng(3)
X = RNG.normal(0, 2, (6, 3)).astype(np.float32)
X[1, 0], X[2, 1], X[4] = np.nan, 0, 0
CLEAN = np.nan_to_num(X)


def model(op, feeds, outputs, version, attributes):
    kinds = {k: helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in feeds.items()}
    node = helper.make_node(op, list(feeds), [f"out{j}" for j in range(len(outputs))], domain="ai.onnx.ml", name="node", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(k, kinds[k], [None] * v.ndim) for k, v in feeds.items()],
        [helper.make_tensor_value_info(f"out{j}", kind, None) for j, kind in enumerate(outputs)],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def ours(op, feeds, outputs, version=3, **attributes):
    return rondel.InferenceSession(model(op, feeds, outputs, version, attributes)).run(None, feeds)


def theirs(op, feeds, outputs, version=3, **attributes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(model(op, feeds, outputs, version, attributes), options).run(None, feeds)


def compare(op, x, outputs, version=3, tolerance=2e-5, **attributes):
    x = np.asarray(x)
    for rows in (x, x[:0]) if x.ndim == 2 else (x,):
        found, wanted = (run(op, {"x": rows}, outputs, version, **attributes) for run in (ours, theirs))
        for got, want in zip(found, wanted, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            if got.dtype.kind == "f":
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance / 10)
            else:
                np.testing.assert_array_equal(got, want)


def kind(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def in_dtype(dtype):
    return (X if np.dtype(dtype).kind == "f" else CLEAN).astype(dtype)


DTYPES = ["float32", "float64", "int64", "int32"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_features(dtype):
    x = in_dtype(dtype)
    for numbers in ([0.5, 2, -1], [0.5]):
        compare("Scaler", x, [TensorProto.FLOAT], offset=numbers, scale=numbers)
    for norm in ("MAX", "L1", "L2"):
        compare("Normalizer", x, [TensorProto.FLOAT], norm=norm)
        compare("Normalizer", x[0], [TensorProto.FLOAT], norm=norm)
    compare("LinearClassifier", x, [TensorProto.INT64, TensorProto.FLOAT], coefficients=[0.1] * 6, intercepts=[1.0, 2.0], classlabels_ints=[4, 2])
    (binary,) = ours("Binarizer", {"x": x}, [kind(dtype)], threshold=0.5)
    np.testing.assert_array_equal(binary, (x > 0.5).astype(dtype))
    if dtype in ("float32", "int64"):
        real = dtype == "float32"
        for values in ([7, 8, 9], [7]):
            missing = {"imputed_value_floats": [float(v) for v in values], "replaced_value_float": np.nan} if real else {"imputed_value_int64s": values}
            compare("Imputer", x, [kind(dtype)], **missing)
    compare("FeatureVectorizer", x, [TensorProto.FLOAT], version=1, inputdimensions=[2])
    compare("FeatureVectorizer", x, [TensorProto.FLOAT], version=1, inputdimensions=[5])


@pytest.mark.parametrize("op", ["Scaler", "Imputer"])
def test_one_feature_for_several_numbers(op):
    """The number of features is known only when it runs: alone, in a graph and in a loop."""
    attributes = dict(offset=[1.0] * 3, scale=[1.0] * 3) if op == "Scaler" else dict(imputed_value_floats=[1.0] * 3)
    numbers = ", ".join(f"{name} = [1.0, 1.0, 1.0]" for name in attributes)
    text = """
    <ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
    main (float[n, f] x) => (float[n, f] y) <int64 trips = {5}, bool go = {1}> {
      y = Loop (trips, go, x) <body = step (int64 i, bool on, float[a, b] s) => (bool more, float[a, b] next) {
        more = Identity (on)
        t = ai.onnx.ml.OP <NUMBERS> (s)
        next = Add (t, t)
      }>
    }"""
    looped = onnx.parser.parse_model(text.replace("OP", op).replace("NUMBERS", numbers))
    session = rondel.InferenceSession(looped)
    single = model(op, {"x": X}, [TensorProto.FLOAT], 3, attributes)
    assert session.run(None, {"x": CLEAN})[0].shape == CLEAN.shape
    for found in (session, rondel.InferenceSession(single)):
        with pytest.raises(rondel.CallerError, match=f"{op}.*'x' has extent 1 on axis -1 and '{next(iter(attributes))}' has 3 on axis 0"):
            found.run(None, {"x": CLEAN[:, :1]})
    compare(op, CLEAN, [TensorProto.FLOAT], **attributes)
    written = rondel.export(single)
    assert rondel.InferenceSession(written).run(None, {"x": CLEAN})[0].shape == CLEAN.shape


@pytest.mark.parametrize("post", POSTS)
def test_linear_models(post):
    numbers = [0.1, 0.2, 0.3, 0.1, -0.1, 0.05, 0.1, 0.2, 0.3]
    both = [TensorProto.INT64, TensorProto.FLOAT]
    compare("LinearRegressor", X, [TensorProto.FLOAT], coefficients=numbers, targets=3, intercepts=[0.5, 0.4, 0.3], post_transform=post, tolerance=1e-4)
    compare("LinearRegressor", X, [TensorProto.FLOAT], coefficients=numbers[:3], post_transform=post, targets=1, tolerance=1e-4)
    # Rows 0 and 2 are equal, so that there are ties.
    compare("LinearClassifier", X, both, coefficients=numbers, intercepts=[0.1, 0.4, 0.1], classlabels_ints=[5, 6, 7], post_transform=post, tolerance=1e-4)
    if post != "PROBIT":  # ONNX Runtime leaves the second score unset
        words = [TensorProto.STRING, TensorProto.FLOAT]
        compare("LinearClassifier", X, words, coefficients=numbers[:3], intercepts=[-0.1], classlabels_strings=["a", "b"], post_transform=post)


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("name", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors(name, post):
    kernel = {"kernel_type": name, "kernel_params": [0.3, 0.25, 3.0]}
    vectors = RNG.normal(size=12).tolist()
    shared = dict(support_vectors=vectors, post_transform=post, tolerance=2e-3 if post == "PROBIT" else 1e-4, **kernel)
    integers = [TensorProto.INT64, TensorProto.FLOAT]
    pairs = dict(vectors_per_class=[1, 2, 1], coefficients=RNG.normal(size=8).tolist(), rho=[0.1, 0.2, 0.3])
    chances = dict(prob_a=[-0.5, -1, 0.3], prob_b=[0.1, 0, -0.1])
    compare("SVMClassifier", CLEAN, [TensorProto.STRING, TensorProto.FLOAT], classlabels_strings=["a", "b", "c"], **pairs, **chances, **shared)
    if post != "PROBIT":
        compare("SVMClassifier", CLEAN, integers, classlabels_ints=[3, 4, 5], **pairs, **shared)
    for sign in (1, -1):
        two = dict(classlabels_ints=[3, 4], vectors_per_class=[2, 2], coefficients=[0.1, 0.2, 0.3, 0.4 * sign], rho=[0.1])
        compare("SVMClassifier", CLEAN, integers, prob_a=[-0.5], prob_b=[0.1], **two, **shared)
        if post != "PROBIT":
            compare("SVMClassifier", CLEAN, integers, **two, **shared)
            compare("SVMClassifier", CLEAN, integers, classlabels_ints=[3, 4], coefficients=[0.1, 0.2, 0.3, 0.4, 0.1, 0.2 * sign], rho=[0.1], **{k: v for k, v in shared.items() if k != "support_vectors"})
    vectors = dict(n_supports=4, coefficients=[0.5, -0.3, 0.1, 0.2], rho=[0.1], support_vectors=vectors)
    for one_class in (0, 1):
        compare("SVMRegressor", CLEAN, [TensorProto.FLOAT], one_class=one_class, tolerance=1e-4, **vectors, **kernel)


def keys_and_values():
    keys = {"strings": ["a", "b", "a", "c"], "int64s": [1, 2, 1, 3], "floats": [1.0, 2.0, 1.0, float("nan")]}
    values = {"strings": ["x", "y", "z", "w"], "int64s": [5, 6, 7, 8], "floats": [0.5, 0.25, 1.5, 2.0]}
    inputs = {"strings": np.array([["a", "zz"], ["c", "b"]], object), "int64s": np.array([[1, 9], [3, 2]]), "floats": np.float32([[1, 9], [np.nan, 2]])}
    kinds = {"strings": TensorProto.STRING, "int64s": TensorProto.INT64, "floats": TensorProto.FLOAT}
    for k, v in itertools.product(keys, values):
        if (k, v) not in (("strings", "strings"), ("int64s", "int64s"), ("floats", "floats")):
            yield 2, inputs[k], kinds[v], {f"keys_{k}": keys[k], f"values_{v}": values[v]}
        yield 4, inputs[k], kinds[v], {f"keys_{k}": keys[k], f"values_{v}": values[v]}


@pytest.mark.parametrize("version, x, out, attributes", keys_and_values())
def test_label_encoder(version, x, out, attributes):
    compare("LabelEncoder", x, [out], version=version, **attributes)


def tensor(*values, dtype):
    return onnx.numpy_helper.from_array(np.array(values, dtype))


@pytest.mark.parametrize("jit", ["0", "quick", "2"])
def test_two_loops_with_tables_of_their_own(jit, monkeypatch):
    """The tables have the same form and are too long to be written out."""
    monkeypatch.setenv("RONDEL_JIT", jit)

    def loop(tag, first):
        keys = range(first, first + 20)
        nodes = [
            helper.make_node("LabelEncoder", [f"x{tag}"], [f"label{tag}"], domain="ai.onnx.ml", keys_int64s=keys, values_int64s=range(20), default_int64=-1),
            helper.make_node("Add", [f"x{tag}", "one"], [f"next{tag}"]),
            helper.make_node("Identity", [f"go{tag}"], [f"on{tag}"]),
        ]
        info = helper.make_tensor_value_info
        inputs = [info(f"i{tag}", TensorProto.INT64, []), info(f"go{tag}", TensorProto.BOOL, []), info(f"x{tag}", TensorProto.INT64, [4])]
        results = [info(f"on{tag}", TensorProto.BOOL, []), info(f"next{tag}", TensorProto.INT64, [4]), info(f"label{tag}", TensorProto.INT64, [4])]
        return helper.make_node("Loop", ["trips", "", "x"], ["", f"labels{tag}"], body=helper.make_graph(nodes, f"body{tag}", inputs, results))

    graph = helper.make_graph(
        [helper.make_node("Constant", [], ["one"], value_int=1), loop("a", 0), loop("b", 100)],
        "g",
        [helper.make_tensor_value_info("trips", TensorProto.INT64, []), helper.make_tensor_value_info("x", TensorProto.INT64, [4])],
        [helper.make_tensor_value_info(f"labels{tag}", TensorProto.INT64, [None, 4]) for tag in "ab"],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    ours = rondel.InferenceSession(helper.make_model(graph, opset_imports=opsets).SerializeToString())
    a, b = ours.run(None, {"trips": np.array(2), "x": np.array([0, 5, 100, 107])})
    assert a.tolist() == [[0, 5, -1, -1], [1, 6, -1, -1]]
    assert b.tolist() == [[-1, -1, 0, 7], [-1, -1, 1, 8]]


def test_tables_of_keys():
    words = np.array(["a", "zz", "b", "c"], object)
    numbers = np.array([1, 2, 0, 9])
    compare("LabelEncoder", words, [TensorProto.INT64], version=1, classes_strings=["a", "b", "a", "c"])
    compare("LabelEncoder", numbers, [TensorProto.STRING], version=1, classes_strings=["a", "b", "a", "c"])
    compare("LabelEncoder", words, [TensorProto.INT16], version=4, keys_strings=["a", "b"], values_tensor=tensor(1, 2, dtype="int16"), default_tensor=tensor(42, dtype="int16"))
    compare("LabelEncoder", np.array([1, np.nan, 3]), [TensorProto.DOUBLE], version=4, keys_tensor=tensor(1, np.nan, dtype="float64"), values_tensor=tensor(1, 2, dtype="float64"))
    (small,) = ours("LabelEncoder", {"x": np.array([3, 4], np.int32)}, [TensorProto.INT32], 4, keys_tensor=tensor(3, dtype="int32"), values_tensor=tensor(7, dtype="int32"))
    assert small.tolist() == [7, -1] and small.dtype == np.int32
    mapper = dict(cats_strings=["a", "b", "a"], cats_int64s=[1, 2, 2])
    compare("CategoryMapper", words, [TensorProto.INT64], **mapper)
    compare("CategoryMapper", numbers, [TensorProto.STRING], **mapper)
    compare("OneHotEncoder", words.reshape(2, 2), [TensorProto.FLOAT], cats_strings=["a", "b", "a"])
    for dtype in ("int64", "float32", "float64"):
        compare("OneHotEncoder", numbers.astype(dtype), [TensorProto.FLOAT], cats_int64s=[1, 2, 0, 1])
    with pytest.raises(rondel.CallerError, match="node 'node' .OneHotEncoder.: an element is no category"):
        ours("OneHotEncoder", {"x": words}, [TensorProto.FLOAT], cats_strings=["a", "b"], zeros=0)


SPLITS = [0.0, -0.0, np.inf, -np.inf, np.nan]
ROWS = np.float32([[0, 0.5], [-1, 1], [1, 0], [np.nan, np.nan], [np.inf, -np.inf], [-np.inf, np.inf], [-0.0, 0.5]])
ONE_TARGET = [(0, 1, 0, 0.5), (0, 2, 0, -0.25), (1, 1, 0, 0.7), (1, 2, 0, 1.5)]
TWO_TARGETS = [(0, 1, 0, 0.5), (0, 1, 1, 0.9), (0, 2, 0, -0.25), (1, 1, 0, 0.7), (1, 2, 1, 1.5), (0, 2, 1, 2.0)]


def two_trees(weights, prefix="target", mode="LEQ", splits=(0.0, 0.5), **more):
    trees, nodes, ids, values = zip(*weights, strict=True)
    first, second = splits
    return {
        "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2] * 2, "nodes_featureids": [0, 0, 0, 1, 0, 0],
        "nodes_values": [first, 0.0, 0.0, second, 0.0, 0.0], "nodes_modes": [f"BRANCH_{mode}", "LEAF", "LEAF"] * 2,
        "nodes_truenodeids": [1, 0, 0] * 2, "nodes_falsenodeids": [2, 0, 0] * 2,
        f"{prefix}_treeids": trees, f"{prefix}_nodeids": nodes, f"{prefix}_ids": ids, f"{prefix}_weights": values, **more,
    }  # fmt: skip


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_aggregates(aggregate):
    for post, (targets, weights) in itertools.product(POSTS, ((1, ONE_TARGET), (2, TWO_TARGETS))):
        for bases in ({}, {"base_values": [0.25] * targets}):
            trees = two_trees(weights, n_targets=targets, aggregate_function=aggregate, post_transform=post, **bases)
            compare("TreeEnsembleRegressor", ROWS, [TensorProto.FLOAT], tolerance=1e-4, **trees)


@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_modes(mode):
    for split, missing in itertools.product(SPLITS, ({}, {"nodes_missing_value_tracks_true": [1] * 6})):
        trees = two_trees(ONE_TARGET, mode=mode, splits=(split, split), n_targets=1, **missing)
        compare("TreeEnsembleRegressor", ROWS, [TensorProto.FLOAT], **trees)
        compare("TreeEnsembleRegressor", ROWS.astype(np.float64), [TensorProto.FLOAT], **trees)


LONE = [(0, 1, 0, 0.3), (0, 2, 0, 0.8), (1, 1, 0, 0.1), (1, 2, 0, 0.2)]
MIXED = [(0, 1, 0, -0.3), (0, 2, 0, 0.8), (1, 1, 0, -0.1), (1, 2, 0, 0.2)]
SPARSE = [(0, 1, 2, -0.7), (0, 2, 1, -0.8), (1, 1, 2, -0.1), (1, 2, 1, 0.0)]


@pytest.mark.parametrize("post", POSTS)
def test_tree_classifiers(post):
    integers, words = [TensorProto.INT64, TensorProto.FLOAT], [TensorProto.STRING, TensorProto.FLOAT]
    if post != "PROBIT":
        for weights, bases in itertools.product((LONE, MIXED), ({}, {"base_values": [0.25]})):
            compare("TreeEnsembleClassifier", ROWS, words, classlabels_strings=["a", "b"], **two_trees(weights, "class", post_transform=post, **bases))
    for bases in ({}, {"base_values": [0.1, 0.2, 0.3]}):
        for dtype in ("float32", "float64"):
            compare("TreeEnsembleClassifier", ROWS.astype(dtype), integers, tolerance=1e-4, classlabels_int64s=[10, 20, 30], **two_trees(SPARSE, "class", post_transform=post, **bases))


def test_two_classes_with_scores_of_their_own_are_compared():
    weights = [(0, 1, 0, 0.7), (0, 1, 1, 0.3), (0, 2, 0, 0.2), (0, 2, 1, 0.8), (1, 1, 0, 0.0), (1, 2, 0, 0.0)]
    label, scores = ours("TreeEnsembleClassifier", {"x": ROWS[1:3]}, [TensorProto.INT64, TensorProto.FLOAT], classlabels_int64s=[10, 20], **two_trees(weights, "class"))
    assert label.tolist() == [10, 20]
    np.testing.assert_allclose(scores, [[0.7, 0.3], [0.2, 0.8]])


def one_tree(weights, **more):
    """Leaf 1 for x <= 0, else leaf 2."""
    nodes, ids, values = zip(*weights, strict=True)
    return {
        "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0] * 3, "nodes_values": [0.0] * 3, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "class_treeids": [0] * len(nodes), "class_nodeids": nodes, "class_ids": ids,
        "class_weights": values, "classlabels_int64s": [10, 11], **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    "ids, bases, weights, labels, scores",
    [
        ([1, 1], [0.75, 0.125], [0.25, -1.0], [10, 10], [[0.75, 0.375], [0.75, -0.875]]),
        ([0, 0], [0.75, 0.125], [0.25, -1.0], [11, 10], [[-1.0, 1.0], [0.25, -0.25]]),
        ([0, 1], [], [-0.5, -0.25], [11, 10], [[-0.5, 0.0], [0.0, -0.25]]),
        ([0, 1], [0.75, 0.125], [-0.5, -0.25], [10, 10], [[0.25, 0.125], [0.75, -0.125]]),
    ],
)
def test_two_classes_by_the_text(ids, bases, weights, labels, scores):
    """The greater score wins: a base value counts without a weight, and a class that no leaf names has 0. A lone first class is the second's score."""
    attributes = one_tree(list(zip([1, 2], ids, weights, strict=True)), **({"base_values": bases} if bases else {}))
    found = ours("TreeEnsembleClassifier", {"x": np.float32([[-1], [1]])}, [TensorProto.INT64, TensorProto.FLOAT], **attributes)
    assert found[0].tolist() == labels
    np.testing.assert_array_equal(found[1], np.float32(scores))


def members(dtype, **more):
    """A node that asks for membership, one for <= and one for ==, in two trees."""
    return dict(
        n_targets=2, tree_roots=[0, 2], nodes_featureids=[0, 0, 1], nodes_modes=tensor(6, 0, 4, dtype="uint8"), nodes_splits=tensor(0, 0.75, 0.5, dtype=dtype),
        membership_values=tensor(0, 1, 5, -1, np.nan, dtype=dtype), nodes_truenodeids=[0, 1, 3], nodes_trueleafs=[1, 1, 1], nodes_falsenodeids=[1, 2, 4],
        nodes_falseleafs=[0, 1, 1], leaf_targetids=[0, 1, 0, 1, 0], leaf_weights=tensor(0.5, 0.25, -0.5, 0.125, 1, dtype=dtype), **more,
    )  # fmt: skip


@pytest.mark.parametrize("aggregate", range(4))
def test_tree_ensemble(aggregate):
    for dtype, post in itertools.product(("float32", "float64"), (0, 3, 4)):
        compare("TreeEnsemble", ROWS.astype(dtype), [kind(dtype)], version=5, tolerance=1e-4, **members(dtype, aggregate_function=aggregate, post_transform=post))
    plain = members("float32", aggregate_function=aggregate)
    (raw,) = ours("TreeEnsemble", {"x": ROWS}, [TensorProto.FLOAT], 5, **plain)
    # By the text, 1 is SOFTMAX and 2 is LOGISTIC; ONNX Runtime 1.31 has them the other way round.
    (softmax,) = ours("TreeEnsemble", {"x": ROWS}, [TensorProto.FLOAT], 5, **plain, post_transform=1)
    np.testing.assert_allclose(softmax, np.exp(raw) / np.exp(raw).sum(1, keepdims=True), rtol=1e-5)
    (logistic,) = ours("TreeEnsemble", {"x": ROWS}, [TensorProto.FLOAT], 5, **plain, post_transform=2)
    np.testing.assert_allclose(logistic, 1 / (1 + np.exp(-raw)), rtol=1e-5)
    (half,) = ours("TreeEnsemble", {"x": ROWS.astype(np.float16)}, [TensorProto.FLOAT16], 5, **members("float16", aggregate_function=aggregate))
    np.testing.assert_array_equal(half, raw.astype(np.float16))


def test_tree_ensemble_of_one_target_that_is_not_told():
    one = members("float32") | dict(n_targets=1, leaf_targetids=[0] * 5)
    untold = {name: value for name, value in one.items() if name != "n_targets"}
    results = [ours("TreeEnsemble", {"x": ROWS}, [TensorProto.FLOAT], 5, **attributes)[0] for attributes in (one, untold)]
    np.testing.assert_array_equal(*results)


def random_trees(features, trees, depth, seed):
    """Full trees of random splits, as a TreeEnsembleRegressor of one target."""
    random, inner, count = np.random.default_rng(seed), 2**depth - 1, 2 ** (depth + 1) - 1
    nodes = np.tile(np.arange(count), trees)
    leaf = nodes >= inner
    weights = nodes[leaf]
    return {
        "nodes_treeids": np.repeat(np.arange(trees), count).tolist(), "nodes_nodeids": nodes.tolist(),
        "nodes_featureids": np.where(leaf, 0, random.integers(0, features, nodes.size)).tolist(),
        "nodes_values": np.where(leaf, 0, random.normal(size=nodes.size)).astype(np.float32).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(leaf, 0, 2 * nodes + 1).tolist(), "nodes_falsenodeids": np.where(leaf, 0, 2 * nodes + 2).tolist(),
        "target_treeids": np.repeat(np.arange(trees), inner + 1).tolist(), "target_nodeids": weights.tolist(),
        "target_ids": [0] * weights.size, "target_weights": random.normal(size=weights.size).astype(np.float32).tolist(), "n_targets": 1,
    }  # fmt: skip


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 300])
@pytest.mark.parametrize("trees", [1, 7, 20])
def test_many_rows_and_trees(rows, trees):
    x = np.random.default_rng(rows).normal(size=(rows, 5)).astype(np.float32)
    x[0, 0] = np.nan
    compare("TreeEnsembleRegressor", x, [TensorProto.FLOAT], **random_trees(5, trees, 4, seed=trees))


@pytest.mark.parametrize("keys", [[3, 5], ["a", "b"]])
def test_zip_map(keys):
    name = "classlabels_int64s" if keys == [3, 5] else "classlabels_strings"
    scores = np.float32([[0.25, 0.75], [np.inf, -1]])
    written = onnx.load_from_string(model("ZipMap", {"x": scores}, [TensorProto.FLOAT], 1, {name: keys}))
    text = TensorProto.STRING if name == "classlabels_strings" else TensorProto.INT64
    maps = helper.make_map_type_proto(text, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    written.graph.output[0].type.CopyFrom(helper.make_sequence_type_proto(maps))
    session = rondel.InferenceSession(written)
    (found,) = session.run(None, {"x": scores})
    (wanted,) = onnxruntime.InferenceSession(written.SerializeToString()).run(None, {"x": scores})
    assert found == wanted == [dict(zip(keys, row)) for row in scores.tolist()]
    assert session.run(["out0"], {"x": scores[:0]}) == [[]]
    assert all(type(score) is float for row in found for score in row.values())
    assert session.get_outputs()[0].type == f"seq(map({'string' if text == TensorProto.STRING else 'int64'},tensor(float)))"
    written.graph.node.append(helper.make_node("Identity", ["out0"], ["copy"]))
    with pytest.raises(rondel.UnsupportedError, match="ZipMap"):
        rondel.InferenceSession(written)


def test_zip_map_of_other_rows_than_its_keys():
    written = onnx.load_from_string(model("ZipMap", {"x": np.zeros((2, 2), np.float32)}, [TensorProto.FLOAT], 1, {"classlabels_int64s": [3, 5]}))
    for extent in written.graph.input[0].type.tensor_type.shape.dim:
        extent.Clear()
    maps = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    written.graph.output[0].type.CopyFrom(helper.make_sequence_type_proto(maps))
    session = rondel.InferenceSession(written)
    assert session.run(None, {"x": np.float32([[1, 2]])}) == [[{3: 1.0, 5: 2.0}]]
    with pytest.raises(rondel.CallerError, match=r"scores of shape \(4, 3\); its ZipMap expects rows of 2"):
        session.run(None, {"x": np.zeros((4, 3), np.float32)})


REFUSED = [
    ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1, nodes_truenodeids=[7, 0, 0] * 2), "tree 0 has no node 7"),
    ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1, nodes_truenodeids=[0, 0, 0] * 2), "node 0 is below itself"),
    ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1, nodes_featureids=[9, 0, 0] * 2), "ask for feature 9"),
    ("TreeEnsembleRegressor", two_trees(TWO_TARGETS, n_targets=1), "a leaf names target or class 1 of 1"),
    ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1, nodes_values=[0.0]), "nodes_values has 1 elements; the trees have 6"),
    ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1, mode="LQ"), "nodes_modes has 'BRANCH_LQ'"),
    ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1, aggregate_function="MEAN"), "aggregate_function is 'MEAN'"),
    ("LinearRegressor", dict(coefficients=[1.0, 2.0, 3.0]), "14 elements"),
    ("LinearRegressor", dict(coefficients=[1.0, 2.0], post_transform="SIGMOID"), "post_transform is 'SIGMOID'"),
    ("Scaler", dict(scale=[1.0, 2.0, 3.0]), "'x' has extent 2 on axis -1 and 'scale' has 3 on axis 0"),
    ("SVMRegressor", dict(coefficients=[1.0, 2.0], rho=[0.0], kernel_type="CUBIC"), "kernel_type is 'CUBIC'"),
]


@pytest.mark.parametrize("op, attributes, message", REFUSED)
def test_what_is_refused_names_the_node(op, attributes, message):
    with pytest.raises(rondel.CallerError, match=f"node 'node' .{op}.*{message}"):
        ours(op, {"x": ROWS}, [TensorProto.FLOAT], **attributes)


def deep_trees(mode):
    """Two trees of three levels whose nodes ask x == split or x != split, where we ask x <= split twice."""
    trees = random_trees(2, 2, 3, seed=5)
    values = np.resize(np.float32([0, 1, 0.5, -1, np.inf]), len(trees["nodes_values"]))
    modes = [m if m == "LEAF" else f"BRANCH_{mode}" for m in trees["nodes_modes"]]
    return trees | {"nodes_values": values.tolist(), "nodes_modes": modes, "nodes_missing_value_tracks_true": [k % 2 for k in range(len(values))]}


EXPORTED = {
    "deep equality": ("TreeEnsembleRegressor", deep_trees("EQ"), [TensorProto.FLOAT]),
    "deep inequality": ("TreeEnsembleRegressor", deep_trees("NEQ"), [TensorProto.FLOAT]),
    "one target": ("TreeEnsembleRegressor", two_trees(ONE_TARGET, n_targets=1), [TensorProto.FLOAT]),
    "trees": ("TreeEnsembleRegressor", two_trees(TWO_TARGETS, n_targets=2, aggregate_function="AVERAGE"), [TensorProto.FLOAT]),
    "classes": ("TreeEnsembleClassifier", two_trees(SPARSE, "class", classlabels_strings=["a", "b", "c"]), [TensorProto.STRING, TensorProto.FLOAT]),
    "minimum": ("TreeEnsembleRegressor", two_trees(TWO_TARGETS, n_targets=2, aggregate_function="MIN", mode="EQ"), [TensorProto.FLOAT]),
    "vectors": ("SVMRegressor", dict(n_supports=1, coefficients=[2.0], rho=[0.5], support_vectors=[1.0, 2.0], kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0]), [TensorProto.FLOAT]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", EXPORTED)
def test_export_and_back(name, compiled, tmp_path):
    op, attributes, outputs = EXPORTED[name]
    path, back = tmp_path / "model.onnx", tmp_path / "back.onnx"
    path.write_bytes(model(op, {"x": ROWS}, outputs, 3, attributes))
    rondel.export(str(path), str(back), compiled=compiled)
    want = rondel.InferenceSession(str(path)).run(None, {"x": ROWS})
    for found in (rondel.InferenceSession(str(back)).run(None, {"x": ROWS}), onnxruntime.InferenceSession(str(back)).run(None, {"x": ROWS})):
        for got, expected in zip(found, want, strict=True):
            if got.dtype.kind == "f":
                np.testing.assert_allclose(got, expected, rtol=1e-6)
            else:
                np.testing.assert_array_equal(got, expected)


DEEP_MEMBERS = dict(
    n_targets=1, tree_roots=[0], nodes_featureids=[0, 1, 0], nodes_modes=tensor(6, 6, 6, dtype="uint8"), nodes_splits=tensor(0, 0, 0, dtype="float32"),
    membership_values=tensor(0, 1, 5, np.nan, 0.5, 0, -1, np.nan, 2, -1, dtype="float32"), nodes_truenodeids=[1, 0, 2], nodes_trueleafs=[0, 1, 1],
    nodes_falsenodeids=[2, 1, 3], nodes_falseleafs=[0, 1, 1], leaf_targetids=[0] * 4, leaf_weights=tensor(0.5, 0.25, -0.5, 0.125, dtype="float32"),
)  # fmt: skip

def test_written_trees_have_no_shared_nodes():
    """A node that asks for membership has several nodes here, which share a child; ONNX Runtime refuses that in a file."""
    source = model("TreeEnsemble", {"x": ROWS}, [TensorProto.FLOAT], 5, DEEP_MEMBERS)
    (wanted,) = rondel.InferenceSession(source).run(None, {"x": ROWS})
    (found,) = onnxruntime.InferenceSession(rondel.export(source, compiled=True)).run(None, {"x": ROWS})
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(wanted[:, 0], np.float32([(0.5 if b in (0.5, 0, -1) else 0.25) if a in (0, 1, 5) else -0.5 if a in (2, -1) else 0.125 for a, b in ROWS]))


@pytest.mark.parametrize("mode", ["EQ", "NEQ"])
def test_an_equality_is_written_as_one_node(mode):
    written = onnx.load_from_string(rondel.export(model("TreeEnsembleRegressor", {"x": ROWS}, [TensorProto.FLOAT], 3, deep_trees(mode))))
    (trees,) = (n for n in written.graph.node if n.op_type == "TreeEnsemble")
    modes = next(onnx.numpy_helper.to_array(a.t) for a in trees.attribute if a.name == "nodes_modes")
    assert modes.tolist() == [4] * 14  # BRANCH_EQ; the nodes of two trees of three levels
