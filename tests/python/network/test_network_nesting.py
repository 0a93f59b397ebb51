"""Loops and conditionals inside one another in networks, and what need not run: one network per rule.

`Net.run` also compares every result with the formal semantics (`lazy_sequences.py`).
"""

import numpy as np
import pytest
import rondel
from models import refused, run_options, same
from nets import BOOL, I64, Net
from rondel.network import DataType, FillOperation, LoopOutput, ReduceOperation, TripLimit

# ---- conditionals ----------------------------------------------------------------------------------------


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


# ---- nested loops ----------------------------------------------------------------------------------------


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
    table = net.f32([[2, 3, 5], [4, 6, 8]])
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


def test_a_loop_reads_the_outputs_of_another():
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


# ---- what need not run -----------------------------------------------------------------------------------


def test_a_loop_without_outputs_is_removed():
    net = Net()
    x = net.input("x", (2,))
    loop = net.loop(net.i64(10**15))
    net.recurrence(loop, x, net.relu)
    net.mark(net.relu(x))
    session = net.network.build_session()
    assert "loop" not in session.ir_text(imported=False)
    same(session.run(None, {"x": np.float32([-1, 1])})[0], np.float32([0, 1]))


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


# ---- random numbers --------------------------------------------------------------------------------------


def counting(net, trips):
    """A loop of so many trips, and its trip index."""
    loop = net.loop(net.i64(trips))
    return loop, net.recurrence(loop, net.i64(0), lambda i: net.add(i, net.i64(1)))


@pytest.mark.parametrize("also_an_output", [False, True])
def test_random_numbers_that_only_a_branch_reads_are_drawn_there(also_an_output):
    net = Net()
    loop, i = counting(net, 5)
    drawn = net.network.add_fill((2,), FillOperation.RANDOM_UNIFORM, DataType.FLOAT).get_output(0)
    conditional = net.network.add_if_conditional()
    conditional.set_condition(net.less(net.i64(1), i))
    chosen = conditional.add_output(drawn, net.f32([0, 0])).get_output(0)
    net.mark(loop.add_loop_output(chosen, LoopOutput.CONCATENATE).get_output(0))
    if also_an_output:
        net.mark(drawn)
    rows, *whole = net.network.build_session().run(None, {})
    assert (rows[:2] == 0).all() and (rows[2:] != 0).all() and (rows[2:] == rows[2]).all() == also_an_output
    assert not also_an_output or (whole[0] == rows[2]).all()


@pytest.mark.parametrize("in_a_branch", [False, True])
@pytest.mark.parametrize("trip_uses_them", [False, True])
def test_a_while_limit_that_draws(trip_uses_them, in_a_branch):
    """The limit of the next trip is computed at the end of a trip: it would draw other numbers than the next trip."""
    net = Net()
    loop, i = counting(net, 20)
    fill = net.network.add_fill((1,), FillOperation.RANDOM_UNIFORM, DataType.FLOAT)
    fill.set_input(1, net.network.add_cast(net.mul(i, net.i64(0)), DataType.FLOAT).get_output(0))
    fill.set_input(2, net.f32(1))
    drawn = fill.get_output(0)
    if in_a_branch:
        conditional = net.network.add_if_conditional()
        conditional.set_condition(net.less(i, net.i64(100)))
        drawn = conditional.add_output(drawn, net.f32([0.5])).get_output(0)
    least = net.network.add_reduce(drawn, ReduceOperation.MIN, 1, False).get_output(0)
    loop.add_trip_limit(net.less(net.f32(0.25), least), TripLimit.WHILE)
    net.mark(loop.add_loop_output(least if trip_uses_them else i, LoopOutput.CONCATENATE).get_output(0))
    if trip_uses_them:
        with refused(rondel.UnsupportedError, "depends on the random numbers of", "hand them on by a recurrence"):
            net.network.build_session()
    else:
        (trips,) = net.network.build_session().run(None, {})
        assert trips.tolist() == list(range(len(trips)))
