"""The meaning of loops and conditionals in networks: one network per rule.

`Net.run` also compares every result with the formal semantics (`lazy_sequences.py`).
"""

import numpy as np
import pytest
from models import f32, refused, run_options, same
from nets import BOOL, I32, I64, Net

import rondel
from rondel import network
from rondel.network import DataType, LoopOutput, TripLimit, nptype

MATRIX = [[2, 3, 5], [4, 6, 8]]


# ---- how many trips ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [I32, I64])
@pytest.mark.parametrize("count, trips", [(3, 3), (1, 1), (0, 0), (-2, 0)])
def test_a_count_says_how_many_trips(dtype, count, trips):
    net = Net()
    loop = net.loop(net.input("n", (), dtype))
    net.last(loop, net.counter(loop))
    assert net.run_one({"n": np.array(count, np.int32 if dtype == I32 else np.int64)}) == trips


@pytest.mark.parametrize("start, end", [(0, 5), (5, 5), (7, 7)])
def test_a_while_is_tested_before_each_trip(start, end):
    net = Net()
    loop = net.loop()
    i = net.recurrence(loop, net.input("start", (), I64), lambda i: net.add(i, net.i64(1)))
    net.go_while(loop, net.less(i, net.i64(5)))
    net.last(loop, i)
    assert net.run_one({"start": start}) == end


def test_a_bool_recurrence_is_a_while():
    net = Net()
    loop = net.loop()
    i = net.counter(loop)
    go = net.recurrence(loop, net.constant(True), lambda _: net.less(i, net.i64(3)))
    net.go_while(loop, go)
    net.joined(loop, i)
    same(net.run_one(), np.arange(4))


@pytest.mark.parametrize("count, limit, trips", [(3, 9, 3), (9, 3, 3), (4, 4, 4), (0, 4, 0), (4, 0, 0)])
def test_of_two_limits_the_first_reached_counts(count, limit, trips):
    net = Net()
    loop = net.loop(net.input("count", (), I64))
    i = net.counter(loop)
    net.go_while(loop, net.less(i, net.input("limit", (), I64)))
    net.last(loop, i)
    assert net.run_one({"count": count, "limit": limit}) == trips


def test_a_while_is_not_computed_for_the_trip_that_the_count_has_ended():
    # flags[3] does not exist; the count ends the loop before it is read.
    net = Net()
    loop = net.loop(3)
    i = net.counter(loop)
    net.go_while(loop, net.gather(net.constant([True, True, True]), i))
    net.last(loop, i)
    assert net.run_one() == 3


def test_a_while_that_fails_says_so():
    net = Net()
    loop = net.loop(name="lookup")
    i = net.counter(loop)
    net.go_while(loop, net.gather(net.constant([True, True, True]), i))
    net.last(loop, i)
    with refused(rondel.CallerError, "3"):
        net.network.build_session().run(None, {})


def test_a_while_may_depend_on_values_from_outside():
    net = Net()
    loop = net.loop()
    limit = net.add(net.input("a", (), I64), net.input("b", (), I64))
    i = net.counter(loop)
    net.go_while(loop, net.less(i, limit))
    net.last(loop, i)
    assert net.run_one({"a": 2, "b": 4}) == 6


# ---- iterators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis, joined, want", [
    (0, 0, MATRIX),
    (0, 1, [[2, 4], [3, 6], [5, 8]]),
    (1, 0, [[2, 4], [3, 6], [5, 8]]),
    (1, 1, MATRIX),
    (-1, -1, MATRIX),
    (-2, 0, MATRIX),
])  # fmt: skip
def test_an_iterator_and_a_concatenation_are_inverse(axis, joined, want):
    net = Net()
    matrix = net.f32(MATRIX)
    loop = net.loop(matrix.shape[axis])
    net.joined(loop, loop.add_iterator(matrix, axis).get_output(0), joined)
    same(net.run_one(), np.array(want, np.float32))


