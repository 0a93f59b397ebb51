"""Python functions as bodies are called in each call, and write a graph only if they do something new."""

import functools
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rondel
from rondel import _rondel
from rondel.functions import onnx as f, trace

X = np.array([1.0, 2.0, 3.0])
factor = 2


@pytest.fixture
def written(monkeypatch):
    """The names of the graphs that were written, as a list that grows."""
    names = []

    class Counted(_rondel.GraphWriter):
        def __init__(self, name, opset):
            names.append(name)
            super().__init__(name, opset)

    monkeypatch.setattr(_rondel, "GraphWriter", Counted)
    return names


def nested(w, bias, flip=False):
    """A body with a loop and branches in it, which reads arrays and numbers."""

    def body(i, go, x):
        def inner(j, go, y):
            return go, f.if_((i > j) ^ flip, then_branch=lambda: y + w, else_branch=lambda: (y - 1) * bias), y[0]

        y, seen = f.loop(2, True, x, body=inner)
        return go, y, f.reduce_sum(seen)

    return body


def test_what_is_known_writes_no_graph(written):
    def call():
        return [
            f.loop(3, True, X, body=nested(np.ones(3), 2.0)),
            f.scan(0.0, X, num_scan_inputs=1, body=lambda s, x: (s + x * factor, s)),
            f.if_(X[0] > 0, then_branch=lambda: f.add(X, 1), else_branch=lambda: X),
            f.loop(3, True, np.ones((2, 2)), body=lambda i, go, x: (go, f.concat(x, x[:1], axis=0), x.shape == (None, 2))),
        ]

    first = call()
    assert "body" in written
    written.clear()
    for x, y in zip(first, call(), strict=True):
        for a, b in zip(x, y, strict=True):
            np.testing.assert_array_equal(a, b)
    assert written == []


