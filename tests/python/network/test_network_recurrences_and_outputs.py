"""What a network's loop carries and what it gives: recurrences, invariants, last values, concatenations; one network per rule.

`Net.run` also compares every result with the formal semantics (`lazy_sequences.py`).
"""

import numpy as np
import pytest
import rondel
from models import f32, refused, same
from nets import I32, I64, Net
from rondel.network import DataType, LoopOutput, TripLimit, nptype

# ---- recurrences and invariants --------------------------------------------------------------------------


def test_a_recurrence_may_get_its_next_value_from_outside():
    net = Net()
    loop = net.loop(3)
    net.joined(loop, net.recurrence(loop, net.f32(1), lambda _: net.f32(5)))
    same(net.run_one(), np.array([1, 5, 5], np.float32))


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


def test_a_recurrence_counts_in_steps_from_an_input():
    # for (int32_t i = j; ...; i += k)
    net = Net()
    j, k = net.input("j", (), I32), net.input("k", (), I32)
    loop = net.loop(net.input("trips", (), I32))
    layer = loop.add_recurrence(j)
    layer.set_input(1, net.add(layer.get_output(0), k))
    net.joined(loop, layer.get_output(0))
    feeds = {name: np.int32(x) for name, x in {"j": 3, "k": 5, "trips": 4}.items()}
    same(net.run_one(feeds), np.int32([3, 8, 13, 18]))


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


# ---- outputs ---------------------------------------------------------------------------------------------


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
    net.joined(loop, loop.add_iterator(net.f32([[2, 3, 5], [4, 6, 8]])).get_output(0), 1, 3)
    same(net.run_one(), np.array([[2, 4, 0], [3, 6, 0], [5, 8, 0]], np.float32))


def test_a_length_below_the_trips_is_an_error():
    net = Net()
    loop = net.loop(net.input("n", (), I64), "fill")
    net.joined(loop, net.counter(loop), length=2)
    session = net.network.build_session()
    same(session.run(None, {"n": 2})[0], np.array([0, 1]))
    with refused(rondel.CallerError, "fill", "2", "3"):
        session.run(None, {"n": 3})


def test_without_a_length_a_concatenation_has_that_of_the_trips():
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