@pytest.mark.parametrize("count, want", [(4, [3, 2, 1, 0]), (2, [1, 0]), (0, [])])
def test_a_reversed_iterator_begins_with_the_last_trips_slice(count, want):
    net = Net()
    loop = net.loop(net.input("n", (), I64))
    net.joined(loop, loop.add_iterator(net.f32([0, 1, 2, 3]), 0, reverse=True).get_output(0))
    same(net.run_one({"n": count}), np.array(want, np.float32))


def test_a_reversed_iterator_without_a_count_begins_at_the_end():
    net = Net()
    loop = net.loop()
    i = net.counter(loop)
    net.go_while(loop, net.less(i, net.i64(3)))
    net.joined(loop, loop.add_iterator(net.f32([0, 1, 2, 3]), reverse=True).get_output(0))
    same(net.run_one(), np.array([3, 2, 1], np.float32))


def test_iterators_of_different_extents_go_together():
    net = Net()
    loop = net.loop(2)
    a = loop.add_iterator(net.f32([1, 2, 3, 4])).get_output(0)
    b = loop.add_iterator(net.f32([[10, 20, 30], [40, 50, 60]]), 1).get_output(0)
    net.joined(loop, a)
    net.joined(loop, b)
    first, second = net.run()
    same(first, np.array([1, 2], np.float32))
    same(second, np.array([[10, 40], [20, 50]], np.float32))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_trip_past_an_iterators_extent_is_an_error(reverse):
    net = Net()
    loop = net.loop(net.input("n", (), I64), "walk")
    layer = loop.add_iterator(net.f32([1, 2, 3]), reverse=reverse)
    layer.name = "steps"
    net.joined(loop, layer.get_output(0))
    with refused(rondel.CallerError, "'walk'", "'steps'", *(("count is 4", "axis 0 is 3") if reverse else ("trip 3", "extent 3"))):
        net.network.build_session().run(None, {"n": 4})


@pytest.mark.parametrize("count", [0, -1])
def test_a_loop_without_trips_gives_initial_values_whatever_the_next_would_be(count):
    """A next value of another shape is an error of the trip that computes it; a loop without trips computes none."""
    net = Net()
    n, x = net.input("n", (), I64), net.input("x", (-1,))
    for counted in (n, net.i64(count)):
        loop = net.loop(counted)
        net.last(loop, net.recurrence(loop, x, lambda _: net.f32([1, 2, 3])))
    for got in net.run({"x": f32(4, 5), "n": count}):
        same(got, f32(4, 5))
    with refused(rondel.CallerError, "trip 0", "f32[2] to f32[3]"):
        net.network.build_session().run(None, {"x": f32(4, 5), "n": 1})


def test_a_while_still_true_when_an_iterator_is_exhausted_is_an_error():
    net = Net()
    loop = net.loop(name="walk")
    i = net.counter(loop)
    net.go_while(loop, net.less(i, net.i64(100)))
    net.joined(loop, loop.add_iterator(net.f32([1, 2, 3])).get_output(0))
    with refused(rondel.CallerError, "walk", "trip 3"):
        net.network.build_session().run(None, {})


# ---- outputs -----------------------------------------------------------------------------------------------


def test_the_last_value_after_no_trip_is_the_initial_one():
    net = Net()
    loop = net.loop(0)
    net.last(loop, net.recurrence(loop, net.f32([7, 8]), net.relu))
    same(net.run_one(), np.array([7, 8], np.float32))


@pytest.mark.parametrize("kind, want", [(LoopOutput.CONCATENATE, [0, 1, 2, 0, 0]), (LoopOutput.REVERSE, [2, 1, 0, 0, 0])])
@pytest.mark.parametrize("dtype", [I32, I64])
def test_a_length_above_the_trips_ends_in_zeros(kind, want, dtype):
    net = Net()
    loop = net.loop(3)
    net.joined(loop, net.counter(loop), 0, net.input("length", (), dtype), kind)
    length = np.array(5, np.int32 if dtype == I32 else np.int64)
    same(net.run_one({"length": length}), np.array(want))