def test_everything_that_a_body_reads_may_change():
    global factor
    w, bias, scale, flag = np.ones(3), [1.0], {"a": np.full(3, 2.0)}, [False]

    class Model:
        step = 1

        def __call__(self, i, go, x):
            return go, (x * scale["a"] + w * factor + bias[0]) * self.step if flag[0] else x * scale["a"] + w

    model = Model()

    def expected():
        x = X
        for _ in range(3):
            x = (x * scale["a"] + w * factor + bias[0]) * model.step if flag[0] else x * scale["a"] + w
        return x

    def change(k):
        global factor
        if k % 2:
            w[:] = k
        if k % 3 == 0:
            factor = k
        if k % 5 == 0:
            bias[0] = float(k)
        if k % 7 == 0:
            scale["a"] = np.full(3, float(k))
        if k % 4 == 0:
            model.step = k
        flag[0] = bool(k // 8 % 2)

    for k in range(40):
        change(k)
        np.testing.assert_array_equal(f.loop(3, True, X, body=model), expected())
        np.testing.assert_array_equal(f.loop(3, True, X, body=functools.partial(Model.__call__, model)), expected())
        np.testing.assert_array_equal(f.loop(3, True, X, body=model.__call__), expected())
    factor = 2


def test_arrays_are_told_apart():
    """The same array twice, two arrays, and swapped arrays give different graphs or different inputs."""
    a, b = np.full(3, 2.0), np.full(3, 5.0)
    for p, q in [(a, a), (a, b), (b, a), (b, b), (a, a.astype(np.float64)), (np.array(2.0), b), (X[:1], a)]:
        body = lambda i, go, x: (go, x * p - q)  # noqa: B023, E731
        np.testing.assert_array_equal(f.loop(2, True, X, body=body), (X * p - q) * p - q)
    small = np.array([0, 1, 2])
    for _ in range(3):
        small = small[::-1] if small[0] == 0 else np.roll(small, 1)
        np.testing.assert_array_equal(f.loop(1, True, X, body=lambda i, go, x: (go, x[small])), X[small])


@pytest.mark.parametrize("values", [(1, 1.0, True), (0.0, -0.0), (float("nan"), float("inf")), (1, 2**40), ([1], [1.0], [1, 2, 3])])
def test_numbers_are_told_apart(values):
    for _ in range(2):
        for v in values:
            items = f.loop(1, True, X, body=lambda i, go, x: (go, x, v))[1]  # noqa: B023
            expected = np.asarray(v)[None]
            assert items.dtype == expected.dtype
            np.testing.assert_array_equal(items, expected)
            np.testing.assert_array_equal(np.signbit(items), np.signbit(expected))


def test_attributes_and_names_are_told_apart():
    for axis, keep, name in [(0, 1, "reduce_sum"), (1, 1, "reduce_sum"), (1, 0, "reduce_sum"), (1, 0, "reduce_max"), (np.int64(1), False, "reduce_max")]:
        x = np.arange(6.0).reshape(2, 3)
        call = getattr(f, name)
        items = f.loop(1, True, x, body=lambda i, go, x: (go, x, call(x, [int(axis)], keepdims=keep)))[1]  # noqa: B023
        np.testing.assert_array_equal(items[0], call(x, [int(axis)], keepdims=keep))
    for to in (np.float32, np.int64, "float32", np.dtype("float16")):
        assert f.loop(1, True, X, body=lambda i, go, x: (go, x, f.cast(x, to=to)))[1].dtype == to  # noqa: B023


def test_the_same_calls_at_another_level_are_another_graph():
    """The same call, inside or outside an inner body that ends by an exception, gives different graphs."""

    def body(early):
        def inner(j, go, y):
            if early:
                raise LookupError
            f.add(x_of[0], 1.0)
            raise LookupError

        def outer(i, go, x):
            x_of[0] = x
            try:
                f.loop(2, True, x, body=inner)
            except LookupError:
                pass
            return go, f.add(x, 1.0)

        return outer

    x_of = [None]
    for early in (False, True, False, True, True):
        np.testing.assert_array_equal(f.loop(2, True, X, body=body(early)), X + 2)


def test_exceptions_of_a_body_go_through():
    def body(i, go, x):
        y = x * 2
        if fails[0]:
            raise KeyError("mine")
        return go, y

    fails = [True]
    for failing in (True, False, True, False):
        fails[0] = failing
        if failing:
            with pytest.raises(KeyError, match="mine"):
                f.loop(2, True, X, body=body)
        else:
            np.testing.assert_array_equal(f.loop(2, True, X, body=body), X * 4)
    np.testing.assert_array_equal(f.add(X, 1), X + 1)


def test_a_body_that_catches_everything():
    def body(i, go, x):
        try:
            return go, x * number[0]
        except BaseException:
            return go, x - 1

    for number in ([2], [3], [2], ["text"], [np.ones(3, np.float32)], [4]):
        expected = X * number[0] if isinstance(number[0], int) else X - 1
        np.testing.assert_array_equal(f.loop(1, True, X, body=body), expected)


def test_an_operator_that_fails_is_not_taken_for_another():
    def body(i, go, x):
        try:
            f.add(x, wrong[0])
        except rondel.Error:
            pass
        return go, f.mul(x, 2.0)

    for wrong in ([np.ones(3, np.float32)], [1.0], [np.ones(3, np.float32)], [1.0]):
        np.testing.assert_array_equal(f.loop(2, True, X, body=body), X * 4)


def test_functions_write_nodes_while_a_body_is_traced():
    """Calls on arrays write nodes, too: draws differ from trip to trip, and a branch that is not taken computes nothing."""
    draws = f.loop(50, True, 0.0, body=lambda i, go, x: (go, x, f.random_normal(shape=[2])))[1]
    assert len(np.unique(draws)) == 100
    table = np.arange(3.0)
    for index in (1, 7):
        at = np.array(index)
        got = f.if_(index < 3, then_branch=lambda: f.gather(table, at), else_branch=lambda: -1.0)  # noqa: B023
        assert got == (1 if index < 3 else -1)


def test_what_is_kept_is_bounded(monkeypatch):
    from rondel.functions import traces

    monkeypatch.setattr(traces, "MOST_COMPILED", 8)
    for k in range(30):
        np.testing.assert_array_equal(f.loop(1, True, X, body=lambda i, go, x: (go, x + k)), X + k)  # noqa: B023
        assert traces.forest._compiled <= 8
    monkeypatch.setattr(traces, "MOST_EVENTS", 50)
    for k in range(30):
        np.testing.assert_array_equal(f.loop(1, True, X, body=lambda i, go, x: (go, x - k)), X - k)  # noqa: B023
        assert traces.forest._events <= 50


def test_many_threads_with_one_body():
    def call(k):
        w = np.full(3, float(k))
        return f.loop(3, True, X, body=nested(w, 2.0, k % 3 == 0))

    expected = [call(k) for k in range(24)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            got = list(pool.map(call, list(range(24)) * 4))
    finally:
        sys.setswitchinterval(switch)
    for k, results in enumerate(got):
        for x, y in zip(results, expected[k % 24], strict=True):
            np.testing.assert_array_equal(x, y)


def test_sessions_as_bodies_are_known_by_themselves():
    import onnx

    def session(factor):
        text = "<ir_version: 10, opset_import: ['' : 21]> g (int64 i, bool go, double[n] x) => (bool on, double[n] y)"
        body = "{ on = Identity(go)  k = Constant<value = double {%g}>()  y = Mul(x, k) }" % factor
        return rondel.InferenceSession(onnx.parser.parse_model(text.replace("'", '"') + body))

    for k in range(20):  # a new session may have the address of a destroyed one
        np.testing.assert_array_equal(f.loop(2, True, X, body=session(k)), X * k * k)


def test_a_graph_that_changes_is_another():
    import onnx

    body = onnx.parser.parse_graph("b (int64 i, bool go, double[n] x) => (bool on, double[n] y) { on = Identity(go) y = Add(x, x) }")
    np.testing.assert_array_equal(f.loop(2, True, X, body=body), X * 4)
    body.node[1].op_type = "Sub"
    np.testing.assert_array_equal(f.loop(2, True, X, body=body), X * 0)


def test_indices_give_what_numpy_gives():
    """In NumPy an integer beside an array is one of several arrays: where something stands between, the array's axes come first."""
    x = np.arange(27.0).reshape(3, 3, 3)
    choice = [0, -1, slice(None), slice(None, None, -1), None, ..., np.array([0, 2, 1]), np.array([[1, 0], [2, 2]]), np.array(1)]
    rng, seen = random.Random(7), set()
    while len(seen) < 60:
        index = tuple(rng.choice(choice) for _ in range(rng.randint(1, 4)))
        arrays = sum(isinstance(part, np.ndarray) and part.ndim > 0 for part in index)
        if arrays > 1 or sum(part is ... for part in index) > 1 or sum(part is not None and part is not ... for part in index) > 3 or str(index) in seen:
            continue
        seen.add(str(index))
        got = trace(lambda v: v[index] + 0, x).run(None, {"v": x})[0]
        want = x[index]
        assert got.shape == want.shape and (got == want).all(), (index, got.shape, want.shape)
