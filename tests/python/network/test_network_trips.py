"""How many trips a network's loop makes, and what its iterators give in each: one network per rule.

`Net.run` also compares every result with the formal semantics (`lazy_sequences.py`).
"""

import numpy as np
import pytest
import rondel
from models import refused, same
from nets import I32, I64, Net
from rondel import network
from rondel.network import DataType, LoopOutput, TripLimit

# ---- counts and whiles -----------------------------------------------------------------------------------


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


# ---- iterators -------------------------------------------------------------------------------------------

MATRIX = [[2, 3, 5], [4, 6, 8]]


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


def test_a_while_still_true_when_an_iterator_is_exhausted_is_an_error():
    net = Net()
    loop = net.loop(name="walk")
    i = net.counter(loop)
    net.go_while(loop, net.less(i, net.i64(100)))
    net.joined(loop, loop.add_iterator(net.f32([1, 2, 3])).get_output(0))
    with refused(rondel.CallerError, "walk", "trip 3"):
        net.network.build_session().run(None, {})