def test_zeros_stand_along_the_new_axis():
    net = Net()
    loop = net.loop(2)
    net.joined(loop, loop.add_iterator(net.f32(MATRIX)).get_output(0), 1, 3)
    same(net.run_one(), np.array([[2, 4, 0], [3, 6, 0], [5, 8, 0]], np.float32))


def test_a_length_below_the_trips_is_an_error():
    net = Net()
    loop = net.loop(net.input("n", (), I64), "fill")
    net.joined(loop, net.counter(loop), length=2)
    session = net.network.build_session()
    same(session.run(None, {"n": 2})[0], np.array([0, 1]))
    with refused(rondel.CallerError, "fill", "2", "3"):
        session.run(None, {"n": 3})


def test_without_a_length_it_is_the_trips():
    net = Net()
    loop = net.loop()
    i = net.counter(loop)
    net.go_while(loop, net.less(i, net.input("n", (), I64)))
    net.joined(loop, net.mul(i, i))
    same(net.run_one({"n": 4}), np.array([0, 1, 4, 9]))


@pytest.mark.parametrize("kind", [LoopOutput.CONCATENATE, LoopOutput.REVERSE])
@pytest.mark.parametrize("length, rows", [(None, 2), (3, 3)])
def test_an_invariant_repeats(kind, length, rows):
    net = Net()
    loop = net.loop(2)
    net.joined(loop, net.f32([1, 2]), 0, length, kind)
    same(net.run_one(), np.array([[1, 2], [1, 2], [0, 0]], np.float32)[:rows])


@pytest.mark.parametrize("length, shape", [(None, (0, 2)), (3, (3, 2))])
def test_no_trip_gives_an_empty_concatenation(length, shape):
    net = Net()
    loop = net.loop(net.input("n", (), I64))
    x = net.recurrence(loop, net.f32([1, 2]), net.relu)
    net.joined(loop, x, 0, length)
    same(net.run_one({"n": 0}), np.zeros(shape, np.float32))


def test_no_trip_keeps_the_extents_that_are_known():
    # The inner loop's trip count is known to be 2, though the outer loop makes no trip.
    net = Net()
    outer = net.loop(net.input("n", (), I64))
    x = outer.add_iterator(net.input("x", (3,))).get_output(0)
    inner = net.loop(2)
    pair = inner.add_loop_output(x, LoopOutput.CONCATENATE).get_output(0)
    assert net.joined(outer, pair, 1).shape == (2, -1)
    same(net.run_one({"n": 0, "x": np.float32([1, 2, 3])}), np.zeros((2, 0), np.float32))


def test_outputs_come_in_the_order_they_were_marked():
    net = Net()
    a, b = net.f32(1), net.f32(2)
    for tensor, name in [(net.add(a, b), "z"), (net.mul(a, b), "a")]:
        tensor.name = name
        net.mark(tensor)
    session = net.network.build_session()
    assert [o.name for o in session.get_outputs()] == ["z", "a"]
    assert session.run(None, {}) == [3, 2]
    assert session.run(["a"], {}) == [2]


# ---- recurrences and invariants ----------------------------------------------------------------------------


def test_a_recurrence_may_get_its_next_value_from_outside():
    net = Net()
    loop = net.loop(3)
    net.joined(loop, net.recurrence(loop, net.f32(1), lambda _: net.f32(5)))
    same(net.run_one(), np.array([1, 5, 5], np.float32))


