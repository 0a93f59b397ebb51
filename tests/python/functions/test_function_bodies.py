"""loop, scan and if_ of rondel.functions.onnx: bodies of every kind, traced values, captures, all modes of Loop."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import rondel
from rondel.functions import onnx as f
from rondel.functions import sessions, trace, traces

X = np.array([1.0, 2.0, 3.0])


def doubled(i, cond, x):
    return cond, x * 2, x


def python_loop(trips, go, x, most=5):
    """The reference for a Loop with the body `x *= 2` and the condition `x[0] < most`: (final x, number of trips)."""
    count = 0
    while (trips is None or count < trips) and go:
        x, count = x * 2, count + 1
        go = bool(x[0] < most)
    return x, count


def test_the_final_state_and_the_items():
    x, items = f.loop(10, True, X, body=doubled)
    np.testing.assert_array_equal(x, X * 1024)
    np.testing.assert_array_equal(items, [X * 2**k for k in range(10)])


@pytest.mark.parametrize("trips", [None, "", 2, np.int64(2), np.array([2]), 40])
@pytest.mark.parametrize("cond", [True, False, 1, 0, np.True_, np.array(True), np.array([True])])
def test_modes_with_a_condition(trips, cond):
    given = None if trips is None or isinstance(trips, str) else int(np.reshape(trips, -1)[0])
    x, items = f.loop(trips, cond, X, body=lambda i, go, x: (x[0] * 2 < 5, x * 2, i))
    expected, count = python_loop(given, bool(np.all(cond)), X)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(items, np.arange(count))


@pytest.mark.parametrize("cond", [None, ""])
def test_a_trip_count_alone_ignores_the_bodys_condition(cond):
    sessions._kept.clear()
    traces.forest.clear()
    with pytest.warns(rondel.ModelWarning, match="true as the initial condition"):  # the advice in the warning applies to `f.loop`, too
        x, items = f.loop(4, cond, X, body=lambda i, go, x: (x[0] < 0, x * 2, i))
    np.testing.assert_array_equal(x, X * 16)
    assert items.tolist() == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore::rondel.ModelWarning")
def test_neither_count_nor_condition_ends_a_loop():
    table = np.arange(1000.0)
    with pytest.raises(rondel.CallerError) as raised:  # the error of the Gather past the end of the table ends the loop
        f.loop(None, None, 0.0, body=lambda i, go, x: (x < 0, x + f.gather(table, i)))
    assert raised.value.trips == (1000,)


def test_zero_trips():
    for trips, cond in [(0, True), (5, False), (None, 0)]:
        x, y, items = f.loop(trips, cond, X, np.int64(7), body=lambda i, go, x, y: (go, x * 2, y + 1, x))
        np.testing.assert_array_equal(x, X)
        assert y == 7 and items.shape == (0, 3)


def test_many_states_and_items():
    a, b, c, first, second = f.loop(
        6, True, 0, 1, np.zeros(2, np.float32), body=lambda i, go, a, b, c: (go, b, a + b, c + 1, a, c[0] * 2)
    )
    assert (a, b, c.tolist(), first.tolist(), second.tolist()) == (8, 13, [6, 6], [0, 1, 1, 2, 3, 5], [0, 2, 4, 6, 8, 10])
    assert a.dtype == np.int64 and second.dtype == np.float32


def test_a_state_may_grow():
    x, lengths = f.loop(4, True, np.ones(1, np.float32), body=lambda i, go, x: (go, f.concat(x, x, axis=0), f.shape(x)[0]))
    assert x.shape == (16,) and lengths.tolist() == [1, 2, 4, 8]


def test_arrays_of_the_surroundings_are_captured_with_their_newest_values():
    w = np.eye(3) * 2
    body = lambda i, go, x: (True, w @ x + f.mat_mul(w, x))  # noqa: E731
    np.testing.assert_array_equal(f.loop(2, True, X, body=body), X * 16)
    w *= 0.5
    np.testing.assert_array_equal(f.loop(2, True, X, body=body), X * 4)


def test_nested_bodies_capture_from_every_level():
    w = np.array([1.0, 0.5, 0.25])

    def outer(i, go, x):
        def inner(j, go, y):
            small = f.less(i + j, 2)
            return go, f.if_(small, then_branch=lambda: y + x * w, else_branch=lambda: y - 1), y

        y, seen = f.loop(3, True, x, body=inner)
        return go, y, f.reduce_sum(seen)

    x, sums = f.loop(3, True, X, body=outer)
    expected, expected_sums = X, []
    for i in range(3):
        y, seen = expected, 0.0
        for j in range(3):
            seen += y.sum()
            y = y + expected * w if i + j < 2 else y - 1
        expected, expected_sums = y, [*expected_sums, seen]
    np.testing.assert_allclose(x, expected, rtol=1e-14)
    np.testing.assert_allclose(np.ravel(sums), expected_sums, rtol=1e-14)


def traced_value(function, *inputs):
    """The result of a function, called with traced values."""
    return f.scan(*(x[None] for x in inputs), num_scan_inputs=len(inputs), body=function)[0]


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y * 2 - 1,
        lambda x, y: 3 - x,
        lambda x, y: x // y,
        lambda x, y: x % y,
        lambda x, y: 7 // y + 7 % y,
        lambda x, y: x**2,
        lambda x, y: -x + abs(y),
        lambda x, y: (x < y) & (x <= 2) | ~(x > y) ^ (x >= y),
        lambda x, y: (x == y) | (x != 2),
        lambda x, y: x @ y,
        lambda x, y: x[1],
        lambda x, y: x[-1:],
        lambda x, y: x[::-1],
        lambda x, y: x[-2::-1],
        lambda x, y: x[-9::-1],
        lambda x, y: x[-2:-9:-1],
        lambda x, y: x[-2:0:-1],
        lambda x, y: x[-2:-3:-1],
        lambda x, y: x[-2::-2],
        lambda x, y: x[-2:-1:-1],
        lambda x, y: x[..., None] * y[None, :],
        lambda x, y: x[[0, 2]],
        lambda x, y: x.reshape(1, -1).T,
        lambda x, y: np.maximum(x, y) + np.array([1, 2, 3, 4], x.dtype),
        lambda x, y: np.array([1, 2, 3, 4], x.dtype) - x,
        lambda x, y: x.astype(np.float32),
    ],
)
def test_operators_of_python_on_traced_values(function, dtype):
    x, y = np.array([-3, 1, 2, 7], dtype), np.array([2, -4, 2, 3], dtype)
    expected, got = function(x, y), traced_value(function, x, y)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


FLOATS = [-np.inf, -5.0, -1.0, -0.3, 0.0, 0.1, 0.3, 1.0, 3.0, 1e8, np.inf, np.nan]
EXTREMES = {kind: [np.iinfo(kind).min or 2, np.iinfo(kind).max, 1, 3, 7, 100] for kind in (np.int8, np.int32, np.int64, np.uint8)}


@pytest.mark.parametrize("dtype, numbers", [(np.float64, FLOATS), (np.float32, FLOATS), *EXTREMES.items(), (np.int16, [-128, -3, 2, 127])])
@pytest.mark.parametrize("function", [lambda x, y: x // y, lambda x, y: x % y, lambda x, y: y // 3, lambda x, y: 3 % x, np.remainder, np.floor_divide])
def test_quotients_and_remainders_are_those_of_numpy(function, dtype, numbers):
    numbers = np.array(numbers, dtype)
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = function(x, y)
    got = traced_value(function, x, y)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_powers():
    for function in (lambda x: 2**x, lambda x: 2.5**x, lambda x: x**0.5, lambda x: x**2, lambda x: np.power(3, x)):
        np.testing.assert_allclose(traced_value(function, X), function(X), rtol=1e-14)
    for exponent in (-1, np.array([2, -1])):
        with pytest.raises(rondel.CallerError, match="'\\*\\*' of integers and negative integers"):
            traced_value(lambda x: x**exponent, np.array([1, 2]))  # noqa: B023
    half = traced_value(lambda x: 0.5**x, np.array([1, 2]))
    np.testing.assert_array_equal(half, [0.5, 0.25])


def test_where_of_numpy_and_hints_for_the_rest():
    np.testing.assert_array_equal(traced_value(lambda x: np.where(x > 1, x, 0), X), [0, 2, 3])
    with pytest.raises(AttributeError, match="a traced value has no 'sum'; use reduce_sum"):
        traced_value(lambda x: x.sum(), X)
    with pytest.raises(AttributeError, match="the functions of rondel.functions.onnx work on it"):
        traced_value(lambda x: x.nothing, X)
    for array in (np.arange(3.0), [1.0, 2.0, 3.0]):
        with pytest.raises(rondel.CallerError, match=r"an element of an array: gather\(array, i\)"):
            f.loop(3, True, 0.0, body=lambda i, go, s: (go, s + array[i]))  # noqa: B023
    with pytest.raises(rondel.CallerError, match=r"reshape of 'x.*' to \[None, -1\]: .*expected -1 in its place"):
        trace(lambda x: x.reshape(x.shape[0], -1), np.zeros((3, 2)))


def test_sequences_as_states():
    grown = f.loop(3, True, f.sequence_empty(dtype=np.float64), body=lambda i, go, s: (go, f.sequence_insert(s, X)))
    assert [x.tolist() for x in grown] == [[1, 2, 3]] * 3
    again = f.loop(2, True, grown, body=lambda i, go, s: (go, f.sequence_erase(s)))
    assert [x.tolist() for x in again] == [[1, 2, 3]]
    nothing = f.loop(1, True, again, body=lambda i, go, s: (go, f.sequence_erase(s)))
    assert nothing == [] and f.sequence_length(nothing) == 0
    assert f.sequence_insert(nothing, X)[0].dtype == np.float64


def test_nested_lists_of_numbers_are_told_apart():
    for m in ([[1, 2], [3, 4]], [[1, 2], [3, 5]], [[1, 2, 3, 4]]):
        got = f.loop(1, True, np.zeros((2, 2)), body=lambda i, go, x: (go, x, f.reduce_sum(f.add(m, 0.5))))[1]  # noqa: B023
        assert got == np.sum(np.add(m, 0.5))


def test_true_division_is_of_floats():
    np.testing.assert_array_equal(traced_value(lambda x: 1 / x, X), 1 / X)
    with pytest.raises(rondel.CallerError, match="'/' of integers; use //"):
        traced_value(lambda x: x / 2, np.array([1, 2]))


def test_what_is_known_of_a_traced_value():
    seen = []

    def body(i, go, x):
        seen.append((x.dtype, x.ndim, x.shape, i.shape, repr(i)))
        return go, x

    f.loop(1, True, X, body=body)
    assert seen[0][:4] == (np.float64, 1, (None,), ()) and "i64[]" in seen[0][4]


def test_scan():
    total, sums = f.scan(0.0, X, num_scan_inputs=1, body=lambda s, x: (s + x, s + x))
    assert total == 6 and sums.tolist() == [1, 3, 6]
    m = np.arange(6.0).reshape(2, 3)
    columns = f.scan(m, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], body=lambda x: f.reduce_sum(x, keepdims=0))
    np.testing.assert_array_equal(columns, m.sum(0)[::-1])


def test_if():
    assert getattr(f, "if") is f.if_
    for cond in (True, False, 1, np.array([0])):
        chosen, number = f.if_(cond, then_branch=lambda: (f.add(X, 1), 3), else_branch=lambda: [X, 2.5])
        np.testing.assert_array_equal(chosen, X + 1 if np.all(cond) else X)
        assert number == (3 if np.all(cond) else 2.5) and number.dtype == np.float64
    a, b = f.loop(
        2, True, X, 0.0,
        body=lambda i, go, x, y: (go, *f.if_(i == 0, then_branch=lambda: (x * 2, 1), else_branch=lambda: (x, y + 1))),
    )  # fmt: skip
    assert a.tolist() == [2, 4, 6] and b == 2


def graph_body(dtype=TensorProto.DOUBLE, named=False):
    """A GraphProto: x is doubled, and stacked."""
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["M", "M"], ["y"]), helper.make_node("Identity", ["M"], ["item"])]
    for k, n in enumerate(nodes):
        n.name = f"n{k}" if named else ""
    return helper.make_graph(
        nodes, "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("M", dtype, None)],
        [info("on", TensorProto.BOOL, []), info("y", dtype, None), info("item", dtype, None)],
    )  # fmt: skip


def with_reduce_mean_13():
    """A body in opset 13, whose ReduceMean has its axes as an attribute."""
    text = """<ir_version: 8, opset_import: ["" : 13]>
    g (int64 i, bool go, double[n] x) => (bool on, double[n] y, double[k] item)
    { on = Identity(go)  item = ReduceMean<axes = [0], keepdims = 1>(x)  y = Add(x, x) }"""
    return onnx.parser.parse_model(text)


def test_bodies_that_exist_already():
    model = helper.make_model(graph_body())
    info = "<ir_version: 10, opset_import: ['' : 21]> g (int64 i, bool go, double[n] x) => (bool on, double[n] y, double[n] item)"
    session = rondel.InferenceSession(
        onnx.parser.parse_model(info.replace("'", '"') + "{ on = Identity(go)  y = Add(x, x)  item = Identity(x) }")
    )
    for body in (graph_body(), graph_body(named=True), model, session):
        x, items = f.loop(3, True, X, body=body)
        np.testing.assert_array_equal(x, X * 8)
        np.testing.assert_array_equal(items, [X, X * 2, X * 4])
        np.testing.assert_array_equal(f.loop(3, True, X, body)[0], X * 8)
    x, items = f.loop(2, 1, X, body=with_reduce_mean_13())
    np.testing.assert_array_equal(items, [[2], [4]])
    within = f.loop(2, True, X, body=lambda i, go, x: (go, f.loop(1, True, x, body=graph_body())[0]))
    np.testing.assert_array_equal(within, X * 4)


def graph_text(text):
    return onnx.parser.parse_graph("b (int64 i, bool go, double[n] x) => (bool on, double[k] y) { on = Identity(go)  %s }" % text)


def test_a_graph_may_be_of_an_older_opset():
    body = graph_text("y = ReduceMean<axes = [0]>(x)")
    for _ in range(2):
        np.testing.assert_array_equal(f.loop(1, True, X, body=body, opset=13), [2])
    within = f.loop(1, True, X, body=lambda i, go, x: (go, f.loop(1, True, x, body=body, opset=13)))
    np.testing.assert_array_equal(within, [2])


def test_a_type_error_of_a_body_goes_through():
    with pytest.raises(TypeError, match="len"):
        f.loop(1, True, X, body=lambda i, go, x: (go, x * len(3)))


def test_sequence_map():
    items = [X, X[:2]]
    for _ in range(2):
        doubled, shapes = f.sequence_map(items, np.array(2.0), body=lambda x, y: (x * y, f.shape(x)))
        assert [x.tolist() for x in doubled] == [[2, 4, 6], [2, 4]] and [s.tolist() for s in shapes] == [[3], [2]]
        both = f.sequence_map(items, items, body=lambda x, y: x + y)
        assert [x.tolist() for x in both] == [[2, 4, 6], [2, 4]]
    last = f.loop(2, True, items, body=lambda i, go, s: (go, f.sequence_map(s, body=lambda x: x * 2)))
    assert [x.tolist() for x in last] == [[4, 8, 12], [4, 8]]
    negated = f.sequence_map(items, body=onnx.parser.parse_graph("b (double[n] x) => (double[n] y) { y = Neg(x) }"))
    assert [x.tolist() for x in negated] == [[-1, -2, -3], [-1, -2]]
    with pytest.raises(rondel.CallerError, match="the body of sequence_map"):
        f.sequence_map(items, body=lambda x, y: x)


def test_a_body_is_compiled_once():
    f.loop(3, True, X, body=doubled)
    kept = list(sessions._kept.values())
    for trips in range(5):
        f.loop(trips, True, np.ones(trips + 1), body=doubled)
    assert list(sessions._kept.values()) == kept


@pytest.mark.parametrize("state", [X, 2.0, np.float64(2), [X]], ids=["array", "float", "scalar of NumPy", "list"])
def test_the_only_state_by_name_needs_no_list(state):
    (first,) = state if isinstance(state, list) else [state]
    np.testing.assert_array_equal(f.loop(M=3, cond=True, v_initial=state, body=lambda i, go, x: (go, x + 1.0)), first + 3)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, x.astype(np.float32))), "state 0 comes as tensor(double) and leaves as tensor(float)"),
        (lambda: f.loop(2, True, X, body=None), "'body' is missing; expected loop("),
        (lambda: f.if_(True, then_branch=None, else_branch=lambda: X), "'then_branch' is missing; expected if_("),
        (lambda: f.loop(2, True, {}, body=lambda i, go, x: (go, x)), "Loop holds a dict, {}; expected tensor(string)"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: go), "gives 1 results; expected at least the condition and 1 state"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (x, x)), "as its condition; expected a bool"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, None)), "gives None as result 1"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, x if x[0] > 1 else x)), "use if_("),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, np.sum(x))), "numpy.sum does not work on traced values; use reduce_sum"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, np.kron(x, x))), "numpy.kron does not work on traced values; use the functions"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, np.add.reduce(x))), "numpy.add"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, x + np.float32(1))), "cast one of them"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, x[0.5])), "is indexed with 0.5; expected integers"),
        (lambda: f.loop(2.5, True, X, body=doubled), "M is 2.5; expected an integer"),
        (lambda: f.loop(2, "yes", X, body=doubled), "as its condition; expected a bool"),
        (lambda: f.loop(2, True, X), "'body' is missing"),
        (lambda: f.loop(2, True, X, body=7), "expected a function, a GraphProto"),
        (lambda: f.loop(2, True, None, X, body=lambda i, go, x, y: (go, x, y)), "value 0 of 'v_initial' is None; expected an array"),
        (lambda: f.loop(2, True, X, None, body=lambda i, go, x, y: (go, x, y)), "value 1 of 'v_initial' is None"),
        (lambda: f.loop(2**70, True, X, body=doubled), "expected an integer of 64 bits"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, (x, x))), "the body of loop gives a tuple as result 1"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, {"x": x})), "the body of loop gives a dict as result 1"),
        (lambda: f.scan(X, num_scan_inputs=1, body=lambda x: (y for y in (x,))), "the body of scan gives a generator as result 0"),
        (lambda: f.loop(2, True, True, body=lambda i, go, x: (go, 3)), "comes as tensor(bool) and leaves as tensor(int64)"),
        (lambda: f.loop(2, True, 1, body=lambda i, go, x: (go, x**0.5)), "'**' of integers and floats"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, x.__setitem__(0, 1))), "cannot be changed; where, scatter_nd"),
        (lambda: f.scan(X, num_scan_inputs=2, body=lambda x: x), "num_scan_inputs is 2; expected 1 to 1"),
        (lambda: f.loop(1, True, X, body=lambda i, go, x: (go, f.if_(go, then_branch=lambda: (x, x), else_branch=lambda: x))), "expected as many"),
        (lambda: f.if_(True, then_branch=lambda: X, else_branch=lambda: (X, 2)), "then_branch gives 1 results and else_branch 2; expected as many"),
        (lambda: f.loop(2, True, X, body=graph_body(TensorProto.FLOAT)), "declared f32"),
        (lambda: f.loop(2, True, X, body=graph_text("y = Add(x, w)")), "the body of loop reads 'w', which it does not define"),
        (lambda: f.loop(2, True, X, body=helper.make_model(graph_text("y = Add(x, w)"))), "'w' is not defined"),
        (lambda: f.loop(2, True, X, body=lambda i, go, x: (go, f.loop(2, True, x, body=graph_text("y = Add(x, state0_3)")))), "a Python function"),
        (lambda: f.loop(2, True, X, body=graph_text("y = ReduceMean<axes = [0]>(x)")), "attribute 'axes' is not one of ReduceMean-18"),
        (lambda: f.loop(2, True, X, body=graph_text("y = Neg(x)"), opset=99), "opset is 99; expected a number from 1 to"),
        (lambda: f.loop(2, True, X, body=graph_text("y = Neg(x)"), opset="13"), "opset is '13'; expected a number"),
        (lambda: f.loop(2, True, X, body=doubled, outputs=1), "its bodies say how many results there are"),
        (lambda: f.loop(2, True, X, body=doubled, opset=13), "opset= goes with a GraphProto"),
        (lambda: f.loop(2, True, X, body=lambda i, x: (True, x)), "the body of loop, <lambda>(i, x), is called with i, cond, state0;"),
        (lambda: f.scan(X, num_scan_inputs=1, body=lambda a, b: a), "the body of scan, <lambda>(a, b), is called with scan0;"),
        (lambda: f.if_(True, then_branch=lambda x: x, else_branch=lambda: 1), "the then_branch of if_, <lambda>(x), is called with no arguments;"),
    ],
)  # fmt: skip
def test_wrong_bodies(call, text):
    with pytest.raises(rondel.Error) as raised:
        call()
    assert text in str(raised.value)


def test_a_value_does_not_leave_its_body():
    kept = []
    f.loop(1, True, X, body=lambda i, go, x: (go, kept.append(x) or x))
    for use in (lambda: f.add(kept[0], 1), lambda: f.loop(1, True, X, body=lambda i, go, x: (go, x + kept[0]))):
        with pytest.raises(rondel.CallerError, match="has ended"):
            use()
    np.testing.assert_array_equal(f.add(X, 1), X + 1)


def test_bodies_in_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    def run(k):
        return f.loop(k, True, X, body=lambda i, go, x: (go, f.if_(i < 2, then_branch=lambda: x + k, else_branch=lambda: x)))

    with ThreadPoolExecutor(4) as pool:
        for k, x in enumerate(pool.map(run, range(24))):
            np.testing.assert_array_equal(x, X + k * min(k, 2))