def test_of_a_parameter_and_its_input_the_last_one_set_counts():
    net = network.Network()
    constant = lambda values, dtype: net.add_constant(np.shape(values), np.array(values, dtype)).get_output(0)  # noqa: E731
    x = net.add_input("x", DataType.FLOAT, (6,))
    part, shaped, filled = net.add_slice(x, (0,), (2,), (1,)), net.add_shuffle(x), net.add_fill((3,), network.FillOperation.LINSPACE)
    part.set_input(1, constant([3], np.int32))
    shaped.set_input(1, constant([2, 3], np.int32))
    filled.set_input(1, constant(5, np.float32))
    filled.set_input(2, constant([2], np.float32))
    for layer in (part, shaped, filled):
        net.mark_output(layer.get_output(0))
    feeds = {"x": np.arange(6, dtype=np.float32)}
    assert (part.start, shaped.reshape_dims, filled.alpha, filled.beta) == (None, None, -1, -1)
    assert [y.tolist() for y in net.build_session().run(None, feeds)] == [[3, 4], [[0, 1, 2], [3, 4, 5]], [5, 7, 9]]
    part.start, shaped.reshape_dims, filled.alpha, filled.beta = (1,), (3, 2), 1, 1
    assert (part.start, shaped.reshape_dims, filled.alpha, filled.beta) == ((1,), (3, 2), 1, 1)
    assert [y.tolist() for y in net.build_session().run(None, feeds)] == [[1, 2], [[0, 1], [2, 3], [4, 5]], [1, 2, 3]]


def test_recurrences_are_updated_at_once():
    net = Net()
    loop = net.loop(3)
    a, b = loop.add_recurrence(net.f32(0)), loop.add_recurrence(net.f32(1))
    a.set_input(1, b.get_output(0))
    b.set_input(1, a.get_output(0))
    net.joined(loop, a.get_output(0))
    net.joined(loop, b.get_output(0))
    first, second = net.run()
    same(first, np.array([0, 1, 0], np.float32))
    same(second, np.array([1, 0, 1], np.float32))


def test_invariants_are_used_inside_as_they_are():
    net = Net()
    x = net.input("x", (2,))
    loop = net.loop(3)
    net.last(loop, net.recurrence(loop, x, lambda s: net.add(s, x)))
    same(net.run_one({"x": [1, 2]}), np.array([4, 8], np.float32))


@pytest.mark.parametrize("dtype", DataType, ids=lambda t: t.name)
def test_a_recurrence_may_have_any_type(dtype):
    texts = dtype == DataType.STRING
    first, after = (np.array(x, object) if texts else np.array(x).astype(nptype(dtype)) for x in ([0, 1, 1], [1, 0, 1]))
    if texts:
        first, after = first.astype(str).astype(object), after.astype(str).astype(object)
    net = Net()
    a, b = net.constant(first), net.constant(after)
    assert a.dtype == dtype
    loop = net.loop(2)
    x = net.recurrence(loop, a, lambda _: b)
    net.last(loop, x)
    net.joined(loop, x)
    if not texts:
        net.joined(loop, x, length=3)
    last, joined, *padded = net.network.build_session().run(None, {})
    bits = (lambda x: x.tolist()) if texts else (lambda x: x.tobytes())
    assert bits(last) == bits(after) and bits(joined) == bits(np.stack([first, after]))
    if padded:
        assert bits(padded[0][:2]) == bits(joined) and not bits(padded[0][2]).strip(b"\0")


def test_extents_may_be_known_only_when_running():
    net = Net()
    x = net.input("x", (-1, -1))
    loop = net.network.add_loop()
    trips = net.gather(net.network.add_shape(x).get_output(0), net.i64(0))
    loop.add_trip_limit(trips, TripLimit.COUNT)
    row = loop.add_iterator(x).get_output(0)
    total = loop.add_recurrence(net.gather(x, net.i64(0)))
    total.set_input(1, net.add(total.get_output(0), row))
    net.last(loop, total.get_output(0))
    net.joined(loop, row, 1)
    for shape in [(2, 3), (4, 1), (1, 5)]:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        last, turned = net.run({"x": x})
        same(last, x[0] + x.sum(0))
        same(turned, x.T)


def test_a_recurrence_that_changes_its_shape_when_running_is_an_error():
    net = Net()
    x, y = net.input("x", (-1,)), net.input("y", (-1,))
    loop = net.loop(2, "carry")
    layer = loop.add_recurrence(x)
    layer.name = "state"
    layer.set_input(1, y)
    net.last(loop, layer.get_output(0))
    session = net.network.build_session()
    same(session.run(None, {"x": np.float32([1]), "y": np.float32([2])})[0], np.float32([2]))
    with refused(rondel.CallerError, "state", "1", "2"):
        session.run(None, {"x": np.float32([1]), "y": np.float32([2, 3])})


# ---- unused values are not computed ------------------------------------------------------------------------


def test_a_loop_without_outputs_is_removed():
    net = Net()
    x = net.input("x", (2,))
    loop = net.loop(net.i64(10**15))
    net.recurrence(loop, x, net.relu)
    net.mark(net.relu(x))
    session = net.network.build_session()
    assert "loop" not in session.ir_text(imported=False)
    same(session.run(None, {"x": np.float32([-1, 1])})[0], np.float32([0, 1]))


# ---- conditionals ------------------------------------------------------------------------------------------


def choice(net, condition, first, second):
    conditional = net.network.add_if_conditional()
    conditional.set_condition(condition)
    return conditional, net.mark(conditional.add_output(first, second).get_output(0))


@pytest.mark.parametrize("flag, want", [(True, 3), (False, 2)])
def test_a_conditional_picks(flag, want):
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.set_condition(net.input("flag", (), BOOL))
    a, b = (conditional.add_input(net.f32(x)).get_output(0) for x in (1, 2))
    net.mark(conditional.add_output(net.add(a, b), net.mul(a, b)).get_output(0))
    assert net.run_one({"flag": flag}) == want


@pytest.mark.parametrize("flag", [True, False])
def test_only_the_branch_taken_is_evaluated(flag):
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.set_condition(net.input("flag", (), BOOL))
    table = conditional.add_input(net.f32([1, 2, 3])).get_output(0)
    good, bad = (conditional.add_input(net.input(name, (), I64)).get_output(0) for name in ("good", "bad"))
    branches = [net.gather(table, good), net.gather(table, bad)]
    net.mark(conditional.add_output(*(branches if flag else branches[::-1])).get_output(0))
    assert net.run_one({"flag": flag, "good": 2, "bad": 99}) == 3
    with refused(rondel.CallerError, "99"):
        net.network.build_session().run(None, {"flag": not flag, "good": 2, "bad": 99})


def test_a_loop_in_a_branch_that_is_not_taken_does_not_run():
    net = Net()
    conditional = net.network.add_if_conditional()
    conditional.set_condition(net.input("forever", (), BOOL))
    x = conditional.add_input(net.input("x", ())).get_output(0)
    loop = net.loop(net.i64(10**15))
    endless = loop.add_loop_output(net.recurrence(loop, x, net.relu), LoopOutput.LAST_VALUE).get_output(0)
    net.mark(conditional.add_output(endless, x).get_output(0))
    session = net.network.build_session()
    assert session.run(None, {"forever": False, "x": 4.0}, run_options(deadline=30.0)) == [4]
    with refused(rondel.DeadlineExceeded):
        session.run(None, {"forever": True, "x": 4.0}, run_options(deadline=0.2))


def test_a_conditional_in_a_loop():
    # 6, 3, 10, 5, 16, 8, 4, 2, 1: an even x is halved, an odd x becomes 3 x + 1.
    net = Net()
    loop = net.loop()
    layer = loop.add_recurrence(net.input("start", (), I64))
    x = layer.get_output(0)
    net.go_while(loop, net.less(net.i64(1), x))
    half = net.op(x, net.i64(2), "FLOOR_DIV")
    even = net.op(net.mul(half, net.i64(2)), x, "EQUAL")
    conditional = net.network.add_if_conditional()
    conditional.set_condition(even)
    odd = conditional.add_input(x).get_output(0)
    more = net.add(net.mul(net.i64(3), odd), net.i64(1))
    layer.set_input(1, conditional.add_output(half, more).get_output(0))
    net.joined(loop, x)
    net.last(loop, x)
    steps, last = net.run({"start": 6})
    same(steps, np.array([6, 3, 10, 5, 16, 8, 4, 2]))
    assert last == 1


# ---- nested loops -----------------------------------------------------------------------------------------


def test_nesting_follows_from_the_data():
    # The inner loop's trip count is the outer loop's counter: row i has i ones.
    net = Net()
    outer, inner = net.network.add_loop(), net.network.add_loop()
    outer.add_trip_limit(net.i64(4), TripLimit.COUNT)
    i = net.counter(outer)
    inner.add_trip_limit(i, TripLimit.COUNT)
    row = inner.add_loop_output(net.f32(1), LoopOutput.CONCATENATE)
    row.set_input(1, net.i64(4))
    net.joined(outer, row.get_output(0))
    same(net.run_one(), np.tri(4, k=-1, dtype=np.float32))


def test_an_inner_loop_begins_anew_in_each_trip():
    net = Net()
    table = net.f32(MATRIX)
    outer = net.loop(2)
    row = outer.add_iterator(table).get_output(0)
    inner = net.loop(3)
    element = inner.add_iterator(row).get_output(0)
    total = inner.add_recurrence(net.f32(0))
    total.set_input(1, net.add(total.get_output(0), element))
    sum_of_row = inner.add_loop_output(total.get_output(0), LoopOutput.LAST_VALUE).get_output(0)
    net.joined(outer, sum_of_row)
    net.last(outer, net.recurrence(outer, net.f32(1), lambda s: net.mul(s, sum_of_row)))
    sums, product = net.run()
    same(sums, np.float32([10, 18]))
    assert product == 180


def test_a_loop_that_uses_an_inner_value_of_another_is_inside_it():
    # The inner loop iterates over an invariant; only its body reads the outer loop's value.
    net = Net()
    outer = net.loop(2)
    x = outer.add_iterator(net.f32([10, 20])).get_output(0)
    inner = net.loop(3)
    y = inner.add_iterator(net.f32([1, 2, 3])).get_output(0)
    both = inner.add_loop_output(net.add(x, y), LoopOutput.CONCATENATE).get_output(0)
    net.joined(outer, both)
    same(net.run_one(), np.float32([[11, 12, 13], [21, 22, 23]]))


def test_loops_after_one_another():
    net = Net()
    first = net.loop(3)
    squares = first.add_loop_output(net.mul(i := net.counter(first), i), LoopOutput.CONCATENATE).get_output(0)
    second = net.loop(3)
    square = second.add_iterator(squares, reverse=True).get_output(0)
    net.joined(second, net.add(square, net.i64(1)))
    same(net.run_one(), np.array([5, 2, 1]))


def test_a_loop_in_a_branch_in_a_loop():
    net = Net()
    outer = net.loop(4)
    i = net.counter(outer)
    conditional = net.network.add_if_conditional()
    conditional.set_condition(net.less(i, net.i64(2)))
    seen = conditional.add_input(i).get_output(0)
    inner = net.loop(seen)
    powers = inner.add_loop_output(net.recurrence(inner, net.i64(1), lambda p: net.add(p, p)), LoopOutput.LAST_VALUE)
    net.joined(outer, conditional.add_output(powers.get_output(0), net.unary(seen, "NEG")).get_output(0))
    same(net.run_one(), np.array([1, 2, -2, -3]))


def test_a_network_may_be_changed_and_built_again():
    net = Net()
    loop = net.loop(net.input("n", (), I64))
    layer = loop.add_recurrence(net.f32(1))
    layer.set_input(1, net.add(layer.get_output(0), net.f32(1)))
    net.last(loop, layer.get_output(0))
    before = net.network.build_session()
    layer.set_input(1, net.mul(layer.get_output(0), net.f32(2)))
    assert net.run_one({"n": 3}) == 8
    assert before.run(None, {"n": 3}) == [4]


def test_the_seeds_loop():
    # for (int32_t i = j; ...; i += k)
    net = Net()
    j, k = net.input("j", (), I32), net.input("k", (), I32)
    loop = net.loop(net.input("trips", (), I32))
    layer = loop.add_recurrence(j)
    layer.set_input(1, net.add(layer.get_output(0), k))
    net.joined(loop, layer.get_output(0))
    feeds = {name: np.int32(x) for name, x in {"j": 3, "k": 5, "trips": 4}.items()}
    same(net.run_one(feeds), np.int32([3, 8, 13, 18]))


# ---- counts past an extent in loops that need not run --------------------------------------------------------


def five_of_three(net, x):
    """A loop of five trips that sums a tensor of three elements."""
    loop = net.loop(5)
    element = loop.add_iterator(x).get_output(0)
    total = net.recurrence(loop, net.f32(0), lambda s: net.add(s, element))
    return loop.add_loop_output(total, LoopOutput.LAST_VALUE).get_output(0)


def nobody_reads_it(net, x, run):
    five_of_three(net, x)
    return net.mul(x, net.reshaped(run, (1,)))


def in_a_branch(net, x, run):
    conditional = net.network.add_if_conditional()
    conditional.set_condition(net.less(net.f32(0), run))
    inner = conditional.add_input(x).get_output(0)
    return conditional.add_output(five_of_three(net, inner), net.f32(7)).get_output(0)


def in_a_loop(net, x, run):
    outer = net.loop(net.network.add_cast(run, DataType.INT64).get_output(0))
    y = outer.add_recurrence(x)
    total = net.reshaped(five_of_three(net, y.get_output(0)), (1,))
    y.set_input(1, net.mul(y.get_output(0), total))
    return outer.add_loop_output(y.get_output(0), LoopOutput.LAST_VALUE).get_output(0)


@pytest.mark.parametrize("place", [nobody_reads_it, in_a_branch, in_a_loop])
def test_what_does_not_run_is_not_refused(place):
    net = Net()
    net.mark(place(net, net.input("x", (3,)), net.input("run")))
    session = net.network.build_session()
    x = np.ones(3, np.float32)
    session.run(None, {"x": x, "run": np.float32(0)})
    if place is nobody_reads_it:
        return
    with refused(rondel.CallerError, "extent 3", "trip 3"):
        session.run(None, {"x": x, "run": np.float32(1)})


def test_a_while_value_that_data_make_fail_is_not_computed_for_a_trip_that_the_count_has_ended():
    """It sums along an axis that the recurrence gives."""
    n = network.Network()
    x, first = n.add_input("x", DataType.FLOAT, (4,)), n.add_input("first", DataType.INT64, ())
    count, one = n.add_input("count", DataType.INT64, ()), n.add_input("one", DataType.INT64, ())
    limit = n.add_input("limit", DataType.FLOAT, ())
    loop = n.add_loop()
    axis = (recurrence := loop.add_recurrence(first)).get_output(0)
    recurrence.set_input(1, n.add_elementwise(axis, one, network.ElementWiseOperation.SUM).get_output(0))
    sums = n.add_cumulative(x, axis, network.CumulativeOperation.SUM, False, False).get_output(0)
    total = n.add_reduce(sums, network.ReduceOperation.SUM, 1, False).get_output(0)
    loop.add_trip_limit(count, TripLimit.COUNT)
    loop.add_trip_limit(n.add_elementwise(total, limit, network.ElementWiseOperation.LESS).get_output(0), TripLimit.WHILE)
    n.mark_output(loop.add_loop_output(axis, LoopOutput.LAST_VALUE).get_output(0))
    session = n.build_session()
    feeds = {"x": np.ones(4, np.float32), "one": 1, "limit": np.float32(100)}
    for trips, begin, want in [(1, 0, 1), (0, 0, 0), (0, 7, 7)]:
        assert session.run(None, {**feeds, "count": trips, "first": begin})[0] == want
    with pytest.raises(rondel.CallerError, match="axis 1 is outside"):
        session.run(None, {**feeds, "count": 2, "first": 0})
